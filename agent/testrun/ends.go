package testrun

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// command is one command of a line, with its exit code.
type command struct {
	line string
	exit int
}

// ends returns the commands of a line whose own exit codes are known from that of the line and
// from those of its last pipeline, if the shell tells them. "go test | tail" and
// "go test || true" end with 0 whether or not the tests pass.
func ends(line string, exit int, pipeline []int) []command {
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(line), "")
	if err != nil || len(file.Stmts) == 0 {
		return nil
	}
	last := file.Stmts[len(file.Stmts)-1]
	operands, ok := conjunction(last)
	if !ok || last.Background || last.Coprocess || last.Disown {
		return nil
	}
	text := func(n syntax.Node) string { return line[n.Pos().Offset():n.End().Offset()] }
	final := operands[len(operands)-1]
	pipe := parts(final)
	before := operands[:len(operands)-1]
	switch {
	case exit != 0 && slices.ContainsFunc(before, func(s *syntax.Stmt) bool {
		return len(pipeline) == 0 || len(parts(s)) == len(pipeline)
	}):
		return []command{{text(last), exit}} // any of the operands may have failed
	case len(pipeline) == 0 && len(pipe) == 1 && !final.Negated:
		pipeline = []int{exit}
	}
	var out []command
	for _, s := range before {
		if exit == 0 && len(parts(s)) == 1 && !s.Negated {
			out = append(out, inside(s, text(s), 0)...)
		}
	}
	if len(pipe) == len(pipeline) {
		for i, s := range pipe {
			out = append(out, inside(s, text(s), pipeline[i])...)
		}
	}
	return out
}

// conjunction returns the operands of "a && b && c"; the second result is false if the
// statement holds another operator, so that it is open which operands ran.
func conjunction(s *syntax.Stmt) ([]*syntax.Stmt, bool) {
	b, ok := s.Cmd.(*syntax.BinaryCmd)
	switch {
	case !ok || b.Op == syntax.Pipe || b.Op == syntax.PipeAll:
		return []*syntax.Stmt{s}, true
	case b.Op != syntax.AndStmt: //control:hidden-status-is-unknown
		return nil, false
	}
	x, left := conjunction(b.X)
	y, right := conjunction(b.Y)
	return append(x, y...), left && right
}

// parts returns the commands of a pipeline.
func parts(s *syntax.Stmt) []*syntax.Stmt {
	if b, ok := s.Cmd.(*syntax.BinaryCmd); ok && (b.Op == syntax.Pipe || b.Op == syntax.PipeAll) {
		return append(parts(b.X), parts(b.Y)...)
	}
	return []*syntax.Stmt{s}
}

// inside returns the commands of one part of a pipeline: itself, or those of the lines that it
// gives to a shell of its own, as in "bash -lc 'go test | tail'".
func inside(s *syntax.Stmt, text string, exit int) []command {
	switch c := s.Cmd.(type) {
	case *syntax.Subshell:
		from := s.Pos().Offset()
		return ends(text[c.Lparen.Offset()-from+1:c.Rparen.Offset()-from], exit, nil)
	case *syntax.CallExpr:
		if inner, ok := shellLine(c); ok {
			return ends(inner, exit, nil)
		}
		return []command{{text, exit}}
	case *syntax.TimeClause:
		return []command{{text, exit}}
	}
	return nil
}

// shellLine returns the line that a command gives to a shell.
func shellLine(call *syntax.CallExpr) (string, bool) {
	for i := 0; i+2 < len(call.Args); i++ {
		name, flag := path.Base(call.Args[i].Lit()), call.Args[i+1].Lit()
		if slices.Contains([]string{"sh", "bash", "dash", "ash"}, name) && strings.HasPrefix(flag, "-") &&
			strings.HasSuffix(flag, "c") {
			return quoted(call.Args[i+2]), true
		}
	}
	return "", false
}

// quoted returns the text of a word that is one quoted string without expansions, else "".
func quoted(w *syntax.Word) string {
	if len(w.Parts) != 1 {
		return ""
	}
	switch p := w.Parts[0].(type) {
	case *syntax.SglQuoted:
		if !p.Dollar {
			return p.Value
		}
	case *syntax.DblQuoted:
		if len(p.Parts) == 1 && !p.Dollar {
			if lit, ok := p.Parts[0].(*syntax.Lit); ok && !strings.Contains(lit.Value, `\`) {
				return lit.Value
			}
		}
	}
	return ""
}
