package agent

import (
	"fmt"
	"strings"
	"testing"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/policy/longtest"
)

// A session that makes no progress is told, and then ends: circles of two whose results
// differ in nothing but numbers, that are refused in other words, or undo themselves.
func TestStuckSessionEnds(t *testing.T) {
	longtest.Leave(t)
	circle := func(first, second string) string {
		var b strings.Builder
		for i := range 30 {
			line := []string{first, second}[i%2]
			fmt.Fprintf(&b, "- {%s, optional: true}\n", strings.ReplaceAll(line, "{i}", fmt.Sprint(i)))
		}
		return b.String()
	}
	call := func(name, args string) string { return "calls: [{name: " + name + ", arguments: {" + args + "}}]" }
	for name, turns := range map[string]string{
		"two reads":       circle(call("read_file", "path: a.txt"), call("read_file", "path: b.txt")),
		"times":           circle(call("run_terminal_command", `command: "date +%N; cat a.txt"`), call("read_file", "path: b.txt")),
		"refused":         circle(call("read_file", "path: nothing{i}.txt"), call("read_file", "path: b.txt")),
		"done and undone": circle(call("edit_file", "path: a.txt, old_string: one, new_string: two"), call("edit_file", "path: a.txt, old_string: two, new_string: one")),
		"three":           "- {calls: [{name: list_files, arguments: {}}], optional: true}\n" + circle(call("read_file", "path: a.txt, lines: 1-{i}"), call("search_workspace", "query: two")),
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, head+turns, map[string]string{"a.txt": "one\n", "b.txt": "two\n"})
			out := b.must(session.StatusFailed)
			if !strings.Contains(out.Reason, "stuck: in 10 turns it saw nothing new") && !strings.Contains(out.Reason, "mistakes in a row") || out.Turns > 25 {
				t.Errorf("after %d turns: %s", out.Turns, out.Reason)
			}
			if said := b.notes(session.NoteReminder); strings.Count(said, "you go in a circle") != 1 {
				t.Errorf("the model is told %q", said)
			}
		})
	}
}

// Work that goes on is none: other files, other commands without output, an edit after the
// other, and a wait for a command in the background.
func TestProgressIsNoCircle(t *testing.T) {
	files := map[string]string{"a.txt": "one\n"}
	script := head
	for i := range 14 {
		files[fmt.Sprintf("%d.txt", i)] = strings.Repeat("x", i+1) + "\n"
		args := []string{
			fmt.Sprintf(`{name: read_file, arguments: {path: %d.txt}}`, i), fmt.Sprintf(`{name: run_terminal_command, arguments: {command: "test -f %d.txt"}}`, i),
			fmt.Sprintf(`{name: edit_file, arguments: {path: a.txt, old_string: "one", new_string: "one%d"}}`, i), `{name: read_output, arguments: {id: b1, wait: 0}}`,
		}[i%4]
		if i == 0 {
			args = `{name: run_terminal_command, arguments: {command: "sleep 1000", background: true}}`
		}
		script += "- calls: [" + args + "]\n"
	}
	b := newBench(t, script+"- {say: \"Done. [TASK_COMPLETE]\", repeat: true}\n", files)
	b.must(session.StatusDone)
	if said := b.notes(session.NoteReminder); strings.Contains(said, "circle") {
		t.Errorf("the model is told %q", said)
	}
}
