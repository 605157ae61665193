package shell

import (
	"slices"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/pattern"
	"mvdan.cc/sh/v3/syntax"

	"github.com/handrail-bot/handrail/policy/shell/code"
)

// maxBraces is the maximum number of words from a brace expansion.
const maxBraces = 1024

// piece is a part of a word after expansion.
type piece struct {
	s      string
	quoted bool // not subject to patterns or splitting
	split  bool // subject to field splitting
	ends   bool // the end of a field
}

// fields expands words into the arguments of a command: braces, parameters, substitutions
// and field splitting. Patterns are left to the rules.
func (w *walk) fields(words ...*syntax.Word) list {
	out := make(list, 0, len(words))
	for _, word := range words {
		if lit := word.Lit(); lit != "" && !strings.ContainsAny(lit, "\\*?[~{") {
			out = append(out, arg{s: lit})
			continue
		}
		if strings.Count(printed(word), "{") > 64 {
			w.found.exhaust()
		}
		n, braced := len(out), syntax.Word{Parts: slices.Clone(word.Parts)}
		syntax.SplitBraces(&braced)
		for one, err := range expand.BracesSeq(nil, &braced) {
			if err != nil || len(out)-n > maxBraces {
				out = append(out[:n], arg{s: unknown})
				break
			}
			out = append(out, w.split(w.pieces(nil, one.Parts, false))...)
		}
	}
	return out
}

func (w *walk) wordText(word *syntax.Word) string {
	if word == nil {
		return ""
	}
	return w.joined(word, false)
}

func (w *walk) joined(word *syntax.Word, quoted bool) string {
	var b strings.Builder
	for _, p := range w.pieces(nil, word.Parts, quoted) {
		b.WriteString(p.s)
		if p.ends && !quoted {
			b.WriteString(" ")
		}
	}
	return b.String()
}

// split joins pieces into fields.
func (w *walk) split(pieces []piece) list {
	var out list
	var s, pat strings.Builder
	open, active := false, false
	end := func() {
		if open {
			a := arg{s: s.String()}
			if active && activeGlob(a.s) {
				a.pat = pat.String()
			}
			w.found.step(len(a.s))
			out = append(out, a)
		}
		open, active = false, false
		s.Reset()
		pat.Reset()
	}
	add := func(text string, quoted bool) {
		s.WriteString(text)
		if quoted {
			text = pattern.QuoteMeta(text, 0)
		} else {
			active = active || strings.ContainsAny(text, "*?[(")
		}
		pat.WriteString(text)
		open = true
	}
	ifs := w.separators()
	for _, p := range pieces {
		if !p.split {
			if p.s != "" || p.quoted {
				add(p.s, p.quoted)
			}
		} else {
			for rest := p.s; rest != ""; {
				i := strings.IndexAny(rest, ifs)
				if i < 0 {
					add(rest, false)
					break
				}
				if i > 0 {
					add(rest[:i], false)
				}
				end()
				rest = rest[i+1:]
			}
		}
		if p.ends {
			end()
		}
	}
	end()
	return out
}

// separators returns the characters that separate fields.
func (w *walk) separators() string {
	v, _ := w.get("IFS")
	return strings.Join(v, "")
}

func activeGlob(s string) bool {
	if _, after, ok := strings.Cut(s, "["); ok && strings.Contains(after, "]") {
		return true
	}
	return strings.ContainsAny(s, "*?") || strings.Contains(s, "@(") || strings.Contains(s, "+(") ||
		strings.Contains(s, "!(")
}

// pieces expands the parts of a word.
func (w *walk) pieces(out []piece, parts []syntax.WordPart, quoted bool) []piece {
	defer w.enter(0)()
	for i, part := range parts {
		switch p := part.(type) {
		case *syntax.Lit:
			out = literal(out, p.Value, quoted, i == 0)
		case *syntax.SglQuoted:
			s := p.Value
			if p.Dollar {
				s, _, _ = strings.Cut(code.Unescape(s), "\x00")
			}
			out = append(out, piece{s: s, quoted: true})
		case *syntax.DblQuoted:
			if len(p.Parts) == 0 {
				out = append(out, piece{quoted: true})
			}
			out = w.pieces(out, p.Parts, true)
		case *syntax.ParamExp:
			vals, list := w.parameter(p, quoted)
			if list == '*' && quoted {
				vals, list = []string{strings.Join(vals, w.separators()[:min(1, len(w.separators()))])}, 0
			}
			for i, v := range vals {
				out = append(out, piece{s: v, quoted: quoted, split: !quoted, ends: list != 0 && i < len(vals)-1})
			}
		case *syntax.CmdSubst:
			out = append(out, piece{s: w.output(p), quoted: quoted, split: !quoted})
		case *syntax.ArithmExp:
			w.evaluate(p.X)
			out = append(out, piece{s: aNumber, quoted: true})
		case *syntax.ProcSubst:
			out = append(out, piece{s: w.openProcess(p), quoted: true})
		case *syntax.ExtGlob:
			out = append(out, piece{s: p.Op.String() + p.Pattern.Value + ")"})
		default:
			out = append(out, piece{s: unknown, quoted: true})
		}
	}
	return out
}

// aNumber represents an unknown number.
const aNumber = "\x06"

// literal adds literal text, in which a backslash quotes the next character.
func literal(out []piece, s string, quoted, first bool) []piece {
	if !quoted && first && strings.HasPrefix(s, "~") {
		user, rest, slash := strings.Cut(s[1:], "/")
		if slash {
			rest = "/" + rest
		}
		switch user {
		case "", "root":
			out = append(out, piece{s: "~", quoted: true})
		case "+":
			out = append(out, piece{s: ".", quoted: true})
		default:
			out = append(out, piece{s: "/home/" + user, quoted: true})
		}
		s = rest
	}
	for s != "" {
		at := strings.IndexByte(s, '\\')
		if at < 0 || at+1 == len(s) {
			return append(out, piece{s: s, quoted: quoted})
		}
		if at > 0 {
			out = append(out, piece{s: s[:at], quoted: quoted})
		}
		switch c := s[at+1]; {
		case c == '\n':
		case quoted && strings.IndexByte("$`\"\\", c) < 0:
			out = append(out, piece{s: s[at : at+2], quoted: true})
		default:
			out = append(out, piece{s: s[at+1 : at+2], quoted: true})
		}
		s = s[at+2:]
	}
	return out
}

// parameter returns the value of ${…}: one text, or a list if the byte is "@" or "*".
func (w *walk) parameter(p *syntax.ParamExp, quoted bool) ([]string, byte) {
	w.found.step(0)
	switch {
	case p.Param == nil || p.Width || p.IsSet || p.Flags != nil:
		return []string{unknown}, 0
	case p.Names != 0:
		return []string{unknown}, 0
	case p.Length:
		w.substitutions(p)
		return []string{aNumber}, 0
	}
	name := p.Param.Value
	vals, list, set := w.lookup(name, p.Index)
	if p.Excl {
		name = strings.Join(vals, "")
		if !set || !isKnown(name) || name == "" || list != 0 {
			return []string{unknown}, 0
		}
		vals, list, set = w.lookup(name, nil)
	}
	switch {
	case p.Exp != nil && p.Exp.Op <= syntax.AssignUnsetOrNull:
		out, list := w.expandDefault(p.Exp, name, vals, list, set)
		odd := p.Exp.Word != nil && strings.ContainsAny(printed(p.Exp.Word), `'"\`)
		if odd && (quoted || strings.Contains(strings.Join(out, ""), " ")) { // quotes have another meaning there
			return []string{opaqueMarks(strings.Join(out, ""))}, 0
		}
		return out, list
	case !set && isPosition(name):
		return []string{""}, 0
	case !set:
		return []string{unsetValue(name)}, 0
	case p.Slice != nil || p.Repl != nil || p.Exp != nil:
		if _, own := w.vars["IFS"]; list != 0 && (own || quoted && list == '*') { // the fields are joined differently
			return []string{opaqueMarks(strings.Join(vals, ""))}, 0
		}
		return w.applyExpansion(p, vals), list
	}
	return vals, list
}

// expandDefault returns a parameter with an operator such as ${a:-b}. A parameter that the
// line does not set may be set in the environment.
func (w *walk) expandDefault(e *syntax.Expansion, name string, vals []string, list byte, set bool) ([]string, byte) {
	set = set && (list == 0 || len(vals) > 0)
	word, has := w.wordText(e.Word), set
	switch e.Op {
	case syntax.AlternateUnsetOrNull, syntax.DefaultUnsetOrNull, syntax.ErrorUnsetOrNull, syntax.AssignUnsetOrNull:
		has = strings.Join(vals, "") != ""
	}
	environ := !set && !isPosition(name)
	alternate := e.Op == syntax.AlternateUnset || e.Op == syntax.AlternateUnsetOrNull
	mustBeSet := e.Op == syntax.ErrorUnset || e.Op == syntax.ErrorUnsetOrNull
	switch {
	case alternate && !has && environ:
		return []string{unknown}, 0
	case alternate && !has:
		return []string{""}, 0
	case alternate:
		return []string{word}, 0
	case has, set && mustBeSet:
		return vals, list
	case word == "" && environ, mustBeSet:
		word = unsetValue(name)
	}
	if e.Op == syntax.AssignUnset || e.Op == syntax.AssignUnsetOrNull {
		w.set(name, word)
	}
	return []string{word}, 0
}

func isPosition(name string) bool { return strings.Trim(name, "0123456789") == "" }

func unsetValue(name string) string {
	if secretName(name) {
		return secret
	}
	return unknown
}

// lookup returns the value of a parameter, and whether the line sets it. The byte is "@"
// or "*" for the lists $@, $* and whole arrays, or else 0.
func (w *walk) lookup(name string, index syntax.ArithmExpr) ([]string, byte, bool) {
	if name == "@" || name == "*" {
		if w.foreign {
			return []string{unknown}, 0, true
		}
		return w.pos, name[0], true
	}
	vals, ok := w.holds(name)
	if !ok || index == nil {
		return vals[:min(1, len(vals))], 0, ok
	}
	w.evaluate(index)
	key := literalIndex(index)
	if key == "@" || key == "*" {
		return vals, key[0], true
	}
	n, err := strconv.Atoi(key)
	if err != nil || n < 0 || n >= len(vals) {
		return []string{opaqueMarks(strings.Join(vals, ""))}, 0, true
	}
	return vals[n : n+1], 0, true
}

func literalIndex(x syntax.ArithmExpr) string {
	if word, ok := x.(*syntax.Word); ok {
		return word.Lit()
	}
	return ""
}

// substitutions follows the command and process substitutions in an expression.
func (w *walk) substitutions(n syntax.Node) {
	if n == nil {
		return
	}
	syntax.Walk(n, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CmdSubst:
			w.output(n)
			return false
		case *syntax.ProcSubst:
			w.openProcess(n)
			return false
		}
		return true
	})
}

// evaluate follows an expression: its substitutions, and those in texts that bash
// evaluates as numbers.
func (w *walk) evaluate(n syntax.Node) {
	w.substitutions(n)
	numbers := true
	syntax.Walk(n, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.BinaryTest:
			numbers = n.Op >= syntax.TsEql && n.Op <= syntax.TsGtr
		case *syntax.SglQuoted:
			w.nameRuns(n.Value)
		case *syntax.ParamExp, *syntax.Lit:
			name := strings.Trim(printed(n), "${}")
			if l, ok := n.(*syntax.Lit); ok {
				name = l.Value
			}
			switch text := strings.Join(w.vars[name], ""); {
			case !numbers:
			case strings.Contains(text, remote):
				w.found.hit("evaluated-remote", name)
			case strings.Contains(text, filed):
				w.found.hit("evaluated-text", name)
			}
		}
		return true
	})
}

// applyExpansion removes a plain prefix or suffix of known values. Of other operators, only the
// marks remain: their result is text that cannot be read.
func (w *walk) applyExpansion(p *syntax.ParamExp, vals []string) []string {
	all := strings.Join(vals, "")
	if p.Exp == nil || p.Exp.Op == syntax.OtherParamOps {
		w.substitutions(p)
		if p.Slice != nil {
			for _, x := range []syntax.ArithmExpr{p.Slice.Offset, p.Slice.Length} {
				if x != nil {
					w.evaluate(x)
				}
			}
		}
		return []string{opaqueMarks(all)}
	}
	word := w.wordText(p.Exp.Word)
	if !isKnown(all+word) || strings.ContainsAny(word, `*?[\(|&`) || strings.ContainsAny(all, "~") {
		return []string{opaqueMarks(all)}
	}
	out := slices.Clone(vals)
	for i, s := range out {
		switch p.Exp.Op {
		case syntax.RemSmallPrefix, syntax.RemLargePrefix:
			out[i] = strings.TrimPrefix(s, word)
		case syntax.RemSmallSuffix, syntax.RemLargeSuffix:
			out[i] = strings.TrimSuffix(s, word)
		default:
			out[i] = opaqueMarks(s)
		}
	}
	return out
}
