package walk

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/handrail-bot/handrail/policy/shell/argv"
	"github.com/handrail-bot/handrail/policy/shell/code"
)

// suspects follows the texts of a line that runs what is not known: any of
// them may be what it runs. Only what is critical then counts.
func suspects(w *Walk, texts []string) {
	for _, text := range code.Guess(texts) { //control:suspected-texts
		w.OnlyCritical(argv.Of("sh", "-c", text), text)
	}
}

// literals are the texts in a program: the words of each command together, and
// each text in quotes.
func literals(file *syntax.File) []string {
	var out []string
	add := func(s string) {
		if strings.TrimSpace(s) != "" {
			out = append(out, s)
		}
	}
	syntax.Walk(file, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.SglQuoted:
			add(n.Value)
			for _, piece := range codeString().FindAllStringSubmatch(n.Value, 32) {
				add(strings.ReplaceAll(piece[1], `\n`, "\n"))
			}
		case *syntax.Lit:
			if strings.ContainsAny(n.Value, "/ \n") || len(n.Value) > 8 {
				add(n.Value)
			}
		case *syntax.CallExpr:
			var words []string
			for _, a := range n.Args {
				words = append(words, plainText(a))
			}
			if len(words) > 2 {
				add(strings.Join(words[1:], " "))
			}
		}
		return true
	})
	return out
}

// plainText is what a word holds that stands there as it is.
func plainText(w *syntax.Word) string {
	var b strings.Builder
	syntax.Walk(w, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Lit:
			b.WriteString(n.Value)
		case *syntax.SglQuoted:
			b.WriteString(n.Value)
		case *syntax.ParamExp, *syntax.CmdSubst, *syntax.ProcSubst, *syntax.ArithmExp:
			return false
		}
		return true
	})
	return b.String()
}

// held are the texts that variables hold.
func (v *variables) held() []string {
	var out []string
	for _, held := range v.vars {
		for _, alt := range held.alts {
			out = append(out, alt...)
		}
	}
	return out
}
