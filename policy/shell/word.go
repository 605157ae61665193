package shell

import (
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

// frag is a piece of a word during expansion.
type frag struct {
	s      string
	quoted bool
	split  bool // the result of an unquoted expansion: field splitting applies
	next   bool // a field ends before this piece
}

// fields expands words into the arguments of a command: braces, parameters,
// substitutions, field splitting, and patterns that are left for the rules.
func (m *machine) fields(words []*syntax.Word) []arg {
	out := make([]arg, 0, len(words))
	for _, w := range words {
		if s, ok := plainWord(w); ok {
			out = append(out, arg{s: s})
			continue
		}
		if tooManyBraces(w) {
			m.r.exhaust()
		}
		if !braced(w) {
			out = m.splitFields(out, m.frags(w.Parts, false))
			continue
		}
		n := 0
		for each, err := range expand.BracesSeq(nil, w) {
			if n++; err != nil || n > maxBraces {
				out = append(out, arg{s: unknown})
				break
			}
			out = m.splitFields(out, m.frags(each.Parts, false))
		}
	}
	return out
}

// braced reports whether a word has a brace expansion. The parts of a word
// that is seen again, as in a loop, are already split.
func braced(w *syntax.Word) bool {
	if syntax.SplitBraces(w) {
		return true
	}
	for _, p := range w.Parts {
		if _, ok := p.(*syntax.BraceExp); ok {
			return true
		}
	}
	return false
}

// tooManyBraces reports whether a word cannot be expanded in a bounded time.
func tooManyBraces(w *syntax.Word) bool {
	n := 0
	for _, p := range w.Parts {
		if l, ok := p.(*syntax.Lit); ok {
			n += strings.Count(l.Value, "{")
		}
	}
	return n > 64
}

// plainWord is the text of a word that needs no expansion.
func plainWord(w *syntax.Word) (string, bool) {
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

// text expands a word without splitting, as in an assignment.
func (m *machine) text(w *syntax.Word) string {
	if w == nil {
		return ""
	}
	var b strings.Builder
	for i, f := range m.frags(w.Parts, false) {
		if f.next && i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(f.s)
	}
	return b.String()
}

// document expands the body of a here-document.
func (m *machine) document(w *syntax.Word) string {
	if w == nil {
		return ""
	}
	var b strings.Builder
	for _, f := range m.frags(w.Parts, true) {
		b.WriteString(f.s)
	}
	return b.String()
}

// pattern expands a word to a pattern: quoted text matches itself.
func (m *machine) pattern(w *syntax.Word) string {
	if w == nil {
		return ""
	}
	var b strings.Builder
	for _, f := range m.frags(w.Parts, false) {
		writePattern(&b, f)
	}
	return b.String()
}

func writePattern(b *strings.Builder, f frag) {
	for _, c := range f.s {
		if f.quoted && strings.ContainsRune(`*?[]\()|@!+`, c) || c == '\\' {
			b.WriteByte('\\')
		}
		b.WriteRune(c)
	}
}

func (m *machine) frags(parts []syntax.WordPart, quoted bool) []frag {
	m.enter()
	defer m.leave()
	var out []frag
	for i, part := range parts {
		switch p := part.(type) {
		case *syntax.Lit:
			out = m.literal(out, p.Value, quoted, i == 0)
		case *syntax.SglQuoted:
			s := p.Value
			if p.Dollar {
				s = decodeEscapes(s, false)
			}
			out = append(out, frag{s: s, quoted: true})
		case *syntax.DblQuoted:
			if len(p.Parts) == 0 {
				out = append(out, frag{quoted: true})
			}
			out = append(out, m.frags(p.Parts, true)...)
		case *syntax.ParamExp:
			out = m.paramFrags(out, p, quoted)
		case *syntax.CmdSubst:
			out = append(out, frag{s: m.capture(p.Stmts), quoted: quoted, split: !quoted})
		case *syntax.ArithmExp:
			out = append(out, frag{s: m.number(p.X), quoted: quoted})
		case *syntax.ProcSubst:
			out = append(out, frag{s: m.process(p), quoted: true})
		case *syntax.ExtGlob:
			out = append(out, frag{s: p.Op.String() + p.Pattern.Value + ")"})
		default:
			out = append(out, frag{s: unknown, quoted: quoted})
		}
	}
	return out
}

// literal expands unquoted or double-quoted literal text.
func (m *machine) literal(out []frag, s string, quoted, first bool) []frag {
	if first && !quoted && strings.HasPrefix(s, "~") {
		user, _, _ := strings.Cut(s, "/")
		rest := s[len(user):]
		switch user = user[1:]; user {
		case "", "root":
			out = append(out, frag{s: "~", quoted: true})
		case "+":
			out = append(out, frag{s: ".", quoted: true})
		default:
			out = append(out, frag{s: "/home/" + user, quoted: true})
		}
		s = rest
	}
	for {
		at := strings.IndexByte(s, '\\')
		if at < 0 || at+1 >= len(s) {
			return append(out, frag{s: s, quoted: quoted})
		}
		if at > 0 {
			out = append(out, frag{s: s[:at], quoted: quoted})
		}
		c := s[at+1]
		switch {
		case c == '\n':
		case quoted && !strings.ContainsRune("$`\"\\", rune(c)):
			out = append(out, frag{s: s[at : at+2], quoted: true})
		default:
			out = append(out, frag{s: s[at+1 : at+2], quoted: true})
		}
		s = s[at+2:]
		if s == "" {
			return out
		}
	}
}

func (m *machine) paramFrags(out []frag, p *syntax.ParamExp, quoted bool) []frag {
	vals, list := m.param(p)
	if !list {
		return append(out, frag{s: strings.Join(vals, " "), quoted: quoted, split: !quoted})
	}
	for i, v := range vals {
		out = append(out, frag{s: v, quoted: quoted, split: !quoted, next: i > 0})
	}
	return out
}

// splitFields turns the pieces of one word into fields.
func (m *machine) splitFields(out []arg, frags []frag) []arg {
	ifs := " \t\n"
	if v, ok := m.vars["IFS"]; ok && len(v.alts) > 0 {
		ifs = strings.Join(v.alts[len(v.alts)-1], "")
	}
	var cur []frag
	flush := func() {
		if len(cur) > 0 {
			out = append(out, joinField(cur))
			m.r.step(len(out[len(out)-1].s))
		}
		cur = nil
	}
	for _, f := range frags {
		if f.next {
			flush()
		}
		if !f.split {
			if f.s != "" || f.quoted {
				cur = append(cur, f)
			}
			continue
		}
		rest := f.s
		for {
			at := strings.IndexAny(rest, ifs)
			if at < 0 {
				break
			}
			if at > 0 {
				cur = append(cur, frag{s: rest[:at]})
			}
			flush()
			rest = rest[at+1:]
		}
		if rest != "" {
			cur = append(cur, frag{s: rest})
		}
	}
	flush()
	return out
}

// activeGlob reports whether unquoted text is a pattern.
func activeGlob(s string) bool {
	if _, after, ok := strings.Cut(s, "["); ok && strings.Contains(after, "]") {
		return true
	}
	return strings.ContainsAny(s, "*?") || strings.Contains(s, "@(") || strings.Contains(s, "+(") || strings.Contains(s, "!(")
}

func joinField(frags []frag) arg {
	var b strings.Builder
	glob := false
	for _, f := range frags {
		b.WriteString(f.s)
		glob = glob || !f.quoted && activeGlob(f.s)
	}
	a := arg{s: b.String()}
	if glob {
		b.Reset()
		for _, f := range frags {
			writePattern(&b, f)
		}
		a.pat = b.String()
	}
	return a
}

// capture is the text of a command substitution.
func (m *machine) capture(stmts []*syntax.Stmt) string {
	return m.subshell(func() string {
		m.quiet, m.filed = true, false
		return strings.TrimRight(m.stmts(stmts), "\n")
	})
}

// process is the name under which a process substitution is opened.
func (m *machine) process(p *syntax.ProcSubst) string {
	m.procs++
	name := "/dev/fd/" + strconv.Itoa(60+m.procs)
	if p.Op == syntax.CmdOut {
		text := unknown
		if m.in != nil {
			text = m.in.text
		}
		m.subshell(func() string { m.in = &input{text: text}; return m.stmts(p.Stmts) })
		m.files[name] = ""
		return name
	}
	m.files[name] = m.subshell(func() string { return m.stmts(p.Stmts) })
	return name
}
