package visible

import (
	"bytes"
	"regexp"
	"strings"
	"sync"

	"github.com/handrail-bot/handrail/policy/pattern"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

// definitions takes the definitions of links off the beginning of a paragraph.
type definitions struct{}

// A definition has a label, a destination and maybe a title. A title that something
// follows is none, and begins the rest of the paragraph when it has a line of its own.
var (
	defineLabel = pattern.Lazy(`^[ \t]*\[((?:[^\[\]\\]|\\.|\\\n)+)\]:[ \t]*\n?[ \t]*`)
	angleDest   = pattern.Lazy(`^<((?:[^<>\n\\]|\\.)*)>`)
	beforeTitle = pattern.Lazy(`^(?:[ \t]+\n?[ \t]*|\n[ \t]*)`)
	defineEnd   = pattern.Lazy(`^[ \t]*(?:\n|$)`)
	// titleForm is taken for as long as it can be: a backslash may belong to what is
	// behind it or not.
	titleForm = sync.OnceValue(func() *regexp.Regexp {
		re := regexp.MustCompile(`^(?:"(?:[^"]|\\")*"|'(?:[^']|\\')*'|\((?:[^()]|\\[()])*\))`)
		re.Longest()
		return re
	})
)

// definition returns the length of the definition that s begins with, its label and
// where it leads; 0 when there is none.
func definition(s []byte) (n int, label, to []byte) {
	m := defineLabel().FindSubmatch(s)
	if m == nil || len(bytes.TrimSpace(m[1])) == 0 || len(m[1]) > 1000 {
		return 0, nil, nil
	}
	at := len(m[0])
	if d := angleDest().FindSubmatch(s[at:]); d != nil {
		to, at = d[1], at+len(d[0])
	} else if to, _ = destination(s[at:]); len(to) > 0 && to[0] != '<' {
		at += len(to)
	} else {
		return 0, nil, nil
	}
	if space := len(beforeTitle().Find(s[at:])); space > 0 {
		title := at + space + len(titleForm().Find(s[at+space:]))
		if end := defineEnd().Find(s[title:]); end != nil && title > at+space {
			return title + len(end), m[1], to
		}
	}
	end := defineEnd().Find(s[at:])
	if end == nil {
		return 0, nil, nil
	}
	return at + len(end), m[1], to
}

// destination returns the address that s begins with, and how many of its parentheses
// are open at its end: GitHub's parser does not mind.
func destination(s []byte) (to []byte, open int) {
	i := 0
	for ; i < len(s) && !blank(s[i]); i++ {
		switch s[i] {
		case '\\':
			if i+1 < len(s) && !blank(s[i+1]) {
				i++
			}
		case '(':
			if open++; open > 32 {
				return nil, 0
			}
		case ')':
			if open == 0 {
				return s[:i], 0
			}
			open--
		}
	}
	return s[:i], open
}

// linkEnd reports whether s goes on as behind the address of a link.
func linkEnd(s string) bool {
	at := skipBlank(s, 0)
	if at > 0 {
		at += len(titleForm().FindString(s[at:]))
	}
	return strings.HasPrefix(s[skipBlank(s, at):], ")")
}

// mostOpen is how many such links a text may have that a person wrote.
const mostOpen = 200

// closed returns src with marks in place of the parentheses of addresses that are open
// at their end, so that the library takes these for links, too. The marks show as what
// they stand for. It reports false when there are too many.
func closed(src string) (string, bool) {
	hide := strings.NewReplacer("(", string(parenMark), ")", string(parenMark+1))
	for at, n := 0, 0; ; {
		k := strings.Index(src[at:], "](")
		if k < 0 {
			return src, true
		}
		at += k + 2
		from := skipBlank(src, at)
		to, open := destination([]byte(src[from:min(len(src), from+4000)]))
		if open > 0 {
			n++
		}
		if n > mostOpen {
			return "", false
		}
		if open == 0 || !linkEnd(src[from+len(to):]) {
			continue
		}
		if label := src[:at-2]; bytes.ContainsAny(to, "[]") && strings.LastIndexByte(label, '[') <= strings.LastIndexByte(label, ']') {
			continue
		}
		src = src[:from] + hide.Replace(string(to)) + src[from+len(to):]
	}
}

func (definitions) Transform(node *ast.Paragraph, reader text.Reader, pc parser.Context) {
	lines := node.Lines()
	if lines.Len() > 0 && task(node, reader.Source()) > 0 {
		node.Parent().SetAttributeString(taskAttribute, []byte{}) // its quotes end an attribute that is open
	}
	all := lines.Value(reader.Source())
	for lines.Len() > 0 {
		if first := bytes.TrimLeft(all, " \t"); len(first) == 0 || first[0] != '[' {
			return
		}
		box := task(node, reader.Source())
		n, label, to := definition(all[box:])
		if n == 0 {
			return
		}
		n += box
		pc.AddReference(parser.NewReference(label, to, nil))
		used, seen := 0, 0
		for ; used < lines.Len() && seen < n; used++ {
			line := lines.At(used)
			seen += len(line.Value(reader.Source()))
		}
		all = all[min(seen, len(all)):]
		lines.SetSliced(used, lines.Len())
	}
	if node.Parent() != nil {
		node.Parent().RemoveChild(node.Parent(), node)
	}
}
