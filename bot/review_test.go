package bot

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/bot/ghapp/ghtest"
	"github.com/handrail-bot/handrail/bot/thread"
	"github.com/handrail-bot/handrail/policy"
)

// smallPull puts a request up for review, as the bot does, and returns it
// with its pull request.
func (c *court) smallPull() (session.Asked, thread.Ref) {
	c.t.Helper()
	check := func(err error) {
		c.t.Helper()
		if err != nil {
			c.t.Fatal(err)
		}
	}
	for _, who := range []string{"max", "rae", "boss"} {
		c.gh.AddUser(who, map[string]string{"max": "write", "rae": "read", "boss": "admin"}[who])
	}
	_, err := c.gh.Push(courtRepo, "agent/1", "kim", nil)
	check(err)
	a := session.Asked{ID: "abc123", Kind: "approval", Call: "p1", Tool: "publish", Display: "diff", Paths: []string{"deploy/app.yaml"},
		Review: &session.Review{Branch: ReviewBranch(c.w.ref, "abc123"), Base: "agent/1"}}
	_, err = c.gh.Push(courtRepo, a.Review.Branch, "kim", map[string]string{"deploy/app.yaml": "replicas: 2\n"})
	check(err)
	a.Review.Commit = c.gh.Branch(courtRepo, a.Review.Branch)
	ctx := c.t.Context()
	f, err := c.w.hold(ctx, "s1")
	check(err)
	ref, err := c.w.ensure(ctx, f, c.w.reviewPull(a, c.sess))
	check(err)
	check(c.w.cfg.Store.Logs.Log(f).Append(ctx,
		session.NewEvent(session.TypeResolved, 1, session.Resolved{ID: "abc123", Verdict: "withdrawn"}), // of newCourt
		session.NewEvent(session.TypeAsked, 1, a)))
	at := c.w.ref
	at.Number = ref.Number
	return a, at
}

// verdictOf is what judge says now.
func (c *court) verdictOf(a session.Asked, at thread.Ref) (finding, error) {
	c.t.Helper()
	p, err := c.w.small(c.t.Context(), at, a)
	if err != nil {
		c.t.Fatal(err)
	}
	return c.w.judge(c.t.Context(), c.sess, a, p)
}

// act is what a person does with a pull request.
type act func(gh *ghtest.Server, at thread.Ref, branch string) error

func gives(who, event string) act {
	return func(gh *ghtest.Server, at thread.Ref, _ string) error {
		_, err := gh.Review(at, who, ghtest.NewReview{Event: event, Body: "words of " + who})
		return err
	}
}

func dismisses(who string) act {
	return func(gh *ghtest.Server, at thread.Ref, _ string) error {
		for _, r := range gh.Thread(at).Pull.Reviews {
			if r.Author == who && r.State != "COMMENTED" {
				return gh.Dismiss(at, r.ID, "boss")
			}
		}
		return errors.New("nothing to dismiss")
	}
}

func pushes(gh *ghtest.Server, _ thread.Ref, branch string) error {
	_, err := gh.Push(courtRepo, branch, "max", map[string]string{"more.txt": "x\n"})
	return err
}

func closes(gh *ghtest.Server, at thread.Ref, _ string) error { return gh.CloseThread(at, "max") }

func retargets(gh *ghtest.Server, at thread.Ref, _ string) error {
	return gh.Retarget(at, "max", "main")
}

func merges(who string) act {
	return func(gh *ghtest.Server, at thread.Ref, _ string) error { return gh.Merge(at, who) }
}

func loses(who string) act {
	return func(gh *ghtest.Server, _ thread.Ref, _ string) error { return gh.Grant(courtRepo, who, "read") }
}

// What people do with the pull request of a request, and what that says.
func TestJudge(t *testing.T) {
	yes := true
	for name, tt := range map[string]struct {
		rules   policy.Approvals
		acts    []act
		want    string
		by, why string
		meet    func(string) *http.Response
		fails   bool
	}{
		"nothing":                        {},
		"comment":                        {acts: []act{gives("kim", "COMMENT")}},
		"approved":                       {acts: []act{gives("kim", "APPROVE")}, want: approved, by: "kim"},
		"comment after approval":         {acts: []act{gives("kim", "APPROVE"), gives("kim", "COMMENT")}, want: approved, by: "kim"},
		"rejected":                       {acts: []act{gives("kim", "REQUEST_CHANGES")}, want: denied, by: "kim", why: "words of kim"},
		"one rejection wins":             {acts: []act{gives("kim", "REQUEST_CHANGES"), gives("max", "APPROVE"), gives("boss", "APPROVE")}, want: denied, by: "kim"},
		"rejected last":                  {acts: []act{gives("max", "APPROVE"), gives("kim", "REQUEST_CHANGES")}, want: denied, by: "kim"},
		"a change of mind":               {acts: []act{gives("kim", "REQUEST_CHANGES"), gives("kim", "APPROVE")}, want: approved, by: "kim"},
		"a change of mind for the worse": {acts: []act{gives("kim", "APPROVE"), gives("kim", "REQUEST_CHANGES")}, want: denied, by: "kim"},
		"dismissed":                      {acts: []act{gives("kim", "APPROVE"), dismisses("kim")}},
		"rejection dismissed":            {acts: []act{gives("kim", "REQUEST_CHANGES"), dismisses("kim"), gives("max", "APPROVE")}, want: approved, by: "max"},
		"read permission":                {acts: []act{gives("rae", "APPROVE")}},
		"rejection without a right":      {acts: []act{gives("rae", "REQUEST_CHANGES"), gives("kim", "APPROVE")}, want: approved, by: "kim"},
		"the requester":                  {acts: []act{gives("asker", "APPROVE")}, want: approved, by: "asker"},
		"not the requester":              {rules: policy.Approvals{NotRequester: &yes}, acts: []act{gives("asker", "APPROVE")}},
		"not on the list":                {rules: policy.Approvals{Approvers: []string{"admin"}}, acts: []act{gives("kim", "APPROVE")}},
		"on the list":                    {rules: policy.Approvals{Approvers: []string{"admin"}}, acts: []act{gives("kim", "APPROVE"), gives("boss", "APPROVE")}, want: approved, by: "boss"},
		"right taken since":              {acts: []act{gives("kim", "APPROVE"), loses("kim")}},
		"pushed to":                      {acts: []act{gives("kim", "APPROVE"), pushes}, want: stale, why: "somebody pushed"},
		"pushed to, then approved":       {acts: []act{pushes, gives("kim", "APPROVE")}, want: stale, why: "somebody pushed"},
		"another target":                 {acts: []act{gives("kim", "APPROVE"), retargets}, want: stale, why: "changed the branch"},
		"closed":                         {acts: []act{gives("kim", "APPROVE"), closes}, want: denied, why: "closed without"},
		"merged":                         {acts: []act{merges("kim")}, want: approved, by: "kim"},
		"merged by a reader":             {acts: []act{merges("rae")}, want: denied, by: "rae", why: "who cannot approve it"},
		"merged after a push":            {acts: []act{pushes, merges("kim")}, want: denied, by: "kim", why: "somebody pushed"},
		"merged elsewhere":               {acts: []act{retargets, merges("kim")}, want: denied, by: "kim", why: "changed the branch"},
		"GitHub cannot tell who":         {acts: []act{gives("kim", "APPROVE")}, meet: refuse("/collaborators/", 502), fails: true},
		"GitHub will not tell who":       {acts: []act{gives("kim", "APPROVE")}, meet: refuse("/collaborators/", 403)},
		"another number":                 {acts: []act{gives("kim", "APPROVE")}, meet: otherNumber},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := policy.DefaultConfig()
			tt.rules.Deadline = cfg.Approvals.Deadline
			cfg.Approvals = tt.rules
			c := newCourt(t, cfg, nil)
			a, at := c.smallPull()
			for _, do := range tt.acts {
				if err := do(c.gh, at, a.Review.Branch); err != nil {
					t.Fatal(err)
				}
			}
			c.meet = tt.meet
			f, err := c.verdictOf(a, at)
			if (err != nil) != tt.fails || f.verdict != tt.want || !tt.fails && tt.by != "" && f.by != tt.by || !strings.Contains(f.reason, tt.why) {
				t.Errorf("%q by %q because %q (%v), want %q by %q", f.verdict, f.by, f.reason, err, tt.want, tt.by)
			}
		})
	}
}

// An approval of an older state of the branch does not count when the branch
// is put back to what was asked about.
func TestReviewOfAnotherCommit(t *testing.T) {
	c := newCourt(t, policy.DefaultConfig(), nil)
	a, at := c.smallPull()
	if err := gives("kim", "APPROVE")(c.gh, at, ""); err != nil {
		t.Fatal(err)
	}
	p, err := c.w.small(t.Context(), at, a)
	if err != nil {
		t.Fatal(err)
	}
	a.Review.Commit = strings.Repeat("1", 40)
	p.HeadSHA = a.Review.Commit
	f, err := c.w.judge(t.Context(), c.sess, a, p)
	if err != nil || f.verdict != "" || len(f.refused) != 1 {
		t.Errorf("%+v, %v: the review of another commit counts", f, err)
	}
}

// An approval by review is looked at again right before it is used.
func TestReviewIsCheckedAgain(t *testing.T) {
	for name, tt := range map[string]struct {
		then    act
		comment bool // the approval was given by a comment
		why     string
	}{
		"nothing changed":         {},
		"dismissed":               {then: dismisses("kim"), why: "taken back"},
		"rejected by another":     {then: gives("max", "REQUEST_CHANGES"), why: "words of max"},
		"pushed to":               {then: pushes, why: "somebody pushed"},
		"another target":          {then: retargets, why: "changed the branch"},
		"closed":                  {then: closes, why: "closed without"},
		"right taken":             {then: loses("kim"), why: "kim is none of the approvers"},
		"by comment, then pushed": {then: pushes, comment: true, why: "somebody pushed"},
		"by comment":              {comment: true},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCourt(t, policy.DefaultConfig(), nil)
			a, at := c.smallPull()
			if err := gives("kim", "APPROVE")(c.gh, at, ""); err != nil {
				t.Fatal(err)
			}
			comment, err := c.gh.Comment(c.w.ref, "kim", "/agent approve abc123")
			if err != nil {
				t.Fatal(err)
			}
			f, err := c.verdictOf(a, at)
			if err != nil || f.verdict != approved {
				t.Fatalf("%+v, %v", f, err)
			}
			g := given{asked: a, by: session.Resolved{ID: a.ID, Verdict: approved, By: f.by, ByID: f.byID, Key: f.keys[0]}}
			if tt.comment {
				s := said{target: ghapp.Target{Comment: comment.ID}}
				s.ev.Comment.Updated, s.ev.Comment.Body = comment.Updated, comment.Body
				g.by.Key = s.source()
			}
			if tt.then != nil {
				if err := tt.then(c.gh, at, a.Review.Branch); err != nil {
					t.Fatal(err)
				}
			}
			why, err := c.w.confirm(t.Context(), c.sess, g.asked, g.by)
			if err != nil || (why == "") != (tt.why == "") || !strings.Contains(why, tt.why) {
				t.Errorf("doubt %q (%v), want %q", why, err, tt.why)
			}
		})
	}
}

// An answer that comes in for an approval that was not used yet: a rejection
// overrules it, taking it back ends it, another approval changes nothing.
func TestSettlesAfterAnApproval(t *testing.T) {
	c := newCourt(t, policy.DefaultConfig(), nil)
	now := time.Now()
	bound, err := c.w.bound(t.Context(), c.sess)
	if err != nil {
		t.Fatal(err)
	}
	a := session.Asked{ID: "x", Deadline: now.Add(time.Hour), Bound: bound}
	late := session.Asked{ID: "x", Deadline: now.Add(-time.Hour), Bound: bound}
	moved := session.Asked{ID: "x", Bound: []session.Fact{{Name: bound[1].Name, Value: "another"}}}
	byReview, byComment := session.Resolved{ID: "x", Key: "pull:9:review:1"}, session.Resolved{ID: "x", Key: "comment:1:t"}
	for name, tt := range map[string]struct {
		g    given
		f    finding
		want string
	}{
		"open, approved":        {given{asked: a}, finding{verdict: approved, keys: []string{"pull:9:review:1"}}, approved},
		"open, base moved":      {given{asked: moved}, finding{verdict: approved}, stale},
		"open, too late":        {given{asked: late}, finding{verdict: approved}, "expired"},
		"open, rejected late":   {given{asked: late}, finding{verdict: denied}, denied},
		"open, nothing":         {given{asked: a}, finding{}, ""},
		"open, pushed to":       {given{asked: a}, finding{verdict: stale}, stale},
		"given, approved again": {given{a, byReview}, finding{verdict: approved}, ""},
		"given, rejected":       {given{a, byComment}, finding{verdict: denied}, denied},
		"given, taken back":     {given{a, byReview}, finding{}, stale},
		"by comment, no review": {given{a, byComment}, finding{}, ""},
	} {
		r, ok, err := c.w.settles(t.Context(), c.sess, tt.g, tt.f)
		if err != nil || ok != (tt.want != "") || ok && r.Verdict != tt.want {
			t.Errorf("%s: %q %t (%v), want %q", name, r.Verdict, ok, err, tt.want)
		}
	}
}

// A pull request that somebody else opened from a branch of such a name is
// not the bot's, whatever it holds.
func TestForgedReview(t *testing.T) {
	c := newCourt(t, policy.DefaultConfig(), nil)
	a, _ := c.smallPull()
	at, err := c.gh.OpenPull(courtRepo, "max", ghtest.NewPull{Title: "t", Head: a.Review.Branch, Base: "main"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.w.small(t.Context(), at, a); !errors.Is(err, ghapp.ErrNotFound) {
		t.Errorf("a stranger's pull request is taken for the bot's: %v", err)
	}
}

// Which events are about a review, and of which thread.
func TestAboutReview(t *testing.T) {
	ref := thread.Ref{Owner: "acme", Repo: "widget", Number: 9}
	ev := func(kind, action, branch string, change ...func(*ghapp.Event)) ghapp.Event {
		e := ghapp.Event{Kind: kind, Action: action, Thread: ref}
		e.Pull.Head, e.Review.State = branch, "APPROVED"
		for _, f := range change {
			f(&e)
		}
		return e
	}
	const ours = "handrail-review-7-abc123"
	for name, tt := range map[string]struct {
		ev   ghapp.Event
		want bool
	}{
		"approved":        {ev("pull_request_review", "submitted", ours), true},
		"plain":           {ev("pull_request_review", "submitted", ours, func(e *ghapp.Event) { e.Review.State = "COMMENTED" }), false},
		"dismissed":       {ev("pull_request_review", "dismissed", ours, func(e *ghapp.Event) { e.Review.State = "DISMISSED" }), true},
		"closed":          {ev("pull_request", "closed", ours), true},
		"pushed to":       {ev("pull_request", "synchronize", ours), true},
		"retargeted":      {ev("pull_request", "edited", ours), true},
		"opened":          {ev("pull_request", "opened", ours), false},
		"from a fork":     {ev("pull_request", "closed", ours, func(e *ghapp.Event) { e.Pull.Fork = true }), false},
		"another branch":  {ev("pull_request", "closed", "handrail-review-7-abc123x"), false},
		"no number":       {ev("pull_request", "closed", "handrail-review-0-abc123"), false},
		"a huge number":   {ev("pull_request", "closed", "handrail-review-9999999999-abc123"), false},
		"a comment on it": {ev("issue_comment", "created", ours), false},
	} {
		at, ok := aboutReview(tt.ev)
		if ok != tt.want || ok && at.String() != "acme/widget#7" {
			t.Errorf("%s: %s %t, want %t", name, at, ok, tt.want)
		}
	}
	if got, ok := reviewThread(ref, ReviewBranch(thread.Ref{Owner: "acme", Repo: "widget", Number: 12}, "0a1b2c")); !ok || got.Number != 12 {
		t.Errorf("ReviewBranch is not read back: %v %t", got, ok)
	}
	var keys []string
	for _, action := range []string{"submitted", "dismissed"} {
		payload := fmt.Sprintf(`{"action":%q,"sender":{"login":"kim","id":3},"repository":{"id":1,"full_name":"acme/widget"},
			"review":{"id":5,"state":"approved"},"pull_request":{"number":9,"head":{"ref":%q,"repo":{"id":1,"full_name":"acme/widget"}},"base":{"ref":"agent/1","repo":{"id":1}}}}`, action, ours)
		src, ok, err := Source("pull_request_review", []byte(payload))
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
	got []Offer
}

func (o *offers) Offer(_ context.Context, _ Thread, one Offer) (string, error) {
	o.got = append(o.got, one)
	return o.why, o.err
}

// What cannot be put up is asked for in a comment that says why; an edit that
// nobody has any more is asked for anew; what may pass is tried again.
func TestPutUp(t *testing.T) {
	for name, tt := range map[string]struct {
		offers  *offers
		branch  bool // there is a branch to open a pull request from
		display string
		fails   bool
		words   string // of the comment
		last    string // verdict, "" while it is open
	}{
		"up":            {offers: &offers{}, branch: true, words: "A review of it there answers"},
		"refused":       {offers: &offers{why: "its branch could not be pushed (no)"}, words: "Asked for here and not by review: its branch could not be pushed (no)"},
		"no pull":       {offers: &offers{}, words: "Asked for here and not by review: GitHub does not take the pull request"},
		"gone":          {offers: &offers{err: ErrGone}, last: stale},
		"not now":       {offers: &offers{err: errors.New("no network")}, fails: true},
		"none here":     {words: "`/agent approve 0a1b2c` lets exactly this happen"},
		"up and long":   {offers: &offers{}, branch: true, display: strings.Repeat("+ long\n", 12000), words: "A review of it there answers"},
		"long, refused": {offers: &offers{why: "no"}, display: strings.Repeat("+ long\n", 12000), last: denied},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCourt(t, policy.DefaultConfig(), nil)
			ctx := t.Context()
			a, _ := c.smallPull()
			a.ID, a.Display, a.Head = "0a1b2c", first(tt.display, "diff"), "h"
			a.Review.Branch = ReviewBranch(c.w.ref, a.ID)
			if tt.branch {
				if _, err := c.gh.Push(courtRepo, a.Review.Branch, "kim", map[string]string{"deploy/app.yaml": "replicas: 3\n"}); err != nil {
					t.Fatal(err)
				}
			}
			if tt.offers != nil {
				c.w.cfg.Offers = tt.offers
			}
			f, err := c.w.hold(ctx, "s1")
			if err != nil {
				t.Fatal(err)
			}
			log := c.w.cfg.Store.Logs.Log(f)
			if err := log.Append(ctx,
				session.NewEvent(session.TypeResolved, 1, session.Resolved{ID: "abc123", Verdict: "withdrawn"}),
				session.NewEvent(session.TypeAsked, 1, a)); err != nil {
				t.Fatal(err)
			}
			for range 2 { // a second time changes nothing
				err = c.w.post(ctx, f, a, c.sess)
			}
			if (err != nil) != tt.fails {
				t.Fatalf("post: %v", err)
			}
			v, err := c.w.view(ctx, c.sess)
			if err != nil {
				t.Fatal(err)
			}
			if moot := tooLong(v, recordOf(c.sess)); len(moot) > 0 {
				if err := log.Append(ctx, moot...); err != nil {
					t.Fatal(err)
				}
			}
			events, err := log.Events(ctx, 0)
			if err != nil {
				t.Fatal(err)
			}
			last := ""
			if e := events[len(events)-1]; e.Type == session.TypeResolved {
				r, err := session.Decode[session.Resolved](e)
				if err != nil {
					t.Fatal(err)
				}
				last = r.Verdict
			}
			said := c.gh.Thread(c.w.ref).Comments
			if last != tt.last || tt.words == "" && len(said) > 0 || tt.words != "" && (len(said) != 1 || !strings.Contains(said[0].Body, tt.words)) {
				t.Errorf("%q, said %+v, want %q and %q", last, said, tt.last, tt.words)
			}
		})
	}
}
