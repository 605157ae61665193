package session

import (
	"slices"
	"strings"
	"testing"

	"github.com/handrail-bot/handrail/policy"
)

// Each way of breaking the rule is named, and a log that keeps it is not.
func TestViolations(t *testing.T) {
	ask := func(id, digest string) []*Event {
		return []*Event{NewEvent(TypeDecision, 1, Decision{Call: "c1", Verdict: policy.Ask, Digest: digest}), NewEvent(TypeAsked, 1, Asked{ID: id, Call: "c1", Digest: digest})}
	}
	says := func(id string, v policy.ApprovalState) []*Event {
		return []*Event{NewEvent(TypeResolved, 1, Resolved{ID: id, Verdict: v})}
	}
	starts := []*Event{NewEvent(TypeStarted, 1, Started{Call: "c1"})}
	ends := []*Event{NewEvent(TypeResult, 1, Result{Call: "c1", OK: true})}
	cut := []*Event{NewEvent(TypeResult, 1, Result{Call: "c1", Cut: true})}
	for name, tt := range map[string]struct {
		events [][]*Event
		want   string
	}{
		"approved":             {[][]*Event{ask("a", "d"), says("a", policy.Approved), starts, ends}, ""},
		"cut off":              {[][]*Event{ask("a", "d"), says("a", policy.Approved), starts, cut}, ""},
		"asked anew":           {[][]*Event{ask("a", "d"), says("a", policy.Approved), starts, says("a", policy.Stale), ask("b", "d"), says("b", policy.Approved), starts, ends}, ""},
		"needed no yes":        {[][]*Event{{NewEvent(TypeDecision, 1, Decision{Call: "c1", Verdict: policy.Allow})}, starts, ends}, ""},
		"denied, not run":      {[][]*Event{ask("a", "d"), says("a", policy.Approved), says("a", policy.Denied), starts, {NewEvent(TypeResult, 1, Result{Call: "c1"})}}, ""},
		"nobody asked":         {[][]*Event{ask("a", "d")[:1], starts, ends}, "it was not asked for"},
		"not answered":         {[][]*Event{ask("a", "d"), starts, ends}, "request a was pending"},
		"denied":               {[][]*Event{ask("a", "d"), says("a", policy.Approved), says("a", policy.Denied), starts, ends}, "request a was denied"},
		"denied, then a yes":   {[][]*Event{ask("a", "d"), says("a", policy.Denied), says("a", policy.Approved), starts, ends}, "request a was denied"},
		"twice":                {[][]*Event{ask("a", "d"), says("a", policy.Approved), starts, starts, ends}, "request a was begun"},
		"something else":       {[][]*Event{ask("a", "d"), says("a", policy.Approved), ask("x", "e")[:1], starts, ends}, "request a was for something else"},
		"an id for two things": {[][]*Event{ask("a", "d"), says("a", policy.Approved), ask("a", "e")}, "a second request with the id a"},
	} {
		var events []Event
		for _, e := range slices.Concat(tt.events...) {
			events = append(events, *e)
		}
		found, err := Violations(events)
		if err != nil || (len(found) == 0) != (tt.want == "") || !strings.Contains(strings.Join(found, "\n"), tt.want) {
			t.Errorf("%s: %q, %v; want %q", name, found, err, tt.want)
		}
	}
}
