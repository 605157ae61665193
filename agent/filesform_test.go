package agent

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/handrail-bot/handrail/agent/llm"
	"github.com/handrail-bot/handrail/agent/llm/prose"
	"github.com/handrail-bot/handrail/agent/prompt"
	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/policy"
	"github.com/handrail-bot/handrail/policy/longtest"
)

// filesHead begins the scripts of a small model without tools.
const filesHead = "model: {name: m, tools: false, context: 32768, parameters: 1500000000}\nturns:\n"

func filesBench(t *testing.T, script string, oldnew ...string) *bench {
	t.Helper()
	b := newBench(t, strings.NewReplacer(oldnew...).Replace(filesHead+script), map[string]string{"a.txt": "one\ntwo\n"})
	b.cfg.Form = llm.FormAuto
	b.cfg.Provide = func(_ context.Context, _ string, form llm.Form) []session.Item {
		if form != llm.FormFiles {
			t.Errorf("the files are looked up for the form %q", form)
		}
		return []session.Item{{Kind: session.ItemFile, Name: "a.txt", Text: "one\ntwo\n"}}
	}
	return b
}

// A small model without tools is shown the file under its path, and its answer is written.
func TestFilesForm(t *testing.T) {
	b := filesBench(t, `
- when: {no_tools: true, user_contains: ["a.txt\n`+"```\\none\\ntwo\\n```"+`\n\nTask: fix a.txt\n\nMake this change."]}
  text: "I changed it.\n\na.txt\n`+"```\\none\\n2\\n```"+`\n"
`)
	out := b.must(session.StatusDone)
	if got := b.states.trees[b.states.last]["a.txt"]; got != "one\n2\n" || out.Summary != "I changed it." || out.Turns != 1 {
		t.Errorf("a.txt is %q after %d turns, the summary %q", got, out.Turns, out.Summary)
	}
}

// An answer without a file is taken back: the next try sees one line in its place, and is
// asked at a higher temperature.
func TestFailedTurnIsTakenBack(t *testing.T) {
	b := filesBench(t, `
- say: "You should change the second line, dear user."
- when: {lacks: ["dear user"], user_contains: ["There was no file in that."]}
  text: "a.txt\n`+"```\\none\\n2\\n```"+`\n"
`)
	b.must(session.StatusDone)
	if got := events[session.Answer](b, session.TypeAnswer); len(got) != 2 || !strings.Contains(got[0].Content, "dear user") {
		t.Errorf("the log has lost an answer: %+v", got)
	}
	if n := len(b.model.Requests()[1].Messages); n != 2 {
		t.Errorf("%d messages in the second request, want two: every second try goes without a worked task", n)
	}
}

// A model that only talks ends soon, and nothing is claimed.
func TestFilesFormGivesUp(t *testing.T) {
	for say, want := range map[string]session.Status{"I am only a poet.": session.StatusAnswered, "I have changed a.txt.": session.StatusNoChanges} {
		b := filesBench(t, `
- {say: "`+say+`", repeat: true}
`)
		out := b.must(want)
		if out.Turns > maxBack+1 {
			t.Errorf("%q: %d turns", say, out.Turns)
		}
	}
}

// Prose after a change that was tried and not made is no answer, whatever it says.
func TestProseAfterATry(t *testing.T) {
	b := filesBench(t, `
- text: "a.txt\n`+"```\\none\\ntwo\\n```"+`\n"
- {say: "The tests fail now. They say nothing.", repeat: true}
`)
	if out := b.must(session.StatusFailed); !strings.Contains(out.Reason, "without a change that could be used") {
		t.Errorf("reason %q", out.Reason)
	}
}

// An answer to a question is taken at once, other prose after one more try; prose that
// claims, announces or shows a change is asked for its file twice.
func TestProseInTheFilesForm(t *testing.T) {
	for _, tt := range []struct {
		task, say string
		turns     int
	}{
		{"what is in a.txt?", "It has two lines, a word each.", 1},
		{"¿qué hay en a.txt?", "Dos líneas.", 1},
		{"fix a.txt", "Both lines are as the documentation says.", 2},
		{"what is in a.txt?", "I will read it now.", 3},
		{"fix a.txt", "I have changed the second line.", 3},
	} {
		b := filesBench(t, fmt.Sprintf("\n- {say: %q, repeat: true}\n", tt.say))
		b.task.Text = tt.task
		out, err := b.run(t.Context())
		if err != nil || out.Turns != tt.turns {
			t.Errorf("%s %q: %s after %d turns, want %d: %v", tt.task, tt.say, out.Status, out.Turns, tt.turns, err)
		}
	}
}

// proof has the tests of a session pass where a.txt holds good.
func (b *bench) proof(good string) *int {
	ran := new(int)
	b.cfg.Tests = []string{"sh check.sh"}
	b.cfg.RunTests = func(_ context.Context, commit string, lines []string) (session.Verified, error) {
		*ran++
		run := &session.TestRun{Line: lines[0]}
		if b.states.trees[commit]["a.txt"] != good {
			run.Exit = 1
		}
		return session.Verified{Tests: run, Output: "FAIL: a.txt is not good"}, nil
	}
	return ran
}

// Work whose tests fail goes back with their words, and counts as done when they pass.
func TestRedGoesBack(t *testing.T) {
	b := filesBench(t, `
- text: "a.txt\n`+"```\\none\\nbad\\n```"+`\n"
- when: {user_contains: ["The tests fail with your last version.", "one\nbad", "FAIL: a.txt is not good"]}
  text: "a.txt\n`+"```\\none\\n2\\n```"+`\n"
`)
	b.proof("one\n2\n")
	out := b.must(session.StatusDone)
	if !strings.HasPrefix(out.Tests, "tests passed in a clean copy: `sh check.sh`") {
		t.Errorf("tests: %q", out.Tests)
	}
}

// A second try that fails, too, starts anew: the files are those of the request, and the
// conversation holds nothing of what was tried. What the tests say of the files as they
// were is told if they failed then.
func TestRedStartsAnew(t *testing.T) {
	b := filesBench(t, `
- text: "a.txt\n`+"```\\none\\nbad\\n```"+`\n"
- when: {user_contains: ["The tests fail with your last version."]}
  text: "a.txt\n`+"```\\nONE\\nworse\\n```"+`\n"
- when: {lacks: ["bad", "worse", "last version"], user_contains: ["fix a.txt", "one\ntwo", "The tests fail now.", "FAIL: a.txt is not good"]}
  text: "`+"```\\n<<<<<<< SEARCH\\none\\n=======\\nfirst\\n>>>>>>> REPLACE\\n```"+`\n"
`)
	b.proof("first\ntwo\n")
	b.must(session.StatusDone)
	if got := b.states.trees[b.states.last]["a.txt"]; got != "first\ntwo\n" {
		t.Errorf("a.txt is %q: it holds something of the earlier tries", got)
	}
	if n := len(b.model.Requests()[2].Messages); n != 4 {
		t.Errorf("%d messages in the third request, want the system's, two of the worked task and the user's", n)
	}
}

// After it starts anew, a sentence about the change stays in view, and the file is asked for.
func TestThoughtAfterStartingAnew(t *testing.T) {
	b := filesBench(t, `
- text: "a.txt\n`+"```\\none\\nbad\\n```"+`\n"
- text: "a.txt\n`+"```\\none\\nworse\\n```"+`\n"
- when: {user_contains: ["First say in one sentence"], lacks: ["worse"]}
  say: "The second line has to be a number."
- when: {contains: ["has to be a number"], user_contains: ["Now make this change."]}
  text: "a.txt\n`+"```\\none\\n2\\n```"+`\n"
`)
	b.proof("one\n2\n")
	b.must(session.StatusDone)
}

// If the request names a function of the files in view, the new attempt does not see its old body,
// which a small model copies. The attempt after that does not see it either, nor the last one.
func TestWrittenAnew(t *testing.T) {
	const text = "RATE = 2\n\n\ndef total(prices):\n    \"\"\"Return their sum.\"\"\"\n    old = prices\n    return old\n\n\ndef rest():\n    return 0\n"
	fenced := func(s string) string { return fmt.Sprintf("%q", "a.py\n```\n"+s+"```\n") }
	bad := func(s string) string { return fenced(strings.Replace(text, "return old", s, 1)) }
	for name, tries := range map[string]string{
		"red":    "- text: " + bad("return old + 1") + "\n- {when: {user_contains: [\"last version\"]}, text: " + bad("return old + 2") + "}\n",
		"copies": strings.Repeat("- {when: {user_contains: [\"old = prices\"]}, text: "+fenced(text)+"}\n", 2),
	} {
		b := newBench(t, filesHead+tries+`
- when: {user_contains: ["    \"\"\"Return their sum.\"\"\"\n    # ...\n", "The body of total is left out above"], lacks: ["old = prices"]}
  text: `+fenced("def total(prices):\n    return max(prices)\n")+`
- when: {user_contains: ["# ...\n", "The tests failed with your last attempt.", "FAIL: total", "left out above"], lacks: ["old = prices", "max(prices)"]}
  text: `+fenced("def total(prices):\n    return sum(prices)\n")+`
`, map[string]string{"a.py": text})
		b.task.Text = "total in a.py should add the prices up"
		b.cfg.Form = llm.FormAuto
		b.cfg.Provide = func(context.Context, string, llm.Form) []session.Item {
			return []session.Item{{Kind: session.ItemFile, Name: "a.py", Text: text}}
		}
		b.cfg.Tests = []string{"sh check.sh"}
		b.cfg.RunTests = func(_ context.Context, commit string, lines []string) (session.Verified, error) {
			run := &session.TestRun{Line: lines[0]}
			if !strings.Contains(b.states.trees[commit]["a.py"], "return sum(prices)") {
				run.Exit = 1
			}
			return session.Verified{Tests: run, Output: "FAIL: total"}, nil
		}
		b.must(session.StatusDone)
		if got := b.states.trees[b.states.last]["a.py"]; !strings.Contains(got, "RATE = 2") || !strings.Contains(got, "def rest") {
			t.Errorf("%s: lost more than the function: %q", name, got)
		}
	}
}

// Names that are words of the language, too, do not hide the function that the request is about. Two that it
// is about are no single one.
func TestNamedFunction(t *testing.T) {
	const text = "def first(x):\n    return x[0]\n\n\ndef unique(x):\n    return list(set(x))\n\n\ndef count(x):\n    return 0\n"
	for task, want := range map[string]string{
		"unique in lists.py should keep the first of each":          "unique",
		"lists.py: `unique` has to keep the order":                  "unique",
		"unique should keep the first":                              "",
		"first and unique in lists.py fail for None":                "",
		"keep the first of each, unique in lists.py does not do so": "unique",
		"fix lists.py": "",
	} {
		if got := namedFunction(task, prose.View{{Path: "lists.py", Text: text}}); got != want {
			t.Errorf("%s: %q, want %q", task, got, want)
		}
	}
}

// Empty lines that an answer loses or adds on its way are no change, unless the model insists on them.
func TestBlankLinesAreNoChange(t *testing.T) {
	const was, loose = "one\n\ntwo\n", "one  \n\n\ntwo\n"
	fenced := func(s string) string { return fmt.Sprintf("- text: %q\n", "a.txt\n```\n"+s+"```\n") }
	for name, c := range map[string]struct{ script, want string }{
		"then changed": {fenced("one\ntwo\n") + fenced("one\n\n2\n"), "one\n\n2\n"},
		"insists":      {fenced(loose) + fenced(loose), loose},
		"at first":     {fenced("1\n\n2\n"), "1\n\n2\n"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, filesHead+c.script, map[string]string{"a.txt": was})
			b.cfg.Form = llm.FormAuto
			b.cfg.Provide = func(context.Context, string, llm.Form) []session.Item {
				return []session.Item{{Kind: session.ItemFile, Name: "a.txt", Text: was}}
			}
			b.must(session.StatusDone)
			if got := b.states.trees[b.states.last]["a.txt"]; got != c.want {
				t.Errorf("a.txt is %q, want %q", got, c.want)
			}
		})
	}
}

// Of an answer to a request for one function only this function is taken: no examples, tests and other
// versions of the rest.
func TestOnlyTheFunction(t *testing.T) {
	const text = "# Prices.\nRATE = 2\n\n\ndef total(prices):\n    return prices\n\n\ndef rest():\n    return 0\n"
	fenced := func(s string) string { return fmt.Sprintf("%q", "a.py\n```\n"+s+"```\n") }
	b := newBench(t, filesHead+strings.Repeat("- {when: {lacks: [\"left out\"]}, text: "+fenced(text)+"}\n", 2)+`
- when: {user_contains: ["The body of total is left out above"]}
  text: `+fenced("RATE = 3\n\ndef total(prices):\n    return sum(prices)\n\ndef rest():\n    return 1\n\ndef test_total():\n    assert total([1]) == 1\n\nprint(total([2]))\n")+`
`, map[string]string{"a.py": text})
	b.task.Text = "total in a.py should add the prices up"
	b.cfg.Form = llm.FormAuto
	b.cfg.Provide = func(context.Context, string, llm.Form) []session.Item {
		return []session.Item{{Kind: session.ItemFile, Name: "a.py", Text: text}}
	}
	b.cfg.Tests = []string{"sh check.sh"}
	b.cfg.RunTests = func(_ context.Context, _ string, lines []string) (session.Verified, error) {
		return session.Verified{Tests: &session.TestRun{Line: lines[0]}}, nil
	}
	b.must(session.StatusDone)
	if got, want := b.states.trees[b.states.last]["a.py"], strings.Replace(text, "return prices", "return sum(prices)", 1); got != want {
		t.Errorf("a.py is %q", got)
	}
}

// The lines of the tests that failed are shown with their output.
func TestFailingLinesAreShown(t *testing.T) {
	b := filesBench(t, `
- text: "a.txt\n`+"```\\none\\nbad\\n```"+`\n"
- when: {user_contains: ["FAIL: a.txt is not good", "This part of check.sh fails:\n\n`+"```sh\\ngrep -qx 2 a.txt\\n```"+`"]}
  text: "a.txt\n`+"```\\none\\n2\\n```"+`\n"
`)
	b.proof("one\n2\n")
	run := b.cfg.RunTests
	b.cfg.RunTests = func(ctx context.Context, commit string, lines []string) (session.Verified, error) {
		v, err := run(ctx, commit, lines)
		v.Lines = []session.Item{{Kind: session.ItemSelection, Name: "check.sh:L3-3", Text: "grep -qx 2 a.txt"}}
		return v, err
	}
	b.must(session.StatusDone)
}

// Of a long file with several functions only those that change are asked for, and the rest stays.
func TestLongFileInParts(t *testing.T) {
	var long strings.Builder
	for i := range 40 {
		fmt.Fprintf(&long, "def f%d(x):\n    # adds a number\n    return x + %d\n\n\n", i, i)
	}
	goMethods := "package a\n\ntype S struct{}\n"
	for i := range 30 {
		goMethods += fmt.Sprintf("\n// F%d adds a number.\nfunc (s *S) F%d(x int) int {\n\treturn x + %d\n}\n", i, i, i)
	}
	for _, tt := range []struct {
		name, text, asks, lacks, answer string
	}{
		{"a.py", long.String(), "below it only the function that changes", "whole new file", "def f7(x):\n    return x - 7\n"},
		{"a.go", goMethods, "below it only the function that changes", "whole new file", "func (s *S) F7(x int) int {\n\treturn x - 7\n}\n"},
		{"a.txt", strings.Repeat("a line of text\n", 200) + "x + 7\n", "below it the whole new file", "only the function", "<<<<<<< SEARCH\nx + 7\n=======\nx - 7\n>>>>>>> REPLACE\n"},
		{"a.py", "def f7(x):\n    return x + 7\n", "below it the whole new file", "only the function", "def f7(x):\n    return x - 7\n"},
	} {
		b := newBench(t, filesHead+fmt.Sprintf("\n- {when: {user_contains: [%q], lacks: [%q]}, text: %q}\n",
			tt.asks, tt.lacks, tt.name+"\n```\n"+tt.answer+"```\n"), map[string]string{tt.name: tt.text})
		b.cfg.Form = llm.FormAuto
		b.cfg.Provide = func(context.Context, string, llm.Form) []session.Item {
			return []session.Item{{Kind: session.ItemFile, Name: tt.name, Text: tt.text}}
		}
		b.must(session.StatusDone)
		if got := b.states.trees[b.states.last][tt.name]; !strings.Contains(got, "x - 7") || len(got) < len(tt.text)-30 {
			t.Errorf("%s: %q", tt.name, got)
		}
	}
}

// Of a file that is shown in part only functions are written, also after an answer that failed.
func TestFileShownInPart(t *testing.T) {
	whole := "class S:\n    LIMIT = 3\n\n    def f(self, x):\n        return x + 7\n\n    def g(self, x):\n        return x + 8\n"
	const part = "    def f(self, x):\n        return x + 7\n"
	b := newBench(t, filesHead+fmt.Sprintf(`
- {when: {user_contains: ["below it only the function that changes"], lacks: ["LIMIT"]}, text: "I would subtract."}
- {when: {user_contains: ["each function that changes"], lacks: ["whole file"]}, text: %q}
`, "a.py\n```python\ndef f(self, x):\n    return x - 7\n```\n"), map[string]string{"a.py": whole})
	b.cfg.Form = llm.FormAuto
	b.cfg.Provide = func(context.Context, string, llm.Form) []session.Item {
		return []session.Item{{Kind: session.ItemFile, Name: "a.py", Text: part, Part: true}}
	}
	b.must(session.StatusDone)
	if got, want := b.states.trees[b.states.last]["a.py"], strings.Replace(whole, "+ 7", "- 7", 1); got != want {
		t.Errorf("got %q", got)
	}
}

// After an answer without a function the whole file is asked for, unless it is too long for that.
func TestWholeAfterParts(t *testing.T) {
	for n, asks := range map[int]string{30: "below it the whole", 200: "each function that changes"} {
		var text strings.Builder
		for i := range n {
			fmt.Fprintf(&text, "def f%d(x):\n    # adds a number\n    return x + %d\n\n\n", i, i)
		}
		changed := strings.Replace(text.String(), "x + 7\n", "x - 7\n", 1)
		b := newBench(t, filesHead+fmt.Sprintf(`
- {when: {user_contains: ["below it only the function that changes"]}, text: "I would subtract."}
- {when: {user_contains: ["There was no file in that.", %q]}, text: %q}
`, asks, "a.py\n```\n"+changed+"```\n"), map[string]string{"a.py": text.String()})
		b.cfg.Form = llm.FormAuto
		b.cfg.Provide = func(context.Context, string, llm.Form) []session.Item {
			return []session.Item{{Kind: session.ItemFile, Name: "a.py", Text: text.String()}}
		}
		b.must(session.StatusDone)
		if got := b.states.trees[b.states.last]["a.py"]; strings.TrimSpace(got) != strings.TrimSpace(changed) {
			t.Errorf("%d functions: %q", n, got[:min(len(got), 300)])
		}
		last := b.model.Requests()[1].Messages
		if both := strings.Contains(last[len(last)-1].Content, "only the function"); both != (n == 200) {
			t.Errorf("%d functions: asked for %q", n, last[len(last)-1].Content)
		}
	}
}

// Answers that are wholly inside a fence are read as those outside of one.
func TestWrappedAnswers(t *testing.T) {
	longtest.Leave(t)
	for _, say := range []string{
		"```\na.txt\n```text\none\n2\n```",
		"```\na.txt\n```text\none\n2\n```\n```\nThat is all.",
		"````markdown\n\na.txt\n```\none\n2\n```\n````",
		"```python\na.txt\n```python\none\n2\n```",
	} {
		b := filesBench(t, says(say))
		b.must(session.StatusDone)
		if got := b.states.trees[b.states.last]["a.txt"]; got != "one\n2\n" {
			t.Errorf("%q: a.txt is %q", say, got)
		}
	}
}

// A file that the model never saw is not replaced by one that it made up.
func TestUnseenIsNotReplaced(t *testing.T) {
	b := newBench(t, filesHead+`
- text: "b.txt\n`+"```\\nnew\\n```"+`\n"
- when: {user_contains: ["you have not seen what is in this file"]}
  text: "a.txt\n`+"```\\none\\n2\\n```"+`\nc.txt\n`+"```\\nnew\\n```"+`\n"
`, map[string]string{"a.txt": "one\ntwo\n", "b.txt": "kept\n"})
	b.cfg.Form = llm.FormAuto
	b.cfg.Provide = func(context.Context, string, llm.Form) []session.Item {
		return []session.Item{{Kind: session.ItemFile, Name: "a.txt", Text: "one\ntwo\n"}}
	}
	b.must(session.StatusDone)
	want := map[string]string{"a.txt": "one\n2\n", "b.txt": "kept\n", "c.txt": "new\n"}
	if diff := cmp.Diff(want, b.states.trees[b.states.last]); diff != "" {
		t.Error(diff)
	}
}

// A file that is in view is not read once more, and a model that only looks is stopped.
func TestLooksEnd(t *testing.T) {
	b := filesBench(t, `
- text: "READ a.txt"
- when: {lacks: ["READ a.txt"], user_contains: ["a.txt is shown above already."]}
  text: "a.txt\n`+"```\\none\\n2\\n```"+`\n"
`)
	b.must(session.StatusDone)
	if n := len(b.model.Requests()[1].Messages); n != 2 {
		t.Errorf("%d messages in the second request", n)
	}
	b = filesBench(t, `
- {text: "SEARCH three"}
- {text: "SEARCH four"}
- {text: "SEARCH five"}
- {text: "SEARCH six"}
- {text: "SEARCH seven"}
- {text: "SEARCH eight", repeat: true}
`)
	if out := b.must(session.StatusFailed); out.Turns > maxLooks+maxBack+1 {
		t.Errorf("%d turns: %s", out.Turns, out.Reason)
	}
}

// A file that was never shown is not replaced, and does not take the change beside it with it.
func TestUnseenBeside(t *testing.T) {
	const tests, right = "a_test.txt\n```\nmine\n```\n", "a.txt\n```\none\n2\n```\n"
	for _, script := range []string{
		fmt.Sprintf("\n- {text: %q}\n", "Both:\n"+right+tests),
		fmt.Sprintf("\n- {text: %q}\n- {when: {user_contains: [\"The file to change is shown above: a.txt.\"]}, text: %q}\n", tests, "Both:\n"+tests+right),
	} {
		b := newBench(t, filesHead+script, map[string]string{"a.txt": "one\ntwo\n", "a_test.txt": "theirs\n"})
		b.cfg.Form = llm.FormAuto
		b.cfg.Provide = func(context.Context, string, llm.Form) []session.Item {
			return []session.Item{{Kind: session.ItemFile, Name: "a.txt", Text: "one\ntwo\n"}}
		}
		out, tree := b.must(session.StatusDone), b.states.trees[b.states.last]
		if tree["a.txt"] != "one\n2\n" || tree["a_test.txt"] != "theirs\n" || !strings.Contains(out.Summary, "Not written, because the model had not read it: `a_test.txt`.") {
			t.Errorf("%q: %q", out.Summary, tree)
		}
	}
}

// Work whose tests stay red is not done, in any form; it is kept.
func TestRedIsNotDone(t *testing.T) {
	for form, script := range map[llm.Form]string{
		llm.FormFiles: filesHead + `
- {text: "a.txt\n` + "```\\none\\n1\\n```" + `\n"}
- {text: "a.txt\n` + "```\\none\\n3\\n```" + `\n"}
- {text: "a.txt\n` + "```\\none\\n4\\n```" + `\n"}
- {text: "a.txt\n` + "```\\none\\n5\\n```" + `\n"}
`,
		llm.FormNative: head + `
- calls: [{name: edit_file, arguments: {path: a.txt, old_string: two, new_string: bad}}]
- {say: "Done. [TASK_COMPLETE]", repeat: true}
`,
	} {
		b := newBench(t, script, map[string]string{"a.txt": "one\ntwo\n"})
		b.cfg.Form = form
		b.cfg.Provide = func(context.Context, string, llm.Form) []session.Item {
			return []session.Item{{Kind: session.ItemFile, Name: "a.txt", Text: "one\ntwo\n"}}
		}
		b.proof("one\ntwo\n")
		out := b.must(session.StatusFailed)
		if !strings.HasPrefix(out.Reason, "Not done: the tests fail.") || len(out.Files) != 1 || out.Summary == "" {
			t.Errorf("%s: %+v", form, out)
		}
		if n := len(events[session.Note](b, session.TypeNote)); n < maxRed {
			t.Errorf("%s: sent back %d times", form, n)
		}
	}
}

// Tests that end neither before nor after the change say nothing about it. If they ended before, the work
// is not done.
func TestEndlessTests(t *testing.T) {
	for _, base := range []int{-1, 0} {
		b := filesBench(t, "\n- {text: \"a.txt\\n```\\none\\n2\\n```\\n\", repeat: true}\n")
		b.cfg.Tests = []string{"sh check.sh"}
		b.cfg.RunTests = func(_ context.Context, commit string, lines []string) (session.Verified, error) {
			run := &session.TestRun{Line: lines[0], Exit: base}
			if strings.Contains(b.states.trees[commit]["a.txt"], "2") {
				run.Exit = -1
			}
			return session.Verified{Tests: run}, nil
		}
		if base < 0 {
			if out := b.must(session.StatusDone); !strings.Contains(out.Tests, "killed before it ended") {
				t.Errorf("tests: %q", out.Tests)
			}
			continue
		}
		out := b.must(session.StatusFailed)
		if !strings.HasPrefix(out.Reason, "Not done: the tests do not end. `sh check.sh` was killed before it ended. The work is kept") {
			t.Errorf("ended with %q", out.Reason)
		}
		if said := b.notes(session.NoteTests); !strings.Contains(said, "The tests do not end with your last version.") {
			t.Errorf("the model was told %q", said)
		}
	}
}

// Tests that are ended by timeout(1), the kernel or a supervisor show as little as those that Handrail ends. Any
// other exit code above 128 is a failure of their own.
func TestEndedByOthers(t *testing.T) {
	for _, tt := range []struct {
		base, now int
		want      session.Status
	}{
		{124, 124, session.StatusDone},
		{137, 137, session.StatusDone},
		{143, 143, session.StatusDone},
		{-1, 137, session.StatusDone},
		{124, -1, session.StatusDone},
		{0, 124, session.StatusFailed},
		{1, 137, session.StatusFailed},
		{139, 139, session.StatusFailed},
	} {
		b := filesBench(t, "\n- {text: \"a.txt\\n```\\none\\n2\\n```\\n\", repeat: true}\n")
		b.cfg.Tests = []string{"timeout 5 sh check.sh"}
		b.cfg.RunTests = func(_ context.Context, commit string, lines []string) (session.Verified, error) {
			run := &session.TestRun{Line: lines[0], Exit: tt.base}
			if strings.Contains(b.states.trees[commit]["a.txt"], "2") {
				run.Exit = tt.now
			}
			return session.Verified{Tests: run}, nil
		}
		b.must(tt.want)
	}
}

// Tests that end neither before nor after the change, but show a failure that they did not show before, are red.
func TestFailureBeforeTheKill(t *testing.T) {
	for _, tt := range []struct {
		base, now session.TestsSay
		want      session.Status
	}{
		{"", session.TestsFailed, session.StatusFailed},
		{session.TestsFailed, session.TestsFailed, session.StatusDone},
		{session.TestsFailed, "", session.StatusDone},
	} {
		b := filesBench(t, "\n- {text: \"a.txt\\n```\\none\\n2\\n```\\n\", repeat: true}\n")
		b.cfg.Tests = []string{"sh check.sh"}
		b.cfg.RunTests = func(_ context.Context, commit string, lines []string) (session.Verified, error) {
			run := &session.TestRun{Line: lines[0], Exit: -1, Says: tt.base}
			if strings.Contains(b.states.trees[commit]["a.txt"], "2") {
				run.Says = tt.now
			}
			return session.Verified{Tests: run}, nil
		}
		if out := b.must(tt.want); tt.want == session.StatusFailed && out.Reason !=
			"Not done: the tests fail. `sh check.sh` was killed before it ended, with a failure in its output that was not there before. The work is kept, and shown as it is." {
			t.Error(out.Reason)
		}
	}
}

// In a project without tests a build that failed meanwhile and succeeds now leaves the work as it is
// everywhere without tests. Tests that are gone are no success.
func TestNoTestsAsBefore(t *testing.T) {
	for name, base := range map[string]session.Verified{
		"no tests":    {Why: "no test ran", Millis: 1},
		"tests":       {Tests: &session.TestRun{}, Millis: 1},
		"none opened": {Why: "another reason"},
	} {
		b := filesBench(t, "\n- {text: \"a.txt\\n```\\none\\nbad\\n```\\n\"}\n"+
			"- {text: \"a.txt\\n```\\none\\n2\\n```\\n\", repeat: true}\n")
		b.cfg.Tests = []string{"sh check.sh"}
		b.cfg.RunTests = func(_ context.Context, commit string, lines []string) (session.Verified, error) {
			switch text := b.states.trees[commit]["a.txt"]; {
			case strings.Contains(text, "bad"):
				return session.Verified{Tests: &session.TestRun{Line: lines[0], Exit: 1}, Millis: 1}, nil
			case strings.Contains(text, "2"):
				return session.Verified{Why: "no test ran", Millis: 1}, nil
			}
			return base, nil
		}
		want := session.StatusFailed
		if name == "no tests" {
			want = session.StatusDone
		}
		if out := b.must(want); want == session.StatusFailed && !strings.Contains(out.Reason, "could not be run again: no test ran") {
			t.Errorf("%s: ended with %q", name, out.Reason)
		}
	}
}

// The limits of single mistakes do not add up: a model that makes all of them in turns is ended.
func TestTriesEnd(t *testing.T) {
	for size, want := range map[string]int{"1500000000": maxTries, "135000000": maxTinyTries} {
		var script strings.Builder
		for n := range want {
			answer := fmt.Sprintf("one\\n%d", n)
			if n%3 < 2 {
				answer = fmt.Sprintf("<<<<<<< SEARCH\\nline %d\\n=======\\nx\\n>>>>>>> REPLACE", n)
			}
			fmt.Fprintf(&script, "- text: \"a.txt\\n```\\n%s\\n```\\n\"\n", answer)
		}
		b := filesBench(t, "\n"+script.String(), "1500000000", size)
		b.proof("good")
		b.must(session.StatusFailed)
		if n := len(b.model.Requests()); n != want {
			t.Errorf("%s parameters: asked %d times, want %d", size, n, want)
		}
	}
}

// A small model that writes whole files sees a worked task first. Its file is not written.
func TestWorkedTask(t *testing.T) {
	const script = "\n- {text: \"price.py\\n```\\ndef price(net):\\n    return 1\\n```\\n\"}\n" +
		"- {when: {user_contains: [\"belongs to another task\"]}, text: \"a.txt\\n```\\none\\n2\\n```\\n\"}\n"
	b := filesBench(t, script)
	b.must(session.StatusDone)
	if files := b.states.trees[b.states.last]; files["price.py"] != "" || files["a.txt"] != "one\n2\n" {
		t.Errorf("the files are %q", files)
	}
	long := "package a\n\n" + strings.Repeat("// A line.\n", maxWhole/10)
	const words = "fix it"
	for name, tt := range map[string]struct {
		head, say, path, text string
		want                  bool
	}{
		"small":             {filesHead, words, "a.go", "package a\n", true},
		"large":             {strings.Replace(head, "tools: true", "tools: false, parameters: 70000000000", 1), words, "a.go", "package a\n", false},
		"a long file":       {filesHead, words, "a.go", long, false},
		"the sample's name": {filesHead, words, "shop/price.py", "x = 1\n", false},
		"asked for":         {filesHead, "move this to price.py", "a.py", "x = 1\n", false},
	} {
		b := newBench(t, tt.head+"\n- {text: It cannot be done., repeat: true}\n", map[string]string{tt.path: tt.text})
		b.cfg.Form, b.task.Text = llm.FormFiles, tt.say
		b.cfg.Provide = func(context.Context, string, llm.Form) []session.Item {
			return []session.Item{{Kind: session.ItemFile, Name: tt.path, Text: tt.text}}
		}
		if _, err := b.run(t.Context()); err != nil {
			t.Fatal(err)
		}
		first := b.model.Requests()[0].Messages
		if got := len(first) == 4 && strings.HasPrefix(first[2].Content, prompt.WorkedFile); got != tt.want {
			t.Errorf("%s: %d messages, a worked task %v", name, len(first), got)
		}
	}
}

// An answer that was cut off is taken back: the model sees neither it nor words about tools.
func TestCutIsTakenBack(t *testing.T) {
	b := filesBench(t, "\n- text: \"a.txt\\n```\\n"+strings.Repeat("I will fix it now.\\n", 100)+"\"\n- text: \"a.txt\\n```\\none\\ngood\\n```\\n\"\n")
	b.must(session.StatusDone)
	last := b.model.Requests()[1]
	var all strings.Builder
	for _, m := range last.Messages {
		all.WriteString(m.Content)
	}
	if s := all.String(); strings.Contains(s, "I will fix it") || strings.Contains(s, "tool") || !strings.Contains(s, "That said the same again and again.") {
		t.Errorf("the second request is %s", s)
	}
}

// A model may insist on work whose tests failed before, too. It is not believed if a file that it changed newly does not
// compile, or if it is a small one.
func TestInsistsOnRed(t *testing.T) {
	large, small := head, strings.Replace(head, "tools: true", "tools: true, parameters: 1500000000", 1)
	for name, c := range map[string]struct {
		head, base string
		fault      bool
		want       session.Status
	}{
		"the same failure":     {large, "FAIL: a.txt is not good", false, session.StatusDone},
		"does not compile":     {large, "FAIL: a.txt is not good", true, session.StatusFailed},
		"did not compile, too": {large, "a.txt:1:1: no such word", true, session.StatusDone},
		"a small model":        {small, "FAIL: a.txt is not good", false, session.StatusFailed},
	} {
		b := newBench(t, c.head+`
- calls: [{name: edit_file, arguments: {path: a.txt, old_string: two, new_string: bad}}]
- {say: "Done. [TASK_COMPLETE]", repeat: true}
`, map[string]string{"a.txt": "one\ntwo\n"})
		b.cfg.Form = llm.FormNative
		b.cfg.Tests = []string{"sh check.sh"}
		b.cfg.RunTests = func(_ context.Context, commit string, lines []string) (session.Verified, error) {
			out := session.Verified{Tests: &session.TestRun{Line: lines[0], Exit: 1}, Output: c.base}
			if strings.Contains(b.states.trees[commit]["a.txt"], "bad") && c.fault {
				out.Faults = []session.Fault{{Path: "a.txt", Line: 2, Says: "a.txt:2:1: no such word"}}
			}
			return out, nil
		}
		if out, err := b.run(t.Context()); err != nil || out.Status != c.want {
			t.Errorf("%s: %+v, %v", name, out, err)
		}
	}
}

// A command of the tests that the policy does not allow is not run.
func TestTestsPassTheGate(t *testing.T) {
	b := newBench(t, head+`
- calls: [{name: edit_file, arguments: {path: a.txt, old_string: two, new_string: bad}}]
- {say: "Done. [TASK_COMPLETE]"}
`, map[string]string{"a.txt": "one\ntwo\n"})
	ran := b.proof("good")
	rules := policy.DefaultConfig()
	rules.Commands.Deny = []string{"sh"}
	p, err := policy.New(rules)
	if err != nil {
		t.Fatal(err)
	}
	b.cfg.Policy = p
	if out := b.must(session.StatusDone); *ran != 0 || out.Tests != "tests did not run: `sh check.sh` is not allowed here" {
		t.Errorf("run %d times, told %q", *ran, out.Tests)
	}
}

// An edit that was refused is not shown to the model again: only its error is.
func TestRefusedEditIsTakenBack(t *testing.T) {
	b := newBench(t, head+`
- calls: [{name: edit_file, arguments: {path: a.txt, old_string: "no such line", new_string: "2"}}]
- when: {lacks: ["no such line\""], user_contains: ["Your edit_file of a.txt was not made:"]}
  calls: [{name: edit_file, arguments: {path: a.txt, old_string: two, new_string: "2"}}]
- {say: "Done. [TASK_COMPLETE]"}
`, map[string]string{"a.txt": "one\ntwo\n"})
	b.must(session.StatusDone)
	if second := b.model.Requests()[1]; len(second.Messages) != 3 {
		t.Errorf("%d messages in the second request", len(second.Messages))
	}
}

// A small model that claims native calls and does not make them is asked for files.
func TestStepsDown(t *testing.T) {
	b := newBench(t, strings.Replace(head, "tools: true", "tools: true, parameters: 3000000000", 1)+`
- say: "I will set the second line to 2."
- when: {no_tools: true, user_contains: ["fix a.txt"]}
  text: "a.txt\n`+"```\\none\\n2\\n```"+`\n"
`, map[string]string{"a.txt": "one\ntwo\n"})
	b.cfg.Form = llm.FormAuto
	b.cfg.Forms = believer{}
	b.cfg.Provide = func(context.Context, string, llm.Form) []session.Item {
		return []session.Item{{Kind: session.ItemFile, Name: "a.txt", Text: "one\ntwo\n"}}
	}
	b.must(session.StatusDone)
}

// believer takes every model for one that calls tools.
type believer struct{}

func (believer) Best(string, llm.Capabilities) llm.Form         { return llm.FormNative }
func (believer) Ended(string, llm.Capabilities, llm.Form, bool) {}

// Files stand under their paths in fences that are longer than any in them.
func TestFence(t *testing.T) {
	for text, want := range map[string]string{
		"a\n":           "```python\na\n```",
		"```\nx\n```\n": "````python\n```\nx\n```\n````",
		"`````\n":       "``````python\n`````\n``````",
		"no end":        "```python\nno end\n```",
		"\n":            "```python\n\n```",
	} {
		if got := fence("a.py", text); got != want {
			t.Errorf("%q becomes %q", text, got)
		}
	}
}

// Tests that failed and cannot be run again prove nothing: the work is not done.
func TestRedAndThenUnknown(t *testing.T) {
	b := filesBench(t, `
- {text: "a.txt\n`+"```\\none\\n1\\n```"+`\n"}
- {text: "a.txt\n`+"```\\none\\n3\\n```"+`\n"}
`)
	b.proof("one\n2\n")
	run, n := b.cfg.RunTests, 0
	b.cfg.RunTests = func(ctx context.Context, commit string, lines []string) (session.Verified, error) {
		if n++; n > 2 { // the first is the work, the second its base
			return session.Verified{}, errors.New("the disk is full")
		}
		return run(ctx, commit, lines)
	}
	if out := b.must(session.StatusFailed); !strings.HasPrefix(out.Reason, "Not done: the last run of the tests failed") {
		t.Errorf("reason %q", out.Reason)
	}
}

// A model that wrote the old file is asked the very same at the highest temperature.
func TestTheSameAgain(t *testing.T) {
	b := filesBench(t, `
- text: "a.txt\n`+"```\\none\\ntwo\\n```"+`\n"
- text: "a.txt\n`+"```\\none\\n2\\n```"+`\n"
`)
	b.must(session.StatusDone)
	r := b.model.Requests()
	if len(r) != 2 || r[1].Temperature == nil || *r[1].Temperature != 1 {
		t.Fatalf("%d requests, want a second one at temperature 1", len(r))
	}
	if diff := cmp.Diff(r[0].Messages, r[1].Messages); diff != "" {
		t.Errorf("the second request is another:\n%s", diff)
	}
}

// A model that wrote the old file again is shown the failing tests and asked which line has to
// change. The sentence alone may be the edit; otherwise it stays in view, and the file is
// asked for.
func TestThoughtBeforeTheFile(t *testing.T) {
	const old, good = "one\ncount is two\n", "one\ncount is three\n"
	first := fmt.Sprintf("\n- {text: %[1]q}\n- {text: %[1]q}\n- {text: %[1]q}\n", "a.txt\n```\n"+old+"```\n")
	asked := "when: {user_contains: [\"nothing changed. The tests fail now.\", \"FAIL: a.txt is not good\", \"First say in one sentence\"]}"
	for _, script := range []string{
		first + fmt.Sprintf("- {%s, text: %q}\n- {when: {user_contains: [\"Now make this change.\"], contains: [\"Line 2 is too small\"]}, text: %q}\n",
			asked, "Line 2 is too small.", "a.txt\n```\n"+good+"```\n"),
		first + fmt.Sprintf("- {%s, text: %q}\n", asked, "Line 2, `count is two`, has to be `count is three`."),
	} {
		b := newBench(t, filesHead+script, map[string]string{"a.txt": old})
		b.cfg.Form = llm.FormAuto
		b.cfg.Provide = func(context.Context, string, llm.Form) []session.Item {
			return []session.Item{{Kind: session.ItemFile, Name: "a.txt", Text: old}}
		}
		b.proof(good)
		if b.must(session.StatusDone); b.states.trees[b.states.last]["a.txt"] != good {
			t.Errorf("%q", b.states.trees[b.states.last])
		}
	}
}
