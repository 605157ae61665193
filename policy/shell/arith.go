package shell

import (
	"strconv"
	"strings"

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

// arith computes an arithmetic expression, if everything in it is known.
// Substitutions in it are followed in any case.
func (m *machine) arith(x syntax.ArithmExpr) (int64, bool) {
	m.enter()
	defer m.leave()
	switch x := x.(type) {
	case *syntax.Word:
		return m.operand(m.text(x))
	case *syntax.ParenArithm:
		return m.arith(x.X)
	case *syntax.UnaryArithm:
		return m.unary(x)
	case *syntax.BinaryArithm:
		return m.binary(x)
	}
	return 0, false
}

// operand reads a number or the name of a variable.
func (m *machine) operand(s string) (int64, bool) {
	s = strings.TrimSpace(s)
	if s == "" {
		return 0, true
	}
	for range 8 {
		if base, digits, ok := strings.Cut(s, "#"); ok {
			b, err := strconv.Atoi(base)
			if err != nil || b < 2 || b > 36 {
				return 0, false
			}
			n, err := strconv.ParseInt(digits, b, 64)
			return n, err == nil
		}
		if n, err := strconv.ParseInt(s, 0, 64); err == nil {
			return n, true
		}
		vals, ok := m.get(s)
		if !ok {
			return 0, false
		}
		s = strings.TrimSpace(strings.Join(vals, ""))
		if s == "" {
			return 0, true
		}
	}
	return 0, false
}

func arithName(x syntax.ArithmExpr) string {
	if w, ok := x.(*syntax.Word); ok {
		return w.Lit()
	}
	return ""
}

func (m *machine) unary(x *syntax.UnaryArithm) (int64, bool) {
	n, ok := m.arith(x.X)
	if !ok {
		return 0, false
	}
	switch x.Op {
	case syntax.Not:
		return truth(n == 0), true
	case syntax.BitNegation:
		return ^n, true
	case syntax.Minus:
		return -n, true
	case syntax.Plus:
		return n, true
	}
	changed := n + 1
	if x.Op == syntax.Dec {
		changed = n - 1
	}
	if name := arithName(x.X); name != "" {
		m.set(name, strconv.FormatInt(changed, 10))
	}
	if x.Post {
		return n, true
	}
	return changed, true
}

func truth(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

func (m *machine) binary(x *syntax.BinaryArithm) (int64, bool) {
	if x.Op == syntax.TernQuest {
		return m.ternary(x)
	}
	b, okB := m.arith(x.Y)
	if x.Op >= syntax.Assgn && x.Op <= syntax.ShrAssgn {
		return m.assignArith(x, b, okB)
	}
	a, okA := m.arith(x.X)
	if !okA || !okB {
		return 0, false
	}
	return compute(x.Op, a, b)
}

func (m *machine) ternary(x *syntax.BinaryArithm) (int64, bool) {
	cond, ok := m.arith(x.X)
	y, isPair := x.Y.(*syntax.BinaryArithm)
	if !ok || !isPair || y.Op != syntax.TernColon {
		return 0, false
	}
	if cond != 0 {
		return m.arith(y.X)
	}
	return m.arith(y.Y)
}

func (m *machine) assignArith(x *syntax.BinaryArithm, b int64, ok bool) (int64, bool) {
	name := arithName(x.X)
	if name == "" {
		return 0, false
	}
	if x.Op != syntax.Assgn && ok {
		var a int64
		if a, ok = m.arith(x.X); ok {
			b, ok = compute(plainOperator(x.Op), a, b)
		}
	}
	if !ok {
		m.set(name, unknown)
		return 0, false
	}
	m.set(name, strconv.FormatInt(b, 10))
	return b, true
}

func plainOperator(op syntax.BinAritOperator) syntax.BinAritOperator {
	switch op {
	case syntax.AddAssgn:
		return syntax.Add
	case syntax.SubAssgn:
		return syntax.Sub
	case syntax.MulAssgn:
		return syntax.Mul
	case syntax.QuoAssgn:
		return syntax.Quo
	case syntax.RemAssgn:
		return syntax.Rem
	case syntax.AndAssgn:
		return syntax.And
	case syntax.OrAssgn:
		return syntax.Or
	case syntax.XorAssgn:
		return syntax.Xor
	case syntax.ShlAssgn:
		return syntax.Shl
	}
	return syntax.Shr
}

func compute(op syntax.BinAritOperator, a, b int64) (int64, bool) {
	switch op {
	case syntax.Add:
		return a + b, true
	case syntax.Sub:
		return a - b, true
	case syntax.Mul:
		return a * b, true
	case syntax.Quo, syntax.Rem:
		if b == 0 || b == -1 {
			return -a * truth(op == syntax.Quo), b != 0
		}
		if op == syntax.Quo {
			return a / b, true
		}
		return a % b, true
	case syntax.Pow:
		n := int64(1)
		for range min(max(b, 0), 64) {
			n *= a
		}
		return n, b >= 0 && b <= 64
	case syntax.And:
		return a & b, true
	case syntax.Or:
		return a | b, true
	case syntax.Xor:
		return a ^ b, true
	case syntax.Shl:
		return a << (uint64(b) & 63), true
	case syntax.Shr:
		return a >> (uint64(b) & 63), true
	case syntax.Comma:
		return b, true
	}
	return compareArith(op, a, b)
}

func compareArith(op syntax.BinAritOperator, a, b int64) (int64, bool) {
	switch op {
	case syntax.Eql:
		return truth(a == b), true
	case syntax.Neq:
		return truth(a != b), true
	case syntax.Gtr:
		return truth(a > b), true
	case syntax.Lss:
		return truth(a < b), true
	case syntax.Geq:
		return truth(a >= b), true
	case syntax.Leq:
		return truth(a <= b), true
	case syntax.AndArit:
		return truth(a != 0 && b != 0), true
	case syntax.OrArit:
		return truth(a != 0 || b != 0), true
	}
	return 0, false
}
