package untrusted

import (
	"strings"

	"github.com/handrail-bot/handrail/policy/pattern"
)

// A link may stand apart from its address: [docs][d], and at the end [d]: https://go.dev.
// GitHub shows no definition, so that what is posted says the address at the link.

var (
	definitionLine = pattern.Lazy("^ {0,3}\\[((?:[^\\[\\]\\\\^]|\\\\.)(?:[^\\[\\]\\\\]|\\\\.)*)\\]:[ \\t]*(?:<([^\\s<>()`\\\\]+)>|([^\\s<>`\\\\]+))(?:[ \\t]+(?:\"[^\"]*\"|'[^']*'|\\([^()]*\\)))?[ \\t]*$")
	refersTo       = pattern.Lazy(`^\[([^\[\]]*)\]`)
	addressLike    = pattern.Lazy(`^(?:[A-Za-z][A-Za-z0-9+.-]*:|[#/.])|^<|\w\.\w`)
)

// mostAdded is how much longer a text may become by its addresses, in bytes.
const mostAdded = 32 << 10

// withAddresses writes the links of s that refer to a definition with their addresses,
// and leaves these definitions out.
func withAddresses(s string) string {
	if !strings.Contains(s, "]:") {
		return s
	}
	code, ok := codeOf(s)
	if !ok {
		return s
	}
	lines := strings.Split(s, "\n")
	r := references{to: map[string]string{}, used: map[string]bool{}, room: mostAdded}
	defines := r.define(lines, code)
	type piece struct{ text, defines string }
	var pieces []piece
	for at := 0; at < len(lines); {
		to := at + 1
		if code[at] || defines[at] != "" {
			pieces = append(pieces, piece{lines[at], defines[at]})
			at = to
			continue
		}
		for goesOn := func(i int) bool { return !code[i] && defines[i] == "" && strings.TrimSpace(lines[i]) != "" }; to < len(lines) && goesOn(to); {
			to++
		}
		pieces = append(pieces, piece{text: r.resolve(strings.Join(lines[at:to], "\n"))})
		at = to
	}
	if r.room < 0 {
		return s
	}
	var out []string
	for _, p := range pieces {
		// A line that nothing refers to and that is no address may be what the writer says.
		if p.defines == "" || !r.used[p.defines] && !addressLike().MatchString(r.to[p.defines]) {
			out = append(out, p.text)
		}
	}
	return strings.Join(out, "\n")
}

// labelOf is the name under which a definition is found.
func labelOf(s string) string { return strings.ToLower(strings.Join(strings.Fields(s), " ")) }

// references are the definitions of a text.
type references struct {
	to   map[string]string
	used map[string]bool
	room int
}

// define takes the definitions from lines, and returns the label that each line defines.
func (r *references) define(lines []string, code []bool) []string {
	defines := make([]string, len(lines))
	for i, l := range lines {
		begins := i == 0 || strings.TrimSpace(lines[i-1]) == "" || code[i-1] || defines[i-1] != "" || strings.HasPrefix(lines[i-1], "#")
		m := definitionLine().FindStringSubmatch(l)
		if code[i] || !begins || m == nil || !linkTarget().MatchString("("+m[2]+m[3]+")") {
			continue
		}
		defines[i] = labelOf(m[1])
		if _, known := r.to[defines[i]]; !known {
			r.to[defines[i]] = m[2] + m[3]
		}
	}
	return defines
}

// resolve writes the links of a paragraph that refer to a definition with their addresses.
func (r *references) resolve(s string) string {
	var b strings.Builder
	var open []int // what stands behind each open bracket, in s
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\\':
			if i+1 < len(s) {
				b.WriteByte(s[i])
				i++
			}
		case '`':
			n := max(codeSpan(s[i:]), len(s[i:])-len(strings.TrimLeft(s[i:], "`")))
			b.WriteString(s[i : i+n])
			i += n - 1
			continue
		case '[':
			open = append(open, i+1)
		case ']':
			if len(open) == 0 {
				break
			}
			text := s[open[len(open)-1]:i]
			open = open[:len(open)-1]
			to, n := r.target(text, s[i+1:])
			if n < 0 {
				break
			}
			b.WriteString("](" + to + ")")
			r.room -= len(to)
			i += n
			if r.room < 0 {
				return s
			}
			continue
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// target returns where a link with this text leads, and how much of what follows belongs
// to it; -1 when it is no link that refers to a definition.
func (r *references) target(text, rest string) (to string, n int) {
	label := text
	if m := refersTo().FindStringSubmatch(rest); m != nil {
		n = len(m[0])
		if m[1] != "" {
			label = m[1]
		}
	} else if strings.HasPrefix(rest, "(") {
		return "", -1
	}
	to, ok := r.to[labelOf(label)]
	if !ok {
		return "", -1
	}
	r.used[labelOf(label)] = true
	return to, n
}
