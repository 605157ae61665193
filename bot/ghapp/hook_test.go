package ghapp_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/bot/ghapp/ghtest"
	"github.com/handrail-bot/handrail/bot/ghapp/ghtest/ghcheck"
	"github.com/handrail-bot/handrail/bot/thread"
	"github.com/handrail-bot/handrail/policy/longtest"
)

// receiver is a bot that remembers what GitHub sent, and can be down.
type receiver struct {
	mu     sync.Mutex
	down   bool
	got    []ghapp.Event
	guids  []string
	errs   []string
	secret string
}

func (rc *receiver) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	rc.mu.Lock()
	defer rc.mu.Unlock()
	if rc.down {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		rc.errs = append(rc.errs, err.Error())
	}
	if r.Header.Get("X-Hub-Signature-256") != ghtest.Sign(rc.secret, body) {
		rc.errs = append(rc.errs, "wrong signature for "+r.Header.Get("X-GitHub-Event"))
	}
	e, err := ghapp.ParseEvent(r.Header.Get("X-GitHub-Event"), body)
	if err != nil {
		rc.errs = append(rc.errs, err.Error())
	}
	rc.got = append(rc.got, e)
	rc.guids = append(rc.guids, r.Header.Get("X-GitHub-Delivery"))
	w.WriteHeader(http.StatusAccepted)
}

func (rc *receiver) setDown(down bool) {
	rc.mu.Lock()
	defer rc.mu.Unlock()
	rc.down = down
}

// last returns the newest event of a kind and action.
func (rc *receiver) last(t *testing.T, kind, action string) ghapp.Event {
	t.Helper()
	rc.mu.Lock()
	defer rc.mu.Unlock()
	for _, e := range rc.errs {
		t.Error(e)
	}
	for i := len(rc.got) - 1; i >= 0; i-- {
		if rc.got[i].Kind == kind && rc.got[i].Action == action {
			return rc.got[i]
		}
	}
	t.Fatalf("no %s %s among %d events", kind, action, len(rc.got))
	return ghapp.Event{}
}

func listen(t *testing.T, w *world) *receiver {
	t.Helper()
	rc := &receiver{secret: w.gh.App().WebhookSecret}
	srv := httptest.NewServer(rc)
	t.Cleanup(srv.Close)
	w.gh.SetWebhook(srv.URL)
	return rc
}

// TestEvents plays a person's acts and reads what arrives.
func TestEvents(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	ctx := context.Background()
	w := newWorld(t)
	rc := listen(t, w)
	flush := func() { t.Helper(); must(t, w.gh.Flush(ctx)) }
	kim := ghapp.User{ID: w.gh.UserID("kim"), Login: "kim"}

	cm, err := w.gh.Comment(w.pull, "kim", "/agent also add a test")
	must(t, err)
	flush()
	e := rc.last(t, "issue_comment", "created")
	if e.Thread != w.pull || !e.IsPull || e.Comment.ID != cm.ID || e.Comment.Body != "/agent also add a test" || e.Sender != kim ||
		e.Comment.Author != kim || e.Installation != w.inst || e.DefaultBranch != "main" || !e.Comment.Updated.Equal(cm.Updated) || e.AppID != 0 {
		t.Errorf("comment event = %+v", e)
	}
	must(t, w.gh.EditComment(w.pull, cm.ID, "kim", "/agent stop"))
	flush()
	e = rc.last(t, "issue_comment", "edited")
	if e.Comment.Body != "/agent stop" || e.OldBody != "/agent also add a test" || !e.Comment.Updated.After(cm.Updated) {
		t.Errorf("edit event = %+v", e)
	}
	must(t, w.gh.DeleteComment(w.pull, cm.ID, "kim"))
	_, err = w.client.Perform(ctx, ghapp.Write{Key: "k", Kind: ghapp.WriteComment, Thread: w.issue, Body: "/agent x"})
	must(t, err)
	flush()
	rc.last(t, "issue_comment", "deleted")
	if e = rc.last(t, "issue_comment", "created"); !e.Sender.Bot || e.AppID != w.gh.App().ID || e.IsPull || e.Thread != w.issue {
		t.Errorf("own comment event = %+v", e)
	}
	rv, err := w.gh.Review(w.pull, "max", ghcheck.NewReview{Event: "REQUEST_CHANGES", Body: "/agent fix", Comments: []ghcheck.Inline{{Path: "src/a.go", Line: 3, Body: "/agent here"}}})
	must(t, err)
	must(t, w.gh.Label(w.issue, "kim", "agent"))
	must(t, w.gh.Assign(w.issue, "kim", "handrail[bot]"))
	sha, err := w.gh.Push(repo, "fix", "kim", map[string]string{"b.txt": "b\n"})
	must(t, err)
	_, err = w.gh.RunCheck(repo, sha, ghcheck.Result{Name: "test", Conclusion: "failure", Log: "boom"})
	must(t, err)
	flush()
	e = rc.last(t, "pull_request_review", "submitted")
	if e.Review.ID != rv.ID || e.Review.State != "CHANGES_REQUESTED" || e.Review.Author.Login != "max" || e.Thread != w.pull {
		t.Errorf("review event = %+v", e)
	}
	e = rc.last(t, "pull_request_review_comment", "created")
	if !e.Comment.Diff || e.Comment.Path != "src/a.go" || e.Comment.Line != 3 || e.Comment.ReviewID != rv.ID || !strings.HasPrefix(e.Comment.Hunk, "@@") {
		t.Errorf("review comment event = %+v", e)
	}
	if e = rc.last(t, "issues", "labeled"); e.Label != "agent" || !cmp.Equal(e.Labels, []string{"agent"}) {
		t.Errorf("label event = %+v", e)
	}
	if e = rc.last(t, "issues", "assigned"); e.Assignee != "handrail[bot]" {
		t.Errorf("assign event = %+v", e)
	}
	if e = rc.last(t, "push", ""); e.Ref != "refs/heads/fix" || e.After != sha {
		t.Errorf("push event = %+v", e)
	}
	if e = rc.last(t, "pull_request", "synchronize"); e.Pull.HeadSHA != sha || e.Pull.Fork || e.After != sha {
		t.Errorf("synchronize event = %+v", e)
	}
	e = rc.last(t, "check_run", "completed")
	if e.Check.Conclusion != "failure" || e.Check.SHA != sha || !cmp.Equal(e.Check.Pulls, []int{w.pull.Number}) || e.Check.AppID == w.gh.App().ID {
		t.Errorf("check event = %+v", e)
	}
	rc.last(t, "check_suite", "completed")
	must(t, w.gh.Merge(w.pull, "max"))
	flush()
	if e = rc.last(t, "pull_request", "closed"); !e.Pull.Merged || e.State != "closed" {
		t.Errorf("merge event = %+v", e)
	}
	d, err := w.gh.Ping(ctx)
	if err != nil || d.Status != http.StatusAccepted {
		t.Errorf("ping = %+v, %v", d, err)
	}
}

// redeliver asks for every event that no attempt has delivered, oldest first.
func (w *world) redeliver(t *testing.T, since time.Time) (asked []ghapp.Delivery) {
	t.Helper()
	list, err := w.app.Deliveries(t.Context(), since)
	must(t, err)
	done := map[string]bool{}
	for _, d := range list {
		done[d.GUID] = done[d.GUID] || d.OK()
	}
	for _, d := range slices.Backward(list) {
		if !done[d.GUID] {
			done[d.GUID] = true
			must(t, w.app.Redeliver(t.Context(), d.ID))
			asked = append(asked, d)
		}
	}
	return asked
}

// TestRedeliver: what GitHub could not deliver comes when it is asked for
// again, under the id it had.
func TestRedeliver(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	ctx := context.Background()
	w := newWorld(t)
	rc := listen(t, w)
	since := time.Now().Add(-time.Minute)
	_, err := w.gh.Comment(w.issue, "kim", "arrives")
	must(t, err)
	must(t, w.gh.Flush(ctx))
	rc.setDown(true)
	for i := range 120 { // more than a page
		_, err := w.gh.Comment(w.issue, "kim", "lost "+strings.Repeat("x", i))
		must(t, err)
	}
	must(t, w.gh.Flush(ctx))
	list, err := w.app.Deliveries(ctx, since)
	if err != nil || len(list) != 121 || list[0].OK() || !list[120].OK() {
		t.Fatalf("got %d deliveries, %v", len(list), err)
	}
	asked := w.redeliver(t, since)
	if len(asked) != 120 {
		t.Fatalf("asked for %d", len(asked))
	}
	must(t, w.gh.Flush(ctx)) // still down
	rc.setDown(false)
	asked = w.redeliver(t, since)
	must(t, w.gh.Flush(ctx))
	if len(asked) != 120 || asked[0].GUID == asked[1].GUID {
		t.Errorf("second time, %d are asked for", len(asked))
	}
	if asked = w.redeliver(t, since); len(asked) != 0 {
		t.Errorf("third time, %d are asked for", len(asked))
	}
	rc.mu.Lock()
	defer rc.mu.Unlock()
	seen := map[string]bool{}
	for _, g := range rc.guids {
		if seen[g] {
			t.Errorf("event %s arrived twice", g)
		}
		seen[g] = true
	}
	if len(rc.got) != 121 {
		t.Errorf("%d events arrived, want 121", len(rc.got))
	}
	if got, err := w.app.Deliveries(ctx, time.Now().Add(time.Hour)); err != nil || len(got) != 0 {
		t.Errorf("deliveries from the future: %d, %v", len(got), err)
	}
}

func TestDispatchEvent(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	w := newWorld(t)
	rc := listen(t, w)
	d, err := w.gh.Deliver(ctx, "workflow_dispatch", []byte(`{"inputs":{"task":"x"},"ref":"refs/heads/main","repository":{"full_name":"acme/widget","id":1}}`))
	if err != nil || d.Status != http.StatusAccepted {
		t.Fatalf("%+v, %v", d, err)
	}
	e := rc.last(t, "workflow_dispatch", "")
	if string(e.Payload) != `{"task":"x"}` || e.Thread != (thread.Ref{Owner: "acme", Repo: "widget"}) || e.Ref != "refs/heads/main" {
		t.Errorf("event = %+v", e)
	}
}

// TestNoSecretInLogs runs through much of the client and looks for every
// secret in what both sides logged at the most talkative level, and in every
// error.
func TestNoSecretInLogs(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	ctx := context.Background()
	w := newWorld(t)
	listen(t, w)
	var texts []string
	for i, wr := range w.writes(t) {
		wr.Key = "k" + strings.Repeat("x", i)
		_, err := w.client.Perform(ctx, wr)
		must(t, err)
	}
	_, token, err := w.client.GitAuth(ctx, w.gh.URL()+"/acme/widget.git", ghapp.GitPush)
	must(t, err)
	for _, f := range []ghcheck.Faults{{BadGateway: 1}, {Lost: 1}, {Secondary: 1, RetryAfter: time.Hour}} {
		w.gh.SetFaults(f)
		_, err := w.client.Perform(ctx, ghapp.Write{Key: "k", Kind: ghapp.WriteComment, Thread: w.issue, Body: "x"})
		if err == nil {
			t.Error("a fault gave no error")
			continue
		}
		texts = append(texts, err.Error())
	}
	w.gh.SetFaults(ghcheck.Faults{})
	w.gh.Suspend(w.inst, true)
	if _, err := w.client.Issue(ctx, w.issue); err == nil {
		t.Error("a suspended installation answered")
	} else {
		texts = append(texts, err.Error())
	}
	texts = append(texts, w.logs.String())
	key := string(w.gh.App().Key)
	for _, text := range texts {
		for name, secret := range map[string]string{"token": token, "key": key[40:80], "webhook secret": w.gh.App().WebhookSecret} {
			if strings.Contains(text, secret) {
				t.Errorf("the %s is in:\n%s", name, text)
			}
		}
		if strings.Contains(text, "Bearer ") || strings.Contains(text, "eyJ") {
			t.Errorf("a token is in:\n%s", text)
		}
	}
}
