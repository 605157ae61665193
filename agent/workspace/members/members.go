// Package members makes a shell report the status of each command of a line. The status
// of a line is that of its last command: "go test | tail" and "go test || true" end with
// 0 even if the tests fail.
package members

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Teller is the shell function with which a marked command reports its status: a line
// with its number and the status, on descriptor 5.
const Teller = `__hr_m() { __hr_r=$?; { printf '%s %s\n' "$1" "$__hr_r" >&5; } 2>/dev/null; return "$__hr_r"; }`

// Mark rewrites line so that each of its commands reports its status. It also returns the
// text of those commands, which are numbered from from. A line is returned unchanged if
// it has one command, cannot be parsed, or must not be touched.
func Mark(line string, from int) (string, []string) {
	for _, s := range [...]string{"$_", "${_", "5>", "5<", "&5"} {
		if strings.Contains(line, s) { // marking would change $_, and descriptor 5 is ours
			return line, nil
		}
	}
	m := marker{line: line, from: from}
	if !m.parse() || len(m.commands) < 2 && !m.nested {
		return line, nil
	}
	var b strings.Builder
	at := 0
	slices.SortStableFunc(m.inserts, func(a, b insert) int { return a.at - b.at })
	for _, in := range m.inserts {
		b.WriteString(line[at:in.at] + in.text)
		at = in.at + in.skip
	}
	return b.String() + line[at:], m.commands
}

// insert is text that replaces skip bytes of a line.
type insert struct {
	at, skip int
	text     string
}

type marker struct {
	line     string
	from     int
	commands []string
	inserts  []insert
	nested   bool // a command is a shell with its own line
}

// parse finds the commands of the line. It reports false on a syntax error.
func (m *marker) parse() bool {
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(m.line), "")
	if err != nil {
		return false
	}
	syntax.Walk(file, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Stmt:
			if n.Background || n.Coprocess {
				return false
			}
			if timed, ok := n.Cmd.(*syntax.TimeClause); ok && timed.Stmt != nil {
				if call, ok := timed.Stmt.Cmd.(*syntax.CallExpr); ok { // some shells run time as a program
					m.command(timed.Stmt, call, timed.Pos())
				}
				return false
			}
			if call, ok := n.Cmd.(*syntax.CallExpr); ok {
				m.command(n, call, call.Pos())
			}
		case *syntax.FuncDecl, *syntax.WhileClause, *syntax.Word, *syntax.CoprocClause:
			return false // commands in it may run repeatedly, or elsewhere
		}
		return true
	})
	return true
}

// command marks one simple command, which begins at pos.
func (m *marker) command(s *syntax.Stmt, call *syntax.CallExpr, pos syntax.Pos) {
	if len(call.Args) == 0 || slices.Contains([]string{"exec", "exit", "return", "break", "continue"}, call.Args[0].Lit()) {
		return
	}
	begin, end := pos.Offset(), call.End().Offset()
	for _, r := range s.Redirs { // the text of a here-document follows the line
		begin, end = min(begin, r.Pos().Offset()), max(end, r.Word.End().Offset())
	}
	n := m.from + len(m.commands)
	m.commands = append(m.commands, m.line[begin:end])
	m.inserts = append(m.inserts, insert{at: int(begin), text: "{ { "})
	shut := " 5>&-"
	if m.shell(call) {
		shut = ""
	}
	m.inserts = append(m.inserts, insert{at: int(end), text: fmt.Sprintf("; }%s; __hr_m %d; }", shut, n)})
}

// shell marks the line that a command passes to another shell, as in "bash -lc 'go test |
// tail'", and reports whether there was one.
func (m *marker) shell(call *syntax.CallExpr) bool {
	for i := 0; i+2 < len(call.Args); i++ {
		flag := call.Args[i+1].Lit()
		if !slices.Contains([]string{"sh", "bash", "dash", "ash"}, path.Base(call.Args[i].Lit())) || !strings.HasPrefix(flag, "-") || !strings.HasSuffix(flag, "c") {
			continue
		}
		word := call.Args[i+2]
		inner, ok := quoted(word)
		marked, commands := Mark(inner, m.from+len(m.commands))
		if !ok || len(commands) == 0 {
			return false
		}
		m.commands, m.nested = append(m.commands, commands...), true
		m.inserts = append(m.inserts, insert{at: int(word.Pos().Offset()), skip: int(word.End().Offset() - word.Pos().Offset()),
			text: "'" + strings.ReplaceAll(Teller+"\n"+marked, "'", `'\''`) + "'"})
		return true
	}
	return false
}

// quoted returns the content of a word that is one quoted string.
func quoted(w *syntax.Word) (string, bool) {
	if len(w.Parts) != 1 {
		return "", false
	}
	switch p := w.Parts[0].(type) {
	case *syntax.SglQuoted:
		return p.Value, !p.Dollar
	case *syntax.DblQuoted:
		if len(p.Parts) == 1 && !p.Dollar {
			if lit, ok := p.Parts[0].(*syntax.Lit); ok {
				return lit.Value, !strings.Contains(lit.Value, `\`)
			}
		}
	}
	return "", false
}
