package tools_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/handrail-bot/handrail/agent/workspace"
	"github.com/handrail-bot/handrail/policy"
)

func bytesReader(b []byte) io.Reader { return bytes.NewReader(b) }

func TestRunTerminalCommand(t *testing.T) {
	b := open(t, map[string]string{"sub/a.txt": "x\n"})
	action, res := b.do("execute_command", arguments("command", "echo hi; exit_code() { return 3; }; exit_code"))
	if action.Kind != policy.Execute || action.Command != "echo hi; exit_code() { return 3; }; exit_code" || action.Display != action.Command || action.Cwd != "." {
		t.Errorf("intent is %+v", action)
	}
	contains(t, res.Content, "hi\n[Exit code 3, ")
	_, res = b.do("run_terminal_command", arguments("cmd", "seq 1 250"))
	lines := strings.Split(res.Content, "\n")
	if len(lines) != 102 || lines[14] != "15" || lines[15] != "[150 lines truncated]" || lines[16] != "166" || lines[100] != "250" {
		t.Errorf("%d lines, around the cut %q", len(lines), lines[13:18])
	}
	for cwd, want := range map[string]string{"sub": b.ws.Root() + "/sub", "/workspace/sub": b.ws.Root() + "/sub", "demo-project/sub": b.ws.Root() + "/sub",
		"/etc": b.ws.Root(), "../..": b.ws.Root(), "": b.ws.Root()} {
		_, res = b.do("run_terminal_command", arguments("command", "pwd", "cwd", cwd))
		if got, _, _ := strings.Cut(res.Content, "\n"); got != want {
			t.Errorf("in %q the directory is %s", cwd, got)
		}
	}
	b.do("run_terminal_command", arguments("command", "cd sub; V=kept"))
	_, res = b.do("run_terminal_command", arguments("command", "echo $V $(pwd)"))
	contains(t, res.Content, "kept "+b.ws.Root()+"\n")
	_, res = b.do("run_terminal_command", arguments("command", "sleep 30", "timeout", "0.2"))
	contains(t, res.Content, "Timed out")
	if !strings.Contains(res.Title, "killed after") {
		t.Errorf("title is %q", res.Title)
	}
	_, res = b.do("run_terminal_command", arguments("command", "exit 4"))
	contains(t, res.Content, "shell died and was replaced", "lost")
	_, res = b.do("run_terminal_command", arguments("command", "true"))
	contains(t, res.Content, "(no output)\n[Exit code 0, ")
	b.fails("run_terminal_command", `{}`, `missing argument "command"`)
	b.fails("run_terminal_command", arguments("command", "ls", "timeout", "soon"), `"timeout" must be a number of seconds`)
	b.fails("run_terminal_command", arguments("command", "a\x00b"), "NUL")
	b.fails("run_terminal_command", arguments("command", "ls", "background", true), "background")
}

func TestProgressOfCommand(t *testing.T) {
	b := open(t, nil)
	var got strings.Builder
	_, err := b.tool("bash").Run(t.Context(), call("bash", arguments("command", "echo one; echo two")), func(s string) { got.WriteString(s) })
	if err != nil || got.String() != "one\ntwo\n" {
		t.Errorf("progress is %q (%v)", got.String(), err)
	}
}

func TestListFiles(t *testing.T) {
	b := open(t, map[string]string{"a.txt": "", "src/b.go": "", "src/deep/c.go": "", "ignored.log": "", ".gitignore": "*.log\n"})
	action, res := b.do("list_files", `{}`)
	if action.Kind != policy.Read || action.Paths[0] != "." {
		t.Errorf("intent is %+v", action)
	}
	contains(t, res.Content, "Base: .\n", "a.txt\n", "src/\n")
	if strings.Contains(res.Content, "deep") || strings.Contains(res.Content, "ignored.log") {
		t.Errorf("listing is %s", res.Content)
	}
	_, res = b.do("list_dir", `{"directory":"src","recursive":"true"}`)
	contains(t, res.Content, "Base: src\n", "src/b.go\n", "src/deep/c.go\n")
	_, res = b.do("list_files", `{"recursive":true,"max":2}`)
	contains(t, res.Content, "more not shown")
	b.fails("list_files", `{"path":"nowhere"}`, "no such file", "find the right path")
	b.fails("list_files", `{"path":"../"}`, "outside")
	b.fails("list_files", `{"recursive":"perhaps"}`, `"recursive" must be true or false`)
}

func TestSearchWorkspace(t *testing.T) {
	b := open(t, map[string]string{"a.go": "one\ntwo\nneedle here\nfour\nfive\nsix\nseven\nNeedle\n", "sub/b.txt": "needle\n", ".agentignore": "c.txt\n", "c.txt": "needle\n"})
	_, res := b.do("search_workspace", arguments("query", "needle", "context", 1))
	if want := "── a.go ──\n  2: two\n→ 3: needle here\n  4: four\n\n── sub/b.txt ──\n→ 1: needle\n"; res.Content != want {
		t.Errorf("got\n%s\nwant\n%s", res.Content, want)
	}
	_, res = b.do("search_files", arguments("regex", "(?i)^needle$", "file_pattern", "*.go", "path", "."))
	contains(t, res.Content, "→ 8: Needle\n")
	_, res = b.do("grep", arguments("pattern", "n.edle", "isRegex", "true", "include", "sub/*.txt"))
	contains(t, res.Content, "── sub/b.txt ──\n→ 1: needle\n")
	_, res = b.do("search_workspace", arguments("query", "NEEDLE", "caseSensitive", false, "context", 0))
	contains(t, res.Content, "→ 3: needle here\n  …\n→ 8: Needle\n")
	_, res = b.do("search_workspace", arguments("query", "needle", "max_results", 1))
	contains(t, res.Content, "1 more match not shown")
	_, res = b.do("search_workspace", arguments("query", "no such thing"))
	contains(t, res.Content, "No matches")
	b.fails("search_workspace", `{}`, `missing argument "query"`)
	b.fails("search_workspace", `{"query":"(","isRegex":true}`, "not a regular expression")
	b.fails("search_workspace", `{"query":"x","path":"/etc"}`, "outside")
}

// TestGone checks that the end of the workspace is told apart from a tool
// that failed.
func TestGone(t *testing.T) {
	b := open(t, map[string]string{"a.txt": "x\n"})
	if err := b.ws.Close(context.WithoutCancel(t.Context())); err != nil {
		t.Fatal(err)
	}
	for name, args := range map[string]string{
		"read_file": `{"path":"a.txt"}`, "write_file": `{"path":"a.txt","content":"y"}`, "apply_diff": arguments("path", "a.txt", "diff", block),
		"edit_file": `{"path":"a.txt","old_string":"x","new_string":"y"}`, "delete_file": `{"path":"a.txt"}`, "list_files": `{}`,
		"search_workspace": `{"query":"x"}`, "run_terminal_command": `{"command":"ls"}`, "insert_content": `{"path":"a.txt","line":1,"content":"y"}`,
		"search_and_replace": `{"path":"a.txt","search":"x","replace":"y"}`,
	} {
		_, err := b.tool(name).Run(t.Context(), call(name, args), nil)
		if !errors.Is(err, workspace.ErrGone) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
