package shell

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// stmts follows a list of statements and returns what they print.
func (m *machine) stmts(list []*syntax.Stmt) string {
	var b strings.Builder
	for _, s := range list {
		b.WriteString(m.stmt(s))
		if b.Len() > maxText {
			m.r.exhaust()
		}
	}
	return b.String()
}

func (m *machine) stmt(s *syntax.Stmt) string {
	m.enter()
	defer m.leave()
	if s.Background || s.Coprocess || s.Disown {
		m.parallel++
		defer func() { m.parallel-- }()
		if m.endless > 0 {
			m.r.hit("endless-jobs", "")
		}
	}
	if len(s.Redirs) == 0 {
		return m.negate(s, m.command(s.Cmd))
	}
	in, quiet, filed := m.in, m.quiet, m.filed
	defer func() { m.in, m.quiet, m.filed = in, quiet, filed }()
	var to []target
	for _, rd := range s.Redirs {
		to = m.redirect(to, rd, s.Cmd)
	}
	m.quiet, m.filed = quiet || len(to) > 0, filed || len(to) > 0
	given := m.in != in && m.in != nil && strings.Contains(m.in.text, secret) && hereText(s.Redirs)
	out := m.command(s.Cmd)
	if given && !m.quiet && strings.Contains(out, secret) {
		m.r.hit("secret-shown", "")
	}
	for _, t := range to {
		m.deliver(t, out)
	}
	if len(to) > 0 {
		out = ""
	}
	return m.negate(s, out)
}

// hereText reports whether a command gets its input from the line itself.
func hereText(list []*syntax.Redirect) bool {
	return slices.ContainsFunc(list, func(rd *syntax.Redirect) bool {
		return rd.Op == syntax.Hdoc || rd.Op == syntax.DashHdoc || rd.Op == syntax.WordHdoc
	})
}

func (m *machine) negate(s *syntax.Stmt, out string) string {
	if s.Negated {
		m.yes, m.no = m.no, m.yes
	}
	return out
}

func (m *machine) command(c syntax.Command) string {
	switch c := c.(type) {
	case *syntax.CallExpr:
		return m.call(c)
	case *syntax.BinaryCmd:
		return m.both(c)
	case *syntax.Subshell:
		return m.subshell(func() string { return m.stmts(c.Stmts) })
	case *syntax.Block:
		return m.stmts(c.Stmts)
	case *syntax.IfClause:
		return m.ifClause(c)
	case *syntax.WhileClause:
		return m.while(c)
	case *syntax.ForClause:
		return m.forClause(c)
	case *syntax.CaseClause:
		return m.caseClause(c)
	case *syntax.FuncDecl:
		m.define(c)
	case *syntax.DeclClause:
		return m.declare(c)
	case *syntax.TimeClause:
		if c.Stmt != nil {
			return m.stmt(c.Stmt)
		}
	case *syntax.CoprocClause:
		m.parallel++
		defer func() { m.parallel-- }()
		return m.stmt(c.Stmt)
	case *syntax.ArithmCmd:
		n, ok := m.arith(c.X)
		m.yes, m.no = ok && n != 0, ok && n == 0
	case *syntax.LetClause:
		for _, x := range c.Exprs {
			m.arith(x)
		}
	case *syntax.TestClause:
		m.test(c.X)
	case *syntax.TestDecl:
		return m.stmt(c.Body)
	}
	return ""
}

func (m *machine) define(c *syntax.FuncDecl) {
	names := c.Names
	if c.Name != nil {
		names = append(names, c.Name)
	}
	for _, n := range names {
		m.shadowFunction(n.Value, c.Body)
		m.funcs[n.Value] = &function{body: c.Body}
	}
}

func (m *machine) both(c *syntax.BinaryCmd) string {
	if c.Op != syntax.Pipe && c.Op != syntax.PipeAll {
		out := m.stmt(c.X)
		return out + m.maybe(func() string { return m.stmt(c.Y) })
	}
	m.parallel++
	defer func() { m.parallel-- }()
	quiet := m.quiet
	out := m.subshell(func() string { m.quiet, m.filed = true, false; return m.stmt(c.X) })
	in := m.in
	m.in = &input{text: out}
	defer func() { m.in, m.quiet = in, quiet }()
	if _, simple := c.X.Cmd.(*syntax.CallExpr); out == "" && !simple {
		m.in.text = unknown // a loop or a group may print what was not computed
	}
	m.quiet = quiet
	out = m.maybe(func() string { return m.stmt(c.Y) })
	if !m.quiet && strings.Contains(out, secret) {
		m.r.hit("secret-shown", "")
	}
	return out
}

func (m *machine) ifClause(c *syntax.IfClause) string {
	var out string
	if len(c.Cond) > 0 {
		out = m.stmts(c.Cond)
	}
	out += m.maybe(func() string { return m.stmts(c.Then) })
	if c.Else != nil {
		m.enter()
		defer m.leave()
		out += m.maybe(func() string { return m.ifClause(c.Else) })
	}
	return out
}

// while follows a loop: as long as the condition is known to hold, or the
// input has lines left, and twice otherwise.
func (m *machine) while(c *syntax.WhileClause) string {
	var b strings.Builder
	for round := range maxLoop {
		m.yes, m.no = false, false
		left := m.inputLeft()
		b.WriteString(m.stmts(c.Cond))
		yes, no := m.yes, m.no
		if c.Until {
			yes, no = no, yes
		}
		if yes && round == 0 && !calls(c.Do, leavesLoop) {
			m.endless++
			defer func() { m.endless-- }()
			m.restless(c.Do)
		}
		if no && round > 0 {
			break
		}
		b.WriteString(m.maybe(func() string { return m.stmts(c.Do) }))
		if no || !yes && round > 0 && m.inputLeft() >= left {
			break
		}
		if yes && round > 2 && m.endless > 0 && alwaysTrue(c) {
			break
		}
		if b.Len() > maxText {
			m.r.exhaust()
		}
	}
	m.yes, m.no = false, false
	return b.String()
}

func (m *machine) inputLeft() int {
	if m.in == nil {
		return 0
	}
	return len(m.in.text) - m.in.pos
}

// alwaysTrue reports whether a loop's condition is a constant.
func alwaysTrue(c *syntax.WhileClause) bool {
	if len(c.Cond) != 1 {
		return false
	}
	switch x := c.Cond[0].Cmd.(type) {
	case *syntax.CallExpr:
		return len(x.Args) > 0 && len(x.Args) < 3
	case *syntax.ArithmCmd:
		return true
	}
	return false
}

// Commands that leave a loop, and commands that make it wait.
const (
	leavesLoop = "break exit return wait"
	pausesLoop = "sleep usleep read wait inotifywait fswatch select timeout"
)

// calls reports whether a loop's body runs one of the commands.
func calls(list []*syntax.Stmt, names string) bool {
	found := false
	for _, s := range list {
		syntax.Walk(s, func(n syntax.Node) bool {
			if c, ok := n.(*syntax.CallExpr); ok && len(c.Args) > 0 {
				found = found || hasWord(names, c.Args[0].Lit())
			}
			return !found
		})
	}
	return found
}

// restless looks for a loop without an end and without a pause whose body
// makes a file or a variable longer each time.
func (m *machine) restless(list []*syntax.Stmt) {
	if calls(list, pausesLoop) {
		return
	}
	if idle(list) {
		m.r.hit("exhaust", "a loop that does nothing and never ends")
	}
	for _, s := range list {
		syntax.Walk(s, func(n syntax.Node) bool {
			switch n := n.(type) {
			case *syntax.Redirect:
				if n.Op == syntax.AppOut || n.Op == syntax.AppAll {
					if p := m.resolve(m.subshell(func() string { return m.text(n.Word) })); placeOf(p) != placeNowhere {
						m.r.hit("exhaust", p)
					}
				}
			case *syntax.Assign:
				if n.Name != nil && n.Value != nil && (n.Append || mentions(n.Value, n.Name.Value) > 1) {
					m.r.hit("exhaust", n.Name.Value)
				}
			}
			return true
		})
	}
}

// idle reports whether a loop's body does nothing at all.
func idle(list []*syntax.Stmt) bool {
	for _, s := range list {
		c, ok := s.Cmd.(*syntax.CallExpr)
		if !ok || len(c.Args) != 1 || !hasWord(": true", c.Args[0].Lit()) {
			return false
		}
	}
	return true
}

// mentions counts how often a word expands a variable.
func mentions(w *syntax.Word, name string) int {
	n := 0
	syntax.Walk(w, func(x syntax.Node) bool {
		if p, ok := x.(*syntax.ParamExp); ok && p.Param != nil && p.Param.Value == name {
			n++
		}
		return true
	})
	return n
}

func (m *machine) forClause(c *syntax.ForClause) string {
	var b strings.Builder
	switch loop := c.Loop.(type) {
	case *syntax.WordIter:
		items := texts(m.fields(loop.Items))
		if !loop.InPos.IsValid() {
			items = m.pos
		}
		for _, item := range items {
			m.set(loop.Name.Value, item)
			b.WriteString(m.maybe(func() string { return m.stmts(c.Do) }))
		}
		if len(items) == 0 {
			b.WriteString(m.maybe(func() string { return m.stmts(c.Do) }))
		}
	case *syntax.CStyleLoop:
		m.cStyle(loop, c, &b)
	}
	return b.String()
}

func (m *machine) cStyle(loop *syntax.CStyleLoop, c *syntax.ForClause, b *strings.Builder) {
	if loop.Init != nil {
		m.arith(loop.Init)
	}
	if loop.Cond == nil && !calls(c.Do, leavesLoop) {
		m.endless++
		defer func() { m.endless-- }()
		m.restless(c.Do)
	}
	for round := range maxLoop {
		n, ok := int64(1), true
		if loop.Cond != nil {
			n, ok = m.arith(loop.Cond)
		}
		if round > 0 && (!ok || n == 0 || loop.Cond == nil) {
			break
		}
		b.WriteString(m.stmts(c.Do))
		if loop.Post != nil {
			m.arith(loop.Post)
		}
	}
}

func (m *machine) caseClause(c *syntax.CaseClause) string {
	m.text(c.Word)
	var b strings.Builder
	for _, item := range c.Items {
		for _, w := range item.Patterns {
			m.pattern(w)
		}
		b.WriteString(m.maybe(func() string { return m.stmts(item.Stmts) }))
	}
	return b.String()
}

// test follows the words of [[ … ]]: only substitutions in them can do harm.
func (m *machine) test(x syntax.TestExpr) {
	m.enter()
	defer m.leave()
	switch x := x.(type) {
	case *syntax.BinaryTest:
		m.test(x.X)
		m.test(x.Y)
	case *syntax.UnaryTest:
		m.test(x.X)
	case *syntax.ParenTest:
		m.test(x.X)
	case *syntax.Word:
		m.text(x)
	}
	m.yes, m.no = false, false
}

// call follows a simple command, once for each alternative of the variables
// in its words.
func (m *machine) call(c *syntax.CallExpr) string {
	if len(c.Args) == 0 {
		for _, a := range c.Assigns {
			m.assign(a)
		}
		m.yes, m.no = true, false
		return ""
	}
	var out string
	world, worlds := m.world, m.worlds
	m.worlds = 1
	for m.world = 0; m.world < min(m.worlds, 8); m.world++ {
		out = eitherOutput(out, m.callOnce(c), m.world)
	}
	m.world, m.worlds = world, max(worlds, m.worlds)
	return out
}

// eitherOutput combines the outputs of alternatives: when they differ, both follow
// each other, so that neither is lost.
func eitherOutput(a, b string, n int) string {
	if n == 0 || a == b {
		return b
	}
	return a + b
}

func (m *machine) callOnce(c *syntax.CallExpr) string {
	type old struct {
		name string
		v    variable
		ok   bool
	}
	args := m.fields(c.Args)
	var saved []old
	for _, a := range c.Assigns {
		if a.Name == nil {
			continue
		}
		v, ok := m.vars[a.Name.Value]
		saved = append(saved, old{a.Name.Value, v, ok})
		m.assign(a)
	}
	out := m.exec(args)
	for _, o := range saved {
		if o.ok {
			m.vars[o.name] = o.v
		} else {
			delete(m.vars, o.name)
		}
	}
	return out
}
