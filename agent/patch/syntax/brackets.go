package syntax

import (
	"fmt"
	"strings"
)

// brackets is a scanner for quotes, comments and brackets in code.
type brackets struct {
	s      string
	i      int
	open   []int  // offsets of unclosed brackets
	unsure bool   // something is ambiguous
	last   string // the token before i, without white space and comments
}

var closing = map[byte]byte{'(': ')', '[': ']', '{': '}'}

// bracket records the bracket at i.
func (b *brackets) bracket() *fault {
	c := b.s[b.i]
	if closing[c] != 0 {
		b.open = append(b.open, b.i)
		return nil
	}
	if len(b.open) == 0 {
		return at(b.s, b.i, fmt.Sprintf("%q closes nothing", c))
	}
	from := b.open[len(b.open)-1]
	if closing[b.s[from]] != c {
		line := 1 + strings.Count(b.s[:from], "\n")
		return at(b.s, b.i, fmt.Sprintf("%q does not close the %q of line %d", c, b.s[from], line))
	}
	b.open = b.open[:len(b.open)-1]
	return nil
}

// end returns the fault for a bracket still open at the end.
func (b *brackets) end() *fault {
	if len(b.open) == 0 {
		return nil
	}
	from := b.open[len(b.open)-1]
	return at(b.s, from, fmt.Sprintf("%q is not closed", b.s[from]))
}

// skipLine moves to the end of the line.
func (b *brackets) skipLine() {
	if n := strings.IndexByte(b.s[b.i:], '\n'); n >= 0 {
		b.i += n
		return
	}
	b.i = len(b.s)
}

func word(c byte) bool {
	return c == '_' || c == '$' || c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z' || c >= 0x80
}

// name skips a word.
func (b *brackets) name() {
	from := b.i
	for b.i < len(b.s) && word(b.s[b.i]) {
		b.i++
	}
	b.last = b.s[from:b.i]
}

func python(text string) *fault {
	b := &brackets{s: text}
	for b.i < len(text) {
		fault := b.pythonToken()
		switch {
		case b.unsure:
			return nil
		case fault != nil:
			return fault
		}
	}
	return b.end()
}

func (b *brackets) pythonToken() *fault {
	switch c := b.s[b.i]; {
	case c == '#':
		b.skipLine()
	case c == '\\':
		b.i += 2
	case c == '"' || c == '\'':
		return b.pythonString("")
	case word(c):
		b.name()
		quote := b.i < len(b.s) && (b.s[b.i] == '"' || b.s[b.i] == '\'')
		if quote && len(b.last) <= 2 && strings.Trim(b.last, "rRbBuUfFtT") == "" {
			return b.pythonString(strings.ToLower(b.last))
		}
	case strings.IndexByte("()[]{}", c) >= 0:
		fault := b.bracket()
		b.i++
		return fault
	default:
		b.i++
	}
	return nil
}

// pythonString skips a string after its prefix.
func (b *brackets) pythonString(prefix string) *fault {
	from := b.i
	quote := b.s[b.i : b.i+1]
	if strings.HasPrefix(b.s[b.i:], strings.Repeat(quote, 3)) {
		quote = strings.Repeat(quote, 3)
	}
	formatted, raw := strings.ContainsAny(prefix, "ft"), strings.Contains(prefix, "r")
	for b.i += len(quote); b.i < len(b.s) && !b.unsure; {
		switch rest := b.s[b.i:]; {
		case strings.HasPrefix(rest, quote):
			b.i += len(quote)
			return nil
		case formatted && rest[0] == '{':
			b.unsure = !b.pythonField(quote)
		case formatted && !raw && strings.HasPrefix(rest, `\N{`):
			b.i += 3
		case rest[0] == '\\' && (!formatted || !strings.HasPrefix(rest, `\{`)):
			b.i += 2
		case rest[0] == '\n' && len(quote) == 1:
			return at(b.s, from, "the string is not closed on its line")
		default:
			b.i++
		}
	}
	if len(quote) == 1 {
		return at(b.s, from, "the string is not closed on its line")
	}
	return at(b.s, from, "the string that begins with "+quote+" is not closed")
}

// pythonField skips a field of a formatted string, or a doubled bracket, and reports
// whether it ends.
func (b *brackets) pythonField(quote string) bool {
	if b.i++; strings.HasPrefix(b.s[b.i:], "{") {
		b.i++
		return true
	}
	inner := &brackets{s: b.s, i: b.i}
	for inner.i < len(b.s) {
		c := b.s[inner.i]
		switch {
		case len(inner.open) == 0 && c == '}':
			b.i = inner.i + 1
			return true
		case len(inner.open) == 0 && c == ':':
			b.i = inner.i + 1
			return b.pythonFormat(quote)
		case strings.HasPrefix(b.s[inner.i:], quote) && len(quote) == 1 && !soon(b.s[inner.i:], "}"):
			return false
		}
		if inner.pythonToken() != nil || inner.unsure {
			return false
		}
	}
	return false
}

// soon reports whether sign occurs near the beginning of a text.
func soon(s, sign string) bool { return strings.Contains(s[:min(len(s), 200)], sign) }

// pythonFormat skips the format after the colon of a field.
func (b *brackets) pythonFormat(quote string) bool {
	for b.i < len(b.s) && !strings.HasPrefix(b.s[b.i:], quote) {
		switch b.s[b.i] {
		case '}':
			b.i++
			return true
		case '{':
			if !b.pythonField(quote) {
				return false
			}
		default:
			b.i++
		}
	}
	return false
}
