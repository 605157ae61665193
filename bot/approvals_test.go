package bot

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot/approval"
	"github.com/handrail-bot/handrail/bot/live"
	"github.com/handrail-bot/handrail/policy"
	"github.com/handrail-bot/handrail/policy/longtest"
)

// The events of one review are told apart.
func TestReviewEventsHaveKeys(t *testing.T) {
	t.Parallel()
	const ours = "handrail-review-7-abc123"
	var keys []string
	for _, action := range []string{"submitted", "dismissed"} {
		payload := fmt.Sprintf(`{"action":%q,"sender":{"login":"kim","id":3},"repository":{"id":1,"full_name":"acme/widget"},
			"review":{"id":5,"state":"approved"},"pull_request":{"number":9,"head":{"ref":%q,"repo":{"id":1,"full_name":"acme/widget"}},"base":{"ref":"agent/1","repo":{"id":1}}}}`, action, ours)
		src, ok, err := sourceBy("pull_request_review", []byte(payload), nil)
		if err != nil || !ok || src.Thread != "acme/widget#7" {
			t.Errorf("%s: %+v %t %v", action, src, ok, err)
		}
		keys = append(keys, src.Key)
	}
	if keys[0] == keys[1] {
		t.Errorf("two events have one key %q", keys[0])
	}
}

// offers answers every offer alike.
type offers struct {
	why string
	err error
	got []approval.Offer
}

func (o *offers) Offer(_ context.Context, _ live.Thread, one approval.Offer) (string, error) {
	o.got = append(o.got, one)
	return o.why, o.err
}

// What cannot be put up is asked for in a comment that says why; an edit that
// nobody has any more is asked for anew; what may pass is tried again.
func TestPutUp(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	long := strings.Repeat("+ "+strings.Repeat("long ", 20)+"\n", 820) // 80 KiB; the time to render it grows with its lines
	for name, tt := range map[string]struct {
		offers  *offers
		branch  bool // there is a branch to open a pull request from
		display string
		fails   bool
		words   string // of the comment
		last    string // verdict, "" while it is open
	}{
		"up":            {offers: &offers{}, branch: true, words: "Answer with a review there"},
		"refused":       {offers: &offers{why: "its branch could not be pushed (no)"}, words: "Asked here, not by review: its branch could not be pushed (no)"},
		"no pull":       {offers: &offers{}, words: "Asked here, not by review: GitHub refused the pull request"},
		"gone":          {offers: &offers{err: approval.ErrGone}, last: "stale"},
		"not now":       {offers: &offers{err: errors.New("no network")}, fails: true},
		"none here":     {words: "`/agent approve 0a1b2c` allows exactly this"},
		"up and long":   {offers: &offers{}, branch: true, display: long, words: "Answer with a review there"},
		"long, refused": {offers: &offers{why: "no"}, display: long, last: "denied"},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCourt(t, policy.DefaultConfig(), nil)
			ctx := t.Context()
			base := c.push("agent/1", nil)
			a := session.Asked{ID: "0a1b2c", Kind: "approval", Call: "p1", Tool: "publish", Display: cmp.Or(tt.display, "diff"), Head: "h", Paths: []string{"deploy/app.yaml"},
				Review: &session.Review{Branch: approval.ReviewBranch(c.w.at.Ref, "0a1b2c"), Base: "agent/1", Commit: base}}
			if tt.branch {
				a.Review.Commit = c.push(a.Review.Branch, map[string]string{"deploy/app.yaml": "replicas: 3\n"})
			}
			if tt.offers != nil {
				c.w.live.Offer = tt.offers.Offer
			}
			l, err := c.w.lease(ctx, c.sess)
			if err != nil {
				t.Fatal(err)
			}
			if err := l.Append(ctx,
				session.NewEvent(session.TypeResolved, 1, session.Resolved{ID: "abc123", Verdict: policy.Withdrawn}),
				session.NewEvent(session.TypeAsked, 1, a)); err != nil {
				t.Fatal(err)
			}
			asks := l.Requests()
			if err := l.Reload(ctx); err != nil {
				t.Fatal(err)
			}
			for range 2 { // a second time changes nothing
				err = asks.Ask(ctx, l.State)
			}
			if (err != nil) != tt.fails {
				t.Fatalf("post: %v", err)
			}
			if err := l.Reload(ctx); err != nil {
				t.Fatal(err)
			}
			if moot := asks.Moot(l.State.Open(), l.State.Turns); len(moot) > 0 {
				if err := l.Append(ctx, moot...); err != nil {
					t.Fatal(err)
				}
			}
			events, err := c.w.cfg.Store.Logs.Log(l.Fence).Events(ctx, 0)
			if err != nil {
				t.Fatal(err)
			}
			last := ""
			if e := events[len(events)-1]; e.Type == session.TypeResolved {
				r, err := session.Decode[session.Resolved](e)
				if err != nil {
					t.Fatal(err)
				}
				last = string(r.Verdict)
			}
			said := c.gh.Thread(c.w.at.Ref).Comments
			if last != tt.last || tt.words == "" && len(said) > 0 || tt.words != "" && (len(said) != 1 || !strings.Contains(said[0].Body, tt.words)) {
				t.Errorf("%q, said %+v, want %q and %q", last, said, tt.last, tt.words)
			}
		})
	}
}

// push puts files on a branch and returns its head.
func (c *court) push(branch string, files map[string]string) string {
	c.t.Helper()
	if _, err := c.gh.Push(courtRepo, branch, "kim", files); err != nil {
		c.t.Fatal(err)
	}
	return c.gh.Branch(courtRepo, branch)
}
