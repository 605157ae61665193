package builtin_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/handrail-bot/handrail/agent/tools"
	"github.com/handrail-bot/handrail/agent/tools/toolstest"
	"github.com/handrail-bot/handrail/agent/workspace"
	"github.com/handrail-bot/handrail/policy"
)

func TestRunTerminalCommand(t *testing.T) {
	b := toolstest.Open(t, map[string]string{"sub/a.txt": "x\n"})
	action, res := b.Do("execute_command", toolstest.Arguments("command", "echo hi; exit_code() { return 3; }; exit_code"))
	if action.Kind != policy.Execute || action.Command != "echo hi; exit_code() { return 3; }; exit_code" || action.Display != action.Command || action.Cwd != "." {
		t.Errorf("intent is %+v", action)
	}
	toolstest.Contains(t, res.Content, "hi\n[Exit code 3, ")
	_, res = b.Do("run_terminal_command", toolstest.Arguments("cmd", "seq 1 250"))
	lines := strings.Split(res.Content, "\n")
	if len(lines) != 103 || lines[14] != "15" || lines[15] != "[150 lines truncated]" || lines[16] != "166" || lines[100] != "250" {
		t.Errorf("%d lines, around the cut %q", len(lines), lines[13:18])
	}
	for cwd, want := range map[string]string{"sub": b.WS.Root() + "/sub", "/workspace/sub": b.WS.Root() + "/sub", "demo-project/sub": b.WS.Root() + "/sub",
		"": b.WS.Root()} {
		_, res = b.Do("run_terminal_command", toolstest.Arguments("command", "pwd", "cwd", cwd))
		if got, _, _ := strings.Cut(res.Content, "\n"); got != want {
			t.Errorf("in %q the directory is %s", cwd, got)
		}
	}
	for _, cwd := range []string{"/etc", "../.."} {
		b.Fails("run_terminal_command", toolstest.Arguments("command", "pwd", "cwd", cwd), "was not run", "outside the workspace")
	}
	b.Do("run_terminal_command", toolstest.Arguments("command", "cd sub; V=kept"))
	_, res = b.Do("run_terminal_command", toolstest.Arguments("command", "echo $V $(pwd)"))
	toolstest.Contains(t, res.Content, "kept "+b.WS.Root()+"/sub\n")
	_, res = b.Do("run_terminal_command", toolstest.Arguments("command", "sleep 30", "timeout", "0.2"))
	toolstest.Contains(t, res.Content, "Timed out")
	if !strings.Contains(res.Title, "killed after") {
		t.Errorf("title is %q", res.Title)
	}
	_, res = b.Do("run_terminal_command", toolstest.Arguments("command", "exit 4"))
	toolstest.Contains(t, res.Content, "shell died and was replaced", "lost")
	_, res = b.Do("run_terminal_command", toolstest.Arguments("command", "true"))
	toolstest.Contains(t, res.Content, "(no output)\n[Exit code 0, ")
	b.Fails("run_terminal_command", `{}`, `missing argument "command"`)
	b.Fails("run_terminal_command", toolstest.Arguments("command", "ls", "timeout", "soon"), `"timeout" must be a number of seconds`)
	b.Fails("run_terminal_command", toolstest.Arguments("command", "a\x00b"), "NUL")
}

func TestProgressOfCommand(t *testing.T) {
	b := toolstest.Open(t, nil)
	var got strings.Builder
	_, err := b.Tool("bash").Run(t.Context(), toolstest.Call("bash", toolstest.Arguments("command", "echo one; echo two")), func(s string) { got.WriteString(s) })
	if err != nil || got.String() != "one\ntwo\n" {
		t.Errorf("progress is %q (%v)", got.String(), err)
	}
}

// TestGone checks that the end of the workspace is told apart from a tool
// that failed.
func TestGone(t *testing.T) {
	b := toolstest.Open(t, map[string]string{"a.txt": "x\n"})
	if err := b.WS.Close(context.WithoutCancel(t.Context())); err != nil {
		t.Fatal(err)
	}
	for name, args := range map[string]string{
		"read_file": `{"path":"a.txt"}`, "write_file": `{"path":"a.txt","content":"y"}`, "apply_diff": toolstest.Arguments("path", "a.txt", "diff", "<<<<<<< SEARCH\ntwo\n=======\n2\n>>>>>>> REPLACE"),
		"edit_file": `{"path":"a.txt","old_string":"x","new_string":"y"}`, "delete_file": `{"path":"a.txt"}`, "list_files": `{}`,
		"search_workspace": `{"query":"x"}`, "run_terminal_command": `{"command":"ls"}`, "insert_content": `{"path":"a.txt","line":1,"content":"y"}`,
		"search_and_replace": `{"path":"a.txt","search":"x","replace":"y"}`,
	} {
		_, err := b.Tool(name).Run(t.Context(), toolstest.Call(name, args), nil)
		if !errors.Is(err, workspace.ErrGone) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Arguments of other agents' shells: those that change nothing are taken.
func TestArgumentsOfOtherShells(t *testing.T) {
	b := toolstest.Open(t, map[string]string{"a.txt": ""})
	_, res := b.Do("bash", `{"command":"echo one","restart":false,"run_in_background":false,"description":"say one"}`)
	toolstest.Contains(t, res.Content, "one\n[Exit code 0")
	if strings.Contains(res.Content, "new shell") {
		t.Errorf("a new shell that nobody wanted: %s", res.Content)
	}
	b.Fails("bash", `{"command":"sleep 100","is_background":"perhaps"}`, "true or false")
}

// A new shell is one without anything of the old one, in the root.
func TestRestart(t *testing.T) {
	b := toolstest.Open(t, map[string]string{"sub/a.txt": ""})
	b.Do("bash", `{"command":"cd sub; NAME=old"}`)
	action, res := b.Do("bash", `{"command":"echo \"[$NAME]\"; ls","restart":true}`)
	toolstest.Contains(t, res.Content, "[]\nsub\n[Exit code 0", "This is a new shell")
	if action.Cwd != "." {
		t.Errorf("judged in %q", action.Cwd)
	}
	b.Fails("bash", `{"restart":true}`, `missing argument "command"`)
	b.Fails("bash", `{"command":"ls","restart":"perhaps"}`, "true or false")
}

// A command that the system killed says so, and why that mostly is.
func TestKilledCommand(t *testing.T) {
	b := toolstest.Open(t, nil)
	_, res := b.Do("bash", `{"command":"sh -c 'kill -9 $$'"}`)
	toolstest.Contains(t, res.Content, "[Exit code 137, ", "more memory than the workspace has")
	if !strings.HasSuffix(res.Title, "(exit code 137: killed, most often for too much memory)") {
		t.Errorf("people are told %q", res.Title)
	}
}

// ended is a shell in which a command was ended with all that ran.
type ended workspace.CommandResult

func (e ended) Run(context.Context, workspace.Command, func(string)) (workspace.CommandResult, error) {
	return workspace.CommandResult(e), nil
}

// What was ended for a limit of the workspace says so to the model and to people. A
// command that prints the like is not believed.
func TestEndedForALimit(t *testing.T) {
	const why = "all processes together used 5.0 GiB of memory; 4.0 GiB are allowed"
	for said, res := range map[bool]workspace.CommandResult{
		true:  {Output: "compiling\n", Exit: 137, Ended: why, Restart: true},
		false: {Output: "[Everything that ran was ended after 1s: " + why + ".]\n"},
	} {
		tool := offered(t, tools.Config{Shell: ended(res)}, "run_terminal_command")
		got, err := tool.Run(t.Context(), toolstest.Call("run_terminal_command", `{"command":"make"}`), nil)
		if err != nil {
			t.Fatal(err)
		}
		if want := "Ran make (ended: " + why + ")"; (got.Title == want) != said {
			t.Errorf("people are told %q", got.Title)
		}
		if strings.Contains(got.Content, "\n[Everything that ran was ended after 0s: "+why+".]") != said {
			t.Errorf("the model is told %q", got.Content)
		}
	}
}

// What of the network was refused is told to the model, and people see the first of it.
func TestRefused(t *testing.T) {
	refused := []string{"refused a.example:443, not on workspace.hosts", "refused b.example:443, not on workspace.hosts"}
	tool := offered(t, tools.Config{Shell: ended{Output: "no\n", Exit: 7, Refused: refused}}, "run_terminal_command")
	res, err := tool.Run(t.Context(), toolstest.Call("bash", `{"command":"fetch"}`), nil)
	if err != nil {
		t.Fatal(err)
	}
	toolstest.Contains(t, res.Content, "no\n[Exit code 7, ", "\n[Network: "+refused[0]+"]\n[Network: "+refused[1]+"]")
	if !strings.HasSuffix(res.Title, "(exit code 7; network: "+refused[0]+", and 1 more)") {
		t.Errorf("people are told %q", res.Title)
	}
}
