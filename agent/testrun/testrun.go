// Package testrun finds in a command, and in how it ended, a run of a project's tests.
package testrun

import (
	"path"
	"slices"
	"strings"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/agent/workspace"
)

// testers are programs that only run tests. readers are programs that show files:
// "test" in their arguments is the name of one.
var (
	testers = [...]string{"pytest", "py.test", "jest", "vitest", "rspec", "tox", "nox", "ctest", "phpunit", "gotestsum", "unittest", "mocha", "behave"}
	readers = [...]string{"cat", "ls", "head", "tail", "grep", "rg", "find", "sed", "awk", "echo", "git", "rm", "cp", "mv", "mkdir", "touch", "wc", "diff", "cd", "test", "[", "tee", "less", "vi", "vim", "chmod", "which", "command", "type", "stat", "printf"}
	targets = [...]string{"test", "tests", "check", "verify", "run_tests.sh", "test.sh"}
)

// sigpipe is how a program ends whose reader reads no further.
const sigpipe = 128 + 13

// Find returns the run of tests in a line that ran, nil when there is none. Of several
// it is the one that went worst. known are beginnings of commands that run tests.
func Find(line string, res workspace.CommandResult, known []string) *session.TestRun {
	var found *session.TestRun
	for _, ran := range res.Ran {
		run := &session.TestRun{Line: ran.Line, Exit: ran.Exit, CutOff: ran.Exit == sigpipe}
		if is(ran.Line, known) && !hasOwn(ran.Line, res.Ran) && (found == nil || found.Passed() || run.Failed()) {
			found = run
		}
	}
	if found != nil || !is(line, known) {
		return found
	}
	run := &session.TestRun{Line: line, Exit: res.Exit, Unknown: len(res.Ran) > 0 || several(line)}
	if res.TimedOut || res.Exit < 0 {
		run.Exit, run.Unknown = -1, false
	}
	return run
}

// hasOwn reports whether a command is a shell whose own commands told their ends too.
func hasOwn(line string, ran []workspace.Ran) bool {
	return slices.ContainsFunc(ran, func(r workspace.Ran) bool {
		return r.Line != line && strings.Contains(line, "c '"+r.Line) || strings.Contains(line, "c \""+r.Line)
	})
}

// several reports whether the status of a line may be that of another command.
func several(line string) bool { return strings.ContainsAny(strings.TrimSpace(line), "|;&\n`(") }

// is reports whether a command line runs tests, in one of its parts.
func is(command string, known []string) bool {
	for _, part := range strings.FieldsFunc(command, func(r rune) bool { return strings.ContainsRune(";&|\n(){}'\"`", r) }) {
		words := strings.Fields(part)
		for len(words) > 0 && strings.Contains(words[0], "=") {
			words = words[1:]
		}
		if len(words) == 0 {
			continue
		}
		plain := strings.Join(words, " ")
		if slices.ContainsFunc(known, func(k string) bool { return plain == k || strings.HasPrefix(plain, k+" ") }) { //control:known-tests
			return true
		}
		if slices.Contains(readers[:], path.Base(words[0])) {
			continue
		}
		for _, w := range words {
			w = path.Base(w)
			if slices.Contains(testers[:], w) || slices.Contains(targets[:], w) || strings.HasPrefix(w, "test:") || strings.HasPrefix(w, "test_") {
				return true
			}
		}
	}
	return false
}
