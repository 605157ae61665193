package outline

import (
	"strings"

	"github.com/handrail-bot/handrail/policy/pattern"
)

// The kinds of scopes.
const (
	inSpace  = iota // a file or a namespace
	inType          // the members of a type
	inEnum          // the values of an enum
	inCode          // statements
	inObject        // an object literal
	inRound         // ( or [
)

// maxDepth is the maximum number of open brackets. Parsing stops there.
const maxDepth = 1000

// scope is an open pair of brackets.
type scope struct {
	in      int
	set     bool   // known before its bracket
	level   int    // number of open scopes when it became known
	name    string // name of the type
	typedef bool
	fresh   bool // follows "new"
}

// parse reads the tokens and tracks the open scopes.
func (f *file) parse() {
	f.scopes = []scope{{in: inSpace}}
	for i := 0; i < len(f.toks) && len(f.scopes) < maxDepth; {
		t := f.toks[i]
		if t.kind == aHash {
			f.preprocess(t)
			if i++; f.stmt == i-1 {
				f.stmt = i
			}
			continue
		}
		if n := f.rules.parse(f, i); n > 0 {
			i += n
			continue
		}
		if t.kind == aMark {
			f.bracket(i)
		}
		i++
	}
}

func (f *file) top() scope { return f.scopes[len(f.scopes)-1] }

// expect sets the scope that the next brace opens.
func (f *file) expect(in int, name string) {
	f.next = scope{in: in, set: true, level: len(f.scopes), name: name}
}

// bracket updates the scopes.
func (f *file) bracket(i int) {
	switch f.toks[i].text {
	case "(", "[":
		f.scopes = append(f.scopes, scope{in: inRound, fresh: f.isNew(i)})
	case "{":
		s := scope{in: f.guess(i)}
		if f.next.set && f.next.level == len(f.scopes) {
			s = f.next
		}
		f.next = scope{}
		f.scopes = append(f.scopes, s)
		f.stmt = i + 1
	case ")", "]", "}":
		if len(f.scopes) > 1 {
			f.last = f.top()
			f.scopes = f.scopes[:len(f.scopes)-1]
		}
		if f.toks[i].text == "}" {
			f.stmt = i + 1
		}
	case ";":
		if f.next.level == len(f.scopes) {
			f.next = scope{}
		}
		f.stmt = i + 1
		if f.top().in == inEnum {
			f.scopes[len(f.scopes)-1].in = inType
		}
	}
}

// guess returns the kind of scope for a brace that was not expected.
func (f *file) guess(i int) int {
	if f.rules.parse != nil && (f.lang == "javascript" || f.lang == "typescript" || f.lang == "tsx") {
		return f.guessScript(i)
	}
	before := f.tok(i - 1)
	switch {
	case before == ")" && f.last.fresh, f.top().in == inEnum:
		return inType
	}
	return inCode
}

// isNew reports whether a bracket follows "new Type", so that a body may come next.
func (f *file) isNew(i int) bool {
	for k := i - 1; k >= 0 && k > i-30; k-- {
		t := f.toks[k]
		switch {
		case t.text == "new":
			return true
		case t.kind == aWord, strings.Contains(".<>,?@&", t.text):
		default:
			return false
		}
	}
	return false
}

// preprocess reads a preprocessor directive. Each branch of an #if begins with the scopes
// that were open at the #if.
func (f *file) preprocess(t token) {
	word := strings.TrimSpace(strings.TrimPrefix(t.text, "#"))
	switch {
	case strings.HasPrefix(word, "if") && len(f.saved) < maxDepth/10:
		f.saved = append(f.saved, append([]scope(nil), f.scopes...))
	case strings.HasPrefix(word, "el"):
		if n := len(f.saved); n > 0 {
			f.scopes = append([]scope(nil), f.saved[n-1]...)
		}
	case strings.HasPrefix(word, "endif"):
		if n := len(f.saved); n > 0 {
			f.saved = f.saved[:n-1]
		}
	case strings.HasPrefix(word, "define"):
		if f.lang == "csharp" {
			return
		}
		if m := macroName().FindStringSubmatch(word); m != nil {
			f.add("macro", m[1], t.line)
		}
	}
}

var macroName = pattern.Lazy(`^define[ \t]+([A-Za-z_]\w*)\(`)

// tok returns the text of a token, "" if there is none.
func (s *source) tok(i int) string {
	if i < 0 || i >= len(s.toks) {
		return ""
	}
	return s.toks[i].text
}

func (s *source) isWord(i int) bool {
	return i >= 0 && i < len(s.toks) && s.toks[i].kind == aWord && (s.toks[i].text[0] < '0' || s.toks[i].text[0] > '9')
}

// angles returns the index after the <…> at i, i if there is none.
func (s *source) angles(i int) int {
	if s.tok(i) != "<" {
		return i
	}
	depth := 0
	for k := i; k < len(s.toks) && k < i+400; k++ {
		switch s.toks[k].text {
		case "<":
			depth++
		case ">":
			if depth--; depth == 0 {
				return k + 1
			}
		case "(", "[", "{":
			if s.pair[k] > k {
				k = s.pair[k]
			}
		case ";", ")", "}":
			return i
		}
	}
	return i
}

// ends returns the index after the brackets at i, i if there are none.
func (s *source) ends(i int) int {
	if i >= 0 && i < len(s.toks) && s.pair[i] > i {
		return s.pair[i] + 1
	}
	return i
}

// qualified reads a name with separators, such as a.b.C, and returns the number of its
// tokens.
func (s *source) qualified(i int, marks ...string) (string, int) {
	if !s.isWord(i) {
		return "", 0
	}
	name, n := s.toks[i].text, 1
	for {
		mark := s.tok(i + n)
		known := false
		for _, m := range marks {
			known = known || mark == m
		}
		if !known || !s.isWord(i+n+1) {
			return name, n
		}
		name += mark + s.toks[i+n+1].text
		n += 2
	}
}

// keyword reads definitions of languages with a keyword for each kind.
func (f *file) keyword(i int) int {
	t := f.toks[i]
	kind, ok := f.rules.define[t.text]
	if !ok || t.kind != aWord {
		return f.assignedFunc(i)
	}
	if f.lang != "python" {
		switch f.tok(i - 1) {
		case ".", "?.", "::", "->", "&", "\\", "use", "import":
			return 0
		}
	}
	name, at, n := f.rules.name(f, i)
	if n == 0 || name == "" {
		return 0
	}
	f.add(kind, strings.Trim(name, "`"), f.toks[at].line)
	return at + n - i
}

func plainName(f *file, i int) (name string, at, n int) {
	name, n = f.qualified(i + 1)
	return name, i + 1, n
}

func pythonName(f *file, i int) (name string, at, n int) {
	if before := f.tok(i - 1); !f.toks[i].first && before != "async" && before != ":" && before != ";" {
		return "", i, 0
	}
	return plainName(f, i)
}

func phpName(f *file, i int) (name string, at, n int) {
	at = i + 1
	if f.tok(at) == "&" {
		at++
	}
	name, n = f.qualified(at, "\\")
	return name, at, n
}

func luaName(f *file, i int) (name string, at, n int) {
	name, n = f.qualified(i+1, ".", ":")
	return name, i + 1, n
}

func rustName(f *file, i int) (name string, at, n int) {
	at = i + 1
	if f.toks[i].text == "macro_rules" {
		at++
	}
	name, n = f.qualified(at)
	if after := f.tok(at + n); f.toks[i].text == "union" && after != "{" && after != "<" ||
		f.toks[i].text == "type" && f.tok(i-1) == "=" {
		return "", at, 0
	}
	return name, at, n
}

// assignedFunc reads Lua functions that are assigned to a name.
func (f *file) assignedFunc(i int) int {
	if f.lang != "lua" || !f.isWord(i) || f.tok(i-1) == "." || f.tok(i-1) == ":" {
		return 0
	}
	name, n := f.qualified(i, ".", ":")
	if f.tok(i+n) == "=" && f.tok(i+n+1) == "function" {
		f.add("func", name, f.toks[i].line)
		return n
	}
	return n
}

// rubyDef matches the name after "def" or "alias".
var rubyDef = pattern.Lazy(
	`^[ \t]+:?(?:(?:self|[A-Za-z_]\w*)(?:\.|::))?([A-Za-z_\x80-\xff][\w\x80-\xff]*(?:[?!]|=(?:[ \t]*\(|[ \t]+[a-z]\w*[ \t]*$))?|\[\]=?|\*\*|<=>|===?|=~|!~|![=]?|<<|>>|<=|>=|[+\-~]@?|[*/%<>&|^` + "`" + `])`,
)

func rubyName(f *file, i int) (name string, at, n int) {
	t := f.toks[i]
	at = i + 1
	if t.text == "class" || t.text == "module" {
		if before := f.tok(i - 1); !t.first && before != ";" && before != "=" && before != "do" {
			return "", at, 0
		}
		n = 1
		for f.tok(at+n) == "::" && f.isWord(at+n+1) {
			n += 2
		}
		if !f.isWord(at) || f.toks[at].line != t.line {
			return "", at, 0
		}
		for k := at; k < at+n; k++ {
			name += f.toks[k].text
		}
		return name, at, n
	}
	end := t.at + len(t.text)
	if t.text == "alias" && !t.first {
		return "", at, 0
	}
	m := rubyDef().FindSubmatch(f.src[end:f.lineEnd(end)])
	if m == nil || at >= len(f.toks) {
		return "", at, 0
	}
	name = strings.TrimSpace(string(m[1]))
	if k := strings.IndexByte(name, '='); k > 0 && isLetter(name[0]) {
		name = name[:k] + "="
	}
	n = 1
	for at+n < len(f.toks) && f.toks[at+n].at < end+len(m[0]) {
		n++
	}
	return name, at, n
}

// kotlinName reads the name after a keyword; a function's may follow a receiver.
func kotlinName(f *file, i int) (name string, at, n int) {
	at = i + 1
	if f.toks[i].text != "fun" {
		if f.tok(i-1) == ":" && f.toks[i].text == "object" {
			return "", at, 0
		}
		name, n = f.qualified(at)
		if f.toks[i].text == "object" && n > 0 && f.toks[at].line != f.toks[i].line {
			return "", at, 0
		}
		return name, at, n
	}
	k := f.angles(at)
	for last := -1; k < len(f.toks) && k < i+80; k++ {
		switch {
		case f.isWord(k):
			last = k
		case f.toks[k].text == "<":
			if e := f.angles(k); e > k {
				k = e - 1
			}
		case f.toks[k].text == "(" && last < 0:
			k = max(k, f.ends(k)-1)
		case f.toks[k].text == "(" && last >= 0 && f.toks[last].text != "interface":
			return f.toks[last].text, last, 1
		case strings.Contains(".?", f.toks[k].text), f.toks[k].text == "?.":
		default:
			return "", at, 0
		}
	}
	return "", at, 0
}

func swiftName(f *file, i int) (name string, at, n int) {
	at = i + 1
	t := f.toks[i]
	if t.text == "func" {
		if f.isWord(at) {
			return f.toks[at].text, at, 1
		}
		for n = 0; f.tok(at+n) != "(" && f.tok(at+n) != "<" && n < 4 || n == 0; n++ { // an operator
			if at+n >= len(f.toks) {
				return "", at, 0
			}
			name += f.toks[at+n].text
		}
		return name, at, n
	}
	if f.tok(i-1) == ":" || f.tok(i-1) == "," || t.text == "actor" && f.tok(at) == ":" {
		return "", at, 0 // an argument label or a constraint
	}
	switch f.tok(at) {
	case "func", "var", "let", "subscript", "init", "override", "final", "static", "private", "public", "internal":
		return "", at, 0
	}
	if t.line != f.lineOf(at) {
		return "", at, 0
	}
	name, n = f.qualified(at, ".")
	return name, at, n
}

func (s *source) lineOf(i int) int {
	if i < 0 || i >= len(s.toks) {
		return 0
	}
	return s.toks[i].line
}

func scalaName(f *file, i int) (name string, at, n int) {
	at = i + 1
	t := f.toks[i]
	if f.tok(i-1) == "case" && t.text == "type" || f.tok(i-1) == "#" || t.text == "type" && f.tok(i-1) == ":" {
		return "", at, 0
	}
	if f.isWord(at) {
		name = f.toks[at].text
		if next := f.tok(at + 1); strings.HasSuffix(name, "_") && t.text == "def" && next != "(" && next != "[" &&
			next != ":" &&
			next != "=" { // unary_-
			return name + next, at, 2
		}
		return name, at, 1
	}
	if t.text != "def" {
		return "", at, 0
	}
	name, n = sign(f.toks, at)
	return name, at, n
}

// sign reads the name of an operator, which consists of marks.
func sign(toks []token, at int) (name string, n int) {
	for at+n < len(toks) && n < 6 {
		next := toks[at+n]
		glued := n == 0 || next.at == toks[at+n-1].at+len(toks[at+n-1].text)
		if next.kind != aMark || !glued || n > 0 && strings.Contains("([{:", next.text) {
			break
		}
		name += next.text
		n++
	}
	return name, n
}

// shellFunc reads name() and function name.
func (f *file) shellFunc(i int) int {
	t := f.toks[i]
	if t.kind != aWord {
		return 0
	}
	if t.text == "function" && f.isWord(i+1) && f.toks[i+1].line == t.line &&
		(t.first || strings.Contains(";&|{(", f.tok(i-1))) {
		f.add("func", f.toks[i+1].text, t.line)
		return 2
	}
	if (t.first || f.tok(i-1) == ";" || f.tok(i-1) == "{" || f.tok(i-1) == "&&" || f.tok(i-1) == "||" || f.tok(i-1) == "then" || f.tok(i-1) == "else") &&
		f.tok(i+1) == "(" &&
		f.tok(i+2) == ")" &&
		f.lineOf(i+2) == t.line {
		f.add("func", t.text, t.line)
		return 3
	}
	return 0
}
