package builtin

import (
	"cmp"
	"context"
	_ "embed" // the description
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/handrail-bot/handrail/agent/llm/mend"
	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/agent/testrun"
	"github.com/handrail-bot/handrail/agent/tools"
	"github.com/handrail-bot/handrail/agent/workspace"
	"github.com/handrail-bot/handrail/policy"
	"github.com/handrail-bot/handrail/policy/shell"
)

//go:embed run_terminal_command.md
var runTerminalCommandDoc string

func runTerminalCommand(r runner) tools.Tool {
	tests := ""
	if len(r.Tests) > 0 {
		tests = r.Tests[0]
	}
	return tools.New(
		tools.Sheet{
			Name:      "run_terminal_command",
			Doc:       runTerminalCommandDoc,
			Few:       "Run a command in the shell. It has no input.",
			Kind:      policy.Execute,
			Essential: true,
			Aliases: []string{
				"execute_command", "run_command", "run_in_terminal", "run_terminal_cmd", "bash", "shell", "terminal",
				"run_shell_command", "exec_command", "run_bash_command", "execute_bash", "bash_tool", "shell_exec",
				"container_exec", "terminal_run", "run_shell", "run_cmd", "execute_shell", "execute_shell_command",
				"execute", "exec", "run",
			},
			Params: []tools.Param{
				{
					Name:     "command",
					Required: true,
					Doc:      "Command line.",
					Aliases:  []string{"cmd", "command_line", "script", "shell_command", "commands"},
				},
				{Name: "cwd", Doc: "Directory, for this command only.",
					Aliases: []string{"working_directory", "workdir", "directory", "dir", "work_dir", "path"}},
				{Name: "timeout", Form: tools.Free, Schema: `{"type":"integer"}`, Doc: "In seconds.",
					Aliases: []string{"timeout_seconds", "timeout_sec", "timeout_s", "timeout_ms"}},
				{Name: "description"},
				{
					Name:    "background",
					Form:    tools.Flag,
					Doc:     "For servers.",
					Aliases: []string{"is_background", "run_in_background", "detach", "async"},
				},
				{Name: "restart", Form: tools.Flag}, // not offered: a shell is replaced automatically
			},
			Beside:  r.jobs,
			Example: `{"command":` + string(mend.Quote(cmp.Or(tests, "ls"))) + `}`,
			Tests:   tests,
		},
		r.intent,
		r.run,
	)
}

type runner struct {
	*tools.Kit
	*standing
	*jobs
}

func (r runner) command(ctx context.Context, a tools.Args) (workspace.Command, error) {
	anew, err := a.Flag("restart", false)
	if err != nil {
		return workspace.Command{}, err
	}
	line, err := a.Need("command")
	if err != nil {
		return workspace.Command{}, err
	}
	if argv, ok := argvOf(a); ok {
		line = argv
	}
	if strings.IndexByte(line, 0) >= 0 {
		return workspace.Command{}, a.Wrong("argument %q has a NUL character in it", "command")
	}
	cmd := workspace.Command{Line: line, Cwd: r.dir(), Timeout: r.CommandTimeout} //control:directory-judged
	if anew {
		cmd.Cwd = "."
	}
	cwd, err := a.Text("cwd")
	if err != nil {
		return cmd, err
	}
	if strings.TrimSpace(cwd) != "" {
		if cmd.Cwd, err = r.Resolve(ctx, cwd); err != nil { //control:cwd-outside
			return cmd, fmt.Errorf("the command was not run, because of its cwd: %w", err)
		}
	}
	if r.isSlow(line) {
		cmd.Timeout = r.MaxTimeout
	}
	if d, ok, err := seconds(a, "timeout"); err != nil {
		return cmd, err
	} else if ok {
		cmd.Timeout = min(d, r.MaxTimeout)
		again, err := r.ranOut(ctx, line, d)
		if err != nil {
			return cmd, err
		}
		if again {
			cmd.Timeout = min(d, workspace.MaxCommand)
		}
	}
	return cmd, nil
}

// ranOut reports whether a command that asks for more than the ordinary limit ran out of
// time before in this session. It gets the time then if an approver agrees.
func (r runner) ranOut(ctx context.Context, line string, asks time.Duration) (bool, error) {
	if asks <= r.MaxTimeout || r.TimedOut == nil {
		return false, nil
	}
	calls, err := r.TimedOut(ctx)
	if err != nil {
		return false, fmt.Errorf("look for earlier runs: %w", err)
	}
	return slices.ContainsFunc(calls, func(c session.Call) bool {
		var fields map[string]json.RawMessage
		if json.Unmarshal(c.Arguments, &fields) != nil {
			return false
		}
		for _, raw := range fields {
			if text, ok := tools.Plain(raw); ok && strings.TrimSpace(text) == strings.TrimSpace(line) {
				return true
			}
		}
		return false
	}), nil
}

// longer returns the time of a command beyond the ordinary limit, 0 if it is within.
func (r runner) longer(cmd workspace.Command) time.Duration {
	if cmd.Timeout <= r.MaxTimeout {
		return 0
	}
	return cmd.Timeout
}

// argvOf joins a command given as a program and its arguments into a line. It reports
// false for a line and for a list of lines. A list of lines is named commands and has
// no option in it, or its first element is more than a program name. The list may be
// JSON in a string.
func argvOf(a tools.Args) (string, bool) {
	var list []string
	if raw := tools.Unwrap(a.Values["command"]); len(raw) == 0 || raw[0] != '[' || json.Unmarshal(raw, &list) != nil ||
		len(list) < 2 {
		return "", false
	}
	option := slices.ContainsFunc(
		list,
		func(word string) bool { return strings.HasPrefix(word, "-") },
	) // no line begins with "-"
	if tools.FoldKey(a.Spelled("command")) == "commands" && !option ||
		strings.ContainsAny(strings.TrimSpace(list[0]), " \t\n;&|") {
		return "", false
	}
	for i, word := range list {
		list[i] = shell.Quote(word)
	}
	return strings.Join(list, " "), true
}

// seconds reads a number of seconds, or a duration such as "30s" or "2m".
func seconds(a tools.Args, name string) (time.Duration, bool, error) {
	raw, ok := a.Values[name]
	if !ok {
		return 0, false, nil
	}
	s, _ := tools.Plain(raw)
	s = strings.TrimSpace(s)
	unit := time.Second
	if tools.FoldKey(a.Spelled(name)) == "timeoutms" {
		unit = time.Millisecond
	}
	if n, err := strconv.ParseFloat(s, 64); err == nil && n < 1e9 {
		if n >= 10_000 {
			unit = time.Millisecond // no model means hours
		}
		if n <= 0 {
			return 0, false, nil // running without a timeout is not supported
		}
		return time.Duration(n * float64(unit)), true, nil
	}
	if d, err := time.ParseDuration(s); err == nil && d > 0 {
		return d, true, nil
	}
	if s == "" {
		return 0, false, nil
	}
	return 0, false, a.WrongType(name, "a number of seconds")
}

// isSlow reports whether a command line is known to take long.
func (r runner) isSlow(line string) bool {
	list := r.LongCommands
	if list == nil {
		if testrun.Find(line, workspace.CommandResult{TimedOut: true}, r.Tests) != nil {
			return true
		}
		list = []string{
			"npm ", "yarn", "pnpm ", "pip ", "pip3 ", "poetry ", "uv ", "cargo ", "go build", "go test", "go vet",
			"go install", "make", "mvn ", "./mvnw", "gradle ", "./gradlew", "dotnet ", "docker build", "bundle ",
			"pytest", "tox", "bazel ", "cmake ", "apt-get ", "golangci-lint",
		}
	}
	for _, part := range strings.FieldsFunc(line, func(r rune) bool { return strings.ContainsRune("&|;\n(", r) }) {
		part = strings.TrimSpace(part)
		script := strings.TrimPrefix(strings.TrimPrefix(part, "sh "), "bash ") // of a wrapper that is not executable
		for _, l := range list {
			if strings.HasPrefix(part, l) || strings.HasPrefix(script, l) {
				return true
			}
		}
	}
	return false
}

func (r runner) intent(ctx context.Context, a tools.Args) (policy.Action, error) {
	cmd, err := r.command(ctx, a)
	if err != nil {
		return policy.Action{}, err
	}
	if r.Refuse != nil {
		if why := r.Refuse(cmd.Line); why != "" {
			return policy.Action{}, errors.New(why)
		}
	}
	display := cmd.Line
	if detached, err := a.Flag("background", false); err != nil {
		return policy.Action{}, err
	} else if detached {
		display += "\n(it runs on in the background)" //control:background-is-said
	}
	return policy.Action{
		Kind:    policy.Execute,
		Command: cmd.Line,
		Cwd:     cmd.Cwd,
		Display: display,
		Longer:  r.longer(cmd),
	}, nil
}

func (r runner) run(ctx context.Context, a tools.Args, emit tools.Progress) (tools.Result, error) {
	cmd, err := r.command(ctx, a)
	if err != nil {
		return tools.Result{}, err
	}
	if detached, err := a.Flag("background", false); detached || err != nil {
		if err != nil {
			return tools.Result{}, err
		}
		return r.detach(ctx, cmd)
	}
	anew, err := a.Flag("restart", false)
	if anew && err == nil {
		_, err = r.Shell.Run(
			ctx,
			workspace.Command{Line: "exit", Cwd: ".", Timeout: r.CommandTimeout},
			nil,
		) // the workspace starts a new shell
	}
	if err != nil {
		return tools.Result{}, err
	}
	res, err := r.Shell.Run(ctx, cmd, func(chunk string) { emit(chunk) })
	if err != nil {
		return r.missing(cmd, err)
	}
	said := report(cmd, res, tools.Room(ctx, tools.MaxOutBytes)) + r.update(cmd, res)
	if r.Lacks != nil {
		if line := r.Lacks(res); line != "" {
			said += "\n" + line //control:missing-packages-are-told
		}
	}
	if res.TimedOut && r.TimedOut != nil && cmd.Timeout == r.MaxTimeout {
		said += fmt.Sprintf("\n[For more time, up to %s, call it again with a longer timeout: an approver is asked.]", workspace.MaxCommand)
	}
	if anew {
		said += "\n[This is a new shell: variables, functions and background jobs of before are lost.]"
	}
	out := tools.Result{
		Content: said,
		Tests:   testrun.Find(cmd.Line, res, r.Tests),
		Title:   fmt.Sprintf("Ran %s (%s)", firstLine(cmd.Line), how(res, cmd)),
		Dir:     r.dir(),
	}
	if out.Tests == nil {
		out.Ran = testrun.Other(cmd.Line, res)
	}
	switch {
	case res.TimedOut:
		out.Class = session.ClassTimeout
	case res.Exit != 0:
		out.Class = session.ClassCommand
	}
	if t := out.Tests; t != nil && t.Says != "" { //control:model-hears-no-test-ran
		out.Content += "\n[Tests: " + t.How() + ".]"
	}
	r.Kept.KeepAll(&out, res.Output)
	return out, nil
}

func how(res workspace.CommandResult, cmd workspace.Command) string {
	if n := len(res.Refused); n > 0 { //control:refused-in-the-title
		first := res.Refused[0]
		if res.Refused = nil; n > 1 {
			first += fmt.Sprintf(", and %d more", n-1)
		}
		return how(res, cmd) + "; network: " + first
	}
	switch {
	case res.Ended != "":
		return "ended: " + res.Ended //control:limit-in-the-title
	case res.TimedOut:
		return fmt.Sprintf("killed after %s", cmd.Timeout)
	case res.Exit == killed:
		return fmt.Sprintf("exit code %d: killed, most often for too much memory", killed)
	case res.Exit < 0:
		return "killed"
	}
	return fmt.Sprintf("exit code %d", res.Exit)
}

// report returns the result of a command for the model. most limits the output bytes.
func report(cmd workspace.Command, res workspace.CommandResult, most int) string {
	var b strings.Builder
	out := tools.CutOutput(res.Output, res.Cut, most)
	if out == "" {
		out = "(no output)"
	}
	b.WriteString(out)
	b.WriteString("\n")
	switch {
	case res.Ended != "":
		fmt.Fprintf(&b, "[Everything that ran was ended after %s: %s.]", res.Duration.Round(time.Millisecond), res.Ended)
	case res.TimedOut:
		fmt.Fprintf(
			&b,
			"[Timed out: killed with everything it started after %s. Give a longer timeout, or run less.]",
			res.Duration.Round(time.Millisecond),
		)
	case res.Exit < 0:
		fmt.Fprintf(&b, "[Killed by a signal after %s]", res.Duration.Round(time.Millisecond))
	case res.Exit == killed:
		fmt.Fprintf(
			&b,
			"[Exit code %d, %s: it was killed, as the system does with what takes more memory than the workspace has. Run less at once, or in smaller parts.]",
			killed,
			res.Duration.Round(time.Millisecond),
		)
	default:
		fmt.Fprintf(&b, "[Exit code %d, %s]", res.Exit, res.Duration.Round(time.Millisecond))
	}
	if codes := hiddenFailure(res); codes != "" {
		fmt.Fprintf(&b, "\n[Exit codes of the last pipeline: %s]", codes)
	}
	for _, line := range res.Refused {
		fmt.Fprintf(&b, "\n[Network: %s]", line)
	}
	if dir := path.Clean(cmd.Cwd); dir != "." {
		fmt.Fprintf(&b, "\n[Directory: %s]", dir)
	}
	if res.Restart {
		b.WriteString("\n[The shell died and was replaced: variables, functions and background jobs of before are lost.]")
	}
	return b.String()
}

// killed is a shell's exit code for a command ended by SIGKILL.
const killed = 137

// hiddenFailure returns the exit codes of a pipeline if the line hides a failed command, or "".
func hiddenFailure(res workspace.CommandResult) string {
	if !slices.ContainsFunc(res.Pipeline, func(code int) bool { return code != 0 && code != res.Exit }) {
		return ""
	}
	var codes []string
	for _, code := range res.Pipeline {
		codes = append(codes, strconv.Itoa(code))
	}
	return strings.Join(codes, " | ")
}

func firstLine(s string) string {
	line, _, more := strings.Cut(strings.TrimSpace(s), "\n")
	if line = tools.Shorten(line, 80); more {
		line += " …"
	}
	return line
}
