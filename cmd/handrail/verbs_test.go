package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot/store"
)

// verb runs a command line in this process.
func verb(t *testing.T, stdin string, args ...string) (code int, out string) {
	t.Helper()
	var b bytes.Buffer
	code = execute(t.Context(), args, &world{in: strings.NewReader(stdin), out: &b, err: &b, version: "test"})
	return code, b.String()
}

// sampleLog is a short session as an exported file.
func sampleLog(t *testing.T) string {
	t.Helper()
	var m session.Memory
	task := session.Task{Session: "s1", Thread: "team/app#1", Text: "fix it", Mode: "code", Model: "m", Base: "b", Branch: "agent/1"}
	must(t, m.Append(t.Context(),
		session.NewEvent(session.TypeOpened, 0, session.Opened{Task: task}),
		session.NewEvent(session.TypeAnswer, 1, session.Answer{Content: "I will look."}),
		session.NewEvent(session.TypeEnded, 1, session.Ended{Outcome: session.Outcome{Status: session.StatusDone, Summary: "It is fixed."}}),
	))
	events, err := m.Events(t.Context(), 0)
	must(t, err)
	var b bytes.Buffer
	must(t, store.WriteLog(&b, "s1", events))
	path := filepath.Join(t.TempDir(), "s1.log")
	must(t, os.WriteFile(path, b.Bytes(), 0o600))
	return path
}

// TestSessionVerbs takes a log from a file into a database and back, and
// looks at it with every verb.
func TestSessionVerbs(t *testing.T) {
	file := sampleLog(t)
	db := filepath.Join(t.TempDir(), "a.db")
	if code, out := verb(t, "", "sessions", "import", file, "--database", db); code != 0 {
		t.Fatalf("import ends with %d: %s", code, out)
	}
	if code, out := verb(t, "", "sessions", "import", file, "--database", db); code != 1 || !strings.Contains(out, "already") {
		t.Errorf("a second import ends with %d: %s", code, out)
	}
	code, exported := verb(t, "", "sessions", "export", "s1", "--database", db)
	want, err := os.ReadFile(file)
	must(t, err)
	if code != 0 || exported != string(want) {
		t.Errorf("export ends with %d and is not what was imported:\n%s", code, exported)
	}
	other := filepath.Join(t.TempDir(), "b.db")
	if code, out := verb(t, exported, "sessions", "import", "--database", other); code != 0 {
		t.Errorf("import from standard input ends with %d: %s", code, out)
	}
	for _, args := range [][]string{
		{"replay", file}, {"replay", "s1", "--database", other},
		{"sessions", "list", "--database", other}, {"audit", "verify", "--database", other}, {"audit", "verify", file},
	} {
		if code, out := verb(t, "", args...); code != 0 || !strings.Contains(out, "s1") {
			t.Errorf("%v ends with %d: %s", args, code, out)
		}
	}
	if _, out := verb(t, "", "replay", file); !strings.Contains(out, "It is fixed.") || !strings.Contains(out, "I will look.") {
		t.Errorf("the story lacks what was said:\n%s", out)
	}
	if _, out := verb(t, "", "replay", file, "--upto", "2"); strings.Contains(out, "It is fixed.") {
		t.Errorf("the story goes on after event 2:\n%s", out)
	}
	if _, out := verb(t, "", "replay", file, "--json"); strings.Count(out, "\n") != 3 {
		t.Errorf("not three events:\n%s", out)
	}
	for _, args := range [][]string{{"replay", "s2", "--database", other}, {"audit", "verify", "--database", filepath.Join(t.TempDir(), "none.db")}} {
		if code, out := verb(t, "", args...); code != exitUsage {
			t.Errorf("%v ends with %d: %s", args, code, out)
		}
	}
}

// TestAuditFindsChanges changes logs in ways that a reader might not notice.
func TestAuditFindsChanges(t *testing.T) {
	file := sampleLog(t)
	text, err := os.ReadFile(file)
	must(t, err)
	lines := strings.SplitAfter(string(text), "\n")
	for name, changed := range map[string]string{
		"a word":        strings.Replace(string(text), "I will look.", "I will  not.", 1),
		"a line less":   lines[0] + lines[1] + lines[3] + lines[4],
		"the end less":  strings.Join(lines[:3], ""),
		"order":         lines[0] + lines[2] + lines[1] + lines[3] + lines[4],
		"half an event": string(text[:len(text)/2]),
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "log")
			must(t, os.WriteFile(path, []byte(changed), 0o600))
			if code, out := verb(t, "", "audit", "verify", path); code != 1 || !strings.Contains(out, "BROKEN") {
				t.Errorf("it ends with %d: %s", code, out)
			}
		})
	}
	t.Run("in the database", func(t *testing.T) {
		db := filepath.Join(t.TempDir(), "a.db")
		if code, out := verb(t, "", "sessions", "import", file, "--database", db); code != 0 {
			t.Fatalf("import ends with %d: %s", code, out)
		}
		data, err := os.ReadFile(db)
		must(t, err)
		if !bytes.Contains(data, []byte("I will look.")) {
			t.Fatal("the event is not where the test would change it")
		}
		must(t, os.WriteFile(db, bytes.ReplaceAll(data, []byte("I will look."), []byte("I will  not.")), 0o600))
		if code, out := verb(t, "", "audit", "verify", "--database", db); code != 1 || !strings.Contains(out, "s1: BROKEN: event 2") {
			t.Errorf("it ends with %d: %s", code, out)
		}
	})
}

// TestSweep loses every tenth delivery and finds it again.
func TestSweep(t *testing.T) {
	s := newStory(t, map[string]string{"a.txt": "a\n"}, "- say: never asked\n  optional: true\n")
	w := &lossy{next: s.srv.url(), every: 10}
	url := w.start(t)
	s.gh.SetWebhook(url + "/webhook")
	const n = 50
	for range n {
		s.say("you", "/agent help")
	}
	must(t, s.gh.Flush(t.Context()))
	if w.lost.Load() < n/10 {
		t.Fatalf("only %d deliveries were lost", w.lost.Load())
	}
	sw := &sweeper{app: s.srv.app, meta: s.srv.store.Meta, every: sweepEvery, log: s.srv.log}
	w.every = 0
	asked, err := sw.sweep(t.Context())
	must(t, err)
	if asked != int(w.missed()) {
		t.Errorf("asked for %d deliveries, %d were lost", asked, w.missed())
	}
	must(t, s.gh.Flush(t.Context()))
	ctx, cancel := context.WithTimeout(t.Context(), storyTime)
	defer cancel()
	must(t, s.gh.Wait(ctx, func(*ghtestServer) bool { return s.bot() >= n }))
	if again, err := sw.sweep(t.Context()); err != nil || again != 0 {
		t.Errorf("a second sweep asks for %d, %v", again, err)
	}
	s.stop()
	if s.bot() != n {
		t.Errorf("%d answers to %d questions", s.bot(), n)
	}
}
