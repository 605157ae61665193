package outline

import (
	"fmt"
	"slices"
	"strings"
)

// Unclosed returns the byte offset of the first string of a file without an end, or of the first
// bracket without a partner, and the reason, which is empty if there is none. It is also empty if
// the language is not supported, or if the lexer cannot be sure before that place: behind a slash
// that divides or begins a regular expression, or a string with quotes in the code that it holds.
func Unclosed(name, text string) (at int, reason string) {
	lang := Language(name)
	if lang == "" {
		return 0, ""
	}
	f := newFile(lang, []byte(text))
	f.lex()
	if f.steps >= maxSteps || len(f.toks) >= maxTokens {
		return 0, ""
	}
	var open []token
	for i, t := range f.toks {
		switch {
		case t.line == 1 && strings.HasPrefix(text, "#!"):
		case f.unsure(i):
			return 0, ""
		case t.kind == aText:
			if begin := f.endless(t.text); begin != "" {
				if begin == "`" {
					return t.at, "the template is not closed"
				}
				return t.at, "the string that begins with " + begin + " is not closed"
			}
		case t.kind == aMark && strings.Contains(f.rules.quotes, t.text):
			return t.at, "the string is not closed on its line"
		case t.kind == aMark && strings.Contains("([{", t.text):
			open = append(open, t)
		case t.kind != aMark || partners[t.text] == "":
		case len(open) == 0:
			return t.at, fmt.Sprintf("'%s' closes nothing", t.text)
		case open[len(open)-1].text != partners[t.text]:
			last := open[len(open)-1]
			return t.at, fmt.Sprintf("'%s' does not close the '%s' of line %d", t.text, last.text, last.line)
		default:
			open = open[:len(open)-1]
		}
	}
	if len(open) == 0 {
		return 0, ""
	}
	last := open[len(open)-1]
	return last.at, fmt.Sprintf("'%s' is not closed", last.text)
}

// partners are the opening brackets of the closing ones.
var partners = map[string]string{")": "(", "]": "[", "}": "{"}

// endless returns the beginning of a string over several lines that lacks its end, or "".
func (s *source) endless(text string) string {
	for _, l := range s.rules.long {
		if strings.HasPrefix(text, l[0]) {
			if len(text) >= len(l[0])+len(l[1]) && strings.HasSuffix(text, l[1]) {
				return ""
			}
			return l[0]
		}
	}
	return ""
}

// unsure reports whether the i-th token may be read wrongly.
func (s *source) unsure(i int) bool {
	t, before := s.toks[i], token{kind: aMark}
	if i > 0 {
		before = s.toks[i-1]
	}
	rest := s.all[t.at+1 : s.lineEnd(t.at)]
	switch {
	case s.lang == "python" && strings.Contains(`"'`, t.text[:1]):
		formatted := before.kind == aWord && before.at+len(before.text) == t.at && strings.ContainsAny(before.text, "fFtT")
		if t.kind == aMark { // a field may go on in the next line
			return formatted && strings.Contains(rest, "{")
		}
		fields := strings.NewReplacer("{{", "", "}}", "").Replace(t.text)
		return formatted && strings.Count(fields, "{") != strings.Count(fields, "}")
	case t.kind == aText && t.text[0] == '`': // code in a template is only skipped
		inner := strings.TrimSuffix(t.text[1:], "`")
		return strings.Contains(inner, "${") && strings.ContainsAny(inner, "`'\"/")
	case s.lang == "python" || t.text[0] != '/' || !strings.Contains(rest, "/"):
		return false
	case t.kind == aText: // a regular expression; or a division behind x++ or a block
		return slices.Contains([]string{")", "}", "+", "-"}, before.text)
	}
	return before.kind == aMark && before.text != "]"
}

// Uncommented returns a text of the language of a name with spaces in place of its comments, and
// that with a letter in place of each byte of its strings, too. Both are as long as the text. ok
// is false if the language is not supported, or the text too long.
func Uncommented(name, text string) (code, bare []byte, ok bool) {
	code, bare = []byte(text), []byte(text)
	end := 0
	for _, p := range Colour(name, text) {
		from := end
		end += len(p.Text)
		switch p.Kind {
		case "comment":
			fill(code[from:end], ' ')
			fill(bare[from:end], ' ')
		case "string":
			fill(bare[from:end], 'x')
		}
	}
	return code, bare, end == len(text)
}

// fill overwrites a text with a character and keeps its line breaks.
func fill(b []byte, c byte) {
	for i := range b {
		if b[i] != '\n' {
			b[i] = c
		}
	}
}
