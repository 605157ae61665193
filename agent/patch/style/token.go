package style

import (
	"html"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/handrail-bot/handrail/agent/patch/compare"
)

// tokens cuts a text into words, runs of white space, entities and single signs. They
// joined are the text.
func tokens(s string) (out []string) {
	for s != "" {
		n := tokenEnd(s)
		for n < len(s) { // what cannot be seen belongs to what is before it
			r, size := utf8.DecodeRuneInString(s[n:])
			if compare.PlainSign(r) >= 0 {
				break
			}
			n += size
			if isWord(s[:1]) && isWord(s[n:]) {
				n += tokenEnd(s[n:])
			}
		}
		out, s = append(out, s[:n]), s[n:]
	}
	return out
}

func tokenEnd(s string) int {
	first, size := utf8.DecodeRuneInString(s)
	same := func(f func(rune) bool) int {
		if n := strings.IndexFunc(s, func(r rune) bool { return !f(r) }); n >= 0 {
			return n
		}
		return len(s)
	}
	switch {
	case unicode.IsSpace(first):
		return same(unicode.IsSpace)
	case wordRune(first):
		return same(wordRune)
	case first == '&':
		const longest = 10
		if n := strings.IndexByte(s[:min(len(s), longest)], ';'); n > 0 && html.UnescapeString(s[:n+1]) != s[:n+1] {
			return n + 1
		}
	}
	return size
}

func wordRune(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) }

func isWord(s string) bool {
	r, _ := utf8.DecodeRuneInString(s)
	return s != "" && wordRune(r)
}

func isSpace(token string) bool {
	r, _ := utf8.DecodeRuneInString(token)
	return unicode.IsSpace(r)
}

func isSign(token string) bool { return !isSpace(token) && !isWord(token) }

// sameTokens reports whether two lines have the same tokens but for the form of white
// space and punctuation.
func sameTokens(a, b []string) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] && isSpace(a[i]) != isSpace(b[i]) || compare.Normal(a[i], compare.Spelling) != compare.Normal(b[i], compare.Spelling) {
			return false
		}
	}
	return true
}
