package agent

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/handrail-bot/handrail/agent/llm"
	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/policy"
	"github.com/handrail-bot/handrail/policy/longtest"
)

// longLog is the log of a session of so many turns, each of which reads a
// file and writes one.
func longLog(turns int) []session.Event {
	var events []*session.Event
	add := func(kind session.Type, turn int, payload any) {
		events = append(events, session.NewEvent(kind, turn, payload))
	}
	add(session.TypeOpened, 0, session.Opened{Task: session.Task{Session: "s1", Text: "fix it", Mode: "code", Base: "base"}})
	text := strings.Repeat("12 | some line of code that was read\n", 100)
	for n := 1; n <= turns; n++ {
		read := session.Call{ID: fmt.Sprintf("c%d-1", n), Name: "read_file", Arguments: json.RawMessage(fmt.Sprintf(`{"path":"f%d.go"}`, n))}
		write := session.Call{ID: fmt.Sprintf("c%d-2", n), Name: "write_file", Arguments: json.RawMessage(fmt.Sprintf(`{"path":"g%d.go","content":%q}`, n, text[:1000]))}
		add(session.TypeAnswer, n, session.Answer{Thinking: "I think.", Content: "I go on.", Calls: []session.Call{read, write}, PromptBytes: 50000, PromptTokens: 13000})
		for _, c := range []session.Call{read, write} {
			result := text
			if c.Name == "write_file" {
				result = "Created the file (+20 −0)."
			}
			add(session.TypeDecision, n, session.Decision{Call: c.ID, Verdict: policy.Allow, Digest: "d"})
			add(session.TypeStarted, n, session.Started{Call: c.ID, Title: "Working"})
			add(session.TypeResult, n, session.Result{Call: c.ID, OK: true, Content: result})
		}
		files := []session.FileChange{{Path: fmt.Sprintf("g%d.go", n), Kind: "create", Added: 20}}
		add(session.TypeCheckpoint, n, session.Checkpoint{Commit: fmt.Sprint("c", n), Files: files, Parked: true})
		add(session.TypeCheckpoint, n, session.Checkpoint{Commit: fmt.Sprint("p", n), Files: files})
	}
	session.Chain(0, "", events)
	out := make([]session.Event, len(events))
	for i, e := range events {
		out[i] = *e
	}
	return out
}

func replay(events []session.Event) (int, error) {
	s := newHistory(func(name string) bool { return name == "edit_file" })
	for _, e := range events {
		if err := s.apply(e); err != nil {
			return 0, err
		}
	}
	return len(s.talk.messages(llm.FormNative)), nil
}

func BenchmarkReplay200Turns(b *testing.B) {
	events := longLog(200)
	for b.Loop() {
		if _, err := replay(events); err != nil {
			b.Fatal(err)
		}
	}
}

// Resuming a session replays its log; a person must not wait for that.
func TestReplayIsFast(t *testing.T) {
	longtest.Leave(t)
	events := longLog(200)
	n, err := replay(events)
	if err != nil || n != 1+200*3 {
		t.Fatalf("%d messages, %v", n, err)
	}
	cost := func(events []session.Event) float64 {
		return testing.AllocsPerRun(5, func() {
			if _, err := replay(events); err != nil {
				t.Fatal(err)
			}
		})
	}
	// BenchmarkReplay200Turns has the time; here the work must not grow faster
	// than the log.
	half, whole := cost(longLog(100)), cost(events)
	if whole > 3*half || whole > 40_000 {
		t.Errorf("replaying 200 turns allocates %.0f times, 100 turns %.0f times", whole, half)
	}
}

// BenchmarkTurn is what a turn costs besides the model: request, answer, gate,
// tool, save, publish. The scripted model answers at once.
func BenchmarkTurn(b *testing.B) {
	const turns = 40
	script := "model: {name: m, tools: true}\nturns:\n"
	for n := range turns {
		script += fmt.Sprintf("- calls: [{name: write_file, arguments: {path: f%d.txt, content: \"x\\n\"}}]\n", n)
	}
	script += "- say: \"Done. [TASK_COMPLETE]\"\n"
	var spent time.Duration
	rounds := 0
	for b.Loop() {
		w := newBench(b, script, map[string]string{"a.txt": ""})
		w.cfg.Limits.Turns = turns + 2
		start := time.Now()
		w.must(session.StatusDone)
		spent += time.Since(start)
		rounds++
	}
	b.ReportMetric(float64(spent.Microseconds())/float64(rounds*(turns+1)), "µs/turn")
}
