package review

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot/ghapp"
)

// fussy is a GitHub that takes no review with a comment on one of some lines, and does
// not say which.
type fussy struct {
	bad   []int
	tried []ghapp.Write
}

func (f *fussy) ensure(_ context.Context, w ghapp.Write) (ghapp.Ref, error) {
	f.tried = append(f.tried, w)
	if w.Review != nil && slices.ContainsFunc(w.Review.Comments, func(c ghapp.Inline) bool { return slices.Contains(f.bad, c.Line) }) || slices.Contains(f.bad, -1) && w.Review != nil {
		return ghapp.Ref{}, fmt.Errorf("write: %w", &ghapp.Refusal{Reason: "422 Unprocessable Entity"})
	}
	return ghapp.Ref{URL: "https://h/" + w.Key}, nil
}

func TestRefusedReview(t *testing.T) {
	for _, c := range []struct {
		comments int
		bad      []int
		tries    int
		on       int // comments on lines
	}{
		{10, nil, 1, 10}, {1, []int{1}, 2, 0}, {3, []int{2}, 3, 2}, {4, []int{4}, 5, 3}, {10, []int{9}, 5, 7}, {10, []int{1}, 2, 8},
		{10, []int{1, 9}, 6, 0}, {3, []int{-1}, 6, 0}, {0, []int{-1}, 3, 0},
	} {
		in := input{MaxComments: 10, Link: func(f session.Finding) string { return "https://h/" + f.Where() }}
		patch := fmt.Sprintf("@@ -0,0 +1,%d @@%s", c.comments, strings.Repeat("\n+x", c.comments))
		in.Files = []file{{Path: "a.go", Patch: patch}}
		for n := range c.comments {
			in.Findings = append(in.Findings, session.Finding{Path: "a.go", Line: n + 1, Severity: session.Low, Claim: fmt.Sprint("claim", n+1), Why: "w"})
		}
		if c.comments == 0 {
			in.Findings = []session.Finding{{Path: "b.go", Line: 3, Severity: session.Low, Claim: "claim0", Why: "w"}}
		}
		gh := &fussy{bad: c.bad}
		s := Session{ID: "s1", State: session.NewState(), Place: Place{Pull: &ghapp.Pull{}}, Ensure: gh.ensure}
		ref, err := s.put(t.Context(), in, compose(in))
		if err != nil || ref.URL == "" {
			t.Fatalf("%+v: %v, %v", c, ref, err)
		}
		last := gh.tried[len(gh.tried)-1]
		body, on := last.Body, 0
		if last.Review != nil {
			body, on = last.Review.Body, len(last.Review.Comments)
		}
		reviews := len(slices.DeleteFunc(slices.Clone(gh.tried), func(w ghapp.Write) bool { return w.Review == nil }))
		if len(gh.tried) != c.tries || on != c.on || reviews > maxTries {
			t.Errorf("%+v: %d tries, %d comments on lines", c, len(gh.tried), on)
		}
		keys := map[string]bool{}
		for _, w := range gh.tried {
			if keys[w.Key] {
				t.Errorf("%+v: the key %s is used twice", c, w.Key)
			}
			keys[w.Key] = true
		}
		for _, f := range in.Findings { // none is lost
			onLine := last.Review != nil && slices.ContainsFunc(last.Review.Comments, func(cm ghapp.Inline) bool { return strings.Contains(cm.Body, f.Claim+".") })
			if here := strings.Contains(body, f.Claim+"."); here == onLine {
				t.Errorf("%+v: %s is on its line: %v, and in the summary: %v", c, f.Claim, onLine, here)
			}
		}
	}
	// What is not a refusal is tried again by others.
	s := Session{State: session.NewState(), Place: Place{Pull: &ghapp.Pull{}}, Ensure: func(context.Context, ghapp.Write) (ghapp.Ref, error) {
		return ghapp.Ref{}, errors.New("gone away")
	}}
	if _, err := s.put(t.Context(), input{}, review{}); err == nil || err.Error() != "gone away" {
		t.Errorf("got %v", err)
	}
}

func TestLink(t *testing.T) {
	v := session.NewState()
	v.Published = "c0ffee"
	s := Session{State: v, Place: Place{Home: "https://h/o/r", Pull: &ghapp.Pull{BaseSHA: "ba5e"}}}
	for want, f := range map[string]session.Finding{
		"https://h/o/r/blob/c0ffee/a.go#L3":                {Path: "a.go", Line: 3},
		"https://h/o/r/blob/c0ffee/a%20b/%23c%29.go#L3-L5": {Path: "a b/#c).go", Line: 3, End: 5},
		"https://h/o/r/blob/ba5e/a.go#L3":                  {Path: "a.go", Line: 3, Old: true},
	} {
		if got := s.link(f); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
