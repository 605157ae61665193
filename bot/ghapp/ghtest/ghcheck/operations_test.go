package ghcheck

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-github/v62/github"

	"github.com/handrail-bot/handrail/bot/ghapp/ghtest"
)

// TestDescriptionIsServed: every operation of the description has a handler
// and every handler an operation.
func TestDescriptionIsServed(t *testing.T) {
	t.Parallel()
	sp, err := loadSpec() // fails where a route is not described
	if err != nil {
		t.Fatal(err)
	}
	for route := range sp.routes {
		if !slices.Contains(ghtest.Routes(), route) {
			t.Errorf("%s is described and not served", route)
		}
	}
}

// step is one request of the tour. %s in path or body is the commit at the
// head of the topic branch.
type step struct {
	method, path, body string
	status             int
	want               string // part of the answer
}

func tour() []step {
	const r = "/repos/acme/widget"
	return []step{
		{"GET", r, "", 200, `"full_name":"acme/widget"`},
		{"GET", "/rate_limit", "", 200, `"remaining"`},
		{"GET", "/users/kim", "", 200, `"login":"kim"`},
		{"GET", "/users/nobody", "", 404, "Not Found"},
		{"GET", "/installation/repositories", "", 200, `"total_count":1`},
		{"GET", "/user", "", 403, "not accessible by integration"},
		{"GET", "/orgs/acme/teams/core/memberships/kim", "", 200, `"active"`},
		{"GET", "/orgs/acme/teams/core/memberships/rae", "", 404, ""},
		{"GET", r + "/collaborators/kim/permission", "", 200, `"role_name":"write"`},
		{"GET", r + "/collaborators/ghost/permission", "", 404, "is not a user"},
		{"POST", r + "/issues", `{"title":"Second","labels":["bug"],"assignees":["kim","rae"]}`, 201, `"number":3`},
		{"GET", r + "/issues?state=all&labels=bug", "", 200, `"title":"Second"`},
		{"PATCH", r + "/issues/3", `{"state":"closed"}`, 200, `"state":"closed"`},
		{"PATCH", r + "/issues/3", `{"state":"open","title":"Again"}`, 200, `"title":"Again"`},
		{"POST", r + "/issues/3/labels", `{"labels":["a","b"]}`, 200, `"name":"b"`},
		{"DELETE", r + "/issues/3/labels/a", "", 200, `"name":"b"`},
		{"DELETE", r + "/issues/3/labels/a", "", 404, "Label does not exist"},
		{"GET", r + "/labels", "", 200, `"name":"bug"`},
		{"POST", r + "/issues/3/assignees", `{"assignees":["kim"]}`, 201, `"login":"kim"`},
		{"POST", r + "/issues/3/comments", `{"body":"hello"}`, 201, `"performed_via_github_app":{`},
		{"GET", r + "/issues/3/comments?since=2020-01-01T00:00:00Z", "", 200, `"body":"hello"`},
		{"GET", r + "/issues/3/timeline", "", 200, `"event":"commented"`},
		{"POST", r + "/issues/3/reactions", `{"content":"eyes"}`, 201, `"content":"eyes"`},
		{"POST", r + "/issues/3/reactions", `{"content":"eyes"}`, 200, `"content":"eyes"`},
		{"GET", r + "/issues/3/reactions?content=eyes", "", 200, `"content":"eyes"`},
		{"GET", "/search/issues?q=repo:acme/widget+is:issue+(again+OR+nothing)&per_page=50", "", 200, `"number":3`},
		{"GET", "/search/issues?q=repo:acme/widget+is:pr+topic", "", 200, `"number":2`},
		{"GET", "/search/issues?q=repo:acme/widget+is:issue+again+nothing", "", 200, `"items":[]`},
		{"GET", "/search/issues?q=repo:acme/none+is:issue+x", "", 422, "cannot be searched"},
		{"GET", "/search/issues?q=repo:acme/widget+again", "", 422, "must include"},
		{"GET", "/search/issues?q=is:issue+a+OR+b+OR+c+OR+d+OR+e+OR+f+OR+g", "", 422, "More than five"},
		{"GET", "/search/issues?q=is:issue+" + strings.Repeat("word", 65), "", 422, "longer than 256"},
		{"GET", r + "/branches/topic/x", "", 200, `"name":"topic/x"`},
		{"GET", r + "/branches/none", "", 404, "Branch not found"},
		{"GET", r + "/commits/topic/x", "", 200, "%s"},
		{"GET", r + "/commits/topic/x/check-runs", "", 200, `"total_count":0`},
		{"POST", r + "/statuses/%s", `{"state":"failure","context":"ci"}`, 201, `"context":"ci"`},
		{"GET", r + "/commits/topic/x/status", "", 200, `"state":"failure"`},
		{"GET", r + "/commits/%s/pulls", "", 200, `"number":2`},
		{"GET", r + "/contents/README.md?ref=topic/x", "", 200, base64.StdEncoding.EncodeToString([]byte("hello\n"))},
		{"GET", r + "/contents/src", "", 200, `"name":"a.go"`},
		{"GET", r + "/contents/none", "", 404, ""},
		{"PUT", r + "/contents/docs/new.md", `{"message":"m","content":"aGk=","branch":"topic/x"}`, 201, `"path":"docs/new.md"`},
		{"PUT", r + "/contents/README.md", `{"message":"m","content":"aGk=","branch":"topic/x"}`, 409, "does not match"},
		{"GET", r + "/compare/main...topic/x", "", 200, `"status":"ahead"`},
		{"GET", r + "/compare/main...main", "", 200, `"status":"identical"`},
		{"POST", r + "/dispatches", `{"event_type":"go","client_payload":{"a":1}}`, 204, ""},
		{"GET", r + "/pulls?state=all&head=acme:topic/x", "", 200, `"number":2`},
		{"GET", r + "/pulls?head=acme:none", "", 200, `[]`},
		{"GET", r + "/pulls/2", "", 200, `"mergeable_state":"clean"`},
		{"GET", r + "/pulls/1", "", 404, ""},
		{"PATCH", r + "/pulls/2", `{"body":"text"}`, 200, `"body":"text"`},
		{"GET", r + "/pulls/2/files", "", 200, `"filename":"src/a.go"`},
		{"GET", r + "/pulls/2/commits", "", 200, `"message"`},
		{"POST", r + "/pulls/2/requested_reviewers", `{"reviewers":["max"]}`, 201, `"login":"max"`},
		{"GET", r + "/pulls/2/requested_reviewers", "", 200, `"login":"max"`},
		{"POST", r + "/pulls/2/comments", `{"body":"x","commit_id":"%s","path":"src/a.go","line":3,"side":"RIGHT"}`, 201, `"diff_hunk":"@@`},
		{"POST", r + "/pulls/2/comments", `{"body":"x","commit_id":"%s","path":"src/a.go","line":77}`, 422, "could not be resolved"},
		{"POST", r + "/pulls/2/reviews", `{"event":"COMMENT"}`, 422, "body"},
		{"POST", r + "/pulls/2/reviews", `{"event":"COMMENT","body":"b","comments":[{"path":"src/a.go","line":3,"body":" "}]}`, 422, "blank"},
		{"GET", r + "/pulls/2/comments", "", 200, `"body":"x"`},
		{"GET", r + "/pulls/2/reviews", "", 200, `"COMMENTED"`},
		{"POST", r + "/check-runs", `{"name":"c","head_sha":"%s","output":{"title":"t","summary":"s","annotations":[{"path":"src/a.go","start_line":1,"end_line":1,"annotation_level":"notice","message":"m"}]}}`, 201, `"status":"queued"`},
		{"GET", r + "/git/ref/heads/topic/x", "", 200, `"refs/heads/topic/x"`},
		{"GET", r + "/git/ref/heads/topic", "", 404, ""},
		{"POST", r + "/git/refs", `{"ref":"refs/heads/made","sha":"%s"}`, 201, `"refs/heads/made"`},
		{"POST", r + "/git/refs", `{"ref":"refs/heads/made","sha":"%s"}`, 422, "already exists"},
		{"POST", r + "/git/refs", `{"ref":"refs/agent/sessions/s1","sha":"%s"}`, 201, `"refs/agent/sessions/s1"`},
		{"GET", r + "/git/commits/%s", "", 200, `"verification"`},
		{"GET", r + "/git/trees/%s?recursive=1", "", 200, `"path":"src/a.go"`},
		{"DELETE", r + "/git/refs/heads/made", "", 204, ""},
	}
}

// TestTour asks for everything that needs nothing but the starting state.
func TestTour(t *testing.T) {
	t.Parallel()
	s := start(t)
	setUpTour(t, s)
	tok := installationToken(t, s, nil)
	sha := s.Branch(testRepo, "topic/x")
	fillIn := func(x string) string { return strings.ReplaceAll(x, "%s", sha) }
	for i, st := range tour() {
		code, body := rawRequest{st.method, fillIn(st.path), tok, fillIn(st.body)}.send(t, s)
		if code != st.status || !strings.Contains(body, fillIn(st.want)) {
			t.Errorf("step %d %s %s: %d, want %d with %q:\n%.600s", i, st.method, st.path, code, st.status, st.want, body)
		}
	}
}

func setUpTour(t *testing.T, s *Server) {
	t.Helper()
	s.AddUser("max", "maintain")
	s.AddTeam("acme", "core", "kim")
	if _, err := s.OpenIssue(testRepo, "rae", "First", ""); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Push(testRepo, "topic/x", "kim", map[string]string{"src/a.go": "package a\n\nfunc A() { panic(1) }\n"}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.OpenPull(testRepo, "kim", NewPull{Title: "Topic", Head: "topic/x"}); err != nil {
		t.Fatal(err)
	}
}

// chain asks for what needs an id from an earlier answer.
type chain struct {
	t   *testing.T
	s   *Server
	tok string
}

func newChain(t *testing.T) chain {
	t.Helper()
	s := start(t)
	setUpTour(t, s)
	return chain{t, s, installationToken(t, s, nil)}
}

const widget = "/repos/acme/widget"

// ask sends a request, wants its status and returns the object answered.
func (c chain) ask(method, path, body string, want int) object {
	c.t.Helper()
	code, text := rawRequest{method, widget + path, c.tok, body}.send(c.t, c.s)
	if code != want {
		c.t.Fatalf("%s %s: %d, want %d: %s", method, path, code, want, text)
	}
	var v object
	if strings.HasPrefix(text, "{") {
		if err := json.Unmarshal([]byte(text), &v); err != nil {
			c.t.Fatal(err)
		}
	}
	return v
}

func idOf(v object) string { return fmt.Sprintf("%.0f", v["id"]) }

func TestCommentChain(t *testing.T) {
	t.Parallel()
	c := newChain(t)
	cm := idOf(c.ask("POST", "/issues/1/comments", `{"body":"x"}`, 201))
	c.ask("PATCH", "/issues/comments/"+cm, `{"body":"y"}`, 200)
	if got := c.ask("GET", "/issues/comments/"+cm, "", 200); got["body"] != "y" {
		t.Errorf("comment = %v", got["body"])
	}
	re := idOf(c.ask("POST", "/issues/comments/"+cm+"/reactions", `{"content":"heart"}`, 201))
	c.ask("GET", "/issues/comments/"+cm+"/reactions", "", 200)
	c.ask("DELETE", "/issues/comments/"+cm+"/reactions/"+re, "", 204)
	c.ask("DELETE", "/issues/comments/"+cm+"/reactions/"+re, "", 404)
	re = idOf(c.ask("POST", "/issues/1/reactions", `{"content":"heart"}`, 201))
	c.ask("DELETE", "/issues/1/reactions/"+re, "", 204)
	c.ask("DELETE", "/issues/comments/"+cm, "", 204)
	c.ask("GET", "/issues/comments/"+cm, "", 404)

	rv := idOf(c.ask("POST", "/pulls/2/reviews", `{"event":"COMMENT","body":"b","comments":[{"path":"src/a.go","line":3,"body":"c"}]}`, 200))
	c.ask("GET", "/pulls/2/reviews/"+rv, "", 200)
	c.ask("GET", "/pulls/2/reviews/"+rv+"/comments", "", 200)
	dc := fmt.Sprint(c.s.Threads(testRepo)[1].Pull.Comments[0].ID)
	c.ask("GET", "/pulls/comments/"+dc, "", 200)
	c.ask("PATCH", "/pulls/comments/"+dc, `{"body":"c2"}`, 200)
	c.ask("POST", "/pulls/comments/"+dc+"/reactions", `{"content":"+1"}`, 201)
	c.ask("GET", "/pulls/comments/"+dc+"/reactions", "", 200)
	c.ask("POST", "/pulls/2/comments/"+dc+"/replies", `{"body":"reply"}`, 201)
	c.ask("POST", "/pulls", `{"title":"t","head":"topic/x","base":"main"}`, 422)
}

func TestCheckChain(t *testing.T) {
	t.Parallel()
	c := newChain(t)
	sha := c.s.Branch(testRepo, "topic/x")
	cr := idOf(c.ask("POST", "/check-runs", `{"name":"c","head_sha":"`+sha+`"}`, 201))
	c.ask("PATCH", "/check-runs/"+cr, `{"conclusion":"success"}`, 200)
	if got := c.ask("GET", "/check-runs/"+cr, "", 200); got["status"] != "completed" || got["completed_at"] == nil {
		t.Errorf("check = %v", got)
	}
	c.ask("GET", "/check-runs/"+cr+"/annotations", "", 200)
	ci, err := c.s.RunCheck(testRepo, sha, Result{Name: "ci", Conclusion: "failure", Log: "line 1\nboom\n"})
	if err != nil {
		t.Fatal(err)
	}
	c.ask("PATCH", fmt.Sprint("/check-runs/", ci), `{"conclusion":"success"}`, 403)
	c.ask("GET", fmt.Sprint("/actions/jobs/", ci, "/logs"), "", 302)
	c.ask("GET", "/actions/jobs/1/logs", "", 404)
}

func TestGitDataChain(t *testing.T) {
	t.Parallel()
	c := newChain(t)
	sha := c.s.Branch(testRepo, "topic/x")
	blob, _ := c.ask("POST", "/git/blobs", `{"content":"aGk=","encoding":"base64"}`, 201)["sha"].(string)
	tree, _ := c.ask("POST", "/git/trees", `{"base_tree":"`+sha+`","tree":[{"path":"d/e.txt","mode":"100644","type":"blob","sha":"`+blob+`"},
		{"path":"f.txt","mode":"100644","type":"blob","content":"f"},{"path":"README.md","mode":"100644","type":"blob","sha":null}]}`, 201)["sha"].(string)
	commit, _ := c.ask("POST", "/git/commits", `{"message":"made\n\nSession: s","tree":"`+tree+`","parents":["`+sha+`"]}`, 201)["sha"].(string)
	c.ask("PATCH", "/git/refs/heads/topic/x", `{"sha":"`+commit+`"}`, 200)
	c.ask("PATCH", "/git/refs/heads/topic/x", `{"sha":"`+sha+`"}`, 422)
	c.ask("PATCH", "/git/refs/heads/topic/x", `{"sha":"`+sha+`","force":true}`, 200)
	c.ask("PATCH", "/git/refs/heads/topic/x", `{"sha":"`+commit+`"}`, 200)
	for path, want := range map[string]string{"d/e.txt": "hi", "f.txt": "f", "src/a.go": "package a\n\nfunc A() { panic(1) }\n"} {
		if got, err := c.s.File(testRepo, "topic/x", path); err != nil || got != want {
			t.Errorf("%s = %q, %v", path, got, err)
		}
	}
	if _, err := c.s.File(testRepo, "topic/x", "README.md"); err == nil {
		t.Error("README.md was not deleted")
	}
	if got := c.s.Thread(c.s.Threads(testRepo)[1].Ref).Pull.HeadSHA; got != commit {
		t.Errorf("the pull request is at %s, want %s", got, commit)
	}
}

// TestAppOperations asks as the app itself.
func TestAppOperations(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := start(t)
	app := client(t, s, appJWT(t, s, goodClaims(s)))
	list, _, err := app.Apps.ListInstallations(ctx, nil)
	if err != nil || len(list) != 1 || list[0].GetAccount().GetLogin() != "acme" {
		t.Fatalf("installations = %v, %v", list, err)
	}
	if in, _, err := app.Apps.GetInstallation(ctx, list[0].GetID()); err != nil || in.GetAppID() != s.App().ID {
		t.Errorf("installation = %v, %v", in, err)
	}
	hook := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) })}
	url := serve(t, hook)
	s.SetWebhook(url)
	d, err := s.Ping(ctx)
	if err != nil || d.Status != http.StatusTeapot {
		t.Fatalf("ping = %+v, %v", d, err)
	}
	got, _, err := app.Apps.GetHookDelivery(ctx, d.ID)
	if err != nil || got.GetStatusCode() != http.StatusTeapot || got.GetEvent() != "ping" || got.GetGUID() != d.GUID {
		t.Errorf("delivery = %v, %v", got, err)
	}
	again, err := s.Redeliver(ctx, d.ID)
	if err != nil || again.GUID != d.GUID || again.ID == d.ID || !again.Redelivery {
		t.Errorf("redelivery = %+v, %v", again, err)
	}
	if got := s.Deliveries(); len(got) != 2 {
		t.Errorf("%d deliveries", len(got))
	}
	if _, err := s.Redeliver(ctx, 1); err == nil {
		t.Error("a delivery that never was was repeated")
	}
	s.SetWebhook("")
	if _, err := s.Ping(ctx); err == nil {
		t.Error("an event went nowhere without an error")
	}
	if self, _, err := person(t, s, "kim").Users.Get(ctx, ""); err != nil || self.GetLogin() != "kim" {
		t.Errorf("user = %v, %v", self, err)
	}
	if _, _, err := person(t, s, "kim").Apps.Get(ctx, ""); status(err) != 401 {
		t.Errorf("a person asked as the app: %v", err)
	}
	_, _, err = person(t, s, "kim").Checks.CreateCheckRun(ctx, "acme", "widget", github.CreateCheckRunOptions{Name: "x", HeadSHA: s.Branch(testRepo, "main")})
	if status(err) != 403 {
		t.Errorf("a person made a check run: %v", err)
	}
}
