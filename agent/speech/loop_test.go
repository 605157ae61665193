package speech

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/handrail-bot/handrail/agent/llm"
	"github.com/handrail-bot/handrail/agent/llm/prose"
	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/policy/longtest"
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

// An answer that goes round in circles is stopped within 200 tokens after the third time,
// and what it said before stays.
func TestCircles(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	phrases := []string{"Wait, I should look at the file again. ", "Let me check the test once more. ", "Hmm, that is not right yet. "}
	paragraph := strings.Repeat("A sentence of the plan with number 4711 in it; ", 3) + "\n\nSecond part of the same plan, quite long as well, until it starts over from the top.\n"
	verbs, things := strings.Fields("check verify inspect review examine confirm ensure consider handle update"), strings.Fields("function variable test module value result error input output state")
	pick := func(of []string) string { return of[random.IntN(len(of))] }
	begin := "First I look at the parser, since the sign is lost there.\n"
	same := map[string]int{"one line": 25, "a paragraph": len(paragraph), "numbered lines": 54, "Chinese": 30, "calls": 76} // bytes of the piece
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
			most := 4400 // where words are judged by their order
			if p, ok := same[name]; ok {
				most = len(begin) + 3*p + 200*bytesPerToken
			}
			if at > most || a.Lost != session.LostLoop || !strings.HasPrefix(said, strings.TrimSpace(begin)) || len(said) > 4000 {
				t.Errorf("%s (thinking: %t): stopped after %d bytes, lost %q, kept %d: %.200q", name, thinks, at, a.Lost, len(said), said)
			}
			if a.AnswerTokens == 0 && len(said) > 0 {
				t.Errorf("%s: it counts for nothing", name)
			}
		}
	}
}

// written are the ways in which a file can stand in an answer.
var written = map[string]func(name, text string) (answer string, in place){
	"prose": func(_, text string) (string, place) { return text, place{} },
	"fence": func(name, text string) (string, place) {
		return "The file is whole now.\n\n" + name + "\n````\n" + text + "\n````\nThat is all.\n", place{}
	},
	"call": func(name, text string) (string, place) {
		arguments, _ := json.Marshal(map[string]string{"content": text, "path": name})
		return `<tool_call>{"name": "write_file", "arguments": ` + string(arguments), place{inCall: true}
	},
}

// noCircle reports an error where a text, as it grows, is taken for one that goes round in
// circles.
func noCircle(t *testing.T, name, text string, in place) {
	t.Helper()
	c := &circles{}
	for end := loopEvery; end < len(text); end += 7 * loopEvery { // not every look, which takes long
		if keep, found := c.look(text[:end], in); found {
			t.Errorf("%s: at byte %d, %d would be kept: …%q", name, end, keep, text[max(0, end-300):end])
			return
		}
	}
}

// circling are endless output, on purpose, and a flood of commands.
var circling = []string{"trunc-false.txt", "ctx-overflow-last-message.txt", "serve_flood.txtar", "ctx-overflow-truncate-false.txt"}

// What people write does not go round in circles: documents, sources, recordings and test
// data of this repository and of the language pass as answers, as files in a fence and as
// files in a call.
func TestNoCircles(t *testing.T) {
	longtest.Leave(t)
	n := 0
	out, err := exec.CommandContext(t.Context(), "go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	src := filepath.Join(strings.TrimSpace(string(out)), "src")
	for _, root := range []string{"..", "../../docs", "../../testdata/script", filepath.Join(src, "encoding"), filepath.Join(src, "strconv")} {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			info, err := d.Info()
			if err != nil || !info.Mode().IsRegular() || info.Size() > 30_000 {
				return err
			}
			b, err := os.ReadFile(path)
			if err != nil || !utf8.Valid(b) || slices.Contains(circling, d.Name()) {
				return err
			}
			if n++; n%3 > 0 && !longtest.Long() {
				return nil
			}
			for way, as := range written {
				if way == "prose" && !slices.Contains([]string{".md", ".go", ".txtar"}, filepath.Ext(path)) {
					continue
				}
				text, in := as(filepath.Base(path), string(b))
				noCircle(t, way+" of "+path, text, in)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if n < 200 {
		t.Errorf("only %d files", n)
	}
}

// repetitive are files that repeat themselves for a reason.
var repetitive = map[string]string{
	"table.md":       "# Results\n\n| a | b | c | d |\n|---|---|---|---|\n" + strings.Repeat("| 0 | 0 | 0 | 0 |\n| 1 | 0 | 2 | 0 |\n", 20) + "That is all of it.\n",
	"verdicts.md":    "| test | first run | second run |\n|---|---|---|\n" + counted(40, "| TestParse%d | passed | passed |\n"),
	"zeros.go":       "package a\n\nvar table = []byte{" + strings.Repeat("0, ", 1000) + "}\n",
	"bytes_test.go":  "package a\n\nvar want = []byte(\"" + strings.Repeat(`\xff`, 400) + "\")\n",
	"matrix.json":    "[\n" + strings.Repeat("  [0, 0, 0, 1, 0, 0, 0, 1],\n", 60) + "  []\n]\n",
	"users.json":     "[\n" + counted(80, `  {"id": %d, "name": "user", "mail": "user@example.com", "active": true},`+"\n") + "]\n",
	"same.json":      "[" + strings.Repeat(`{"id":1,"ok":true},`, 60) + "{}]",
	"users.csv":      "id,name,mail,active\n" + counted(150, "%d,user,user@example.com,true\n"),
	"page.html":      "<ul>\n" + strings.Repeat("  <li>Item</li>\n", 40) + "</ul>\n<table>" + strings.Repeat("<tr><td></td><td></td></tr>", 30) + "</table>\n",
	"cards.html":     strings.Repeat("<p>Lorem ipsum dolor sit amet, consectetur adipiscing elit, sed do eiusmod tempor incididunt ut labore et dolore magna aliqua.</p>\n", 6),
	"app.min.js":     "!function(){" + counted(80, `a[%d]=function(t,e){return t.call(this,e)},`) + strings.Repeat("void 0,", 60) + "}();",
	"style.css":      strings.Repeat(".a { margin: 0; padding: 0; }\n.b { color: red; }\n", 15),
	"hosts.yaml":     "hosts:\n" + strings.Repeat("  - image: alpine\n    command: [sleep, infinity]\n    restart: always\n", 12),
	"add_test.go":    "package a\n\nvar cases = []struct{ a, b, want int }{\n" + counted(120, "\t{a: %[1]d, b: 1, want: %[1]d + 1},\n") + "}\n",
	"asserts.py":     "def test_add():\n" + counted(90, "    assert add(%[1]d, 1) == %[1]d + 1\n"),
	"errors.go":      strings.Repeat("\tif err != nil {\n\t\treturn err\n\t}\n", 18),
	"Makefile":       counted(40, "test%[1]d:\n\tgo test ./part%[1]d\n\n"),
	"lines.txt":      strings.Repeat("the same line of test data\n", 25),
	"art.txt":        strings.Repeat("+--------+--------+\n|        |        |\n", 30),
	"base64.txt":     strings.Repeat("A", 3000),
	"migration.sql":  counted(60, "INSERT INTO users (id, name, active) VALUES (%d, 'user', TRUE);\n"),
	"translation.po": counted(50, "msgid \"key.%d\"\nmsgstr \"\"\n\n"),
}

func counted(n int, format string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, format, i)
	}
	return b.String()
}

// Files repeat themselves: tables, test data, configuration, markup. One that the model
// was shown may do so as long as it did.
func TestNoCirclesInFiles(t *testing.T) {
	for name, text := range repetitive {
		for _, way := range []string{"fence", "call"} {
			answer, in := written[way](name, text)
			noCircle(t, way+" of "+name, answer, in)
		}
	}
	shown := strings.Repeat("a line that the file has many times\n", 100)
	for _, way := range []string{"fence", "call"} {
		answer, _ := written[way]("long.txt", shown)
		for _, known := range []bool{false, true} {
			r := newRecorder(t)
			r.Seen = func(text string) bool { return known && strings.Contains("before\n"+shown+"after\n", text) }
			for at := 0; at < len(answer) && !r.Circles(); at += 40 {
				r.Take(llm.Part{Content: answer[at:min(len(answer), at+40)]})
			}
			if r.Circles() == known {
				t.Errorf("%s, shown to the model: %t, stopped: %t", way, known, r.Circles())
			}
		}
	}
	several := ""
	for _, name := range []string{"a/config.yaml", "b/config.yaml", "c/config.yaml", "d/config.yaml"} { // the same in four places
		several += "`" + name + "`:\n```yaml\n" + repetitive["hosts.yaml"][:200] + "```\n\n"
	}
	for _, part := range []string{"one", "two", "three", "four"} { // edits of one file
		several += "net.py\n```\n<<<<<<< SEARCH\n    return " + part + "\n=======\n    return " + part + " + 1\n>>>>>>> REPLACE\n```\n\n"
	}
	for range 4 { // the same command
		several += "Run the tests again:\n```sh\ngo test ./...\n```\nThen look at what they say of the next part, and go on.\n"
	}
	noCircle(t, "several files", several, place{})
}

// What is thought is written down several times: drafts are no circle, the same words are.
func TestDraftsAreThought(t *testing.T) {
	draft := "net.py\n```python\ndef first(parts):\n    return parts[0] if parts else None\n```\n"
	text := "I write " + draft + "No, an empty list has no first part, so " + draft + "That is right, but what of None? Then " + draft + "So be it."
	noCircle(t, "thinking", text, place{thinks: true})
	if _, found := new(circles).look(text, place{}); !found {
		t.Error("an answer may write a file three times")
	}
}

// Files that came to their end before an answer was stopped count; the one in which it was
// stopped does not, whatever stopped it.
func TestFilesBeforeTheCut(t *testing.T) {
	first, second := "a.txt\n```\nfine\n```\n\n", "b.txt\n```\none\n"
	for name, c := range map[string]struct {
		text string
		late bool
		done llm.Part
		want string // paths, and which are cut
	}{
		"in circles in a file":   {first + second + strings.Repeat("I will fix the bug now.\n", 100), false, llm.Part{}, "a.txt false b.txt true"},
		"in circles in words":    {first + strings.Repeat("I will fix the bug now.\n", 100), false, llm.Part{}, "a.txt false"},
		"the same file for ever": {strings.Repeat("a.txt\n```\nfine, and more words than a command has\n```\n\n", 100), false, llm.Part{}, "a.txt false"},
		"the same file cut":      {first + "a.txt\n```\nfi", false, llm.Part{Done: true, DoneReason: "length"}, "a.txt false"},
		"another version cut":    {first + "a.txt\n```\nbe", false, llm.Part{Done: true, DoneReason: "length"}, "a.txt true"},
		"late":                   {first + second, true, llm.Part{}, "a.txt false b.txt true"},
		"too long":               {first + second, false, llm.Part{Done: true, DoneReason: "length"}, "a.txt false b.txt true"},
		"without the end of it":  {first + second, false, llm.Part{Done: true, DoneReason: "stop"}, "a.txt false b.txt false"},
	} {
		r := newRecorder(t)
		r.Form, r.Prose, r.View = llm.FormFiles, true, prose.View{{Path: "a.txt", Text: "x\n"}, {Path: "b.txt", Text: "y\none\n"}}
		for at := 0; at < len(c.text) && !r.Circles(); at += 40 {
			r.Take(llm.Part{Content: c.text[at:min(len(c.text), at+40)]})
		}
		if c.late {
			r.Stop()
		}
		r.Take(c.done)
		var got []string
		a := r.Answer(1)
		for _, call := range a.Calls {
			var to struct{ Path string }
			if err := json.Unmarshal(call.Arguments, &to); err != nil {
				t.Fatal(err)
			}
			got = append(got, to.Path, fmt.Sprint(call.Truncated))
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: %s, want %s (lost %q)", name, got, c.want, a.Lost)
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
