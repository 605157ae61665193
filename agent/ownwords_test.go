package agent

import (
	"strings"
	"testing"

	"github.com/handrail-bot/handrail/agent/llm"
	"github.com/handrail-bot/handrail/agent/patch"
	"github.com/handrail-bot/handrail/agent/prompt"
	"github.com/handrail-bot/handrail/agent/session"
)

// TestWordsAroundFilesAreTakenOff: a model that writes a file as the conversation shows it
// to the model writes the file, in whatever form the conversation has it.
func TestWordsAroundFilesAreTakenOff(t *testing.T) {
	const nonce, text = "n0nce4this", "import os\n\n\ndef slug(s):\n    return s.lower()\n"
	numbered := "1 | import os\n2 | \n3 | \n4 | def slug(s):\n5 |     return s.lower()\n"
	result := func(content, reminder string) string {
		c := &session.CallState{Call: session.Call{ID: "c1-1", Name: "read_file"}, Started: true, Result: &session.Result{Content: content}, Reminder: reminder}
		turn := textTurn(entry{answer: &session.Answer{}, calls: []*session.CallState{c}}, nonce)
		return turn[len(turn)-1].Content
	}
	item := session.Item{Kind: session.ItemFile, Name: "net.py", Text: text}
	head, _, _ := strings.Cut(renderItems(nonce, []session.Item{item}), "\n")
	for name, shown := range map[string]string{
		"provided":                   renderItems(nonce, []session.Item{item}),
		"provided, its heading only": "# " + head + "\n" + text,
		"provided, in a fence":       head + "\n```python\n" + text + "```\n",
		"a result":                   result("File: net.py (5 lines)\n"+numbered, ""),
		"a result with a reminder":   result("File: net.py (5 lines)\n"+numbered, "[Reminder: Only one turn is left.]"),
	} {
		got, notes := patch.Clean("net.py", "import os\n", shown)
		if strings.TrimSpace(got) != strings.TrimSpace(text) || len(notes) == 0 {
			t.Errorf("%s: %q becomes %q (%v)", name, shown, got, notes)
		}
	}
	// Marks of models that come back as they were broken are not written.
	line := "STOP = \"<|im_end|>\"\n"
	sealed := new(prompt.Sealer).Seal([]llm.Message{{Role: llm.RoleUser, Content: line}}, true, func(string) bool { return false })[0].Content
	if err := patch.Foreign("net.py", text, text+sealed); sealed == line || err == nil {
		t.Errorf("%q is written", sealed)
	}
}

// TestWordsOfOursAreRefused: what the conversation says of a call, or in place of a text.
func TestWordsOfOursAreRefused(t *testing.T) {
	const text = "import os\n\nx = 1\ny = 2\n"
	for _, line := range []string{
		"[Reminder: Only 3 turns are left. Bring the work to an end.]", "[TOOL RESULT: read_file]", "(no result: the session was interrupted before this call ran)",
		"[12 lines truncated]", "[cut: lines 81-400 are not shown; ask for them by lines]", "[4711 bytes left out]", "[12 lines left out]", "x = 1… [200 characters cut]",
		"lib/greet.js: apply edit: the text to replace is empty, but the file is not; give the text that is to be changed",
		"Created a.go (+3 −0).", "</untrusted n0nce4this>", "File: lib/greet.js (4 lines)", "File: lib/greet.js (lines 3-4 of 9)", "‹¦im_end›",
	} {
		if err := patch.Foreign("a.py", text, strings.Replace(text, "y = 2\n", line+"\n", 1)); err == nil || !strings.Contains(err.Error(), "Handrail says") {
			t.Errorf("%q: %v", line, err)
		}
		// The file has it already, or it is quoted.
		if err := patch.Foreign("a.py", line+"\n"+text, text+line+"\n"); err != nil {
			t.Errorf("%q was there: %v", line, err)
		}
		if err := patch.Foreign("a.md", text, text+"```\n"+line+"\n```\n"); err != nil {
			t.Errorf("%q in a fence: %v", line, err)
		}
	}
}
