package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/handrail-bot/handrail/agent/llm"
	"github.com/handrail-bot/handrail/agent/llm/llmtest"
	"github.com/handrail-bot/handrail/agent/llm/ollama"
	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/policy"
	"github.com/handrail-bot/handrail/policy/longtest"
)

// speaker answers a request: it says pieces until say reports that nobody listens.
type speaker func(say func(piece string) bool)

// pause lets time pass; in a bubble it is not real.
func pause(d time.Duration) { <-time.After(d) }

// wires is a listener whose connections are in memory, so that time in a bubble passes
// while both sides wait.
type wires chan net.Conn

func (w wires) Accept() (net.Conn, error) {
	c, open := <-w
	if !open {
		return nil, net.ErrClosed
	}
	return c, nil
}

func (w wires) Close() error   { close(w); return nil }
func (w wires) Addr() net.Addr { return &net.UnixAddr{Name: "memory", Net: "unix"} }

func (w wires) dial(context.Context, string, string) (net.Conn, error) {
	here, there := net.Pipe()
	w <- there
	return here, nil
}

// bubbleBench is a bench in a bubble. Its model says what the speakers have it say, one
// request after the other, and then what is scripted.
func bubbleBench(t *testing.T, script string, speakers ...speaker) (*bench, *[]Live) {
	t.Helper()
	sc, err := llmtest.ParseScript([]byte(script))
	if err != nil {
		t.Fatal(err)
	}
	scripted, err := llmtest.New(sc)
	if err != nil {
		t.Fatal(err)
	}
	rest := scripted.Handler()
	var speaking sync.WaitGroup
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/api/chat" || len(speakers) == 0 {
			rest.ServeHTTP(w, r)
			return
		}
		speak := speakers[0]
		speakers = speakers[1:]
		speaking.Add(1)
		defer speaking.Done()
		_, _ = io.Copy(io.Discard, r.Body) // or the server does not see that the client leaves
		speak(func(piece string) bool {
			_, _ = io.WriteString(w, piece+"\n")
			return http.NewResponseController(w).Flush() == nil && r.Context().Err() == nil
		})
	})}
	w, served := make(wires), make(chan error)
	go func() { served <- server.Serve(w) }()
	client := &http.Client{Transport: &http.Transport{DialContext: w.dial}}
	t.Cleanup(func() {
		client.CloseIdleConnections()
		_ = server.Close()
		speaking.Wait()
		<-served
		if err := scripted.Err(); err != nil {
			t.Error(err)
		}
	})
	rules, err := policy.New(policy.DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	m, err := ollama.New(ollama.Config{URL: &url.URL{Scheme: "http", Host: "model"}, HTTP: client, Model: "m"})
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{"a.txt": "one\n"}
	b := &bench{t: t, model: scripted, log: &session.Memory{}, files: files, states: &states{trees: map[string]map[string]string{"base": files}},
		task: session.Task{Session: "s1", Text: "fix a.txt", Mode: "code", Base: "base", Branch: "agent/1"}}
	var shown []Live
	b.cfg = Config{Model: m, Policy: rules, Checkpoints: b.states, Form: llm.FormText, Retry: llm.Retry{Base: time.Millisecond}, Server: "127.0.0.1:11434",
		OnLive: func(l Live) { shown = append(shown, l) }}
	return b, &shown
}

// wired is a line of an answer in the wire of Ollama.
func wired(field, text string) string {
	line, _ := json.Marshal(map[string]any{"message": map[string]string{"role": "assistant", field: text}, "done": false})
	return string(line)
}

// forEver says a beginning and then one piece again and again, as good as for ever.
func forEver(field, begin string, piece func(n int) string) speaker {
	return func(say func(string) bool) {
		for n := 0; n < 20_000 && say(wired(field, begin)); n++ {
			begin = piece(n)
		}
	}
}

func again(piece string) func(int) string { return func(int) string { return piece } }

// fine is what a model does that was told: it writes the file, and ends.
const fine = `model: {name: m, thinking: true, context: 32768}
turns:
- {when: {last_contains: "%s"}, calls: [{name: write_file, arguments: {path: a.txt, content: "fine\n"}}], print: true}
- {say: "It is fine now. [TASK_COMPLETE]"}
`

// However an answer goes round in circles, it is stopped within 200 tokens after the third
// time, and the calls and files before that count.
func TestStreamsInCircles(t *testing.T) {
	const (
		read = `<tool_call>{"name": "read_file", "arguments": {"path": "a.txt"}}</tool_call>` + "\n"
		file = "a.txt\n```\none\ntwo\nthree and some more words, so that it is a file\n```\n\n"
	)
	for name, c := range map[string]struct {
		speaks     speaker
		calls      int
		said, lost string // what is kept at the beginning, and what is not there
		most       int    // bytes that are kept
	}{
		"content":            {forEver("content", "I look at it.\n", again("I will fix the bug now.\n")), 0, "I look at it.\nI will fix", "", 100},
		"counted":            {forEver("content", "I look at it.\n", func(n int) string { return fmt.Sprintf("%d. I will fix the bug in step %d now.\n", n, n) }), 0, "I look at it.", "step 9", 300},
		"thinking":           {forEver("thinking", "Let me see.\n", again("But wait, the sign is lost there. ")), 0, "", "", 100},
		"a fence":            {forEver("content", "The file:\n\na.txt\n```python\n", again("    return first + second\n")), 1, "The file:", "", 200},
		"a call":             {forEver("content", `<tool_call>{"name": "write_file", "arguments": {"path": "a.txt", "content": "`, again(`    return first + second\n`)), 1, "", "", 200},
		"after a call":       {forEver("content", "I read it.\n"+read, again("I will fix the bug now.\n")), 1, "I read it.", "", 200},
		"the same call":      {forEver("content", "I read it.\n", again(read)), 1, "I read it.", "", 200},
		"the same file":      {forEver("content", "Here it is.\n", again(file)), 1, "Here it is.\n" + strings.TrimSpace(file), "", 200},
		"the file reworded":  {forEver("content", "", func(n int) string { return fmt.Sprintf("Version %s:\n\n%s", strings.Repeat("x", n), file) }), 1, "Version", "xx", 260},
		"figures in a fence": {forEver("content", "a.txt\n```\n", again("0, 0, 1, ")), 1, "", "", 200},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b, _ := bubbleBench(t, fmt.Sprintf(fine, "again"), c.speaks)
				b.must(session.StatusDone)
				a := events[session.Answer](b, session.TypeAnswer)[0]
				text := a.Raw
				if text == "" {
					text = a.Content
				}
				if a.Lost != session.LostLoop || len(a.Calls) != c.calls || !strings.HasPrefix(text, c.said) || c.lost != "" && strings.Contains(text, c.lost) || len(text)+len(a.Thinking) > c.most {
					t.Errorf("lost %q, %d calls, kept %q %q", a.Lost, len(a.Calls), text, a.Thinking)
				}
				limit := 400
				if strings.Contains(name, "figures") {
					limit = 1000 // test data
				}
				if a.AnswerTokens > limit {
					t.Errorf("stopped after %d tokens", a.AnswerTokens)
				}
				for _, r := range b.results() {
					if strings.Contains(r, "first + second") {
						t.Errorf("half a call was run: %s", r)
					}
				}
			})
		})
	}
}

// answered is an answer that is well.
func answered(say func(string) bool) {
	say(wired("content", `<tool_call>{"name": "write_file", "arguments": {"path": "a.txt", "content": "fine\n"}}</tool_call>`))
	say(`{"message": {"content": ""}, "done": true, "done_reason": "stop", "prompt_eval_count": 900, "eval_count": 30}`)
}

// A server that says nothing is waited for, and people read so after 15 seconds, and again
// in intervals that grow: before the first word, and within an answer.
func TestSilenceIsTold(t *testing.T) {
	longtest.Leave(t)
	const reading, pausing = "it may be reading the prompt or serving another client", "it may be serving another client"
	line := func(took, why string) string {
		return "Waiting for the model server: no word for " + took + " (m at 127.0.0.1:11434; " + why + ")"
	}
	for name, c := range map[string]struct {
		speaks speaker
		want   []string
	}{
		"at once":    {answered, nil},
		"14 seconds": {func(say func(string) bool) { pause(14 * time.Second); answered(say) }, nil},
		"20 seconds": {func(say func(string) bool) { pause(20 * time.Second); answered(say) }, []string{line("15 s", reading)}},
		"five minutes": {func(say func(string) bool) { pause(5 * time.Minute); answered(say) },
			[]string{line("15 s", reading), line("30 s", reading), line("1 min", reading), line("2 min", reading), line("4 min", reading)}},
		"twice within": {func(say func(string) bool) {
			for _, word := range []string{"I ", "write ", "it. "} {
				say(wired("content", word))
				pause(16 * time.Second)
			}
			answered(say)
		}, []string{line("15 s", pausing), line("15 s", pausing), line("15 s", pausing)}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b, shown := bubbleBench(t, "model: {name: m, context: 32768}\nturns:\n- {say: \"It is fine now. [TASK_COMPLETE]\"}\n", c.speaks)
				b.must(session.StatusDone)
				var got []string
				for _, l := range *shown {
					if l.Silent > 0 && l.Stall != "" {
						got = append(got, l.Title)
					}
				}
				if diff := cmp.Diff(c.want, got); diff != "" {
					t.Error(diff)
				}
			})
		})
	}
}

// slowly says one token after the other, far apart.
func slowly(n int, every time.Duration) speaker {
	return func(say func(string) bool) {
		for i := range n {
			if !say(wired("content", fmt.Sprintf("word%d ", i))) {
				return
			}
			pause(every)
		}
		answered(say)
	}
}

// An answer may take three minutes from its first word on, or as long as the operator has
// it; what came of it counts, the model is told, and after three the session ends.
func TestAnswerTime(t *testing.T) {
	longtest.Leave(t)
	done := "model: {name: m, context: 32768}\nturns:\n- {say: \"It is fine now. [TASK_COMPLETE]\"}\n"
	for name, c := range map[string]struct {
		limit  time.Duration
		speaks speaker
		late   bool
		took   time.Duration
	}{
		"ten seconds a token":  {0, slowly(60, 10*time.Second), true, 3 * time.Minute},
		"silent in the middle": {0, slowly(60, 4*time.Minute), true, 3 * time.Minute},
		"late and quick":       {0, func(say func(string) bool) { pause(4 * time.Minute); answered(say) }, false, 4 * time.Minute},
		"as the operator says": {20 * time.Second, slowly(60, time.Second), true, 20 * time.Second},
		"no limit":             {-1, slowly(60, 10*time.Second), false, 10 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				script := done
				if c.late {
					script = fmt.Sprintf(fine, "took longer than it may")
				}
				b, _ := bubbleBench(t, script, c.speaks)
				b.cfg.AnswerTime = c.limit
				start := time.Now()
				b.must(session.StatusDone)
				a := events[session.Answer](b, session.TypeAnswer)[0]
				if late := a.Lost == session.LostTime; late != c.late || late && !strings.HasPrefix(a.Content, "word0") || time.Since(start) != c.took {
					t.Errorf("after %s: lost %q, said %q", time.Since(start), a.Lost, a.Content)
				}
			})
		})
	}
	synctest.Test(t, func(t *testing.T) {
		b, _ := bubbleBench(t, "model: {name: m, context: 32768}\nturns:\n- {say: never, optional: true}\n", slices.Repeat([]speaker{slowly(60, 10*time.Second)}, 3)...)
		if out := b.must(session.StatusFailed); !strings.Contains(out.Reason, "`model.answer_time`") || out.Turns != 3 {
			t.Errorf("%d turns: %s", out.Turns, out.Reason)
		}
	})
}

// A server that dies in the middle of an answer is asked again; half a call is not run.
func TestServerDiesHalfway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		half := func(say func(string) bool) { say(wired("content", "I write it.\n<tool_call>{\"name\": \"write")) }
		b, shown := bubbleBench(t, "model: {name: m, context: 32768}\nturns:\n- {say: \"It is fine now. [TASK_COMPLETE]\"}\n", half, half, answered)
		b.must(session.StatusDone)
		if n := slices.IndexFunc(*shown, func(l Live) bool { return strings.Contains(l.Title, "trying again (3 of 4)") }); n < 0 || len(events[session.Answer](b, session.TypeAnswer)) != 2 {
			t.Errorf("%+v", *shown)
		}
	})
}

// What is being written is told while it is, and how fast: as fast as its server writes.
func TestSpeedIsShown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, shown := bubbleBench(t, "model: {name: m, context: 32768}\nturns:\n- {say: \"It is fine now. [TASK_COMPLETE]\"}\n", func(say func(string) bool) {
			say(wired("content", `<tool_call>{"name": "write_file", "arguments": {"path": "a.txt", "content": "`))
			for i := range 10 {
				pause(time.Second)
				say(wired("content", fmt.Sprintf("%-99d.", i)))
			}
			say(wired("content", `"}}</tool_call>`))
			say(`{"message": {"content": ""}, "done": true, "done_reason": "stop"}`)
		})
		b.must(session.StatusDone)
		n := slices.IndexFunc(*shown, func(l Live) bool { return l.Title == "Writing a.txt" && l.Speed == 27 })
		if n < 0 || (*shown)[0].Title != "Writing a.txt" || (*shown)[0].Speed != 0 {
			t.Errorf("%+v", *shown)
		}
	})
}

// An answer may be as long as the task needs, and not longer.
func TestAnswerLimit(t *testing.T) {
	for _, c := range []struct {
		configured, view int
		parameters       int64
		want             int
	}{
		{0, 0, 0, 2048}, {0, 3000, 5e8, 2048}, {0, 20_000, 5e8, 8512}, {300, 20_000, 0, 300}, {0, 200, 2.7e8, 592}, {0, 3000, 1.3e8, 1712},
	} {
		if got := answerLimit(c.configured, c.view, c.parameters); got != c.want {
			t.Errorf("%d configured, %d bytes in view: %d, want %d", c.configured, c.view, got, c.want)
		}
	}
	for name, c := range map[string]struct {
		configured, context int
		caps                llm.Capabilities
		want                int
	}{
		"a small model":       {0, 0, llm.Capabilities{Parameters: 1_500_000_000}, 4096},
		"one that thinks":     {0, 0, llm.Capabilities{Parameters: 1_500_000_000, Thinking: true}, 8192},
		"of unknown size":     {0, 0, llm.Capabilities{}, 8192},
		"with a small window": {0, 8192, llm.Capabilities{Thinking: true}, 2048},
		"as configured":       {600, 8192, llm.Capabilities{Thinking: true}, 600},
	} {
		m := &model{caps: c.caps}
		q := &requests{model: m, window: &window{model: m, fixed: c.context}, maxTokens: c.configured}
		if got := q.limit(); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}
