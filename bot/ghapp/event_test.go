package ghapp

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-github/v62/github"

	"github.com/handrail-bot/handrail/bot/thread"
	"github.com/handrail-bot/handrail/policy/longtest"
)

const examples = "../../testdata/webhook"

// TestParseOfficialExamples reads every example that GitHub documents, and
// compares what was read with go-github's own reading where that works.
func TestParseOfficialExamples(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	files, err := filepath.Glob(filepath.Join(examples, "*", "*.json"))
	if err != nil || len(files) < 120 {
		t.Fatalf("found %d examples, %v", len(files), err)
	}
	for _, f := range files {
		kind := filepath.Base(filepath.Dir(f))
		t.Run(kind+"/"+filepath.Base(f), func(t *testing.T) {
			payload, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			e, err := ParseEvent(kind, payload)
			if err != nil {
				t.Fatal(err)
			}
			if kind == "pull_request_review_thread" {
				if e.Kind != "" {
					t.Errorf("kind = %q for an event the bot does not use", e.Kind)
				}
				return
			}
			if e.Kind != kind {
				t.Errorf("kind = %q, want %q", e.Kind, kind)
			}
			if parsed, err := github.ParseWebHook(kind, payload); err == nil {
				compare(t, e, parsed)
			}
		})
	}
}

// TestMoves: events that say where something went are read.
func TestMoves(t *testing.T) {
	t.Parallel()
	for file, want := range map[string]string{
		"repository/renamed.json": "Octocoders/Hello-World", "repository/transferred.json": "octocat/Hello-World", "issues/21-transferred.json": "Codertocat/Hello-World#1",
	} {
		payload, err := os.ReadFile(filepath.Join(examples, file))
		if err != nil {
			t.Fatal(err)
		}
		e, err := ParseEvent(filepath.Dir(file), payload)
		if err != nil {
			t.Fatal(err)
		}
		got := e.From.Repository()
		if e.To.Number != 0 {
			got = e.To.String()
		}
		if got != want {
			t.Errorf("%s: %s, want %s", file, got, want)
		}
	}
	for _, bad := range []string{`{"action":"renamed","repository":{"full_name":"a/b"}}`, `{"action":"transferred","repository":{"full_name":"a/b"},"changes":{"owner":{"from":{}}}}`} {
		if _, err := ParseEvent("repository", []byte(bad)); err == nil {
			t.Errorf("%s is read", bad)
		}
	}
}

// facts is what both readings have.
type facts struct {
	Action, Repo, Sender, Title, Body, Comment, Review, Head, Check string
	Number                                                          int
	Installation, CommentID                                         int64
}

func compare(t *testing.T, e Event, parsed any) {
	t.Helper()
	b, err := json.Marshal(parsed)
	if err != nil {
		t.Fatal(err)
	}
	var m struct {
		Action     string
		Repository struct {
			FullName string `json:"full_name"`
		}
		Sender       struct{ Login string }
		Installation struct{ ID int64 }
		Issue        *struct {
			Number      int
			Title, Body string
		}
		PullRequest *struct {
			Number      int
			Title, Body string
			Head        struct{ SHA string }
		} `json:"pull_request"`
		Comment struct {
			ID   int64
			Body string
		}
		Review   struct{ Body string }
		CheckRun struct{ Name string } `json:"check_run"`
	}
	if err := json.Unmarshal(b, &m); err != nil {
		t.Fatalf("go-github's own reading cannot be compared: %v", err)
	}
	want := facts{Action: m.Action, Repo: m.Repository.FullName, Sender: m.Sender.Login, Installation: m.Installation.ID,
		Comment: m.Comment.Body, CommentID: m.Comment.ID, Review: m.Review.Body, Check: m.CheckRun.Name}
	if m.Issue != nil {
		want.Number, want.Title, want.Body = m.Issue.Number, m.Issue.Title, m.Issue.Body
	}
	if p := m.PullRequest; p != nil {
		want.Number, want.Title, want.Body, want.Head = p.Number, p.Title, p.Body, p.Head.SHA
	}
	got := facts{Action: e.Action, Repo: e.Thread.Repository(), Sender: e.Sender.Login, Title: e.Title, Body: e.Body,
		Comment: e.Comment.Body, Review: e.Review.Body, Head: e.Pull.HeadSHA, Number: e.Thread.Number,
		Installation: e.Installation, CommentID: e.Comment.ID}
	if e.Kind == "check_run" {
		got.Check = e.Check.Name
	}
	got.Repo = strings.TrimPrefix(got.Repo, "/")
	if e.Kind == "repository_dispatch" || e.Kind == "push" || e.Kind == "workflow_run" {
		want.Action, got.Action = "", ""
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("reading differs from go-github's (-theirs +ours):\n%s", diff)
	}
}

func TestParseEvent(t *testing.T) {
	t.Parallel()
	const repo = `"repository":{"full_name":"acme/widget","id":5}`
	tests := []struct {
		name, event, payload string
		want                 Event
		err                  string
	}{
		{name: "unknown", event: "star", payload: `{"x":1}`},
		{name: "unknown and broken", event: "star", payload: `{`},
		{name: "broken", event: "issues", payload: `{"action":`, err: "read issues event"},
		{name: "not an object", event: "issues", payload: `[1]`, err: "read issues event"},
		{name: "path for a name", event: "issues", payload: `{"repository":{"full_name":"../etc"}}`, err: "owner"},
		{name: "option for a name", event: "push", payload: `{"repository":{"full_name":"--upload-pack=x/y"}}`, err: "owner"},
		{name: "odd time", event: "issue_comment", payload: `{"action":"created",` + repo + `,"issue":{"number":3},"comment":{"id":7,"updated_at":"20/11/2026"}}`,
			want: Event{Kind: "issue_comment", Action: "created", EventRepo: EventRepo{RepoID: 5}, Thread: thread.Ref{Owner: "acme", Repo: "widget", Number: 3}, Comment: EventComment{ID: 7}}},
		{name: "comment on a pull request", event: "issue_comment", payload: `{` + repo + `,"issue":{"number":3,"pull_request":{"url":"u"}},"comment":{"id":7}}`,
			want: Event{Kind: "issue_comment", EventRepo: EventRepo{RepoID: 5}, EventPost: EventPost{IsPull: true}, Thread: thread.Ref{Owner: "acme", Repo: "widget", Number: 3}, Comment: EventComment{ID: 7}}},
		{name: "head repository deleted is a fork", event: "pull_request", payload: `{` + repo + `,"pull_request":{"number":4,"head":{"ref":"x","sha":"aa","repo":null},"base":{"ref":"main","repo":{"id":5}}}}`,
			want: Event{Kind: "pull_request", EventRepo: EventRepo{RepoID: 5}, EventPost: EventPost{IsPull: true}, Thread: thread.Ref{Owner: "acme", Repo: "widget", Number: 4},
				Pull: EventPull{Head: "x", HeadSHA: "aa", Base: "main", Fork: true}}},
		{name: "written through an app", event: "issue_comment", payload: `{` + repo + `,"issue":{"number":3},"comment":{"id":7,"performed_via_github_app":{"id":77}}}`,
			want: Event{Kind: "issue_comment", EventRepo: EventRepo{RepoID: 5}, EventPost: EventPost{AppID: 77}, Thread: thread.Ref{Owner: "acme", Repo: "widget", Number: 3}, Comment: EventComment{ID: 7}}},
		{name: "uninstalled", event: "installation", payload: `{"action":"deleted","installation":{"id":9},"repositories":[{"full_name":"acme/widget"}]}`,
			want: Event{Kind: "installation", Action: "deleted", Installation: 9, Removed: []thread.Ref{{Owner: "acme", Repo: "widget"}}}},
		{name: "schedule", event: "schedule", payload: `{"schedule":"0 3 * * *",` + repo + `}`,
			want: Event{Kind: "schedule", EventRepo: EventRepo{RepoID: 5}, EventTrigger: EventTrigger{Schedule: "0 3 * * *"}, Thread: thread.Ref{Owner: "acme", Repo: "widget"}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := ParseEvent(tt.event, []byte(tt.payload))
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) {
					t.Fatalf("err = %v, want one with %q", err, tt.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("event (-want +got):\n%s", diff)
			}
		})
	}
}

func FuzzParseEvent(f *testing.F) {
	f.Add("issue_comment", []byte(`{"action":"created","issue":{"number":3,"labels":[{"name":"x"}]},"comment":{"id":7}}`))
	f.Add("pull_request", []byte(`{"pull_request":{"number":1,"head":{"repo":null}}}`))
	f.Add("check_run", []byte(`{"check_run":{"check_suite":null,"pull_requests":[{"number":1}]}}`))
	f.Fuzz(func(t *testing.T, event string, payload []byte) {
		e, err := ParseEvent(event, payload)
		if err != nil && e.Kind != "" {
			t.Error("an error came with an event")
		}
		if e.Thread.Owner != "" && thread.ValidateRepository(e.Thread.Owner, e.Thread.Repo) != nil {
			t.Errorf("an unsafe name passed: %q", e.Thread)
		}
	})
}
