package word

import (
	"slices"

	"mvdan.cc/sh/v3/syntax"
)

// recursion is how a function calls itself.
type recursion struct {
	name    string
	bare    bool // a call that nothing decides about
	doubled bool // two calls at a time, or one in the background
	leaves  bool // it returns when something holds
}

// RecursionEnds reports whether the calls of itself in a function come to an end, as
// far as can be told: each is made only when something holds that is not the
// same each time.
func RecursionEnds(name string, body *syntax.Stmt) bool {
	r := recursion{name: name}
	r.stmt(body, false)
	r.doubled = r.doubled || !r.calls(body) // others call it
	return !r.doubled && (!r.bare || r.leaves)
}

func (r *recursion) stmts(list []*syntax.Stmt, decided bool) {
	for _, s := range list {
		r.stmt(s, decided)
	}
}

func (r *recursion) stmt(s *syntax.Stmt, decided bool) {
	if s == nil {
		return
	}
	if s.Background && r.calls(s) {
		r.doubled = true
	}
	if _, ok := s.Cmd.(*syntax.CallExpr); ok && !decided && r.calls(s) { // also in a substitution
		r.bare = true
	}
	switch c := s.Cmd.(type) {
	case *syntax.IfClause:
		r.either(c, decided)
	case *syntax.WhileClause:
		r.stmts(c.Do, decided || varies(c.Cond))
	case *syntax.ForClause:
		_, words := c.Loop.(*syntax.WordIter)
		r.stmts(c.Do, decided || words)
	case *syntax.CaseClause:
		r.cases(c, decided)
	case *syntax.BinaryCmd:
		r.both(c, decided)
	case *syntax.Block:
		r.stmts(c.Stmts, decided)
	case *syntax.Subshell:
		r.stmts(c.Stmts, decided)
	case *syntax.CallExpr:
		r.leaves = r.leaves || len(c.Args) > 0 && decided && slices.Contains([]string{"return", "exit"}, c.Args[0].Lit())
	}
}

func (r *recursion) cases(c *syntax.CaseClause, decided bool) {
	for _, item := range c.Items {
		r.stmts(item.Stmts, decided || varies([]*syntax.CaseClause{c}))
	}
}

func (r *recursion) either(c *syntax.IfClause, decided bool) {
	for ; c != nil; c = c.Else {
		r.stmts(c.Cond, decided)
		decided = decided || varies(c.Cond)
		r.stmts(c.Then, decided)
	}
}

func (r *recursion) both(c *syntax.BinaryCmd, decided bool) {
	pipe := c.Op == syntax.Pipe || c.Op == syntax.PipeAll
	if pipe && r.calls(c.X) && r.calls(c.Y) {
		r.doubled = true
	}
	r.stmt(c.X, decided)
	r.stmt(c.Y, decided || !pipe && varies([]*syntax.Stmt{c.X}))
}

func (r *recursion) own(c *syntax.CallExpr) bool { return len(c.Args) > 0 && c.Args[0].Lit() == r.name }

// calls reports whether a statement calls the function.
func (r *recursion) calls(n syntax.Node) bool {
	found := false
	syntax.Walk(n, func(n syntax.Node) bool {
		if c, ok := n.(*syntax.CallExpr); ok && r.own(c) {
			found = true
		}
		return !found
	})
	return found
}

// varies reports whether what is decided by depends on anything: a variable,
// the output of a command, the input.
func varies[N syntax.Node](list []N) bool {
	found := false
	for _, s := range list {
		syntax.Walk(s, func(n syntax.Node) bool {
			switch n := n.(type) {
			case *syntax.ParamExp, *syntax.CmdSubst:
				found = true
			case *syntax.ArithmCmd: // names stand there without a sign
				found = true
			case *syntax.CallExpr:
				found = found || len(n.Args) > 0 && n.Args[0].Lit() == "read"
			}
			return !found
		})
	}
	return found
}
