package ghapp_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"log/slog"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/bot/ghapp/ghtest"
	"github.com/handrail-bot/handrail/bot/ghapp/ghtest/ghcheck"
	"github.com/handrail-bot/handrail/bot/thread"
)

const repo = "acme/widget"

// world is a fake GitHub with one repository, and the bot's client for it.
type world struct {
	gh     *ghcheck.Server
	app    *ghapp.App
	client *ghapp.Client
	inst   int64
	issue  thread.Ref
	pull   thread.Ref
	logs   *logBuffer
	rt     *http.Transport
}

// logBuffer keeps what was logged, for the search for secrets.
type logBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func newWorld(t *testing.T, change ...func(*ghtest.Config, *ghapp.Config)) *world {
	t.Helper()
	w := &world{logs: &logBuffer{}, rt: &http.Transport{}}
	log := slog.New(slog.NewTextHandler(w.logs, &slog.HandlerOptions{Level: slog.LevelDebug}))
	gc := ghtest.Config{Dir: t.TempDir(), Log: log}
	ac := ghapp.Config{Log: log, Spacing: -1, Backoff: time.Millisecond, Transport: w.rt}
	for _, f := range change {
		f(&gc, &ac)
	}
	var err error
	w.gh, err = ghcheck.New(gc)
	must(t, err)
	must(t, w.gh.Start())
	t.Cleanup(func() {
		w.rt.CloseIdleConnections()
		if err := w.gh.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
		for _, v := range w.gh.Violations() {
			t.Errorf("violation: %s", v)
		}
		if t.Failed() {
			t.Logf("log:\n%s", w.logs)
		}
	})
	w.gh.AddUser("kim", "write")
	w.gh.AddUser("max", "maintain")
	w.gh.AddUser("rae", "")
	w.inst, err = w.gh.AddRepo("acme", "widget", ghtest.Source{Files: map[string]string{
		"README.md": "hello\n", "src/a.go": "package a\n\nfunc A() int { return 1 }\n", ".github/agent.yml": "mode: code\n"}})
	must(t, err)
	w.issue, err = w.gh.OpenIssue(repo, "rae", "It breaks", "when I press the button")
	must(t, err)
	_, err = w.gh.Push(repo, "fix", "kim", map[string]string{"src/a.go": "package a\n\nfunc A() int { return 2 }\n"})
	must(t, err)
	w.pull, err = w.gh.OpenPull(repo, "kim", ghcheck.NewPull{Title: "Fix it", Head: "fix", Base: "main"})
	must(t, err)
	ac.APIURL = w.gh.URL() + "/api/v3/"
	if ac.Token == "" {
		ac.AppID, ac.PrivateKey = w.gh.App().ID, w.gh.App().Key
	}
	w.app, err = ghapp.New(ac)
	must(t, err)
	w.client, err = w.app.For(context.Background(), w.issue, w.inst)
	must(t, err)
	return w
}

func basic(user, password string) string {
	return base64.StdEncoding.EncodeToString([]byte(user + ":" + password))
}
