package word

import (
	"regexp"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"

	"github.com/handrail-bot/handrail/policy/shell/mark"
)

// number is the text of an arithmetic expansion.
func (ex expander) number(x syntax.ArithmExpr) string {
	n, ok := ex.arith(x)
	if !ok {
		return mark.Unknown
	}
	return strconv.FormatInt(n, 10)
}

// arith computes an arithmetic expression, if every operand in it is a number
// that is known. Substitutions in it are followed in any case.
func (ex expander) arith(x syntax.ArithmExpr) (int64, bool) {
	defer ex.sh.Enter(0)()
	plain, ok := ex.operands(x)
	if ok {
		e := &expansion{expander: ex}
		n := 0
		err := e.guarded(func(cfg *expand.Config) (err error) {
			n, err = expand.Arithm(cfg, plain)
			return err
		})
		if err == nil {
			e.keep()
			return int64(n), true
		}
	}
	for _, name := range assigned(x) {
		if name != "" {
			ex.sh.Set(name, mark.Unknown)
		}
	}
	return 0, false
}

// operands copies an expression with every operand expanded, and reports
// whether each is a number or a variable that holds one.
func (ex expander) operands(x syntax.ArithmExpr) (syntax.ArithmExpr, bool) {
	defer ex.sh.Enter(0)()
	switch x := x.(type) {
	case *syntax.Word:
		s := strings.TrimSpace(ex.joined(x, asText))
		if s == "" {
			s = "0"
		}
		return &syntax.Word{Parts: []syntax.WordPart{&syntax.Lit{Value: s}}}, ex.countable(s)
	case *syntax.ParenArithm:
		in, ok := ex.operands(x.X)
		return in, ok
	case *syntax.UnaryArithm:
		in, ok := ex.operands(x.X)
		if (x.Op == syntax.Inc || x.Op == syntax.Dec) && arithName(x.X) == "" {
			return nil, false
		}
		return &syntax.UnaryArithm{Op: x.Op, Post: x.Post, X: in}, ok
	case *syntax.BinaryArithm:
		left, okLeft := ex.operands(x.X)
		right, okRight := ex.operands(x.Y)
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
var plainNumber = regexp.MustCompile(`^[-+]?(?:0|[1-9][0-9]{0,17}|0[0-7]{1,18}|0[xX][0-9a-fA-F]{1,15}|[0-9]{1,2}#[0-9a-z]{1,10})$`)

// countable reports whether a word of an expression is a number or names
// a variable that holds one.
func (ex expander) countable(s string) bool {
	for range 8 {
		if plainNumber.MatchString(s) {
			return true
		}
		if strings.ContainsAny(s, mark.Remote+mark.Written) {
			let(ex, s)
			return false
		}
		ex.evaluate(s, 0)
		v := ex.sh.Lookup(s)
		if v.State != Set || !syntax.ValidName(s) {
			return false
		}
		if s = strings.TrimSpace(v.first()); s == "" {
			return true
		}
	}
	return false
}

// let follows an expression that another machine or a file holds, as the builtin of that
// name does.
func let(ex expander, text string) {
	words := []*syntax.Word{{Parts: []syntax.WordPart{&syntax.Lit{Value: "let"}}}, singleQuoted(text)}
	ex.sh.Output(&syntax.CmdSubst{Stmts: []*syntax.Stmt{{Cmd: &syntax.CallExpr{Args: words}}}})
}

// mostNested is how many expressions in variables are followed that name each
// other.
const mostNested = 8

// evaluate follows the text of a variable as bash does where it wants a
// number: the text is an expression, and substitutions in a subscript of it
// run.
func (ex expander) evaluate(s string, depth int) {
	defer ex.sh.Enter(len(s))()
	if depth > mostNested || plainNumber.MatchString(s) || depth == 0 && syntax.ValidName(s) {
		return
	}
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader("(("+s+"))"), "")
	if err != nil {
		return // bash does not evaluate it either
	}
	syntax.Walk(file, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CmdSubst:
			ex.sh.Output(n)
			return false
		case *syntax.Lit:
			if v := ex.sh.Lookup(n.Value); syntax.ValidName(n.Value) && v.State == Set {
				ex.evaluate(v.first(), depth+1)
			}
		}
		return true
	})
}

// Evaluate follows a text that bash reads as an expression.
func Evaluate(sh Shell, text string) { expander{sh}.countable(strings.TrimSpace(text)) }

// Name follows a text that bash reads as the name of a variable: substitutions
// in a subscript of it run.
func Name(sh Shell, text string) {
	if strings.Contains(text, "[") { //control:evaluated-names
		expander{sh}.evaluate(text, 1)
	}
}

func arithName(x syntax.ArithmExpr) string {
	if w, ok := x.(*syntax.Word); ok && syntax.ValidName(w.Lit()) {
		return w.Lit()
	}
	return ""
}

// assigned lists the variables that an expression changes.
func assigned(x syntax.ArithmExpr) []string {
	var names []string
	syntax.Walk(x, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.BinaryArithm:
			if n.Op >= syntax.Assgn && n.Op <= syntax.ShrAssgn {
				names = append(names, arithName(n.X))
			}
		case *syntax.UnaryArithm:
			if n.Op == syntax.Inc || n.Op == syntax.Dec {
				names = append(names, arithName(n.X))
			}
		}
		return true
	})
	return names
}
