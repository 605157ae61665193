package outline

import (
	"bytes"
	"slices"
	"strings"
	"unicode/utf8"
)

// The kinds of tokens.
const (
	aWord = iota
	aText // a string or character literal
	aMark // one character, or one of marks
	aHash // a preprocessor directive
)

// token is a lexical token. Comments are not tokens.
type token struct {
	text  string
	kind  int
	line  int
	at    int  // byte offset
	first bool // first token on its line
}

// marks are the operators of several characters.
var marks = []string{"=>", "->", "::", "==", "!=", "<=", ">=", "&&", "||", "?.", "??", "+=", "-="}

// Limits of the work on one file: the number of its tokens, and the number of bytes
// scanned, which crafted input can raise far above the size of the file.
const (
	maxTokens = 2 << 20
	maxSteps  = 16 << 20
)

// lex splits the text into tokens.
func (s *source) lex() {
	line := 1
	last := 0 // line of the last token
	for i := 0; i < len(s.src) && len(s.toks) < maxTokens && s.steps < maxSteps; {
		for line < len(s.starts) && s.starts[line] <= i {
			line++
		}
		c := s.src[i]
		if c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' {
			i++
			continue
		}
		end, kind := s.token(i, last != line)
		if kind >= 0 {
			s.toks = append(s.toks, token{text: s.all[i:end], kind: kind, line: line, at: i, first: last != line})
			last = line
		}
		i = max(end, i+1)
	}
	s.brackets()
}

// token returns the end and the kind of the token at i. The kind is -1 for a comment.
func (s *source) token(i int, first bool) (end, kind int) {
	r := s.rules
	if r.lex != nil {
		if end := r.lex(s, i); end < 0 {
			return -end, -1
		} else if end != i {
			return end, aText
		}
	}
	if end := s.comment(i); end > i {
		return end, -1
	}
	if r.hash && first && s.src[i] == '#' {
		return s.directive(i), aHash
	}
	if end := s.text(i); end > 0 {
		return end, aText
	}
	if r.chars && s.src[i] == '\'' {
		return s.charEnd(i)
	}
	if end := s.wordEnd(i); end > i {
		return end, aWord
	}
	for _, m := range marks {
		if s.begins(i, m) {
			return i + len(m), aMark
		}
	}
	return i + 1, aMark
}

// text returns the end of the string at i, 0 if there is none. If strings end with the
// line, an unmatched quote begins none.
func (s *source) text(i int) int {
	for _, l := range s.rules.long {
		if s.begins(i, l[0]) {
			return s.textEnd(i+len(l[0]), l[1], true)
		}
	}
	if strings.IndexByte(s.rules.quotes, s.src[i]) < 0 {
		return 0
	}
	return s.textEnd(i+1, string(s.src[i]), s.rules.lines)
}

func (s *source) begins(i int, what string) bool {
	return len(s.src)-i >= len(what) && string(s.src[i:i+len(what)]) == what
}

// wordEnd returns the end of the word at i, i if there is none. Some languages have words
// in backquotes.
func (s *source) wordEnd(i int) int {
	if s.src[i] == '`' && s.rules.quoted {
		if n := bytes.IndexAny(s.src[i+1:], "`\n"); n > 0 && s.src[i+1+n] == '`' {
			return i + n + 2
		}
	}
	if strings.IndexByte("?!-+", s.src[i]) >= 0 {
		return i
	}
	for start := i; i < len(s.src); i++ {
		c := s.src[i]
		switch {
		case isLetter(c):
		case strings.IndexByte(s.rules.word, c) < 0:
			return i
		case s.lang != "ruby":
		case c == '?' || c == '!':
			return i + 1
		case i > start:
			return i
		}
	}
	return i
}

// comment returns the end of the comment at i, i if there is none.
func (s *source) comment(i int) int {
	for _, b := range s.rules.block {
		if !s.begins(i, b[0]) {
			continue
		}
		depth := 1
		for j := i + len(b[0]); j < len(s.src); j++ {
			switch {
			case s.begins(j, b[1]):
				if depth--; depth == 0 {
					return j + len(b[1])
				}
				j += len(b[1]) - 1
			case s.rules.nested && s.begins(j, b[0]):
				depth++
				j += len(b[0]) - 1
			}
		}
		return len(s.src)
	}
	for _, l := range s.rules.line {
		if !s.begins(i, l) || l == "#" && s.lang == "php" && s.begins(i, "#[") ||
			l == "#" && s.lang == "shell" && i > 0 && !strings.ContainsRune(" \t\n;(&|", rune(s.src[i-1])) {
			continue
		}
		return s.lineEnd(i)
	}
	return i
}

func (s *source) lineEnd(i int) int {
	if n := bytes.IndexByte(s.src[i:], '\n'); n >= 0 {
		return i + n
	}
	return len(s.src)
}

// directive returns the end of a preprocessor directive, including continuation lines.
func (s *source) directive(i int) int {
	for {
		i = s.lineEnd(i)
		if i >= len(s.src) || !bytes.HasSuffix(bytes.TrimRight(s.src[:i], "\r"), []byte(`\`)) {
			return i
		}
		i++
	}
}

// step counts a scanned byte. It reports false after too many: nested strings without an
// end would be scanned again and again.
func (s *source) step() bool {
	s.steps++
	return s.steps < maxSteps
}

// textEnd returns the end of a string with the delimiter end; 0 if it must end on its
// line and does not.
func (s *source) textEnd(i int, end string, lines bool) int {
	raw := s.raw(end)
	for i < len(s.src) && s.step() {
		switch {
		case s.begins(i, end):
			return i + len(end)
		case s.src[i] == '\n' && !lines:
			return 0
		case !raw && s.rules.insert != "" && s.begins(i, s.rules.insert):
			i = s.codeEnd(i+len(s.rules.insert), closing(s.rules.insert), 0)
		case s.src[i] == '\\' && !raw && s.begins(i+1, "\r\n"):
			i += 3
		case s.src[i] == '\\' && !raw:
			i += 2
		default:
			i++
		}
	}
	if !lines {
		return 0
	}
	return len(s.src)
}

// raw reports whether strings with this delimiter have no backslash escapes.
func (s *source) raw(end string) bool {
	switch s.lang {
	case "go":
		return end == "`"
	case "shell":
		return end == "'"
	case "kotlin", "scala", "csharp":
		return end == `"""`
	case "swift":
		return end == `"#`
	}
	return false
}

func closing(open string) byte {
	if strings.HasSuffix(open, "(") {
		return ')'
	}
	return '}'
}

// codeEnd returns the end of code in a string: the index after its closing bracket.
func (s *source) codeEnd(i int, end byte, depth int) int {
	open := map[byte]byte{')': '(', '}': '{'}[end]
	for level := 1; i < len(s.src) && s.step(); {
		c := s.src[i]
		switch {
		case c == end:
			if level--; level == 0 {
				return i + 1
			}
			i++
		case c == open:
			level++
			i++
		case c == '\\':
			i += 2
		case depth < 20 && (c == '"' || c == '`' || c == '\'' && s.lang != "swift"):
			stop := s.nestedText(i+1, c, depth+1)
			i = max(stop, i+1)
		default:
			i++
		}
	}
	return len(s.src)
}

// nestedText is textEnd for a string in the code of another string.
func (s *source) nestedText(i int, end byte, depth int) int {
	for i < len(s.src) && s.step() {
		switch {
		case s.src[i] == end:
			return i + 1
		case s.src[i] == '\n' && end != '`' && !s.rules.lines:
			return 0
		case s.rules.insert != "" && end != '\'' && s.begins(i, s.rules.insert):
			i = s.codeEnd(i+len(s.rules.insert), closing(s.rules.insert), depth)
		case s.src[i] == '\\':
			i += 2
		default:
			i++
		}
	}
	return 0
}

// charEnd returns the end and the kind of the token at a single quote: a character
// literal, or the quote alone, as in a lifetime.
func (s *source) charEnd(i int) (int, int) {
	if s.begins(i+1, `\`) {
		if n := bytes.IndexAny(s.src[min(i+3, len(s.src)):], "'\n"); n >= 0 && n < 12 {
			return i + 4 + n, aText
		}
		return i + 1, aMark
	}
	_, size := utf8.DecodeRune(s.src[min(i+1, len(s.src)):])
	if s.begins(i+1+size, "'") {
		return i + 2 + size, aText
	}
	return i + 1, aMark
}

// brackets finds the partner of each bracket.
func (s *source) brackets() {
	s.pair = make([]int, len(s.toks))
	var open []int
	for i, t := range s.toks {
		if t.kind != aMark {
			continue
		}
		switch t.text {
		case "(", "[", "{":
			open = append(open, i)
		case ")", "]", "}":
			want := map[string]string{")": "(", "]": "[", "}": "{"}[t.text]
			k := len(open) - 1
			for k >= 0 && len(open)-k < 4 && s.toks[open[k]].text != want {
				k--
			}
			if k >= 0 && s.toks[open[k]].text == want {
				s.pair[i], s.pair[open[k]] = open[k], i
				open = slices.Delete(open, k, len(open))
			}
		}
	}
}
