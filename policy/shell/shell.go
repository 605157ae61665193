// Package shell analyzes the possible effects of a command line. It parses the line as a
// POSIX or bash program, follows its plain variables, functions and substitutions without
// running anything, and applies a rule to each program that would run. It is pure. There
// are two verdicts: in the open, everything that is not known to be harmless asks; behind
// a wall without network access, only critical findings do.
//
// A walk traverses the syntax tree and expands its words. Each command is passed to the
// rule of its program. tables.txt has the tables, package code reads program texts in
// other languages. The results are collected in a finding.
package shell

import (
	"strings"
	"sync"

	"mvdan.cc/sh/v3/syntax"
)

// HoldsSecrets reports whether path is a file with credentials: a command that prints it
// is of high severity.
func HoldsSecrets(path string) bool { return secretOf(path) > noSecret }

// Analyze parses a command line as a POSIX or bash program and returns its possible
// effects. Unresolved parts only increase the severity.
func Analyze(line string) Analysis { return AnalyzeOn("", line) }

// AnalyzeOn is [Analyze] for a session that works on a branch: adding commits to that
// branch publishes no more than the session itself does.
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
			f.ran(line[:64] + ellipse)
			f.hit("too-large", "")
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

// rulesOf returns the rules by program, built on first use.
var rulesOf = sync.OnceValue(rulesByProgram)

const (
	maxWhole = 4 << 20 // maximum size of a line before here-documents are elided, in bytes
	maxHere  = 4 << 10 // size from which a here-document is elided, in bytes
)

// elide replaces long here-documents without expansions. Their content is unknown then
// and must not run.
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
