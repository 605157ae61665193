package command

import (
	"regexp"
	"strings"
	"sync"
)

// A line is for the bot if its first word is the command word in any case, or a mention
// of the bot's account. GitHub takes "@name" for a mention of exactly that name, in any
// case; an App is shown as "name[bot]".

// spelled is the command word as a regular expression.
const spelled = "(?i:" + prefix + ")"

// mentionPatterns caches, by names equivalent to the command word, the expression for lines
// that begin with it. Marks of lists, quotations, tables or emphasis may precede it.
var mentionPatterns sync.Map

func mentionPattern(names []string) *regexp.Regexp {
	key := strings.ToLower(strings.Join(names, " "))
	if re, ok := mentionPatterns.Load(key); ok {
		return re.(*regexp.Regexp) //nolint:forcetypeassert // nothing else is stored
	}
	word := spelled
	for _, name := range names {
		if name = strings.TrimSuffix(name, "[bot]"); name != "" {
			word += `|(?i:@` + regexp.QuoteMeta(name) + `)(?:\[bot\])?`
		}
	}
	re := regexp.MustCompile(
		`(?m)^[ \t\p{Zs}>*+\-_~#|\d.)\[\]!]*(?:((?:` + word + `)[:,：，、]?)(?:[\t\p{Zs}]|$)|((?:` + word + `)[:,：，、])\pL)`,
	)
	mentionPatterns.Store(key, re)
	return re
}

// linesFor returns the lines of a text that begin with the command word, by the offsets
// of the line and of the word's beginning and end.
func linesFor(body string, names []string) []mention {
	if !MayCall(body, names...) {
		return nil
	}
	var out []mention
	for _, f := range mentionPattern(names).FindAllStringSubmatchIndex(body, -1) {
		if f[2] < 0 {
			f[2], f[3] = f[4], f[5]
		}
		if strings.Contains(body[f[0]:f[2]], "~~~") {
			continue // a fence or plain text, in any reading
		}
		out = append(out, mention{start: f[0], at: f[2], end: f[3]})
	}
	return out
}

// MayCall reports whether a text may have a line that begins with the command word or one
// of names. It is cheap.
func MayCall(body string, names ...string) bool {
	if foldContains(body, prefix) {
		return true
	}
	for _, name := range names {
		if name = strings.TrimSuffix(name, "[bot]"); name != "" && foldContains(body, "@"+name) {
			return true
		}
	}
	return false
}

// foldContains reports whether text contains word in any case. word is ASCII and begins
// with a mark.
func foldContains(text, word string) bool {
	for {
		i := strings.IndexByte(text, word[0])
		if i < 0 || len(text)-i < len(word) {
			return false
		}
		if strings.EqualFold(text[i:i+len(word)], word) {
			return true
		}
		text = text[i+1:]
	}
}
