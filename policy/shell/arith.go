package shell

import (
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

// number is the text of an arithmetic expansion.
func (m *machine) number(x syntax.ArithmExpr) string {
	n, ok := m.arith(x)
	if !ok {
		return unknown
	}
	return strconv.FormatInt(n, 10)
}

// arith computes an arithmetic expression, if every operand in it is a number
// that is known. Substitutions in it are followed in any case.
func (m *machine) arith(x syntax.ArithmExpr) (int64, bool) {
	m.enter()
	defer m.leave()
	plain, ok := m.operands(x)
	if ok {
		e := &expansion{m: m}
		n := 0
		err := e.guarded(func(cfg *expand.Config) (err error) {
			n, err = expand.Arithm(cfg, plain)
			return err
		})
		if err == nil {
			return int64(n), true
		}
	}
	m.forget(x)
	return 0, false
}

// operands copies an expression with every operand expanded, and reports
// whether each is a number or a variable that holds one.
func (m *machine) operands(x syntax.ArithmExpr) (syntax.ArithmExpr, bool) {
	m.enter()
	defer m.leave()
	switch x := x.(type) {
	case *syntax.Word:
		s := strings.TrimSpace(m.text(x))
		if s == "" {
			s = "0"
		}
		return &syntax.Word{Parts: []syntax.WordPart{&syntax.Lit{Value: s}}}, m.countable(s)
	case *syntax.ParenArithm:
		in, ok := m.operands(x.X)
		return in, ok
	case *syntax.UnaryArithm:
		in, ok := m.operands(x.X)
		if (x.Op == syntax.Inc || x.Op == syntax.Dec) && arithName(x.X) == "" {
			return nil, false
		}
		return &syntax.UnaryArithm{Op: x.Op, Post: x.Post, X: in}, ok
	case *syntax.BinaryArithm:
		left, okLeft := m.operands(x.X)
		right, okRight := m.operands(x.Y)
		switch {
		case x.Op == syntax.Assgn:
			left, okLeft = x.X, arithName(x.X) != ""
		case x.Op > syntax.Assgn && x.Op <= syntax.ShrAssgn:
			okLeft = okLeft && arithName(x.X) != ""
		}
		return &syntax.BinaryArithm{Op: x.Op, X: left, Y: right}, okLeft && okRight
	}
	return nil, false
}

// plainNumber is what the library and bash read as the same number.
var plainNumber = lazily(`^[-+]?(?:0|[1-9][0-9]{0,17}|0[0-7]{1,18}|0[xX][0-9a-fA-F]{1,15}|[0-9]{1,2}#[0-9a-z]{1,10})$`)

// countable reports whether a word of an expression is a number or names
// a variable that holds one.
func (m *machine) countable(s string) bool {
	for range 8 {
		if plainNumber().MatchString(s) {
			return true
		}
		vals, ok := m.get(s)
		if !ok || !syntax.ValidName(s) {
			return false
		}
		if s = strings.TrimSpace(strings.Join(vals[:min(1, len(vals))], "")); s == "" {
			return true
		}
	}
	return false
}

func arithName(x syntax.ArithmExpr) string {
	if w, ok := x.(*syntax.Word); ok && syntax.ValidName(w.Lit()) {
		return w.Lit()
	}
	return ""
}

// assigns reports whether an expression changes a variable.
func assigns(x syntax.ArithmExpr) bool {
	found := false
	syntax.Walk(x, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.BinaryArithm:
			found = found || n.Op >= syntax.Assgn && n.Op <= syntax.ShrAssgn
		case *syntax.UnaryArithm:
			found = found || n.Op == syntax.Inc || n.Op == syntax.Dec
		}
		return !found
	})
	return found
}

// forget makes unknown what an expression that is not computed assigns.
func (m *machine) forget(x syntax.ArithmExpr) {
	syntax.Walk(x, func(n syntax.Node) bool {
		name := ""
		switch n := n.(type) {
		case *syntax.BinaryArithm:
			if n.Op >= syntax.Assgn && n.Op <= syntax.ShrAssgn {
				name = arithName(n.X)
			}
		case *syntax.UnaryArithm:
			if n.Op == syntax.Inc || n.Op == syntax.Dec {
				name = arithName(n.X)
			}
		}
		if name != "" {
			m.set(name, unknown)
		}
		return true
	})
}
