package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/handrail-bot/handrail/agent/compact"
	"github.com/handrail-bot/handrail/agent/llm"
	"github.com/handrail-bot/handrail/agent/llm/llmtest"
	"github.com/handrail-bot/handrail/agent/prompt"
	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/policy/longtest"
)

// sent is a request as a server computes it: what stands in front of the
// conversation, and the conversation, both in the very bytes of the wire.
type sent struct {
	tools    []byte
	messages []json.RawMessage
	think    string
}

func sentOf(t testing.TB, r *llmtest.Request) sent {
	t.Helper()
	var body struct {
		Messages []json.RawMessage
		Tools    json.RawMessage
		Think    json.RawMessage
	}
	if err := json.Unmarshal(r.Body, &body); err != nil {
		t.Fatal(err)
	}
	return sent{tools: body.Tools, messages: body.Messages, think: string(body.Think)}
}

// extends reports whether s is the request before it and a tail.
func (s sent) extends(before sent) bool {
	return bytes.Equal(s.tools, before.tools) && s.think == before.think && len(s.messages) >= len(before.messages) &&
		slices.EqualFunc(before.messages, s.messages[:len(before.messages)], func(a, b json.RawMessage) bool { return bytes.Equal(a, b) })
}

// beside reports whether r is asked beside the conversation: a summary of a part of it.
func beside(r *llmtest.Request) bool { return r.Messages[0].Content == compact.Instruction }

// closing reports whether r asks for the last words, which the conversation goes on without.
func closing(r *llmtest.Request) bool {
	return strings.HasPrefix(r.Messages[len(r.Messages)-1].Content, "Summarize in two or three sentences")
}

// restarts checks that each request is the one before and a tail, and returns how
// often it is not.
func restarts(t testing.TB, requests []*llmtest.Request) int {
	t.Helper()
	var before *sent
	n := 0
	for i, r := range requests {
		if beside(r) {
			continue
		}
		now := sentOf(t, r)
		if before != nil && !now.extends(*before) {
			n++
			t.Logf("request %d is not the one before and a tail: %s", i+1, difference(*before, now))
		}
		if !closing(r) {
			before = &now
		}
	}
	return n
}

func difference(a, b sent) string {
	if !bytes.Equal(a.tools, b.tools) {
		return fmt.Sprintf("the tools are others: %.60s… and %.60s…", a.tools, b.tools)
	}
	for i := range min(len(a.messages), len(b.messages)) {
		if !bytes.Equal(a.messages[i], b.messages[i]) {
			at := 0
			for at < min(len(a.messages[i]), len(b.messages[i])) && a.messages[i][at] == b.messages[i][at] {
				at++
			}
			from := max(0, at-20)
			return fmt.Sprintf("message %d was %.90q and is %.90q", i, a.messages[i][from:], b.messages[i][from:])
		}
	}
	return fmt.Sprintf("%d messages became %d, think %s became %s", len(a.messages), len(b.messages), a.think, b.think)
}

// reasons are why the requests of a session began anew, as its log has it.
func reasons(b *bench) []string {
	var out []string
	for _, p := range events[session.Prompt](b, session.TypePrompt) {
		out = append(out, string(p.Why))
	}
	return out
}

const busyTurns = `
- say: "Decision: keep the old format"
  calls:
  - {name: read_file, arguments: {path: a.txt}}
  - {name: update_todo_list, arguments: {todos: "[-] read\n[ ] write\n[ ] test"}}
- calls: [{name: read_file, arguments: {path: nowhere.txt}}]
- think: Hm. That is not there.
  calls: [{name: run_terminal_command, arguments: {command: "ls; false"}}]
- calls: [{name: edit_file, arguments: {path: a.txt, old_string: nothing like it, new_string: b}}]
- calls: [{name: edit_file, arguments: {path: a.txt, old_string: one, new_string: two}}]
- calls: [{name: update_todo_list, arguments: {todos: "[x] read\n[x] write\n[-] test"}}]
- calls: [{name: run_terminal_command, arguments: {command: "cat a.txt"}}]
- calls: [{name: read_file, arguments: {path: b.txt}}]
- calls: [{name: list_files, arguments: {path: .}}]
- calls: [{name: search_workspace, arguments: {query: two}}]
- calls: [{name: run_terminal_command, arguments: {command: "grep -c two a.txt"}}]
- say: "Done. [TASK_COMPLETE]"
`

const doneTurns = `
- calls: [{name: update_todo_list, arguments: {todos: "[x] all"}}]
- {say: "Done, all of it. [TASK_COMPLETE]", repeat: true}
`

var busyFiles = map[string]string{"a.txt": "one\n", "b.txt": strings.Repeat("some line of a file\n", 200)}

// Each request is the one before and a tail, byte for byte, in sessions of every kind:
// what a server has computed is never computed again.
func TestPrefixIsNeverTouched(t *testing.T) {
	longtest.Leave(t)
	for _, tt := range []struct {
		name, model string
		openAI      bool
	}{
		{"native", "{name: m, tools: true, thinking: true}", false},
		{"text", "{name: m}", false},
		{"thinking in text", "{name: m, thinking: true}", false},
		{"native, OpenAI's API", "{name: m, tools: true, thinking: true}", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			turns := busyTurns
			if !strings.Contains(tt.model, "tools") {
				turns = strings.ReplaceAll(turns, "calls:", "print: true\n  calls:")
				turns = strings.ReplaceAll(turns, "- print: true\n ", "- print: true\n ")
			}
			b := newBench(t, "model: "+tt.model+"\nturns:"+turns+strings.ReplaceAll(doneTurns, "- calls:", "- print: "+fmt.Sprint(turns != busyTurns)+"\n  calls:"), busyFiles)
			if tt.openAI {
				b.overOpenAI()
			}
			b.cfg.Limits.Turns = 16 // the model is told that they come to an end
			b.must(session.StatusDone)
			if n := restarts(t, b.model.Requests()); n != 0 || len(b.model.Requests()) < 14 {
				t.Errorf("%d of %d requests began anew", n, len(b.model.Requests()))
			}
			if got := reasons(b); !slices.Equal(got, []string{"begin"}) {
				t.Errorf("the requests began because of %q", got)
			}
		})
	}
}

// What comes between two runs changes nothing of what was sent: an approval, a death,
// a night in which the project changed, words of people, a grant.
func TestPrefixSurvivesRestarts(t *testing.T) {
	longtest.Leave(t)
	const refusal = "\n- misbehave: {status: 400, error: m does not support tools}"
	for name, c := range map[string]struct {
		model, before string
		print         bool
		want          []string // reasons in the log
	}{
		"native":              {"{name: m, tools: true, context: 32768}", "", false, []string{"begin"}},
		"text":                {"{name: m}", "", true, []string{"begin"}},
		"thinking in text":    {"{name: m, thinking: true}", "", true, []string{"begin"}},
		"from native to text": {"{name: m, tools: true, context: 32768}", refusal, true, []string{"begin", "text"}},
	} {
		t.Run(name, func(t *testing.T) {
			turns := restartTurns
			if c.print {
				turns = strings.ReplaceAll(turns, "- calls:", "- print: true\n  calls:")
			}
			survivesRestarts(t, "model: "+c.model+"\nturns:"+c.before+turns, c.want)
		})
	}
}

const restartTurns = `
- calls: [{name: read_file, arguments: {path: a.txt}}, {name: update_todo_list, arguments: {todos: "[-] one\n[ ] two"}}]
- calls: [{name: write_file, arguments: {path: .github/workflows/ci.yml, content: "on: push\n"}}]
- calls: [{name: read_file, arguments: {path: b.txt}}]
- calls: [{name: update_todo_list, arguments: {todos: "[x] one\n[x] two"}}]
- calls: [{name: run_terminal_command, arguments: {command: "cat a.txt"}}]
- say: "Done. [TASK_COMPLETE]"
- calls: [{name: edit_file, arguments: {path: a.txt, old_string: one, new_string: two}}]
- say: "Done as well. [TASK_COMPLETE]"
`

func survivesRestarts(t *testing.T, script string, want []string) {
	b := newBench(t, script, busyFiles)
	b.task.Text = "fix the workflow"
	b.cfg.Prompt = prompt.Builder{Project: "- Go module m\n- Branch main at 1111111", Rules: "Be kind."}
	b.must(session.StatusAwaitingApproval)
	b.cfg.Prompt.Project += ", 2 commits behind"
	b.answer("approved", "fine")
	ctx, cancel := context.WithCancel(t.Context())
	b.cfg.OnEvent = func(e session.Event) {
		if e.Type == session.TypeResult && e.Turn == 4 {
			cancel() // the process dies
		}
	}
	if out, err := b.run(ctx); err != nil || out.Status != session.StatusInterrupted {
		t.Fatal(out, err)
	}
	b.cfg.OnEvent = nil
	b.must(session.StatusDone)
	b.cfg.Prompt = prompt.Builder{Project: "- Go module m, version 2\n- Branch main at 2222222", Rules: "Be kinder."} // the next day
	b.cfg.Provide = func(context.Context, string, llm.Form) []session.Item {
		return []session.Item{{Kind: session.ItemFile, Name: "b.txt", Text: "looked up"}}
	}
	b.append(session.NewEvent(session.TypeMessage, 0, session.Message{Author: "kim", Text: "change a.txt too"}))
	b.must(session.StatusDone)
	if n := restarts(t, b.model.Requests()); n != len(want)-1 || len(b.model.Requests()) != 7+len(want) {
		t.Errorf("%d of %d requests began anew", n, len(b.model.Requests()))
	}
	if got := reasons(b); !slices.Equal(got, want) {
		t.Errorf("the requests began because of %q", got)
	}
}

// shorter is how often requests begin anew where the conversation became too long: as
// often as the log says so.
const shorter = -1

// askedAgain has a person say something, and the model do it.
func askedAgain(said ...session.Message) func(*bench) {
	return func(b *bench) {
		for _, m := range said {
			b.append(session.NewEvent(session.TypeMessage, 0, m))
		}
		b.must(session.StatusDone)
	}
}

// What makes requests begin anew is in the log with its reason, and nothing else does.
func TestPrefixBeginsAnewForAReason(t *testing.T) {
	longtest.Leave(t)
	long := strings.Repeat("a line that says nothing of any use to anybody\n", 90)
	for _, tt := range []struct {
		name, mode, script string
		want               []string // reasons in the log
		anew               int      // requests that are not the one before and a tail
		between            func(*bench)
	}{
		{name: "a mode with other tools", mode: "code", want: []string{"begin", "mode", "mode"}, anew: 2, script: head + `
- calls: [{name: read_file, arguments: {path: a.txt}}]
- calls: [{name: switch_mode, arguments: {mode: ask}}]
- calls: [{name: read_file, arguments: {path: b.txt}}]
- calls: [{name: switch_mode, arguments: {mode: code}}]
- calls: [{name: edit_file, arguments: {path: a.txt, old_string: one, new_string: two}}]
- say: "Done. [TASK_COMPLETE]"
`},
		{name: "a mode with the same tools", mode: "code", want: []string{"begin"}, script: head + `
- calls: [{name: read_file, arguments: {path: a.txt}}]
- calls: [{name: switch_mode, arguments: {mode: debug}}]
- when: {tool_result_contains: "The mode is now debug"}
  calls: [{name: edit_file, arguments: {path: a.txt, old_string: one, new_string: two}}]
- say: "Done. [TASK_COMPLETE]"
`},
		{name: "no native calls", mode: "code", want: []string{"begin", "text"}, anew: 1, script: head + `
- calls: [{name: read_file, arguments: {path: a.txt}}]
- misbehave: {status: 400, error: m does not support tools}
- {print: true, calls: [{name: edit_file, arguments: {path: a.txt, old_string: one, new_string: two}}]}
- say: "Done. [TASK_COMPLETE]"
`},
		{name: "a limit on edits", mode: "debug", want: []string{"begin"}, script: head + `
- calls: [{name: write_file, arguments: {path: 1.txt, content: "x\n"}}]
- calls: [{name: write_file, arguments: {path: 2.txt, content: "x\n"}}]
- calls: [{name: write_file, arguments: {path: 3.txt, content: "x\n"}}]
- calls: [{name: write_file, arguments: {path: 4.txt, content: "x\n"}}]
- calls: [{name: write_file, arguments: {path: 5.txt, content: "x\n"}}]
- calls: [{name: write_file, arguments: {path: 6.txt, content: "x\n"}}]
- say: "Done. [TASK_COMPLETE]"
`},
		{name: "a full window", mode: "code", want: []string{"begin"}, anew: shorter, script: `
model: {name: m, tools: true, context: 8192}
select: by-conditions
turns:
- {when: {system_contains: Summarize the work}, say: "Read four files, nothing of use.", repeat: true}
- when: {turn: 0}
  calls: [{name: read_file, arguments: {path: 1.txt}}]
- when: {turn: 1, user_contains: fix}
  calls: [{name: read_file, arguments: {path: 2.txt}}]
- when: {turn: 2}
  calls: [{name: read_file, arguments: {path: 3.txt}}]
- when: {turn: 3}
  calls: [{name: read_file, arguments: {path: 4.txt}}]
- when: {turn: 4}
  calls: [{name: read_file, arguments: {path: 5.txt}}]
- when: {turn: 5}
  calls: [{name: read_file, arguments: {path: 6.txt}}]
- when: {user_contains: summarized}
  calls: [{name: edit_file, arguments: {path: a.txt, old_string: one, new_string: two}}]
- {say: "Done. [TASK_COMPLETE]", repeat: true}
`},
		{name: "a task longer than the window", mode: "code", want: []string{"begin"}, anew: shorter, script: `
model: {name: m, tools: true, context: 8192, enforce_context: true}
turns:
- calls: [{name: read_file, arguments: {path: a.txt}}]
- calls: [{name: read_file, arguments: {path: 1.txt}}]
- calls: [{name: read_file, arguments: {path: b.txt}}]
- calls: [{name: edit_file, arguments: {path: a.txt, old_string: one, new_string: two}}]
- {calls: [{name: write_file, arguments: {path: c.txt, content: "x\n"}}]} # instead of one that was too long
- say: "Done. [TASK_COMPLETE]"
`},
		{name: "a person's mode with the same tools", mode: "code", want: []string{"begin"}, script: head + `
- calls: [{name: edit_file, arguments: {path: a.txt, old_string: one, new_string: two}}]
- say: "Done. [TASK_COMPLETE]"
- when: {last_contains: ["You are in debug mode now", "Find the cause before you change anything", "change it again"]}
  calls: [{name: edit_file, arguments: {path: a.txt, old_string: two, new_string: three}}]
- say: "Done. [TASK_COMPLETE]"
`, between: askedAgain(session.Message{Mode: "debug", Text: "change it again"})},
		{name: "a person's mode with other tools", mode: "code", want: []string{"begin", "mode"}, anew: 1, script: head + `
- calls: [{name: edit_file, arguments: {path: a.txt, old_string: one, new_string: two}}]
- say: "Done. [TASK_COMPLETE]"
- calls: [{name: read_file, arguments: {path: a.txt}}]
- say: "It says two."
`, between: func(b *bench) {
			b.append(session.NewEvent(session.TypeMessage, 0, session.Message{Mode: "ask", Text: "what does it say?"}))
			b.must(session.StatusAnswered)
		}},
		{name: "another model", mode: "code", want: []string{"begin", "model"}, anew: 0, script: head + `
- calls: [{name: edit_file, arguments: {path: a.txt, old_string: one, new_string: two}}]
- say: "Done. [TASK_COMPLETE]"
- calls: [{name: read_file, arguments: {path: a.txt}}]
- calls: [{name: edit_file, arguments: {path: a.txt, old_string: two, new_string: three}}]
- say: "Done. [TASK_COMPLETE]"
`, between: askedAgain(session.Message{Model: "other"}, session.Message{Text: "change it again"})},
	} {
		t.Run(tt.name, func(t *testing.T) {
			files := map[string]string{"a.txt": "one\n", "b.txt": "two\n"}
			for n := range 6 {
				files[fmt.Sprintf("%d.txt", n+1)] = fmt.Sprint(n, "\n", long)
			}
			b := newBench(t, tt.script, files)
			b.task.Mode = tt.mode
			if tt.name == "a task longer than the window" {
				b.task.Text = "fix a.txt " + strings.Repeat("and mind what stands here ", 2000)
			}
			if out, err := b.run(t.Context()); err != nil || out.Status != session.StatusDone {
				t.Fatalf("%v %s: %q", err, out.Reason, b.results()[len(b.results())-1])
			}
			if tt.between != nil {
				tt.between(b)
			}
			want := tt.anew
			for _, n := range events[session.Note](b, session.TypeNote) {
				if tt.anew == shorter && n.Before > 0 {
					want = max(0, want) + 1
				}
			}
			if n := restarts(t, b.model.Requests()); n > want || want < 0 {
				t.Errorf("%d requests began anew, want %d", n, want)
			}
			if got := reasons(b); !slices.Equal(got, tt.want) {
				t.Errorf("the log has the reasons %q, want %q", got, tt.want)
			}
		})
	}
}
