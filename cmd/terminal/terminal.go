// Package terminal shows a session on a terminal, line by line, and asks the person at
// it what the agent asks.
package terminal

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/handrail-bot/handrail/agent"
	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/policy"
	"github.com/handrail-bot/handrail/policy/untrusted"
)

// Terminal shows a session on a terminal and asks the person at it.
type Terminal struct {
	out   io.Writer
	in    *bufio.Reader
	yes   bool
	start time.Time
}

// New returns a terminal that answers requests with yes if yes is true, all but
// critical ones.
func New(in io.Reader, out io.Writer, yes bool) *Terminal {
	return &Terminal{out: out, in: bufio.NewReader(in), yes: yes, start: time.Now()}
}

// Say prints a line; in a workflow none of it is taken for a command.
func (t *Terminal) Say(format string, args ...any) {
	fmt.Fprintln(t.out, untrusted.NoRunnerCommands(fmt.Sprintf(format, args...)))
}

// Header prints what the session begins with.
func (t *Terminal) Header(task session.Task, engine string) {
	t.Say("session %s · %s mode · %s · workspace %s", task.Session, task.Mode, task.Model, engine)
	t.Say("from %s to branch %s\n", short(task.Base), task.Branch)
}

func short(commit string) string { return commit[:min(10, len(commit))] }

// Event prints what happened, one line each.
func (t *Terminal) Event(e session.Event) {
	payload, err := session.Payload(e)
	if err != nil {
		return
	}
	switch p := payload.(type) {
	case *session.Answer:
		t.answer(p)
	case *session.Started:
		t.Say("→ %s", untrusted.EscapeLine(p.Title))
	case *session.Result:
		t.result(p)
	case *session.Checkpoint:
		if !p.Parked {
			t.Say("✔ checkpoint %s: %s", short(p.Commit), fileList(p.Files))
		}
	case *session.Note:
		t.note(p)
	}
}

// answer prints what the model said, and what of it was a call that nobody
// understood.
func (t *Terminal) answer(a *session.Answer) {
	if a.Content != "" {
		t.Say("%s", barred(a.Content))
	}
	for _, why := range a.Errors {
		t.Say("✗ a tool call could not be understood: %s", untrusted.EscapeLine(firstLineOf(why)))
	}
}

// note prints the first line of what the model was told, and the labels of the
// context it was given.
func (t *Terminal) note(n *session.Note) {
	switch n.Kind {
	case session.NoteReminder:
	case session.NoteContext:
		for _, label := range n.Labels() {
			t.Say("  with the task: %s", untrusted.EscapeLine(label))
		}
	default:
		t.Say("! %s", untrusted.EscapeLine(firstLineOf(n.Text)))
	}
}

func (t *Terminal) result(r *session.Result) {
	switch {
	case !r.OK:
		t.Say("✗ %s", untrusted.EscapeLine(firstLineOf(r.Content)))
	case len(r.Changes) > 0:
		t.Say("  %s", fileList(r.Changes))
	}
}

func firstLineOf(s string) string {
	s, _, _ = strings.Cut(strings.TrimSpace(s), "\n")
	if r := []rune(s); len(r) > 160 {
		return string(r[:160]) + "…"
	}
	return s
}

// barred shows a text of several lines, each behind a bar, so that none of them can
// be taken for a line of the terminal's own.
func barred(s string) string {
	const bar = "  │ "
	return bar + strings.ReplaceAll(untrusted.EscapeVisible(strings.TrimSpace(s)), "\n", "\n"+bar) //control:terminal-bar
}

// mostFilesShown is how many files of a change the terminal names; the branch
// has them all.
const mostFilesShown = 100

func fileList(files []session.FileChange) string {
	var parts []string
	for i, f := range files {
		if i == mostFilesShown {
			parts = append(parts, fmt.Sprintf("%d more files", len(files)-i))
			break
		}
		parts = append(parts, fmt.Sprintf("%s +%d −%d", untrusted.EscapeLine(f.Path), f.Added, f.Removed))
	}
	return strings.Join(parts, ", ")
}

// Live prints what is going on in an answer that is not complete.
func (t *Terminal) Live(l agent.Live) {
	if l.Title != "" {
		t.Say("  %s", untrusted.EscapeLine(l.Title))
	}
}

// Approve implements agent.Approver at the prompt. Without a person (end of
// input), the answer is no.
func (t *Terminal) Approve(ctx context.Context, asked []session.Asked) ([]session.Resolved, error) {
	var out []session.Resolved
	for _, a := range asked {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		out = append(out, t.ask(a))
	}
	return out, nil
}

func (t *Terminal) ask(a session.Asked) session.Resolved {
	if a.Kind == session.AskQuestion {
		return t.question(a)
	}
	severity := ""
	if a.Severity != "" && a.Severity != policy.None.String() {
		severity = ", severity " + a.Severity
	}
	t.Say("\n✋ approval %s%s: %s", a.ID, severity, wanted(a))
	t.Say("%s", barred(a.Display))
	for _, r := range a.Reasons {
		t.Say("  because %s", untrusted.EscapeLine(r))
	}
	t.Say("  sha256 %s", a.Digest)
	if t.yes && a.Severity != policy.Critical.String() {
		t.Say("  approved by --yes\n")
		return session.Resolved{ID: a.ID, Verdict: policy.Approved, By: "--yes"}
	}
	fmt.Fprint(t.out, "Let exactly this happen? [y/N, or a reason for no] ")
	line, err := t.in.ReadString('\n')
	line = strings.TrimSpace(line)
	t.Say("")
	switch strings.ToLower(line) {
	case "y", "yes":
		return session.Resolved{ID: a.ID, Verdict: policy.Approved, By: "the person at the terminal"}
	case "n", "no":
		line = ""
	case "":
		if err != nil {
			return session.Resolved{ID: a.ID, Verdict: policy.Denied, Reason: "nobody is at the terminal"}
		}
	}
	return session.Resolved{ID: a.ID, Verdict: policy.Denied, By: "the person at the terminal", Reason: line}
}

// wanted says what a request is for.
func wanted(a session.Asked) string {
	switch {
	case len(a.Paths) == 0:
		return "the agent wants to run a command"
	case a.Tool == session.PublishTool:
		return "the agent wants to put on the branch a change to " + pathList(a.Paths)
	}
	return "the agent wants to change " + pathList(a.Paths)
}

func pathList(paths []string) string {
	shown := paths[:min(len(paths), mostFilesShown)]
	out := untrusted.EscapeLine(strings.Join(shown, ", "))
	if more := len(paths) - len(shown); more > 0 {
		out += fmt.Sprintf(" and %d more", more)
	}
	return out
}

func (t *Terminal) question(a session.Asked) session.Resolved {
	t.Say("\n❓ The agent asks:\n%s", barred(a.Display))
	for i, c := range a.Choices {
		t.Say("  %d. %s", i+1, untrusted.EscapeLine(c))
	}
	fmt.Fprint(t.out, "> ")
	line, err := t.in.ReadString('\n')
	line = strings.TrimSpace(line)
	if line == "" && err != nil {
		return session.Resolved{ID: a.ID, Verdict: policy.Expired}
	}
	return session.Resolved{ID: a.ID, Verdict: policy.Answered, Reason: line}
}

// LeftOut names what the workspace had and the branch has not.
func (t *Terminal) LeftOut(list []session.LeftOut) {
	if len(list) == 0 {
		return
	}
	t.Say("\nNot kept, and not on the branch:")
	for _, l := range list {
		name := untrusted.EscapeLine(l.Path) + ": "
		if l.Path == "." {
			name = ""
		}
		t.Say("  %s%s", name, untrusted.EscapeLine(l.Why))
	}
}

// Outcome prints how the run ended and what to do with the result.
func (t *Terminal) Outcome(task session.Task, out session.Outcome, repo string) {
	t.Say("\n%s after %d turns in %s", strings.ReplaceAll(string(out.Status), "_", " "), out.Turns, time.Since(t.start).Round(10*time.Millisecond))
	if out.Reason != "" {
		t.Say("%s", barred(out.Reason))
	}
	if out.Summary != "" {
		t.Say("%s", barred(out.Summary))
	}
	if out.Tests != "" {
		t.Say("Seen by Handrail: %s", untrusted.EscapeLine(out.Tests))
	}
	for i, f := range out.Files {
		if i == mostFilesShown {
			t.Say("  … and %d more files", len(out.Files)-i)
			break
		}
		t.Say("  %s +%d −%d (%s)", untrusted.EscapeLine(f.Path), f.Added, f.Removed, f.Kind)
	}
	if out.Commit != task.Base {
		if rel, err := filepath.Abs(repo); err == nil {
			repo = rel
		}
		t.Say("\nThe result is on branch %s:\n  git -C %s diff %s %s", task.Branch, repo, short(task.Base), task.Branch)
	}
	if out.Status.Parked() {
		t.Say("Go on with: handrail run --repo %s --session %s --turns 10", repo, task.Session)
	}
}
