package agent

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/handrail-bot/handrail/agent/llm"
	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/agent/testrun"
)

// lineBench has a file that the tests accept if says of it is "", and that is in view.
func lineBench(t *testing.T, name, text, script string, says func(text string) string) *bench {
	t.Helper()
	b := newBench(t, filesHead+script, map[string]string{name: text, "other.go": "package a\n\nvar limit = 3\n"})
	b.task.Text = "mend it"
	b.cfg.Form = llm.FormAuto
	b.cfg.Provide = func(context.Context, string, llm.Form) []session.Item {
		return []session.Item{
			{Kind: session.ItemFile, Name: name, Text: text},
			{Kind: session.ItemFile, Name: "other.go", Text: "package a\n\nvar limit = 3\n"},
		}
	}
	b.cfg.Tests = []string{"sh check.sh"}
	b.cfg.RunTests = func(_ context.Context, commit string, lines []string) (session.Verified, error) {
		now := b.states.trees[commit][name]
		v := session.Verified{Tests: &session.TestRun{Line: lines[0]}, Output: says(now)}
		if v.Output != "" {
			v.Tests.Exit = 1
			for _, at := range testrun.Faults(v.Output) {
				at.Path = path.Clean(at.Path)
				v.Faults = append(v.Faults, at)
				v.Faulty = []session.Item{{Kind: session.ItemFile, Name: name, Text: now}}
			}
		}
		return v, nil
	}
	return b
}

// complaint says words about the line of a text that contains wrong, and that the test fails without good.
func complaint(form, wrong, good string) func(string) string {
	return func(text string) string {
		for i, line := range strings.Split(text, "\n") {
			if strings.Contains(line, wrong) {
				return fmt.Sprintf(form, i+1)
			}
		}
		if strings.Contains(text, good) {
			return ""
		}
		return "FAIL: it is not good"
	}
}

const (
	lineOld = "package a\n\nfunc F(s string) string {\n\tout := \"\"\n\tif s == \"\" {\n\t\treturn out\n\t}\n\treturn s\n}\n"
	lineBad = "package a\n\nfunc F(s string) string {\n\tout := \"\"\n\tfor i, r := range s {\n\t\tout += string(r)\n\t}\n\treturn out\n}\n"
)

// A line of the model's change that does not compile is asked for alone, and the edit of the answer
// changes nothing but this line.
func TestOneLineIsRepaired(t *testing.T) {
	const twice = "package a\n\nfunc F() {\n\tx := 1\n\ty := 2\n\tx := 1\n\tz := 2\n}\n"
	in := func(name, text string) string { return name + "\n```\n" + text + "```\n" }
	for name, tt := range map[string]struct {
		file, old, bad, answer, says, wrong, want string
	}{
		"go": {"a.go", lineOld, lineBad, "```\nfor _, r := range s {\n```",
			"./a.go:%d:6: declared and not used: i", "for i, r", strings.Replace(lineBad, "for i,", "for _,", 1)},
		"with its path": {"a.go", lineOld, lineBad, "a.go\n```go\nfor _, r := range s {\n```",
			"./a.go:%d:6: declared and not used: i", "for i, r", strings.Replace(lineBad, "for i,", "for _,", 1)},
		"missing brace": {"a.go", lineOld, lineBad, "Here it is:\n\n```go\n\tfor _, r := range s\n```",
			"./a.go:%d:6: declared and not used: i", "for i, r", strings.Replace(lineBad, "for i,", "for _,", 1)},
		"python": {"a.py", "def f(a):\n    return a\n", "def f(a):\n    if a = 1:\n        return 2\n    return a\n", "```python\nif a == 1\n```",
			"  File \"a.py\", line %d\n    if a = 1:\n         ^\nSyntaxError: invalid syntax", "a = 1", "def f(a):\n    if a == 1:\n        return 2\n    return a\n"},
		"a line that is there twice": {"a.go", "package a\n\nfunc F() {\n}\n", strings.Replace(twice, "y := 2", "x := 1", 1), "```go\ny := 2\n```",
			"./a.go:5:4: no new variables", "\tx := 1", twice},
		"two lines for one, with their neighbor": {"a.go", lineOld, lineBad, "```go\nout := \"\"\nn := 0\nfor _, r := range s {\n```",
			"./a.go:%d:6: declared and not used: i", "for i, r", strings.Replace(lineBad, "for i,", "n := 0\n\tfor _,", 1)},
	} {
		t.Run(name, func(t *testing.T) {
			says := complaint(tt.says, tt.wrong, tt.want)
			if name == "a line that is there twice" {
				says = func(text string) string {
					if text == tt.bad {
						return "./a.go:5:4: no new variables"
					}
					return ""
				}
			}
			b := lineBench(t, tt.file, tt.old, fmt.Sprintf(`
- text: %q
- when: {user_contains: ["The compiler says:", "This line is wrong:", "Write this line corrected, alone, in a code fence."], lacks: ["Make this change", "mend it"]}
  text: %q
`, in(tt.file, tt.bad), tt.answer), says)
			b.must(session.StatusDone)
			if diff := cmp.Diff(tt.want, b.states.trees[b.states.last][tt.file]); diff != "" {
				t.Error(diff)
			}
			if n := len(b.model.Requests()[1].Messages); n != 2 {
				t.Errorf("%d messages in the request for the line, want the system's and the user's", n)
			}
			notes := events[session.Note](b, session.TypeNote)
			if last := notes[len(notes)-1]; last.Line == nil || last.Line.Path != tt.file || last.Kind != session.NoteTests {
				t.Errorf("the place is not in the log: %+v", last)
			}
		})
	}
}

// Answers that are no corrected line, and complaints that stay, end in the existing ways: the model
// is asked for a line twice at most, and never for the same with the same complaint.
func TestOneLineIsNotRepaired(t *testing.T) {
	good := strings.Replace(lineBad, "for i,", "for _,", 1)
	whole := fmt.Sprintf("%q", "a.go\n```\n"+good+"```\n")
	for name, script := range map[string]string{
		"a line of another file": "- text: \"```go\\nvar limit = 3\\n```\"\n- {when: {lacks: [\"This line is wrong\"]}, text: " + whole + "}\n",
		"a path of another file": "- text: \"other.go\\n```go\\nvar limit = 4\\n```\"\n- {when: {lacks: [\"This line is wrong\"]}, text: " + whole + "}\n",
		"prose":                  "- text: \"I would use an underscore there.\"\n- {when: {user_contains: [\"The tests fail with your last version.\", \"for i, r\"]}, text: " + whole + "}\n",
		"many lines":             "- text: \"```go\\na()\\nb()\\nc()\\nd()\\ne()\\ng()\\n```\"\n- {when: {lacks: [\"This line is wrong\"]}, text: " + whole + "}\n",
		"a copy":                 "- text: \"```go\\nfor i, r := range s {\\n```\"\n- {when: {user_contains: [\"The tests fail with your last version.\", \"for i, r\"]}, text: " + whole + "}\n",
		"a whole file":           "- text: " + whole + "\n",
		"a line with another error": "- text: \"```go\\nfor i, q := range s {\\n```\"\n- {when: {user_contains: [\"This line is wrong\", \"for i, q\"]}, text: \"```go\\nfor i, p := range s {\\n```\"}\n" +
			"- {when: {user_contains: [\"The tests fail with your last version.\", \"for i, r\", \"for i, q\", \"for i, p\"]}, text: " + whole + "}\n",
	} {
		t.Run(name, func(t *testing.T) {
			b := lineBench(t, "a.go", lineOld, "\n- text: "+fmt.Sprintf("%q", "a.go\n```\n"+lineBad+"```\n")+"\n"+script,
				complaint("./a.go:%d:6: declared and not used: i", "for i,", "for _,"))
			b.must(session.StatusDone)
			if got := b.states.trees[b.states.last]; got["a.go"] != good {
				t.Errorf("%q", got)
			}
			if notes := events[session.Note](b, session.TypeNote); !slices.ContainsFunc(notes, func(n session.Note) bool { return n.Line != nil }) {
				t.Errorf("the line was not asked for: %+v", notes)
			}
			if got := b.states.trees[b.states.last]["other.go"]; got != "package a\n\nvar limit = 3\n" {
				t.Errorf("other.go is %q", got)
			}
		})
	}
}

// A line that was there before, and one in a file that the model never saw, are not asked for.
func TestOldLineIsNotAskedFor(t *testing.T) {
	b := lineBench(t, "a.go", lineOld, fmt.Sprintf(`
- text: %q
- when: {user_contains: ["The tests fail with your last version."]}
  text: %q
`, "a.go\n```\n"+lineBad+"```\n", "a.go\n```\n"+strings.Replace(lineBad, "for i,", "for _,", 1)+"```\n"),
		func(text string) string {
			if strings.Contains(text, "for i,") {
				return "./a.go:4:2: bad\n./.env:1:1: bad"
			}
			return ""
		})
	run := b.cfg.RunTests
	b.cfg.RunTests = func(ctx context.Context, commit string, lines []string) (session.Verified, error) {
		v, err := run(ctx, commit, lines)
		v.Faulty = append(v.Faulty, session.Item{Kind: session.ItemFile, Name: ".env", Text: "KEY=1\n"})
		return v, err
	}
	b.must(session.StatusDone)
}

// The log alone tells which line the next answer corrects.
func TestLineIsInTheLog(t *testing.T) {
	b := lineBench(t, "a.go", lineOld, fmt.Sprintf("\n- text: %q\n- text: %q\n", "a.go\n```\n"+lineBad+"```\n", "```\nfor _, r := range s {\n```"),
		complaint("./a.go:%d:6: declared and not used: i", "for i,", "for _,"))
	b.must(session.StatusDone)
	all, err := b.log.Events(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	h, asked := newHistory(func(tool string) bool { return tool == "put_file" || tool == "apply_diff" }), 0
	for _, e := range all {
		if err := h.apply(e); err != nil {
			t.Fatal(err)
		}
		l := h.talk.asked()
		if l == nil {
			continue
		}
		if asked++; l.Path != "a.go" || l.Lines[l.At] != "\tfor i, r := range s {" || len(h.claims.lines) != 1 || h.claims.red != 0 {
			t.Errorf("the line is %+v after %d lines", l, len(h.claims.lines))
		}
		said := h.talk.messages(llm.FormFiles)
		if want := b.model.Requests()[1].Messages; len(said) != 1 || said[0].Content != want[len(want)-1].Content {
			t.Errorf("the request is %+v, want %+v", said, want)
		}
	}
	if asked == 0 || h.talk.asked() != nil {
		t.Errorf("asked %d times; in the end %v", asked, h.talk.asked())
	}
}
