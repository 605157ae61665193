package speech

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/handrail-bot/handrail/agent/llm"
	"github.com/handrail-bot/handrail/agent/session"
)

// endless is a text that goes on for ever after its beginning.
func endless(begin string, piece func(n int) string) string {
	b := strings.Builder{}
	b.WriteString(begin)
	for n := 0; b.Len() < 40_000; n++ {
		b.WriteString(piece(n))
	}
	return b.String()
}

// An answer that goes round in circles is stopped after some hundred tokens of it, and
// what it said before stays.
func TestCircles(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	phrases := []string{"Wait, I should look at the file again. ", "Let me check the test once more. ", "Hmm, that is not right yet. "}
	paragraph := strings.Repeat("A sentence of the plan with number 4711 in it; ", 3) + "\n\nSecond part of the same plan, quite long as well, until it starts over from the top.\n"
	verbs, things := strings.Fields("check verify inspect review examine confirm ensure consider handle update"), strings.Fields("function variable test module value result error input output state")
	pick := func(of []string) string { return of[random.IntN(len(of))] }
	begin := "First I look at the parser, since the sign is lost there.\n"
	for name, piece := range map[string]func(int) string{
		"one letter":        func(int) string { return "a" },
		"one line":          func(int) string { return "I will now fix the bug.\n" },
		"a paragraph":       func(int) string { return paragraph },
		"numbered lines":    func(n int) string { return fmt.Sprintf("Attempt %d: I look at the file and see what is wrong.\n", n) },
		"phrases at random": func(int) string { return phrases[random.IntN(len(phrases))] },
		"a list of the same few words": func(n int) string {
			return fmt.Sprintf("%d. %s the %s and %s the %s.\n", n, pick(verbs), pick(things), pick(verbs), pick(things))
		},
		"a paragraph with small changes": func(n int) string {
			return fmt.Sprintf("So the %s has to be looked at again, because the %s could return the wrong sign in step %d, and the test in file %d says that. ", pick(things), pick(things), n, n*7%13)
		},
		"Chinese": func(int) string { return "我再看一遍这个文件。" },
		"calls": func(int) string {
			return "<tool_call>{\"name\": \"read_file\", \"arguments\": {\"path\": \"a.go\"}}</tool_call>\n"
		},
		"zeros in a call": nil,
	} {
		for _, thinks := range []bool{false, true} {
			text := begin
			if piece == nil {
				text = endless(begin+"<tool_call>{\"name\": \"write_file\", \"arguments\": {\"path\": \"a.go\", \"content\": \"", func(int) string { return "0, " })
			} else {
				text = endless(begin, piece)
			}
			r := newRecorder(t)
			at := 0
			for ; at < len(text) && !r.Circles(); at += 40 {
				part := llm.Part{Content: text[at:min(len(text), at+40)]}
				if thinks {
					part = llm.Part{Thinking: part.Content}
				}
				r.Take(part)
			}
			a := r.Answer(1)
			said := a.Content + a.Thinking
			if at > 7000 || a.Lost != session.LostLoop || !strings.HasPrefix(said, strings.TrimSpace(begin)) || len(said) > 4000 {
				t.Errorf("%s (thinking: %t): stopped after %d bytes, lost %q, kept %d: %.200q", name, thinks, at, a.Lost, len(said), said)
			}
			if a.AnswerTokens == 0 && len(said) > 0 {
				t.Errorf("%s: it counts for nothing", name)
			}
		}
	}
}

// What people write does not go round in circles: the documents and sources of this
// repository, tables and test data among them, pass as answers and as files in a call.
func TestNoCircles(t *testing.T) {
	var names []string
	for _, pattern := range []string{"../../docs/*.md", "../../*.md", "../../agent/*.go", "../llm/toolcall/*.go", "../../policy/*/*.go", "../../testdata/script/run_*.txtar"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, found...)
	}
	if len(names) < 80 {
		t.Fatalf("only %d files", len(names))
	}
	table := strings.Repeat("| 0 | 0 | 0 | 0 |\n| 1 | 0 | 2 | 0 |\n", 20)
	for _, name := range append(names, "table", "zeros in a file") {
		var text string
		switch name {
		case "table":
			text = "The result:\n\n| a | b | c | d |\n|---|---|---|---|\n" + table + "That is all of it.\n"
		case "zeros in a file":
			text = "<tool_call>{\"name\": \"write_file\", \"arguments\": {\"path\": \"a.go\", \"content\": \"" + strings.Repeat("0, ", 800) + "\"}}</tool_call>"
		default:
			b, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			text = string(b)
		}
		for end := loopEvery; end < len(text); end += 3 * loopEvery {
			if keep, found := circle(text[:end], loopLeast); found && !strings.HasPrefix(name, "zeros") {
				t.Errorf("%s: at byte %d, %d would be kept: …%q", name, end, keep, text[max(0, end-300):end])
				break
			}
		}
		if name == "zeros in a file" {
			r := newRecorder(t)
			r.Take(llm.Part{Content: text})
			r.Take(llm.Part{Done: true})
			if a := r.Answer(1); a.Lost != "" || len(a.Calls) != 1 {
				t.Errorf("%s: lost %q, %d calls", name, a.Lost, len(a.Calls))
			}
		}
	}
}

// Ollama ends an answer without a word after 30 equal tokens.
func TestStuttered(t *testing.T) {
	for text, want := range map[string]bool{
		"I look. " + strings.Repeat("haha, ", 30): true,
		strings.Repeat("\n", 30):                  true,
		"I look at the file and then":             false,
		"| a | b |\n|----------|----------|\n":    false,
	} {
		r := newRecorder(t)
		r.Take(llm.Part{Content: text})
		if got := r.Stuttered(); got != want {
			t.Errorf("%q: %t", text, got)
		}
	}
}
