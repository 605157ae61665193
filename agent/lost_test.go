package agent

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/handrail-bot/handrail/agent/llm/openai"
	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/policy/longtest"
)

// Calls that the server drops are told with the names of the tools; after two, and after
// two that are printed, they travel as text, in a later run too.
func TestTextCallsAfterTwo(t *testing.T) {
	longtest.Leave(t)
	for name, twice := range map[string]string{
		"dropped, nothing said": `{calls: [{name: make_file, arguments: {path: a.txt, content: "fine\n"}}], misbehave: {drop_calls: true}}`,
		"dropped behind words":  `{say: "I write it.", calls: [{name: make_file, arguments: {path: a.txt, content: "` + strings.Repeat("fine ", 30) + `"}}], misbehave: {drop_calls: true}}`,
		"unreadable":            `{misbehave: {error: "XML syntax error on line 3: unexpected EOF"}}`,
		"printed":               `{say: "I look.", calls: [{name: list_files, arguments: {path: "."}}], print: true}`,
	} {
		t.Run(name, func(t *testing.T) {
			second := `when: {has_tool: write_file, last_contains: ["The tools are: ", "write_file", "\"name\": \"read_file\""]}, `
			if name == "printed" {
				second = `when: {has_tool: write_file}, `
			}
			b := newBench(t, `model: {name: m, tools: true, context: 32768}
turns:
- `+twice+`
- {`+second+strings.TrimPrefix(twice, "{")+`
- {when: {no_tools: true, last_contains: write every call as text}, calls: [{name: list_files, arguments: {path: "."}}], print: true}
- {when: {no_tools: true}, calls: [{name: write_file, arguments: {path: a.txt, content: "fine\n"}}], print: true}
- {when: {no_tools: true}, say: "It is fine now. [TASK_COMPLETE]"}
- {when: {no_tools: true}, calls: [{name: write_file, arguments: {path: a.txt, content: "better\n"}}], print: true}
- {when: {no_tools: true}, say: "It is better now. [TASK_COMPLETE]"}
`, map[string]string{"a.txt": "one\n"})
			b.must(session.StatusDone)
			b.append(session.NewEvent(session.TypeMessage, 0, session.Message{Text: "make it better"}))
			b.must(session.StatusDone)
			if got := b.states.published()["a.txt"]; got != "better\n" {
				t.Errorf("a.txt is %q", got)
			}
			if err := b.model.Err(); err != nil {
				t.Error(err)
			}
		})
	}
}

// One lost call is no reason to leave native calls, and a good one makes good for it.
func TestOneLossIsForgiven(t *testing.T) {
	lost := `{when: {has_tool: write_file}, calls: [{name: make_file, arguments: {path: a.txt}}], misbehave: {drop_calls: true}}`
	b := newBench(t, `model: {name: m, tools: true, context: 32768}
turns:
- `+lost+`
- {calls: [{name: read_file, arguments: {path: a.txt}}]}
- `+lost+`
- {when: {has_tool: write_file}, calls: [{name: write_file, arguments: {path: a.txt, content: "fine\n"}}]}
- {when: {has_tool: write_file}, say: "It is fine now. [TASK_COMPLETE]"}
`, map[string]string{"a.txt": "one\n"})
	b.must(session.StatusDone)
	if err := b.model.Err(); err != nil {
		t.Error(err)
	}
}

// An answer that goes round in circles is stopped and clipped, and the next request is
// neither the same nor made at the same temperature. It ends after three.
func TestAnswerInCircles(t *testing.T) {
	circle := `{say: "I will fix the bug now.\n", chunk: 24, misbehave: {loop: true}}`
	stutter := `{say: "haha, ", say_times: 30, misbehave: {missing_done: true}}`
	for name, turns := range map[string][]string{"circle": {circle, circle, circle}, "the server gave up": {stutter, stutter, stutter}} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, `model: {name: m, tools: true, context: 32768}
turns:
- `+strings.Join(turns, "\n- "), map[string]string{"a.txt": "one\n"})
			if out := b.must(session.StatusFailed); !strings.Contains(out.Reason, "again and again") {
				t.Error(out.Reason)
			}
			var warm []string
			all := b.model.Requests()
			for i, r := range all {
				warm = append(warm, fmt.Sprint(*r.Temperature))
				if last := r.Messages[len(r.Messages)-1].Content; i > 0 && !strings.Contains(last, "the same again and again") {
					t.Errorf("request %d ends with %q", i, last)
				}
				if n := len(r.Body); n > len(all[0].Body)+3000 {
					t.Errorf("request %d has %d bytes, the first %d: the answer was not clipped", i, n, len(all[0].Body))
				}
			}
			if got := strings.Join(warm, " "); got != "0.2 0.8 1.1" {
				t.Errorf("temperatures: %s", got)
			}
		})
	}
}

// An answer that reached its limit is told so; a call in it that is whole is run.
func TestAnswerAtItsLimit(t *testing.T) {
	b := newBench(t, `model: {name: m, tools: true, context: 32768}
turns:
- {say: "I would first like to say that", reason: length}
- {when: {last_contains: [cut off, several edits]}, calls: [{name: write_file, arguments: {path: a.txt, content: "fine\n"}}], misbehave: {drop_calls: true}, reason: length}
- {when: {last_contains: cut off}, calls: [{name: write_file, arguments: {path: a.txt, content: "fine\n"}}]}
- {say: "It is fine now. [TASK_COMPLETE]"}
`, map[string]string{"a.txt": "one\n"})
	b.must(session.StatusDone)
	b = newBench(t, `model: {name: m, tools: true, context: 32768}
turns:
- {say: "I would first like to say that", reason: length, repeat: true}
`, map[string]string{"a.txt": "one\n"})
	if out := b.must(session.StatusFailed); !strings.Contains(out.Reason, "max_tokens") || out.Turns != 3 {
		t.Errorf("%d turns: %s", out.Turns, out.Reason)
	}
}

// A server that cuts prompts is seen by its count, and the session ends with the setting
// that helps. One that counts only what it had not cached, or everything, goes on.
func TestContextCutBehindOurBack(t *testing.T) {
	longtest.Leave(t)
	long := strings.Repeat("a line of a file that is read\n", 200)
	files := map[string]string{}
	for i := range 8 {
		files[fmt.Sprintf("f%d.txt", i)] = long
	}
	for name, c := range map[string]struct {
		count []int
		want  session.Status
	}{
		"Ollama's default":       {[]int{3100, 4096, 4090, 4095, 4050, 4096, 4093, 4096}, session.StatusFailed},
		"cut from the start":     {[]int{4096, 4096, 4096, 4096, 4096, 4096, 4096, 4096}, session.StatusFailed},
		"whole messages go":      {[]int{3000, 3980, 3700, 3900, 3800, 4010, 3950, 3700}, session.StatusFailed},
		"counted as it should":   {[]int{3100, 4700, 6300, 7900, 9500, 11100, 12700, 14300}, session.StatusAnswered},
		"only what is new":       {[]int{3100, 1620, 1610, 1630, 1620, 1625, 1618, 1620}, session.StatusAnswered},
		"new, from a warm cache": {[]int{90, 1620, 1610, 1630, 1620, 1625, 1618, 1620}, session.StatusAnswered},
		"nothing":                {[]int{0, 0, 0, 0, 0, 0, 0, 0}, session.StatusAnswered},
	} {
		t.Run(name, func(t *testing.T) {
			script := "model: {name: m, tools: true, context: 131072}\nturns:\n"
			for i, n := range c.count[:7] {
				script += fmt.Sprintf("- {calls: [{name: read_file, arguments: {path: f%d.txt}}], tokens: {prompt: %d}, optional: true}\n", i, n)
			}
			script += fmt.Sprintf("- {say: \"No file had to change. [TASK_COMPLETE]\", tokens: {prompt: %d}, optional: true, repeat: true}\n", c.count[7])
			b := newBench(t, script, files)
			b.overOpenAI()
			out := b.must(c.want)
			if c.want == session.StatusFailed && (!strings.Contains(out.Reason, "OLLAMA_CONTEXT_LENGTH") || !strings.Contains(out.Reason, "native API") || out.Turns > 4) {
				t.Errorf("%d turns: %s", out.Turns, out.Reason)
			}
		})
	}
}

// What stands in thinking is never run. A model that did not end its thinking is told
// so, with the call that it made there, as it is to be sent.
func TestAllThinking(t *testing.T) {
	for name, answer := range map[string]string{
		"never ended":   `text: '<think>I write it.\n<tool_call>{"name": "write_file", "arguments": {"path": "a.txt", "content": "fine"}}</tool_call>'`,
		"by the server": `think: 'I write it. <tool_call>{"name": "write_file", "arguments": {"path": "a.txt", "content": "fine"}}</tool_call>'`,
	} {
		b := newBench(t, `
model: {name: m, thinking: true}
turns:
- `+answer+`
- when: {last_contains: [all thinking, End the thinking, '<tool_call>{"name": "write_file", "arguments": {"path":"a.txt","content":"fine"}}</tool_call>']}
  print: true
  calls: [{name: write_file, arguments: {path: a.txt, content: "fine\n"}}]
- say: "Done. [TASK_COMPLETE]"
`, map[string]string{"a.txt": "one\n"})
		b.must(session.StatusDone)
		if n := len(b.results()); n != 1 {
			t.Errorf("%s: %d calls were run", name, n)
		}
	}
	b := newBench(t, "model: {name: m, tools: true, thinking: true}\nturns:\n- {think: I write it., repeat: true}\n", nil)
	if out := b.must(session.StatusFailed); !strings.Contains(out.Reason, "nothing but thinking 3 times") {
		t.Error(out.Reason)
	}
}

// overOpenAI has the model asked by the API that many servers have.
func (b *bench) overOpenAI() {
	b.t.Helper()
	u, err := url.Parse(b.model.URL() + "/v1")
	if err != nil {
		b.t.Fatal(err)
	}
	if b.cfg.Model, err = openai.New(openai.Config{URL: u, Model: "m"}); err != nil {
		b.t.Fatal(err)
	}
}

// A server that is away, loading or full is waited for and the person is told; the run
// goes on by itself. Its patience ends with the time that it may take.
func TestRunWaitsForTheServer(t *testing.T) {
	longtest.Leave(t)
	for name, c := range map[string]struct {
		misdeed        string
		patience, wall time.Duration
		want           session.Status
	}{
		"full":                 {`{status: 503}`, time.Minute, 0, session.StatusDone},
		"loading":              {`{status: 500, error: "timed out waiting for llama runner to start"}`, time.Minute, time.Hour, session.StatusDone},
		"behind a proxy, away": {`{status: 502, error: "Bad Gateway"}`, time.Minute, 0, session.StatusDone},
		"no patience":          {`{status: 503}`, 0, 0, session.StatusFailed},
		"no time":              {`{status: 503}`, time.Minute, time.Nanosecond, session.StatusFailed},
		"a dead runner":        {`{error: "an error was encountered while running the model"}`, time.Minute, 0, session.StatusFailed},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, "model: {name: m, tools: true, context: 32768}\nturns:\n"+strings.Repeat("- {misbehave: "+c.misdeed+", optional: true}\n", 7)+
				"- {calls: [{name: write_file, arguments: {path: a.txt, content: \"fine\\n\"}}], optional: true}\n- {say: \"Fine. [TASK_COMPLETE]\", optional: true}\n", map[string]string{"a.txt": "one\n"})
			b.cfg.Retry.Patience, b.cfg.Limits.Wall = c.patience, c.wall
			var said []string
			b.cfg.OnLive = func(l Live) { said = append(said, l.Title) }
			out, err := b.run(t.Context())
			if err != nil || out.Status != c.want && c.wall != time.Nanosecond {
				t.Fatalf("%+v, %v", out, err)
			}
			waited := strings.Contains(strings.Join(said, "\n"), "waiting for the model server, at most until ")
			if waited != (c.want == session.StatusDone) || len(b.model.Requests()) > 4 && c.want != session.StatusDone {
				t.Errorf("waited: %t, %d requests, told: %q", waited, len(b.model.Requests()), said)
			}
		})
	}
}
