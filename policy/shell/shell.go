// Package shell says what a command line can do. It reads the line as a POSIX
// or bash program, follows its plain variables, functions and substitutions
// without running anything, and asks a rule for each program that would run. It is
// pure. There are two verdicts: in the open, whatever is not known to be harmless
// asks; behind a wall without a network, only what is critical does.
//
// A walk goes through the syntax tree and expands its words. Each command it
// meets goes to the rule of its program; what is known as data is in known, program
// texts of other languages are read by code. What they find is a finding.
package shell

import (
	"strings"
	"sync"

	"mvdan.cc/sh/v3/syntax"
)

// HoldsSecrets reports whether a path is that of a file with credentials: a command that
// prints it is of high severity.
func HoldsSecrets(path string) bool { return secretOf(path) > noSecret }

// Analyze reads a command line as a POSIX or bash program and says what it
// can do. What it cannot resolve counts up, never down.
func Analyze(line string) Analysis { return AnalyzeOn("", line) }

// AnalyzeOn is [Analyze] in a session whose work goes to a branch: adding
// commits to that branch publishes nothing that the session would not.
func AnalyzeOn(branch, line string) (a Analysis) {
	f := &finding{}
	defer func() {
		if p := recover(); p != nil {
			f.broken(p)
			a = f.result()
		}
	}()
	if len(line) > maxLine {
		short, ok := elide(line)
		if !ok {
			f.tooLong(line)
			return f.result()
		}
		line = short
	}
	w := newWalk(f, branch)
	w.rules = rulesOf()
	w.program(line)
	w.finish()
	return f.result()
}

func ruleOf(c *command) rule {
	if r, ok := wrapperOf(c.name); ok {
		return r
	}
	return programRule(c)
}

// rulesOf is the rules by program. They are joined when the first command is
// looked at.
var rulesOf = sync.OnceValue(rulesByProgram)

const (
	maxWhole = 4 << 20 // bytes of a line whose here-documents are left out
	maxHere  = 4 << 10 // bytes of a here-document that stays
)

// elide leaves out long here-documents in which nothing is expanded. What they
// hold is not known then, and must not run.
func elide(line string) (string, bool) {
	if len(line) > maxWhole || !strings.Contains(line, "<<") {
		return "", false
	}
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(line), "")
	if err != nil {
		return "", false
	}
	var b strings.Builder
	from := 0
	syntax.Walk(file, func(n syntax.Node) bool {
		rd, ok := n.(*syntax.Redirect)
		if !ok || rd.Hdoc == nil || rd.Hdoc.Lit() == "" {
			return true
		}
		start, body := int(rd.Hdoc.Pos().Offset()), rd.Hdoc.Lit()
		if start < from || len(body) < maxHere || !strings.HasPrefix(line[min(start, len(line)):], body) {
			return true
		}
		b.WriteString(line[from:start] + elided + "\n")
		from = start + len(body)
		return true
	})
	b.WriteString(line[from:])
	return b.String(), from > 0 && b.Len() <= maxLine
}
