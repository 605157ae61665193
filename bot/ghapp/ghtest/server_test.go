package ghtest

import (
	"context"
	"log/slog"
	"testing"

	"github.com/google/go-github/v62/github"

	"github.com/handrail-bot/handrail/bot/thread"
)

const testRepo = "acme/widget"

// start serves a fake with one repository, a maintainer and a reader, and
// fails the test when the contract was violated.
func start(t *testing.T) *Server {
	t.Helper()
	return startWith(t, Config{Dir: t.TempDir(), Log: slog.New(slog.NewTextHandler(t.Output(), nil))})
}

func startWith(t *testing.T, cfg Config) *Server {
	t.Helper()
	s, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
		for _, v := range s.Violations() {
			t.Errorf("violation: %s", v)
		}
	})
	s.AddUser("kim", "write")
	s.AddUser("rae", "")
	if _, err := s.AddRepo("acme", "widget", Source{Files: map[string]string{"README.md": "hello\n", "src/a.go": "package a\n\nfunc A() {}\n"}}); err != nil {
		t.Fatal(err)
	}
	return s
}

// person returns a client that speaks with a user's own token.
func person(t *testing.T, s *Server, login string) *github.Client {
	t.Helper()
	tok, err := s.Token(login)
	if err != nil {
		t.Fatal(err)
	}
	return client(t, s, tok)
}

func TestComments(t *testing.T) {
	ctx := context.Background()
	s := start(t)
	ref, err := s.OpenIssue(testRepo, "rae", "It breaks", "when I press the button")
	if err != nil {
		t.Fatal(err)
	}
	if want := (thread.Ref{Owner: "acme", Repo: "widget", Number: 1}); ref != want {
		t.Fatalf("ref = %v, want %v", ref, want)
	}
	kim := person(t, s, "kim")
	cm, _, err := kim.Issues.CreateComment(ctx, "acme", "widget", 1, &github.IssueComment{Body: github.String("on it")})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := person(t, s, "rae").Issues.EditComment(ctx, "acme", "widget", cm.GetID(), &github.IssueComment{Body: github.String("mine now")}); err == nil {
		t.Error("a stranger edited another person's comment")
	}
	is, _, err := kim.Issues.Get(ctx, "acme", "widget", 1)
	if err != nil || is.GetComments() != 1 || is.GetUser().GetLogin() != "rae" {
		t.Errorf("issue = %v, %v", is, err)
	}
	if got := s.Thread(ref).Comments; len(got) != 1 || got[0].Body != "on it" || got[0].Author != "kim" {
		t.Errorf("comments = %+v", got)
	}
}
