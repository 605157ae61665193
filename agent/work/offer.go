package work

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/handrail-bot/handrail/agent"
	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/policy"
)

// offer is an action that a repository proposes for all of its sessions: its set-up, or the
// use of a server. Its approval is bound to the action alone, and kept for later sessions.
type offer struct {
	action   policy.Action
	call     string // id in the log
	rule     string
	severity policy.Severity
	reasons  []string
	server   string // name of the server; "" for a set-up
	standing string // digest for which an approval is kept as well; "" means none
	changed  string // reason that older requests about the same become stale
}

// standing is the state of an offer.
type standing int

const (
	refused standing = iota
	usable
	waiting // asked about
	unasked
)

// asking requests the approvals of a repository's offers at the start of a run, by the gate's
// rules.
type asking struct {
	*Engine
	agent.Approvals
	j    Job
	at   *session.State
	repo string // for which answers are kept
}

func (e *Engine) asking(j Job, at *session.State) *asking {
	repo, _, _ := strings.Cut(j.Task.Thread, "#")
	return &asking{
		Engine:    e,
		Approvals: agent.Approvals{Approver: j.Approver, Confirm: j.Confirm},
		j:         j,
		at:        at,
		repo:      cmp.Or(repo, j.Task.Clone.Path, j.Name),
	}
}

// stands returns the standing of an offer, with the answer that settled it or the open
// request about it. Answers of approvers are kept for all sessions.
func (r *asking) stands(
	ctx context.Context,
	o offer,
) (now standing, said session.Resolved, q *session.Request, err error) {
	digest := o.action.Digest()
	said, known, err := r.cfg.SetUps.Answers.Answer(ctx, r.repo, digest)
	if err == nil && !known && o.standing != "" {
		said, known, err = r.cfg.SetUps.Answers.Answer(ctx, r.repo, o.standing)
		known = known && said.Verdict == policy.Approved
	}
	q = r.request(digest)
	switch {
	case err != nil:
		return refused, said, nil, err
	case known && said.Verdict == policy.Approved:
		return usable, said, nil, nil
	case known:
		return refused, said, nil, nil //control:setup-denial-holds
	case q == nil:
		return unasked, session.Resolved{}, nil, nil
	case q.Approval.IsPending():
		return waiting, session.Resolved{}, q, nil
	case q.Answer == nil:
		return refused, session.Resolved{}, nil, nil
	case !q.Approval.IsApproved():
		if q.Answer.Verdict == policy.Denied && q.Answer.By != "" {
			err = r.cfg.SetUps.Answers.Keep(ctx, r.repo, digest, *q.Answer)
		}
		return refused, *q.Answer, nil, err
	}
	why, err := r.Doubt(ctx, q) //control:setup-checked-again
	if err != nil {
		return refused, said, nil, err
	}
	if why != "" {
		return unasked, said, nil, r.record(ctx, r.staleRequest(q, why))
	}
	err = r.cfg.SetUps.Answers.Keep(ctx, r.repo, digest, *q.Answer)
	if o.standing != "" && err == nil {
		err = r.cfg.SetUps.Answers.Keep(ctx, r.repo, o.standing, *q.Answer)
	}
	return usable, *q.Answer, nil, err
}

// request returns the newest request of the repository with a digest; nil if it is stale or
// withdrawn.
func (r *asking) request(digest string) *session.Request {
	for _, q := range slices.Backward(r.at.Requests) {
		if q.OfRepository() && q.Digest == digest { //control:mcp-yes-is-for-the-digest
			if s := q.Approval.State; s == policy.Stale || s == policy.Withdrawn {
				return nil
			}
			return q
		}
	}
	return nil
}

func (r *asking) staleRequest(q *session.Request, why string) *session.Event {
	stale := session.Resolved{ID: q.ID, Verdict: policy.Stale, Reason: why}
	return session.NewEvent(session.TypeResolved, r.at.Turns, stale)
}

// busy reports whether a request about a call awaits an answer, or is approved but unused.
func (r *asking) busy() bool {
	other := func(a session.Asked) bool { return !a.OfRepository() }
	return slices.ContainsFunc(r.at.Open(), other) || slices.ContainsFunc(r.at.Granted(), other)
}

// ask requests approvals of offers.
func (r *asking) ask(ctx context.Context, list ...offer) error {
	var events []*session.Event
	for _, o := range list {
		a := session.Asked{
			ID:       r.at.NewAskID(),
			Kind:     session.AskApproval,
			Call:     o.call,
			Digest:   o.action.Digest(),
			Severity: o.severity.String(),
			Tool:     o.action.Tool,
			Server:   o.server,
			Display:  o.action.Display,
			Reasons:  o.reasons,
		}
		if t := time.Duration(r.cfg.Rules.Approvals.Deadline); t > 0 {
			a.Deadline = time.Now().Add(t).UTC()
		}
		for _, q := range r.at.Requests {
			if q.Tool == a.Tool && q.Server == a.Server && (q.Approval.IsPending() || q.Approval.IsApproved()) {
				events = append(events, r.staleRequest(q, o.changed))
			}
		}
		d := session.Decision{
			Call:     a.Call,
			Kind:     o.action.Kind,
			Verdict:  policy.Ask,
			Severity: a.Severity,
			Rule:     o.rule,
			Reasons:  a.Reasons,
			Digest:   a.Digest,
		}
		events = append(
			events,
			session.NewEvent(session.TypeDecision, r.at.Turns, d),
			session.NewEvent(session.TypeAsked, r.at.Turns, a),
		)
	}
	return r.record(ctx, events...)
}

// wait presents requests. It reports whether all are settled; otherwise the outcome of the
// run is to wait.
func (r *asking) wait(
	ctx context.Context,
	asked ...session.Asked,
) (settled bool, waits *session.Outcome, err error) {
	answers, err := r.Answers(ctx, r.at.Turns, asked)
	if err != nil {
		return false, nil, err
	}
	if len(answers) > 0 {
		if err := r.record(ctx, answers...); err != nil {
			return false, nil, err
		}
	}
	for _, a := range asked {
		if q := r.at.Request(a.ID); q != nil && q.Approval.IsPending() {
			out := session.Outcome{Status: session.StatusAwaitingApproval, Files: r.at.Files, Commit: r.at.Published}
			ended := session.NewEvent(session.TypeEnded, r.at.Turns, session.Ended{Outcome: out})
			return false, &out, r.record(ctx, ended)
		}
	}
	return true, nil, nil
}

// tell adds a note for the model and users, unless it repeats the last one of its kind.
func (r *asking) tell(ctx context.Context, n session.Note) error {
	n.Kind = cmp.Or(n.Kind, session.NoteSetUp)
	for _, m := range slices.Backward(r.at.Timeline) {
		if old, ok := m.(*session.Note); ok && old.Kind == n.Kind {
			if old.Text == n.Text && old.Layer == n.Layer {
				return nil
			}
			break
		}
	}
	return r.record(ctx, session.NewEvent(session.TypeNote, r.at.Turns, n))
}

// record appends events to the log. It opens the session if the log is empty.
func (r *asking) record(ctx context.Context, events ...*session.Event) error {
	if r.at.Seq == 0 {
		events = append([]*session.Event{session.NewEvent(session.TypeOpened, 0, session.Opened{Task: r.j.Task})}, events...)
	}
	return record(ctx, r.j, r.at, events)
}
