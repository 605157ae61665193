package terminal

import (
	"fmt"
	"strings"
	"time"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/policy/phrase"
	"github.com/handrail-bot/handrail/policy/shell"
	"github.com/handrail-bot/handrail/policy/untrusted"
)

// Command returns a handrail command line with these words, quoted for a shell.
func Command(words ...string) string {
	out := []string{"handrail"}
	for _, w := range words {
		out = append(out, shell.Quote(w))
	}
	return strings.Join(out, " ")
}

// LeftOut lists files of the workspace that are missing on the branch.
func (t *Terminal) LeftOut(list []session.LeftOut) {
	if len(list) == 0 {
		return
	}
	t.Say("\nNot kept, and not on the branch:")
	for _, l := range list {
		name := l.Path + ": "
		if l.Path == "." {
			name = ""
		}
		t.Say("%s", t.screen.look.item("  ", name+l.Why))
	}
}

// Outcome prints the outcome of a run, and the commands for its result.
func (t *Terminal) Outcome(task session.Task, out session.Outcome) {
	t.screen.end()
	if t.brief {
		out.Summary = strings.ReplaceAll(out.Summary, Command("undo", task.Session, "--redo"), "/redo")
	}
	l := t.screen.look
	c := map[session.Status]tone{
		session.StatusDone:     green,
		session.StatusAnswered: green,
		session.StatusReviewed: green,
		session.StatusFailed:   red,
		session.StatusCrashed:  red,
	}[out.Status]
	t.ending(task, out, l.in(c, strings.ReplaceAll(string(out.Status), "_", " ")))
	if out.Reason != "" {
		t.Say("%s", l.withBars(ToOperator(out.Reason)))
	}
	if out.Summary != "" && strings.TrimSpace(out.Summary) != t.said {
		t.Say("%s", l.markdown(out.Summary))
	}
	if out.Tests != "" {
		t.Say("%s", l.item("Seen by Handrail: ", out.Tests))
	}
	if out.Status == session.StatusInterrupted {
		t.kept(task, out.Files)
	}
	for i, f := range out.Files {
		if i == maxFilesShown {
			t.Say("  … and %d more files", len(out.Files)-i)
			break
		}
		t.Say("%s", l.line(fmt.Sprintf("  %s %s (%s)", untrusted.EscapeLine(f.Path), t.counts(f), f.Kind)))
	}
	if t.brief {
		if out.Status.Parked() {
			t.Say("Continue with /go")
		}
		return
	}
	if out.Commit != "" && out.Commit != task.Base {
		t.result(task, out.Wish != "" && len(out.Files) == 0)
	}
	if out.Status.Parked() {
		more := []string{"resume", task.Session}
		if out.Status == session.StatusOutOfBudget {
			more = append(more, "--turns", "10")
		}
		t.Say("\nContinue with: %s", Command(more...))
	}
}

// kept prints the work that an interrupted run leaves.
func (t *Terminal) kept(task session.Task, files []session.FileChange) {
	if len(files) == 0 {
		t.Say("No file was changed so far; the conversation is kept.")
		return
	}
	t.Say("Kept: %s on branch %s", phrase.Count(len(files), "changed file"), task.Branch)
}

// ending prints the status of the run with its turns, time and tokens.
func (t *Terminal) ending(task session.Task, out session.Outcome, end string) {
	l := t.screen.look
	used := ""
	if t.view.Tokens > 0 {
		used = l.in(dim, fmt.Sprintf(", %s tokens", tokens(t.view.Tokens)))
	}
	switch {
	case out.Wish != "":
	case out.Turns == 0 && out.Status.Succeeded() && !t.tells:
		t.more(task, "It is "+end+" already")
	case out.Turns == 0 && out.Status == session.StatusNoChanges && !t.tells:
		t.more(task, "It ended without changes")
	default:
		t.Say(
			"\n%s after %s in %s%s",
			end,
			phrase.Count(out.Turns, "turn"),
			t.clock().Sub(t.start).Round(10*time.Millisecond),
			used,
		)
	}
}

// more prints that nothing is left to do, and how to ask for more.
func (t *Terminal) more(task session.Task, how string) {
	t.Say("\n%s, and there are no other requests.", how)
	if !t.brief {
		t.Say("For more: %s", Command("resume", task.Session, "--task", "…"))
	}
}

// result prints the commands for the result on the branch. nothing means that all of it
// was undone.
func (t *Terminal) result(task session.Task, nothing bool) {
	if nothing {
		t.Say("\nNothing of it is left on branch %s:", task.Branch)
		t.Say("  %s     redoes the last step", Command("undo", task.Session, "--redo"))
		return
	}
	t.Say("\nThe result is on branch %s:", task.Branch)
	t.Say("  %s     shows it", Command("diff", task.Session))
	t.Say("  %s    applies it to your files", Command("apply", task.Session))
	t.Say("  %s     undoes the last step", Command("undo", task.Session))
}
