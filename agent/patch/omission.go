package patch

import (
	"path"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/handrail-bot/handrail/policy/pattern"
)

// loss is the text that an edit takes out of a file of an extension.
type loss struct {
	ext    string
	some   bool // more lines go than come
	form   bool // they may have a placeholder in words of any language
	single bool // one line comes for several
	much   bool
}

// lost returns the text that goes where the lines are added.
func (a addition) lost() loss {
	l := loss{ext: path.Ext(a.name)}
	if fresh := withText(a.add); !prose(a.name) {
		less := withText(a.old) - fresh
		l.some, l.single, l.much = less > 0, fresh == 1 && less > 3, len(a.file)-len(a.text) >= 20
		l.form = l.some //control:omitted-by-form
	}
	return l
}

// omission reports whether a line is a placeholder such as "// rest of code unchanged". A line that the
// file has already does not count, and prose may quote one between fences.
func (a addition) omission(i int, line string) bool {
	s := strings.TrimSpace(line)
	quoted := prose(a.name) && a.quoted[a.is+i]
	return s != "" && !a.had[s] && !quoted && a.loss.standsFor(line, lastOf(a.text[:a.is+i]))
}

// withText counts the lines that are not blank.
func withText(lines []string) (n int) {
	for _, s := range lines {
		if !isBlank(s) {
			n++
		}
	}
	return n
}

// standsFor reports whether a line below another one is a placeholder for the lost text.
func (l loss) standsFor(line, above string) bool {
	s := strings.TrimSpace(line)
	if isEllipsis(s) {
		python := s[0] == '.' && (l.ext == ".py" || l.ext == ".pyi")
		return l.some && (!python || l.form && !l.isStub(line, strings.TrimSpace(above)))
	}
	at := leader().FindStringIndex(s)
	if at == nil || len(s) > 200 || strings.HasPrefix(s, "#!") {
		return false
	}
	body := strings.TrimSpace(strings.Trim(s[at[1]:], "*/-<>()[]{}=~#'\" "))
	n, words := tallyOf(body), strings.Fields(body)
	bracketed := strings.ContainsAny(s[:1], "[(<'") && !strings.HasPrefix(s, "<!--") && !strings.HasPrefix(s, "(*")
	begins := startsWithDots(s) || startsWithDots(s[at[1]:])
	switch {
	case l.much && !bracketed && n.promises():
		return true
	case begins || strings.HasSuffix(body, ".") && strings.Contains(s, "...") || strings.HasSuffix(body, "…"):
		return n.all <= 8 && (n.leftOut+n.state > 0 || l.form && begins && len(words) > 0)
	case prose(l.ext) && (s[0] == '#' || s[0] == '*'): // a heading or a list item
		return false
	case bracketed && s[0] == '<':
		return l.form && strings.HasSuffix(s, ">") && len(words) > 1 && n.leftOut > 0 && n.own == 0 &&
			!kind("x"+l.ext, markup)
	case bracketed && (s[0] != '\'' || !kind("x"+l.ext, " bas cls vb vbs ")):
		return n.says(false) && strings.ContainsAny(s[len(s)-1:], ")]")
	case n.says(l.some):
		return true
	}
	several := leader().MatchString(strings.TrimSpace(above)) // part of a longer comment
	return l.form && l.single && len(words) > 0 && !several && brief(words) && !hasOwnContent(s, body)
}

// isStub reports whether dots in Python are the body of a definition.
func (l loss) isStub(line, above string) bool {
	inner := strings.HasPrefix(line, " ") || strings.HasPrefix(line, "\t")
	opened := strings.HasSuffix(above, ":") || strings.HasSuffix(above, `"""`)
	return inner && opened && (l.ext != ".py" || !l.single)
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
		if !isBlank(lines[i]) {
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

// promises reports whether the words leave existing text to be written again later.
func (n tally) promises() bool {
	return n.promise > 0 && n.leftOut+n.state+n.weak > 0 && n.own == 0
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
