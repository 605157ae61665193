// Package pull keeps the pull request of a session true: it opens it, has its title and
// text follow the work, leaves alone what a person wrote there, and knows what becomes
// of work whose pull request was merged or closed.
//
//	pull.go      when there is one, and what becomes of it
//	text.go      what it says
//	template.go  the repository's own form for it
//	ask.go       labels and reviewers
//	anew.go      a session that follows one whose pull request is merged or closed
//	handon.go    what people write there belongs to the session's thread
package pull

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot/approval"
	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/bot/render"
	"github.com/handrail-bot/handrail/bot/thread"
	"github.com/handrail-bot/handrail/policy"
)

// Kept is what the bot keeps of a session's pull request.
type Kept struct {
	At   int64          `json:"at,omitempty"`   // event of the session up to which all of this is done
	Note string         `json:"note,omitempty"` // what there was to tell then
	Said ghapp.PullText `json:"said,omitzero"`  // as it was written last; what a person changed differs
	Want string         `json:"want,omitempty"` // what it should say, as a digest
	Late int            `json:"late,omitempty"` // times in a row that GitHub did not answer to that
	For  int            `json:"for,omitempty"`  // number of the one that labels and reviewers were asked for
	Old  []int          `json:"old,omitempty"`  // those that were merged while the session went on
}

// Session is a session whose work is offered.
type Session struct {
	ID, Requester string
	Thread        thread.Ref
	Pull          *ghapp.Pull // that the thread is of; nil for an issue
	Target        string      // branch that the work goes to
	Config        policy.Config
	Client        *ghapp.Client
	Number        int // of its pull request, 0 for none
	Kept          Kept

	Ensure func(context.Context, ghapp.Write) (ghapp.Ref, error)  // makes one write happen, once
	Later  func(ctx context.Context, kind string, err error) bool // whether an error leaves a write for later
	Save   func(ctx context.Context, number int, k Kept) error    // before anybody can ask for something there
}

// Follow opens the pull request of a session that put something on its branch, and has
// one that is there say what is so. The note is what people have to be told of it.
func (s *Session) Follow(ctx context.Context, v *session.State) (note string, err error) {
	switch {
	case !v.Over() || v.Outcome.Status == session.StatusStopped, len(v.Checkpoints) == 0:
		return "", nil
	case s.Kept.At == v.Seq && s.Kept.Late == 0:
		return s.Kept.Note, nil
	case s.Kept.At == v.Seq: // all else was told
		return s.Kept.Note, s.askAgain(ctx)
	case s.Number == 0:
		note, err = s.offer(ctx, v, "")
	default:
		note, err = s.keep(ctx, v)
	}
	if err != nil {
		return "", err
	}
	s.Kept.At, s.Kept.Note = v.Seq, note
	return note, s.Save(ctx, s.Number, s.Kept)
}

// offer opens a pull request. When GitHub will not have it, the note says so. Before is
// what its text begins with.
func (s *Session) offer(ctx context.Context, v *session.State, before string) (note string, err error) {
	to, err := s.goal(ctx, v)
	if err != nil || to == "" {
		return "", err
	}
	wr := ghapp.Write{Key: "pull-" + s.ID, Kind: ghapp.WritePull, First: true}
	if before != "" { // not the first one
		wr.Key = fmt.Sprintf("pull-%s-%d", s.ID, v.EndedAt)
	}
	if wr.Pull, err = s.spec(ctx, v, to, before); err != nil {
		return "", err
	}
	ref, err := s.Ensure(ctx, wr)
	var no *ghapp.Refusal
	if errors.As(err, &no) { // what stood in its way earlier may be gone, or the branch that it goes to
		if to, err = existing(ctx, s.Client, to); err != nil {
			return "", err
		}
		if was := wr.Pull.Base; to != was {
			if wr.Pull, err = s.spec(ctx, v, to, before+render.BaseIsGone(was, to)); err != nil {
				return "", err
			}
		}
		wr.Key = fmt.Sprintf("pull-%s-%d", s.ID, v.Seq)
		ref, err = s.Ensure(ctx, wr)
	}
	if errors.As(err, &no) {
		return render.NoPull(v.Branch, no.Reason), nil
	}
	if err != nil {
		return "", err
	}
	s.Number, s.Kept.Said, s.Kept.Want = ref.Number, ref.Said, digest(wr.Pull)
	if err := s.Save(ctx, s.Number, s.Kept); err != nil {
		return "", err
	}
	return s.ask(ctx)
}

// goal is the branch that the session's work is offered to, "" when it needs
// no pull request: it is on the branch of one that is open.
func (s *Session) goal(ctx context.Context, v *session.State) (string, error) {
	if s.Pull == nil {
		return s.Target, nil
	}
	if v.Task.Branch != approval.OwnBranch(s.Pull) { // a stacked branch, or one for a fork
		return s.Target, nil
	}
	if v.Branch != v.Task.Branch { // beside the branch of this pull request
		return v.Task.Branch, nil
	}
	p, err := s.Client.GetPull(ctx, s.Thread)
	if err != nil || p.State == "open" {
		return "", err
	}
	return p.Base, nil
}

// keep has the pull request say what is so. When it was merged or closed while the
// session went on, what came after that is offered anew, or people are told where it is.
func (s *Session) keep(ctx context.Context, v *session.State) (note string, err error) {
	at := s.Thread
	at.Number = s.Number
	p, err := s.Client.GetPull(ctx, at)
	if errors.Is(err, ghapp.ErrNotFound) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	left := p.HeadSHA != v.Published
	switch {
	case p.State != "open" && !left:
		return "", nil
	case p.Merged: //control:work-after-the-merge
		if !slices.Contains(s.Kept.Old, p.Ref.Number) {
			s.Kept.Old = append(s.Kept.Old, p.Ref.Number)
		}
		s.Target = p.Base
		return s.offer(ctx, v, render.AfterTheMerge(p.Ref.Number))
	case p.State != "open":
		return render.ClosedMeanwhile(p.Ref.Number, v.Branch), nil
	}
	if err := s.reword(ctx, v, p); err != nil {
		return "", err
	}
	return s.ask(ctx)
}

// reword has the title and the text of the pull request follow the session. What a person
// wrote there since is left alone, each of the two for itself.
func (s *Session) reword(ctx context.Context, v *session.State, p ghapp.Pull) error {
	spec, err := s.spec(ctx, v, p.Base, "")
	if err != nil || s.Kept.Said == (ghapp.PullText{}) || digest(spec) == s.Kept.Want {
		return err
	}
	spec.Was = &s.Kept.Said
	ref, err := s.Ensure(ctx, ghapp.Write{Key: fmt.Sprintf("pull-%s-%d-text", s.ID, v.Seq), Kind: ghapp.WriteEditPull, Thread: p.Ref, Pull: spec})
	var no *ghapp.Refusal
	if errors.As(err, &no) { // a text that GitHub does not take is no reason to stop
		return nil
	}
	if err == nil {
		s.Kept.Said, s.Kept.Want = ref.Said, digest(spec)
	}
	return err
}

func digest(p *ghapp.PullSpec) string { return ghapp.Digest(p.Title, p.Body) }

// existing returns branch, or the default branch when that one is gone.
func existing(ctx context.Context, c *ghapp.Client, branch string) (string, error) {
	_, err := c.Head(ctx, branch)
	if !errors.Is(err, ghapp.ErrNotFound) {
		return branch, err
	}
	repo, err := c.Repo(ctx)
	return repo.DefaultBranch, err //control:target-gone
}
