package work

import (
	"context"
	"errors"
	"strings"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/agent/workspace/outline"
	"github.com/handrail-bot/handrail/gitops"
	"github.com/handrail-bot/handrail/gitops/lines"
)

// maxOutlined is the maximum number of bytes of a file that is searched for functions.
const maxOutlined = 256 << 10

// nameFunction sets [session.FileChange.In] of a change of one file.
func (c *checkpoints) nameFunction(ctx context.Context, to string, files []session.FileChange) error {
	if len(files) != 1 || files[0].Kind != session.ChangeModify || outline.Language(files[0].Path) == "" {
		return nil
	}
	name := files[0].Path
	var texts [2]string
	for i, commit := range []string{c.published, to} {
		text, err := c.job.Repo.ReadFile(ctx, commit, name, maxOutlined)
		if errors.Is(err, gitops.ErrTooLarge) || errors.Is(err, gitops.ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		texts[i] = string(text)
	}
	files[0].In = functionOf(name, texts[0], texts[1])
	return nil
}

// functionOf returns the name of the one function or method in which a file changes, or "". It
// goes by indentation, and rather names none than a wrong one.
func functionOf(name, before, text string) string {
	defs, _, _ := outline.Of(name, []byte(text))
	all := lines.Split([]byte(text))
	found := ""
	for i, span := range lines.Compare(lines.Split([]byte(before)), all) {
		h := [2]int{span.B + 1, span.BEnd}
		if span.B == span.BEnd { // of a deletion, the line above
			h = [2]int{span.B, span.B}
		}
		in := ""
		for _, d := range defs {
			if d.Line <= h[0] {
				in = ""
				if !d.IsType() && isInside(all, d.Line, h[1]) {
					in = d.Name
				}
			} else if d.Line <= h[1] { // the hunk has the head of another one
				in = ""
			}
		}
		if in == "" || i > 0 && in != found || len(in) > 40 || strings.ContainsFunc(in, isNoName) {
			return ""
		}
		found = in
	}
	return found
}

// isInside reports whether all lines from the head of a definition to another line, counted
// from 1, are indented deeper than the head, brackets below it apart.
func isInside(text []string, head, last int) bool {
	if head < 1 || last > len(text) {
		return false
	}
	at := indentation(text[head-1])
	for i := head; i < last; i++ {
		line := strings.TrimSpace(text[i])
		if line == "" || indentation(text[i]) > at {
			continue
		}
		if i == last-1 || indentation(text[i]) < at || !strings.ContainsAny(line[:1], ")]}{") {
			return false
		}
	}
	return true
}

func indentation(line string) int { return len(line) - len(strings.TrimLeft(line, " \t")) }

// isNoName reports whether a letter is none of a plain name.
func isNoName(r rune) bool {
	return r != '_' && r != '.' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
}
