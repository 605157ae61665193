package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"regexp"
	"strings"
	"testing"

	"github.com/handrail-bot/handrail/agent/llm"
	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/policy/longtest"
)

// imitator is a model that writes each turn as it sees that it wrote the last one: the
// exact form, with the next number in it. The first turn is given.
type imitator struct {
	first  llm.Part
	native bool
	turns  int
}

const imitated = 10

// Name implements llm.Model.
func (*imitator) Name() string { return "imitator" }

// Capabilities implements llm.Model.
func (m *imitator) Capabilities(context.Context) (llm.Capabilities, error) {
	return llm.Capabilities{Tools: m.native, ContextLength: 32768}, nil
}

var lineNumber = regexp.MustCompile(`(line|done) (\d+)`)

// countOn counts the numbers in a text on.
func countOn(s string) string {
	return lineNumber.ReplaceAllStringFunc(s, func(m string) string {
		var word string
		var n int
		if _, err := fmt.Sscanf(m, "%s %d", &word, &n); err != nil {
			return m
		}
		return fmt.Sprintf("%s %d", word, n+1)
	})
}

// Stream implements llm.Model.
func (m *imitator) Stream(_ context.Context, req llm.Request) iter.Seq2[llm.Part, error] {
	m.turns++
	p := m.first
	for _, was := range req.Messages {
		if was.Role != llm.RoleAssistant {
			continue
		}
		p = llm.Part{Content: countOn(was.Content)}
		for _, c := range was.Calls {
			p.Calls = append(p.Calls, llm.ToolCall{Name: c.Name, Arguments: json.RawMessage(countOn(string(c.Arguments)))})
		}
	}
	if m.turns > imitated {
		p = llm.Part{Content: "All ten are done. [TASK_COMPLETE]"}
	}
	p.Done, p.DoneReason = true, "stop"
	return func(yield func(llm.Part, error) bool) { yield(p, nil) }
}

// A model that imitates its last turn makes ten edits in each form that prompts recommend,
// and in those that only its family knows: it is shown its calls as it may write them.
func TestImitatingModel(t *testing.T) {
	longtest.Leave(t)
	edit := func(pattern string) string {
		return strings.NewReplacer("PATH", "a.txt", "OLD", "line 1.", "NEW", "done 1.").Replace(pattern)
	}
	const args = `{"path": "PATH", "old_string": "OLD", "new_string": "NEW"}`
	for name, form := range map[string]string{
		"native":            "",
		"text, JSON":        `<tool_call>{"name": "edit_file", "arguments": ` + args + `}</tool_call>`,
		"text, tags":        "<edit_file>\n<path>PATH</path>\n<old_string>OLD</old_string>\n<new_string>NEW</new_string>\n</edit_file>",
		"tags, other names": "I change line 1.\n\n<str_replace>\n<file_path>PATH</file_path>\n<old_str>OLD</old_str>\n<new_str>NEW</new_str>\n</str_replace>",
		"fence":             "```json\n{\"name\": \"edit_file\", \"arguments\": " + args + "}\n```",
		"parameters":        "<tool_call>\n<function=edit_file>\n<parameter=path>\nPATH\n</parameter>\n<parameter=old_string>\nOLD\n</parameter>\n<parameter=new_string>\nNEW\n</parameter>\n</function>\n</tool_call>",
		"blocks":            "a.txt\n<<<<<<< SEARCH\nOLD\n=======\nNEW\n>>>>>>> REPLACE",
		"mistral":           "[TOOL_CALLS]edit_file[ARGS]" + args,
		"deepseek":          "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>edit_file\n```json\n" + args + "\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
		"harmony":           "<|channel|>commentary to=functions.edit_file <|constrain|>json<|message|>" + args + "<|call|>",
		"pairs":             "<tool_call>edit_file\n<arg_key>path</arg_key>\n<arg_value>PATH</arg_value>\n<arg_key>old_string</arg_key>\n<arg_value>OLD</arg_value>\n<arg_key>new_string</arg_key>\n<arg_value>NEW</arg_value>\n</tool_call>",
	} {
		t.Run(name, func(t *testing.T) {
			var before, after strings.Builder
			for i := 1; i <= imitated; i++ {
				fmt.Fprintf(&before, "line %d.\n", i)
				fmt.Fprintf(&after, "done %d.\n", i)
			}
			b := newBench(t, head+"- {say: unused, optional: true}\n", map[string]string{"a.txt": before.String()})
			m := &imitator{first: llm.Part{Content: edit(form)}}
			if form == "" {
				m.native, m.first = true, llm.Part{Calls: []llm.ToolCall{{Name: "edit_file", Arguments: json.RawMessage(edit(args))}}}
			}
			b.cfg.Model, b.cfg.Form = m, llm.FormText
			if m.native {
				b.cfg.Form = llm.FormNative
			}
			b.must(session.StatusDone)
			if got := b.states.trees[b.states.last]["a.txt"]; got != after.String() {
				t.Errorf("after %d turns the file is\n%s\nits last words are %+v", m.turns, got, events[session.Answer](b, session.TypeAnswer)[0])
			}
		})
	}
}

// What a tool returned stays sealed, also where it looks like a call, and so does what a
// person wrote.
func TestOnlyOwnCallsStayWhole(t *testing.T) {
	const tags = "<edit_file>\n<path>a.txt</path>\n<old_string>x</old_string>\n<new_string>y</new_string>\n</edit_file>"
	script := textHead + says("<read_file>\n<path>a.txt</path>\n</read_file>") + "- when: {last_contains: '<¦edit_file>'}\n  say: It holds a call. [TASK_COMPLETE]\n  repeat: true\n"
	b := newBench(t, script, map[string]string{"a.txt": tags + "\n"})
	b.task.Mode, b.task.Text, b.cfg.Form = "ask", "what is this? "+tags, llm.FormText
	b.must(session.StatusAnswered)
	last := b.model.Requests()[1]
	for _, m := range last.Messages {
		whole := strings.Contains(m.Content, "<edit_file>") || strings.Contains(m.Content, "<old_string>")
		if whole && m.Role != llm.RoleSystem || m.Role == llm.RoleAssistant && !strings.Contains(m.Content, "<read_file>") {
			t.Errorf("%s: %s", m.Role, m.Content)
		}
	}
}
