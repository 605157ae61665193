package speech

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// thinkTags are the tags of models around thinking in their content.
var thinkTags = [...][2]string{
	{"<think>", "</think>"},
	{"<thinking>", "</thinking>"},
	{"<thought>", "</thought>"},
	{"<reasoning>", "</reasoning>"},
	{"<seed:think>", "</seed:think>"},
	{"[THINK]", "[/THINK]"},
	{"◁think▷", "◁/think▷"},
	{"<|START_THINKING|>", "<|END_THINKING|>"},
	{"<|channel|>analysis<|message|>", "<|end|>"},
}

// maxTag is an upper bound on the length of thinkTags.
const maxTag = 40

// splitThinking moves inline thinking out of content, so that no call within it is
// run. Unclosed thinking extends to the end. A tag in a code span or a code fence is
// a quotation and stays.
func splitThinking(thinking, content string) (string, string) {
	for _, tag := range thinkTags {
		if !strings.Contains(content, tag[0]) && !strings.Contains(content, tag[1]) {
			continue
		}
		thinking, content = splitTag(thinking, content, tag[0], tag[1])
	}
	return thinking, content
}

func splitTag(thinking, content, start, end string) (string, string) {
	var kept strings.Builder
	rest := content
	for first := true; ; first = false {
		i, j := indexTag(rest, start), indexTag(rest, end)
		if first && j >= 0 && (i < 0 || j < i) {
			// Some templates swallow the opening tag.
			thinking, rest = join(thinking, rest[:j]), rest[j+len(end):]
			continue
		}
		if i < 0 {
			break
		}
		kept.WriteString(rest[:i])
		inner, after, closed := strings.Cut(rest[i+len(start):], end)
		thinking, rest = join(thinking, inner), after
		if !closed {
			break
		}
	}
	kept.WriteString(rest)
	if kept.Len() == len(content) {
		return thinking, content
	}
	return thinking, strings.TrimLeft(kept.String(), "\r\n ")
}

// indexTag finds a tag outside quotations.
func indexTag(s, tag string) int {
	for at := 0; ; {
		i := strings.Index(s[at:], tag)
		if i < 0 {
			return -1
		}
		i += at
		if !quoted(s[:i]) {
			return i
		}
		at = i + len(tag)
	}
}

// quoted reports whether the text after before is in a code fence or in a code span.
func quoted(before string) bool {
	fences := strings.Count(before, "\n```")
	if strings.HasPrefix(before, "```") {
		fences++
	}
	if fences%2 == 1 {
		return true
	}
	line := before[strings.LastIndexByte(before, '\n')+1:]
	return strings.Count(line, "`")%2 == 1
}

func join(a, b string) string {
	b = strings.TrimSpace(b)
	if a == "" || b == "" {
		return a + b
	}
	return a + "\n" + b
}

// minEcho is the minimum length in bytes of repeated thinking to count as an echo
// and not a coincidence.
const minEcho = 12

// dropEcho removes thinking that the model repeats at the start of its answer,
// ignoring white space. If nothing else would be left, the content stays: some models
// answer within their thinking.
func dropEcho(thinking, content string) string {
	rest, ok := cutEcho(content, thinking)
	if !ok || len(strings.TrimSpace(thinking)) < minEcho {
		return content
	}
	if text, _ := cutComplete(rest); strings.TrimSpace(text) == "" {
		return content
	}
	return strings.TrimLeft(rest, "\r\n ")
}

// cutEcho removes the words of echo from the beginning of s and reports whether all
// of them were there.
func cutEcho(s, echo string) (rest string, ok bool) {
	rest = s
	for _, word := range strings.Fields(echo) {
		rest = strings.TrimLeftFunc(rest, unicode.IsSpace)
		if rest, ok = strings.CutPrefix(rest, word); !ok {
			return s, false
		}
	}
	next, _ := utf8.DecodeRuneInString(rest)
	if rest != "" && (unicode.IsLetter(next) || unicode.IsDigit(next)) {
		return s, false // the last word is longer
	}
	return rest, ok
}

// visible returns the displayable part of a growing answer: its thinking, and its
// content without inline thinking, without a possible beginning of a tag, and without
// a possible echo. last means that the answer is complete.
func visible(thinking, content string, last bool) (string, string) {
	if !last {
		content = holdTag(content)
	}
	thinking, content = splitThinking(thinking, content)
	if !last && isBeginning(thinking, content) {
		return thinking, ""
	}
	return thinking, dropEcho(thinking, content)
}

// isBeginning reports whether content repeats the beginning of thinking so far.
func isBeginning(thinking, content string) bool {
	a, b := strings.Join(strings.Fields(thinking), " "), strings.Join(strings.Fields(content), " ")
	return b != "" && len(b) <= len(a) && strings.HasPrefix(a, b)
}

// holdTag removes the end of s that may become a thinking tag.
func holdTag(s string) string {
	for _, tag := range thinkTags {
		for _, t := range tag {
			for n := min(len(t)-1, len(s)); n > 0; n-- {
				if strings.HasSuffix(s, t[:n]) {
					s = s[:len(s)-n]
					break
				}
			}
		}
	}
	return s
}
