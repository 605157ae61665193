package ghapp_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/bot/ghapp/ghtest"
	"github.com/handrail-bot/handrail/bot/ghapp/ghtest/ghcheck"
	"github.com/handrail-bot/handrail/bot/ghapp/ghtest/hub"
	"github.com/handrail-bot/handrail/bot/ghapp/reads"
	"github.com/handrail-bot/handrail/bot/thread"
	"github.com/handrail-bot/handrail/policy/longtest"
)

// reviewed gives the pull request two talks on its diff, the first with a reply,
// and a text that closes the issue.
func reviewed(t *testing.T, w *world) (first, second int64) {
	t.Helper()
	_, err := w.gh.Review(w.pull, "max", ghcheck.NewReview{Event: "COMMENT", Body: "some remarks", Comments: []ghcheck.Inline{
		{Path: "src/a.go", Line: 3, Body: "why two?"}, {Path: "src/a.go", Line: 1, Body: "a comment is missing"}}})
	must(t, err)
	must(t, w.gh.On(w.pull, "kim", func(is *hub.Issue, kim *hub.User) error {
		first, second = is.Pull.Comments[0].ID, is.Pull.Comments[1].ID
		cm := w.gh.NewComment(is, kim, "because one was wrong")
		cm.Path, cm.Line, cm.Side, cm.Hunk, cm.Commit, cm.InReplyTo = "src/a.go", 3, "RIGHT", is.Pull.Comments[0].Hunk, is.Pull.HeadSHA, first
		is.Pull.Comments = append(is.Pull.Comments, cm)
		is.Body = fmt.Sprintf("Fixes #%d, closes #%d", w.issue.Number, is.Number)
		return nil
	}))
	return first, second
}

// counted counts answers by their status.
type counted struct {
	next http.RoundTripper
	of   map[int]int
}

func (c *counted) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := c.next.RoundTrip(r)
	if err == nil && r.Method == http.MethodGet {
		c.of[resp.StatusCode]++
	}
	return resp, err
}

// What is written in a thread while somebody looks is found once it is there, also a
// review and a talk on the diff. A look at which nothing has happened is one request
// that GitHub does not count.
func TestFollow(t *testing.T) {
	t.Parallel()
	seen := &counted{of: map[int]int{}}
	var ahead atomic.Int64
	now := func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
	w := newWorld(t, func(g *ghtest.Config, c *ghapp.Config) {
		seen.next, c.Transport = c.Transport, seen
		g.Clock = now
	})
	for _, at := range []thread.Ref{w.issue, w.pull} {
		_, err := w.gh.Comment(at, "kim", "before")
		must(t, err)
		ahead.Add(int64(10 * time.Second))
		f := reads.Follow{Client: w.client, At: at, Since: now()}
		found := map[string]int{}
		look := func() {
			said, err := f.Look(t.Context())
			must(t, err)
			for _, s := range said {
				if !strings.Contains(string(s.Payload), "before") {
					found[s.Event]++
				}
			}
		}
		quiet := func() {
			t.Helper()
			look()
			look()
			clear(seen.of)
			look()
			if seen.of[304] != 1 || len(seen.of) != 1 {
				t.Errorf("%s: a look at nothing asks for %v", at, seen.of)
			}
		}
		quiet()
		if len(found) != 0 {
			t.Errorf("%s: found what was there: %v", at, found)
		}
		_, err = w.gh.Comment(at, "kim", "/agent stop")
		must(t, err)
		look()
		want := map[string]int{"issue_comment": 1}
		if at == w.pull {
			_, err = w.gh.Review(at, "max", ghcheck.NewReview{Event: "COMMENT", Body: "/agent and this", Comments: []ghcheck.Inline{{Path: "src/a.go", Line: 3, Body: "why two?"}}})
			must(t, err)
			look()
			want = map[string]int{"issue_comment": 2, "pull_request_review": 1, "pull_request_review_comment": 1}
		}
		if diff := cmp.Diff(want, found); diff != "" {
			t.Errorf("%s: found (-want +got):\n%s", at, diff)
		}
		quiet()
	}
}

func TestReadReviewThreads(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	ctx := t.Context()
	w := newWorld(t)
	first, second := reviewed(t, w)
	got, err := reads.ReviewThreads(ctx, w.client, w.pull, 10)
	must(t, err)
	if len(got.List) != 2 || got.Resolved != 0 || got.Unread != 0 {
		t.Fatalf("threads = %+v", got)
	}
	a := got.List[0]
	if a.Path != "src/a.go" || a.Line != 3 || a.Left || a.Outdated || !strings.HasSuffix(a.Hunk, "+func A() int { return 2 }") || a.Total != 2 || len(a.Comments) != 2 {
		t.Errorf("first thread = %+v", a)
	}
	if c := a.Comments[0]; c.ID != first || c.Author != "max" || c.Relation != "COLLABORATOR" || c.Body != "why two?" || c.Position != 1 || c.Bot || !c.Edited.IsZero() {
		t.Errorf("comment = %+v", c)
	}
	if c := a.Comments[1]; c.Author != "kim" || c.Position != 2 || c.Body != "because one was wrong" {
		t.Errorf("reply = %+v", c)
	}
	if got, err := reads.ReviewThreads(ctx, w.client, w.pull, 1); err != nil || len(got.List) != 1 || got.Unread != 1 {
		t.Errorf("one thread = %+v, %v", got, err)
	}
	must(t, w.gh.Resolve(w.pull, second, "kim"))
	_, err = w.gh.Push(repo, "fix", "kim", map[string]string{"src/a.go": "package a\n\nfunc A() int { return 3 }\n"})
	must(t, err)
	got, err = reads.ReviewThreads(ctx, w.client, w.pull, 10)
	if err != nil || len(got.List) != 1 || got.Resolved != 1 || !got.List[0].Outdated || got.List[0].Line != 3 {
		t.Errorf("after a push = %+v, %v", got, err)
	}
	_, err = reads.ReviewThreads(ctx, w.client, w.issue, 10)
	if !errors.Is(err, ghapp.ErrNotFound) {
		t.Errorf("threads of an issue: %v, want ErrNotFound", err)
	}
}

// TestReadsOwnRepository: what is in another repository is not asked for.
func TestReadsOwnRepository(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	ctx := t.Context()
	w := newWorld(t)
	other := thread.Ref{Owner: "acme", Repo: "other", Number: w.pull.Number}
	for name, read := range map[string]func() error{
		"comments": func() error { _, err := reads.Comments(ctx, w.client, other, reads.Window{Max: 5}); return err },
		"files":    func() error { _, err := reads.Files(ctx, w.client, other, 5); return err },
		"diff":     func() error { _, err := reads.PullDiff(ctx, w.client, other, 500, nil); return err },
		"threads":  func() error { _, err := reads.ReviewThreads(ctx, w.client, other, 5); return err },
		"linked": func() error {
			_, _, err := reads.Linked(ctx, w.client, ghapp.Issue{Ref: other, IsPull: true}, 5)
			return err
		},
		"checks": func() error { _, err := reads.Checks(ctx, w.client, "../../other/commits/main"); return err },
	} {
		if err := read(); err == nil || !strings.Contains(err.Error(), "is not in acme/widget") && !strings.Contains(err.Error(), "not a path below") {
			t.Errorf("%s of another repository: %v, want a refusal", name, err)
		}
	}
}

// TestReadLongReviewThread: of a long talk the beginning and the end are read.
func TestReadLongReviewThread(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first, _ := reviewed(t, w)
	must(t, w.gh.On(w.pull, "kim", func(is *hub.Issue, kim *hub.User) error {
		for i := range 120 {
			cm := w.gh.NewComment(is, kim, fmt.Sprint("word ", i))
			cm.Path, cm.Line, cm.Side, cm.Commit, cm.InReplyTo = "src/a.go", 3, "RIGHT", is.Pull.HeadSHA, first
			is.Pull.Comments = append(is.Pull.Comments, cm)
		}
		for i := range 70 { // two pages of threads
			cm := w.gh.NewComment(is, kim, fmt.Sprint("thread ", i))
			cm.Path, cm.Line, cm.Side, cm.Commit, cm.Resolved = "src/a.go", 1, "RIGHT", is.Pull.HeadSHA, i < 60
			is.Pull.Comments = append(is.Pull.Comments, cm)
		}
		return nil
	}))
	got, err := reads.ReviewThreads(t.Context(), w.client, w.pull, 100)
	must(t, err)
	if len(got.List) != 12 || got.Resolved != 60 || got.Unread != 0 {
		t.Fatalf("%d threads, %d resolved, %d unread; want 12, 60, 0", len(got.List), got.Resolved, got.Unread)
	}
	a := got.List[0]
	if a.Total != 122 || len(a.Comments) != 21 || a.Comments[0].Position != 1 || a.Comments[1].Position != 103 || a.Comments[20].Body != "word 119" {
		t.Errorf("a talk of %d comments: %+v", a.Total, a.Comments)
	}
}

func TestReadLinked(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	reviewed(t, w)
	ctx := t.Context()
	numbers := func(is ghapp.Issue, most int) (out []int, left int) {
		t.Helper()
		list, left, err := reads.Linked(ctx, w.client, is, most)
		must(t, err)
		for _, one := range list {
			out = append(out, one.Ref.Number)
		}
		return out, left
	}
	pull, err := w.client.Issue(ctx, w.pull)
	must(t, err)
	if got, left := numbers(pull, 5); !slices.Equal(got, []int{w.issue.Number}) || left != 0 {
		t.Errorf("a pull request closes %v and %d more", got, left)
	}
	a, err := w.gh.OpenIssue(repo, "rae", "Other", "x")
	must(t, err)
	is, err := w.client.Issue(ctx, w.issue)
	must(t, err)
	for _, c := range []struct {
		body string
		want []int
	}{
		{"see #%d", []int{a.Number}},
		{"(#%d)", []int{a.Number}},
		{"#%d\nand #%[1]d, #99999", []int{a.Number}},
		{"acme/widget#%d", []int{a.Number}},
		{"Acme/Widget#%d.", []int{a.Number}},
		{"acme/other#%d", nil},
		{"`#%d`", nil},
		{"```\n#%d\n```", nil},
		{"~~~ go\n#%d\n~~~\nrest", nil},
		{"<!-- #%d -->", nil},
		{"<!-- #%d", nil},
		{"a#%d", nil},
		{"&#%d;", nil},
		{"https://x.example/#%d", nil},
		{"#%dx", nil},
		{"#0%d", nil},
	} {
		is.Body = fmt.Sprintf(c.body, a.Number)
		if got, left := numbers(is, 5); !slices.Equal(got, c.want) || left != 0 {
			t.Errorf("%q names %v and %d more, want %v", is.Body, got, left, c.want)
		}
	}
	is.Body = fmt.Sprintf("#%d #%d", a.Number, w.pull.Number)
	if got, left := numbers(is, 1); !slices.Equal(got, []int{a.Number}) || left != 1 {
		t.Errorf("one of two: %v and %d more", got, left)
	}
}

func TestReadComments(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	ctx := t.Context()
	w := newWorld(t)
	if got, err := reads.Comments(ctx, w.client, w.issue, reads.Window{Max: 5}); err != nil || len(got.List) != 0 || got.Total != 0 || got.Older != 0 {
		t.Errorf("no comments = %+v, %v", got, err)
	}
	must(t, w.gh.On(w.issue, "kim", func(is *hub.Issue, kim *hub.User) error {
		for i := range 204 {
			is.Comments = append(is.Comments, w.gh.NewComment(is, kim, fmt.Sprint(i+1)))
		}
		w.gh.Edit(is.Comments[203], "204, edited", kim)
		return nil
	}))
	_, err := w.client.Perform(ctx, ghapp.Write{Key: "k", Kind: ghapp.WriteComment, Thread: w.issue, Body: "mine"})
	must(t, err)
	got, err := reads.Comments(ctx, w.client, w.issue, reads.Window{Max: 3})
	must(t, err)
	if len(got.List) != 3 || got.Total != 205 || got.Older != 203 {
		t.Fatalf("newest = %+v", got)
	}
	if c := got.List[0]; c.Author != "handrail[bot]" || !c.Bot || c.App != "handrail" || c.Position != 205 {
		t.Errorf("the bot's comment = %+v", c)
	}
	if c := got.List[1]; c.Author != "kim" || c.Bot || c.App != "" || c.Relation != "COLLABORATOR" || c.Body != "204, edited" || c.Edited.IsZero() || c.AuthorID != w.gh.UserID("kim") {
		t.Errorf("an edited comment = %+v", c)
	}
	if c := got.List[2]; !c.Edited.IsZero() || c.Position != 203 || c.Body != "203" || c.URL == "" || c.Created.IsZero() {
		t.Errorf("a comment = %+v", c)
	}
	// All pages together are all comments, newest first, each once.
	for _, most := range []int{7, 100, 1000} {
		var all []string
		for w2 := (reads.Window{Max: most}); ; {
			got, err := reads.Comments(ctx, w.client, w.issue, w2)
			must(t, err)
			for _, c := range got.List {
				all = append(all, c.Body)
			}
			if w2.Before = got.Older; got.Older == 0 {
				break
			}
		}
		if len(all) != 205 || all[204] != "1" || all[104] != "101" || all[105] != "100" {
			t.Errorf("in parts of %d there are %d comments, the last %q", most, len(all), all[len(all)-1])
		}
	}
	is, err := w.client.Issue(ctx, w.issue)
	if err != nil || is.Relation != "NONE" || is.Comments != 205 || is.Body != "when I press the button" {
		t.Errorf("issue = %+v, %v", is, err)
	}
}

func TestReadChecks(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	ctx := t.Context()
	w := newWorld(t)
	sha := w.gh.Branch(repo, "fix")
	log := strings.Repeat("2026-01-01T00:00:00.0000000Z a line of the log\n", 5000) + "the end\n"
	job, err := w.gh.RunCheck(repo, sha, ghcheck.Result{Name: "test", Conclusion: "failure", Log: log})
	must(t, err)
	_, err = w.gh.RunCheck(repo, sha, ghcheck.Result{Name: "lint", Conclusion: "success"})
	must(t, err)
	_, err = w.client.Perform(ctx, ghapp.Write{Key: "k", Kind: ghapp.WriteCheck, Thread: w.pull, Check: &ghapp.CheckSpec{Name: "handrail", SHA: sha, Status: "in_progress", Title: "working", Summary: "x"}})
	must(t, err)
	must(t, w.gh.As("kim", repo, func(r *hub.Repo, kim *hub.User) error {
		for _, state := range []string{"pending", "error"} {
			r.Statuses = append(r.Statuses, &hub.CommitStatus{ID: w.gh.NextID(), SHA: sha, State: state, Context: "deploy", Description: "no room", Author: kim, Created: w.gh.Now()})
		}
		return nil
	}))
	list, err := reads.Checks(ctx, w.client, sha)
	must(t, err)
	var got []string
	for _, k := range list {
		got = append(got, fmt.Sprintf("%s %s %q failed=%v running=%v log=%v", k.Name, k.State, k.App, k.Failed(), k.Running(), k.Job != 0))
	}
	want := []string{`deploy error "" failed=true running=false log=false`, `handrail in_progress "handrail" failed=false running=true log=false`,
		`lint success "github-actions" failed=false running=false log=true`, `test failure "github-actions" failed=true running=false log=true`}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("checks (-want +got):\n%s", diff)
	}
	end, err := reads.JobLog(ctx, w.client, job, reads.Tail{MaxBytes: 200})
	must(t, err)
	if !strings.HasSuffix(end.Text, "the end\n") || len(end.Text) > 200 || !strings.HasPrefix(end.Text, "2026-") || end.Total != int64(len(log)) || end.Cut || log[end.From:] != end.Text {
		t.Errorf("end of the log = %+v", end)
	}
	back := ""
	for tail := (reads.Tail{MaxBytes: 100_000}); ; {
		part, err := reads.JobLog(ctx, w.client, job, tail)
		must(t, err)
		back = part.Text + back
		if tail.Before = part.From; part.From == 0 {
			break
		}
	}
	if back != log {
		t.Errorf("the parts of the log have %d bytes together, want %d", len(back), len(log))
	}
	if _, err := reads.JobLog(ctx, w.client, 424242, reads.Tail{MaxBytes: 200}); !errors.Is(err, ghapp.ErrNotFound) {
		t.Errorf("the log of no job: %v, want ErrNotFound", err)
	}
}

// TestReadWithoutRights: an App that was not given all rights reads what it may,
// and is told what is missing.
func TestReadWithoutRights(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	w := newWorld(t, func(gc *ghtest.Config, _ *ghapp.Config) {
		gc.Permissions = map[string]string{"metadata": "read", "contents": "write", "issues": "write", "pull_requests": "write", "checks": "write"}
	})
	sha := w.gh.Branch(repo, "fix")
	job, err := w.gh.RunCheck(repo, sha, ghcheck.Result{Name: "test", Conclusion: "failure", Log: "no"})
	must(t, err)
	list, err := reads.Checks(ctx, w.client, sha)
	must(t, err)
	if len(list) != 2 || list[1].Name != "test" || !list[1].Failed() || list[0].Failed() || list[0].Running() || !strings.Contains(list[0].Title, "needs statuses: read in its settings") {
		t.Errorf("checks = %+v", list)
	}
	if _, err := reads.JobLog(ctx, w.client, job, reads.Tail{MaxBytes: 100}); err == nil || !strings.Contains(err.Error(), "needs actions: read in its settings") {
		t.Errorf("log: %v", err)
	}
}

// TestQueriesAreReads: a query is repeated when GitHub stumbles, and what GitHub says
// in an answer without data is an error of the right kind.
func TestQueriesAreReads(t *testing.T) {
	t.Parallel()
	e := &answers{}
	w := newWorld(t, func(_ *ghtest.Config, ac *ghapp.Config) { e.next, ac.Transport = ac.Transport, e })
	reviewed(t, w)
	for _, c := range []struct {
		name   string
		status int
		body   string
		times  int // that it is answered so
		kind   ghapp.Kind
		fails  string
	}{
		{"stumbles", 502, `<html>`, 2, 0, ""},
		{"is down", 502, `<html>`, 99, ghapp.Temporary, "502"},
		{"limit", 200, `{"errors":[{"type":"RATE_LIMITED","message":"API rate limit exceeded"}]}`, 1, ghapp.Temporary, "rate limit"},
		{"timeout", 200, `{"errors":[{"message":"Something went wrong while executing your query."}]}`, 1, ghapp.Temporary, "went wrong"},
		{"forbidden", 200, `{"data":{"repository":{"pullRequest":null}},"errors":[{"type":"FORBIDDEN","message":"Resource not accessible by integration"}]}`, 1, ghapp.Permanent, "not accessible"},
		{"gone", 200, `{"data":{"repository":null},"errors":[{"type":"NOT_FOUND","message":"Could not resolve"}]}`, 1, ghapp.Permanent, "Could not resolve"},
		{"no JSON", 200, `{"data":`, 99, ghapp.Temporary, "cannot be read"},
		{"nothing", 200, `{}`, 99, ghapp.Temporary, "lacks data"},
		{"other shape", 200, `{"data":{"repository":{"pullRequest":{"reviewThreads":[]}}}}`, 99, ghapp.Temporary, "lacks data.repository.pullRequest.reviewThreads"},
		{"once", 200, `null`, 1, 0, ""},
	} {
		e.status, e.body, e.left = c.status, c.body, c.times
		_, err := reads.ReviewThreads(t.Context(), w.client, w.pull, 5)
		switch {
		case c.fails == "" && err != nil:
			t.Errorf("%s: %v", c.name, err)
		case c.fails != "" && (err == nil || !strings.Contains(err.Error(), c.fails) || ghapp.KindOf(err) != c.kind):
			t.Errorf("%s: %v of kind %v, want %q of kind %v", c.name, err, ghapp.KindOf(err), c.fails, c.kind)
		}
	}
}

// answers answers queries in place of GitHub, some times.
type answers struct {
	next   http.RoundTripper
	status int
	body   string
	left   int
}

func (a *answers) RoundTrip(r *http.Request) (*http.Response, error) {
	if !strings.HasSuffix(r.URL.Path, "/graphql") || a.left == 0 {
		return a.next.RoundTrip(r)
	}
	a.left--
	return &http.Response{StatusCode: a.status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(a.body)), Request: r}, nil
}

// elsewhere answers a request for a log with an address.
type elsewhere struct {
	next http.RoundTripper
	to   string
	seen []*http.Request
}

func (e *elsewhere) RoundTrip(r *http.Request) (*http.Response, error) {
	e.seen = append(e.seen, r)
	if !strings.HasSuffix(r.URL.Path, "/logs") {
		return e.next.RoundTrip(r)
	}
	if e.to == "" {
		return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(strings.NewReader("at once\n")), Request: r}, nil
	}
	return &http.Response{StatusCode: http.StatusFound, Header: http.Header{"Location": {e.to}}, Body: http.NoBody, Request: r}, nil
}

// TestLogsElsewhere: a log is read where GitHub says that it is, but not inside of
// a network, not in the open, and nobody but GitHub gets the token.
func TestLogsElsewhere(t *testing.T) {
	t.Parallel()
	e := &elsewhere{}
	w := newWorld(t, func(_ *ghtest.Config, ac *ghapp.Config) { e.next, ac.Transport = ac.Transport, e })
	if log, err := reads.JobLog(t.Context(), w.client, 5, reads.Tail{MaxBytes: 100}); err != nil || log.Text != "at once\n" {
		t.Errorf("a log without a redirect: %+v, %v", log, err)
	}
	public := &elsewhere{to: ""}
	ghapp.SetOutside(w.app, public)
	e.to = "https://logs.example.com/1/logs?sig=s3cret"
	log, err := reads.JobLog(t.Context(), w.client, 5, reads.Tail{MaxBytes: 100})
	if err != nil || log.Text != "at once\n" || len(public.seen) != 1 || public.seen[0].URL.String() != e.to {
		t.Errorf("a log at a public address: %+v, %v", log, err)
	}
	for _, r := range public.seen {
		if r.Header.Get("Authorization") != "" || r.Header.Get("Referer") != "" || r.Header.Get("Cookie") != "" {
			t.Errorf("who keeps the log got %v", r.Header)
		}
	}
	ghapp.SetOutside(w.app, ghapp.Outside())
	for to, want := range map[string]string{
		"https://127.0.0.1:443/log?sig=s3cret":      "no answer",
		"https://[::1]/log?sig=s3cret":              "no answer",
		"https://169.254.169.254/latest?sig=s3cret": "no answer",
		"http://logs.example.com/log?sig=s3cret":    "not an https one",
		"https://u:p@logs.example.com/?sig=s3cret":  "not an https one",
		"file:///etc/passwd?sig=s3cret":             "not an https one",
	} {
		e.to, e.seen = to, nil
		_, err := reads.JobLog(context.Background(), w.client, 5, reads.Tail{MaxBytes: 100})
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: %v, want %q and nothing of the signature", to, err, want)
		}
		for _, r := range e.seen {
			if r.Header.Get("Authorization") != "" && r.URL.Host != strings.TrimPrefix(w.gh.URL(), "http://") {
				t.Errorf("%s: %s got a token", to, r.URL.Host)
			}
		}
	}
}

// widened takes the condition on the repository out of every search.
type widened struct{ next http.RoundTripper }

func (d widened) RoundTrip(r *http.Request) (*http.Response, error) {
	c := r.Clone(r.Context())
	c.URL.RawQuery = strings.ReplaceAll(c.URL.RawQuery, "repo%3Aacme%2Fwidget", "")
	return d.next.RoundTrip(c)
}

// TestSearchIssues: a search finds issues by one of the words, none of a pull request and
// none of another repository, whatever the words are and the server does. It is within
// GitHub's limits, and one too many within a minute is an outage with its time.
func TestSearchIssues(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	w := newWorld(t, func(_ *ghtest.Config, c *ghapp.Config) { c.Transport = widened{c.Transport} })
	_, err := w.gh.AddRepo("acme", "other", ghtest.Source{})
	must(t, err)
	_, err = w.gh.OpenIssue("acme/other", "rae", "It breaks here", "")
	must(t, err)
	find := func(words ...string) (numbers []int) {
		t.Helper()
		list, err := w.client.SearchIssues(ctx, words)
		must(t, err)
		for _, is := range list {
			numbers = append(numbers, is.Ref.Number)
		}
		return numbers
	}
	own := []int{w.issue.Number}
	if got := find("nothing", "Breaks", "fix"); !slices.Equal(got, own) {
		t.Errorf("found %v, want %v", got, own)
	}
	if got := find("x)", "is:issue breaks", "OR", "not", ""); got != nil {
		t.Errorf("words that are none find %v", got)
	}
	long := strings.Repeat("breaks", 30)
	if got := find(long, "breaks", long, "b", "c", "d", "e", "f", "g", "h"); !slices.Equal(got, own) {
		t.Errorf("many long words find %v, want %v", got, own)
	}
	for range 30 {
		_, err = w.client.SearchIssues(ctx, []string{"breaks"})
	}
	var refused *ghapp.Error
	if !errors.As(err, &refused) || refused.Kind != ghapp.Temporary || refused.RetryAfter <= 0 || refused.RetryAfter > time.Minute {
		t.Errorf("beyond the limit of searches: %#v", err)
	}
	_, err = w.client.Issue(ctx, w.issue) // has a limit of its own
	must(t, err)
}
