package approval

import (
	"context"
	"errors"
	"slices"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot/render"
	"github.com/handrail-bot/handrail/policy"
)

// verbs are the commands that give an answer.
var verbs = map[policy.ApprovalState]string{policy.Approved: "approve", policy.Denied: "deny"}

// mayPlan decides whether an actor may have a plan carried out or dropped. That needs the
// right to request changes, and a configuration that allows them.
func (s Session) mayPlan(actor policy.Actor) (policy.Verdict, string) {
	v, why := policy.MayAsk(actor, policy.AskFacts{Request: policy.AskChange, RequesterID: s.RequesterID, Bots: s.Config.Approvals.Bots}) //control:plan-needs-write
	var no *policy.NotAllowed
	if err := s.Config.Permits(policy.Choice{Mode: "code", Model: s.Model}); v == policy.Allow && errors.As(err, &no) { //control:plan-mode-allowed
		no.Named = true
		return policy.Deny, render.NotAllowed(no)
	}
	return v, why
}

// SettledText tells the state of a settled request, in reply to an answer with this verdict.
func SettledText(v *session.State, r *session.Request, verdict policy.ApprovalState) string {
	if r.Kind == session.AskPlan {
		return render.PlanIsPast(r, v.Plan())
	}
	var instead string
	for _, a := range v.Open() {
		if a.Call == r.Call && r.Call != "" {
			instead = a.ID
		}
	}
	return render.IsPast(r, verdict, instead)
}

// NewestSettled returns the newest request for approval that is settled, or nil.
func NewestSettled(v *session.State) *session.Request {
	for _, r := range slices.Backward(v.Requests) {
		if r.Kind.ByID() && r.Answer != nil {
			return r
		}
	}
	return nil
}

// notOpen returns the reason why no open request matches an answer.
func (s Session) notOpen(ctx context.Context, v *session.State, answer Answer) (string, error) {
	id, verdict := answer.Request, answer.Verdict
	if r := v.Request(id); r != nil && r.Kind.ByID() && r.Answer != nil { //control:past-request
		return SettledText(v, r, verdict), nil
	}
	if s.Earlier != nil && v.Request(id) == nil {
		earlier, err := s.Earlier(ctx)
		if err != nil {
			return "", err
		}
		for _, e := range earlier {
			if r := e.Request(id); r != nil { //control:earlier-request
				return render.EarlierRequest(r, e), nil
			}
		}
	}
	return render.NotOpen(verbs[verdict], id, Open(v)), nil
}

// PlanAsker returns the approval of the newest plan if it is valid or used, or nil.
func PlanAsker(v *session.State) *session.Resolved {
	r := v.Plan()
	if r == nil || r.Approval.State != policy.Used && !r.Approval.IsApproved() {
		return nil
	}
	return r.Answer
}

// DropPlan returns the events that withdraw the plan of a session because of another
// instruction.
func DropPlan(v *session.State, by session.Message, id int64) []*session.Event {
	r := v.Plan()
	if r == nil || !r.Approval.IsPending() && !r.Approval.IsApproved() {
		return nil
	}
	return []*session.Event{
		session.NewEvent(
			session.TypeResolved,
			v.Turns,
			session.Resolved{ID: r.ID, Verdict: policy.Withdrawn, By: by.Author, ByID: id, Key: by.Key},
		),
	}
}
