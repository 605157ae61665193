package session

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// logs are the logs of this package; each must do what the interface says.
func logs(t *testing.T) map[string]Log {
	f, err := OpenFile(filepath.Join(t.TempDir(), "log.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	})
	return map[string]Log{"memory": &Memory{}, "file": f}
}

func TestLogs(t *testing.T) {
	for name, l := range logs(t) {
		t.Run(name, func(t *testing.T) {
			ctx := t.Context()
			a := NewEvent(TypeOpened, 0, Opened{Task: Task{Session: "s1", Text: "do <it> & more"}})
			b := NewEvent(TypeNote, 1, Note{Text: "two"})
			c := NewEvent(TypeNote, 1, Note{Text: "three"})
			if err := l.Append(ctx, a); err != nil {
				t.Fatal(err)
			}
			if err := l.Append(ctx, b, c); err != nil {
				t.Fatal(err)
			}
			all, err := l.Events(ctx, 0)
			if err != nil {
				t.Fatal(err)
			}
			if err := Verify(all); err != nil {
				t.Errorf("Verify: %v", err)
			}
			if len(all) != 3 || all[2].Seq != 3 || c.Seq != 3 {
				t.Errorf("got %d events, last %d; want 3", len(all), all[len(all)-1].Seq)
			}
			tail, err := l.Events(ctx, 2)
			if err != nil || len(tail) != 1 {
				t.Errorf("Events(2) = %v, %v; want one event", tail, err)
			}
			p, err := Decode[Opened](all[0])
			if err != nil || p.Task.Text != "do <it> & more" {
				t.Errorf("Decode = %+v, %v", p, err)
			}
		})
	}
}

func TestVerifyNamesTheChangedEvent(t *testing.T) {
	var m Memory
	for range 4 {
		if err := m.Append(t.Context(), NewEvent(TypeNote, 0, Note{Text: "x"})); err != nil {
			t.Fatal(err)
		}
	}
	for name, change := range map[string]func(*Event){
		"content": func(e *Event) { e.Data = []byte(`{"text":"y"}`) },
		"time":    func(e *Event) { e.Time = e.Time.Add(1e6) },
		"type":    func(e *Event) { e.Type = TypeEnded },
		"turn":    func(e *Event) { e.Turn = 7 },
	} {
		events, _ := m.Events(t.Context(), 0)
		change(&events[2])
		if err := Verify(events); err == nil || !strings.Contains(err.Error(), "event 3") {
			t.Errorf("%s changed: Verify = %v, want event 3 to be named", name, err)
		}
	}
	events, _ := m.Events(t.Context(), 0)
	if err := Verify(append(events[:1:1], events[2:]...)); err == nil {
		t.Error("a removed event was not noticed")
	}
}

func TestFileSurvivesATornLine(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log.jsonl")
	l, err := OpenFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if err := l.Append(t.Context(), NewEvent(TypeNote, 0, Note{Text: strings.Repeat("long ", 20)})); err != nil {
			t.Fatal(err)
		}
	}
	want, _ := l.Events(t.Context(), 0)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for cut := range len(data) {
		if err := os.WriteFile(path, data[:cut], 0o600); err != nil {
			t.Fatal(err)
		}
		l, err := OpenFile(path)
		if err != nil {
			t.Fatalf("cut at %d: %v", cut, err)
		}
		whole := strings.Count(string(data[:cut]), "\n")
		if err := l.Append(t.Context(), NewEvent(TypeNote, 0, Note{Text: "next"})); err != nil {
			t.Fatal(err)
		}
		got, _ := l.Events(t.Context(), 0)
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want[:whole], got[:whole]); d != "" || len(got) != whole+1 {
			t.Fatalf("cut at %d: %d events, want %d\n%s", cut, len(got), whole+1, d)
		}
	}
}

// TestFileWaitsForTheDisk: all events but a model's answer are on the disk after Append.
func TestFileWaitsForTheDisk(t *testing.T) {
	l, err := OpenFile(filepath.Join(t.TempDir(), "log.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	var onDisk int64
	l.sync = func(f *os.File) error {
		info, err := f.Stat()
		onDisk = info.Size()
		return err
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	answer, call := NewEvent(TypeAnswer, 1, Answer{Content: "x"}), NewEvent(TypeDecision, 1, Decision{Call: "c1"})
	for _, step := range []struct {
		events []*Event
		wait   bool
	}{{[]*Event{answer}, false}, {[]*Event{call}, true}, {[]*Event{NewEvent(TypeAnswer, 2, Answer{}), NewEvent(TypeNote, 2, Note{})}, true}} {
		before := onDisk
		if err := l.Append(t.Context(), step.events...); err != nil {
			t.Fatal(err)
		}
		info, err := l.f.Stat()
		if err != nil {
			t.Fatal(err)
		}
		if want := info.Size(); step.wait && onDisk != want || !step.wait && onDisk != before {
			t.Errorf("%s: %d bytes are on the disk, of %d", step.events[0].Type, onDisk, want)
		}
	}
}

func TestNewID(t *testing.T) {
	seen := map[string]bool{}
	for range 1000 {
		id := NewID()
		if len(id) != 13 || id[0] != 's' || seen[id] {
			t.Fatalf("NewID() = %q", id)
		}
		seen[id] = true
	}
}
