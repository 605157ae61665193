package untrusted

import (
	"strings"
)

// collapsedMark follows the beginning of a collapsed block.
const collapsedMark = " [collapsed text] "

// html removes what HTML hides: comments, declarations, attributes and
// templates, and everything behind one that is never closed.
func (c *cleaner) html() {
	for i := 0; i < len(c.src); i++ {
		if c.src[i] != '<' {
			continue
		}
		if s, ok := inside(c.lay.code, i); ok {
			i = s.end - 1
			continue
		}
		if !c.isHTML(i) {
			continue
		}
		if end := c.element(i); end > i {
			i = end - 1
		}
	}
}

// isHTML reports whether a renderer takes the < at i as HTML. When the parser
// did not say, it does.
func (c *cleaner) isHTML(i int) bool {
	if !c.lay.known {
		return true
	}
	if _, ok := inside(c.lay.blocks, i); ok {
		return true
	}
	_, ok := inside(c.lay.raw, i)
	return ok
}

// element cleans the element that begins at i and returns its end. It returns i when
// the < is plain text.
func (c *cleaner) element(i int) int {
	rest := c.src[i:]
	switch {
	case strings.HasPrefix(rest, "<!--"):
		return c.cut(i, commentEnd(rest), &c.n.Comments)
	case len(rest) > 1 && (rest[1] == '!' || rest[1] == '?'),
		len(rest) > 2 && rest[1] == '/' && !letter(rest[2]):
		return c.cut(i, strings.IndexByte(rest, '>')+1, &c.n.Comments)
	case len(rest) > 1 && letter(rest[1]), len(rest) > 2 && rest[1] == '/':
		return c.tag(i)
	}
	return i
}

// cut removes length bytes at i; without an end, everything from i on.
func (c *cleaner) cut(i, length int, count *int) int {
	end := i + length
	if length <= 0 {
		end = len(c.src)
	}
	c.replace(i, end, "")
	*count++
	return end
}

func letter(b byte) bool { return b|0x20 >= 'a' && b|0x20 <= 'z' }

// commentEnd returns the length of the comment s begins with, the way an HTML
// parser ends it; 0 when it does not end.
func commentEnd(s string) int {
	body := s[4:]
	for _, short := range []string{">", "->"} {
		if strings.HasPrefix(body, short) {
			return 4 + len(short)
		}
	}
	for at := 0; ; {
		k := strings.Index(body[at:], "--")
		if k < 0 {
			return 0
		}
		at += k
		tail := body[at+2:]
		if strings.HasPrefix(tail, ">") {
			return 4 + at + 3
		}
		if strings.HasPrefix(tail, "!>") {
			return 4 + at + 4
		}
		at++
	}
}

var (
	tagName    = lazily(`^</?[A-Za-z][^\s/>]*`)
	templateIn = lazily(`(?i)</template\s*>`)
	linkAttr   = lazily(`(?i)\s(href|src)\s*=\s*(?:"([^"\s<>]*)"|'([^'\s<>"]*)'|([^\s"'<>=` + "`" + `]+))`)
)

// tag reduces the tag at i to its name and, for links and images, where they
// point. A tag that never closes hides everything behind it.
func (c *cleaner) tag(i int) int {
	rest := c.src[i:]
	length := tagEnd(rest)
	if length == 0 {
		return c.cut(i, 0, &c.n.Attributes)
	}
	whole, name := rest[:length], tagName().FindString(rest)
	word := strings.ToLower(strings.TrimLeft(name, "</"))
	if word == "template" && name[1] != '/' {
		end := 0
		if at := templateIn().FindStringIndex(rest); at != nil {
			end = at[1]
		}
		return c.cut(i, end, &c.n.Attributes)
	}
	bare := c.bareTag(whole, name, word)
	if word == "details" && name[1] != '/' && !strings.HasPrefix(c.src[i+length:], collapsedMark) {
		c.n.Collapsed++
		c.replace(i, i+length, bare+collapsedMark)
	} else if bare != whole {
		c.n.Attributes++
		c.replace(i, i+length, bare)
	}
	return i + length
}

// bareTag returns a tag without attributes, except for the address of a link or an
// image. A tag that has only space or a slash before its end is not changed.
func (c *cleaner) bareTag(whole, name, word string) string {
	if word == "a" || word == "img" {
		if m := linkAttr().FindStringSubmatch(whole[len(name):]); m != nil {
			return name + " " + strings.ToLower(m[1]) + `="` + m[2] + m[3] + m[4] + `">`
		}
	}
	if strings.Trim(whole[len(name):], " /\n>") == "" {
		return whole
	}
	return name + ">"
}

// tagEnd returns the length of the tag s begins with, quotes respected; 0
// when it does not end.
func tagEnd(s string) int {
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '>':
			return i + 1
		case '"', '\'':
			if before := strings.TrimRight(s[:i], " \t\n"); !strings.HasSuffix(before, "=") {
				continue
			}
			k := strings.IndexByte(s[i+1:], s[i])
			if k < 0 {
				return 0
			}
			i += k + 1
		}
	}
	return 0
}
