package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/handrail-bot/handrail/agent/session"
)

// faultTime is the default limit for one fault.
const faultTime = 15 * time.Minute

var successFlags = struct {
	model, workspace, only *string
	real                   *bool
	tasks, seed, rate      *int
	wall                   *time.Duration
}{
	real:      flag.Bool("success.real", false, "ask a real model server"),
	model:     flag.String("success.model", "", "model that mends the faults, as its server names it"),
	workspace: flag.String("success.workspace", "auto", "where its tools run"),
	only:      flag.String("success.only", "", "only faults whose name has this in it"),
	tasks:     flag.Int("success.tasks", 0, "how many faults; 0 for all"),
	seed:      flag.Int("success.seed", 1, "of the bad models"),
	rate:      flag.Int("success.rate", -1, "only bad models that spoil so many of 100 turns"),
	wall:      flag.Duration("success.wall", faultTime, "for one fault"),
}

// score is what one session came to.
type score struct {
	Solved    bool // it ended as done, and its tests pass on a clean copy
	FalseDone bool // it ended as done, and they do not
	Status    session.Status
	Reason    string
	Turns     int
	Prompt    int // tokens
	Answer    int
	Wall      time.Duration
	Prefill   time.Duration // until a server began to answer, or as it says
	Dropped   int           // calls that the server left out or could not read
	Repaired  int           // calls that were read although they were not well formed
	Refused   int           // words that the work is done, sent back
}

var contestServers = flag.String("contest.servers", "", "directory of the language servers that real models have, as lsp install --into makes it")

var keptAt = flag.String("contest.done", "", "file of results; a task that is in it is not done again")

// contest is how a session is run.
type contest struct {
	program   string
	model     string
	server    *url.URL
	openAI    bool // its API, instead of Ollama's
	workspace string
	form      string // of answering; as the program chooses if empty
	says      string // what the person says to every question; nothing if empty
	wall      time.Duration
}

// play lets a model mend a fault in a repository of its own, by the program as people
// run it.
func (c contest) play(t *testing.T, f exercise, l lib) score {
	t.Helper()
	planted, err := f.plant(l)
	must(t, err)
	dir := t.TempDir()
	repo := filepath.Join(dir, f.Name)
	for p, text := range planted {
		must(t, writeAt(repo, p, text))
	}
	inGit(t, repo, "init", "-q", "-b", "main")
	inGit(t, repo, "add", "-A", "-f")
	inGit(t, repo, "commit", "-q", "-m", "start")
	c.says = "I cannot say more. Decide for yourself.\n"
	s, _ := c.session(t, dir, repo, f.Issue)
	s.judge(t, f, l, repo)
	return s
}

// session has the program do what was asked for in a repository, on a branch called
// mended. Its state is kept in dir.
func (c contest) session(t *testing.T, dir, repo, request string) (score, *meter) {
	t.Helper()
	meter := &meter{}
	front := httptest.NewServer(meter.before(c.server))
	defer front.Close()
	ctx, cancel := context.WithTimeout(t.Context(), c.wall)
	defer cancel()
	state := filepath.Join(dir, "state")
	if *contestServers != "" {
		must(t, os.MkdirAll(filepath.Join(state, "handrail"), 0o755))
		must(t, os.Symlink(*contestServers, filepath.Join(state, "handrail", "lsp")))
	}
	args := []string{"run", "--repo", repo, "--workspace", c.workspace, "--branch", "mended", "--mode", "code", "--task", request}
	if c.form != "" {
		args = append(args, "--form", c.form)
	}
	cmd := exec.CommandContext(ctx, c.program, args...)
	cmd.Stdin = strings.NewReader(strings.Repeat(c.says, 20))
	cmd.Env = append(os.Environ(), "XDG_STATE_HOME="+state, "HANDRAIL_MODEL="+c.model,
		"OLLAMA_HOST="+front.URL, "HANDRAIL_BASE_URL=", "GOPROXY=off", "GOWORK=off")
	if c.openAI {
		cmd.Env = append(cmd.Env, "HANDRAIL_BASE_URL="+front.URL+c.server.Path)
	}
	cmd.Cancel, cmd.WaitDelay = func() error { return cmd.Process.Signal(os.Interrupt) }, 10*time.Second
	meter.begin = time.Now()
	said, err := cmd.CombinedOutput()
	s := score{Wall: time.Since(meter.begin)}
	var failed *exec.ExitError
	if err != nil && !errors.As(err, &failed) {
		t.Errorf("%s: %v", filepath.Base(repo), err)
	}
	s.read(t, filepath.Join(state, "handrail", "sessions"))
	if s.Status == "" {
		t.Logf("%s: no session ended:\n%s", filepath.Base(repo), tailOf(string(said), 3000))
	}
	front.Close()
	s.Prefill = meter.sum().Prefill
	return s, meter
}

func tailOf(text string, n int) string { return text[max(0, len(text)-n):] }

// judged is a verdict that passes when one of three does: a fault fails always, but a
// library's tests may fail now and then without one.
func (l *lib) judged(t *testing.T, left func(string) (string, bool)) (passed int, ok bool, said string) {
	t.Helper()
	for try := 0; try < 3 && !ok; try++ {
		var err error
		passed, ok, said, err = l.verdict(t.Context(), t.TempDir(), left)
		must(t, err)
	}
	return passed, ok, said
}

// judge runs the tests on what the session left.
func (s *score) judge(t *testing.T, f exercise, l lib, repo string) {
	t.Helper()
	if exec.CommandContext(t.Context(), "git", "-C", repo, "rev-parse", "-q", "--verify", "mended").Run() != nil {
		s.FalseDone = s.Status == session.StatusDone
		return
	}
	want, ok, said := l.judged(t, from(l.files))
	if !ok {
		t.Fatalf("%s: the tests fail without the fault:\n%s", f.Name, said)
	}
	got, ok, said := l.judged(t, func(p string) (string, bool) {
		out, err := exec.CommandContext(t.Context(), "git", "-C", repo, "show", "mended:"+p).Output()
		return string(out), err == nil
	})
	s.Solved = s.Status == session.StatusDone && ok && got >= want
	if s.FalseDone = s.Status == session.StatusDone && !s.Solved; s.FalseDone {
		t.Logf("%s: %d tests pass, %d should:\n%s", f.Name, got, want, said)
	}
}

// read takes from the session's log what happened.
func (s *score) read(t *testing.T, dir string) {
	t.Helper()
	logs, err := filepath.Glob(filepath.Join(dir, "*.jsonl"))
	must(t, err)
	for _, path := range logs {
		log, err := session.OpenFile(path)
		must(t, err)
		events, err := log.Events(t.Context(), 0)
		must(t, err)
		must(t, log.Close())
		for _, e := range events {
			must(t, s.event(e))
		}
	}
}

func (s *score) event(e session.Event) error {
	switch e.Type {
	case session.TypeAnswer:
		a, err := session.Decode[session.Answer](e)
		s.Turns++
		s.Prompt, s.Answer = s.Prompt+a.PromptTokens, s.Answer+a.AnswerTokens
		if a.Lost == session.LostCall || a.Lost == session.LostUnread {
			s.Dropped++
		}
		for _, c := range a.Calls {
			if c.Repaired {
				s.Repaired++
			}
		}
		return err
	case session.TypeNote:
		n, err := session.Decode[session.Note](e)
		if n.Kind == session.NoteRefused {
			s.Refused++
		}
		return err
	case session.TypeEnded:
		end, err := session.Decode[session.Ended](e)
		s.Status, s.Reason = end.Outcome.Status, end.Outcome.Reason
		return err
	}
	return nil
}

func inGit(t *testing.T, dir string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", append([]string{"-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "core.autocrlf=false", "-C", dir}, args...)...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
}

// meter stands before a model server and measures what it does.
type meter struct {
	begin time.Time // when the client was started

	mu  sync.Mutex
	all served
}

// served is the cost of all answers, as the server says or, if it does not, as it was seen.
type served struct {
	Asked          int
	Prompt, Answer int // tokens; a line of a stream counts as one if the server does not count
	Load           time.Duration
	Prefill        time.Duration
	Writing        time.Duration
	First          time.Duration // from the client's start until the first word of the first answer
}

func (m *meter) sum() served {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.all
}

func (m *meter) before(server *url.URL) http.Handler {
	to := *server
	to.Path = ""
	proxy := httputil.NewSingleHostReverseProxy(&to)
	proxy.FlushInterval = -1
	proxy.ErrorLog = nil
	proxy.ModifyResponse = func(r *http.Response) error {
		if p := r.Request.URL.Path; p == "/api/chat" || strings.HasSuffix(p, "/chat/completions") {
			r.Body = &timed{ReadCloser: r.Body, m: m, at: asked(r.Request.Context())}
		}
		return nil
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		proxy.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), askedKey{}, time.Now())))
	})
}

type askedKey struct{}

// asked is when a request came.
func asked(ctx context.Context) time.Time {
	at, _ := ctx.Value(askedKey{}).(time.Time)
	return at
}

// timed is an answer of which the wait for its first bytes is known, unless the server
// tells itself how long the prompt took.
type timed struct {
	io.ReadCloser
	m     *meter
	at    time.Time
	first time.Duration
	lines int
	last  []byte
}

func (b *timed) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if n > 0 && b.first == 0 {
		b.first = time.Since(b.at)
		b.m.mu.Lock()
		if b.m.all.First == 0 {
			b.m.all.First = time.Since(b.m.begin)
		}
		b.m.mu.Unlock()
	}
	b.lines += bytes.Count(p[:n], []byte("\n"))
	b.last = append(b.last, p[:n]...)
	if i := bytes.LastIndexByte(bytes.TrimSpace(b.last), '\n'); i >= 0 {
		b.last = b.last[i+1:]
	}
	return n, err
}

func (b *timed) Close() error {
	var end struct {
		Prompt  int           `json:"prompt_eval_count"`
		Answer  int           `json:"eval_count"`
		Load    time.Duration `json:"load_duration"`
		Prefill time.Duration `json:"prompt_eval_duration"`
		Writing time.Duration `json:"eval_duration"`
	}
	if json.Unmarshal(b.last, &end) != nil || end.Prefill == 0 {
		end.Prefill, end.Writing, end.Answer = b.first, time.Since(b.at)-b.first, b.lines
	}
	b.m.mu.Lock()
	defer b.m.mu.Unlock()
	a := &b.m.all
	a.Asked++
	a.Prompt, a.Answer = a.Prompt+end.Prompt, a.Answer+end.Answer
	a.Load, a.Prefill, a.Writing = a.Load+end.Load, a.Prefill+end.Prefill, a.Writing+end.Writing
	return b.ReadCloser.Close()
}

func (s score) String() string {
	return fmt.Sprintf("solved %-5t %-11s %2d turns, %6d+%d tokens, %5.1f s, prefill %.1f s, dropped %d, repaired %d, sent back %d, false done %t",
		s.Solved, s.Status, s.Turns, s.Prompt, s.Answer, s.Wall.Seconds(), s.Prefill.Seconds(), s.Dropped, s.Repaired, s.Refused, s.FalseDone)
}
