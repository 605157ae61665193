package outline

import (
	"bytes"
	"strings"

	"github.com/handrail-bot/handrail/policy/pattern"
)

// The functions below find strings that only one language has. They return the end of the
// string at i, i if there is none, or minus the end of text to skip.

var rawRustBegin = pattern.Lazy(`^(?:b|c|br|cr)?r?(#*)"`)

func (s *source) rawRust(i int) int {
	if c := s.src[i]; c != 'r' && c != 'b' && c != 'c' || i > 0 && isLetter(s.src[i-1]) {
		return i
	}
	m := rawRustBegin().FindSubmatch(s.src[i:min(len(s.src), i+40)])
	if m == nil {
		return i
	}
	if !bytes.ContainsRune(m[0], 'r') {
		return i + len(m[0]) - 1 // b"…": the string comes next
	}
	return s.until(i+len(m[0]), `"`+string(m[1]))
}

// until returns the offset after the next occurrence of end.
func (s *source) until(i int, end string) int {
	if n := bytes.Index(s.src[i:], []byte(end)); n >= 0 {
		return i + n + len(end)
	}
	return len(s.src)
}

var rawCppBegin = pattern.Lazy(`^(?:u8|[uUL])?R"([^()\\\s]{0,16})\(`)

func (s *source) rawCpp(i int) int {
	if strings.IndexByte("RuUL", s.src[i]) < 0 || i > 0 && isLetter(s.src[i-1]) {
		if s.src[i] == '\'' && i > 0 && isLetter(s.src[i-1]) && i+1 < len(s.src) && isLetter(s.src[i+1]) {
			return i + 1 // a digit separator: 1'000
		}
		return i
	}
	if m := rawCppBegin().FindSubmatch(s.src[i:min(len(s.src), i+24)]); m != nil {
		return s.until(i+len(m[0]), ")"+string(m[1])+`"`)
	}
	return i
}

func isLetter(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c >= 0x80
}

// verbatim finds verbatim strings of C#, in which quotes are doubled.
func (s *source) verbatim(i int) int {
	n := 0
	for i+n < len(s.src) && (s.src[i+n] == '@' || s.src[i+n] == '$') {
		n++
	}
	if n == 0 || i+n >= len(s.src) || s.src[i+n] != '"' || bytes.IndexByte(s.src[i:i+n], '@') < 0 {
		return i
	}
	for j := i + n + 1; j < len(s.src); j++ {
		if s.src[j] != '"' {
			continue
		}
		if !s.begins(j, `""`) {
			return j + 1
		}
		j++
	}
	return len(s.src)
}

// luaText finds long strings and comments: [[ … ]], [==[ … ]==].
func (s *source) luaText(i int) int {
	at := i
	if s.begins(i, "--") {
		at = i + 2
	}
	if at >= len(s.src) || s.src[at] != '[' {
		return i
	}
	n := 1
	for at+n < len(s.src) && s.src[at+n] == '=' {
		n++
	}
	if !s.begins(at+n, "[") {
		return i
	}
	end := s.until(at+n+1, "]"+strings.Repeat("=", n-1)+"]")
	if at > i {
		return -end
	}
	return end
}

var phpHere = pattern.Lazy(`^<<<[ \t]*["']?([A-Za-z_]\w*)["']?\r?\n`)

// phpText skips text outside of PHP tags, and finds here-documents.
func (s *source) phpText(i int) int {
	switch {
	case i == 0 && !s.begins(0, "<?"):
		if n := bytes.Index(s.src, []byte("<?php")); n >= 0 {
			return -(n + 5)
		}
		return -len(s.src)
	case s.begins(i, "?>"):
		if n := bytes.Index(s.src[i:], []byte("<?php")); n >= 0 {
			return -(i + n + 5)
		}
		return -len(s.src)
	case s.begins(i, "<<<"):
		if m := phpHere().FindSubmatch(s.src[i:min(len(s.src), i+100)]); m != nil {
			return s.hereDocEnd(i+len(m[0])-1, string(m[1]), true)
		}
	}
	return i
}

// hereDocEnd returns the end of a text that ends with a line word, or word… if more is set.
func (s *source) hereDocEnd(i int, word string, more bool) int {
	for i = s.lineEnd(i); i < len(s.src); {
		end := s.lineEnd(i + 1)
		line := bytes.TrimSpace(s.src[i+1 : end])
		if string(line) == word {
			return end
		}
		if more && bytes.HasPrefix(line, []byte(word)) && (len(line) == len(word) || !isLetter(line[len(word)])) {
			return i + 1 + bytes.Index(s.src[i+1:end], []byte(word)) + len(word)
		}
		i = end
	}
	return len(s.src)
}

var (
	shellHere = pattern.Lazy(`^<<-?[ \t]*["'\\]?([A-Za-z_][\w.-]*)`)
	rubyHere  = pattern.Lazy("^<<[~-]?([\"'`]?)([A-Z_]\\w*)")
)

// shellText finds here-documents. It skips the rest of the line that begins one.
func (s *source) shellText(i int) int {
	if s.begins(i, "<<") && !s.begins(i, "<<<") && (i == 0 || s.src[i-1] != '<') {
		if m := shellHere().FindSubmatch(s.src[i:min(len(s.src), i+80)]); m != nil {
			return s.hereDocEnd(i, string(m[1]), false)
		}
	}
	if s.src[i] == '\\' {
		return min(i+2, len(s.src))
	}
	if s.begins(i, "$'") {
		return max(s.nestedText(i+2, '\'', 20), i+2)
	}
	if s.begins(i, "${") || s.begins(i, "$((") {
		return s.codeEnd(i+2, closing(string(s.src[i:i+2])), 0)
	}
	return i
}

// rubyText finds comments of several lines, here-documents, regular expressions and
// strings with other delimiters.
func (s *source) rubyText(i int) int {
	lineStart := i == 0 || s.src[i-1] == '\n'
	switch c := s.src[i]; {
	case lineStart && s.begins(i, "=begin"):
		return -s.hereDocEnd(i, "=end", true)
	case lineStart && s.begins(i, "__END__"):
		return -len(s.src)
	case s.begins(i, "<<"):
		m := rubyHere().FindSubmatch(s.src[i:min(len(s.src), i+80)])
		s.steps += (len(s.src) - i) / 16 // possible cost of the search for its end
		if m != nil && s.mayBegin(i+2) && bytes.Contains(s.src[i:], []byte(string(m[2])+"\n")) {
			return s.hereDocEnd(i, string(m[2]), false)
		}
	case c == '%' && !s.afterValue():
		return s.percent(i)
	case c == '/' && s.mayBegin(i+1):
		return s.rubyPattern(i)
	case c == '?' && !s.afterValue() && i+2 < len(s.src) && s.src[i+1] != ' ' && !isLetter(s.src[i+2]):
		return i + 2
	}
	return i
}

// rubyPattern returns the end of a regular expression, which may span lines.
func (s *source) rubyPattern(i int) int {
	if end := s.patternEnd(i); end > 0 {
		return end
	}
	if end := s.delimited(i, '/', '/'); !s.afterValue() && end < i+4000 {
		return end
	}
	return i
}

// percent returns the end of a string such as %w[a b].
func (s *source) percent(i int) int {
	at := i + 1
	if at < len(s.src) && strings.IndexByte("qQwWiIrsx", s.src[at]) >= 0 {
		at++
	}
	if at >= len(s.src) {
		return i
	}
	c := s.src[at]
	if end := strings.IndexByte("({[<", c); end >= 0 {
		return s.delimited(at, c, ")}]>"[end])
	}
	if strings.IndexByte("|!/", c) >= 0 || at > i+1 && c > ' ' && !isLetter(c) && c != '=' {
		return s.delimited(at, c, c)
	}
	return i
}

// mayBegin reports whether a Ruby mark that is also an operator begins a string here: in
// place of a value, or directly before a word, like an argument.
func (s *source) mayBegin(behind int) bool {
	if !s.afterValue() {
		return true
	}
	last := s.toks[len(s.toks)-1]
	spaced := last.at+len(last.text) < behind-1 && behind < len(s.src) && s.src[behind] != ' ' && s.src[behind] != '='
	return spaced && last.kind == aWord && isLetter(last.text[0]) && (last.text[0] < '0' || last.text[0] > '9')
}

// delimited returns the end of a string between delimiters.
func (s *source) delimited(i int, open, end byte) int {
	depth := 0
	for j := i; j < len(s.src) && s.step(); j++ {
		switch c := s.src[j]; {
		case c == '\\':
			j++
		case c == open && (depth == 0 || open != end):
			depth++
		case c == end:
			if depth--; depth == 0 {
				return j + 1
			}
		}
	}
	return len(s.src)
}

// beforeValue are words that precede a value.
var beforeValue = words(`return typeof case in of delete void throw new else do instanceof yield await default
	if unless while until when and or not then puts raise split match gsub sub scan`)

// afterValue reports whether the last token ends a value, so that an operator follows.
func (s *source) afterValue() bool {
	if len(s.toks) == 0 {
		return false
	}
	t := s.toks[len(s.toks)-1]
	switch t.kind {
	case aText:
		return true
	case aMark:
		return t.text == ")" || t.text == "]" || t.text == "}"
	}
	return !beforeValue[t.text]
}

// pattern finds regular expressions of JavaScript.
func (s *source) pattern(i int) int {
	if s.src[i] != '/' || s.begins(i, "//") || s.begins(i, "/*") || s.afterValue() {
		return i
	}
	if n := len(s.toks); n > 0 && s.toks[n-1].text == "<" {
		return i // the end tag of an element
	}
	return max(s.patternEnd(i), i)
}

// patternEnd returns the end of a regular expression, 0 if that is not on its line.
func (s *source) patternEnd(i int) int {
	class := false
	for j := i + 1; j < len(s.src) && s.src[j] != '\n'; j++ {
		switch s.src[j] {
		case '\\':
			j++
		case '[':
			class = true
		case ']':
			class = false
		case '/':
			if !class {
				return j + 1
			}
		}
	}
	return 0
}
