package untrusted

import (
	"html"
	"regexp"
	"strings"
	"sync"

	"github.com/handrail-bot/handrail/policy/pattern"
)

// GitHub closes an issue that a text names behind one of these words, in what a pull
// request says and in commit messages, which a merge may make of it.
const closingWord = `(?:\b|_)(?:close[sd]?|fix(?:e[sd])?|resolve[sd]?)(?:\b|_+)\s*:?\s*`

var (
	closingNumber = pattern.Lazy(`(?i)(` + closingWord + `(?:[\w.-]+/[\w.-]+)?#|` + closingWord + `GH-)(\d)`)
	closingURL    = pattern.Lazy(`(?i)(` + closingWord + `(?:https?://|www\.))([^\s/]+/[\w.-]+/[\w.-]+/(?:issues|pull|discussions)/\d)`)
	// closingFlat reads prose whose markup has become \x01.
	closingFlat = sync.OnceValue(func() *regexp.Regexp {
		var words []string
		for _, w := range []string{"close", "closes", "closed", "fix", "fixes", "fixed", "resolve", "resolves", "resolved"} {
			words = append(words, strings.Join(strings.Split(w, ""), `\x01*`))
		}
		return regexp.MustCompile(`(?i)\b(?:` + strings.Join(words, "|") + `)\b[\s\x01]*:?[\s\x01]*` +
			`((?:[\w.\-\x01]+/[\w.\-\x01]+)?#\x01*\d+|G\x01*H\x01*-\x01*\d+|(?:https?\x01*:|w\x01*w\x01*w\x01*\.)[^\s\x00]+?/(?:issues|pull|discussions)/\x01*\d+)`)
	})
)

// parted puts a space into references that close something.
func parted(s string) string {
	if !strings.ContainsAny(s, "#-/") {
		return s
	}
	s = closingNumber().ReplaceAllString(s, "$1 $2") //control:post-closing-in-code
	return closingURL().ReplaceAllString(s, "$1 $2")
}

// flat is prose with its markup as \x01, its code as \x00, and where each byte of it comes from.
type flat struct {
	text []byte
	from []int
}

func (f *flat) add(b byte, from int) {
	f.text = append(f.text, b)
	f.from = append(f.from, from)
}

// closings joins the parts of a text and shows as code what closes an issue in their
// prose, also where markup or the end of a line is in between.
func closings(parts []part) string {
	var f flat
	var all strings.Builder
	for i, p := range parts {
		if i > 0 {
			f.add('\n', all.Len())
			all.WriteByte('\n')
		}
		if p.code {
			f.add(0, all.Len())
		} else {
			f.prose(p.text, all.Len())
		}
		all.WriteString(p.text)
	}
	s := all.String()
	var b strings.Builder
	done := 0
	for _, m := range closingFlat().FindAllSubmatchIndex(f.text, -1) {
		start, end := f.from[m[2]], f.from[m[3]-1]+1
		if start < done {
			continue
		}
		text := s[start:end]
		b.WriteString(s[done:start])
		done = end
		if text != string(f.text[m[2]:m[3]]) { // markup in it
			k := strings.LastIndexAny(text, "#-/") + 1
			b.WriteString(text[:k] + " " + text[k:])
			continue
		}
		if strings.HasSuffix(s[:start], "<") && strings.Contains(s[end:], ">") { // an address
			more := strings.IndexByte(s[end:], '>')
			text, done = text+s[end:end+more], end+more+1
			before := b.String()
			b.Reset()
			b.WriteString(before[:len(before)-1])
		}
		if strings.HasSuffix(b.String(), "`") {
			b.WriteByte(' ')
		}
		b.WriteString("`" + text + "`") //control:post-closing
		if strings.HasPrefix(s[done:], "`") {
			b.WriteByte(' ')
		}
	}
	return b.String() + s[done:]
}

// prose adds a part that begins at byte at. A code span counts as a character
// that no word has.
func (f *flat) prose(l string, at int) {
	begun := false
	for i := 0; i < len(l); i++ {
		c := l[i]
		switch {
		case c == '`':
			f.add(0, at+i)
			i += max(1, codeSpan(l[i:])) - 1
		case c == '&':
			ref := reference().FindString(l[i:])
			if text := html.UnescapeString(ref); ref != "" && (len(text) == 1 || strings.TrimSpace(text) == "") {
				f.add(ascii(text), at+i)
				i += len(ref) - 1
				continue
			}
			f.add(c, at+i)
		case strings.IndexByte("*_~\\[]()<>|\"'{}!", c) >= 0:
			f.add(1, at+i)
		case !begun && strings.IndexByte("-+# \t", c) >= 0 && (i+1 == len(l) || strings.IndexByte("# \t", l[i+1]) >= 0):
		default:
			begun = c != '\n'
			f.add(c, at+i)
		}
	}
}

// ascii is a character of one byte, a blank for any other.
func ascii(text string) byte {
	if len(text) == 1 && text[0] < 0x80 {
		return text[0]
	}
	return ' '
}
