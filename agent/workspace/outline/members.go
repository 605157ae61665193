package outline

import "strings"

// notNames are words of Java and C# that may precede a bracket without naming a method.
var notNames = words(
	`if for while switch catch synchronized return throw new else do try using lock fixed foreach await yield when super this assert
	public private protected internal static final abstract sealed virtual override async readonly extern unsafe
	default native in out ref params typeof nameof sizeof checked unchecked
	operator is as case instanceof`,
)

func words(list string) map[string]bool {
	out := map[string]bool{}
	for _, w := range strings.Fields(list) {
		out[w] = true
	}
	return out
}

// member reads the types of Java and C# by keyword, and their methods by shape.
func (f *file) member(i int) int {
	t := f.toks[i]
	if t.kind == aWord {
		if kind, ok := f.rules.define[t.text]; ok {
			return f.typeName(i, kind)
		}
		if t.text == "delegate" && f.lang == "csharp" {
			f.delegate(i)
		}
		return 0
	}
	if t.kind != aMark {
		return 0
	}
	switch t.text {
	case "{", ";", "=>":
		f.method(i)
	}
	return 0
}

// typeName reads the name after the keyword of a type.
func (f *file) typeName(i int, kind string) int {
	at := i + 1
	if before := f.tok(i - 1); before == "." || before == "::" || before == ":" || before == "," {
		return 0 // not a definition: X.class, where T : class
	}
	if kind == "record" {
		if f.tok(at) == "class" || f.tok(at) == "struct" {
			at++
		}
		if !f.isRecord(at) {
			return 0
		}
	}
	name, n := f.qualified(at, ".")
	if n == 0 || kind != "namespace" && n > 1 || f.toks[at].text == "struct" {
		return 0
	}
	f.add(kind, name, f.toks[at].line)
	in := inType
	switch kind {
	case "namespace":
		in = inSpace
	case "enum":
		in = inEnum
	}
	f.expect(in, name)
	return at + n - i
}

// isRecord reports whether the name of a record is at an index. Elsewhere "record" is an
// identifier.
func (f *file) isRecord(at int) bool {
	switch f.tok(at + 1) {
	case "(":
		after := f.tok(f.ends(at + 1))
		return f.top().in != inCode || after == "{" || after == "implements"
	case "<", "{", ":", ";":
		return true
	}
	return false
}

// delegate reads the name of a delegate: the word before its arguments.
func (f *file) delegate(i int) {
	if f.top().in > inType {
		return
	}
	for k := i + 1; k < len(f.toks) && k < i+60; k++ {
		switch f.toks[k].text {
		case "<":
			if e := f.angles(k); e > k {
				k = e - 1
			}
		case "(":
			if n := f.nameBefore(k, i); n > i+1 {
				f.add("delegate", f.toks[n].text, f.toks[n].line)
				return
			}
			k = max(k, f.ends(k)-1)
		case "{", ";", "=":
			return
		}
	}
}

// method reads the statement that ends, or gets a body, at i.
func (f *file) method(i int) {
	top := f.top()
	if f.next.set && f.next.level == len(f.scopes) || top.in == inEnum || top.in == inRound || top.in == inObject {
		return
	}
	local := top.in == inCode || top.in == inSpace
	if local && (f.lang != "csharp" || f.toks[i].text == ";") {
		return
	}
	at := f.methodName(f.stmt, i)
	if at < 0 || local && !f.localFunc(at, i) {
		return
	}
	name := f.toks[at].text
	if top.in == inType && top.name == name || at > f.stmt {
		f.add("method", name, f.toks[at].line)
		if f.toks[i].text == "=>" {
			f.stmt = i + 1
		}
		if f.toks[i].text == "{" {
			f.expect(inCode, "")
		}
	}
}

// localFunc reports whether a statement outside of a type declares a function: its name
// follows a type, and nothing else.
func (f *file) localFunc(at, i int) bool {
	if at == f.stmt || f.toks[i].text == "=>" && f.tok(i-1) != ")" && f.tok(i-1) != "}" && f.tok(i-2) != ":" {
		return false
	}
	for k := f.stmt; k < at; k++ {
		if t := f.toks[k].text; notNames[t] && t != "static" && t != "async" && t != "unsafe" && t != "ref" ||
			strings.Contains("=+-!&|", t) {
			return false
		}
	}
	return f.tok(f.ends(f.argsAt(at))) == f.toks[i].text || f.tok(f.ends(f.argsAt(at))) == "where"
}

// argsAt returns the index of the bracket after a name and its type arguments.
func (s *source) argsAt(name int) int { return s.angles(name + 1) }

// methodName returns the index of the method's name in a statement, -1 if there is none.
func (f *file) methodName(from, to int) int {
	if from >= to || f.toks[from].kind != aWord && !strings.Contains("@[<(", f.toks[from].text) {
		return -1
	}
	for k := from; k < to; k++ {
		switch f.toks[k].text {
		case "@":
			_, n := f.qualified(k+1, ".")
			k += n
			if f.tok(k+1) == "(" {
				k = max(k, f.ends(k+1)-1)
			}
		case "[", "{":
			if e := f.ends(k); e > k {
				k = e - 1
			}
		case "<":
			if e := f.angles(k); e > k {
				k = e - 1
			}
		case "=", "=>", "operator":
			return -1
		case "(":
			if n := f.nameBefore(k, from-1); n >= from && !notNames[f.toks[n].text] {
				if f.tok(n-1) == "new" || f.tok(n-1) == "return" || f.tok(n-1) == "throw" {
					return -1
				}
				return n
			}
			k = max(k, f.ends(k)-1)
		}
	}
	return -1
}

// nameBefore returns the index of the word before a bracket, skipping <…>, -1 if there is
// none.
func (s *source) nameBefore(k, after int) int {
	n := k - 1
	if s.tok(n) == ">" {
		depth := 0
		for ; n > after && k-n < 400; n-- {
			switch s.toks[n].text {
			case ">":
				depth++
			case "<":
				depth--
			}
			if depth == 0 {
				break
			}
		}
		n--
	}
	if n > after && s.isWord(n) {
		return n
	}
	return -1
}
