package testrun

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/agent/workspace"
)

// idle are commands that run no tests, besides the readers.
var idle = [...]string{
	"true", "false", ":", "exit", "export", "set", "unset", "pwd", "pushd", "popd", "sleep", "wait", "read", "sort",
	"uniq", "cut", "tr", "column", "tree", "file", "basename", "dirname", "realpath", "date", "id", "uname",
	"du", "df", "ps", "kill", "ln", "tar", "unzip", "gofmt", "jq", "cmp", "md5sum", "sha256sum", "xxd", "od", "nl",
}

// Other returns the run of a line that [Find] does not know as one of tests, unless each of its
// commands is known to run none.
func Other(line string, res workspace.CommandResult) *session.TestRun {
	quiet, single := look(line)
	if quiet {
		return nil
	}
	run := &session.TestRun{Line: line, Exit: res.Exit, Unknown: !single}
	if res.TimedOut || res.Exit < 0 {
		run.Exit, run.Unknown = -1, false
	}
	return run
}

// Begun returns the run of a line in the background, as [Other].
func Begun(line string) *session.TestRun {
	if quiet, _ := look(line); quiet {
		return nil
	}
	return &session.TestRun{Line: line, Unknown: true}
}

// look reports whether each command of a line is known to run no tests, and whether the line is
// one command, whose exit status is its own.
func look(line string) (quiet, single bool) {
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(line), "")
	if err != nil {
		return false, false
	}
	commands := 0
	quiet = true
	syntax.Walk(file, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CallExpr:
			commands++
			quiet = quiet && runsNone(n.Args)
		case syntax.Command:
			commands = max(commands, 1) + 1 // a loop, a condition, a pipeline
		}
		return quiet || commands < 2
	})
	return quiet, commands == 1 && !file.Stmts[0].Background && !file.Stmts[0].Negated
}

// runsNone reports whether a command is known to run no tests.
func runsNone(args []*syntax.Word) bool {
	if len(args) == 0 {
		return true // only variables are set
	}
	words := make([]string, len(args))
	for i, w := range args {
		words[i] = w.Lit()
	}
	switch name := path.Base(words[0]); {
	case name == "env" && len(words) == 1, asksOnly(words[1:]):
		return true
	case name == "find":
		return !slices.ContainsFunc(words, func(w string) bool {
			return strings.HasPrefix(w, "-exec") || strings.HasPrefix(w, "-ok")
		})
	case name == "command":
		return len(words) > 1 && strings.HasPrefix(words[1], "-")
	default:
		return slices.Contains(readers[:], name) || slices.Contains(idle[:], name)
	}
}
