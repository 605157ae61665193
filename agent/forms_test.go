package agent

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/policy/longtest"
)

const (
	textHead   = "model: {name: m, tools: false, context: 32768}\nturns:\n"
	formsEnd   = "- calls: [{name: attempt_completion, arguments: {result: Done.}}]\n  repeat: true\n"
	formsStart = "one\ntwo\nthree\n"
)

func says(text string) string { return "- say: " + strconv.Quote(text) + "\n" }

// byGit returns the files as git changes them by a diff.
func byGit(t *testing.T, diff string) map[string]string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.txt"), []byte(formsStart), 0o644); err != nil {
		t.Fatal(err)
	}
	c := exec.Command("git", "apply", "--unidiff-zero", "-")
	c.Dir, c.Stdin = dir, strings.NewReader(diff)
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%s: %s", err, out)
	}
	files := map[string]string{}
	found, _ := filepath.Glob(filepath.Join(dir, "*"))
	for _, f := range found {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		files[filepath.Base(f)] = string(data)
	}
	return files
}

// What models send that were taught another program's tools is run as what it means,
// where calls travel as text. git says what the files are to be.
func TestFormsThatModelsSend(t *testing.T) {
	longtest.Leave(t)
	const change = "--- a/a.txt\n+++ b/a.txt\n@@ -2 +2 @@\n-two\n+2\n"
	patch := "*** Begin Patch\n*** Update File: a.txt\n@@\n one\n-two\n+2\n*** End Patch"
	block := "<<<<<<< SEARCH\ntwo\n=======\n2\n>>>>>>> REPLACE"
	call := func(tool, args string) string {
		return `<tool_call>{"name": "` + tool + `", "arguments": ` + args + `}</tool_call>`
	}
	for name, tt := range map[string]struct{ say, diff string }{
		"patch":              {"I change the line.\n\n" + patch, change},
		"patch in a fence":   {"```\n" + patch + "\n```", change},
		"patch by document":  {"```bash\napply_patch <<'EOF'\n" + patch + "\nEOF\n```", change},
		"patch by a call":    {call("apply_patch", `{"input": `+strconv.Quote(patch)+`}`), change},
		"patch by a shell":   {call("shell", `{"command": ["apply_patch", `+strconv.Quote(patch)+`]}`), change},
		"patch by bash -lc":  {call("shell", `{"cmd": ["bash", "-lc", `+strconv.Quote("apply_patch <<'EOF'\n"+patch+"\nEOF\n")+`]}`), change},
		"several files":      {"*** Begin Patch\n*** Update File: a.txt\n@@\n-two\n+2\n*** Add File: b.txt\n+new\n*** End Patch", change + "--- /dev/null\n+++ b/b.txt\n@@ -0,0 +1 @@\n+new\n"},
		"a file goes":        {"*** Begin Patch\n*** Delete File: a.txt\n*** End Patch", "diff --git a/a.txt b/a.txt\ndeleted file mode 100644\n--- a/a.txt\n+++ /dev/null\n@@ -1,3 +0,0 @@\n-one\n-two\n-three\n"},
		"block":              {"a.txt\n" + block, change},
		"block in a fence":   {"`a.txt`\n```text\n" + block + "\n```", change},
		"unified":            {"```diff\n" + change + "```", change},
		"editor: replace":    {call("str_replace_editor", `{"command": "str_replace", "path": "a.txt", "old_str": "two", "new_str": "2"}`), change},
		"editor: insert":     {call("str_replace_based_edit_tool", `{"command": "insert", "path": "a.txt", "insert_line": 1, "new_str": "x"}`), "--- a/a.txt\n+++ b/a.txt\n@@ -1,0 +2 @@\n+x\n"},
		"editor: create":     {`{"name": "str_replace_editor", "arguments": {"command": "create", "path": "b.txt", "file_text": "new\n"}}`, "--- /dev/null\n+++ b/b.txt\n@@ -0,0 +1 @@\n+new\n"},
		"editor: delete":     {call("str_replace_editor", `{"command": "str_replace", "path": "a.txt", "old_str": "two\n"}`), "--- a/a.txt\n+++ b/a.txt\n@@ -2 +1,0 @@\n-two\n"},
		"lone shell block":   {"```bash\nsed -i s/two/2/ a.txt\n```", change},
		"another name":       {call("modify_file", `{"file": "a.txt", "old_str": "two", "new_str": "2"}`), change},
		"name with a token":  {call("edit_file<|channel|>commentary", `{"path": "a.txt", "old_string": "two", "new_string": "2"}`), change},
		"argv in cmd":        {call("run_terminal_command", `{"cmd": ["bash", "-lc", "sed -i s/two/2/ a.txt"]}`), change},
		"argv in commands":   {call("shell", `{"commands": ["bash", "-lc", "sed -i s/two/2/ a.txt"]}`), change},
		"object after prose": {`I change it. {"name": "edit_file", "arguments": {"path": "a.txt", "old_string": "two", "new_string": "2"}}`, change},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, textHead+says(tt.say)+formsEnd, map[string]string{"a.txt": formsStart})
			b.must(session.StatusDone)
			want := byGit(t, tt.diff)
			for _, name := range []string{"a.txt", "b.txt"} {
				if got := b.states.trees[b.states.last][name]; got != want[name] {
					t.Errorf("%s is %q, want %q", name, got, want[name])
				}
			}
			if n := b.notes(session.NoteReminder); n != "" {
				t.Errorf("the model was told %q", n)
			}
		})
	}
}

// A form that is not certain is no call: it is shown to the model as the call that it
// is to send. So is one where calls travel natively. Words for people stay words.
func TestFormsThatAreNoCalls(t *testing.T) {
	patch := "*** Begin Patch\n*** Update File: a.txt\n@@\n-two\n+2\n*** End Patch"
	for name, tt := range map[string]struct {
		head, mode, say string
		shown           string // "": the words are the end
	}{
		"native patch":        {head, "code", patch, `apply_diff with the arguments {"diff":"*** Begin Patch\n`},
		"native shell":        {head, "code", "```bash\nls\n```", `run_terminal_command with the arguments {"command":"ls"}`},
		"explained":           {textHead, "code", "You could apply this:\n\n" + patch, `<tool_call>{"name": "apply_diff", "arguments": {"diff":"*** Begin Patch\n`},
		"prose behind":        {textHead, "code", "```sh\ntouch b.txt\n```\nThat makes it.", `{"command":"touch b.txt"}`},
		"no name":             {textHead, "code", "<<<<<<< SEARCH\ntwo\n=======\n2\n>>>>>>> REPLACE", `{"path":"NAME OF THE FILE",`},
		"only words":          {textHead, "code", "I will do it.", `{"name": "attempt_completion", "arguments": {"result":"I will do it."}}`},
		"broken call":         {textHead, "code", "<tool_call>\nedit_file \"path\": \"a.txt\", now\n</tool_call>", `"path":"a.txt","old_string":"old text","new_string":`},
		"reads only, patch":   {textHead, "ask", patch, ""},
		"reads only, command": {textHead, "ask", "```bash\ntouch b.txt\n```", ""},
	} {
		t.Run(name, func(t *testing.T) {
			script := tt.head + says(tt.say)
			if tt.shown != "" {
				script += "- calls: [{name: attempt_completion, arguments: {result: By a patch.}}]\n"
			}
			b := newBench(t, script, map[string]string{"a.txt": formsStart})
			b.task.Mode, b.task.Text = tt.mode, "how is a.txt changed?"
			out := b.must(session.StatusAnswered)
			if b.states.last != "" && b.states.trees[b.states.last]["a.txt"] != formsStart {
				t.Error("it was run")
			}
			if n := b.notes(session.NoteReminder); (tt.shown == "") != (n == "") || !strings.Contains(n, tt.shown) {
				t.Errorf("the model was told %q, not %q; the end is %+v", n, tt.shown, out)
			}
		})
	}
}
