package outline

import "strings"

// Words of C and C++ that may precede a bracket without naming a function, and words that
// may follow the arguments of a function.
var (
	notFuncs = words(
		`if for while switch catch return sizeof alignof decltype noexcept typeof __attribute__ __declspec alignas defined static_assert _Static_assert
		int char void long short float double bool unsigned signed const auto requires explicit throw new delete else do asm __asm__ using typedef static inline constexpr extern virtual`,
	)
	afterArgs = words(`const noexcept override final volatile try requires throw __attribute__ mutable asm`)
)

// declaration reads definitions of C and C++.
func (f *file) declaration(i int) int {
	t := f.toks[i]
	if t.kind == aWord {
		if kind, ok := f.rules.define[t.text]; ok {
			return f.typeOfC(i, kind)
		}
		if t.text == "using" && f.isWord(i+1) && f.tok(i+2) == "=" {
			f.add("type", f.toks[i+1].text, f.toks[i+1].line)
			return 2
		}
		return 0
	}
	if t.kind != aMark {
		return 0
	}
	switch t.text {
	case "{", ";":
		f.function(i)
	case ":":
		switch f.tok(i - 1) {
		case "public", "private", "protected", "slots", "signals", "Q_SIGNALS", "Q_SLOTS":
			f.stmt = i + 1
		}
	}
	return 0
}

// typeOfC reads a type that has a body.
func (f *file) typeOfC(i int, kind string) int {
	if f.tok(i-1) == "enum" || f.tok(i-1) == "<" || f.tok(i-1) == "," && f.top().in != inRound || f.tok(i-1) == "using" {
		return 0
	}
	at := i + 1
	if kind == "enum" && (f.tok(at) == "class" || f.tok(at) == "struct") {
		at++
	}
	if kind == "concept" {
		if f.isWord(at) && f.tok(at+1) == "=" {
			f.add(kind, f.toks[at].text, f.toks[at].line)
		}
		return 0
	}
	open, name := f.bodyAt(at)
	in := map[string]int{"namespace": inSpace, "enum": inEnum}[kind]
	if in == inSpace && kind != "namespace" {
		in = inType
	}
	if open < 0 {
		return 0
	}
	typedef := f.stmt < len(f.toks) && f.toks[f.stmt].text == "typedef"
	text := ""
	if name >= 0 {
		text = f.toks[name].text
		if kind == "namespace" {
			text, _ = f.qualified(at, "::")
		}
		f.add(kind, text, f.toks[name].line)
	}
	f.expect(in, text)
	f.next.typedef = typedef
	return open - i
}

// bodyAt returns the indexes of a type's opening brace and of its name, -1 if missing.
func (f *file) bodyAt(at int) (open, name int) {
	open, name = -1, -1
	for k := at; k < len(f.toks) && k < at+200; k++ {
		t := f.toks[k]
		switch {
		case t.text == "{":
			return k, name
		case t.text == ":":
			for ; k < len(f.toks) && k < at+200; k++ {
				switch f.toks[k].text {
				case "{":
					return k, name
				case ";", ")":
					return -1, -1
				}
			}
			return -1, -1
		case t.text == "[" || t.text == "(":
			if t.text == "(" && name >= 0 && !macroLike(f.toks[name].text) {
				return -1, -1
			}
			k = max(k, f.ends(k)-1)
		case t.text == "<":
			if e := f.angles(k); e > k {
				k = e - 1
			}
		case t.text == "::":
		case f.isWord(k):
			if t.text != "final" {
				name = k
			}
		default:
			return -1, -1
		}
	}
	return -1, -1
}

// macroLike reports whether a name looks like that of a macro.
func macroLike(name string) bool {
	return name == strings.ToUpper(name) || strings.HasPrefix(name, "__")
}

// function reads the statement that ends, or gets a body, at i.
func (f *file) function(i int) {
	if f.top().in > inType || f.next.set && f.next.level == len(f.scopes) {
		return
	}
	from := f.stmt
	if f.tok(i) == "{" && f.tok(from) == "extern" && i == from+2 {
		f.expect(inSpace, "")
		return
	}
	if f.tok(i) == ";" && f.last.typedef && f.tok(from-1) == "}" {
		for k := from; k < i; k++ {
			if f.isWord(k) && f.tok(k+1) != "(" {
				f.add("type", f.toks[k].text, f.toks[k].line)
				break
			}
		}
		f.last = scope{}
		return
	}
	if f.tok(from) == "typedef" {
		f.typedef(from, i)
		return
	}
	name, at := f.functionName(from, i)
	if at >= 0 {
		f.add("func", name, f.toks[at].line)
		if f.tok(i) == "{" {
			f.expect(inCode, "")
		}
	}
}

// typedef reads the name of a simple typedef: its last word.
func (f *file) typedef(from, to int) {
	k := to - 1
	for k > from && f.tok(k) == "]" && f.pair[k] > 0 {
		k = f.pair[k] - 1
	}
	if f.isWord(k) && k > from+1 {
		f.add("type", f.toks[k].text, f.toks[k].line)
	}
}

// functionName returns the name and the index of the function in a statement; the index
// is -1 if there is none.
func (f *file) functionName(from, to int) (string, int) {
	found, text := -1, ""
	for k := from; k < to; k++ {
		switch t := f.toks[k]; t.text {
		case "template", "[", "{", "<":
			k = f.skipPart(k)
		case "=":
			if f.tok(k-1) != "operator" {
				return text, found
			}
		case ":", "->", "requires":
			if found >= 0 || t.text == ":" { // a bit field or a label
				return text, found
			}
		case "operator":
			return f.operator(k, to)
		case "(":
			n, pointer := f.calledAt(k, from)
			switch {
			case found >= 0 && (n < 0 || afterArgs[f.tok(k-1)]):
			case pointer:
				return "", -1
			case n < 0:
			case found >= 0 && !f.secondIsFunc(found, n):
				return text, found
			default:
				found, text = n, f.toks[n].text
				if f.tok(n-1) == "~" {
					text = "~" + text
				}
			}
			k = max(k, f.ends(k)-1)
		}
	}
	if found >= 0 && f.tok(found-1) == "return" {
		return "", -1
	}
	return text, found
}

// skipPart returns the last index of a part without a function's name: template arguments or
// brackets.
func (f *file) skipPart(k int) int {
	switch f.tok(k) {
	case "template":
		return max(k, f.angles(k+1)-1)
	case "<":
		return max(k, f.angles(k)-1)
	}
	return max(k, f.ends(k)-1)
}

// calledAt returns the index of the name before the bracket at k, -1 if there is none.
// pointer means that the bracket holds a pointer to a function.
func (f *file) calledAt(k, from int) (name int, pointer bool) {
	n := f.nameBefore(k, from-1)
	if n < 0 || notFuncs[f.toks[n].text] {
		return -1, f.tok(k+1) == "*"
	}
	return n, false
}

// secondIsFunc reports whether the second name with arguments is the function, and the first
// one a macro before it.
func (f *file) secondIsFunc(first, second int) bool {
	after := f.ends(f.argsAt(first))
	return after <= second && f.isWord(after) && !afterArgs[f.tok(after)] &&
		(after < second || !macroLike(f.toks[second].text)) ||
		after < second &&
			(f.tok(after) == "*" || f.tok(after) == "&" || f.tok(after) == "::" || f.tok(after) == "~" || f.tok(after) == "[")
}

// operator reads the name of an operator.
func (f *file) operator(k, to int) (string, int) {
	name := "operator"
	for n := k + 1; n < to; n++ {
		if f.toks[n].text == "(" && (n > k+1 || f.tok(n+1) != ")") {
			if f.isWord(n-1) && n-1 > k {
				return "", -1 // a conversion operator
			}
			return name, k
		}
		name += f.toks[n].text
	}
	return "", -1
}
