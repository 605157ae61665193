package walk

import (
	"maps"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/handrail-bot/handrail/policy/shell/argv"
	"github.com/handrail-bot/handrail/policy/shell/code"
	"github.com/handrail-bot/handrail/policy/shell/known"
	"github.com/handrail-bot/handrail/policy/shell/mark"
)

// suspects follows the texts of a line that runs what is not known: any of
// them may be what it runs. Only what is critical then counts.
func suspects(w *Walk, texts []string) {
	for _, text := range code.Guess(texts) { //control:suspected-texts
		w.OnlyCritical(argv.Of("sh", "-c", text), text)
	}
}

// Said follows what a text says, if the program that is given it runs it.
// Only what is critical then counts.
func Said(w *Walk, line, text string) {
	for _, said := range code.Said(text) { //control:said-texts
		w.OnlyCritical(argv.Of("sh", "-c", said), line)
	}
}

// strange follows a program text of which not even the language is known, as if
// it had calls and texts as most have. Only what is critical then counts.
func strange(c *Command, text string) {
	if !strings.ContainsAny(text, "\"'`([{<|!") || len(text) > maxStrange {
		return
	}
	other := c.With(strangeLanguage, nil)
	onlyCritical(c.Walk, c.Line(), func() { ScanCode(other, text) })
	suspects(c.Walk, code.Texts(text))
}

// StrangeTexts follows the texts that a program is given in its arguments and on
// its input.
func StrangeTexts(c *Command) {
	for i, a := range c.List {
		option, value, ok := strings.Cut(a.S, "=")
		if !ok || !strings.HasPrefix(option, "-") {
			option, value = c.At(i-1), a.S
		}
		if strings.ContainsAny(value, " (") && !known.In("text-options", option) {
			Said(c.Walk, c.Line(), value)
			strange(c, value)
		}
	}
	if text := c.Waiting(); c.Given() && strings.Trim(text, mark.All) != "" {
		Said(c.Walk, c.Line(), text)
		strange(c, text)
	}
}

// strangeLanguage is a compiler of a language that is written as most are.
const strangeLanguage = "swift"

// maxStrange is how long a text may be that is read in an unknown language.
const maxStrange = 16 << 10

var counts = Lazily(`^-[a-zA-Z]*c$|^--count$|length|tonumber|add$|^(?:\^)?\[0-9\][+*]\$?$|^\\d\+$`)

// printsFile reports whether a substitution prints what a file says. Of what
// counts or measures only a number can come.
func printsFile(p *syntax.CmdSubst) bool {
	programs, number := 0, false
	syntax.Walk(p, func(n syntax.Node) bool {
		call, ok := n.(*syntax.CallExpr)
		if !ok {
			return true
		}
		programs++
		for i, a := range call.Args {
			text := plainText(a)
			number = number || i == 0 && !known.In("text-printers", text) || i > 0 && counts().MatchString(text)
		}
		return true
	})
	return !number && (programs > 0 || len(p.Stmts) == 1 && len(p.Stmts[0].Redirs) == 1)
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

// held are the texts that variables hold, in the order of their names.
func (v *variables) held() []string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(v.vars)) {
		for _, alt := range v.vars[name].alts {
			out = append(out, alt...)
		}
	}
	return out
}
