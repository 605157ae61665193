package render

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/policy/untrusted"
)

var update = flag.Bool("update", false, "write the golden files")

// A sub-task that waits with the session is one step, which did not fail, and is told once.
func TestSubTaskStep(t *testing.T) {
	t.Parallel()
	v := session.NewState()
	began := session.Started{Call: "c1", Title: "new_task"}
	for _, tt := range []struct {
		e    *session.Event
		want string
	}{
		{session.NewEvent(session.TypeAnswer, 1, session.Answer{Calls: []session.Call{{ID: "c1", Name: "new_task"}}}), ""},
		{session.NewEvent(session.TypeStarted, 1, began), "- Work on a sub-task …"},
		{session.NewEvent(session.TypeEnded, 1, session.Ended{Outcome: session.Outcome{Status: session.StatusAwaitingApproval}}), "- Work on a sub-task …"},
		{session.NewEvent(session.TypeStarted, 1, began), "- Work on a sub-task …"},
		{session.NewEvent(session.TypeResult, 1, session.Result{Call: "c1", OK: true, Title: "Sub-task, 2 turns: look"}), "- Sub-task, 2 turns: look"},
	} {
		if err := v.Apply(*tt.e); err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, f := range Progress(v, Links{}).Folds {
			got = f.Text
		}
		if got != tt.want {
			t.Errorf("after %s: %q, want %q", tt.e.Type, got, tt.want)
		}
	}
}

// posted returns a post as it is sent.
func posted(p untrusted.Post) string {
	return untrusted.OutputOptions{Repo: "o/r", Home: "https://github.example/o/r"}.Post(p)
}

// updates is the command that accepts changed texts.
const updates = "go test ./bot/render -update"

// golden compares got with testdata/name.md.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name+".md")
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v\nto write it: %s", err, updates)
	}
	if d := cmp.Diff(string(want), got); d != "" {
		t.Errorf("%s (-want +got):\n%s\nif the change is right: %s\nthen look for the old words in testdata/script and in the tests of bot", path, d, updates)
	}
}

// story is a log with everything in it that people see.
func story(t *testing.T) *session.State {
	t.Helper()
	change := []session.FileChange{{Path: "a.go", Kind: "modify", Added: 3, Removed: 1}}
	v := session.NewState()
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for i, e := range []*session.Event{
		session.NewEvent(session.TypeOpened, 0, session.Opened{Task: session.Task{Session: "s1", Text: "fix it", Mode: "debug", Model: "m:7b", Branch: "agent/1-fix"}}),
		session.NewEvent(session.TypeAnswer, 1, session.Answer{Thinking: "hm", ThinkingMillis: 7900, Content: "I will look.\n@everyone /agent stop"}),
		session.NewEvent(session.TypeState, 1, session.Update{Todo: []session.Todo{{Text: "look", Status: "done"}, {Text: "mend", Status: "doing"}}}),
		session.NewEvent(session.TypeStarted, 1, session.Started{Call: "c1-1", Title: "Reading a.go"}),
		session.NewEvent(session.TypeResult, 1, session.Result{Call: "c1-1", OK: true, Title: "Read a.go"}),
		session.NewEvent(session.TypeStarted, 2, session.Started{Call: "c2-1", Title: "Writing a.go"}),
		session.NewEvent(session.TypeResult, 2, session.Result{Call: "c2-1", OK: true, Title: "Edited a.go", Changes: change}),
		session.NewEvent(session.TypeCheckpoint, 2, session.Checkpoint{Commit: "1234567890", Files: change}),
		session.NewEvent(session.TypeStarted, 3, session.Started{Call: "c3-1", Title: "Running go test"}),
		session.NewEvent(session.TypeResult, 3, session.Result{Call: "c3-1", Title: "Ran go test (exit code 1)"}),
		session.NewEvent(session.TypeAsked, 4, session.Asked{ID: "ab12cd", Call: "c4-1", Kind: "approval", Tool: "run_terminal_command", Display: "rm -rf build"}),
		session.NewEvent(session.TypeEnded, 4, session.Ended{Outcome: session.Outcome{Status: session.StatusAwaitingApproval, Turns: 4}}),
	} {
		e.Seq, e.Time = int64(i+1), at.Add(time.Duration(i)*time.Second)
		if err := v.Apply(*e); err != nil {
			t.Fatal(err)
		}
	}
	return v
}

func links() Links {
	return Links{Commit: func(sha string) string { return "https://github.example/o/r/commit/" + sha }, Pull: 7}
}

func TestProgress(t *testing.T) {
	v := story(t)
	golden(t, "progress_waiting", posted(Progress(v, links())))
	for _, e := range []*session.Event{
		session.NewEvent(session.TypeResolved, 4, session.Resolved{ID: "ab12cd", Verdict: "denied", By: "someone", Reason: "no"}),
		session.NewEvent(session.TypeEnded, 5, session.Ended{Outcome: session.Outcome{Status: session.StatusDone, Summary: "Mended `a.go`.\n\n<img src=x onerror=y> ![x](https://evil.example/a.png) cc @team"}}),
	} {
		if err := v.Apply(*e); err != nil {
			t.Fatal(err)
		}
	}
	golden(t, "progress_done", posted(Progress(v, links())))
	golden(t, "pull_body", PullBody(v, "someone", Origin{Number: 12}))
	golden(t, "ending", Ending(v, "https://github.example/o/r/issues/1#issuecomment-1", 7))
}

func TestStateWords(t *testing.T) {
	for status, want := range map[session.Status]string{
		session.StatusDone: "done", session.StatusNoChanges: "no changes", session.StatusOutOfBudget: "out of budget",
		session.StatusAwaitingAnswer: "awaiting answer", session.StatusStopped: "stopped", session.StatusFailed: "failed",
	} {
		v := session.NewState()
		if err := v.Apply(*session.NewEvent(session.TypeEnded, 1, session.Ended{Outcome: session.Outcome{Status: status}})); err != nil {
			t.Fatal(err)
		}
		if got := Progress(v, Links{}).Text; !strings.Contains(got, "**"+want+"**") {
			t.Errorf("%s is shown as\n%s", status, got)
		}
	}
}

// Every word for where a session stands is known here.
func TestEveryPhase(t *testing.T) {
	for _, p := range session.Phases() {
		if icons[p] == "" || next(&session.State{Phase: p}) == "" || Conclusion(p) == "" {
			t.Errorf("%s: icon %q, next %q, conclusion %q", p, icons[p], next(&session.State{Phase: p}), Conclusion(p))
		}
	}
}

// What a person approves is shown whole, in a block that it cannot close, and
// with what is invisible made visible.
func TestApproval(t *testing.T) {
	a := session.Asked{
		ID: "ab12cd", Kind: "approval", Tool: "run_terminal_command", Severity: "high", Digest: strings.Repeat("0a", 32),
		Display:  "echo '````\n# looks harmless' \u202e; rm -rf build\x1b[2K",
		Reasons:  []string{"deletes a directory", "hides text \u200b"},
		Deadline: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
	}
	got := Approval(a, "someone")
	golden(t, "approval_command", got)
	for _, hidden := range []string{"\u202e", "\x1b", "\u200b"} {
		if strings.Contains(got, hidden) {
			t.Errorf("the request holds %q itself", hidden)
		}
	}
	a.Tool, a.Paths, a.Display = "write_file", []string{".env", "a`b"}, "--- a/.env\n+++ b/.env\n@@ -1 +1 @@\n-A=1\n+A=2\n"
	golden(t, "approval_edit", Approval(a, ""))
	golden(t, "question", Approval(session.Asked{ID: "q1", Kind: "question", Display: "Which one?", Choices: []string{"left", "right"}}, ""))
}

func TestTooLongToShow(t *testing.T) {
	short := session.Asked{ID: "a", Display: strings.Repeat("x", 1000)}
	long := session.Asked{ID: "a", Display: strings.Repeat("x\n", 40000)}
	if TooLongToShow(short) || !TooLongToShow(long) {
		t.Errorf("too long: short %t, long %t", TooLongToShow(short), TooLongToShow(long))
	}
}

// No comment outgrows what GitHub takes, however long the session was, and
// what is left out is said.
func TestLimits(t *testing.T) {
	v := story(t)
	for i := range 5000 {
		title := fmt.Sprintf("Reading a file with a rather long name number %d", i)
		if err := v.Apply(*session.NewEvent(session.TypeStarted, 9, session.Started{Call: fmt.Sprint("x", i), Title: title})); err != nil {
			t.Fatal(err)
		}
		v.Files = append(v.Files, session.FileChange{Path: fmt.Sprintf("dir/%d.go", i), Kind: "create"})
	}
	v.Outcome = &session.Outcome{Summary: strings.Repeat("A long summary. ", 10000) + "```\ncode"}
	for name, text := range map[string]string{"progress": posted(Progress(v, links())), "pull": PullBody(v, "x", Origin{Number: 1})} {
		if n := utf8.RuneCountInString(text); n > maxBody {
			t.Errorf("%s has %d characters, more than %d", name, n, maxBody)
		}
		if !strings.Contains(text, "more") && !strings.Contains(text, "earlier") || !strings.Contains(text, "long") {
			t.Errorf("%s does not say what is left out:\n%.300s", name, text)
		}
	}
}

func TestPullTitle(t *testing.T) {
	for in, want := range map[string]string{
		"fix the build":             "Fix the build",
		"":                          "Changes by Handrail",
		"first\nsecond":             "First …",
		strings.Repeat("long ", 40): "Long " + strings.Repeat("long ", 13) + "l…",
	} {
		if got := PullTitle(in); got != want {
			t.Errorf("PullTitle(%.20q) = %q, want %q", in, got, want)
		}
	}
}

// Nothing runs in a session that is over: the tool at which it was stopped is
// shown as one that came to nothing.
func TestStoppedStep(t *testing.T) {
	t.Parallel()
	v := session.NewState()
	for _, e := range []*session.Event{
		session.NewEvent(session.TypeOpened, 0, session.Opened{}),
		session.NewEvent(session.TypeStarted, 1, session.Started{Call: "c1", Title: "sleep 600"}),
	} {
		if err := v.Apply(*e); err != nil {
			t.Fatal(err)
		}
	}
	shown := func() string { return Progress(v, Links{}).Folds[0].Text }
	if got := shown(); got != "- `sleep 600` …" {
		t.Errorf("while it runs: %q", got)
	}
	for _, end := range []struct {
		status session.Status
		want   string
	}{{session.StatusInterrupted, "- `sleep 600` …"}, {session.StatusStopped, "- `sleep 600` ✗"}} {
		if err := v.Apply(*session.NewEvent(session.TypeEnded, 1, session.Ended{Outcome: session.Outcome{Status: end.status}})); err != nil {
			t.Fatal(err)
		}
		if got := shown(); got != end.want {
			t.Errorf("%s: %q, want %q", end.status, got, end.want)
		}
	}
}
