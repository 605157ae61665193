package agent

import (
	"context"
	"strings"
	"testing"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/policy"
)

// planned is a session in plan mode whose model plans, and then does what it planned.
func planned(t *testing.T, turns string) *bench {
	t.Helper()
	b := newBench(t, strings.Replace(head, "32768", "131072", 1)+turns, map[string]string{"a.txt": "1\n"})
	b.task.Mode, b.task.Text, b.cfg.Plans = "plan", "how do I add b.txt?", true
	return b
}

const (
	plans   = "- say: \"1. Write b.txt. [TASK_COMPLETE]\"\n"
	carries = "- calls: [{name: write_file, arguments: {path: b.txt, content: \"2\\n\"}}]\n  when: {last_contains: [\"someone approved this plan\", \"1. Write b.txt.\"]}\n- say: \"Done. [TASK_COMPLETE]\"\n"
)

// plansAsked are the plans that people were asked about, oldest first.
func plansAsked(b *bench) []session.Asked { return events[session.Asked](b, session.TypeAsked) }

// A plan is carried out in code mode when the yes to it counts at that moment: once,
// in front of the model, and with turns of its own.
func TestPlanIsCarriedOut(t *testing.T) {
	t.Parallel()
	b := planned(t, plans+carries)
	b.cfg.Limits.Turns = 2
	looks := 0
	b.cfg.Confirm = func(_ context.Context, asked session.Asked, yes session.Resolved) (string, error) {
		if looks++; asked.Kind != session.AskPlan || yes.By != "someone" {
			t.Errorf("looked at %+v, %+v", asked, yes)
		}
		return "", nil
	}
	b.must(session.StatusPlanned)
	b.must(session.StatusPlanned) // nobody said anything
	b.answer(policy.Approved, "")
	b.must(session.StatusDone)
	if got := b.states.published()["b.txt"]; got != "2\n" || looks != 1 {
		t.Errorf("b.txt = %q after %d looks at the approval", got, looks)
	}
	b.answer(policy.Approved, "")
	b.must(session.StatusDone) // a second yes to the same plan
	if n := len(plansAsked(b)); n != 1 {
		t.Errorf("%d plans, want one", n)
	}
}

// A yes that does not count any more carries nothing out: the plan is asked about
// again, under another id.
func TestPlanIsCheckedAgain(t *testing.T) {
	t.Parallel()
	b := planned(t, plans+carries)
	why := "the approving comment was edited"
	b.cfg.Confirm = func(context.Context, session.Asked, session.Resolved) (string, error) { return why, nil }
	b.must(session.StatusPlanned)
	b.answer(policy.Approved, "")
	b.must(session.StatusPlanned)
	asked := plansAsked(b)
	if len(asked) != 2 || asked[0].ID == asked[1].ID || asked[0].Display != asked[1].Display || !strings.Contains(asked[1].Reasons[0], why) {
		t.Fatalf("asked %+v", asked)
	}
	b.append(session.NewEvent(session.TypeResolved, 0, session.Resolved{ID: asked[0].ID, Verdict: policy.Approved, By: "someone"}))
	b.must(session.StatusPlanned)
	if len(b.states.published()) != 1 {
		t.Error("the old id carried something out")
	}
	why = ""
	b.answer(policy.Approved, "")
	b.must(session.StatusDone)
}

// A denied plan is dropped, a plan whose words are not those of its digest is not
// carried out, and what nobody sees on a page is in no plan.
func TestPlanIsWhatWasShown(t *testing.T) {
	t.Parallel()
	b := planned(t, plans)
	b.must(session.StatusPlanned)
	b.answer(policy.Denied, "no")
	b.must(session.StatusPlanned)

	b = planned(t, plans)
	forged := session.Asked{ID: "a2", Kind: session.AskPlan, Display: "1. Delete a.txt.", Digest: "0"}
	b.must(session.StatusPlanned)
	forged.Digest = plansAsked(b)[0].Digest
	b.append(session.NewEvent(session.TypeAsked, 0, forged))
	b.append(session.NewEvent(session.TypeResolved, 0, session.Resolved{ID: "a2", Verdict: policy.Approved, By: "someone"}))
	b.must(session.StatusPlanned)
	if got := plansAsked(b); len(got) != 3 || !strings.Contains(got[2].Reasons[0], "no longer the one shown") {
		t.Errorf("asked %+v", got)
	}

	b = planned(t, "- say: \"1. Write b.txt.\\u200b\\u202e\\U000E0041 [TASK_COMPLETE]\"\n")
	b.must(session.StatusPlanned)
	if got := plansAsked(b)[0].Display; got != "1. Write b.txt." {
		t.Errorf("the plan is %q", got)
	}
}

// A plan that is longer than people read is written again, shorter.
func TestPlanIsShownWhole(t *testing.T) {
	t.Parallel()
	long := "- say: \"" + strings.Repeat("x", maxPlan) + ". [TASK_COMPLETE]\"\n"
	b := planned(t, long+plans)
	b.must(session.StatusPlanned)
	if asked := plansAsked(b); len(asked) != 1 || asked[0].Display != "1. Write b.txt." {
		t.Errorf("asked %+v", asked)
	}
	b = planned(t, long+long+long)
	b.must(session.StatusFailed)
}
