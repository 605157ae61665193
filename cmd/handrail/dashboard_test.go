package main

import (
	"context"
	"html"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/handrail-bot/handrail/agent/llm/llmcheck"
	"github.com/handrail-bot/handrail/agent/llm/llmtest"
	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot/ghapp/ghtest"
	"github.com/handrail-bot/handrail/bot/store"
	"github.com/handrail-bot/handrail/cmd/config"
	"github.com/handrail-bot/handrail/policy/longtest"
)

// withDashboard gives a story's server a dashboard with a login.
func (s *story) withDashboard() {
	s.t.Helper()
	at := steadyAddress(s.t)
	s.cfg.Dashboard = config.Dashboard{Listen: at, URL: "http://" + at, ClientID: s.gh.App().ClientID, Secret: "the client's secret"}
	s.restart(nil)
}

// browser is a browser at a story's dashboard.
type browser struct {
	t    *testing.T
	at   string
	http *http.Client
}

// browse logs an account in.
func (s *story) browse(login string) *browser {
	s.t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		s.t.Fatal(err)
	}
	b := &browser{t: s.t, at: s.cfg.Dashboard.URL, http: &http.Client{Jar: jar, CheckRedirect: func(r *http.Request, _ []*http.Request) error {
		if q := r.URL.Query(); strings.HasSuffix(r.URL.Path, "/authorize") { // who is at the browser
			q.Set("login", login)
			r.URL.RawQuery = q.Encode()
		}
		return nil
	}}}
	b.get("/login")
	return b
}

func (b *browser) do(method, path string, form url.Values) (int, string) {
	b.t.Helper()
	req, err := http.NewRequestWithContext(b.t.Context(), method, b.at+path, strings.NewReader(form.Encode()))
	if err != nil {
		b.t.Fatal(err)
	}
	if form != nil {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		req.Header.Set("Sec-Fetch-Site", "same-origin")
	}
	resp, err := b.http.Do(req)
	if err != nil {
		b.t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

func (b *browser) get(path string) string {
	b.t.Helper()
	_, body := b.do(http.MethodGet, path, nil)
	return body
}

// until reads a page until it has all words, and returns it: a request is in its thread before the
// session waits.
func (b *browser) until(path string, words ...string) (page string) {
	b.t.Helper()
	ctx, stop := context.WithTimeout(b.t.Context(), patience/5)
	defer stop()
	if err := waitFor(ctx, func() bool {
		page = b.get(path)
		return containsAllOf(html.UnescapeString(page), words)
	}); err != nil {
		b.t.Fatalf("%s lacks %q: %v\n%s", path, words, err, page)
	}
	return page
}

// TestDashboardActs: a button of the dashboard is the command of a comment, with its
// right, and the thread hears of it; who may not write has no say.
func TestDashboardActs(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	s := newStory(t, greeting, `
- calls: [{name: run_terminal_command, arguments: {command: rm -rf build}}]
- calls: [{name: run_terminal_command, arguments: {command: rm -rf rest}}]
- {say: "Done so far. [TASK_COMPLETE]", repeat: true}`)
	s.withDashboard()
	s.say("you", "/agent clean the build")
	id := regexp.MustCompile("Approval `([a-z0-9]{8})`").FindStringSubmatch(s.until("Approval `", "rm -rf build"))[1]
	you, stranger := s.browse("you"), s.browse("stranger")
	page := you.until("/approvals", `value="approve `+id+`"`, "rm -rf build")
	link := regexp.MustCompile(`href="(/s/[a-z0-9]+)"`).FindStringSubmatch(page)
	if link == nil {
		t.Fatalf("the request has no session: %s", page)
	}
	if body := stranger.get("/approvals"); strings.Contains(body, "rm -rf build") {
		t.Error("a reader is offered the request")
	}
	form := url.Values{"do": {"approve " + id}, "nonce": {"n1"}}
	if status, _ := stranger.do(http.MethodPost, link[1]+"/command", form); status != http.StatusForbidden {
		t.Errorf("a reader's approval: %d", status)
	}
	if status, _ := you.do(http.MethodPost, link[1]+"/command", form); status != http.StatusOK {
		t.Fatalf("approve: %d", status)
	}
	s.until("`" + id + "`: approved by you in the dashboard.")
	second := regexp.MustCompile("Approval `([a-z0-9]{8})`").FindStringSubmatch(s.until("Approval `", "rm -rf rest"))[1]
	if body := s.gh.Thread(s.issue); strings.Contains(strings.Join(bodies(body.Comments), "\n"), "approved by stranger") {
		t.Error("a reader's approval counted")
	}
	you.do(http.MethodPost, link[1]+"/command", url.Values{"do": {"deny " + second}, "text": {"we need the rest"}})
	s.until("`" + second + "`: denied by you in the dashboard.")
	s.until("**done**", "Done so far")
	for _, text := range []string{"Done so far", "rm -rf build", "we need the rest"} {
		if !strings.Contains(you.get(link[1]), text) {
			t.Errorf("the story lacks %q", text)
		}
	}
	you.do(http.MethodPost, link[1]+"/command", url.Values{"text": {"/agent status"}})
	s.until("you wrote in the dashboard", "agent status")
	s.stop()
	s.look(func(st store.Store) {
		row, err := st.Sessions.ByThread(t.Context(), s.issue.Key())
		if err != nil {
			t.Fatal(err)
		}
		events, err := st.Logs.Log(store.Fence{Key: row.ID}).Events(t.Context(), 0)
		if err != nil {
			t.Fatal(err)
		}
		var keys []string
		for _, e := range events {
			if e.Type == session.TypeResolved {
				r, err := session.Decode[session.Resolved](e)
				if err != nil || r.By != "you" || r.ByID == 0 {
					t.Errorf("resolved %+v: %v", r, err)
				}
				keys = append(keys, r.Key)
			}
		}
		if len(keys) != 2 || !strings.HasPrefix(keys[0], "dashboard:") {
			t.Errorf("sources of the answers: %q", keys)
		}
	})
}

func bodies(list []ghtest.Comment) (out []string) {
	for _, c := range list {
		out = append(out, c.Body)
	}
	return out
}

// TestRunWatch: the page of a local session shows it while it runs, and its buttons answer
// requests, and end a running command without the session.
func TestRunWatch(t *testing.T) {
	script, err := llmtest.ParseScript([]byte(`model: {name: m, tools: true, context: 32768}
turns:
- calls: [{name: run_terminal_command, arguments: {command: rm -rf build}}]
- calls: [{name: run_terminal_command, arguments: {command: 'echo begun; exec sleep 600'}}]
- when: {tool_result_contains: the user ended this call}
  calls: [{name: run_terminal_command, arguments: {command: rm -rf rest}}]
- {say: "Cleaned. [TASK_COMPLETE]", repeat: true}`))
	must(t, err)
	model := llmcheck.Serve(t, script)
	repo := t.TempDir()
	for _, dir := range []string{"build", "rest"} {
		must(t, os.MkdirAll(filepath.Join(repo, dir), 0o755))
		must(t, os.WriteFile(filepath.Join(repo, dir, "out"), []byte("1\n"), 0o600))
	}
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"add", "-A"}, {"-c", "user.name=T", "-c", "user.email=t@example.invalid", "commit", "-qm", "start"}} {
		out, err := exec.CommandContext(t.Context(), "git", append([]string{"-C", repo}, args...)...).CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	t.Setenv("OLLAMA_HOST", model.URL())
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	out := &syncBuffer{}
	ctx, stop := context.WithTimeout(t.Context(), patience)
	defer stop()
	code := make(chan int, 1)
	go func() {
		code <- execute(ctx, []string{"run", "--watch", "--repo", repo, "--workspace", "local", "--model", "m", "--task", "clean the build"}, &console{
			in: strings.NewReader(""), out: out, err: out, log: logger(out, "warn"), version: "test",
		})
	}()
	address := regexp.MustCompile(`http://127\.0\.0\.1:\d+/open\?code=\w+`)
	wait := func(what string, ok func() bool) {
		t.Helper()
		for !ok() {
			select {
			case <-ctx.Done():
				t.Fatalf("%s: %s", what, out)
			case <-time.After(20 * time.Millisecond):
			}
		}
	}
	wait("no address", func() bool { return address.MatchString(out.String()) })
	jar, err := cookiejar.New(nil)
	must(t, err)
	open := address.FindString(out.String())
	at, path, _ := strings.Cut(open, "/open")
	b := &browser{t: t, at: at, http: &http.Client{Jar: jar}}
	b.get("/open" + path)
	ask := regexp.MustCompile(`action="(/s/[a-z0-9]+/command)"[^§]*?value="approve ([a-z0-9]{8})"`)
	var page string
	wait("no request on the page", func() bool { page = b.get("/approvals"); return ask.MatchString(page) })
	m := ask.FindStringSubmatch(page)
	b.do(http.MethodPost, m[1], url.Values{"do": {"approve " + m[2]}})
	wait("the command goes on", func() bool {
		b.do(http.MethodPost, m[1], url.Values{"do": {"skip"}})
		page = b.get("/approvals")
		return ask.MatchString(page) && strings.Contains(page, "rest")
	})
	b.do(http.MethodPost, m[1], url.Values{"do": {"approve " + ask.FindStringSubmatch(page)[2]}})
	if got := <-code; got != 0 {
		t.Errorf("exit code %d:\n%s", got, out)
	}
	if !strings.Contains(out.String(), "Cleaned") {
		t.Errorf("the run:\n%s", out)
	}
}
