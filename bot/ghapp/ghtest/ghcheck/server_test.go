package ghcheck

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-github/v62/github"

	"github.com/handrail-bot/handrail/bot/ghapp/ghtest"
	"github.com/handrail-bot/handrail/bot/thread"
)

const testRepo = "acme/widget"

// start serves a fake with one repository, a maintainer and a reader, and
// fails the test when the contract was violated.
func start(t *testing.T) *Server {
	t.Helper()
	return startWith(t, ghtest.Config{Dir: t.TempDir(), Log: slog.New(slog.NewTextHandler(t.Output(), nil))})
}

func startWith(t *testing.T, cfg ghtest.Config) *Server {
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
	if _, err := s.AddRepo("acme", "widget", ghtest.Source{Files: map[string]string{"README.md": "hello\n", "src/a.go": "package a\n\nfunc A() {}\n"}}); err != nil {
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
	t.Parallel()
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

// serve runs srv on loopback for the length of the test.
func serve(t *testing.T, srv *http.Server) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- srv.Serve(ln) }()
	t.Cleanup(func() {
		if err := srv.Close(); err != nil {
			t.Error(err)
		}
		if err := <-done; !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
	})
	return "http://" + ln.Addr().String()
}

func TestPages(t *testing.T) {
	t.Parallel()
	s := start(t)
	ref, err := s.OpenIssue(testRepo, "rae", "<script>x</script>", "body")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Comment(ref, "kim", "a comment"); err != nil {
		t.Fatal(err)
	}
	get := func(path string) (int, string) {
		req, err := http.NewRequestWithContext(t.Context(), "GET", s.URL()+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Accept", "text/html")
		resp, err := http.DefaultTransport.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		b, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode, string(b)
	}
	code, text := get("/acme/widget/issues/1")
	if code != 200 || !strings.Contains(text, "a comment") || strings.Contains(text, "<script>") {
		t.Errorf("%d: %s", code, text)
	}
	if code, _ := get("/acme/widget/issues/2"); code != 404 {
		t.Errorf("a page that is not there: %d", code)
	}
}

// Who waits may look at anything. If looking woke those who wait, one would wake oneself
// again and again.
func TestLookingWakesNobody(t *testing.T) {
	t.Parallel()
	s := start(t)
	over, end := context.WithCancel(t.Context())
	end()
	asked := 0
	for range 30 { // what is ready at the same time is taken by chance
		err := s.Wait(over, func(*ghtest.Server) bool {
			asked++
			_, err := s.Dir(testRepo)
			return err != nil || s.Branch(testRepo, "main") == "" || len(s.Branches(testRepo)) == 0 || len(s.Checks(testRepo)) > 0 || len(s.Threads(testRepo)) > 0
		})
		if !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
	}
	if asked != 30 {
		t.Errorf("30 waits have asked %d times", asked)
	}
}
