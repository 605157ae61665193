package outline

// notMembers are words of JavaScript that may precede a bracket, and are no members.
var notMembers = words(
	`if for while switch catch with function return super await typeof new else do void delete yield in of case throw instanceof import`,
)

// modifiers may precede the name of a member.
var modifiers = words(
	`get set static async public private protected readonly abstract override declare accessor export default *`,
)

// Tokens that may precede or follow a member, and tokens that precede a name in a type.
var (
	beforeMember = words(
		`get set static async public private protected readonly abstract override declare accessor export default * { , } ;`,
	)
	afterMember = words(`{ : ; , }`)
	inTypeOnly  = words(`= : | & => extends`)
)

// script reads definitions of JavaScript and TypeScript.
func (f *file) script(i int) int {
	t := f.toks[i]
	if t.kind == aMark && t.text == "[" {
		return f.computed(i)
	}
	if t.kind != aWord || f.tok(i-1) == "." && f.tok(i+1) != "=" || f.tok(i-1) == "?." {
		return 0
	}
	switch t.text {
	case "function":
		return f.functionOfScript(i)
	case "class":
		if n := f.classOfScript(i); n > 0 {
			return n
		}
	case "interface", "type", "enum", "namespace", "module":
		if n := f.typeOfScript(i); n > 0 {
			return n
		}
	}
	if !f.isWord(i) || notMembers[t.text] && f.top().in != inType {
		return 0
	}
	return f.named(i)
}

func (f *file) functionOfScript(i int) int {
	at := i + 1
	if f.tok(at) == "*" {
		at++
	}
	f.expect(inCode, "")
	if !f.isWord(at) {
		return 1
	}
	f.add("func", f.toks[at].text, f.toks[at].line)
	return at + 1 - i
}

func (f *file) classOfScript(i int) int {
	switch f.tok(i + 1) {
	case ":", "=", ",":
		return 0 // class is a name here
	}
	f.expect(inType, "")
	if !f.isWord(i+1) || f.tok(i+1) == "extends" || f.tok(i+1) == "implements" {
		return 1
	}
	f.add("class", f.toks[i+1].text, f.toks[i+1].line)
	return 2
}

// beforeType are the tokens that may precede a TypeScript type on its line.
var beforeType = words(`export declare const default ; } {`)

// typeOfScript reads a type of TypeScript.
func (f *file) typeOfScript(i int) int {
	t := f.toks[i]
	if f.lang == "javascript" || !t.first && !beforeType[f.tok(i-1)] {
		return 0
	}
	if i+1 < len(f.toks) && t.text == "module" && f.toks[i+1].kind == aText {
		f.expect(inCode, "")
		return 1
	}
	name, n := f.qualified(i+1, ".")
	if n == 0 || f.toks[i+1].line != t.line {
		return 0
	}
	after := f.angles(i + 1 + n)
	switch t.text {
	case "type":
		if f.tok(after) != "=" {
			return 0
		}
		f.expect(inType, name)
	case "interface":
		if f.tok(after) != "{" && f.tok(after) != "extends" {
			return 0
		}
		f.expect(inType, name)
	case "enum":
		f.expect(inEnum, name)
	default:
		if f.tok(after) != "{" {
			return 0
		}
		f.expect(inCode, name)
	}
	f.add(t.text, name, f.toks[i+1].line)
	if t.text == "type" {
		return after - i
	}
	return n + 1
}

// named reads members, and names that functions are assigned to.
func (f *file) named(i int) int {
	top := f.top()
	next := i + 1
	if mark := f.tok(next); (mark == "?" || mark == "!") && f.toks[next].at == f.toks[i].at+len(f.toks[i].text) {
		next++
	}
	switch f.tok(next) {
	case "(", "<":
		args := f.angles(next)
		if f.tok(args) == "(" && f.isMember(i, f.ends(args), top) {
			f.add("method", f.toks[i].text, f.toks[i].line)
			f.expect(inCode, "")
			return 1
		}
	case "=":
		if top.in == inEnum || f.isTyped(i) || !f.isFunc(next+1) {
			return 0
		}
		f.add("func", f.toks[i].text, f.toks[i].line)
	case ":":
		if top.in == inObject && (f.tok(i-1) == "{" || f.tok(i-1) == ",") && f.isFunc(next+1) {
			f.add("func", f.toks[i].text, f.toks[i].line)
		} else if f.isValue(i, next, top) {
			f.add("func", f.toks[i].text, f.toks[i].line)
		}
	}
	return 0
}

// isTyped reports whether a name is a type after a colon: const a: React.FC = …
func (f *file) isTyped(i int) bool {
	for f.tok(i-1) == "." {
		i -= 2
	}
	return f.tok(i-1) == ":"
}

// isValue reports whether a function is assigned to a typed name: const a: T = () => 1.
func (f *file) isValue(i, colon int, top scope) bool {
	switch before := f.tok(i - 1); {
	case before == "const" || before == "let" || before == "var":
	case top.in == inType && (f.toks[i].first || modifiers[before]):
	default:
		return false
	}
	for k := colon + 1; k < len(f.toks) && k < colon+200; k++ {
		switch f.toks[k].text {
		case "(", "[", "{":
			k = max(k, f.ends(k)-1)
		case "=":
			return f.isFunc(k + 1)
		case ";", "const", "let", "var", "function", "return", "}", ")":
			return false
		}
		if top.in == inType && k > colon+1 && f.toks[k].first && f.tok(k-1) != "|" && f.toks[k].text != "|" &&
			f.tok(k-1) != "=>" {
			return false
		}
	}
	return false
}

// isMember reports whether a name is a method of a class, an interface or an object. Its
// arguments end at after.
func (f *file) isMember(i, after int, top scope) bool {
	before := f.tok(i - 1)
	if !f.toks[i].first && !beforeMember[before] {
		return false
	}
	next := f.tok(after)
	switch top.in {
	case inType:
		return !inTypeOnly[before] && (afterMember[next] || f.lineOf(after) > f.toks[i].line)
	case inObject:
		return next == "{" || next == ":" && f.lang != "javascript"
	}
	return false
}

// computed reads a member with a computed name: [Symbol.iterator]() {
func (f *file) computed(i int) int {
	end := f.ends(i)
	if end == i || end > i+12 || f.top().in != inType && f.top().in != inObject {
		return 0
	}
	if f.tok(end) == "(" && f.isMember(i, f.ends(end), f.top()) {
		name := ""
		for k := i; k < end; k++ {
			name += f.toks[k].text
		}
		f.add("method", name, f.toks[i].line)
		f.expect(inCode, "")
		return end - i
	}
	return 0
}

// isFunc reports whether a function begins at i.
func (f *file) isFunc(i int) bool {
	if f.tok(i) == "async" && f.lineOf(i+1) == f.lineOf(i) && f.tok(i+1) != "=>" {
		i++
	}
	if f.tok(i) == "function" {
		return true
	}
	if f.isWord(i) {
		return f.tok(i+1) == "=>"
	}
	i = f.angles(i)
	end := f.ends(i)
	if f.tok(i) != "(" || end == i {
		return false
	}
	if f.tok(end) == ":" { // its result type
		for k := end + 1; k < len(f.toks) && k < end+80; k++ {
			switch f.toks[k].text {
			case "(", "[", "{":
				k = max(k, f.ends(k)-1)
			case "=>":
				return true
			case ";", "=", ")", "}", ",":
				if f.toks[k].text != "," {
					return false
				}
			}
		}
		return false
	}
	return f.tok(end) == "=>"
}

// guessScript is guess for JavaScript and TypeScript.
func (f *file) guessScript(i int) int {
	switch f.tok(i - 1) {
	case ")", "=>", ";", "{", "}", "static", "else", "do", "try", "finally", "":
		return inCode
	case "|", "&", "<", "as", "is", "keyof", "satisfies":
		return inType
	case ":":
		if f.top().in == inObject {
			return inObject
		}
		for k := i - 2; k > i-12 && f.tok(k) != ";" && f.tok(k) != "{"; k-- {
			if t := f.tok(k); t == "case" || t == "default" {
				return inCode
			}
		}
		return inType
	case "=":
		if f.next.set && f.next.in == inType {
			return inType
		}
	}
	if top := f.top().in; top == inType && f.tok(i-1) != "=" && f.tok(i-1) != "return" && f.tok(i-1) != "(" {
		return inType
	}
	return inObject
}
