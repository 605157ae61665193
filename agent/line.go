package agent

import (
	"fmt"
	"slices"
	"strings"

	"github.com/handrail-bot/handrail/agent/llm"
	"github.com/handrail-bot/handrail/agent/llm/prose"
	"github.com/handrail-bot/handrail/agent/session"
)

// maxLines is the maximum number of times per request that a small model is asked for one line.
const maxLines = 2

// wrongLine returns the next line that the model is asked to correct alone, or nil: one that its
// change wrote and that does not compile. Small models copy their last version of a whole
// file, but correct such a line when they see the complaint about it.
func (f *finisher) wrongLine(now *session.Verified) *session.Line {
	if f.model.form != llm.FormFiles || f.TakingIn() != nil || len(f.claims.lines) >= maxLines ||
		f.meter.turnsLeft() <= 1 {
		return nil
	}
	for _, at := range now.Faults {
		text, ok := fileOf(now.Faulty, at.Path)
		if !ok {
			continue
		}
		before, seen := f.talk.view().File(at.Path)
		created := slices.ContainsFunc(f.Files, func(c session.FileChange) bool {
			return c.Path == at.Path && c.Kind == session.ChangeCreate
		})
		l := lineAt(text, at)
		switch {
		case l == nil, !seen && !created, before.Part, slices.Contains(fileLines(before.Text), l.Text()):
		case slices.ContainsFunc(f.claims.lines, func(had session.Line) bool {
			return had.Path == l.Path && had.Text() == l.Text() && had.Says == l.Says
		}):
		default:
			return l
		}
	}
	return nil
}

func fileOf(items []session.Item, name string) (string, bool) {
	i := slices.IndexFunc(items, func(it session.Item) bool { return it.Name == name })
	if i < 0 {
		return "", false
	}
	return items[i].Text, true
}

func fileLines(text string) []string {
	return strings.Split(strings.TrimSuffix(strings.ReplaceAll(text, "\r\n", "\n"), "\n"), "\n")
}

// lineAt returns the line of a fault, with as many neighbors as it takes to find it in the file,
// or nil if the file has no such line.
func lineAt(text string, at session.Fault) *session.Line {
	all, i := fileLines(text), at.Line-1
	if i < 0 || i >= len(all) || strings.TrimSpace(all[i]) == "" {
		return nil
	}
	from, to := max(i-1, 0), min(i+2, len(all))
	for count(all, all[from:to]) > 1 {
		if from == 0 && to == len(all) {
			return nil
		}
		from, to = max(from-1, 0), min(to+1, len(all))
	}
	return &session.Line{Path: at.Path, Lines: all[from:to], At: i - from, Says: at.Says}
}

// count counts the places of some lines.
func count(all, some []string) (n int) {
	for i := range len(all) - len(some) + 1 {
		if slices.Equal(all[i:i+len(some)], some) {
			n++
		}
	}
	return n
}

// askLine returns the request for a corrected line; text is its file.
func askLine(l *session.Line, text string) string {
	return fmt.Sprintf(
		"%s\n%s\n\nThe compiler says:\n\n%s\n\nThis line is wrong:\n\n%s\n\n"+
			"Write this line corrected, alone, in a code fence.",
		l.Path, fence(l.Path, text), fence("", l.Says), fence(l.Path, l.Text()),
	)
}

// asked returns the line that the next answer corrects, or nil.
func (t *conversation) asked() *prose.Line {
	if t.line == nil {
		return nil
	}
	return &prose.Line{Path: t.line.Path, Lines: t.line.Lines, At: t.line.At}
}
