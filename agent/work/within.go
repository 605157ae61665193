package work

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/agent/workspace/outline"
	"github.com/handrail-bot/handrail/gitops"
)

// maxOutlined is the maximum number of bytes of a file that is searched for functions.
const maxOutlined = 256 << 10

// nameFunction sets [session.FileChange.In] of a change of one file.
func (c *checkpoints) nameFunction(ctx context.Context, to string, files []session.FileChange) error {
	if len(files) != 1 || files[0].Kind != session.ChangeModify || outline.Language(files[0].Path) == "" {
		return nil
	}
	name := files[0].Path
	text, err := c.job.Repo.ReadFile(ctx, to, name, maxOutlined)
	if errors.Is(err, gitops.ErrTooLarge) {
		return nil
	}
	if err != nil {
		return err
	}
	diff, _, err := c.job.Repo.Diff(ctx, c.published, to, gitops.DiffOptions{Paths: []string{name}, Context: -1})
	if err == nil {
		files[0].In = functionOf(name, string(text), hunksOf(diff))
	}
	return err
}

// hunksOf returns the first and the last line of each hunk of a diff without context, in the
// new file. Of a deletion it is the line above.
func hunksOf(diff string) (out [][2]int) {
	for line := range strings.Lines(diff) {
		words := strings.Fields(line)
		if len(words) < 3 || words[0] != "@@" {
			continue
		}
		first, count, counted := strings.Cut(strings.TrimPrefix(words[2], "+"), ",")
		from, err := strconv.Atoi(first)
		n := 1
		if counted && err == nil {
			n, err = strconv.Atoi(count)
		}
		if err == nil {
			out = append(out, [2]int{from, max(from, from+n-1)})
		}
	}
	return out
}

// functionOf returns the name of the one function or method that has all hunks, or "". It
// goes by indentation, and rather names none than a wrong one.
func functionOf(name, text string, hunks [][2]int) string {
	defs, _, _ := outline.Of(name, []byte(text))
	lines := strings.Split(text, "\n")
	found := ""
	for i, h := range hunks {
		in := ""
		for _, d := range defs {
			if d.Line <= h[0] {
				in = ""
				if !d.IsType() && isInside(lines, d.Line, h[1]) {
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
func isInside(lines []string, head, last int) bool {
	if head < 1 || last > len(lines) {
		return false
	}
	at := indentation(lines[head-1])
	for i := head; i < last; i++ {
		line := strings.TrimSpace(lines[i])
		if line == "" || indentation(lines[i]) > at {
			continue
		}
		if i == last-1 || indentation(lines[i]) < at || !strings.ContainsAny(line[:1], ")]}{") {
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
