package llmtest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/handrail-bot/handrail/agent/llm/llmcheck"
	"github.com/handrail-bot/handrail/agent/llm/llmtest"
)

// fakeT records what a check reports, and runs the cleanups on demand.
type fakeT struct {
	errors   []string
	cleanups []func()
}

func (f *fakeT) Helper()                   {}
func (f *fakeT) Errorf(s string, a ...any) { f.errors = append(f.errors, fmt.Sprintf(s, a...)) }
func (f *fakeT) Cleanup(c func())          { f.cleanups = append(f.cleanups, c) }

func (f *fakeT) end() string {
	for _, c := range f.cleanups {
		c()
	}
	return strings.Join(f.errors, "\n")
}

func start(t *testing.T, script string) *llmtest.Server {
	t.Helper()
	parsed, err := llmtest.ParseScript([]byte(script))
	if err != nil {
		t.Fatal(err)
	}
	s, err := llmtest.Start(parsed, llmcheck.Dialect)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// call posts and returns status and body; a dropped connection is "dropped".
func call(t *testing.T, address, body string) (int, string) {
	t.Helper()
	method := http.MethodPost
	if body == "" {
		method = http.MethodGet
	}
	req, err := http.NewRequestWithContext(t.Context(), method, address, bytes.NewReader([]byte(body)))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, "dropped"
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		return resp.StatusCode, string(b) + "<cut>"
	}
	return resp.StatusCode, string(b)
}

// chat asks Ollama's API without streaming and returns the content or error.
func chat(t *testing.T, s *llmtest.Server, messages string) string {
	t.Helper()
	status, body := call(t, s.URL()+"/api/chat", `{"model":"scripted","stream":false,"messages":[`+messages+`]}`)
	var out struct {
		Error   string
		Message struct{ Content string }
	}
	if err := json.Unmarshal([]byte(body), &out); err != nil {
		return body
	}
	if status != http.StatusOK {
		return fmt.Sprintf("%d %s", status, out.Error)
	}
	return out.Message.Content
}

func user(text string) string { return fmt.Sprintf(`{"role":"user","content":%q}`, text) }

const brief = `
model: {name: scripted, tools: true, thinking: true, context: 32768}
turns:
- when: {last_contains: "fix", has_tool: read_file, turn: 0}
  think: "I should look"
  say: "Let me read the file."
  calls: [{name: read_file, arguments: {path: greet.go, lines: [1, 2]}}]
- when: {tool_result_contains: "Hello"}
  text: '<tool_call>{"name": "x"}</tool_call>'
- misbehave: {die_after_bytes: 40}
- say: "Done. [TASK_COMPLETE]"
`

func TestScriptOfFourTurns(t *testing.T) {
	s := start(t, brief)
	ask := func(messages string) (int, string) {
		return call(t, s.URL()+"/api/chat", `{"model":"scripted:latest","tools":[{"type":"function","function":{"name":"read_file"}}],"messages":[`+messages+`]}`)
	}
	_, first := ask(user("please fix it"))
	var calls struct {
		Message struct {
			ToolCalls []struct {
				ID       string
				Function struct {
					Name      string
					Arguments map[string]any
				}
			} `json:"tool_calls"`
		}
	}
	lines := strings.Split(strings.TrimSpace(first), "\n")
	if len(lines) != 4 || !strings.Contains(lines[0], `"thinking":"I should look"`) || !strings.Contains(lines[1], "Let me read") || !strings.Contains(lines[3], `"done":true`) {
		t.Fatalf("got %s", first)
	}
	if err := json.Unmarshal([]byte(lines[2]), &calls); err != nil {
		t.Fatal(err)
	}
	got := calls.Message.ToolCalls[0]
	if d := cmp.Diff(map[string]any{"path": "greet.go", "lines": []any{1.0, 2.0}}, got.Function.Arguments); d != "" || got.ID == "" || got.Function.Name != "read_file" {
		t.Errorf("got %+v: %s", got, d)
	}
	history := user("please fix it") + `,{"role":"assistant","content":"","tool_calls":[{"function":{"name":"read_file","arguments":{}}}]},{"role":"tool","content":"1 | Hello"}`
	if _, body := ask(history); !strings.Contains(body, `\u003ctool_call\u003e{\"name\"`) {
		t.Errorf("got %s", body)
	}
	if err := s.Err(); err == nil || !strings.Contains(err.Error(), `turns[2] was not served`) || !strings.Contains(err.Error(), `turns[3] was not served: "Done.`) {
		t.Errorf("unused turns are reported as %v", err)
	}
	if status, body := ask(history); status != 200 || len(body) != 40+len("<cut>") || !strings.HasSuffix(body, "<cut>") {
		t.Errorf("got %d %q", status, body)
	}
	if _, body := ask(history); !strings.Contains(body, "[TASK_COMPLETE]") {
		t.Errorf("got %s", body)
	}
	llmcheck.Check(t, s)
}

func TestParseScriptRefuses(t *testing.T) {
	for _, c := range []struct{ name, script, want string }{
		{"empty", " \n", "it is empty"},
		{"no turns", "model: {name: x}", "no turns"},
		{"misspelled", "turns:\n- sya: hi", "sya"},
		{"misspelled condition", "turns:\n- say: hi\n  when: {last_contain: x}", "last_contain"},
		{"silent turn", "turns:\n- {}", "turns[0]: it says nothing"},
		{"call without name", "turns:\n- calls: [{arguments: {a: 1}}]", "calls[0]: no name"},
		{"odd selection", "select: random\nturns: [{say: x}]", `"random" is neither`},
		{"repeat before the end", "turns: [{say: x, repeat: true}, {say: y}]", "no later turn is reached"},
		{"status 200", "turns: [{misbehave: {status: 200}}]", "status 200"},
		{"loop of nothing", "turns: [{misbehave: {loop: true}}]", "loop needs something"},
		{"odd wire", "turns: [{say: x, when: {wire: grpc}}]", `wire "grpc"`},
		{"contradiction", "turns: [{say: x, when: {no_tools: true, has_tool: y}}]", "exclude each other"},
		{"nameless conversation", "conversations: [{turns: [{say: x}]}]", "a name of its own"},
		{"empty conversation", "conversations: [{name: a}]", "no turns"},
		{"not YAML", "turns: [", "parse model script"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := llmtest.ParseScript([]byte(c.script))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

func TestJSONScript(t *testing.T) {
	s := start(t, `{"turns": [{"when": {"contains": ["a", "b"]}, "say": "hi"}]}`)
	if got := chat(t, s, user("a")+","+user("b")); got != "hi" {
		t.Errorf("got %q", got)
	}
	llmcheck.Check(t, s)
}

func TestConditions(t *testing.T) {
	const talk = `{"role":"system","content":"be kind"},{"role":"user","content":"start"},{"role":"assistant","content":"ok","tool_calls":[{"function":{"name":"run","arguments":{"command":"ls"}}}]},{"role":"tool","content":"a.go"},{"role":"user","content":"end","images":["AQ=="]}`
	const tools = `,"tools":[{"type":"function","function":{"name":"run"}}],"options":{"num_ctx":8192},"think":true`
	for _, c := range []struct {
		when  string
		holds bool
	}{
		{"turn: 1", true}, {"turn: 0", false},
		{"contains: start", true}, {"contains: [start, ls, run]", true}, {"contains: [start, nope]", false},
		{"lacks: nope", true}, {"lacks: [nope, start]", false},
		{"last_contains: end", true}, {"last_contains: start", false},
		{"system_contains: kind", true}, {"system_contains: start", false},
		{"user_contains: start", true}, {"user_contains: a.go", false},
		{"tool_result_contains: a.go", true}, {"tool_result_contains: end", true}, {"tool_result_contains: start", false},
		{"has_tool: run", true}, {"has_tool: edit", false}, {"lacks_tool: edit", true}, {"lacks_tool: run", false}, {"no_tools: true", false},
		{"think: true", true}, {"think: false", false},
		{"images: 1", true}, {"images: 0", false},
		{"context_at_least: 8192", true}, {"context_at_least: 8193", false},
		{"wire: ollama", true}, {"wire: openai", false},
	} {
		t.Run(c.when, func(t *testing.T) {
			s := start(t, "model: {tools: true, thinking: true}\nturns:\n- {say: hi, when: {"+c.when+"}}\n")
			status, body := call(t, s.URL()+"/api/chat", `{"model":"m","stream":false,"messages":[`+talk+`]`+tools+`}`)
			if c.holds && (status != 200 || s.Err() != nil) || !c.holds && (status != 400 || s.Err() == nil) {
				t.Errorf("%d %s, %v", status, body, s.Err())
			}
			name, _, _ := strings.Cut(c.when, ":")
			if !c.holds && !strings.Contains(body, name) {
				t.Errorf("the condition is not named: %s", body)
			}
		})
	}
}

func TestByConditions(t *testing.T) {
	s := start(t, `
select: by-conditions
turns:
- {say: work one, when: {last_contains: work}}
- {say: summary, when: {last_contains: summarize}, repeat: true}
- {say: work two, when: {last_contains: work}}
- {say: never asked, when: {last_contains: nobody}, optional: true}
`)
	var got []string
	for _, text := range []string{"work", "summarize", "summarize", "work", "work"} {
		got = append(got, chat(t, s, user(text)))
	}
	if d := cmp.Diff([]string{"work one", "summary", "summary", "work two"}, got[:4]); d != "" || !strings.HasPrefix(got[4], "400 model script: request 5: the conditions of no unused turn hold") {
		t.Errorf("%s; last %q", d, got[4])
	}
	if err := s.Err(); err == nil || strings.Contains(err.Error(), "not served") {
		t.Errorf("got %v", err)
	}
}

func TestConversations(t *testing.T) {
	s := start(t, `
conversations:
- {name: one, when: {contains: "#1"}, turns: [{say: a1}, {say: a2}]}
- {name: two, when: {contains: "#2"}, turns: [{say: b1}, {say: b2}]}
turns: [{say: other}]
`)
	var got []string
	for _, text := range []string{"#1", "#2", "none", "#2", "#1"} {
		got = append(got, chat(t, s, user(text)))
	}
	if d := cmp.Diff([]string{"a1", "b1", "other", "b2", "a2"}, got); d != "" {
		t.Error(d)
	}
	llmcheck.Check(t, s)
	if r := s.Requests()[3]; r.Conversation != "two" || r.Turn != 1 || r.Messages[len(r.Messages)-1].Content != "#2" {
		t.Errorf("got %+v", r)
	}
}

func TestServeChecks(t *testing.T) {
	for _, c := range []struct {
		name   string
		script llmtest.Script
		ask    int
		want   string // empty for no report
	}{
		{"used", llmtest.Script{Turns: []llmtest.Turn{{Say: "x"}}}, 1, ""},
		{"unused", llmtest.Script{Turns: []llmtest.Turn{{Say: "x"}}}, 0, "turns[0] was not served"},
		{"more than scripted", llmtest.Script{Turns: []llmtest.Turn{{Say: "x"}}}, 2, "no more turns after its 1"},
		{"for ever", llmtest.Script{Turns: []llmtest.Turn{{Say: "x", Repeat: true}}}, 5, ""},
		{"for ever, unused", llmtest.Script{Turns: []llmtest.Turn{{Say: "x", Repeat: true}}}, 0, "turns[0] was not served"},
		{"invalid", llmtest.Script{}, 0, "no turns"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var f fakeT
			s := llmcheck.Serve(&f, c.script)
			for range c.ask {
				chat(t, s, user("hi"))
			}
			if got := f.end(); (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
				t.Errorf("reported %q, want %q", got, c.want)
			}
		})
	}
}

func TestStallAndRelease(t *testing.T) {
	s := start(t, "chunk: 1\nturns: [{say: abcd, misbehave: {stall: true}}]")
	got := make(chan string, 1)
	go func() { got <- chat(t, s, user("hi")) }()
	if err := s.WaitStalled(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	if g := <-got; g != "abcd" {
		t.Errorf("got %q", g)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if s.WaitStalled(ctx) == nil || s.Release(ctx) == nil {
		t.Error("waiting for a stall that is not there succeeds")
	}
}

func TestCloseCutsAStall(t *testing.T) {
	s := start(t, "turns: [{say: abcd, misbehave: {stall: true}}]")
	got := make(chan string, 1)
	go func() {
		_, body := call(t, s.URL()+"/api/chat", `{"model":"m","messages":[]}`)
		got <- body
	}()
	if err := s.WaitStalled(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.Close()
	s.Close()
	if g := <-got; strings.Contains(g, `"done":true`) {
		t.Errorf("got %q", g)
	}
}

func TestEnforcedContext(t *testing.T) {
	s := start(t, "model: {enforce_context: true}\nturns: [{say: short}]")
	ask := func(words int) int {
		status, _ := call(t, s.URL()+"/api/chat", `{"model":"m","options":{"num_ctx":1024},"messages":[`+user(strings.Repeat("word ", words))+`]}`)
		return status
	}
	if got := []int{ask(1000), ask(500)}; got[0] != 400 || got[1] != 200 {
		t.Errorf("got %v, want the long one refused", got)
	}
	llmcheck.Check(t, s)
}
