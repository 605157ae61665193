package visible

import (
	"html"
	"strings"
	"unicode"
	"unicode/utf8"
)

// tag is the beginning or the end of an element.
type tag struct {
	name string // in lower case, "" when there is none
	end  bool
	raw  string // as it is written
}

// attr is the value of an attribute of a tag that the renderer wrote.
func (t tag) attr(name string) (string, bool) {
	_, rest, ok := strings.Cut(t.raw, " "+name+`="`)
	value, _, _ := strings.Cut(rest, `"`)
	return html.UnescapeString(value), ok
}

// scanner takes HTML apart as the library does that GitHub's published filters
// stand on. It is not a browser: what that library drops, nobody sees.
type scanner struct {
	src      string
	text     func(s string) // what is shown, decoded
	tag      func(t tag)
	comments int // comments, instructions, document types, and what is behind the page
	pages    int // html, head and body that are open: the library counts them together
}

func (z *scanner) run() {
	for z.src != "" {
		i := strings.IndexByte(z.src, '<')
		if i != 0 {
			if i < 0 {
				i = len(z.src)
			}
			z.text(html.UnescapeString(z.src[:i]))
			z.src = z.src[i:]
			continue
		}
		z.element()
	}
}

// element reads what the < at the beginning starts.
func (z *scanner) element() {
	s := z.src
	switch {
	case strings.HasPrefix(s, "<!--"):
		z.hide(commentEnd(s))
	case len(s) >= 9 && strings.EqualFold(s[:9], "<!doctype"):
		z.hide(strings.IndexByte(s, '>') + 1)
	case strings.HasPrefix(s, "<?") && begins(s[2:]):
		z.hide(strings.IndexByte(s, '>') + 1)
	case strings.HasPrefix(s, "<?"):
		z.src = s[2:]
	case strings.HasPrefix(s, "</") && begins(s[2:]):
		name := strings.ToLower(nameOf(s[2:]))
		z.skip(strings.IndexByte(s, '>') + 1)
		z.tag(tag{name: name, end: true})
		z.page(tag{name: name, end: true})
	case strings.HasPrefix(s, "</"):
		z.src = s[2:]
	case len(s) > 1 && letter(s[1]):
		name := strings.ToLower(nameOf(s[1:]))
		raw := s[:tagEnd(s)]
		z.src = s[len(raw):]
		z.tag(tag{name: name, raw: raw})
		z.rawText(name, raw)
		z.page(tag{name: name, raw: raw})
	default:
		z.text("<")
		z.src = s[1:]
	}
}

// page follows the tags of a whole page. One that ends what the text did not
// begin ends the page around it, and nothing behind it is shown; behind an
// empty one it depends on what is open, so that is dropped too.
func (z *scanner) page(t tag) {
	switch {
	case t.name != "html" && t.name != "head" && t.name != "body":
	case t.end && z.pages > 0:
		z.pages--
	case t.end && t.name != "head" || strings.HasSuffix(t.raw, "/>"): //control:behind-the-page
		z.hide(0)
	case !t.end:
		z.pages++
	}
}

// rawText reads the content of an element in which there are no tags. That of
// a script is not shown.
func (z *scanner) rawText(name, raw string) {
	if name != "script" && name != "style" || strings.HasSuffix(raw, "/>") {
		return
	}
	end := strings.Index(strings.ToLower(z.src), "</"+name)
	if end < 0 {
		end = len(z.src)
	}
	if name == "style" {
		z.text(z.src[:end])
	}
	z.src = z.src[end:]
}

func (z *scanner) hide(n int) {
	z.comments++
	z.skip(n)
}

// skip drops n bytes; without an end, everything.
func (z *scanner) skip(n int) {
	if n <= 0 {
		n = len(z.src)
	}
	z.src = z.src[n:]
}

// begins reports whether s begins with a name.
func begins(s string) bool {
	r, _ := utf8.DecodeRuneInString(s)
	return unicode.IsLetter(r) || r == '_' || r == ':'
}

func letter(b byte) bool { return b|0x20 >= 'a' && b|0x20 <= 'z' }

func nameOf(s string) string {
	for i := range len(s) {
		if c := s[i]; !letter(c) && (c < '0' || c > '9') && !strings.ContainsRune(":-_.", rune(c)) {
			return s[:i]
		}
	}
	return s
}

// commentEnd is the length of the comment that s begins with, 0 when it does not end.
func commentEnd(s string) int {
	for at := 4; ; at++ {
		k := strings.Index(s[at:], "--")
		if k < 0 {
			return 0
		}
		at += k
		for _, end := range []string{"-->", "--!>"} {
			if strings.HasPrefix(s[at:], end) {
				return at + len(end)
			}
		}
	}
}

// tagEnd is the length of the tag that s begins with. One that does not end takes
// all that follows.
func tagEnd(s string) int {
	i := 1 + len(nameOf(s[1:]))
	for i < len(s) {
		switch c := s[i]; {
		case c == '>':
			return i + 1
		case blank(c) || c == '/':
			i++
		case letter(c) || c == '_' || c == ':':
			i = attribute(s, i)
		default: // what is no attribute reaches to the next space
			for i < len(s) && !blank(s[i]) && s[i] != '>' && !strings.HasPrefix(s[i:], "/>") {
				i++
			}
		}
	}
	return len(s)
}

// attribute returns the end of the attribute that begins at s[i].
func attribute(s string, i int) int {
	i += len(nameOf(s[i+1:])) + 1
	at := skipBlank(s, i)
	if at >= len(s) || s[at] != '=' {
		return i
	}
	i = skipBlank(s, at+1)
	if i < len(s) && (s[i] == '"' || s[i] == '\'') {
		k := strings.IndexByte(s[i+1:], s[i])
		if k < 0 {
			return len(s)
		}
		return i + k + 2
	}
	for i < len(s) && !blank(s[i]) && s[i] != '>' {
		i++
	}
	return i
}

func blank(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

func skipBlank(s string, i int) int {
	for i < len(s) && blank(s[i]) {
		i++
	}
	return i
}
