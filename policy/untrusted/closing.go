package untrusted

import (
	"regexp"
	"strings"
	"sync"
	"unicode"

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

var (
	mentioned  = pattern.Lazy(`^@[A-Za-z0-9][A-Za-z0-9-]*(?:/[A-Za-z0-9._-]+)?`)
	otherIssue = pattern.Lazy(`([\w.\-\x01]+/[\w.\-\x01]+)#\x01*\d+`)
	onGitHub   = pattern.Lazy("(?i)(?:https?://|www\\.)[^\\s<>\"'`)\\]\x00\x01]+")
)

// flat is what a reader sees of the tokens, with markup as \x01 and code as \x00, and the
// token that each byte comes from.
func (w *writer) flat() (string, []int) {
	var b strings.Builder
	var from []int
	for i, t := range w.tokens {
		seen := strings.Map(func(r rune) rune {
			if unicode.IsSpace(r) && r != '\n' {
				return ' '
			}
			return r
		}, t.seen)
		b.WriteString(seen)
		for range len(seen) {
			from = append(from, i)
		}
	}
	return b.String(), from
}

// neutralize shows as code what would have an effect on GitHub: what makes a note in the
// timeline of another repository, tells a person, or closes an issue. Markup in between and
// the end of a line change nothing about that.
func (w *writer) neutralize() {
	flat, from := w.flat()
	for _, m := range onGitHub().FindAllStringIndex(flat, -1) {
		if w.elsewhere(flat[m[0]:m[1]]) {
			w.show(from[m[0]], from[m[1]-1])
		}
	}
	for _, m := range otherIssue().FindAllStringSubmatchIndex(flat, -1) {
		name := strings.TrimLeft(flat[m[2]:m[3]], "\x01")
		if !strings.EqualFold(strings.ReplaceAll(name, "\x01", ""), w.Repo) && w.tokens[from[m[3]]].kind == prose {
			w.show(from[m[3]-len(name)], from[m[1]-1])
		}
	}
	flat, from = w.flat()
	flat = strings.Map(func(r rune) rune { // what may have been markup
		if strings.ContainsRune("*_~\\[]()<>|\"'{}!", r) {
			return 1
		}
		return r
	}, flat)
	for at := 0; ; { // behind what is shown as code another word may begin
		m := closingFlat().FindStringSubmatchIndex(flat[at:])
		if m == nil {
			break
		}
		w.show(from[at+m[2]], from[at+m[3]-1]) //control:post-closing
		at += m[3]
	}
	w.mentions()
}

// mentions shows names as code that GitHub would tell. Behind code and addresses a name
// begins a word of its own, so this comes after all that is shown as code.
func (w *writer) mentions() {
	flat, from := w.flat()
	for at, c := range flat {
		if c != '@' || w.tokens[from[at]].kind != prose {
			continue
		}
		word := flat[max(0, at-256):at]
		word = word[strings.LastIndexAny(word, " \t\n")+1:]
		inWord := word != "" && alnum(word[len(word)-1]) && !strings.ContainsAny(word, "@#") && w.tokens[from[at-1]].kind == prose
		if name := mentioned().FindString(flat[at:min(len(flat), at+256)]); name != "" && !inWord {
			w.show(from[at], from[at+len(name)-1]) //control:post-mentions
		}
	}
}

func alnum(b byte) bool { return letter(b) || b >= '0' && b <= '9' }

// show writes some tokens as code. If there is markup among them, a space takes their
// effect.
func (w *writer) show(first, last int) {
	var words strings.Builder
	mark := first
	for i := first; i <= last; i++ {
		t := w.tokens[i]
		switch {
		case t.kind == code && i == first:
			return // it is shown already
		case t.kind == code:
			last = i - 1
			continue
		case t.kind == markup && t.out == "":
		case t.kind == markup || t.kind == newline:
			words.Reset()
			words.WriteByte(1)
		case strings.ContainsAny(t.seen, "#-/@"):
			mark = i
		}
		words.WriteString(t.seen)
	}
	if s := words.String(); !strings.HasPrefix(s, "\x01") {
		w.tokens[first] = token{kind: code, out: span(s, w.tokens[first].cell), seen: "\x00"}
		for i := first + 1; i <= last; i++ {
			w.tokens[i] = token{kind: markup}
		}
		return
	}
	w.tokens[mark].space = true
}
