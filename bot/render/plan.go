package render

import (
	"fmt"
	"strings"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/policy"
)

// planText is the comment that a plan stands in.
func planText(a session.Asked, requester string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "### 📋 Plan `%s`\n\n%s\n\n---\n\n", a.ID, clean(a.Display))
	b.WriteString(reasons(a))
	fmt.Fprintf(&b, "`/agent approve %s` has me carry out exactly this plan, once. `/agent` and what you want different makes another plan with another id. `/agent deny %s` drops it.\n\n", a.ID, a.ID)
	b.WriteString(requestFacts(a, requester))
	return b.String()
}

// PlanIsPast says why a plan cannot be answered any more. newest is the session's.
func PlanIsPast(r, newest *session.Request) string {
	by := ""
	if r.Answer != nil && r.Answer.By != "" {
		by = " by " + line(clean(r.Answer.By), 60)
	}
	switch {
	case r.Approval.State == policy.Used, r.Approval.Stands():
		return fmt.Sprintf("Plan `%s` was approved%s already, and a plan is carried out once. Nothing was done.", r.ID, by)
	case newest != r && newest.Approval.Waits():
		return fmt.Sprintf("Plan `%s` was replaced by plan `%s`. Nothing was done; `/agent approve %s` has me carry out that one.", r.ID, newest.ID, newest.ID)
	case newest != r:
		return fmt.Sprintf("Plan `%s` was replaced by plan `%s`, which was %s. Nothing was done.", r.ID, newest.ID, planEnd(newest))
	}
	return fmt.Sprintf("Plan `%s` was %s%s. Nothing was done; `/agent plan` and what you want makes a new one.", r.ID, planEnd(r), by)
}

// planEnd says what became of a plan, as the end of a sentence.
func planEnd(r *session.Request) string {
	switch r.Approval.State {
	case policy.Used, policy.Approved:
		return "approved"
	case policy.Denied:
		return "dropped"
	case policy.Expired:
		return "not approved in time"
	}
	return "taken back for something else"
}
