package render

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/policy"
	"github.com/handrail-bot/handrail/policy/phrase"
	"github.com/handrail-bot/handrail/policy/untrusted"
)

// planText returns the comment that presents a plan for approval.
func planText(a session.Asked, requester string, ways waysToAnswer) string {
	var b strings.Builder
	fmt.Fprintf(&b, "### 📋 Plan `%s`\n\n%s\n\n---\n\n", a.ID, askedText(a))
	b.WriteString(reasons(a))
	if ways != settled {
		fmt.Fprintf(
			&b,
			"`/agent approve %s` starts exactly this plan, once. `/agent` and your changes make another plan, with another id. `/agent deny %s` drops it.\n\n",
			a.ID,
			a.ID,
		)
	}
	b.WriteString(requestFacts(a, requester))
	return b.String()
}

// maxAsked is the maximum number of characters of a plan or question in the comment
// that asks; longer texts get comments of their own.
const maxAsked = 40000

// before splits a plan or question that is too long for the asking comment into
// comments. It returns nil for a shorter one.
func before(a session.Asked) []string {
	whole := clean(a.Display)
	if !hasOwnComment(a.Kind) || utf8.RuneCountInString(whole) <= maxAsked {
		return nil
	}
	return numberParts(
		map[bool]string{true: "Plan", false: "Question"}[a.Kind == session.AskPlan],
		splitToFit(whole, answerRoom),
	)
}

// Before returns the comments that precede the asking one, see [Requests]. They are
// folded once the request is settled.
func Before(r Request) []untrusted.Post {
	parts := before(r.Asked)
	out := make([]untrusted.Post, 0, len(parts))
	for i, text := range parts {
		p := untrusted.Post{Text: text}
		if !r.isOpen() {
			p = untrusted.Post{
				Folds: []untrusted.Fold{{Title: fmt.Sprintf("%s, %d of %d", settledTitle(r), i+1, len(parts)), Text: text}},
			}
		}
		out = append(out, p)
	}
	return out
}

// askedText returns a plan or question for the asking comment, or a pointer to the comments
// before it.
func askedText(a session.Asked) string {
	if n := len(before(a)); n > 0 {
		return fmt.Sprintf("It is long: see the %s above.", phrase.Count(n, "comment"))
	}
	return clean(a.Display)
}

// PlanIsPast explains why a plan can no longer be answered. newest is the session's
// newest plan.
func PlanIsPast(r, newest *session.Request) string {
	by := ""
	if r.Answer != nil && r.Answer.By != "" {
		by = " by " + line(clean(r.Answer.By), 60)
	}
	switch {
	case r.Approval.State == policy.Used, r.Approval.IsApproved():
		return fmt.Sprintf("Plan `%s` was approved%s already, and a plan runs only once. Nothing was done.", r.ID, by)
	case newest != r && newest.Approval.IsPending():
		return fmt.Sprintf(
			"Plan `%s` was replaced by plan `%s`. Nothing was done; `/agent approve %s` starts the new one.",
			r.ID,
			newest.ID,
			newest.ID,
		)
	case newest != r:
		return fmt.Sprintf(
			"Plan `%s` was replaced by plan `%s`, which was %s. Nothing was done.",
			r.ID,
			newest.ID,
			planEnd(newest),
		)
	}
	return fmt.Sprintf("Plan `%s` was %s%s. Nothing was done; `/agent plan …` makes a new one.", r.ID, planEnd(r), by)
}

// IsPast replies to a verdict on a request that is already settled. instead is the id of
// the request that replaced it, empty if there is none.
func IsPast(r *session.Request, verdict policy.ApprovalState, instead string) string {
	by := ""
	if r.Answer.By != "" && (r.Answer.ByID != 0 || r.Answer.By != programName) {
		by = " by " + line(clean(r.Answer.By), 60)
	}
	said := fmt.Sprintf("`%s` was ", r.ID)
	switch r.Answer.Verdict {
	case policy.Approved:
		said += "already approved" + by
		if verdict == policy.Denied && outcomeOf(r) != "" {
			said += " and carried out, so it can no longer be denied"
		}
	case policy.Denied:
		said += "already denied" + by
	case policy.Expired:
		said = fmt.Sprintf("`%s` was not answered in time", r.ID)
	case policy.Stale:
		said += "asked again, because its content has changed"
	default:
		said += "withdrawn" + by
	}
	if instead != "" {
		said += fmt.Sprintf("; `%s` replaces it", instead)
	}
	return said + "."
}

// EarlierRequest explains why a request of an earlier session cannot be answered.
func EarlierRequest(r *session.Request, v *session.State) string {
	what, again := "Request", "write `/agent` and your request"
	if r.Kind == session.AskPlan {
		what, again = "Plan", "`/agent plan …` makes a new one"
	}
	said := fmt.Sprintf("%s `%s` belongs to an earlier session of this thread, which is over", what, r.ID)
	switch {
	case r.Approval.State == policy.Used, r.Approval.IsApproved():
		said += "; it was approved there"
	case v.Outcome != nil && v.Outcome.Reason != "":
		said += ": " + strings.TrimRight(line(clean(v.Outcome.Reason), 200), ".")
	}
	return said + ". Nothing was done; " + again + "."
}

// planEnd returns the outcome of a plan as the end of a sentence.
func planEnd(r *session.Request) string {
	switch r.Approval.State {
	case policy.Used, policy.Approved:
		return "approved"
	case policy.Denied:
		return "dropped"
	case policy.Expired:
		return "not approved in time"
	}
	return "withdrawn"
}
