package untrusted

import (
	"strings"

	"github.com/yuin/goldmark/util"
)

// brackets removes image texts and link titles, and writes the destination
// of a reference where the hidden label stood.
func (c *cleaner) brackets() {
	closing := c.matchBrackets()
	consumed := 0
	for i := 0; i < len(c.src); i++ {
		j, ok := closing[i]
		if !ok || i < consumed {
			continue
		}
		consumed = max(consumed, c.bracket(i, j, closing))
	}
}

// matchBrackets pairs the square brackets outside code and inline HTML.
func (c *cleaner) matchBrackets() map[int]int {
	closing := map[int]int{}
	var open []int
	for i := 0; i < len(c.src); i++ {
		if s, ok := inside(c.lay.code, i); ok {
			i = s.end - 1
			continue
		}
		switch c.src[i] {
		case '\\':
			i++
		case '<':
			if s, ok := inside(c.lay.raw, i); ok {
				i = s.end - 1
			}
		case '[':
			open = append(open, i)
		case ']':
			if k := len(open); k > 0 {
				closing[open[k-1]] = i
				open = open[:k-1]
			}
		}
	}
	return closing
}

// bracket cleans the link or image whose text is in brackets from i to j. It returns
// the end of what follows that text and belongs to it.
func (c *cleaner) bracket(i, j int, closing map[int]int) int {
	image := i > 0 && c.src[i-1] == '!'
	after := j + 1
	if after < len(c.src) && c.src[after] == '(' {
		if l, ok := inlineLink(c.src, after); ok {
			c.inline(i, j, image, l)
			return 0
		}
	}
	label, end := c.src[i+1:j], after
	if k, ok := closing[after]; ok {
		end = k + 1
		if inner := c.src[after+1 : k]; strings.TrimSpace(inner) != "" {
			label = inner
		}
	}
	dest, ok := c.lay.links[util.ToLinkReference([]byte(label))]
	if !ok || strings.HasPrefix(label, "^") || c.isDefinition(i) {
		return 0
	}
	c.replace(after, end, destination(dest))
	if image {
		c.clearAlt(i, j)
	}
	return end
}

func (c *cleaner) isDefinition(i int) bool {
	for _, d := range c.lay.definitions {
		if i >= d.start && i < d.end {
			return true
		}
	}
	return false
}

func (c *cleaner) inline(i, j int, image bool, l link) {
	if l.title.end > l.title.start {
		c.replace(l.title.start, l.title.end, "")
		c.n.Titles++
	}
	if strings.ContainsAny(c.src[l.dest.start:l.dest.end], " \t") {
		c.replace(l.dest.start, l.dest.end, "")
		c.n.Titles++
	}
	if image {
		c.clearAlt(i, j)
	}
}

// clearAlt removes the text of an image that the parser did not see.
func (c *cleaner) clearAlt(i, j int) {
	if j > i+1 && !c.lay.known {
		c.replace(i+1, j, "")
		c.n.AltTexts++
	}
}

// destination writes dest as the second half of an inline link. One with
// spaces is text, not an address, and goes.
func destination(dest string) string {
	if strings.ContainsAny(dest, " \t\n<>") {
		return "()"
	}
	if strings.ContainsAny(dest, "()") {
		return "(<" + dest + ">)"
	}
	return "(" + dest + ")"
}

// link is the second half of an inline link: destination without angle
// brackets, and title with the space before it.
type link struct{ dest, title span }

// inlineLink reads the parentheses that begin at s[i].
func inlineLink(s string, i int) (link, bool) {
	var l link
	at := skipSpace(s, i+1)
	at, l.dest = linkDest(s, at)
	if at < 0 {
		return l, false
	}
	gap := at
	at = skipSpace(s, at)
	if at < len(s) && at > gap && strings.IndexByte(`"'(`, s[at]) >= 0 {
		end := titleEnd(s, at)
		if end < 0 {
			return l, false
		}
		l.title = span{gap, end}
		at = skipSpace(s, end)
	}
	return l, at < len(s) && s[at] == ')'
}

func skipSpace(s string, i int) int {
	for i < len(s) && strings.IndexByte(" \t\n>", s[i]) >= 0 {
		i++
	}
	return i
}

// maxParens is how deep parentheses nest in a destination; GitHub's renderer
// takes 32.
const maxParens = 40

// linkDest reads a destination and returns where it ends and its text.
func linkDest(s string, i int) (int, span) {
	if i < len(s) && s[i] == '<' {
		k := strings.IndexByte(s[i:], '>')
		if k < 0 || strings.IndexByte(s[i:i+k], '\n') >= 0 {
			return -1, span{}
		}
		return i + k + 1, span{i + 1, i + k}
	}
	depth, at := 0, i
	for ; at < len(s) && s[at] > ' '; at++ {
		switch s[at] {
		case '\\':
			at++
		case '(':
			depth++
		case ')':
			depth--
		}
		if depth < 0 {
			break
		}
		if depth > maxParens {
			return -1, span{}
		}
	}
	at = min(at, len(s))
	return at, span{i, at}
}

// titleEnd returns the end of the title that begins at s[i], -1 without one.
func titleEnd(s string, i int) int {
	closer := s[i]
	if closer == '(' {
		closer = ')'
	}
	for at := i + 1; at < len(s); at++ {
		switch s[at] {
		case '\\':
			at++
		case closer:
			return at + 1
		case '\n':
			if at+1 < len(s) && s[at+1] == '\n' {
				return -1
			}
		}
	}
	return -1
}

var (
	footnoteRef = lazily(`\[\^([^\]\s]+)\](:?)`)
	footnoteDef = lazily(`(?m)^[ \t>]*\[\^([^\]\s]+)\]:.*(?:\n[^\n]*\S[^\n]*)*(?:\n+(?:    |\t)[^\n]*\S[^\n]*)*`)
)

// footnotes removes footnotes that nothing refers to: they are not shown.
func (c *cleaner) footnotes() {
	if !strings.Contains(c.src, "[^") {
		return
	}
	used := map[string]bool{}
	for _, m := range footnoteRef().FindAllStringSubmatchIndex(c.src, -1) {
		lineStart := strings.LastIndexByte(c.src[:m[0]], '\n') + 1
		define := m[5] > m[4] && strings.Trim(c.src[lineStart:m[0]], " \t>") == ""
		if !define {
			used[strings.ToLower(c.src[m[2]:m[3]])] = true
		}
	}
	for _, m := range footnoteDef().FindAllStringSubmatchIndex(c.src, -1) {
		if _, code := inside(c.lay.code, m[2]); !code && !used[strings.ToLower(c.src[m[2]:m[3]])] {
			c.replace(m[0], m[1], "")
			c.n.Definitions++
		}
	}
}
