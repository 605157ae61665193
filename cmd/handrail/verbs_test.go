package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/bot/store"
	"github.com/handrail-bot/handrail/bot/store/threadref"
	"github.com/handrail-bot/handrail/bot/sweep"
	"github.com/handrail-bot/handrail/policy/longtest"
)

// verb runs a command line in this process.
func verb(t *testing.T, stdin string, args ...string) (code int, out string) {
	t.Helper()
	var b bytes.Buffer
	code = execute(t.Context(), args, &console{in: strings.NewReader(stdin), out: &b, err: &b, version: "test"})
	return code, b.String()
}

// sampleLog is a short session as an exported file.
func sampleLog(t *testing.T) string {
	t.Helper()
	var m session.Memory
	task := session.Task{Session: "s1", Thread: "team/app#1", Text: "fix it", Mode: "code", Model: "m", Base: "b", Branch: "agent/1"}
	must(t, m.Append(t.Context(),
		session.NewEvent(session.TypeOpened, 0, session.Opened{Task: task}),
		session.NewEvent(session.TypeAnswer, 1, session.Answer{Content: "I will look. ##[group]"}),
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
	t.Parallel()
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
	if code != 0 || exported != string(want) { // byte for byte, or its chain would be broken
		t.Errorf("export ends with %d and is not what was imported:\n%s", code, exported)
	}
	other := filepath.Join(t.TempDir(), "b.db")
	if code, out := verb(t, exported, "sessions", "import", "--database", other); code != 0 {
		t.Errorf("import from standard input ends with %d: %s", code, out)
	}
	server := filepath.Join(t.TempDir(), "server.yml") // that lacks its secrets
	must(t, os.WriteFile(server, []byte("database: "+other+"\ngithub: {app_id: 1, private_key_file: nowhere.pem}\n"), 0o600))
	for _, args := range [][]string{
		{"sessions", "list", "--config", server}, {"sessions", "list", "--config", server, "--json"}, {"replay", "s1", "--config", server}, {"audit", "verify", "--config", server},
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

// TestExportInAWorkflow: what a runner would take for a command does not go to
// a step's output.
func TestExportInAWorkflow(t *testing.T) {
	t.Setenv("GITHUB_ACTIONS", "true")
	db, to := filepath.Join(t.TempDir(), "a.db"), filepath.Join(t.TempDir(), "out.log")
	file := sampleLog(t)
	if code, out := verb(t, "", "sessions", "import", file, "--database", db); code != 0 {
		t.Fatalf("import ends with %d: %s", code, out)
	}
	if code, out := verb(t, "", "sessions", "export", "s1", "--database", db); code != exitUsage || strings.Contains(out, "##[") || !strings.Contains(out, "--to") {
		t.Errorf("to standard output: %d: %s", code, out)
	}
	if code, out := verb(t, "", "sessions", "export", "s1", "--database", db, "--to", to); code != 0 {
		t.Errorf("to a file: %d: %s", code, out)
	}
}

// TestAuditFindsChanges changes logs in ways that a reader might not notice.
func TestAuditFindsChanges(t *testing.T) {
	t.Parallel()
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

// TestAuditOfGoldenLogs changes what earlier versions wrote: the line and the
// reason are told. As they are, they are well, and tell their story.
func TestAuditOfGoldenLogs(t *testing.T) {
	t.Parallel()
	goldens, err := filepath.Glob("../../bot/store/storetest/testdata/golden-*.jsonl")
	must(t, err)
	if len(goldens) == 0 {
		t.Fatal("no golden logs")
	}
	for _, golden := range goldens {
		text, err := os.ReadFile(golden)
		must(t, err)
		id, events, err := threadref.ReadText(text)
		must(t, err)
		if code, out := verb(t, "", "audit", "verify", golden); code != 0 || !strings.Contains(out, fmt.Sprintf("session %s, %d events: ok, no signature", id, len(events))) ||
			!strings.Contains(out, "it cannot be told whether its end is missing, or whether its whole chain was made anew") {
			t.Errorf("%s: audit ends with %d: %s", golden, code, out)
		}
		if code, out := verb(t, "", "replay", golden); code != 0 || !strings.Contains(out, "# Session "+id) || !strings.Contains(out, "**done**") {
			t.Errorf("%s: replay ends with %d: %s", golden, code, out)
		}
		lines := strings.SplitAfter(strings.TrimSuffix(string(text), "\n"), "\n")
		last := len(lines)
		edited := slices.Clone(lines)
		edited[5] = strings.Replace(edited[5], `"turn":`, `"turn":1`, 1)
		for name, test := range map[string]struct {
			lines []string
			want  string
		}{
			"edited":       {edited, "line 6: event 5: content was changed after it was written"},
			"left out":     {slices.Delete(slices.Clone(lines), 5, 6), "line 6: event 5: sequence is 6"},
			"twice":        {slices.Insert(slices.Clone(lines), 5, lines[5]), "line 7: event 6: sequence is 5"},
			"moved":        {slices.Concat(lines[:4], lines[5:6], lines[4:5], lines[6:]), "line 5: event 4: sequence is 5"},
			"cut":          {lines[:8], fmt.Sprintf("line %d: log is torn after 7 events", 9)},
			"the end gone": {lines[:last-1], fmt.Sprintf("line %d: log is torn after %d events", last, len(events))},
			"shorter":      {slices.Delete(slices.Clone(lines), last-2, last-1), fmt.Sprintf("line %d: %d events are there, %d were written", last-1, len(events)-1, len(events))},
			"garbled":      {slices.Concat(lines[:3], []string{"{]\n"}, lines[4:]), "line 4: "},
		} {
			path := filepath.Join(t.TempDir(), "log")
			must(t, os.WriteFile(path, []byte(strings.TrimSuffix(strings.Join(test.lines, ""), "\n")+"\n"), 0o600))
			if code, out := verb(t, "", "audit", "verify", path); code != 1 || !strings.Contains(out, "BROKEN") || !strings.Contains(out, test.want) {
				t.Errorf("%s, %s: ends with %d, want %q: %s", golden, name, code, test.want, out)
			}
			if code, out := verb(t, "", "replay", path); code != 1 || !strings.Contains(out, test.want) {
				t.Errorf("%s, %s: replay ends with %d, want %q: %s", golden, name, code, test.want, out)
			}
		}
	}
}

// TestSweep loses every tenth delivery and finds it again.
func TestSweep(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	s := newStory(t, map[string]string{"a.txt": "a\n"}, "- say: never asked\n  optional: true\n")
	s.stop()
	s.cfg.Quotas.Sender, s.cfg.Quotas.Thread = -1, -1
	s.start()
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
	sw := sweep.New(sweep.Config{GitHub: s.srv.app, Meta: s.srv.store.Meta, Hears: ghapp.Hears, Log: s.srv.log})
	w.every = 0
	asked, err := sw.Sweep(t.Context())
	must(t, err)
	if asked != int(w.missed()) {
		t.Errorf("asked for %d deliveries, %d were lost", asked, w.missed())
	}
	must(t, s.gh.Flush(t.Context()))
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	must(t, s.gh.Wait(ctx, func(*ghtestServer) bool { return s.bot() >= n }))
	if again, err := sw.Sweep(t.Context()); err != nil || again != 0 {
		t.Errorf("a second sweep asks for %d, %v", again, err)
	}
	s.stop()
	t.Logf("sweep: %d comments, %d of %d deliveries dropped, %d asked for again, %d answers: lost %d, twice %d",
		n, w.lost.Load(), w.n.Load(), asked, s.bot(), max(0, n-s.bot()), max(0, s.bot()-n))
	if s.bot() != n {
		t.Errorf("%d answers to %d questions", s.bot(), n)
	}
}
