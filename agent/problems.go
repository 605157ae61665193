package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/handrail-bot/handrail/agent/llm"
	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/agent/workspace"
	"github.com/handrail-bot/handrail/policy"
	"github.com/handrail-bot/handrail/policy/phrase"
	"github.com/handrail-bot/handrail/policy/untrusted"
)

// Limits of a report about problems that an edit brought.
const (
	editedTime  = 2 * time.Second // until the report
	finalTime   = 10 * time.Second
	maxBrought  = 5   // lines
	maxProblems = 600 // bytes
)

// Problems returns the problems of files in the workspace, see [workspace.Coder].
type Problems func(ctx context.Context, q workspace.ProblemsQuery) ([]workspace.FileProblems, error)

// after returns a line about the errors that a call brought, or took away; "" if there is no
// certain difference. It is never a reason to fail.
func (p Problems) after(ctx context.Context, kind policy.Kind) (string, error) {
	if p == nil || kind != policy.Write && kind != policy.Delete && kind != policy.Execute {
		return "", nil
	}
	list, err := p(ctx, workspace.ProblemsQuery{Changed: true, Within: editedTime})
	if errors.Is(err, workspace.ErrGone) || ctx.Err() != nil {
		return "", errors.Join(err, ctx.Err())
	}
	if err != nil {
		return "", nil //nolint:nilerr // the edit is done all the same
	}
	brought, lost, before := newErrors(list)
	switch {
	case len(brought) > 0:
		call := "edit"
		if kind == policy.Execute {
			call = "command"
		}
		return fmt.Sprintf("[Reminder: this %s brought %s; there were %d before:\n%s]",
			call, phrase.Count(len(brought), "error"), before, linesOf(brought)), nil
	case lost > 0:
		return fmt.Sprintf("[Reminder: %s less than before.]", phrase.Count(lost, "error")), nil
	}
	return "", nil
}

// newErrors returns the new errors as lines, and the numbers of those that are gone and of those
// before. Only fresh lists with a known state before count.
func newErrors(list []workspace.FileProblems) (brought []string, lost, before int) {
	for _, f := range list {
		if f.State != "fresh" || !f.Known { //control:only-fresh-is-told
			continue
		}
		was := map[string]int{}
		for _, p := range f.Before {
			if p.Severity == 1 {
				was[p.Message]++
				before++
			}
		}
		for _, p := range f.Items {
			if p.Severity != 1 {
				continue
			}
			if was[p.Message] > 0 { // an edit moves lines
				was[p.Message]--
				continue
			}
			at := fmt.Sprintf("%s:%d", f.Path, p.Line)
			if p.Column > 0 {
				at += fmt.Sprintf(":%d", p.Column)
			}
			brought = append(brought, at+" "+p.Message)
		}
		for _, n := range was {
			if f.Left == 0 { // the others may be among those
				lost += n
			}
		}
	}
	return brought, lost, before
}

// linesOf shows errors within the limits, with the number of the others.
func linesOf(list []string) string {
	var b strings.Builder
	for n, line := range list {
		line = untrusted.EscapeLine(line)
		if n >= maxBrought || b.Len()+len(line) > maxProblems-40 && n > 0 {
			fmt.Fprintf(&b, "\n… and %d more", len(list)-n)
			break
		}
		if n > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(line[:min(len(line), maxProblems-40)])
	}
	return strings.ToValidUTF8(b.String(), "")
}

// checkProblems sends the model back once if its changes have errors that the base does not have.
func (f *finisher) checkProblems(ctx context.Context) (bool, error) {
	if f.problems == nil || !f.mayWrite() || !f.changed() || f.claims.problems || f.meter.turnsLeft() <= 1 ||
		f.model.form == llm.FormFiles {
		return false, nil
	}
	var paths []string
	for _, c := range f.Files {
		known := slices.ContainsFunc(f.claims.faults, func(have session.FileChange) bool { return have.Path == c.Path })
		if c.Kind != session.ChangeDelete && !known { // the model was told of those that do not parse
			paths = append(paths, c.Path)
		}
	}
	if slices.Sort(paths); len(paths) == 0 {
		return false, nil
	}
	list, err := f.problems(ctx, workspace.ProblemsQuery{Paths: paths, Base: true, Within: finalTime})
	if errors.Is(err, workspace.ErrGone) || ctx.Err() != nil {
		return false, errors.Join(err, ctx.Err())
	}
	if err != nil {
		return false, nil //nolint:nilerr // a file that cannot be read has no problems to tell
	}
	brought, _, _ := newErrors(list)
	if len(brought) == 0 {
		return false, nil
	}
	return true, f.tell(ctx, session.NoteProblems, fmt.Sprintf(
		"You said that the task is complete, but your change has %s that the base does not have:\n%s\n\n"+
			"Mend this and complete again. If it is no mistake, complete again and say why.",
		phrase.Count(len(brought), "error"), linesOf(brought)))
}
