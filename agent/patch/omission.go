package patch

import (
	"path"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/handrail-bot/handrail/policy/pattern"
)

// omission finds a placeholder line such as "// rest of code unchanged". A line that the file has
// already does not count, and prose may quote one between fences.
func (a addition) omission() int {
	fresh := withText(a.add)
	less := withText(a.old) - fresh
	shrinks := less > 0 && !prose(a.name)
	muchLost := len(a.file)-len(a.text) >= 20 && !prose(a.name)
	ext := path.Ext(a.name)
	for i, line := range a.add {
		s := strings.TrimSpace(line)
		if s == "" || a.had[s] || prose(a.name) && a.quoted[a.is+i] {
			continue
		}
		if standsForText(s, shrinks, ext) || muchLost && promises(s) {
			return i
		}
		if shrinks && inPlace(ext, line, fresh == 1 && less > 3, a.text[:a.is+i]) { //control:omitted-by-form
			return i
		}
	}
	return -1
}

// withText counts the lines that are not blank.
func withText(lines []string) (n int) {
	for _, s := range lines {
		if strings.TrimSpace(s) != "" {
			n++
		}
	}
	return n
}

// inPlace reports whether a line is a placeholder for the lines that it replaces.
// above is the new text above it. alone means that it is the only replacement for
// several lines.
func inPlace(ext, s string, alone bool, above []string) bool {
	inner := strings.HasPrefix(s, " ") || strings.HasPrefix(s, "\t")
	s = strings.TrimSpace(s)
	last := strings.TrimSpace(lastOf(above))
	if s == "..." && (ext == ".py" || ext == ".pyi") { // may be the body of a stub
		return !inner || !strings.HasSuffix(last, ":") && !strings.HasSuffix(last, `"""`) || ext == ".py" && alone
	}
	at := leader().FindStringIndex(s)
	if at == nil || len(s) > 100 || strings.HasPrefix(s, "#!") {
		return false
	}
	body := strings.TrimSpace(strings.Trim(s[at[1]:], "*/-<>()[]{}=~#'\" "))
	words := strings.Fields(body)
	switch {
	case s[0] == '<' && !strings.HasPrefix(s, "<!--"):
		n := tallyOf(body)
		return strings.HasSuffix(s, ">") && len(words) > 1 && n.leftOut > 0 && n.own == 0 && !kind("x"+ext, markup)
	case bracketed(s[:at[1]]) || len(words) == 0:
		return false
	case startsWithDots(s[at[1]:]) || startsWithDots(s): // in any language
		return len(words) <= 8
	}
	several := leader().MatchString(last) // part of a longer comment
	return alone && !several && brief(words) && !hasOwnContent(s, body)
}

// hasOwnContent reports whether a comment has characters or words that give it content of
// its own.
func hasOwnContent(s, body string) bool {
	return strings.ContainsAny(body, ":;={}()<>@$%?0123456789\"") || strings.HasSuffix(s, ".") ||
		strings.Contains(s, "----") ||
		goneWords().MatchString(body)
}

// brief reports whether a comment is as short as a placeholder, and not the single
// word of a heading. Some scripts have no space between words.
func brief(words []string) bool {
	n := utf8.RuneCountInString(strings.Join(words, " "))
	if words[0][0] >= 0xe0 {
		return n <= 6
	}
	return len(words) > 1 && len(words) <= 4 && n < 8*(len(words)+1)
}

// goneWords matches words of comments that say that something is gone.
var goneWords = pattern.Lazy(
	`(?i)\b(removed?|deleted?|moved?|gone|dropped|deprecated|obsolete|no longer|not needed|unused|` +
		`disabled|empty|none|nothing|noop|no-op|ignored?|todo|fixme|nolint|noqa|eslint|pylint|type)\b`,
)

// lastOf returns the last line that is not blank.
func lastOf(lines []string) string {
	for i := len(lines) - 1; i >= 0; i-- {
		if strings.TrimSpace(lines[i]) != "" {
			return lines[i]
		}
	}
	return ""
}

// leader matches the beginning of a comment line, or of a bracket or quote in its
// place.
var leader = pattern.Lazy(
	`^(?://+!?|/\*+|\{/\*|#+|--+|;+|%+|\*+|<!--+|"""|'''|\(\*|\{-|REM\b|'|\[|\(|<|\{\{-?\s*/\*|\{\{!--|\{#|\.\.\.|…)\s*`,
)

// The words of which a placeholder consists: those for the text that is left out, those for its
// state, weaker ones that need a negation or a comparison, those of a promise, and those beside them.
const (
	leftOutWords = " rest remainder remaining existing previous original other others current everything more etc so "
	stateWords   = " unchanged same unmodified identical untouched omitted truncated abbreviated shortened elided skipped " +
		"snip snipped ditto brevity continues stay stays remain remains "
	weakWords    = " change changed changes keep keeps kept left before above shown "
	thanWords    = " as no not nothing "
	promiseWords = " todo fixme implement add write port copy fill complete missing "
	besideWords  = " a all and any are at be below else for forth from go goes here in is it of on only out placeholder " +
		"readability see similar similarly some that the there they this to was were with your " +
		"body case cases class classes code component components content contents declarations definitions entries fields " +
		"file function functions handlers implementation implementations imports items lines logic method methods module " +
		"page part parts properties props routes rules script section sections styles template tests "
	aloneWords = " etc more rest remaining " // that are placeholders without another word
)

// tally counts the words of a text by their kind. Own words are in none: no placeholder has them.
type tally struct{ all, leftOut, state, weak, than, promise, own, alone int }

func tallyOf(text string) (n tally) {
	notInWord := func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_' }
	for w := range strings.FieldsFuncSeq(strings.ToLower(text), notInWord) {
		is := func(list string) bool { return strings.Contains(list, " "+w+" ") }
		n.all++
		if is(aloneWords) {
			n.alone++
		}
		switch {
		case is(leftOutWords):
			n.leftOut++
		case is(stateWords):
			n.state++
		case is(weakWords):
			n.weak++
		case is(thanWords):
			n.than++
		case is(promiseWords):
			n.promise++
		case !is(besideWords):
			n.own++
		}
	}
	return n
}

// says reports whether the words say that text was left out. Fewer do if text gets lost.
func (n tally) says(shrinks bool) bool {
	certain := n.leftOut > 0 && n.state > 0
	switch {
	case n.promise > 0:
		return false
	case !shrinks:
		return certain && n.own == 0
	case n.own > 0:
		return certain && n.own == 1 && n.all <= 5
	case n.all == 1:
		return n.state+n.alone > 0
	}
	return n.leftOut+n.state > 0 || n.weak > 0 && n.than > 0
}

// promises reports whether a line is a comment that leaves existing text to be written again
// later.
func promises(s string) bool {
	at := leader().FindStringIndex(s)
	if at == nil || bracketed(s[:at[1]]) {
		return false
	}
	n := tallyOf(s[at[1]:])
	return n.promise > 0 && n.leftOut+n.state+n.weak > 0 && n.own == 0
}

// standsForText reports whether a trimmed line is a placeholder for left-out text.
func standsForText(s string, shrinks bool, ext string) bool {
	if isEllipsis(s) {
		// A bare "..." is code in Python. A comment with only dots is an omission if text
		// gets lost.
		return shrinks && (s[0] != '.' || ext != ".py" && ext != ".pyi")
	}
	at := leader().FindStringIndex(s)
	if at == nil || len(s) > 200 {
		return false
	}
	body := strings.TrimSpace(strings.TrimRight(s[at[1]:], "*/->)]}#'\" "))
	dots := strings.Contains(s, "...") || strings.Contains(s, "…")
	n := tallyOf(body)
	switch {
	case dots && dotsAtAnEnd(s, body):
		return n.all <= 8 && n.leftOut+n.state > 0
	case prose(ext) && (s[0] == '#' || s[0] == '*'):
		return false // a heading or a list item
	case bracketed(s[:at[1]]) && (s[0] != '\'' || !kind("x"+ext, " bas cls vb vbs ")):
		return n.says(false) && s[0] != '<' && strings.ContainsAny(s[len(s)-1:], ")]")
	}
	return n.says(shrinks)
}

// bracketed reports whether the opening of a line is a bracket or a quote and not the
// start of a comment.
func bracketed(open string) bool {
	return strings.ContainsAny(open[:1], "[(<'") && !strings.HasPrefix(open, "<!--") && !strings.HasPrefix(open, "(*")
}

// dotsAtAnEnd reports whether a line, or its comment text, begins or ends with dots.
func dotsAtAnEnd(s, body string) bool {
	return startsWithDots(s) || startsWithDots(body) || strings.HasSuffix(body, ".") || strings.HasSuffix(body, "…")
}

func startsWithDots(s string) bool { return strings.HasPrefix(s, ".") || strings.HasPrefix(s, "…") }

// isEllipsis reports whether a line is only an ellipsis, with or without comment
// markers.
func isEllipsis(s string) bool {
	s = strings.TrimSpace(s)
	if !strings.Contains(s, "...") && !strings.ContainsAny(s, "…⋮") {
		return false
	}
	return strings.Trim(s, "./#*-<>!{}[]()…⋮;% \t") == ""
}
