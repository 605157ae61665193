package approval

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/bot/ghapp/ghtest"
	"github.com/handrail-bot/handrail/bot/ghapp/ghtest/ghcheck"
	"github.com/handrail-bot/handrail/bot/render"
	"github.com/handrail-bot/handrail/bot/thread"
	"github.com/handrail-bot/handrail/policy"
	"github.com/handrail-bot/handrail/policy/longtest"
)

// court is an edit that is up for review in a session of "asker", on a GitHub
// whose answers about people can be changed.
type court struct {
	gh   *ghcheck.Server
	up   proposal
	at   thread.Ref                       // of its pull request
	meet func(path string) *http.Response // instead of GitHub; nil to let it answer
}

// RoundTrip implements http.RoundTripper.
func (c *court) RoundTrip(r *http.Request) (*http.Response, error) {
	if c.meet != nil && strings.Contains(r.URL.Path, "/collaborators/") {
		return c.meet(r.URL.Path), nil
	}
	return http.DefaultTransport.RoundTrip(r)
}

func respond(code int, body string) func(string) *http.Response {
	return func(string) *http.Response {
		return &http.Response{StatusCode: code, Status: fmt.Sprint(code), Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(body))}
	}
}

// otherNumber is an account that has the name now and is not the one that
// wrote.
func otherNumber(path string) *http.Response {
	_, rest, _ := strings.Cut(path, "/collaborators/")
	login, _, _ := strings.Cut(rest, "/")
	return respond(200, `{"permission":"admin","role_name":"admin","user":{"id":999999,"login":"`+login+`","type":"User"}}`)(path)
}

const courtRepo = "acme/widget"

func newCourt(t *testing.T, cfg policy.Config) *court {
	t.Helper()
	ctx := t.Context()
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	c := &court{}
	var err error
	c.gh, err = ghcheck.New(ghtest.Config{Dir: t.TempDir()})
	check(err)
	check(c.gh.Start())
	t.Cleanup(func() { check(c.gh.Close()) })
	for who, role := range map[string]string{"asker": "write", "kim": "write", "max": "write", "rae": "read", "boss": "admin"} {
		c.gh.AddUser(who, role)
	}
	inst, err := c.gh.AddRepo("acme", "widget", ghtest.Source{Files: map[string]string{"README.md": "x\n"}})
	check(err)
	ref, err := c.gh.OpenIssue(courtRepo, "asker", "t", "b")
	check(err)
	app, err := ghapp.New(ghapp.Config{APIURL: c.gh.URL() + "/api/v3/", AppID: c.gh.App().ID, PrivateKey: c.gh.App().Key,
		Spacing: -1, Backoff: time.Microsecond, Transport: c})
	check(err)
	client, err := app.For(ctx, ref, inst)
	check(err)
	c.up = proposal{
		Session{ID: "s1", Requester: "asker", RequesterID: c.gh.UserID("asker"), Target: "main", Config: cfg,
			Thread: ref, Client: client, Now: time.Now, Log: slog.New(slog.DiscardHandler),
			Approves: func(_ context.Context, text, id string) (Yes, error) {
				if text == "/agent approve "+id {
					return YesNamed, nil
				}
				return YesNot, nil
			}},
		session.Asked{ID: "abc123", Kind: "approval", Call: "p1", Tool: "publish", Display: "diff", Paths: []string{"deploy/app.yaml"},
			Review: &session.Review{Branch: ReviewBranch(ref, "abc123"), Base: "agent/1"}},
	}
	branch := c.up.asked.Review.Branch
	_, err = c.gh.Push(courtRepo, "agent/1", "kim", nil)
	check(err)
	_, err = c.gh.Push(courtRepo, branch, "kim", map[string]string{"deploy/app.yaml": "replicas: 2\n"})
	check(err)
	c.up.asked.Review.Commit = c.gh.Branch(courtRepo, branch)
	w := Requests{Session: c.up.Session}.reviewPull(c.up.asked)
	w.Thread = ref
	pull, err := client.Perform(ctx, w)
	check(err)
	told := render.ReviewNotice(c.up.asked, pull.Number, "asker")
	_, err = client.Perform(ctx, ghapp.Write{Key: requestKey("s1", "abc123"), Kind: ghapp.WriteComment, Thread: ref, Body: told.Text, Folds: told.Folds})
	check(err)
	c.at = ref
	c.at.Number = pull.Number
	return c
}

// judge is what judge says now.
func (c *court) judge(t *testing.T) (finding, error) {
	t.Helper()
	p, err := c.up.find(t.Context(), c.at)
	if err != nil {
		t.Fatal(err)
	}
	return c.up.judge(t.Context(), p)
}

// act is what a person does with a pull request.
type act func(gh *ghcheck.Server, at thread.Ref, branch string) error

func gives(who, event string) act {
	return func(gh *ghcheck.Server, at thread.Ref, _ string) error {
		_, err := gh.Review(at, who, ghcheck.NewReview{Event: event, Body: "words of " + who})
		return err
	}
}

func dismisses(who string) act {
	return func(gh *ghcheck.Server, at thread.Ref, _ string) error {
		for _, r := range gh.Thread(at).Pull.Reviews {
			if r.Author == who && r.State != "COMMENTED" {
				return gh.Dismiss(at, r.ID, "boss")
			}
		}
		return errors.New("nothing to dismiss")
	}
}

func pushes(gh *ghcheck.Server, _ thread.Ref, branch string) error {
	_, err := gh.Push(courtRepo, branch, "max", map[string]string{"more.txt": "x\n"})
	return err
}

func closes(gh *ghcheck.Server, at thread.Ref, _ string) error { return gh.CloseThread(at, "max") }

func retargets(gh *ghcheck.Server, at thread.Ref, _ string) error {
	return gh.Retarget(at, "max", "main")
}

func merges(who string) act {
	return func(gh *ghcheck.Server, at thread.Ref, _ string) error { return gh.Merge(at, who) }
}

func loses(who string) act {
	return func(gh *ghcheck.Server, _ thread.Ref, _ string) error { return gh.Grant(courtRepo, who, "read") }
}

// What people do with the pull request of a request, and what that says.
func TestJudge(t *testing.T) {
	t.Parallel()
	yes := true
	for name, tt := range map[string]struct {
		rules   policy.Approvals
		acts    []act
		want    policy.ApprovalState
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
		"pushed to":                      {acts: []act{gives("kim", "APPROVE"), pushes}, want: stale, why: "a push to the branch"},
		"pushed to, then approved":       {acts: []act{pushes, gives("kim", "APPROVE")}, want: stale, why: "a push to the branch"},
		"another target":                 {acts: []act{gives("kim", "APPROVE"), retargets}, want: stale, why: "the base branch of the pull request was changed"},
		"closed":                         {acts: []act{gives("kim", "APPROVE"), closes}, want: denied, why: "closed without"},
		"merged":                         {acts: []act{merges("kim")}, want: approved, by: "kim"},
		"merged by a reader":             {acts: []act{merges("rae")}, want: denied, by: "rae", why: "by an account that cannot approve it"},
		"merged after a push":            {acts: []act{pushes, merges("kim")}, want: denied, by: "kim", why: "a push to the branch"},
		"merged elsewhere":               {acts: []act{retargets, merges("kim")}, want: denied, by: "kim", why: "the base branch of the pull request was changed"},
		"GitHub cannot tell who":         {acts: []act{gives("kim", "APPROVE")}, meet: respond(502, `{"message":"no"}`), fails: true},
		"GitHub will not tell who":       {acts: []act{gives("kim", "APPROVE")}, meet: respond(403, `{"message":"no"}`)},
		"another number":                 {acts: []act{gives("kim", "APPROVE")}, meet: otherNumber},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := policy.DefaultConfig()
			tt.rules.Deadline = cfg.Approvals.Deadline
			cfg.Approvals = tt.rules
			c := newCourt(t, cfg)
			for _, do := range tt.acts {
				if err := do(c.gh, c.at, c.up.asked.Review.Branch); err != nil {
					t.Fatal(err)
				}
			}
			c.meet = tt.meet
			f, err := c.judge(t)
			if (err != nil) != tt.fails || f.verdict != tt.want || !tt.fails && tt.by != "" && f.by != tt.by || !strings.Contains(f.reason, tt.why) {
				t.Errorf("%q by %q because %q (%v), want %q by %q", f.verdict, f.by, f.reason, err, tt.want, tt.by)
			}
		})
	}
}

// An approval of an older state of the branch does not count when the branch
// is put back to what was asked about.
func TestReviewOfAnotherCommit(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	c := newCourt(t, policy.DefaultConfig())
	if err := gives("kim", "APPROVE")(c.gh, c.at, ""); err != nil {
		t.Fatal(err)
	}
	p, err := c.up.find(t.Context(), c.at)
	if err != nil {
		t.Fatal(err)
	}
	c.up.asked.Review.Commit = strings.Repeat("1", 40)
	p.HeadSHA = c.up.asked.Review.Commit
	f, err := c.up.judge(t.Context(), p)
	if err != nil || f.verdict != "" || len(f.refused) != 1 {
		t.Errorf("%+v, %v: the review of another commit counts", f, err)
	}
}

// An approval by review is looked at again right before it is used.
func TestReviewIsCheckedAgain(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	for name, tt := range map[string]struct {
		then    act
		comment bool // the approval was given by a comment
		why     string
	}{
		"nothing changed":         {},
		"dismissed":               {then: dismisses("kim"), why: "was withdrawn"},
		"rejected by another":     {then: gives("max", "REQUEST_CHANGES"), why: "words of max"},
		"pushed to":               {then: pushes, why: "a push to the branch"},
		"another target":          {then: retargets, why: "the base branch of the pull request was changed"},
		"closed":                  {then: closes, why: "closed without"},
		"right taken":             {then: loses("kim"), why: "kim is not an approver"},
		"by comment, then pushed": {then: pushes, comment: true, why: "a push to the branch"},
		"by comment":              {comment: true},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCourt(t, policy.DefaultConfig())
			if err := gives("kim", "APPROVE")(c.gh, c.at, ""); err != nil {
				t.Fatal(err)
			}
			comment, err := c.gh.Comment(c.up.Thread, "kim", "/agent approve abc123")
			if err != nil {
				t.Fatal(err)
			}
			f, err := c.judge(t)
			if err != nil || f.verdict != approved {
				t.Fatalf("%+v, %v", f, err)
			}
			by := session.Resolved{ID: "abc123", Verdict: approved, By: f.by, ByID: f.byID, Key: f.keys[0]}
			if tt.comment {
				by.Key = commentSource(ghapp.Target{Comment: comment.ID}, comment.Updated, comment.Body)
			}
			if tt.then != nil {
				if err := tt.then(c.gh, c.at, c.up.asked.Review.Branch); err != nil {
					t.Fatal(err)
				}
			}
			why, err := c.up.Confirm(t.Context(), c.up.asked, by)
			if err != nil || (why == "") != (tt.why == "") || !strings.Contains(why, tt.why) {
				t.Errorf("doubt %q (%v), want %q", why, err, tt.why)
			}
		})
	}
}

// An answer that comes in for an approval that was not used yet: a rejection
// overrules it, taking it back ends it, another approval changes nothing.
func TestSettlesAfterAnApproval(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	c := newCourt(t, policy.DefaultConfig())
	now := time.Now()
	bound, err := c.up.Bound(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	a := session.Asked{ID: "x", Deadline: now.Add(time.Hour), Bound: bound}
	late := session.Asked{ID: "x", Deadline: now.Add(-time.Hour), Bound: bound}
	moved := session.Asked{ID: "x", Bound: []session.Fact{{Name: bound[0].Name, Value: "another"}}}
	var none session.Resolved
	byReview, byComment := session.Resolved{ID: "x", Key: "pull:9:review:1"}, session.Resolved{ID: "x", Key: "comment:1:t"}
	for name, tt := range map[string]struct {
		a    session.Asked
		by   session.Resolved
		f    finding
		want policy.ApprovalState
	}{
		"open, approved":        {a, none, finding{verdict: approved, keys: []string{"pull:9:review:1"}}, approved},
		"open, base moved":      {moved, none, finding{verdict: approved}, stale},
		"open, too late":        {late, none, finding{verdict: approved}, "expired"},
		"open, rejected late":   {late, none, finding{verdict: denied}, denied},
		"open, nothing":         {a, none, finding{}, ""},
		"open, pushed to":       {a, none, finding{verdict: stale}, stale},
		"given, approved again": {a, byReview, finding{verdict: approved}, ""},
		"given, rejected":       {a, byComment, finding{verdict: denied}, denied},
		"given, taken back":     {a, byReview, finding{}, stale},
		"by comment, no review": {a, byComment, finding{}, ""},
	} {
		r, ok, err := proposal{c.up.Session, tt.a}.toAnswer(t.Context(), tt.by, tt.f)
		if err != nil || ok != (tt.want != "") || ok && r.Verdict != tt.want {
			t.Errorf("%s: %q %t (%v), want %q", name, r.Verdict, ok, err, tt.want)
		}
	}
}

// A pull request that somebody else opened from a branch of such a name is
// not the bot's, whatever it holds.
func TestForgedReview(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	c := newCourt(t, policy.DefaultConfig())
	at, err := c.gh.OpenPull(courtRepo, "max", ghcheck.NewPull{Title: "t", Head: c.up.asked.Review.Branch, Base: "main"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.up.find(t.Context(), at); !errors.Is(err, ghapp.ErrNotFound) {
		t.Errorf("a stranger's pull request is taken for the bot's: %v", err)
	}
}

// Which events are about a review, and of which thread.
func TestAboutReview(t *testing.T) {
	t.Parallel()
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
		at, ok := About(tt.ev)
		if ok != tt.want || ok && at.String() != "acme/widget#7" {
			t.Errorf("%s: %s %t, want %t", name, at, ok, tt.want)
		}
	}
	if got, ok := threadOf(ref, ReviewBranch(thread.Ref{Owner: "acme", Repo: "widget", Number: 12}, "0a1b2c")); !ok || got.Number != 12 {
		t.Errorf("ReviewBranch is not read back: %v %t", got, ok)
	}
}
