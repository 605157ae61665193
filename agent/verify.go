package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/handrail-bot/handrail/agent/llm"
	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/agent/speech"
	"github.com/handrail-bot/handrail/agent/workspace"
	"github.com/handrail-bot/handrail/policy"
	"github.com/handrail-bot/handrail/policy/pattern"
	"github.com/handrail-bot/handrail/policy/untrusted"
)

// verifier runs the project's tests on saved states, outside of the model's shell. The
// policy is applied to each command as if the model had called it.
type verifier struct {
	*journal
	gate  *gate
	lines []string
	run   func(ctx context.Context, commit string, lines []string) (session.Verified, error)
}

// resultFor returns the test results for a commit, or nil if the tests cannot be run. They run
// once per commit.
func (v *verifier) resultFor(ctx context.Context, commit string, base bool) (*session.Verified, error) {
	known := v.Proof.Of(commit)
	if base {
		known = v.Proof.Base
	}
	if known != nil && known.At == commit {
		return known, nil
	}
	if v.run == nil || len(v.lines) == 0 {
		return nil, nil
	}
	out := session.Verified{At: commit}
	if line, why := v.blockedCommand(); why != "" {
		out.Why = fmt.Sprintf("`%s` %s", line, why)
	} else {
		v.live(Live{Title: "Running the tests"})
		var err error
		if out, err = v.run(ctx, commit, v.lines); err != nil {
			if ctx.Err() != nil || errors.Is(err, workspace.ErrGone) {
				return nil, errors.Join(err, ctx.Err())
			}
			v.logger.WarnContext(ctx, "tests were not run", "session", v.Task.Session, "err", err)
			out = session.Verified{Why: "no workspace could be opened for them"}
		}
		out.At = commit
	}
	out.Base = base
	return &out, v.record(ctx, session.NewEvent(session.TypeVerified, v.Turns, out))
}

// blockedCommand returns the first command that the policy does not allow, and the reason.
func (v *verifier) blockedCommand() (line, why string) {
	for _, line := range v.lines {
		a := policy.Action{Kind: policy.Execute, Tool: "run_terminal_command", Command: line, Cwd: ".", Display: line}
		d := v.gate.policy.Check(v.mode, a)
		if d.Verdict != policy.Allow { //control:tests-pass-the-gate
			return line, map[policy.Verdict]string{policy.Ask: "needs an approval here", policy.Deny: "is not allowed here"}[d.Verdict]
		}
	}
	return "", ""
}

// maxRed is the maximum number of times that work with failing tests is sent back.
const maxRed = 3

// checkTests decides about work after its tests failed: it is sent back with their output, or
// ended as not done. It returns false if the work may count as done.
func (f *finisher) checkTests(ctx context.Context) (*session.Outcome, bool, error) {
	if !f.mayWrite() || !f.changed() || f.inside || f.tests.run == nil {
		return nil, false, nil
	}
	now, err := f.tests.resultFor(ctx, f.Saved, false)
	if err != nil || now == nil || now.Passed() {
		return nil, false, err
	}
	if now.Tests == nil {
		if f.claims.red == 0 {
			return nil, false, nil
		}
		was, err := f.tests.resultFor(ctx, f.BaseNow(), true)
		if err != nil || now.Millis > 0 && was.Tests == nil && was.Why == now.Why { //control:no-tests-as-before
			return nil, false, err // a build failed meanwhile; there is no test, before and after
		}
		out := f.summarize(ctx, session.StatusFailed, "")
		out.Reason = "Not done: the last run of the tests failed, and they could not be run again: " + now.Why + ". The work is kept."
		return out, true, nil
	}
	if !now.Failed() {
		return nil, false, nil
	}
	was, err := f.tests.resultFor(ctx, f.BaseNow(), true)
	if err != nil {
		return nil, false, err
	}
	alike := was.Failed() && (now.Tests.Exit == was.Tests.Exit || now.Tests.Killed() && was.Tests.Killed())
	fault := now.Tests.Says == session.TestsFailed && was.Tests != nil && was.Tests.Says != session.TestsFailed && alike
	if alike && cannotRun(now) && cannotRun(was) && !fault { //control:fault-before-the-kill
		return nil, false, nil // the tests cannot run here, with or without the change
	}
	if was.Failed() && !f.model.weak() && f.model.form != llm.FormFiles && f.claims.red > 0 && !broken(now, was) {
		return nil, false, nil // they failed before, too; the model was told and insists on its work
	}
	if l := f.wrongLine(now); l != nil && !f.tired() { //control:one-line
		text, _ := fileOf(now.Faulty, l.Path)
		return nil, true, f.record(ctx, session.NewEvent(session.TypeNote, f.Turns, session.Note{
			Kind: session.NoteTests,
			Text: askLine(l, text),
			Back: f.talk.entries[len(f.talk.entries)-1].seq,
			Line: l,
		}))
	}
	if f.claims.red >= maxRed || f.meter.turnsLeft() <= 1 || f.tired() {
		out := f.summarize(ctx, session.StatusFailed, "")
		ended := fmt.Sprintf("ended with exit code %d", now.Tests.Exit)
		if now.Tests.Killed() {
			ended = "was killed before it ended"
		}
		switch {
		case fault:
			ended += ", with a failure in its output that was not there before"
		case was.Failed() && was.Tests.Killed() == now.Tests.Killed():
			ended += ", as before the change"
		}
		out.Reason = fmt.Sprintf("Not done: the tests %s. `%s` %s. The work is kept, and shown as it is.",
			verb(now), now.Tests.Line, ended)
		out.Tests = f.Proof.Words(f.Saved)
		return out, true, nil
	}
	if f.model.form == llm.FormFiles && f.claims.red > 0 && f.TakingIn() == nil {
		hide, said := namedFunction(f.latestRequest(), f.talk.view()), ""
		switch {
		case f.talk.hidden != "":
			said = "The tests failed with your last attempt. They said:\n\n" + outputOf(now)
			if now.Tests.Killed() {
				said = "The tests did not end with your last attempt."
			}
		case was.Failed() && !was.Tests.Killed():
			said = testsSay(was)
		}
		return nil, true, f.startAnew(ctx, said, hide)
	}
	note := session.Note{Kind: session.NoteTests, Text: f.redText(now, was.Failed())}
	if f.model.form == llm.FormFiles { // it sees only its last version, without the previous attempts
		note.Back = f.talk.entries[len(f.talk.entries)-1].seq
	}
	return nil, true, f.record(ctx, session.NewEvent(session.TypeNote, f.Turns, note))
}

// broken reports whether a compiler or an interpreter rejects a changed file for a reason that it did
// not give before the change.
func broken(now, was *session.Verified) bool {
	return slices.ContainsFunc(now.Faults, func(at session.Fault) bool { //control:broken-is-not-done
		says := at.Says[strings.LastIndex(at.Says, "\n")+1:]
		return !strings.Contains(was.Output, position().ReplaceAllString(strings.TrimSpace(says), ""))
	})
}

// position matches the place at the beginning of a complaint.
var position = pattern.Lazy(`^\S+:\d+(?::\d+)?:\s*`)

// startAnew resets the files and the conversation to the start of the request: a model
// that calls no tools succeeds more often in a new attempt than in a repair. The words of the
// tests become part of the request. The body of the function hide, if it is not "", is left out:
// small models copy the code that they see.
func (f *finisher) startAnew(ctx context.Context, said, hide string) error {
	text := thinkFirst + "\n\n" + f.askFiles(false)
	if hide != "" {
		text = askAnew(hide)
	}
	return f.takeBack(ctx, &session.Note{
		Kind: session.NoteTests,
		Text: said + text,
		Back: f.talk.afterUserMessage(),
		Hide: hide,
	})
}

// takeBack resets the files to the start of the request, and records a note, if there is one.
func (f *finisher) takeBack(ctx context.Context, note *session.Note) error {
	paths := make([]string, 0, len(f.Files))
	for _, c := range f.Files {
		paths = append(paths, c.Path)
	}
	if err := f.saves.Revert(ctx, f.claims.start, paths); err != nil {
		return fmt.Errorf("take changes back: %w", err)
	}
	saved, err := f.saves.Save(ctx, f.Turns, true)
	if err != nil {
		return fmt.Errorf("save changes: %w", err)
	}
	events := saved.neighbors(f.Turns)
	if note != nil {
		events = append(events, session.NewEvent(session.TypeNote, f.Turns, *note))
	}
	events = append(events, session.NewEvent(session.TypeCheckpoint, f.Turns, saved.checkpoint(f.Published)))
	return f.record(ctx, events...)
}

// verb describes failing tests, behind "the tests".
func verb(v *session.Verified) string {
	if v.Tests.Killed() && v.Tests.Says == "" {
		return "do not end"
	}
	return "fail"
}

// cannotRun reports whether a program or a module was missing, or the tests were killed: they show nothing.
func cannotRun(v *session.Verified) bool {
	if v.Tests.Killed() { //control:endless-tests
		return true
	}
	if v.Tests.Exit == 126 || v.Tests.Exit == 127 {
		return true
	}
	for _, s := range []string{"No module named pytest", "MODULE_NOT_FOUND", "cannot load such file -- bundler", "dial tcp: lookup"} {
		if strings.Contains(v.Output, s) {
			return true
		}
	}
	return false
}

// testsSay shows the output of tests that fail before any change.
func testsSay(was *session.Verified) string {
	return "The tests fail now. They say:\n\n" + outputOf(was)
}

// outputOf shows the end of the tests' output, and the lines of the tests that failed.
func outputOf(run *session.Verified) string {
	return fence("", session.LastLines(strings.TrimSpace(run.Output), maxRedFiles)) + "\n\n" + failingParts(run)
}

// failingParts shows the lines of the tests that failed.
func failingParts(run *session.Verified) string {
	var b strings.Builder
	for _, part := range run.Lines {
		name, _, _ := strings.Cut(part.Name, ":L")
		fmt.Fprintf(&b, "This part of %s fails:\n\n%s\n\n", name, fence(name, part.Text))
	}
	return b.String()
}

// redText tells the model about failing tests.
func (f *finisher) redText(now *session.Verified, before bool) string {
	said := strings.TrimSpace(now.Output)
	if f.model.form == llm.FormFiles {
		return fmt.Sprintf(
			"The tests %s with your last version.\n\n%sThe tests say:\n\n%s\n\n%sWrite the corrected file.",
			verb(now),
			f.lastVersion(),
			fence("", session.LastLines(said, maxRedFiles)),
			failingParts(now),
		)
	}
	was := "They passed before your change."
	if before {
		was = "They failed before your change, too."
	}
	said = untrusted.Fence(f.talk.nonce, "output of the tests", session.LastLines(said, maxTestTail))
	if parts := failingParts(now); parts != "" {
		said += "\n" + untrusted.Fence(f.talk.nonce, "failing tests", strings.TrimSpace(parts))
	}
	return fmt.Sprintf("You said that the task is complete, but the tests %s: Handrail ran %s. %s They said:\n%s\n\n"+
		"Mend what fails and complete again. If that cannot be done here, complete again and say what fails and why.",
		verb(now), now.Tests, was, said)
}

// lastVersion shows the edits of the last answer. If that corrected a line, the ones before it
// come first.
func (f *finisher) lastVersion() string {
	var parts []string
	for i := len(f.talk.entries) - 1; i >= 0 && !f.talk.entries[i].person; i-- {
		e := f.talk.entries[i]
		if e.answer == nil && e.back {
			continue
		}
		var b strings.Builder
		for _, c := range e.calls {
			var args struct{ Path, Content, Diff string }
			if speech.IsEdit(c.Call) && json.Unmarshal(c.Arguments, &args) == nil {
				fmt.Fprintf(&b, "%s\n%s\n\n", args.Path, fence(args.Path, args.Content+args.Diff))
			}
		}
		parts = append(parts, b.String())
		if e.line == nil {
			break
		}
	}
	slices.Reverse(parts)
	return strings.Join(parts, "")
}

// maxRedFiles limits the test output for a model in the files form, in bytes.
const maxRedFiles = 1200
