package local

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/cmd/door"
)

// begin makes a session with one event, and leaves it open.
func begin(t *testing.T, id, text string) *logOf {
	t.Helper()
	l, err := openRuns(id)
	if err != nil {
		t.Fatal(err)
	}
	err = l.Append(t.Context(), session.NewEvent(session.TypeOpened, 0, session.Opened{Task: session.Task{Session: id, Text: text, Mode: "code", Model: "m"}}))
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// One process works on a session at a time. The others are told, and see where it stands.
func TestOneProcess(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	l := begin(t, "s1", "fix it")
	if again, err := openRuns("s1"); err == nil || !errors.As(err, new(door.UsageError)) || again != nil {
		t.Fatalf("a second process has it: %v", err)
	}
	r, err := Read("s1")
	if err != nil || !r.Running || r.Phase() != "running" {
		t.Fatalf("%+v, %v", r, err)
	}
	if err := DeleteRuns([]*StoredRun{r}, func() error { return nil }); err == nil {
		t.Error("it was deleted while it ran")
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if r, err = Read("s1"); err != nil || r.Running || r.Phase() != "interrupted" {
		t.Errorf("%+v, %v", r, err)
	}
	if l, err = openRuns("s1"); err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if err := DeleteRuns([]*StoredRun{r}, func() error { return nil }); err != nil {
		t.Fatal(err)
	}
	if _, err := Read("s1"); err == nil || Has("s1") {
		t.Error("it is still there")
	}
}

// The list has the sessions that were worked on last first, names what it cannot read,
// and shows no control character of a task.
func TestList(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	if list, err := List(0); err != nil || len(list) != 0 {
		t.Fatalf("%v, %v", list, err)
	}
	for _, s := range [][2]string{{"s1", "one"}, {"s2", "two\x1b[2J\nand more"}, {"s3", strings.Repeat("x", 100)}} {
		if err := begin(t, s[0], s[1]).Close(); err != nil {
			t.Fatal(err)
		}
	}
	empty, err := openRuns("s4")
	if err != nil {
		t.Fatal(err)
	}
	if err := empty.Close(); err != nil {
		t.Fatal(err)
	}
	list, err := List(2)
	if err != nil || len(list) != 2 {
		t.Fatalf("%v, %v", list, err)
	}
	words := strings.Join(Words("session"), "|")
	for _, want := range []string{"s1\tone", `s2` + "\t" + `two\u001b[2J`, "s3\txxx"} {
		if !strings.Contains(words, want) {
			t.Errorf("no %q in %q", want, words)
		}
	}
	if strings.Contains(words, "s4") || strings.Contains(words, "\x1b") || Words("file") != nil || len(Words("mode")) == 0 {
		t.Errorf("words are %q", words)
	}
	dir, err := Dir()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(dir+"/s1.jsonl", []byte("{]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if list, err := List(0); err == nil || !strings.Contains(err.Error(), "s1.jsonl") || len(list) != 2 {
		t.Errorf("%v, %v", list, err)
	}
	for _, id := range []string{"../s2", "", "S2", "s2/"} {
		if _, err := Read(id); !errors.As(err, new(door.UsageError)) || Has(id) {
			t.Errorf("%q is read: %v", id, err)
		}
	}
	if _, err := Read("s22"); err == nil || !strings.Contains(err.Error(), "did you mean s2") {
		t.Errorf("%v", err)
	}
}

// TestDeletesAllOrNone: of several sessions none goes if one runs, or if what must go first
// does not.
func TestDeletesAllOrNone(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	if err := begin(t, "s1", "fix it").Close(); err != nil {
		t.Fatal(err)
	}
	l := begin(t, "s2", "fix that")
	var list []*StoredRun
	for _, id := range []string{"s1", "s2"} {
		r, err := Read(id)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, r)
	}
	asked := 0
	first := func() error { asked++; return errors.New("no") }
	if err := DeleteRuns(list, first); err == nil || asked > 0 || !Has("s1") {
		t.Errorf("one runs: %v, asked %d times", err, asked)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if err := DeleteRuns(list, first); err == nil || asked != 1 || !Has("s1") || !Has("s2") {
		t.Errorf("the first step fails: %v, asked %d times", err, asked)
	}
	if err := DeleteRuns(list, func() error { return nil }); err != nil || Has("s1") || Has("s2") {
		t.Errorf("both: %v", err)
	}
}
