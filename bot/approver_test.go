package bot

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot/approval"
	"github.com/handrail-bot/handrail/bot/command"
	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/bot/ghapp/ghtest"
	"github.com/handrail-bot/handrail/bot/ghapp/ghtest/ghcheck"
	"github.com/handrail-bot/handrail/bot/live"
	"github.com/handrail-bot/handrail/bot/store"
	"github.com/handrail-bot/handrail/bot/store/sqlite"
	"github.com/handrail-bot/handrail/policy"
	"github.com/handrail-bot/handrail/policy/longtest"
	"github.com/handrail-bot/handrail/policy/secret"
)

// court is a session with an open request, on a GitHub whose answers about
// people can be changed.
type court struct {
	t    *testing.T
	gh   *ghcheck.Server
	w    *worker
	sess *store.Session
	meet func(path string) *http.Response // instead of GitHub; nil to let it answer
	err  error                            // of the network
}

// RoundTrip implements http.RoundTripper.
func (c *court) RoundTrip(r *http.Request) (*http.Response, error) {
	about := strings.Contains(r.URL.Path, "/collaborators/") || strings.Contains(r.URL.Path, "/issues/comments/") || strings.Contains(r.URL.Path, "/teams/") || strings.Contains(r.URL.Path, "CODEOWNERS")
	if about && c.err != nil {
		return nil, c.err
	}
	if about && c.meet != nil {
		if resp := c.meet(r.URL.Path); resp != nil {
			resp.Request = r
			return resp, nil
		}
	}
	return http.DefaultTransport.RoundTrip(r)
}

func respond(code int, body string) *http.Response {
	return &http.Response{StatusCode: code, Status: fmt.Sprint(code), Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(body))}
}

type noRunner struct{}

func (noRunner) StartPoint(context.Context, live.Thread) (StartPoint, error) {
	return StartPoint{Base: "b", Target: "main"}, nil
}

func (noRunner) Run(context.Context, Work) (session.Outcome, error) {
	return session.Outcome{}, errors.New("nothing runs here")
}

const courtRepo = "acme/widget"

func newCourt(t *testing.T, rules policy.Config, files map[string]string, paths ...string) *court {
	t.Helper()
	ctx := t.Context()
	c := &court{t: t}
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	var err error
	c.gh, err = ghcheck.New(ghtest.Config{Dir: t.TempDir()})
	check(err)
	check(c.gh.Start())
	t.Cleanup(func() { check(c.gh.Close()) })
	for _, who := range []string{"asker", "kim"} {
		c.gh.AddUser(who, "write")
	}
	if files == nil {
		files = map[string]string{"README.md": "x\n"}
	}
	inst, err := c.gh.AddRepo("acme", "widget", ghtest.Source{Files: files})
	check(err)
	ref, err := c.gh.OpenIssue(courtRepo, "asker", "t", "b")
	check(err)
	own, err := secret.DeriveKey("one", "own words")
	check(err)
	app, err := ghapp.New(ghapp.Config{APIURL: c.gh.URL() + "/api/v3/", AppID: c.gh.App().ID, PrivateKey: c.gh.App().Key,
		Spacing: -1, Backoff: time.Microsecond, Transport: c, Own: own})
	check(err)
	db, err := sqlite.Open(ctx, sqlite.Config{Path: filepath.Join(t.TempDir(), "db")})
	check(err)
	t.Cleanup(func() { check(db.Close()) })
	b, err := New(Config{Store: db.Store, GitHub: app, Runner: noRunner{}, Policy: rules})
	check(err)
	c.w = b.worker(ref)
	check(c.w.at.Connect(ctx, app, inst))
	c.open(paths)
	return c
}

// open records a session of "asker" with one request.
func (c *court) open(paths []string) {
	c.t.Helper()
	ctx := c.t.Context()
	data, err := json.Marshal(live.Data{RequesterID: c.gh.UserID("asker"), Target: "main"})
	if err != nil {
		c.t.Fatal(err)
	}
	c.sess = &store.Session{ID: "s1", Thread: c.w.key, Repo: courtRepo, State: "running", Data: data}
	if err := c.w.cfg.Store.Sessions.Create(ctx, c.sess); err != nil {
		c.t.Fatal(err)
	}
	f, err := c.w.leases.Take(ctx, "s1")
	if err != nil {
		c.t.Fatal(err)
	}
	bound, err := c.w.live.Approvals(&c.w.at, c.sess).Bound(ctx)
	if err != nil {
		c.t.Fatal(err)
	}
	err = c.w.cfg.Store.Logs.Log(f).Append(ctx,
		session.NewEvent(session.TypeOpened, 0, session.Opened{Task: session.Task{Session: "s1", Text: "x", Mode: "code"}}),
		session.NewEvent(session.TypeAsked, 1, session.Asked{ID: "abc123", Kind: "approval", Call: "c1-1", Display: "rm -rf x", Paths: paths, Bound: bound}))
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() {
		if err := c.w.leases.Release(context.WithoutCancel(ctx)); err != nil {
			c.t.Error(err)
		}
	})
}

// does has a person give a command and says whether it had an effect.
func (c *court) does(who string, cmd command.Command) (bool, error) {
	s := userMessage{key: "k", ev: ghapp.Event{Kind: "issue_comment"}, author: ghapp.User{ID: c.gh.UserID(who), Login: who}}
	s.ev.Comment.ID, s.target.Comment = 1, 1
	got := c.w.change()
	err := c.w.do(c.t.Context(), got, s, cmd)
	return len(got.Events) > 0, err
}

// Seven roles × six commands × seven outcomes of the lookup: nothing is granted
// but what the role allows, and only when GitHub said so.
func TestPermissionTable(t *testing.T) {
	t.Parallel()
	c := newCourt(t, policy.DefaultConfig(), nil)
	roles := []string{"none", "read", "triage", "write", "maintain", "admin", "stranger"}
	commands := []struct {
		cmd  command.Command
		need string
	}{
		{command.Command{Name: "task", Text: "fix it"}, "write"},
		{command.Command{Name: "retry"}, "triage"},
		{command.Command{Name: "approve", IDs: []string{"abc123"}}, "write"},
		{command.Command{Name: "deny", IDs: []string{"abc123"}}, "write"},
		{command.Command{Name: "stop"}, "triage"},
		{command.Command{Name: "budget", Count: 5}, "maintain"},
	}
	outcomes := map[string]func(){
		"told":              func() {},
		"not found":         func() { c.meet = func(string) *http.Response { return respond(404, `{}`) } },
		"forbidden":         func() { c.meet = func(string) *http.Response { return respond(403, `{"message":"no"}`) } },
		"broken":            func() { c.meet = func(string) *http.Response { return respond(502, `{}`) } },
		"no network":        func() { c.err = errors.New("connection refused") },
		"of somebody else":  func() { c.meet = otherPerson },
		"of another number": func() { c.meet = otherNumber },
	}
	cells, grants, wrong := 0, 0, 0
	for _, role := range roles {
		who := "role-" + role
		c.gh.AddUser(who, map[bool]string{true: "", false: role}[role == "stranger"])
		if role != "stranger" {
			if err := c.gh.Grant(courtRepo, who, role); err != nil {
				t.Fatal(err)
			}
		}
		for _, k := range commands {
			for name, set := range outcomes {
				c.meet, c.err = nil, nil
				set()
				got, err := c.does(who, k.cmd)
				want := name == "told" && slices.Index(roles[:6], role) >= slices.Index(roles, k.need)
				if cells++; got != want {
					wrong++
					t.Errorf("%s says %s, GitHub %s: granted %t, want %t (%v)", role, k.cmd.Name, name, got, want, err)
				}
				if got {
					grants++
				}
			}
		}
	}
	t.Logf("permissions: %d roles × %d commands × %d outcomes = %d cells, granted %d, wrong %d", len(roles), len(commands), len(outcomes), cells, grants, wrong)
	if grants != 2*4+3*3+1*2 || cells != 7*6*7 {
		t.Errorf("%d grants in %d cells", grants, cells)
	}
}

// Accounts that are not what they look like: what counts is the number of the
// account and what the collaborator API says of it, not what the delivery
// says about its association.
func TestStrangeAccounts(t *testing.T) {
	t.Parallel()
	c := newCourt(t, policy.DefaultConfig(), nil)
	c.gh.AddUser("member", "read") // a member of the organization with read permission
	c.gh.AddUser("quiet", "write") // a private member, whom deliveries call CONTRIBUTOR
	for name, tt := range map[string]struct {
		sender ghapp.User
		meet   func(string) *http.Response
		want   bool
	}{
		"a private member with write":      {sender: ghapp.User{ID: c.gh.UserID("quiet"), Login: "quiet"}, want: true},
		"a member with read only":          {sender: ghapp.User{ID: c.gh.UserID("member"), Login: "member"}},
		"a name in other letters":          {sender: ghapp.User{ID: c.gh.UserID("quiet"), Login: "QUIET"}, want: true},
		"a name that another had before":   {sender: ghapp.User{ID: 424242, Login: "quiet"}},
		"a deleted account":                {sender: ghapp.User{ID: 10137, Login: "ghost"}, meet: refuse("/collaborators/", 404)},
		"no account at all":                {sender: ghapp.User{}, meet: refuse("/collaborators/", 404)},
		"no number":                        {sender: ghapp.User{Login: "quiet"}},
		"a suspended account":              {sender: ghapp.User{ID: c.gh.UserID("quiet"), Login: "quiet"}, meet: refuse("/collaborators/", 403)},
		"a suspended account without role": {sender: ghapp.User{ID: c.gh.UserID("quiet"), Login: "quiet"}, meet: noRole},
		"a bot":                            {sender: ghapp.User{ID: 5, Login: "helper[bot]", Bot: true}, meet: botAdmin},
	} {
		t.Run(name, func(t *testing.T) {
			c.meet = tt.meet
			for _, verb := range []string{"approve", "deny"} {
				s := userMessage{key: "k", ev: ghapp.Event{Kind: "issue_comment"}, author: tt.sender}
				s.ev.Comment.ID, s.target.Comment = 1, 1
				got := c.w.change()
				err := c.w.do(t.Context(), got, s, command.Command{Name: verb, IDs: []string{"abc123"}})
				if (len(got.Events) > 0) != tt.want {
					t.Errorf("%s had an effect: %t, want %t (%v)", verb, len(got.Events) > 0, tt.want, err)
				}
			}
		})
	}
}

func noRole(path string) *http.Response {
	if strings.Contains(path, "/collaborators/") {
		return respond(200, `{"permission":"none","role_name":"none","user":{"id":1,"login":"quiet","type":"User"}}`)
	}
	return nil
}

func botAdmin(path string) *http.Response {
	if strings.Contains(path, "/collaborators/") {
		return respond(200, `{"permission":"admin","role_name":"admin","user":{"id":5,"login":"helper[bot]","type":"Bot"}}`)
	}
	return nil
}

func otherPerson(string) *http.Response {
	return respond(200, `{"permission":"admin","role_name":"admin","user":{"id":999999,"login":"boss","type":"User"}}`)
}

// otherNumber is an account that has the name now and is not the one that
// wrote.
func otherNumber(path string) *http.Response {
	_, rest, _ := strings.Cut(path, "/collaborators/")
	login, _, _ := strings.Cut(rest, "/")
	return respond(200, `{"permission":"admin","role_name":"admin","user":{"id":999999,"login":"`+login+`","type":"User"}}`)
}

// Who may approve, by team and by CODEOWNERS of the base branch; what GitHub
// will not or cannot tell is a no.
func TestApproverRules(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	owners := map[string]string{"README.md": "x\n", ".github/CODEOWNERS": "* @nobody\n/.env @kim\n/ci/ @acme/core\n"}
	yes := true
	for name, tt := range map[string]struct {
		rules policy.Approvals
		paths []string
		who   string
		meet  func(path string) *http.Response
		want  bool
	}{
		"write is enough":                {who: "kim", want: true},
		"the requester":                  {who: "asker", want: true},
		"not the requester":              {rules: policy.Approvals{NotRequester: &yes}, who: "asker"},
		"somebody else than requester":   {rules: policy.Approvals{NotRequester: &yes}, who: "kim", want: true},
		"in the team":                    {rules: policy.Approvals{Approvers: []string{"team:acme/core"}}, who: "kim", want: true},
		"not in the team":                {rules: policy.Approvals{Approvers: []string{"team:acme/core"}}, who: "asker"},
		"team forbidden":                 {rules: policy.Approvals{Approvers: []string{"team:acme/core"}}, who: "kim", meet: refuse("/teams/", 403)},
		"team broken":                    {rules: policy.Approvals{Approvers: []string{"team:acme/core"}}, who: "kim", meet: refuse("/teams/", 502)},
		"owner of the path":              {rules: policy.Approvals{Approvers: []string{"codeowners"}}, paths: []string{".env"}, who: "kim", want: true},
		"owner of one path of two":       {rules: policy.Approvals{Approvers: []string{"codeowners"}}, paths: []string{".env", "a.go"}, who: "kim"},
		"owner by team":                  {rules: policy.Approvals{Approvers: []string{"codeowners"}}, paths: []string{"ci/x", ".env"}, who: "kim", want: true},
		"no owner":                       {rules: policy.Approvals{Approvers: []string{"codeowners"}}, paths: []string{".env"}, who: "asker"},
		"owners forbidden":               {rules: policy.Approvals{Approvers: []string{"codeowners"}}, paths: []string{".env"}, who: "kim", meet: refuse("CODEOWNERS", 403)},
		"owners broken":                  {rules: policy.Approvals{Approvers: []string{"codeowners"}}, paths: []string{".env"}, who: "kim", meet: refuse("CODEOWNERS", 500)},
		"owners gone":                    {rules: policy.Approvals{Approvers: []string{"codeowners"}}, paths: []string{".env"}, who: "kim", meet: refuse("CODEOWNERS", 404)},
		"a command has owners of all":    {rules: policy.Approvals{Approvers: []string{"codeowners"}}, who: "kim"},
		"by number, and it is another's": {rules: policy.Approvals{Approvers: []string{"user:1"}}, who: "kim"},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := policy.DefaultConfig()
			tt.rules.Deadline = cfg.Approvals.Deadline
			cfg.Approvals = tt.rules
			c := newCourt(t, cfg, owners, tt.paths...)
			c.gh.AddTeam("acme", "core", "kim")
			c.meet = tt.meet
			got, err := c.does(tt.who, command.Command{Name: "approve", IDs: []string{"abc123"}})
			if got != tt.want {
				t.Errorf("granted %t, want %t (%v)", got, tt.want, err)
			}
		})
	}
}

func refuse(what string, code int) func(string) *http.Response {
	return func(path string) *http.Response {
		if strings.Contains(path, what) {
			return respond(code, `{"message":"no"}`)
		}
		return nil
	}
}

// An approval is looked at again when it is used: who gave it must still have
// the right, and the comment must still say it. What GitHub cannot tell stops
// everything.
func TestApprovalIsCheckedAgain(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	for name, tt := range map[string]struct {
		change func(c *court, comment int64)
		stale  bool
		fails  bool
	}{
		"nothing changed":      {change: func(*court, int64) {}},
		"right was taken":      {change: func(c *court, _ int64) { _ = c.gh.Grant(courtRepo, "kim", "read") }, stale: true},
		"left":                 {change: func(c *court, _ int64) { c.meet = refuse("/collaborators/", 404) }, stale: true},
		"forbidden":            {change: func(c *court, _ int64) { c.meet = refuse("/collaborators/", 403) }, stale: true},
		"broken":               {change: func(c *court, _ int64) { c.meet = refuse("/collaborators/", 502) }, fails: true},
		"another has the name": {change: func(c *court, _ int64) { c.meet = otherNumber }, stale: true},
		"comment edited":       {change: func(c *court, id int64) { _ = c.gh.EditComment(c.w.at.Ref, id, "kim", "no!") }, stale: true},
		"comment deleted":      {change: func(c *court, id int64) { _ = c.gh.DeleteComment(c.w.at.Ref, id, "kim") }, stale: true},
		"comment not found":    {change: func(c *court, _ int64) { c.meet = refuse("/issues/comments/", 404) }, stale: true},
		"comment not readable": {change: func(c *court, _ int64) { c.meet = refuse("/issues/comments/", 502) }, fails: true},
		"somebody else's edit": {change: func(c *court, id int64) { _ = c.gh.EditComment(c.w.at.Ref, id, "asker", "/agent approve abc123 !") }, stale: true},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCourt(t, policy.DefaultConfig(), nil)
			asked := session.Asked{ID: "abc123", Digest: "d1", Display: "rm -rf x"}
			c.shows(asked)
			cm, err := c.gh.Comment(c.w.at.Ref, "kim", "/agent approve abc123")
			if err != nil {
				t.Fatal(err)
			}
			s := userMessage{target: ghapp.Target{Comment: cm.ID}}
			s.ev.Comment.Updated, s.ev.Comment.Body = cm.Updated, cm.Body
			tt.change(c, cm.ID)
			yes := session.Resolved{ID: "abc123", Verdict: policy.Approved, By: "kim", ByID: c.gh.UserID("kim"), Key: approval.Source(s.ev, s.target)}
			why, err := c.w.live.Approvals(&c.w.at, c.sess).Confirm(t.Context(), asked, yes)
			if (err != nil) != tt.fails || (why != "") != tt.stale {
				t.Errorf("%q, %v; want it stale: %t, an error: %t", why, err, tt.stale, tt.fails)
			}
		})
	}
}

// One denial wins over an approval whose action has not run: also over one
// that was cut off and would begin again.
func TestDenialAfterApproval(t *testing.T) {
	t.Parallel()
	deny := command.Command{Name: "deny", IDs: []string{"abc123"}}
	begun := session.NewEvent(session.TypeStarted, 1, session.Started{Call: "c1-1"})
	ran := session.NewEvent(session.TypeResult, 1, session.Result{Call: "c1-1", OK: true})
	for name, tt := range map[string]struct {
		events []*session.Event
		counts bool
	}{
		"approved":          {nil, true},
		"begun and cut off": {[]*session.Event{begun}, true},
		"ran":               {[]*session.Event{begun, ran}, false},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCourt(t, policy.DefaultConfig(), nil)
			yes := session.NewEvent(session.TypeResolved, 1, session.Resolved{ID: "abc123", Verdict: policy.Approved, By: "kim"})
			c.append(append([]*session.Event{yes}, tt.events...)...)
			if got, _ := c.does("asker", command.Command{Name: "approve", IDs: []string{"abc123"}}); got {
				t.Error("a request was approved twice")
			}
			if got, err := c.does("asker", deny); err != nil || got != tt.counts {
				t.Errorf("the denial counts: %t (%v), want %t", got, err, tt.counts)
			}
		})
	}
}

func (c *court) append(events ...*session.Event) {
	c.t.Helper()
	f, err := c.w.leases.Take(c.t.Context(), "s1")
	if err != nil {
		c.t.Fatal(err)
	}
	if err := c.w.cfg.Store.Logs.Log(f).Append(c.t.Context(), events...); err != nil {
		c.t.Fatal(err)
	}
}
