package agent

import (
	"context"
	"fmt"
	"unicode/utf8"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/policy"
	"github.com/handrail-bot/handrail/policy/untrusted"
)

const (
	plansMode = "code"  // mode in which a plan is carried out
	maxPlan   = 100_000 // in characters: the approver has to read all of it
)

// planner submits the plan of a session in plan mode for approval, and starts the
// approved plan.
type planner struct {
	*journal
	gate *gate
	asks bool // plans can be submitted for approval
}

// plans reports whether the session ends with a plan to be approved.
func (p *planner) plans() bool { return p.asks && p.ModeName() == policy.PlanMode }

// propose submits a plan for approval and ends the session until it is approved.
func (p *planner) propose(ctx context.Context, plan string, because ...string) (*session.Outcome, error) {
	if n := utf8.RuneCountInString(plan); n > maxPlan {
		if p.claims.refusals < maxRefusals {
			return nil, p.tell(
				ctx,
				session.NoteRefused,
				fmt.Sprintf(
					"Your plan has %d characters. People approve it as a whole, so it has to be shorter than %d: write it again, shorter.",
					n,
					maxPlan,
				),
			)
		}
		return failed("The plan is too long to read, so I do not ask for approval. Ask for a smaller plan."), nil
	}
	plan, _ = untrusted.CleanPlain(plan) //control:plan-as-shown
	plan, _ = p.redactor.Redact(plan)    // the digest covers the recorded text
	a := session.Asked{
		ID:      p.gate.NewAskID(),
		Kind:    session.AskPlan,
		Digest:  p.digest(plan),
		Display: plan,
		Reasons: because,
		Base:    p.Task.Base,
		Head:    p.Published,
	}
	if d := p.gate.deadline; d > 0 {
		a.Deadline = p.gate.now().Add(d).UTC()
	}
	if err := p.record(ctx, session.NewEvent(session.TypeAsked, p.Turns, a)); err != nil {
		return nil, err
	}
	return &session.Outcome{Status: session.StatusPlanned}, nil
}

// digest binds an approval to this plan in this session.
func (p *planner) digest(plan string) string {
	return policy.Action{Kind: policy.Converse, Tool: policy.PlanMode, Display: plan, Subject: subject([]session.Fact{
		{Name: "session", Value: p.Task.Session}, {Name: "mode", Value: plansMode},
	})}.Digest()
}

// begin starts an approved plan, once, if the approval still counts. Otherwise the plan
// is submitted again.
func (p *planner) begin(ctx context.Context) (*session.Outcome, error) {
	r := p.Plan()
	if r == nil || !r.Approval.IsApproved() || p.Behind(r) { //control:plan-behind-a-question
		return nil, nil
	}
	why := ""
	if !r.Approval.IsFor(p.digest(r.Display)) { //control:plan-digest
		why = "its content is no longer the one shown"
	}
	if why == "" { //control:plan-checked-again
		var err error
		if why, err = p.gate.Doubt(ctx, r); err != nil {
			return nil, err
		}
	}
	if why == "" {
		return nil, p.record(ctx, session.NewEvent(session.TypeState, p.Turns, session.Update{Mode: plansMode, Plan: r.ID}))
	}
	if err := p.record(ctx, session.NewEvent(session.TypeResolved, p.Turns, session.Resolved{
		ID:      r.ID,
		Verdict: policy.Stale,
		Reason:  why,
	})); err != nil {
		return nil, err
	}
	return p.propose(ctx, r.Display, "it is asked again, because "+why)
}

// carryOut begins a new allowance, with the plan as the request to the model.
func (h *history) carryOut(e session.Event, id string) {
	r := h.Request(id)
	if r == nil {
		return
	}
	who := "a person"
	if r.Answer != nil && r.Answer.By != "" {
		who = r.Answer.By
	}
	h.used.message(&session.Message{}, true, false, h.spent())
	h.claims.message(true, h.Content(), h.Saved)
	h.habits.Forgive()
	h.talk.asks = "Make the changes of the approved plan."
	h.notes.Goal = firstLine(h.talk.asks+" "+r.Display, maxGoal)
	h.talk.entries = append(h.talk.entries, entry{seq: e.Seq, person: true, user: fmt.Sprintf( //control:plan-in-front
		"%s approved this plan of yours. You are in %s mode now. Carry out exactly this plan, all of it and nothing else; where it cannot be done as it is written, stop and say why.\n\n%s",
		who,
		plansMode,
		r.Display,
	)})
}
