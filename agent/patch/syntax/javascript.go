package syntax

import (
	"slices"
	"strings"
)

// before lists the words after which a slash begins a regular expression.
var before = []string{"return", "typeof", "case", "in", "of", "delete", "void", "throw", "new", "instanceof", "do",
	"else", "yield", "await"}

// javascript checks JavaScript and TypeScript. It finds no fault in a text with
// markup, or with a slash that may divide or begin a regular expression.
func javascript(text string) *fault {
	if strings.Contains(text, "</") || strings.Contains(text, "/>") || strings.Contains(text, "<!--") {
		return nil
	}
	b := &brackets{s: text}
	if strings.HasPrefix(text, "#!") {
		b.skipLine()
	}
	fault := b.script(false)
	if b.unsure {
		return nil
	}
	if fault == nil {
		fault = b.end()
	}
	return fault
}

// script reads code up to the end, or up to the bracket that closes a template
// substitution if gap is set.
func (b *brackets) script(gap bool) *fault {
	depth := len(b.open)
	for b.i < len(b.s) {
		if gap && len(b.open) == depth && b.s[b.i] == '}' {
			b.i++
			return nil
		}
		if fault := b.scriptToken(); fault != nil || b.unsure {
			return fault
		}
	}
	if gap {
		b.unsure = true
	}
	return nil
}

func (b *brackets) scriptToken() *fault {
	rest := b.s[b.i:]
	switch c := b.s[b.i]; {
	case strings.HasPrefix(rest, "//"):
		b.skipLine()
		return nil
	case strings.HasPrefix(rest, "/*"):
		n := strings.Index(rest, "*/")
		if n < 0 {
			return at(b.s, b.i, "the comment is not closed")
		}
		b.i += n + 2
		return nil
	case c == '/':
		return b.slash()
	case c == '"' || c == '\'':
		return b.quoted(c)
	case c == '`':
		return b.literal()
	case word(c):
		b.name()
		return nil
	case strings.IndexByte("()[]{}", c) >= 0:
		b.last = b.s[b.i : b.i+1]
		fault := b.bracket()
		b.i++
		return fault
	case c == ' ' || c == '\t' || c == '\n' || c == '\r':
	default:
		b.last = b.s[b.i : b.i+1]
	}
	b.i++
	return nil
}

// slash reads a division or a regular expression.
func (b *brackets) slash() *fault {
	rest, _, _ := strings.Cut(b.s[b.i+1:], "\n")
	switch last := b.last; {
	case !strings.Contains(rest, "/"):
		b.i++ // a division: an expression would end on its line
	case last == ")" || last == "}" || last == "+" || last == "-": // perhaps after ++
		b.unsure = true
	case last == "" || !word(last[0]) && last != "]" && last != `"`, slices.Contains(before, last):
		b.expression()
	default:
		b.last = "/"
		b.i++
	}
	return nil
}

// expression skips a regular expression.
func (b *brackets) expression() {
	class := false
	for b.i++; b.i < len(b.s) && b.s[b.i] != '\n'; b.i++ {
		switch c := b.s[b.i]; {
		case c == '\\':
			b.i++
		case c == '[':
			class = true
		case c == ']':
			class = false
		case c == '/' && !class:
			b.i++
			b.last = `"`
			return
		}
	}
	b.unsure = true
}

func (b *brackets) quoted(quote byte) *fault {
	from := b.i
	for b.i++; b.i < len(b.s); b.i++ {
		switch c := b.s[b.i]; {
		case c == quote:
			b.i++
			b.last = `"`
			return nil
		case c == '\n':
			return at(b.s, from, "the string is not closed on its line")
		case c == '\\' && strings.HasPrefix(b.s[b.i:], "\\\r\n"):
			b.i += 2
		case c == '\\':
			b.i++
		}
	}
	return at(b.s, from, "the string is not closed on its line")
}

// literal skips a template literal and its substitutions.
func (b *brackets) literal() *fault {
	from := b.i
	for b.i++; b.i < len(b.s); {
		switch rest := b.s[b.i:]; {
		case rest[0] == '`':
			b.i++
			b.last = `"`
			return nil
		case rest[0] == '\\':
			b.i += 2
		case strings.HasPrefix(rest, "${"):
			b.i += 2
			b.last = "{"
			if fault := b.script(true); fault != nil || b.unsure {
				return fault
			}
		default:
			b.i++
		}
	}
	return at(b.s, from, "the template is not closed")
}
