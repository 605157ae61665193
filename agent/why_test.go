package agent

import (
	"slices"
	"testing"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/policy"
)

// What a push or a secret holds back says first why it waits, and never that it is
// allowed.
func TestFirstWhyItWaits(t *testing.T) {
	allowed := policy.Decision{Verdict: policy.Allow, Rule: "defaults.write", Reasons: []policy.Reason{{Rule: "defaults.write", Text: "write operations are allowed"}}}
	auto := policy.Decision{Verdict: policy.Allow, Rule: "auto_approve_sensitive_edits", Reasons: []policy.Reason{
		{Rule: "auto_approve_sensitive_edits", Text: "edits of sensitive files are approved by the configuration"}, {Rule: "sensitive_files", Text: "x is a sensitive file (x)"}}}
	asked := policy.Decision{Verdict: policy.Ask, Rule: "sensitive_files", Reasons: []policy.Reason{{Rule: "sensitive_files", Text: "x is a sensitive file (x)"}}}
	hold := func(d policy.Decision) policy.Decision { return d.Held([]string{"CI runs x"}) }
	leak := func(d policy.Decision) policy.Decision { return d.Leaking([]string{"x"}) }
	for name, tt := range map[string]struct {
		got  policy.Decision
		want []string
	}{
		"a hold":                   {hold(allowed), []string{"push.hold"}},
		"a secret":                 {leak(allowed), []string{"secret"}},
		"both":                     {leak(hold(allowed)), []string{"push.hold", "secret"}},
		"approved by the settings": {hold(auto), []string{"push.hold", "sensitive_files"}},
		"sensitive besides":        {hold(asked), []string{"sensitive_files", "push.hold"}},
		"nothing":                  {allowed.Held(nil).Leaking(nil), []string{"defaults.write"}},
	} {
		var rules []string
		for _, r := range tt.got.Reasons {
			rules = append(rules, r.Rule)
		}
		if !slices.Equal(rules, tt.want) {
			t.Errorf("%s: %v, want %v", name, rules, tt.want)
		}
	}
}

// A hint is for the model alone, and takes the place of what it is told otherwise.
func TestHintOfARefusal(t *testing.T) {
	for hint, want := range map[string]string{
		"":                     "handrail denied this: it is too long. It was not run. Go on without it, or choose another way.",
		"Do it in two halves.": "handrail denied this: it is too long. It was not run. Do it in two halves.",
	} {
		r := &session.Request{Approval: policy.Approval{State: policy.Denied}, Answer: &session.Resolved{Verdict: policy.Denied, By: "handrail", Reason: "it is too long", Hint: hint}}
		if got, ok := refusalText(&session.CallState{Request: r}); !ok || got != want {
			t.Errorf("%q, %t, want %q", got, ok, want)
		}
	}
}
