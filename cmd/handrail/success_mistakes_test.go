package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/handrail-bot/handrail/agent/llm/llmtest"
)

// A mistake is a turn as small models spoil it. A model makes it again, thrice at most,
// until what it is told has until in it.
type mistake struct {
	name  string
	until string
	turn  func(m *badModel, h request) (llmtest.Turn, bool) // false: it does not fit this step
}

func says(text string) func(*badModel, request) (llmtest.Turn, bool) {
	return func(*badModel, request) (llmtest.Turn, bool) { return llmtest.Turn{Say: text}, true }
}

func misdoes(d llmtest.Misdeed) func(*badModel, request) (llmtest.Turn, bool) {
	return func(*badModel, request) (llmtest.Turn, bool) {
		return llmtest.Turn{Say: "I will look at it.\n", Misdo: d}, true
	}
}

var mistakes = []mistake{
	{"prose instead of a call", "", says("I will look at the file now and then change what is wrong in it.")},
	{"done in words", "", says("I have fixed it. All tests pass. [TASK_COMPLETE]")},
	{"done by a call", "", func(m *badModel, h request) (llmtest.Turn, bool) {
		return m.call(h, "attempt_completion", map[string]any{"result": "It is fixed and all tests pass."}), true
	}},
	{"an empty answer", "", says("\n")},
	{"a dropped call to an unlisted name", "edit_file", func(m *badModel, h request) (llmtest.Turn, bool) {
		t := m.call(h, "replace_in_file", map[string]any{"path": m.fault.File, "diff": m.fault.Right})
		t.Misdo.DropCalls = !t.Print
		return t, true
	}},
	{"broken JSON", "", func(m *badModel, h request) (llmtest.Turn, bool) {
		name, args := m.wanted()
		t := m.call(h, name, nil)
		text := asJSON(args)
		t.Calls[0].Arguments = strings.Replace(text, `":"`, `": "`, 1)[:len(text)-3]
		t.Misdo.DropCalls = !t.Print
		return t, true
	}},
	{"a garbled XML call", "", misdoes(llmtest.Misdeed{Error: "XML syntax error on line 3: unexpected EOF"})},
	{"an answer cut by its length", "", func(*badModel, request) (llmtest.Turn, bool) {
		return llmtest.Turn{Say: "Let me think about what the report means. First of all, it", Reason: "length"}, true
	}},
	{"a line again and again", "", misdoes(llmtest.Misdeed{Loop: true})},
	{"an edit wrong by one character", "", func(m *badModel, h request) (llmtest.Turn, bool) {
		if m.step != stepEdit {
			return llmtest.Turn{}, false
		}
		m.sent = sentStep
		was, at := m.there(), len(m.there())/2
		return m.call(h, "edit_file", map[string]any{"path": m.fault.File, "old_string": was[:at] + "_" + was[at+1:], "new_string": m.fault.Right}), true
	}},
	{"another program's editor", "", func(m *badModel, h request) (llmtest.Turn, bool) {
		if m.step != stepEdit {
			return llmtest.Turn{}, false
		}
		m.sent = sentStep
		return m.call(h, "str_replace_editor", map[string]any{"command": "str_replace", "path": m.fault.File, "old_str": m.there(), "new_str": m.fault.Right}), true
	}},
	{"wrong names of arguments", "", func(m *badModel, h request) (llmtest.Turn, bool) {
		name, args := m.wanted()
		m.sent = sentStep
		switch m.step {
		case stepRead:
			args = map[string]any{"file_name": m.fault.File}
		case stepEdit:
			args = map[string]any{"file": m.fault.File, "search": m.there(), "replace": m.fault.Right}
		case stepTest:
			args = map[string]any{"cmd": []string{"bash", "-lc", m.test}}
		}
		return m.call(h, name, args), true
	}},
	{"a lone block of bash", "", func(m *badModel, _ request) (llmtest.Turn, bool) {
		if m.step != stepTest {
			return llmtest.Turn{}, false
		}
		m.sent = sentStep
		return llmtest.Turn{Say: "```bash\n" + m.test + "\n```"}, true
	}},
	{"SEARCH/REPLACE", "", func(m *badModel, _ request) (llmtest.Turn, bool) {
		if m.step != stepEdit {
			return llmtest.Turn{}, false
		}
		m.sent = sentStep
		return llmtest.Turn{Say: fmt.Sprintf("%s\n```\n<<<<<<< SEARCH\n%s\n=======\n%s\n>>>>>>> REPLACE\n```\n", m.fault.File, m.there(), m.fault.Right)}, true
	}},
	{"apply_patch", "", func(m *badModel, _ request) (llmtest.Turn, bool) {
		if m.step != stepEdit {
			return llmtest.Turn{}, false
		}
		m.sent = sentStep
		return llmtest.Turn{Say: "*** Begin Patch\n*** Update File: " + m.fault.File + "\n@@\n" + each("-", m.there()) + each("+", m.fault.Right) + "*** End Patch\n"}, true
	}},
	{"bare JSON behind prose", "", func(m *badModel, _ request) (llmtest.Turn, bool) {
		name, args := m.wanted()
		m.sent = sentStep
		return llmtest.Turn{Say: "I will do the next step.\n\n" + asJSON(map[string]any{"name": name, "arguments": args})}, true
	}},
	{"a plan in another language", "", says("Zuerst lese ich die Datei, dann behebe ich den Fehler. 首先我会读取文件，然后修复错误。")},
	{"a call in a block of JSON", "", func(m *badModel, _ request) (llmtest.Turn, bool) {
		name, args := m.wanted()
		m.sent = sentStep
		return llmtest.Turn{Say: "```json\n" + asJSON(map[string]any{"name": name, "arguments": args}) + "\n```"}, true
	}},
	{"an answer that is all thinking", "", func(*badModel, request) (llmtest.Turn, bool) {
		return llmtest.Turn{Think: "Let me think. The report says that it fails. I should read the file first."}, true
	}},
	{"thinking that does not end", "End the thinking", func(m *badModel, _ request) (llmtest.Turn, bool) {
		name, args := m.wanted()
		return llmtest.Turn{Say: "<think>I should do the next step.\n<tool_call>" + asJSON(map[string]any{"name": name, "arguments": args}) + "</tool_call>"}, true
	}},
	{"many wrong calls at once", "", func(m *badModel, h request) (llmtest.Turn, bool) {
		t := m.call(h, "read_file", map[string]any{"path": m.fault.File, "no_such_argument": 1})
		for range 8 {
			t.Calls = append(t.Calls, t.Calls[0])
		}
		return t, true
	}},
	{"arguments encoded twice", "", func(m *badModel, h request) (llmtest.Turn, bool) {
		name, args := m.wanted()
		m.sent = sentStep
		t := m.call(h, name, nil)
		t.Calls[0].Arguments = asJSON(asJSON(args))
		return t, true
	}},
	{"a list that does not end", "", func(m *badModel, _ request) (llmtest.Turn, bool) {
		var list strings.Builder
		does, on := [...]string{"check", "verify", "inspect", "review", "confirm"}, [...]string{"function", "test", "module", "value", "result"}
		for n := range 400 {
			fmt.Fprintf(&list, "%d. I %s the %s and %s the %s.\n", n+1, does[m.rng.IntN(5)], on[m.rng.IntN(5)], does[m.rng.IntN(5)], on[m.rng.IntN(5)])
		}
		return llmtest.Turn{Say: list.String()}, true
	}},
	{"a path of another machine", "", func(m *badModel, h request) (llmtest.Turn, bool) {
		name, args := m.wanted()
		if args["path"] == nil {
			return llmtest.Turn{}, false
		}
		m.sent = sentStep
		args["path"] = "/home/user/repo/" + m.fault.File
		return m.call(h, name, args), true
	}},
	{"arguments of wrong types", "", func(m *badModel, h request) (llmtest.Turn, bool) {
		name, args := m.wanted()
		m.sent = sentStep
		for k, v := range args {
			args[k] = []any{v}
		}
		return m.call(h, name, args), true
	}},
	{"the same call twice at once", "", func(m *badModel, h request) (llmtest.Turn, bool) {
		m.sent = sentStep
		t := m.right(h)
		t.Calls = append(t.Calls, t.Calls...)
		return t, true
	}},
	{"the edit before the file was read", "", func(m *badModel, h request) (llmtest.Turn, bool) {
		if m.step != stepRead {
			return llmtest.Turn{}, false
		}
		return m.call(h, "edit_file", map[string]any{"path": m.fault.File, "old_string": "a line that is not there", "new_string": m.fault.Right}), true
	}},
	{"a needless question", "", func(m *badModel, h request) (llmtest.Turn, bool) {
		return m.call(h, "ask_followup_question", map[string]any{"question": "Shall I mend it now?"}), true
	}},
	{"an edit that mends nothing", "", func(m *badModel, h request) (llmtest.Turn, bool) {
		if m.step != stepEdit || m.broken {
			return llmtest.Turn{}, false
		}
		m.sent = sentWorse
		return m.call(h, "edit_file", map[string]any{"path": m.fault.File, "old_string": m.there(), "new_string": m.worse()}), true
	}},
	{"a prompt that is too long", "", misdoes(llmtest.Misdeed{TooLong: true})},
	{"a runner that dies", "", misdoes(llmtest.Misdeed{DieAfter: 40})},
	{"a busy server", "", misdoes(llmtest.Misdeed{Status: http.StatusServiceUnavailable})},
}

func asJSON(v any) string {
	data, err := json.Marshal(v)
	if err != nil { // maps of strings only
		return err.Error()
	}
	return string(data)
}

// each puts a mark before each line.
func each(mark, text string) string {
	var out strings.Builder
	for line := range strings.Lines(text) {
		out.WriteString(mark + strings.TrimSuffix(line, "\n") + "\n")
	}
	return out.String()
}

// mistake is a turn with that mistake, where it fits.
func (m *badModel) mistake(name string, h request) (llmtest.Turn, bool) {
	for _, x := range mistakes {
		if x.name == name {
			t, ok := x.turn(m, h)
			if ok && x.until != "" {
				m.again = name
			}
			return t, ok
		}
	}
	return llmtest.Turn{}, false
}
