package store_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot/store"
	"github.com/handrail-bot/handrail/bot/store/sqlite"
	"github.com/handrail-bot/handrail/bot/store/storetest"
)

const goldenLog = "storetest/testdata/golden-1.jsonl"

func golden(t testing.TB) ([]byte, []session.Event) {
	t.Helper()
	data, err := os.ReadFile(goldenLog)
	if err != nil {
		t.Fatal(err)
	}
	id, events, err := store.ReadLog(bytes.NewReader(data))
	if err != nil || id != "sgolden00001" || len(events) != 13 {
		t.Fatalf("golden log reads as %d events of %q: %v", len(events), id, err)
	}
	return data, events
}

// TestGolden reads what the payloads of an early log say.
func TestGolden(t *testing.T) {
	_, events := golden(t)
	opened, err := session.Decode[session.Opened](events[0])
	if err != nil {
		t.Fatal(err)
	}
	if opened.Task.Text != "Greet <everyone> & nobody \u2028 twice" || opened.Task.Images[0].Data[2] != 255 {
		t.Errorf("task is %+v", opened.Task)
	}
	ended, err := session.Decode[session.Ended](events[12])
	if err != nil {
		t.Fatal(err)
	}
	if ended.Outcome.Status != session.StatusDone || ended.Outcome.Files[0].Path != "greet.go" {
		t.Errorf("outcome is %+v", ended.Outcome)
	}
	if want := time.Date(2026, 1, 2, 3, 4, 7, 178901000, time.UTC); !events[0].Time.Equal(want) {
		t.Errorf("time is %v", events[0].Time)
	}
}

// TestTorn cuts a log at every byte: the whole events before are read.
func TestTorn(t *testing.T) {
	data, events := golden(t)
	for cut := range len(data) {
		id, got, err := store.ReadLog(bytes.NewReader(data[:cut]))
		if !errors.Is(err, store.ErrTorn) {
			t.Fatalf("cut at %d: error is %v", cut, err)
		}
		whole := max(bytes.Count(data[:cut], []byte("\n"))-1, 0)
		same := len(got) == whole && (whole == 0 || id == "sgolden00001" && got[whole-1].Hash == events[whole-1].Hash) // the chain was verified
		if !same {
			t.Fatalf("cut at %d: read %d events of %q, want %d", cut, len(got), id, whole)
		}
	}
}

// TestChanged changes every byte: no other log is read.
func TestChanged(t *testing.T) {
	data, events := golden(t)
	for i := range data {
		changed := bytes.Clone(data)
		changed[i] ^= 1
		id, got, err := store.ReadLog(bytes.NewReader(changed))
		if err == nil && (id != "sgolden00001" || !cmp.Equal(got, events)) {
			t.Errorf("byte %d changed: read another log without an error", i)
		}
		if err != nil && !errors.Is(err, store.ErrTorn) && got != nil {
			t.Errorf("byte %d changed: %d events besides the error %v", i, len(got), err)
		}
	}
	lines := strings.SplitAfter(string(data), "\n")
	for name, log := range map[string]string{
		"a line missing":   strings.Join(append(append([]string{}, lines[:5]...), lines[6:]...), ""),
		"lines exchanged":  lines[0] + lines[2] + lines[1] + strings.Join(lines[3:], ""),
		"a line twice":     strings.Join(lines[:3], "") + lines[2] + strings.Join(lines[3:], ""),
		"the last missing": strings.Join(lines[:13], "") + lines[14],
		"something after":  string(data) + lines[1],
		"newer form":       strings.Replace(string(data), `"form":1`, `"form":2`, 1),
		"no header":        strings.Join(lines[1:], ""),
		"not a log":        "hello\nworld\n",
	} {
		if _, got, err := store.ReadLog(strings.NewReader(log)); err == nil || errors.Is(err, store.ErrTorn) || got != nil {
			t.Errorf("%s: read %d events, error %v", name, len(got), err)
		}
	}
}

// TestBinary carries payloads that are not UTF-8 through the text form.
func TestBinary(t *testing.T) {
	var m session.Memory
	for _, data := range []string{"{\"text\":\"\xff\"}", "", "null", `{"a":  1}`} {
		if err := m.Append(t.Context(), &session.Event{Time: time.Now(), Type: session.TypeNote, V: 1, Data: []byte(data)}); err != nil {
			t.Fatal(err)
		}
	}
	events, err := m.Events(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := store.WriteLog(&out, "s1", events); err != nil {
		t.Fatal(err)
	}
	_, got, err := store.ReadLog(&out)
	if err != nil {
		t.Fatal(err)
	}
	for i := range events {
		if !bytes.Equal(got[i].Data, events[i].Data) {
			t.Errorf("payload %q came back as %q", events[i].Data, got[i].Data)
		}
	}
}

// forger is a store whose logs were changed behind its back.
type forger struct {
	store.Logs

	change func([]session.Event) []session.Event
}

func (f forger) Log(fence store.Fence) session.Log { return forged{f.Logs.Log(fence), f.change} }

type forged struct {
	session.Log

	change func([]session.Event) []session.Event
}

func (f forged) Events(ctx context.Context, after int64) ([]session.Event, error) {
	events, err := f.Log.Events(ctx, after)
	return f.change(events), err
}

func TestVerify(t *testing.T) {
	db, err := sqlite.Open(t.Context(), sqlite.Config{Path: filepath.Join(t.TempDir(), "bot.db")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	data, _ := golden(t)
	if _, err := storetest.Import(t.Context(), bytes.NewReader(data), db.Logs); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		change func([]session.Event) []session.Event
		bad    bool
	}{
		"as it is": {func(e []session.Event) []session.Event { return e }, false},
		"payload":  {func(e []session.Event) []session.Event { e[3].Data = []byte("{}"); return e }, true},
		"time":     {func(e []session.Event) []session.Event { e[3].Time = e[3].Time.Add(time.Microsecond); return e }, true},
		"cut":      {func(e []session.Event) []session.Event { return e[:12] }, true},
		"gone":     {func([]session.Event) []session.Event { return nil }, true},
		"rechained": {func(e []session.Event) []session.Event {
			e[12].Data = []byte("{}")
			session.Chain(12, e[11].Hash, []*session.Event{&e[12]})
			return e
		}, true},
	} {
		var reports []error
		n, err := store.Verify(t.Context(), forger{db.Logs, test.change}, func(_ store.Head, _ []session.Event, err error) { reports = append(reports, err) })
		if err != nil || n != 1 || len(reports) != 1 || (reports[0] != nil) != test.bad {
			t.Errorf("%s: checked %d, error %v, reports %v", name, n, err, reports)
		}
	}
}

func FuzzReadLog(f *testing.F) {
	data, _ := golden(f)
	f.Add(data)
	f.Add(data[:2000])
	f.Add([]byte(`{"handrail":"session log","form":1,"session":"s1"}` + "\n" + `{"session":"s1","seq":0,"hash":""}` + "\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		id, got, err := store.ReadLog(bytes.NewReader(data))
		if err != nil && !errors.Is(err, store.ErrTorn) {
			if got != nil {
				t.Errorf("events besides the error %v", err)
			}
			return
		}
		if err := session.Verify(got); err != nil {
			t.Errorf("read %d events that are no chain: %v", len(got), err)
		}
		if err == nil && id == "" {
			t.Error("read a log of no session")
		}
	})
}
