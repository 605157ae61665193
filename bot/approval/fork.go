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

// Fork is a session on a pull request from a fork. Whoever opens such a pull request
// needs no right, and what a session changes goes to a branch of the repository itself:
// so a session that may change something waits until somebody with write access has
// written "/agent ok COMMIT". That is for this one commit, which the session then
// starts from. The log has what was asked and what was answered, and before the first
// answer of the model all of it is looked at once more.
type Fork struct {
	Session
	Holder Holder
	// Names returns what a text says to a commit: whether it lets the session work on
	// it.
	Names func(ctx context.Context, text, commit string) (bool, error)
}

// ForkMoves reports whether an event says that a fork has new commits for a pull request.
func ForkMoves(ev ghapp.Event) bool {
	return ev.Kind == "pull_request" && ev.Action == "synchronize" && ev.Pull.Fork && ev.Thread.Number != 0
}

// OwnBranch is the branch of a pull request where that is one of the repository's own, else
// "". A fork may give its branch any name.
func OwnBranch(p *ghapp.Pull) string {
	if p == nil || p.Fork { //control:fork-branch
		return ""
	}
	return p.Head
}

// WaitingCommit returns the request for a commit that is open in a session, or nil.
func WaitingCommit(v *session.State) *session.Request {
	if r := newestCommit(v); r != nil && r.Approval.Waits() {
		return r
	}
	return nil
}

func newestCommit(v *session.State) *session.Request {
	for _, r := range slices.Backward(v.Requests) {
		if r.Kind == session.AskCommit {
			return r
		}
	}
	return nil
}

// mostAsked is how often a session asks again because the fork moved, with no word of a
// person in between.
const mostAsked = 20

// Look returns what is to be recorded before a session is worked on: a request for the
// commit that the fork is at, the end of one that the fork has left behind, and that
// the session waits. It returns nothing where the work may go on.
func (s Fork) Look(ctx context.Context, v *session.State) ([]*session.Event, error) {
	mode, err := policy.ParseMode(v.ModeName())
	begins := v.Plan() != nil && v.Plan().Approval.Stands()   //control:fork-plan
	if v.Over() || err == nil && mode.ReadOnly() && !begins { //control:fork-waits
		return nil, nil
	}
	last := newestCommit(v)
	if last != nil && last.Approval.Stands() && v.Turns > last.Turn {
		return nil, nil // it was used
	}
	p, err := s.Client.GetPull(ctx, s.Thread)
	if err != nil {
		return nil, err
	}
	switch {
	case last == nil || !last.Approval.Waits() && !last.Approval.Stands():
		return s.ask(v, p, ""), nil
	case last.Head != p.HeadSHA: //control:fork-moved
		return append(left(v, last, render.WhyForkMoved), s.ask(v, p, render.WhyForkMoved)...), nil
	case last.Approval.Waits() && v.Outcome == nil:
		return []*session.Event{parked(v)}, nil
	case last.Approval.Waits():
		return nil, nil
	}
	why, err := s.confirm(ctx, last)
	if why == "" || err != nil {
		return nil, err
	}
	return append(left(v, last, why), s.ask(v, p, why)...), nil
}

// ask returns the events of a request for the commit that a fork is at. Again is why
// one that was asked for before does not count.
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
	if row >= mostAsked {
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
			ID: id, Kind: session.AskCommit, Call: id, Digest: ghapp.Digest(s.ID, p.HeadSHA), Display: p.HeadSHA, Head: p.HeadSHA, Base: p.BaseSHA, Reasons: reasons,
			Bound: []session.Fact{{Name: "commit of the fork", Value: p.HeadSHA}},
		}),
		parked(v),
	}
}

func parked(v *session.State) *session.Event {
	return session.NewEvent(session.TypeEnded, v.Turns, session.Ended{Outcome: session.Outcome{Status: session.StatusAwaitingApproval, Turns: v.Turns, Files: v.Files}})
}

func left(v *session.State, r *session.Request, why string) []*session.Event {
	return []*session.Event{session.NewEvent(session.TypeResolved, v.Turns, session.Resolved{ID: r.ID, Verdict: policy.Stale, Reason: why})}
}

// confirm returns why a word for a commit does not count any more, or "".
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
	return look.said(ctx, r.ID, *r.Answer) //control:fork-said
}

// Answer returns what a word for a commit comes to, which begins as commit does. Told
// says why it counts for nothing.
func (s Fork) Answer(ctx context.Context, v *session.State, commit string, yes session.Resolved) (res *session.Resolved, told string, err error) {
	open := WaitingCommit(v)
	if open == nil {
		return nil, render.NoForkWaits(commit), nil
	}
	p, err := s.Client.GetPull(ctx, s.Thread)
	if err != nil {
		return nil, "", err
	}
	known := []string{p.HeadSHA} // commits that the fork was at, as far as people can have seen them here
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

// forkShown is where the digest of what the comment says is kept.
const forkShown = "fork"

// Show has the session's one comment about commits say what was asked last, and what
// became of it: however often a fork moves, there is one.
func (s Fork) Show(ctx context.Context, v *session.State) error {
	r := newestCommit(v)
	if r == nil {
		return nil
	}
	text := render.ForkRequest(r)
	is, says := s.Holder.Stage(forkShown), ghapp.Digest(text)
	key := forkBegin + s.ID + is.Again
	if is.Shown == says {
		return nil
	}
	if is.Shown == "" && r.Approval.Waits() {
		whom, err := s.whom(ctx, v)
		if err != nil {
			return err
		}
		is.Whom = whom
	}
	if !r.Approval.Waits() {
		is.Whom = nil
	}
	ref, err := s.Holder.Ensure(ctx, ghapp.Write{Key: key, Kind: ghapp.WriteComment, Mentions: is.Whom, Body: text, First: true})
	if err == nil && is.Shown != "" {
		_, err = s.Holder.Ensure(ctx, ghapp.Write{Key: key + "-" + says, Kind: ghapp.WriteEditComment, Target: ghapp.Target{Comment: ref.ID}, Mentions: is.Whom, Body: text, First: true})
	}
	if ghapp.UnlessRefused(err) != nil {
		return err
	}
	is.Shown = says
	return s.Holder.SetStage(ctx, forkShown, is)
}

// whom returns who is told that a commit waits for a word: who asked for the work where
// they may say it, else the owners of everything who may. Edits of the comment tell
// nobody once more.
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
		if name != "" && !slices.Contains(out, name) && len(out) < mostReviewers {
			out = append(out, name)
		}
	}
	return out, nil
}

// mayLetIn returns the account of a person who may let the session work on a commit, ""
// for anybody else.
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
