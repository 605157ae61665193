package project

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/handrail-bot/handrail/agent/workspace"
	"github.com/handrail-bot/handrail/policy/pattern"
)

// Limits of a chart: time before the first request, and space in the prompt.
const (
	minFiles   = 100 // minimum size of a project that gets a chart
	chartTime  = 120 * time.Millisecond
	maxCharted = 60   // definitions
	maxChart   = 3400 // bytes, some 900 tokens
)

// Users finds the definitions that most other files name. A workspace implements it.
type Users interface {
	Used(ctx context.Context, paths []string, within time.Duration, most int) ([]workspace.Used, error)
}

// Names of files and definitions allowed in a prompt. They cannot hold a sentence.
var (
	chartedPath = pattern.Lazy(`^[\w.+@-]+(?:/[\w.+@-]+)*$`)
	chartedName = pattern.Lazy(`^\w+$`)
)

// Tellable reports whether a path may be in a prompt: it cannot hold a sentence.
func Tellable(path string) bool { return chartedPath().MatchString(path) && len(path) <= 200 }

// Chart finds the most used definitions of a large project, as starting points for
// reading. It samples as many files as a short time allows, spread over the project.
// A small project gets no chart.
func (f *Facts) Chart(ctx context.Context, in Users) error {
	if len(f.files) < minFiles {
		return nil
	}
	used, err := in.Used(ctx, f.files, chartTime, maxCharted)
	if err != nil {
		return ctx.Err() // the session will report a broken workspace
	}
	var order []string
	of := map[string][]string{}
	size := 0
	for _, u := range used {
		if !Tellable(u.Path) || !chartedName().MatchString(u.Name) || len(u.Name) > 60 { //control:chart-names
			continue
		}
		if of[u.Path] == nil {
			size += len(u.Path) + len("- : \n")
		}
		text := fmt.Sprintf("%s %d", u.Name, u.Files)
		if size += len(text) + len(", "); size > maxChart {
			break
		}
		if of[u.Path] == nil {
			order = append(order, u.Path)
		}
		of[u.Path] = append(of[u.Path], text)
	}
	var b strings.Builder
	for _, name := range order {
		fmt.Fprintf(&b, "- %s: %s\n", name, strings.Join(of[name], ", "))
	}
	f.Charted = strings.TrimSpace(b.String())
	return nil
}
