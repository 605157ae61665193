package untrusted

import (
	"regexp"
	"strings"
	"sync"
	"unicode"

	"github.com/handrail-bot/handrail/policy/pattern"
)

// closingWord matches the words before an issue that make GitHub close it. They work in
// pull requests and in commit messages, which a merge may create from other texts.
const closingWord = `(?:\b|_)(?:close[sd]?|fix(?:e[sd])?|resolve[sd]?)(?:\b|_+)\s*:?\s*`

var (
	closingNumber = pattern.Lazy(`(?i)(` + closingWord + `(?:[\w.-]+/[\w.-]+)?#|` + closingWord + `GH-)(\d)`)
	closingURL    = pattern.Lazy(
		`(?i)(` + closingWord + `(?:https?://|www\.))([^\s/]+/[\w.-]+/[\w.-]+/(?:issues|pull|discussions)/\d)`,
	)
	// closingFlat matches closing references in prose with markup replaced by \x01.
	closingFlat = sync.OnceValue(func() *regexp.Regexp {
		var words []string
		for _, w := range []string{"close", "closes", "closed", "fix", "fixes", "fixed", "resolve", "resolves", "resolved"} {
			words = append(words, strings.Join(strings.Split(w, ""), `\x01*`))
		}
		return regexp.MustCompile(`(?i)\b(?:` + strings.Join(words, "|") + `)\b[\s\x01]*:?[\s\x01]*` +
			`((?:[\w.\-\x01]+/[\w.\-\x01]+)?#\x01*\d+|G\x01*H\x01*-\x01*\d+|(?:https?\x01*:|w\x01*w\x01*w\x01*\.)[^\s\x00]+?/(?:issues|pull|discussions)/\x01*\d+)`)
	})
)

// spaceClosing inserts a space into closing references.
func spaceClosing(s string) string {
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

// flat returns the visible text of the tokens, with markup as \x01 and code as \x00, and
// the token index of each byte.
func (w *writer) flat() (string, []int) {
	var b strings.Builder
	from := make([]int, 0, len(w.src))
	for i, t := range w.tokens {
		seen := t.seen
		if len(seen) != 1 || !alnum(seen[0]) {
			seen = strings.Map(func(r rune) rune {
				if unicode.IsSpace(r) && r != '\n' {
					return ' '
				}
				return r
			}, seen)
		}
		b.WriteString(seen)
		for range len(seen) {
			from = append(from, i)
		}
	}
	return b.String(), from
}

// issuesIn returns the places of references to issues of named repositories.
func issuesIn(flat string) [][]int {
	if !strings.Contains(flat, "#") {
		return nil
	}
	return otherIssue().FindAllStringSubmatchIndex(flat, -1)
}

// neutralize shows text as code if it would have an effect on GitHub: a link in the
// timeline of another repository, a mention, or closing an issue. Interleaved markup and
// line ends do not prevent such effects.
func (w *writer) neutralize() {
	flat, from := w.flat()
	for _, m := range onGitHub().FindAllStringIndex(flat, -1) {
		if w.elsewhere(flat[m[0]:m[1]]) {
			w.show(from[m[0]], from[m[1]-1])
		}
	}
	for _, m := range issuesIn(flat) {
		name := strings.TrimLeft(flat[m[2]:m[3]], "\x01")
		if !strings.EqualFold(strings.ReplaceAll(name, "\x01", ""), w.Repo) && w.tokens[from[m[3]]].kind == prose {
			w.show(from[m[3]-len(name)], from[m[1]-1])
		}
	}
	flat, from = w.flat()
	flat = strings.Map(func(r rune) rune { // possible markup
		if strings.ContainsRune("*_~\\[]()<>|\"'{}!", r) {
			return 1
		}
		return r
	}, flat)
	for at := 0; strings.ContainsAny(flat, "#-/"); { // another word may begin after text shown as code
		m := closingFlat().FindStringSubmatchIndex(flat[at:])
		if m == nil {
			break
		}
		w.show(from[at+m[2]], from[at+m[3]-1]) //control:post-closing
		at += m[3]
	}
	w.mentions()
}

// mentions shows account names as code that GitHub would notify. A name can begin after
// code or an address, so this runs after everything else was shown as code.
func (w *writer) mentions() {
	flat, from := w.flat()
	for at, c := range flat {
		if c != '@' || w.tokens[from[at]].kind != prose {
			continue
		}
		word := flat[max(0, at-256):at]
		word = word[strings.LastIndexAny(word, " \t\n")+1:]
		inWord := word != "" && alnum(word[len(word)-1]) && !strings.ContainsAny(word, "@#") &&
			w.tokens[from[at-1]].kind == prose
		if name := mentioned().FindString(flat[at:min(len(flat), at+256)]); name != "" && !inWord {
			w.show(from[at], from[at+len(name)-1]) //control:post-mentions
		}
	}
}

func alnum(b byte) bool { return letter(b) || b >= '0' && b <= '9' }

// show writes tokens as code. If there is markup among them, it disables them with a
// space instead.
func (w *writer) show(first, last int) {
	var words strings.Builder
	mark := first
	for i := first; i <= last; i++ {
		t := w.tokens[i]
		switch {
		case t.kind == code && i == first:
			return // already shown as code
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
