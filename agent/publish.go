package agent

import (
	"context"
	"fmt"
	"path"
	"strings"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/policy"
)

// scratchDir is where a model may keep what only it needs. The prompt names
// it.
const scratchDir = ".handrail-scratch/"

// Scratch says whether path is of a file that a [Checkpointer] leaves out: the
// model keeps it for itself, and it goes with the workspace.
func Scratch(path string) bool { return strings.HasPrefix(path, scratchDir) }

// publish puts what the turn changed on the branch. Whatever route a change
// took (a tool, a shell command, a rename, a symlink), the resulting tree is
// what is looked at: a sensitive path goes out only with a person's yes to
// exactly that content.
func (r *run) publish(ctx context.Context) (verdict, *session.Outcome, error) {
	if len(r.state.Unpushed) == 0 {
		return goOn, nil, nil
	}
	held, leaks, err := r.held(ctx)
	if err != nil {
		return goOn, nil, err
	}
	if len(held) > 0 {
		free, out, err := r.clear(ctx, held, leaks)
		if err != nil || out != nil {
			return halt, out, err
		}
		if !free {
			return goOn, nil, nil
		}
	}
	cp, err := r.cfg.Checkpoints.Publish(ctx, Publication{
		Turn: r.state.Turns, Saved: r.state.Saved, Parent: r.state.Published, Subject: subjectLine(r.state.Unpushed),
	})
	if err != nil {
		return goOn, nil, fmt.Errorf("publish checkpoint: %w", err)
	}
	events := []*session.Event{session.NewEvent(session.TypeCheckpoint, r.state.Turns, cp)}
	if cp.Sent != nil && len(cp.Sent.Held) > 0 {
		events = append(events, session.NewEvent(session.TypeNote, r.state.Turns, session.Note{Kind: session.NoteHeld, Text: heldText(cp.Sent.Held)}))
	}
	if err := r.record(ctx, events...); err != nil || !cp.Parked {
		return goOn, nil, err
	}
	return halt, &session.Outcome{Status: session.StatusFailed, Reason: "The work could not be pushed."}, nil
}

// heldText tells the model of files that are its work and yet not on the
// branch.
func heldText(held []session.FileChange) string {
	names := make([]string, 0, len(held))
	for _, f := range held {
		names = append(names, f.Path)
	}
	return fmt.Sprintf("Your change to %s is good, but I am not allowed to push workflow files. The people here get it as a patch to apply. "+
		"It is not in your workspace any more: do not make it again.", strings.Join(names, ", "))
}

// held lists the changed paths that may not go out as they are: all of them
// in a mode that must not write; else the sensitive ones, and those to which
// a credential was added.
func (r *run) held(ctx context.Context) ([]string, []Leak, error) {
	var out, rest []string
	for _, f := range r.state.Unpushed {
		for _, p := range []string{f.Path, f.From} {
			if p == "" {
				continue
			}
			blob, ok := r.state.Approved[p]
			if ok && blob == f.Blob {
				continue
			}
			if !r.mode.Allows(policy.Write) || r.beyondLimit() || r.cfg.Policy.Sensitive(p).Sensitive { //control:gate-on-the-tree
				out = append(out, p)
			}
			if p == f.Path && f.Kind != session.ChangeDelete {
				rest = append(rest, p)
			}
		}
	}
	if r.cfg.Secrets == nil || len(rest) == 0 {
		return out, nil, nil
	}
	leaks, err := r.cfg.Secrets.Scan(ctx, r.state.Published, r.state.Saved, rest)
	if err != nil {
		return nil, nil, fmt.Errorf("look for credentials: %w", err)
	}
	known := setOf(out)
	for _, l := range leaks {
		if !known[l.Path] {
			known[l.Path] = true
			out = append(out, l.Path)
		}
	}
	return out, leaks, nil
}

func setOf(paths []string) map[string]bool {
	set := make(map[string]bool, len(paths))
	for _, p := range paths {
		set[p] = true
	}
	return set
}

// beyondLimit says whether commands made more edits than the mode allows. The
// gate counts those of tools before they are made.
func (r *run) beyondLimit() bool {
	return r.mode.EditLimit != policy.NoEditLimit && r.modeEdits() > r.mode.EditLimit
}

// clear asks for the held paths. It reports true when they may go out; when
// they may not, they were taken back and the model was told.
func (r *run) clear(ctx context.Context, held []string, leaks []Leak) (bool, *session.Outcome, error) {
	id := fmt.Sprintf("p%d", r.state.Turns)
	diff, err := r.cfg.Checkpoints.Diff(ctx, r.state.Published, r.state.Saved, held)
	if err != nil {
		return false, nil, fmt.Errorf("diff held paths: %w", err)
	}
	action := policy.Action{Kind: policy.Write, Tool: session.PublishTool, Paths: held, Display: diff}
	if r.beyondLimit() {
		action.Edits = r.modeEdits()
	}
	ru := ruling{action: action, decision: withLeaks(r.cfg.Policy.Check(r.mode, action), leaks)}
	switch ru.decision.Verdict {
	case policy.Allow:
		return true, nil, nil
	case policy.Deny:
		return false, nil, r.takeBack(ctx, held, reasonText(ru.decision))
	}
	if err := r.bind(ctx, id, &ru); err != nil {
		return false, nil, err
	}
	g := r.state.Publish
	if g == nil || g.Approval().State == policy.Stale {
		return r.askPublish(ctx, held, leaks, ru)
	}
	if text, refused := r.refusal(g); refused {
		return false, nil, r.takeBack(ctx, held, text)
	}
	if g.Waits() {
		if why := outdated(g, ru); why != "" {
			if err := r.stale(ctx, g, why); err != nil {
				return false, nil, err
			}
		} else if parked, err := r.stillWaits(ctx, g); parked != nil || err != nil {
			return false, parked, err
		}
	} else if yes, err := r.admitted(ctx, g, ru); yes || err != nil {
		return yes, nil, err
	}
	return r.clear(ctx, held, leaks) // it is stale now, or somebody was quicker
}

// withLeaks makes a decision wait for a person because of credentials,
// whatever the settings say: nobody allowed these beforehand.
func withLeaks(d policy.Decision, leaks []Leak) policy.Decision {
	for _, l := range leaks {
		d.Reasons = append(d.Reasons, policy.Reason{Rule: "secret",
			Text: fmt.Sprintf("%s line %d looks like a secret (%s): %s; it is not shown here", l.Path, l.Line, l.Rule, l.Text)})
	}
	if len(leaks) > 0 && d.Verdict != policy.Deny { //control:secret-hold
		d.Severity, d.Auto = policy.Critical, false
		if d.Verdict == policy.Allow {
			d.Verdict, d.Rule = policy.Ask, "secret"
		}
	}
	return d
}

// askPublish records the request and hears whether it is answered at once.
func (r *run) askPublish(ctx context.Context, held []string, leaks []Leak, ru ruling) (bool, *session.Outcome, error) {
	c := &session.CallState{Call: session.Call{ID: fmt.Sprintf("p%d", r.state.Turns), Name: session.PublishTool}, Turn: r.state.Turns}
	if g := r.state.Publish; g != nil { // what became of the last request goes into this one
		c.Request = g.Request
	}
	a := r.ask(c, ru)
	if err := r.propose(ctx, &a, ru, leaks); err != nil {
		return false, nil, err
	}
	if err := r.record(ctx, decisionEvent(c, ru), session.NewEvent(session.TypeAsked, c.Turn, a)); err != nil {
		return false, nil, err
	}
	if err := r.approve(ctx, []session.Asked{a}); err != nil {
		return false, nil, err
	}
	if g := r.state.Publish; g.Waits() {
		return false, r.parked(g), nil
	}
	return r.clear(ctx, held, leaks)
}

// takeBack restores held paths to what is published and tells the model why.
func (r *run) takeBack(ctx context.Context, held []string, why string) error {
	if err := r.cfg.Checkpoints.Revert(ctx, r.state.Published, held); err != nil {
		return fmt.Errorf("take back %s: %w", strings.Join(held, ", "), err)
	}
	saved, err := r.cfg.Checkpoints.Save(ctx, r.state.Turns)
	if err != nil {
		return fmt.Errorf("save changes: %w", err)
	}
	text := fmt.Sprintf("The change to %s was taken back. %s", strings.Join(held, ", "), why)
	return r.record(ctx,
		session.NewEvent(session.TypeNote, r.state.Turns, session.Note{Kind: session.NoteReverted, Text: text}),
		session.NewEvent(session.TypeCheckpoint, r.state.Turns, session.Checkpoint{
			Commit: saved.Commit, Tree: saved.Tree, Parent: r.state.Published, Files: saved.Files, Parked: true, Content: saved.Content,
		}))
}

// subjectLine names a checkpoint by what it changed.
func subjectLine(files []session.FileChange) string {
	verbs := map[session.ChangeKind]string{session.ChangeCreate: "Add", session.ChangeModify: "Update", session.ChangeDelete: "Delete", session.ChangeRename: "Rename"}
	if len(files) == 1 {
		return fmt.Sprintf("%s %s", verbs[files[0].Kind], firstLine(files[0].Path, 60))
	}
	dir := path.Dir(files[0].Path)
	for _, f := range files {
		if path.Dir(f.Path) != dir {
			return fmt.Sprintf("Change %d files", len(files))
		}
	}
	return fmt.Sprintf("Change %d files in %s", len(files), firstLine(dir, 50))
}

func firstLine(s string, most int) string {
	s, _, more := strings.Cut(strings.TrimSpace(s), "\n")
	if r := []rune(s); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	if more {
		s += " …"
	}
	return s
}
