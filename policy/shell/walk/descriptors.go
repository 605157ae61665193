package walk

import (
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/handrail-bot/handrail/policy/shell/word"
)

// target is where a redirection sends what a command prints: a file, or
// statements that read it.
type target struct {
	path string
	add  bool
	runs []*syntax.Stmt
	sent *strings.Builder // all that the statements were sent so far
}

// targetOf is the target that a file name stands for.
func targetOf(w *Walk, name string, op syntax.RedirOperator) target {
	p := w.Resolve(name)
	for _, dir := range [...]string{descriptors, "/proc/self/fd/"} {
		if number, ok := strings.CutPrefix(p, dir); ok && w.open[number].sent != nil {
			return w.open[number]
		}
	}
	return target{path: p, add: op == syntax.AppOut || op == syntax.AppAll || op == syntax.AppClob || op == syntax.RdrInOut}
}

// output gives a command a target of its output, or the program one under a
// number.
func output(w *Walk, to []target, rd *syntax.Redirect, t target) []target {
	number := numberOf(w, rd)
	if number == "" || number == "1" {
		return append(to, t)
	}
	if number == "2" && t.runs != nil {
		to = append(to, t)
	}
	t.add = true // it was emptied when it was opened
	w.open[number] = t
	return to
}

// movesOwn reports whether the redirections of a command are those of the
// shell itself, which stay: an exec without a program.
func movesOwn(c syntax.Command) bool {
	call, ok := c.(*syntax.CallExpr)
	if !ok || len(call.Args) == 0 || call.Args[len(call.Args)-1].Lit() != "exec" {
		return false
	}
	return len(call.Args) == 1 || len(call.Args) == 2 && (call.Args[0].Lit() == "command" || call.Args[0].Lit() == "builtin")
}

// coprocess follows a process that runs beside the shell: what is written to
// it, it reads, and what it prints can be read.
func coprocess(w *Walk, c *syntax.CoprocClause) string {
	name := "COPROC"
	if c.Name != nil {
		name = word.Text(w, c.Name)
	}
	read, write := strconv.Itoa(100+2*len(w.open)), strconv.Itoa(101+2*len(w.open))
	w.set(name, read, write)
	w.open[write] = target{runs: []*syntax.Stmt{c.Stmt}, sent: &strings.Builder{}}
	w.Content[descriptors+read] = w.subshell(func() string { w.In, w.shown, w.quiet = nil, nil, true; return w.stmt(c.Stmt) })
	return ""
}

// descriptors is the directory of the open files.
const descriptors = "/dev/fd/"

// fromDescriptor is what can be read from an open file: of one that is also
// written, what was written.
func fromDescriptor(w *Walk, number string) (string, bool) {
	if t, ok := w.open[number]; ok && t.path != "" {
		if text, own := w.Content[t.path]; own {
			return text, true
		}
	}
	text, ok := w.Content[descriptors+number]
	return text, ok
}

// number is the descriptor that a redirection is for, if it names one. bash
// chooses one for a variable.
func numberOf(w *Walk, rd *syntax.Redirect) string {
	if rd.N == nil {
		return ""
	}
	name := strings.Trim(rd.N.Value, "{}")
	if name == rd.N.Value {
		return name
	}
	if list, ok := w.get(name); ok && len(list) == 1 && w.open[list[0]].path+w.Content[descriptors+list[0]] != "" {
		return list[0]
	}
	number := strconv.Itoa(10 + len(w.open) + len(w.Content))
	w.set(name, number)
	return number
}

func descriptor(s string) bool {
	return s == "-" || strings.Trim(s, "0123456789") == "" || strings.HasSuffix(s, "-") && strings.Trim(s, "0123456789-") == ""
}

// fromNumber has a command read the descriptor that it names, until the
// function is called that it returns: a later command reads on from there.
func fromNumber(c *Command) func() {
	number, ok := c.Value("u")
	if !ok {
		return func() {}
	}
	in := c.In
	if c.In = nil; number != "0" {
		text, known := fromDescriptor(c.Walk, number)
		if !known {
			text = unknown
		}
		c.In = &Input{Text: text}
	}
	return func() {
		if c.In != nil {
			c.Content[descriptors+number] = c.Waiting()
		}
		c.In = in
	}
}
