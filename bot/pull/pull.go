// Package pull manages the pull request of a session: it opens the pull request,
// updates its title and text without overwriting edits by users, and handles work that
// continues after it was merged or closed.
//
//	pull.go      life cycle of the pull request
//	text.go      its title and text
//	template.go  the repository's pull request template
//	ask.go       labels and reviewers
//	ready.go     the end of its draft
//	anew.go      a session after one whose pull request was merged or closed
//	handon.go    forwarding of its events to the session's thread
package pull

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot/approval"
	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/bot/render"
	"github.com/handrail-bot/handrail/bot/thread"
	"github.com/handrail-bot/handrail/policy"
)

// Kept is the bot's stored data of a session's pull request.
type Kept struct {
	At    int64          `json:"at,omitempty"`   // event of the session up to which it is current
	Note  string         `json:"note,omitempty"` // note for the user at that event
	Said  ghapp.PullText `json:"said,omitzero"`  // digests of the text last written; a user's edit differs
	Want  string         `json:"want,omitempty"` // digest of the desired text
	Edit  string         `json:"edit,omitempty"` // key of the edit that was begun and is not in Said yet
	Late  int            `json:"late,omitempty"` // consecutive failed attempts at labels and reviewers
	Draft Draft          `json:"draft,omitzero"`
	For   int            `json:"for,omitempty"` // number of the pull request with labels and reviewers set
	Old   []int          `json:"old,omitempty"` // earlier pull requests of the session: merged, or of a branch that could not take its work
}

// Draft is the stored data of a pull request's draft state.
type Draft struct {
	Ended int       `json:"ended,omitempty"` // number of the pull request that is no draft any more
	Head  string    `json:"head,omitempty"`  // commit with checks that are awaited
	Since time.Time `json:"since,omitzero"`  // start of that wait
}

// Session is a session whose work is offered as a pull request.
type Session struct {
	ID, Requester string
	Person        bool // the requester is no bot
	Thread        thread.Ref
	Pull          *ghapp.Pull // the thread's own pull request; nil for an issue
	Target        string      // base branch
	Config        policy.Config
	Client        *ghapp.Client
	Number        int      // the session's pull request; 0 if there is none
	With          []string // threads of other repositories that it belongs with, as "owner/name#12"
	Kept          Kept

	Ensure func(context.Context, ghapp.Write) (ghapp.Ref, error)  // carries out a write exactly once
	Later  func(ctx context.Context, kind string, err error) bool // whether err defers a write
	Save   func(ctx context.Context, number int, k Kept) error    // called before the pull request can receive requests
}

// Follow opens the pull request of an ended session with work on its branch, or updates
// the existing one. note is a message for the user.
func (s *Session) Follow(ctx context.Context, v *session.State) (note string, err error) {
	switch {
	case !v.Over() || v.Outcome.Status == session.StatusStopped, len(v.Checkpoints) == 0:
		return "", nil
	case s.Kept.At == v.Seq && s.Kept.Late == 0:
		return s.Kept.Note, nil
	case s.Kept.At == v.Seq: // all else was told
		return s.askAgain(ctx)
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

// offer opens a pull request. If GitHub refuses it, note gives the reason. before is
// the beginning of its text.
func (s *Session) offer(ctx context.Context, v *session.State, before string) (note string, err error) {
	to, err := s.goal(ctx, v)
	if err != nil || to == "" {
		return "", err
	}
	wr := ghapp.Write{Key: "pull-" + s.ID, Kind: ghapp.WritePull, First: true}
	if before != "" { // a further pull request of the session
		wr.Key = fmt.Sprintf("pull-%s-%d", s.ID, v.EndedAt)
	}
	if wr.Pull, err = s.spec(ctx, v, to, before); err != nil {
		return "", err
	}
	ref, err := s.Ensure(ctx, wr)
	var no *ghapp.Refusal
	if errors.As(err, &no) { // the obstacle may be gone, or the base branch
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

// goal returns the base branch for the session's work, or "" if it needs no pull
// request because it is on the branch of an open one.
func (s *Session) goal(ctx context.Context, v *session.State) (string, error) {
	if s.Pull == nil {
		return s.Target, nil
	}
	if v.Task.Branch != approval.OwnBranch(s.Pull) { // a stacked branch, or work on a fork
		return s.Target, nil
	}
	if v.Branch != v.Task.Branch { // a branch on top of this pull request's
		return v.Task.Branch, nil
	}
	p, err := s.Client.GetPull(ctx, s.Thread)
	if err != nil || p.State == "open" {
		return "", err
	}
	return p.Base, nil
}

// keep updates the pull request. If it was merged during the session, or its branch could
// not take the later work, that is offered anew; if it was closed, note says where the
// later work is.
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
	case left && v.Branch != p.Head: //control:pull-of-the-work
		if !slices.Contains(s.Kept.Old, p.Ref.Number) {
			s.Kept.Old = append(s.Kept.Old, p.Ref.Number)
		}
		s.Target = p.Base
		return s.offer(ctx, v, render.BesideThePull(p.Ref.Number, p.Head))
	}
	if err := s.reword(ctx, v, p); err != nil {
		return "", err
	}
	return s.ask(ctx)
}

// reword updates the title and the text of the pull request. Each is left alone if a
// user has edited it.
func (s *Session) reword(ctx context.Context, v *session.State, p ghapp.Pull) error {
	spec, err := s.spec(ctx, v, p.Base, "")
	if err != nil || s.Kept.Said == (ghapp.PullText{}) || digest(spec) == s.Kept.Want {
		return err
	}
	wr := ghapp.Write{
		Key:    fmt.Sprintf("pull-%s-%d-text", s.ID, v.Seq),
		Kind:   ghapp.WriteEditPull,
		Thread: p.Ref,
		Pull:   spec,
	}
	if s.Kept.Edit != "" && s.Kept.Edit != wr.Key { // its answer was lost, and a request came between
		was := wr
		was.Key = s.Kept.Edit
		ref, err := s.Ensure(ctx, was)
		if ghapp.UnlessRefused(err) != nil {
			return err
		}
		if err == nil { //control:own-text-is-known
			s.Kept.Said = ref.Said
		}
	}
	s.Kept.Edit = wr.Key
	if err := s.Save(ctx, s.Number, s.Kept); err != nil {
		return err
	}
	said := s.Kept.Said
	spec.Was = &said
	ref, err := s.Ensure(ctx, wr)
	if ghapp.UnlessRefused(err) != nil {
		return err
	}
	s.Kept.Edit = ""
	if err == nil { // after a refusal the session continues without the new text
		s.Kept.Said, s.Kept.Want = ref.Said, digest(spec)
	}
	return nil
}

func digest(p *ghapp.PullSpec) string {
	return ghapp.Digest(append([]string{p.Title, p.Body}, p.With...)...)
}

// existing returns branch if it exists, and the default branch otherwise.
func existing(ctx context.Context, c *ghapp.Client, branch string) (string, error) {
	_, err := c.Head(ctx, branch)
	if !errors.Is(err, ghapp.ErrNotFound) {
		return branch, err
	}
	repo, err := c.Repo(ctx)
	return repo.DefaultBranch, err //control:target-gone
}
