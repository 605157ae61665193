package approval

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/bot/render"
	"github.com/handrail-bot/handrail/policy"
)

// Fork is a session on a pull request from a fork. Opening one needs no right, and the
// session's changes go to a branch of the repository itself. So a session that may change
// files waits until a user with write access has written "/agent ok COMMIT". That is for
// this one commit, which the session then starts from. The log records requests and
// answers, which are checked again before the first answer of the model.
type Fork struct {
	Session
	Holder Holder
	// Names reports whether a text lets the session work on a commit.
	Names func(ctx context.Context, text, commit string) (bool, error)
}

// ForkMoves reports whether an event says that a fork has new commits for a pull request.
func ForkMoves(ev ghapp.Event) bool {
	return ev.Kind == "pull_request" && ev.Action == "synchronize" && ev.Pull.Fork && ev.Thread.Number != 0
}

// OwnBranch returns the branch of a pull request if it is one of the repository itself,
// else "". A fork may give its branch any name.
func OwnBranch(p *ghapp.Pull) string {
	if p == nil || p.Fork { //control:fork-branch
		return ""
	}
	return p.Head
}

// WaitingCommit returns the open request for a commit of a session, or nil.
func WaitingCommit(v *session.State) *session.Request {
	if r := NewestCommit(v); r != nil && r.Approval.IsPending() {
		return r
	}
	return nil
}

// NewestCommit returns the newest request for a commit of a session, or nil.
func NewestCommit(v *session.State) *session.Request {
	for _, r := range slices.Backward(v.Requests) {
		if r.Kind == session.AskCommit {
			return r
		}
	}
	return nil
}

// maxForkRequests is the maximum number of requests for moves of a fork, with no message of a
// user in between.
const maxForkRequests = 20

// Look returns the events to record before work on a session: a request for the fork's
// current commit, the end of an outdated request, and that the session waits. It returns
// none if work may go on.
func (s Fork) Look(ctx context.Context, v *session.State) ([]*session.Event, error) {
	mode, err := policy.ParseMode(v.ModeName())
	begins := v.Plan() != nil && v.Plan().Approval.IsApproved() //control:fork-plan
	if v.Over() || err == nil && mode.ReadOnly() && !begins {   //control:fork-waits
		return nil, nil
	}
	last := NewestCommit(v)
	if last != nil && last.Approval.IsApproved() && v.Turns > last.Turn {
		return nil, nil // already used
	}
	p, err := s.Client.GetPull(ctx, s.Thread)
	if err != nil {
		return nil, err
	}
	switch {
	case last == nil || !last.Approval.IsPending() && !last.Approval.IsApproved():
		return s.ask(v, p, ""), nil
	case last.Head != p.HeadSHA: //control:fork-moved
		return append(staleEvents(v, last, render.WhyForkMoved), s.ask(v, p, render.WhyForkMoved)...), nil
	case last.Approval.IsPending() && v.Outcome == nil:
		return []*session.Event{parkEvent(v)}, nil
	case last.Approval.IsPending():
		return nil, nil
	}
	why, err := s.confirm(ctx, last)
	if why == "" || err != nil {
		return nil, err
	}
	return append(staleEvents(v, last, why), s.ask(v, p, why)...), nil
}

// ask returns the events of a request for the fork's current commit. again is the reason
// why an earlier one does not count.
func (s Fork) ask(v *session.State, p ghapp.Pull, again string) []*session.Event {
	all, row := 0, 0
	for _, m := range v.Timeline {
		switch m := m.(type) {
		case *session.Message:
			row = 0
		case *session.Request:
			if m.Kind == session.AskCommit {
				all, row = all+1, row+1
			}
		}
	}
	if row >= maxForkRequests {
		out := session.Outcome{Status: session.StatusStopped, Turns: v.Turns, Files: v.Files, Reason: render.ForkMovesOn}
		return []*session.Event{session.NewEvent(session.TypeEnded, v.Turns, session.Ended{Outcome: out})}
	}
	id := fmt.Sprintf("fork-%d", all+1)
	var reasons []string
	if again != "" {
		reasons = []string{again}
	}
	return []*session.Event{
		session.NewEvent(session.TypeAsked, v.Turns, session.Asked{
			ID:      id,
			Kind:    session.AskCommit,
			Call:    id,
			Digest:  ghapp.Digest(s.ID, p.HeadSHA),
			Display: p.HeadSHA,
			Head:    p.HeadSHA,
			Base:    p.BaseSHA,
			Reasons: reasons,
			Bound:   []session.Fact{{Name: "commit of the fork", Value: p.HeadSHA}},
		}),
		parkEvent(v),
	}
}

func parkEvent(v *session.State) *session.Event {
	return session.NewEvent(
		session.TypeEnded,
		v.Turns,
		session.Ended{Outcome: session.Outcome{Status: session.StatusAwaitingApproval, Turns: v.Turns, Files: v.Files}},
	)
}

func staleEvents(v *session.State, r *session.Request, why string) []*session.Event {
	return []*session.Event{
		session.NewEvent(session.TypeResolved, v.Turns, session.Resolved{ID: r.ID, Verdict: policy.Stale, Reason: why}),
	}
}

// confirm returns the reason why the approval of a commit no longer counts, or "".
func (s Fork) confirm(ctx context.Context, r *session.Request) (string, error) {
	actor, why, err := s.speaker(ctx, *r.Answer)
	if why != "" || err != nil {
		return why, err
	}
	if may, why := policy.MayAsk(actor, policy.AskFacts{Request: policy.AskChange, Bots: s.Config.Approvals.Bots}); may != policy.Allow { //control:fork-right-again
		return render.WhyNoRight(why), nil
	}
	look := s.Session
	look.Approves = func(ctx context.Context, text, _ string) (Yes, error) {
		ok, err := s.Names(ctx, text, r.Head)
		if !ok || err != nil {
			return YesNot, err
		}
		return YesNamed, nil
	}
	return look.verifySource(ctx, r.ID, *r.Answer) //control:fork-said
}

// Answer returns the effect of an approval of a commit, given a prefix of its id. told is
// the reason if it does not count.
func (s Fork) Answer(
	ctx context.Context,
	v *session.State,
	commit string,
	yes session.Resolved,
) (res *session.Resolved, told string, err error) {
	open := WaitingCommit(v)
	if open == nil {
		return nil, render.NoForkWaits(commit), nil
	}
	p, err := s.Client.GetPull(ctx, s.Thread)
	if err != nil {
		return nil, "", err
	}
	known := []string{p.HeadSHA} // commits of the fork that users may have seen here
	for _, r := range v.Requests {
		if r.Kind == session.AskCommit && !slices.Contains(known, r.Head) {
			known = append(known, r.Head)
		}
	}
	meant := slices.DeleteFunc(known, func(sha string) bool { return !strings.HasPrefix(sha, strings.ToLower(commit)) })
	switch {
	case len(meant) > 1: //control:fork-ambiguous
		return nil, render.ForkAmbiguous(commit, p.HeadSHA), nil
	case len(meant) == 0:
		return nil, render.ForkOther(commit, p.HeadSHA), nil
	case meant[0] != p.HeadSHA || open.Head != p.HeadSHA: //control:fork-commit
		return nil, render.ForkMoved(commit, p.HeadSHA), nil
	}
	yes.ID, yes.Verdict = open.ID, policy.Approved
	return &yes, "", nil
}

// forkShown is the key of the [Stage] of the comment about commits.
const forkShown = "fork"

// Show keeps the session's one comment about commits up to date with the last request and
// its outcome. A fork that moves often gets no further comments.
func (s Fork) Show(ctx context.Context, v *session.State) error {
	r := NewestCommit(v)
	if r == nil {
		return nil
	}
	text := render.ForkRequest(r)
	is, says := s.Holder.Stage(forkShown), ghapp.Digest(text)
	key := forkBegin + s.ID + is.Again
	if is.Shown == says {
		return nil
	}
	if is.Shown == "" && r.Approval.IsPending() {
		whom, err := s.whom(ctx, v)
		if err != nil {
			return err
		}
		is.Whom = whom
	}
	if !r.Approval.IsPending() {
		is.Whom = nil
	}
	ref, err := s.Holder.Ensure(
		ctx,
		ghapp.Write{Key: key, Kind: ghapp.WriteComment, Mentions: is.Whom, Body: text, First: true},
	)
	if err == nil && is.Shown != "" {
		_, err = s.Holder.Ensure(
			ctx,
			ghapp.Write{
				Key:      key + "-" + says,
				Kind:     ghapp.WriteEditComment,
				Target:   ghapp.Target{Comment: ref.ID},
				Mentions: is.Whom,
				Body:     text,
				First:    true,
			},
		)
	}
	if ghapp.UnlessRefused(err) != nil {
		return err
	}
	is.Shown = says
	return s.Holder.SetStage(ctx, forkShown, is)
}

// whom returns the users and teams to notify of a waiting commit: the author of the last
// instruction, if they may approve it, else those owners of everything that may. Edits of
// the comment notify no further users.
func (s Fork) whom(ctx context.Context, v *session.State) ([]string, error) {
	speaker, err := s.mayLetIn(ctx, LastSpeaker(v))
	if speaker != "" || err != nil {
		return []string{speaker}, err
	}
	owners, err := s.codeOwners(ctx)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, name := range owners.Of(wholeTree) {
		name = strings.TrimPrefix(name, "@")
		if org, _, team := strings.Cut(name, "/"); !team {
			name, err = s.mayLetIn(ctx, name)
		} else if !strings.EqualFold(org, s.Thread.Owner) {
			name = ""
		}
		if err != nil {
			return nil, err
		}
		if name != "" && !slices.Contains(out, name) && len(out) < maxReviewers {
			out = append(out, name)
		}
	}
	return out, nil
}

// mayLetIn returns the account of a user with the right to approve a commit, or "".
func (s Fork) mayLetIn(ctx context.Context, login string) (string, error) {
	if policy.ValidateLogin(login) != nil {
		return "", nil
	}
	actor, err := s.Client.Actor(ctx, login)
	if may, _ := policy.MayAsk(actor, policy.AskFacts{Request: policy.AskChange}); err != nil || may != policy.Allow || actor.Bot { //control:fork-tells-who-may
		return "", err
	}
	return actor.Login, nil
}
