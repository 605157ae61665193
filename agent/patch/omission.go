package patch

import (
	"path"
	"strings"
	"unicode/utf8"

	"github.com/handrail-bot/handrail/gitops/lines"
	"github.com/handrail-bot/handrail/policy/pattern"
)

// Omission searches content, the text of a whole file, for a placeholder line such as
// "// rest of code unchanged". A line that is also in before, the old text, does not
// count. Omission returns the 1-based number of the first such line and its text, or
// 0.
func Omission(name, before, content string) (int, string) {
	had := trimmedSet(splitText(before))
	old, add := texts(splitText(before)), texts(splitText(content))
	muchLost := len(old)-len(add) >= 20 && !prose(name)
	for _, span := range lines.Compare(old, add) {
		fresh := withText(add[span.B:span.BEnd])
		less := withText(old[span.A:span.AEnd]) - fresh
		shrinks := less > 0 && !prose(name)
		for i := span.B; i < span.BEnd; i++ {
			s := strings.TrimSpace(add[i])
			if s == "" || had[s] {
				continue
			}
			if standsForText(s, shrinks, path.Ext(name)) || muchLost && promises(s) {
				return i + 1, s
			}
			if shrinks && inPlace(path.Ext(name), add[i], fresh == 1 && less > 3, add[:i]) { //control:omitted-by-form
				return i + 1, s
			}
		}
	}
	return 0, ""
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
		return strings.HasSuffix(s, ">") && len(words) > 1 && omitted().MatchString(body) && !kind("x"+ext, markup)
	case bracketed(s[:at[1]]) || len(words) == 0:
		return false
	case startsWithDots(s[at[1]:]) || startsWithDots(s): // in any language
		return len(words) <= 8
	case instead().MatchString(strings.Trim(body, ". ")):
		return true
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

// omitted matches phrases for left-out text.
var omitted = pattern.Lazy(`(?i)` + strings.Join([]string{
	`\b(rest|remainder|remaining (part|code|content|lines|functions|methods|file)s?)\b.*\b(code|file|content|contents|implementation|function|functions|method|methods|class|component|module|script|document|page|tests?|config(uration)?|styles?|logic|body|imports?|unchanged|same|remains?|here|goes|follows)\b`,
	`\b(existing|previous|original|other|old|current) (code|content|contents|implementation|implementations|functions?|methods?|logic|imports?|fields?|properties|props|tests?|styles?|rules?|routes?|handlers?|cases?|entries|items|lines|text|class(es)?|definitions?|declarations?|config(uration)?|body|file)\b.*\b(remains?|unchanged|stays?|same|here|goes|above|below|continues?|omitted|kept$|as before|preserved|unmodified|as is)\b`,
	`\b(code|content|contents|implementation|file|function|functions|method|methods|class|logic|imports?|everything( else)?|everything) (above |below |here |before |after |else )?(remains?|stays?|is|are|continues?|kept)( \w+)? (unchanged|the same|as is|as before|identical|unmodified|untouched)(\W*$|\W+(as|here|below|above|from|for|in|except|since)\b)`,
	`\b(keep|leave|same as|insert|add|put|copy|include)( in| here)?( all| the| your)*( rest| existing| remaining| previous| original)( of)?( the)? (code|content|contents|file|implementation|functions?|methods?|logic|imports?)\b`,
	`\b(code|content|lines?|implementation|functions?|methods?|section|part)s? (is |are |was |were |has been )?(omitted|truncated|elided|unchanged|skipped|left out|removed)(\W*$|\W+(as|here|below|above|from|for|in|except|since)\b)`,
	`\b(omitted|truncated|abbreviated|shortened|elided|skipped) for (brevity|clarity|space|readability)\b`,
	`^(no changes?|unchanged|same as (before|above|original|previous)|as before|unchanged (code|lines|content|part|section)s?)( here| below| above)?$`,
	`^rest of\b`,
}, "|"))

// dotted matches words that mean an omission only beside an ellipsis.
var dotted = pattern.Lazy(
	`(?i)\b(rest|remaining|existing|previous|other|same|unchanged|original|more|omitted|truncated|etc|keep|continued?s?|as before|your|similar|code here|here)\b`,
)

// promised matches comments that leave existing text to be written again later.
var promised = pattern.Lazy(
	`(?i)\b(todo|fixme|implement|add|write|port|copy|fill in|complete)\b.*\b(rest|remaining|remainder|others?|missing|similar|same|as before|everything else)\b`,
)

// promises reports whether a line is a comment that leaves the rest for later.
func promises(s string) bool {
	at := leader().FindStringIndex(s)
	return at != nil && !bracketed(s[:at[1]]) && promised().MatchString(s[at[1]:])
}

// instead matches whole comments that could be headings, but are placeholders in place
// of text.
var instead = pattern.Lazy(`(?i)^(` + strings.Join([]string{
	`no (further |other )?changes?( needed| required)?( here| below| above| from here( on)?)?`,
	`(the )?same( as (the )?(before|above|below|original|previous)( (version|code|file|one))?)?`,
	`(code )?continues?( as before| here| below| unchanged)?`,
	`(left |kept )?(unchanged|as is|as it was)( from here( on)?| here| below| above)?`,
	`(the |your |all )?(existing|previous|original|other|remaining|current) (code|contents?|implementations?|imports?|functions?|methods?|fields?|cases|rules|styles|items|entries|tests|routes|handlers|lines)( here| goes here| go here| above| below)?`,
	`placeholder for (the |all )?(rest|remaining|others?)\b.*`,
	`(like|as) (before|above)`,
	`(similar(ly)?|the same|repeat) for (the |all )?(rest|others?|remaining)( \w+)?`,
	`not shown( here)?`,
	`see (the )?(original|previous)( (file|code|version|implementation))?`,
	`(add |put |insert )?your (code|implementation|logic)( goes| here)*`, `all the other \w+`,
	`(and )?(some |all )?(the )?(more|other|others)( code| functions?| methods?| lines)?( here)?`,
	`⋮`,
}, "|") + `)$`)

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
	switch {
	case !dots && prose(ext) && (s[0] == '#' || s[0] == '*'):
		return false // a heading or a list item
	case !dots && bracketed(s[:at[1]]) && (s[0] != '\'' || !kind("x"+ext, " bas cls vb vbs ")):
		return s[0] != '<' && omitted().MatchString(body) && strings.ContainsAny(s[len(s)-1:], ")]")
	}
	return saysSo(s, body, dots, shrinks)
}

// saysSo reports whether the words of a comment say that text was left out.
func saysSo(s, body string, dots, shrinks bool) bool {
	bare := strings.Trim(body, ".…([{<=~- ")
	if dots && dotsAtAnEnd(s, body) && len(strings.Fields(bare)) <= 8 && dotted().MatchString(bare) {
		return true
	}
	return omitted().MatchString(bare) || shrinks && andSoOn().MatchString(bare)
}

// andSoOn matches words that are placeholders only in a text that shrinks.
var andSoOn = pattern.Lazy(`(?i)^(?:` +
	`(etc|and so on|and so forth|snip(ped)?|more|ditto|see above|rest|remaining|omitted|skipped|truncated)|` +
	`(and |with )?(all |the |all the )?(rest|remain(ing|der)|others?|everything( else)?|all else|nothing else)( [\w-]+){0,2}? ` +
	`(as|is|are|stays?|remains?|same|unchanged|unmodified|identical|untouched|omitted|skipped|changes?|changed)` +
	`( (as|it|they|the|is|was|were|are|same|before|above|unchanged|original))*)$`)

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
	if !strings.Contains(s, "...") && !strings.Contains(s, "…") {
		return false
	}
	return strings.Trim(s, "./#*-<>!{}[]()…;% \t") == ""
}
