package agent

import (
	"fmt"
	"strings"
	"testing"

	"github.com/handrail-bot/handrail/agent/session"
)

// What one call comes to takes at most a fifth of the window: of a file the first lines
// that fit, what is defined in the others, and where to read on. So do matches and output.
func TestResultsTakeAFifth(t *testing.T) {
	var code strings.Builder
	code.WriteString("package big\n\n")
	for i := range 1500 {
		fmt.Fprintf(&code, "// F%d returns a number that nobody needs.\nfunc F%d() int { return %d }\n\n", i, i, i)
	}
	b := newBench(t, `
model: {name: m, tools: true, context: 32768, context_set: 32768}
turns:
- calls: [{name: read_file, arguments: {path: big.go}}]
- calls: [{name: search_workspace, arguments: {query: nobody needs, max_results: 1000}}]
- calls: [{name: run_terminal_command, arguments: {command: "cat big.go"}}]
- say: "Nothing of use. [TASK_COMPLETE]"
- {say: "Nothing. [TASK_COMPLETE]", repeat: true, optional: true}
`, map[string]string{"big.go": code.String()})
	b.task.Text = "what is in the file?"
	b.must(session.StatusAnswered)
	for i, got := range b.results() {
		if tokens := len(got) * 100 / 385; tokens > 32768/5 {
			t.Errorf("result %d takes %d tokens", i, tokens)
		}
	}
	read := b.results()[0]
	if !strings.Contains(read, "\n1 | package big\n") || !strings.Contains(read, " are not shown; read on with \"lines\": \"") || !strings.Contains(read, "In them:]\n") || !strings.Contains(read, " | func F") {
		t.Errorf("of a long file the model is told\n%s\n…\n%s", read[:200], read[len(read)-2500:])
	}
}

// A file that stands above, unchanged, is named and not sent again; asked for once more,
// or changed, or summarized since, it is.
func TestUnchangedFileIsNotSentAgain(t *testing.T) {
	text := strings.Repeat("a line that says nothing of any use to anybody\n", 20)
	read := "- calls: [{name: read_file, arguments: {path: long.txt}}]\n"
	for _, native := range []bool{true, false} {
		b := newBench(t, strings.Replace(head, "tools: true", fmt.Sprintf("tools: %t", native), 1)+strings.ReplaceAll(
			read+"- calls: [{name: read_file, arguments: {path: a.txt}}]\n"+read+read+
				"- calls: [{name: edit_file, arguments: {path: a.txt, old_string: one, new_string: two}}]\n"+read+
				"- calls: [{name: edit_file, arguments: {path: long.txt, old_string: \"a line that says nothing of any use to anybody\\n\", new_string: \"\", replace_all: true}}, {name: read_file, arguments: {path: long.txt}}]\n",
			"- calls", map[bool]string{true: "- calls", false: "- print: true\n  calls"}[native])+
			"- {say: \"Done. [TASK_COMPLETE]\", repeat: true}\n", map[string]string{"long.txt": text, "a.txt": "one\n"})
		b.must(session.StatusDone)
		whole, named := 0, []string{}
		got := b.results()
		for _, r := range got {
			if strings.HasPrefix(r, "File: long.txt (20 lines)\n1 | a line") {
				whole++
			}
			if strings.HasPrefix(r, unchangedSince) {
				named = append(named, r)
			}
		}
		if whole != 2 || len(named) != 2 || !strings.HasPrefix(named[0], "[Unchanged since turn 1. It stands above") || !strings.HasPrefix(named[1], "[Unchanged since turn 4.") {
			t.Errorf("native %t: sent %d times, named %q", native, whole, named)
		}
		if last := got[len(got)-1]; !strings.HasPrefix(last, "File: long.txt (0 lines)") {
			t.Errorf("after it was changed it is %q", last)
		}
	}
}
