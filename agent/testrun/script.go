package testrun

import (
	"path"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/handrail-bot/handrail/policy/pattern"
)

// Step is a command of a script that runs tests. Dir is its directory, relative to that of
// the script; "" if they are the same.
type Step struct{ Dir, Line string }

// maxStep is the maximum length of a command of a script, in bytes.
const maxStep = 200

// expression matches an expression of GitHub Actions, which no shell can parse.
var expression = pattern.Lazy(`\$\{\{.*?\}\}`)

// Steps returns the commands of a shell script that are known to run tests. Commands with
// variables are left out: their values are unknown here.
func Steps(script string) []Step {
	script = expression().ReplaceAllLiteralString(script, "${CI}")
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(script), "")
	if err != nil {
		return nil
	}
	s := stepper{script: script}
	for _, stmt := range file.Stmts {
		s.visit(stmt)
	}
	return s.found
}

// stepper collects the steps of a script.
type stepper struct {
	script string
	dir    string
	lost   bool // the directory is unknown
	found  []Step
}

func (s *stepper) visit(stmt *syntax.Stmt) {
	switch c := stmt.Cmd.(type) {
	case *syntax.BinaryCmd:
		s.visit(c.X)
		if c.Op == syntax.AndStmt {
			s.visit(c.Y)
		}
	case *syntax.CallExpr:
		line := s.script[c.Pos().Offset():c.End().Offset()]
		switch {
		case len(c.Args) == 0:
		case c.Args[0].Lit() == "cd":
			s.enter(c)
		case !s.lost && len(line) <= maxStep && !strings.ContainsAny(line, "$`\n") && isRun(line): //control:steps-of-ci
			s.found = append(s.found, Step{s.dir, line})
		}
	}
}

// enter follows a change of the directory below that of the script.
func (s *stepper) enter(c *syntax.CallExpr) {
	if len(c.Args) != 2 || c.Args[1].Lit() == "" || path.IsAbs(c.Args[1].Lit()) {
		s.lost = true
		return
	}
	s.dir = path.Join(s.dir, c.Args[1].Lit())
	s.lost = s.lost || s.dir == ".." || strings.HasPrefix(s.dir, "../")
	if s.dir == "." {
		s.dir = ""
	}
}
