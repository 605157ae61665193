package project

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/handrail-bot/handrail/agent/workspace"
	"github.com/handrail-bot/handrail/policy/pattern"
)

// What a chart costs at most: of time before the first request, and of the prompt.
const (
	fewestFiles = 100 // of a project that is worth one
	chartTime   = 120 * time.Millisecond
	mostCharted = 60   // definitions
	mostChart   = 3400 // bytes, some 900 tokens
)

// Users finds which definitions in files the others name most often. A workspace does.
type Users interface {
	Used(ctx context.Context, paths []string, within time.Duration, most int) ([]workspace.Used, error)
}

// Names of files and definitions that a prompt may have: nothing in them is a sentence.
var (
	chartedPath = pattern.Lazy(`^[\w.+@-]+(?:/[\w.+@-]+)*$`)
	chartedName = pattern.Lazy(`^\w+$`)
)

// Chart finds out which definitions most files of a large project name: where to begin to
// read. It looks at as many files as it can in a moment, spread over the project, and says
// nothing of a small one.
func (f *Facts) Chart(ctx context.Context, in Users) error {
	if len(f.files) < fewestFiles {
		return nil
	}
	used, err := in.Used(ctx, f.files, chartTime, mostCharted)
	if err != nil {
		return ctx.Err() // the work itself will say what is wrong with the workspace
	}
	var order []string
	of := map[string][]string{}
	size := 0
	for _, u := range used {
		if !chartedPath().MatchString(u.Path) || len(u.Path) > 200 || !chartedName().MatchString(u.Name) || len(u.Name) > 60 { //control:chart-names
			continue
		}
		if of[u.Path] == nil {
			size += len(u.Path) + len("- : \n")
		}
		text := fmt.Sprintf("%s %d", u.Name, u.Files)
		if size += len(text) + len(", "); size > mostChart {
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
