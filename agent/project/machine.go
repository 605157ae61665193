package project

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/handrail-bot/handrail/agent/workspace"
	"github.com/handrail-bot/handrail/policy/pattern"
)

// Tests returns the commands that run the tests.
func (f *Facts) Tests() (out []string) {
	for _, c := range f.Commands {
		if c.Does == "test" {
			out = append(out, c.Line)
		}
	}
	return out
}

// Runnable returns the test commands for the root that can be run here.
func (f *Facts) Runnable() (out []string) {
	for _, c := range f.Commands {
		if c.Does == "test" && c.Dir == "" && f.cannotRun(c) == "" {
			out = append(out, c.Line)
		}
	}
	return out
}

// SetTests replaces the detected test commands with lines, unless lines is empty.
func (f *Facts) SetTests(lines []string) {
	if len(lines) == 0 {
		return
	}
	f.Commands = slices.DeleteFunc(slices.Clone(f.Commands), func(c Command) bool { return c.Does == "test" })
	for i, line := range lines {
		f.Commands = slices.Insert(f.Commands, i, Command{Does: "test", Line: line, From: "configuration"})
	}
}

// programs are checked for so that a model need not guess their presence.
var programs = [...]string{
	"bash", "git", "rg", "python3", "python", "pip", "pytest", "go", "node", "npm", "cargo", "java", "mvn", "gcc",
	"make", "ruby", "php", "dotnet", "curl", "jq",
}

// maxTryTime limits the time to examine the machine.
const maxTryTime = 20 * time.Second

var (
	programName = pattern.Lazy(`^[A-Za-z0-9_+-]+$`)
	module      = pattern.Lazy(`^python3? -m (\w+)`) // run by a command
)

// pythonHere is the Python of a virtual environment in the repository.
const pythonHere = ".venv/bin/python"

// lookUp makes Python look up a module without running any of the project's code.
const lookUp = `$(command -v .venv/bin/python || command -v python || command -v python3) -c 'import sys; sys.path = [p for p in sys.path if p]; import importlib.util as u; sys.exit(u.find_spec("%[1]s") is None)' >/dev/null 2>&1 || echo "lacks %[1]s"; `

// Try asks the machine's shell for its programs, and for the Python modules that
// commands run. Commands with python are changed to use the virtual environment, or
// python3 if only that exists.
func (f *Facts) Try(ctx context.Context, shell workspace.Shell) error {
	names := slices.Clone(programs[:])
	for _, c := range f.Commands {
		if name := program(c.Line); name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	line := "for p in " + strings.Join(names, " ") + "; do command -v \"$p\" >/dev/null 2>&1 && echo \"has $p\"; done; "
	for _, c := range f.Commands {
		if m := module().FindStringSubmatch(c.Line); m != nil && c.From != "configuration" {
			line += fmt.Sprintf(lookUp, m[1])
		}
	}
	line += "test -x " + pythonHere + " && echo 'virtual environment'; true"
	res, err := shell.Run(ctx, workspace.Command{Line: line, Timeout: maxTryTime, NoGit: true}, nil)
	if err != nil {
		return ctx.Err() // the session will report a broken workspace
	}
	if res.Exit != 0 || res.TimedOut {
		return nil // leave the facts as unknown
	}
	f.Tried, f.Has, f.lacks = true, nil, nil
	environment := false
	for said := range strings.Lines(res.Output) {
		if name, ok := strings.CutPrefix(strings.TrimSpace(said), "has "); ok {
			f.Has = append(f.Has, name)
		} else if name, ok := strings.CutPrefix(strings.TrimSpace(said), "lacks "); ok {
			f.lacks = append(f.lacks, name)
		} else if strings.TrimSpace(said) == "virtual environment" {
			environment = true
		}
	}
	if environment {
		f.Has = append(f.Has, pythonHere)
	}
	only3 := !slices.Contains(f.Has, "python") && slices.Contains(f.Has, "python3")
	f.Commands = slices.Clone(f.Commands)
	for i, c := range f.Commands {
		rest, ok := strings.CutPrefix(c.Line, "python ")
		if !ok || c.From == "configuration" {
			continue
		}
		if environment && c.Dir == "" {
			f.Commands[i].Line = pythonHere + " " + rest
		} else if only3 { //control:python-is-named
			f.Commands[i].Line = "python3 " + rest
		}
	}
	return nil
}

// program returns the program of a command line that is looked up in PATH, or "" if
// it is a file of the project.
func program(line string) string {
	name, _, _ := strings.Cut(strings.TrimSpace(line), " ")
	if !programName().MatchString(name) {
		return ""
	}
	return name
}

// cannotRun returns the reason why a command cannot be run here, or "" if it can or
// that is unknown.
func (f *Facts) cannotRun(c Command) string {
	name := program(c.Line)
	if m := module().FindStringSubmatch(c.Line); m != nil && c.From != "configuration" && slices.Contains(f.Has, name) && slices.Contains(f.lacks, m[1]) { //control:modules-are-asked
		return fmt.Sprintf("%s has no module %s", name, m[1])
	}
	if !f.Tried || name == "" || slices.Contains(f.Has, name) {
		return ""
	}
	return fmt.Sprintf("there is no %s", name) //control:machine-is-asked
}
