// Package word expands the words of a shell program over values that may not
// be known. The shell library joins, splits and unquotes; what is ours is what
// it is given: each parameter and each substitution becomes a variable with a
// name of our own first, so the library runs nothing, and a value that is not
// known is text with a mark in it. Where the library and bash differ, and where
// it fails, the result is opaque.
package word

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"

	"github.com/handrail-bot/handrail/policy/shell/argv"
	"github.com/handrail-bot/handrail/policy/shell/filter"
	"github.com/handrail-bot/handrail/policy/shell/mark"
)

// Shell is what an expansion asks of the shell around it.
type Shell interface {
	// Lookup is what a variable or a special parameter holds.
	Lookup(name string) Variable
	// Set gives a variable a value, as ${a:=b} and $((a=1)) do.
	Set(name, value string)
	// Output follows a command or a process substitution and returns what
	// stands in its place.
	Output(part syntax.WordPart) string
	// Enter counts one unit of work over a number of bytes. It goes one level
	// deeper, until the function is called that it returns.
	Enter(bytes int) (leave func())
	// Either reports which of two ways is taken where the environment decides
	// and both are followed.
	Either() bool
}

// State is what is known of whether a variable is set.
type State int

// The states of a variable.
const (
	Set    State = iota
	Absent       // it is not set
	Open         // only the environment can have set it
)

// Variable is what a variable holds: its values, one for a plain one, and the
// keys of an associative array.
type Variable struct {
	Values []string
	Keys   []string
	State  State
	Keyed  bool // its keys are texts, and no numbers
}

func (v Variable) first() string { return strings.Join(v.Values[:min(1, len(v.Values))], "") }

// maxBraces is how many words a brace expansion may become.
const maxBraces = 1024

// quoting is where in a program a part of a word stands.
type quoting int

const (
	asArguments quoting = iota // unquoted, where fields are split
	inOperator                 // the word of an operator such as ${a:-b}, where fields are split
	asText                     // unquoted where nothing is split, as in an assignment
	asPattern                  // in a pattern: what is quoted matches itself
	inQuotes                   // in double quotes
	inDocument                 // in a here-document
)

// expansion is one word on its way through the library, and the environment
// that the library sees. Before, each parameter and each substitution became
// a variable with a name of our own, so the library runs nothing and never
// meets a value that is not known: what it does is join, split and unquote.
type expansion struct {
	expander
	how   quoting
	vars  map[string]expand.Variable
	parts []syntax.WordPart
	marks string // of all values in the word
	lists string // how lists in it are asked for: '@', '*', or 'o' with an operator
	dim   bool   // bash takes the word in a way of its own

	sets []string // names and values that arithmetic assigned
}

// expander expands words for a shell.
type expander struct{ sh Shell }

// Fields expands words into the arguments of a command: braces, parameters,
// substitutions, field splitting, and patterns that are left for the rules.
func Fields(sh Shell, words ...*syntax.Word) argv.List {
	out := make(argv.List, 0, len(words))
	for _, w := range words {
		if s, ok := plain(w); ok {
			out = append(out, argv.Word{S: s})
			continue
		}
		if tooManyBraces(w) {
			sh.Enter(math.MaxInt32)() // more than any program may cost
		}
		e := expander{sh}.expansion(w, asArguments)
		list, ok := e.run()
		if !ok {
			list = append(list, mark.Unknown+e.marks)
		}
		for _, s := range list {
			out = append(out, fieldOf(s))
			sh.Enter(len(s))()
		}
	}
	return out
}

// Text expands a word without splitting, as in an assignment.
func Text(sh Shell, w *syntax.Word) string { return expander{sh}.joined(w, asText) }

// Document expands the body of a here-document.
func Document(sh Shell, w *syntax.Word) string { return expander{sh}.joined(w, inDocument) }

// Pattern expands a word to a pattern: quoted text matches itself.
func Pattern(sh Shell, w *syntax.Word) string { return expander{sh}.pattern(w) }

// Number computes an arithmetic expression. It reports false unless every
// operand in it is a number that is known. Substitutions in it are followed in
// any case.
func Number(sh Shell, x syntax.ArithmExpr) (int64, bool) { return expander{sh}.arith(x) }

// Subscript is the text of what stands in the brackets behind a name.
func Subscript(sh Shell, name string, index syntax.ArithmExpr) string {
	return expander{sh}.subscript(index, sh.Lookup(name).Keyed)
}

func (x expander) joined(w *syntax.Word, how quoting) string {
	if w == nil {
		return ""
	}
	if s, ok := plain(w); ok && how == asText {
		return s
	}
	e := x.expansion(w, how)
	list, ok := e.run()
	if !ok {
		return mark.Unknown + e.marks
	}
	return unmasked(strings.Join(list, " "))
}

// braced reports whether there may be a brace expansion in a word, which
// repeats what stands behind it.
func braced(parts []syntax.WordPart) bool {
	return slices.ContainsFunc(parts, func(p syntax.WordPart) bool {
		l, ok := p.(*syntax.Lit)
		return ok && strings.Contains(l.Value, "{")
	})
}

// pattern expands a word to a pattern: quoted text matches itself.
func (x expander) pattern(w *syntax.Word) string {
	if w == nil {
		return ""
	}
	e := x.expansion(w, asPattern)
	out := ""
	err := e.guarded(func(cfg *expand.Config) (err error) {
		out, err = expand.Pattern(cfg, &syntax.Word{Parts: e.parts})
		return err
	})
	if err != nil {
		return mark.Unknown + e.marks
	}
	return out
}

// plain is the text of a word that needs no expansion.
func plain(w *syntax.Word) (string, bool) {
	if len(w.Parts) != 1 {
		return "", false
	}
	switch p := w.Parts[0].(type) {
	case *syntax.Lit:
		return p.Value, !strings.ContainsAny(p.Value, "\\*?[~{")
	case *syntax.SglQuoted:
		return p.Value, !p.Dollar
	}
	return "", false
}

// expansion prepares a word for the library.
func (x expander) expansion(w *syntax.Word, how quoting) *expansion {
	e := &expansion{expander: x, how: how}
	defer x.sh.Enter(0)()
	e.add(w.Parts, how)
	return e
}

// run expands the word to its fields. It reports false when they cannot be
// told.
func (e *expansion) run() ([]string, bool) {
	if e.dim {
		return nil, false
	}
	var out []string
	err := e.guarded(func(cfg *expand.Config) error {
		for s, err := range expand.FieldsSeq(cfg, &syntax.Word{Parts: e.parts}) {
			if err != nil {
				return err
			}
			if out = append(out, s); len(out) > maxBraces {
				return errors.New("too many words")
			}
		}
		return nil
	})
	return out, err == nil
}

// guarded calls the library, which panics on some words.
func (e *expansion) guarded(call func(*expand.Config) error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("expand word: %v", p)
		}
	}()
	return call(&expand.Config{Env: e, ExtGlob: true})
}

// Get is the value of a variable of ours, of what splits fields, or of the
// home directory of a user. It is for the library.
func (e *expansion) Get(name string) expand.Variable {
	if v, ok := e.vars[name]; ok {
		return v
	}
	value := ""
	switch user, isUser := strings.CutPrefix(name, "HOME "); {
	case name == "IFS":
		value = e.separators()
	case name == "HOME", user == "root":
		value = "~"
	case user == "+":
		value = "."
	case isUser:
		value = "/home/" + user
	default:
		v := e.sh.Lookup(name)
		if v.State != Set {
			return expand.Variable{}
		}
		value = v.first()
	}
	return expand.Variable{Set: true, Kind: expand.String, Str: value}
}

// Each visits nothing: no expansion that is left to the library lists names.
func (e *expansion) Each(func(string, expand.Variable) bool) {}

// Set assigns a variable, as arithmetic does. The shell learns of it when the
// library is done.
func (e *expansion) Set(name string, v expand.Variable) error {
	if e.vars == nil {
		e.vars = map[string]expand.Variable{}
	}
	e.vars[name] = v
	e.sets = append(e.sets, name, v.Str)
	return nil
}

// keep tells the shell what was assigned.
func (e *expansion) keep() {
	for i := 0; i < len(e.sets); i += 2 {
		e.sh.Set(e.sets[i], e.sets[i+1])
	}
}

func (x expander) separators() string { return strings.Join(x.sh.Lookup("IFS").Values, "") }

// add prepares the parts of a word.
func (e *expansion) add(parts []syntax.WordPart, how quoting) {
	defer e.sh.Enter(0)()
	for i, part := range parts {
		switch p := part.(type) {
		case *syntax.Lit:
			e.literal(p.Value, how, i == 0)
		case *syntax.SglQuoted:
			e.single(p, how)
		case *syntax.DblQuoted:
			if len(p.Parts) == 0 {
				e.quote("")
			}
			e.dim = e.dim || how == inDocument
			e.add(p.Parts, inQuotes)
		case *syntax.ParamExp:
			e.parameter(p, how)
		case *syntax.CmdSubst:
			e.value([]string{e.sh.Output(p)}, 0, how)
		case *syntax.ArithmExp:
			e.dim = e.dim || len(assigned(p.X)) > 0 && braced(e.parts)
			e.value([]string{e.number(p.X)}, 0, how)
		case *syntax.ProcSubst:
			e.quote(e.sh.Output(p))
		case *syntax.ExtGlob:
			e.parts = append(e.parts, &syntax.Lit{Value: p.Op.String() + p.Pattern.Value + ")"})
		default:
			e.value([]string{mark.Unknown}, 0, how)
		}
	}
}

// single adds text in single quotes. They mean nothing where double quotes
// are around them, as in the word of an operator.
func (e *expansion) single(p *syntax.SglQuoted, how quoting) {
	s := p.Value
	if p.Dollar {
		s, _, _ = strings.Cut(filter.Unescape(s, false), "\x00")
	}
	if how == inQuotes || how == inDocument {
		e.dim = e.dim || p.Dollar
		s = "'" + s + "'"
	}
	e.quote(s)
}

// parameter adds the value of a parameter, or the word that an operator puts
// in its place.
func (e *expansion) parameter(p *syntax.ParamExp, how quoting) {
	v, word := e.param(p, how)
	if word == nil {
		if v.list != 0 && (p.Excl || p.Exp != nil || p.Repl != nil || p.Slice != nil) {
			e.lists += "o"
			e.dim = e.dim || how == asArguments && e.separators() != " \t\n"
		}
		e.value(v.vals, v.list, how)
		return
	}
	if how == asArguments {
		how = inOperator
	}
	from, marks := len(e.parts), e.marks
	e.add(word.Parts, how)
	if v.state == Open && e.marks == marks && e.empty(from) { // the environment may have the variable
		e.value([]string{unset(p.Param.Value)}, 0, how)
	}
}

// empty reports whether the parts from one on are no text at all.
func (e *expansion) empty(from int) bool {
	for _, part := range e.parts[from:] {
		switch p := part.(type) {
		case *syntax.SglQuoted:
			if p.Value != "" {
				return false
			}
		case *syntax.ParamExp:
			if v := e.vars[p.Param.Value]; v.Str != "" || strings.Join(v.List, "") != "" {
				return false
			}
		default:
			return false
		}
	}
	return true
}

// literal adds literal text. A backslash in it quotes what follows.
func (e *expansion) literal(s string, how quoting, first bool) {
	special := ""
	switch how {
	case inQuotes:
		special = "$`\"\\"
	case inDocument:
		special = "$`\\"
	}
	if how == asText && first && strings.HasPrefix(s, "~") {
		head, rest, slash := strings.Cut(s, "/")
		if slash {
			head += "/"
		}
		e.parts = append(e.parts, &syntax.Lit{Value: head})
		if s = rest; s == "" {
			return
		}
	}
	for {
		at := strings.IndexByte(s, '\\')
		if at < 0 || at+1 >= len(s) {
			break
		}
		e.segment(s[:at], how)
		switch c := s[at+1]; {
		case c == '\n':
		case special != "" && strings.IndexByte(special, c) < 0:
			e.quote(s[at : at+2])
		default:
			e.quote(s[at+1 : at+2])
		}
		s = s[at+2:]
	}
	e.segment(s, how)
}

func (e *expansion) segment(s string, how quoting) {
	switch {
	case s == "":
	case how == inOperator:
		e.value([]string{s}, 0, how)
	case how == asArguments || how == asPattern:
		e.parts = append(e.parts, &syntax.Lit{Value: s})
	default:
		e.quote(s)
	}
}

// quote adds text that stands for itself.
func (e *expansion) quote(s string) {
	if e.how != asPattern {
		s = masked(s)
	}
	e.parts = append(e.parts, &syntax.SglQuoted{Value: s})
}

// value adds a parameter or a substitution: one text, or a list that "@" or
// "*" stands for.
func (e *expansion) value(vals []string, list byte, how quoting) {
	for _, v := range vals {
		e.marks += mark.Of(v)
	}
	e.marks = mark.Of(e.marks)
	split := how == asArguments || how == asPattern || how == inOperator
	if list != 0 {
		e.lists += string(list)
		e.dim = e.dim || !split && strings.Contains(e.lists, "@") && strings.Contains(e.lists, "o*")
	}
	if !split && e.how != asPattern {
		for i, v := range vals {
			if m := masked(v); m != v {
				vals = append(append(append([]string{}, vals[:i]...), m), vals[i+1:]...)
			}
		}
	}
	e.dim = e.dim || (how == asArguments || how == inOperator) && e.splitsOddly(vals)
	name := fmt.Sprintf("v%d", len(e.vars))
	p := &syntax.ParamExp{Param: &syntax.Lit{Value: name}}
	v := expand.Variable{Set: true, Kind: expand.String, Str: strings.Join(vals, " ")}
	if list != 0 {
		v = expand.Variable{Set: true, Kind: expand.Indexed, List: append([]string{}, vals...)}
		p.Index = &syntax.Word{Parts: []syntax.WordPart{&syntax.Lit{Value: string(list)}}}
	}
	if e.vars == nil {
		e.vars = map[string]expand.Variable{}
	}
	e.vars[name] = v
	if split {
		e.parts = append(e.parts, p)
		return
	}
	e.parts = append(e.parts, &syntax.DblQuoted{Parts: []syntax.WordPart{p}})
}

// splitsOddly reports whether a separator that is no space makes an empty
// field of a value: the library drops those.
func (x expander) splitsOddly(vals []string) bool {
	hard := strings.Map(func(c rune) rune {
		if c == ' ' || c == '\t' || c == '\n' {
			return -1
		}
		return c
	}, x.separators())
	if hard == "" {
		return false
	}
	for _, v := range vals {
		if v == "" && len(vals) > 1 {
			return true
		}
		empty := true
		for _, c := range v {
			switch {
			case strings.ContainsRune(hard, c):
				if empty {
					return true
				}
				empty = true
			case c != ' ' && c != '\t' && c != '\n':
				empty = false
			}
		}
	}
	return false
}
