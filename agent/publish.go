package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/policy"
	"github.com/handrail-bot/handrail/policy/phrase"
)

// scratchDir is the model's directory for temporary files. The prompt names it.
const scratchDir = ".handrail-scratch/"

// Scratch reports whether path is a temporary file of the model. A [Checkpointer] ignores
// such files, and they disappear with the workspace.
func Scratch(path string) bool { return strings.HasPrefix(path, scratchDir) }

// publisher puts saved changes on the branch.
type publisher struct {
	*journal
	gate  *gate
	saves Checkpointer
}

// publish puts the changes of the turn on the branch. It checks the resulting tree, so
// the origin of a change (a tool, a shell command, a rename, a symlink) does not matter:
// a sensitive path is pushed only with an approval of exactly that content.
func (p *publisher) publish(ctx context.Context) (*session.Outcome, error) {
	m := p.TakingIn()
	if len(p.Unpushed) == 0 && m == nil {
		return nil, nil
	}
	if m.Unsettled() || m.Unseen(p.Turns) { //control:conflicts-stay-home
		return nil, nil
	}
	s, err := p.needsApproval(ctx)
	if err != nil {
		return nil, err
	}
	if len(s.paths) > 0 {
		free, out, err := p.clear(ctx, s)
		if err != nil || out != nil {
			return out, err
		}
		if !free {
			return nil, nil
		}
	}
	pub := Publication{
		Saved:    p.Saved,
		When:     p.SavedAt,
		Parent:   p.Published,
		Subject:  p.Task.Convention.Fit(session.Subject(p.Unpushed), p.Unpushed, ""),
		TookBack: p.Newest.TookBack,
		Merge:    m,
	}
	pub.Turn = p.SavedIn //control:same-commit-again
	if p.Publish.Approval().IsApproved() {
		pub.Approval = p.Publish.Request.ID
	}
	cp, err := p.saves.Publish(ctx, pub)
	if err != nil && p.guestActs() && ctx.Err() == nil && !errors.Is(err, session.ErrFenced) { //control:action-is-not-cut-short
		return nil, nil //nolint:nilerr // it is tried again behind the action, which an end of the run would break off
	}
	if err != nil {
		return nil, fmt.Errorf("publish checkpoint: %w", err)
	}
	events := []*session.Event{session.NewEvent(session.TypeCheckpoint, p.Turns, cp)}
	if cp.Sent != nil && len(cp.Sent.Held) > 0 {
		events = append(
			events,
			session.NewEvent(session.TypeNote, p.Turns, session.Note{Kind: session.NoteHeld, Text: heldText(cp.Sent.Held)}),
		)
	}
	if err := p.record(ctx, events...); err != nil || !cp.Parked {
		return nil, err
	}
	return &session.Outcome{Status: session.StatusFailed, Reason: "The work could not be pushed."}, nil
}

// heldText tells the model about files that are part of its work but not on the branch.
func heldText(held []session.FileChange) string {
	names := make([]string, 0, len(held))
	for _, f := range held {
		names = append(names, f.Path)
	}
	return fmt.Sprintf(
		"Your change to %s is good, but I am not allowed to push workflow files. The people here get it as a patch to apply. "+
			"It is not in your workspace any more: do not make it again.",
		strings.Join(names, ", "),
	)
}

// sensitive holds the changes that need an approval before they are pushed.
type sensitive struct {
	paths []string
	leaks []Leak   // credentials added to them
	held  []string // reasons that a push would run some of them elsewhere
}

// leakReasons describes the location of each credential.
func (s sensitive) leakReasons() (out []string) {
	for _, l := range s.leaks {
		out = append(
			out,
			fmt.Sprintf("%s line %d looks like a secret (%s): %s; it is not shown here", l.Path, l.Line, l.Rule, l.Text),
		)
	}
	return out
}

// needsApproval lists the changed paths that may not be pushed without an approval: all
// of them in a read-only mode or beyond its edit limit; otherwise the sensitive ones,
// those held by the policy, and those with an added credential.
func (p *publisher) needsApproval(ctx context.Context) (sensitive, error) {
	var out, rest, held []string
	for _, e := range p.changed() {
		if yes, err := p.approved(ctx, e); err != nil {
			return sensitive{}, err
		} else if yes {
			continue
		}
		if !p.mode.Allows(policy.Write) || p.beyondLimit() || p.gate.policy.Changes(e).Sensitive { //control:gate-on-the-tree
			out = append(out, e.Path)
		}
		if why := p.gate.policy.HoldReason(e); why != "" { //control:push-hold
			if !slices.Contains(held, why) {
				held = append(held, why)
			}
			if !slices.Contains(out, e.Path) {
				out = append(out, e.Path)
			}
		}
		if e.Is != "" {
			rest = append(rest, e.Path)
		}
	}
	if p.gate.secrets == nil || len(rest) == 0 {
		return sensitive{paths: out, held: held}, nil
	}
	leaks, err := p.gate.secrets.Scan(ctx, p.Published, p.Saved, rest)
	if err != nil {
		return sensitive{}, fmt.Errorf("look for credentials: %w", err)
	}
	known := setOf(out)
	for _, l := range leaks {
		if !known[l.Path] {
			known[l.Path] = true
			out = append(out, l.Path)
		}
	}
	return sensitive{out, leaks, held}, nil
}

// approved reports whether the edits that led to e have approvals that currently count:
// the facts they are bound to are unchanged, and their approvers are still entitled. It
// walks back from the newest edit, so each request is checked once, even if later edits
// restore an earlier content.
func (p *publisher) approved(ctx context.Context, e policy.Effect) (bool, error) {
	yes, ok := p.Approved[e.Path]
	if !ok || !yes.Covers(e) {
		return false, nil
	}
	is := yes.Is
	for _, r := range slices.Backward(p.Requests) {
		made := effectOn(r.Effects, e.Path)
		if r.Approval.State != policy.Used || r.Tool == session.PublishTool || made.Path != e.Path || made.Is != is {
			continue
		}
		if why, err := p.gate.approvalDoubt(ctx, r); why != "" || err != nil { //control:edit-at-the-door
			return false, err
		}
		if is = made.Was; is == yes.Was {
			return true, nil
		}
	}
	return false, nil
}

// effectOn returns the effect of a request on a file, or the zero value.
func effectOn(list []policy.Effect, path string) policy.Effect {
	for _, e := range slices.Backward(list) {
		if e.Path == path {
			return e
		}
	}
	return policy.Effect{}
}

// changed lists the effects of a push, one per path.
func (p *publisher) changed() []policy.Effect {
	var out []policy.Effect
	for _, f := range p.Unpushed {
		out = append(out, f.Effects()...)
	}
	return out
}

func setOf(paths []string) map[string]bool {
	set := make(map[string]bool, len(paths))
	for _, p := range paths {
		set[p] = true
	}
	return set
}

// beyondLimit reports whether commands made more edits than the mode allows. Edits by
// tools are counted by the gate before they are made.
func (p *publisher) beyondLimit() bool {
	return p.mode.EditLimit != policy.NoEditLimit && p.modeEdits() > p.mode.EditLimit
}

// clear asks for an approval of the sensitive paths. It returns true if they may be
// pushed. If they were refused, they are reverted and the model is told.
func (p *publisher) clear(ctx context.Context, s sensitive) (bool, *session.Outcome, error) {
	id := fmt.Sprintf("p%d", p.Turns)
	diff, err := p.saves.Diff(ctx, p.Published, p.Saved, s.paths)
	if err != nil {
		return false, nil, fmt.Errorf("diff sensitive paths: %w", err)
	}
	action := policy.Action{Kind: policy.Write, Tool: session.PublishTool, Paths: s.paths, Display: diff}
	meant := setOf(s.paths)
	for _, e := range p.changed() {
		if meant[e.Path] {
			action.Effects = append(action.Effects, e)
		}
	}
	if p.beyondLimit() {
		action.Edits = p.modeEdits()
	}
	ru := ruling{action: action, decision: p.gate.policy.Check(p.mode, action).Held(s.held).Leaking(s.leakReasons())}
	switch ru.decision.Verdict {
	case policy.Allow:
		return true, nil, nil
	case policy.Deny:
		return false, nil, p.takeBack(ctx, s.paths, reasonText(ru.decision))
	}
	if err := p.gate.bind(ctx, id, &ru); err != nil {
		return false, nil, err
	}
	g := p.Publish
	if g == nil || g.Approval().State == policy.Stale {
		return p.askPublish(ctx, s, ru)
	}
	if text, refused := p.refusal(g); refused {
		return false, nil, p.takeBack(ctx, s.paths, text)
	}
	if g.Waits() {
		if why := outdatedReason(g, ru); why != "" {
			if err := p.record(ctx, staleEvent(g, why)); err != nil {
				return false, nil, err
			}
		} else if parked, err := p.gate.stillWaits(ctx, g); parked != nil || err != nil {
			return false, parked, err
		}
	} else if yes, err := p.gate.approvalHolds(ctx, g, ru); yes || err != nil {
		return yes, nil, err
	}
	return p.clear(ctx, s) // it is stale now, or was answered in the meantime
}

// askPublish records the request and handles an immediate answer.
func (p *publisher) askPublish(ctx context.Context, s sensitive, ru ruling) (bool, *session.Outcome, error) {
	c := &session.CallState{Call: session.Call{ID: fmt.Sprintf("p%d", p.Turns), Name: session.PublishTool}, Turn: p.Turns}
	if g := p.Publish; g != nil { // the new request mentions the fate of the previous one
		c.Request = g.Request
	}
	a := p.gate.ask(c, ru)
	if err := p.propose(ctx, &a, ru, s); err != nil {
		return false, nil, err
	}
	if err := p.record(ctx, decisionEvent(c, ru), session.NewEvent(session.TypeAsked, c.Turn, a)); err != nil {
		return false, nil, err
	}
	if err := p.gate.approve(ctx, []session.Asked{a}); err != nil {
		return false, nil, err
	}
	if g := p.Publish; g.Waits() {
		return false, parkedOutcome(g), nil
	}
	return p.clear(ctx, s)
}

// takeBack restores paths to the published state, or during a merge to the state of the
// merged base branch, and tells the model the reason.
func (p *publisher) takeBack(ctx context.Context, paths []string, why string) error {
	to := p.Published
	if m := p.TakingIn(); m != nil {
		to = m.Commit //control:refused-as-on-the-base
	}
	if err := p.saves.Revert(ctx, to, paths); err != nil {
		return fmt.Errorf("take back %s: %w", strings.Join(paths, ", "), err)
	}
	saved, err := p.saves.Save(ctx, p.Turns, true)
	if err != nil {
		return fmt.Errorf("save changes: %w", err)
	}
	return p.record(ctx, append(
		saved.neighbors(p.Turns),
		session.NewEvent(
			session.TypeNote,
			p.Turns,
			session.Note{Kind: session.NoteReverted, Text: p.takenBackText(paths, why)},
		),
		session.NewEvent(session.TypeCheckpoint, p.Turns, saved.checkpoint(p.Published)),
	)...)
}

// notes tells how the branch has some files otherwise than the workspace, or than the disk
// of the clone can hold them.
func (s Saved) notes(turn int, call string) (out []*session.Event) {
	add := func(paths []string, text string) {
		if len(paths) > 0 {
			note := session.Note{Kind: session.NoteLFS, Call: call, Text: fmt.Sprintf(text, strings.Join(paths, ", "))}
			out = append(out, session.NewEvent(session.TypeNote, turn, note))
		}
	}
	add(s.LFS, "Git LFS keeps the content of %s: the branch has a pointer to it. "+
		"The content is in this clone, and `git push` uploads it if git-lfs is installed.")
	add(s.Unfiltered, "Git's settings in the clone run a filter on %s, which is not run here: "+
		"on the branch, `git add --renormalize .` applies it.")
	add(s.Alike, "Beside %s there is a name that differs only in upper and lower case, "+
		"and the clone's disk holds only one of them: rename one before you check out the branch.")
	return out
}

// neighbors returns the log entry for changes in other repositories, if there are any.
func (s Saved) neighbors(turn int) []*session.Event {
	if len(s.Neighbors) == 0 {
		return nil
	}
	return []*session.Event{session.NewEvent(session.TypeState, turn, session.Update{Neighbors: s.Neighbors})}
}

// checkpoint returns the log entry for a saved state.
func (s Saved) checkpoint(parent string) session.Checkpoint {
	return session.Checkpoint{
		Commit:  s.Commit,
		Tree:    s.Tree,
		Parent:  parent,
		Files:   s.Files,
		Parked:  true,
		Content: s.Content,
		Merge:   s.Merge,
	}
}

func firstLine(s string, most int) string {
	s, _, more := strings.Cut(strings.TrimSpace(s), "\n")
	if short := phrase.Short(s, most); short != s || !more {
		return short
	}
	return s + " …"
}
