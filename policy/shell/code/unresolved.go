package code

import (
	"strings"

	"github.com/handrail-bot/handrail/policy/shell/code/lex"
	"github.com/handrail-bot/handrail/policy/shell/code/vocabulary"
)

// unresolved finds the names that the reader has made no call of: functions
// that no table has, or that are passed on in a way that is not followed.
type unresolved struct {
	cursor
	*recorder
}

// report looks at each name that says what it does. Such a deletion is one of
// something unknown, such an execution is opaque.
func (r *unresolved) report() {
	if r.lang == lex.Awk || r.lang == lex.Powershell {
		return
	}
	programs := map[string]bool{} // they are looked at themselves
	for _, c := range r.p.Calls {
		if c.Kind <= Shell && len(c.Args) > 0 {
			programs[c.Args[0].Text] = true
		}
	}
	for i, t := range r.toks {
		if r.done[i] || t.Kind != lex.Name && t.Kind != lex.Text {
			continue
		}
		r.pos = i
		switch {
		case t.Kind == lex.Text && (programs[t.Text] || r.onlyText(t.Text)), r.isName(-1, "def", "function", "sub", "fn", "fun", "func", "defun", "class"):
		case t.Kind == lex.Name && r.isOp(1, "=", ":=", "+=", ":", "=>"): // it is given a value
		case r.deletes(t):
			r.record(DeleteTree, t.Text, []value{{text: lex.Gap}}, t.Line)
		case r.executes(t):
			r.p.Opaque = true
		}
	}
}

// onlyText reports whether a text is no name of a function: it cannot be one,
// it names a module or a key, or it is only compared, listed or shown.
func (r *unresolved) onlyText(text string) bool {
	return r.inList() || r.isOp(-1, "(") && vocabulary.Shows(r.ahead(-2).Text) || r.ahead(-1).Kind == lex.Name && vocabulary.Shows(r.ahead(-1).Text) ||
		r.lang == lex.JS && r.isOp(1, ".") || len(text) > 40 || strings.ContainsAny(text, " /.-\n") || r.isName(1, "in", "not", "eq") || r.isName(-1, "eq", "ne", "from") || r.isName(-2, "require", "import") ||
		r.isOp(1, "=>", ":") || r.isOp(-1, "==", "!=", "===", "!==") || r.isOp(1, "==", "!=", "===", "!==")
}

// inList reports whether a token is one of a list in brackets.
func (r *unresolved) inList() bool {
	for i := 1; i < 64; i += 2 {
		if r.isOp(-i, "[") {
			return true
		}
		if !r.isOp(-i, ",") || r.ahead(-i-1).Kind != lex.Text {
			return false
		}
	}
	return false
}

func (r *unresolved) deletes(t lex.Token) bool {
	if t.Kind == lex.Text {
		one, _ := vocabulary.DeletesIts(t.Text)
		return one && r.lang == lex.Ruby && r.isOp(-1, "&") || vocabulary.Deletes(t.Text, "") // each(&:delete)
	}
	receiver, name := "", t.Text
	if at := strings.LastIndexAny(name, ".:"); at >= 0 {
		receiver, name = strings.TrimRight(name[strings.LastIndexAny(name[:at], ".:")+1:at], ":"), name[at+1:]
	} else if r.isOp(-1, ".", "::", "->", "?.") {
		receiver = r.ahead(-2).Text
	}
	return vocabulary.Deletes(name, receiver) || name == "rm" && r.isOp(1, "(")
}

func (r *unresolved) executes(t lex.Token) bool {
	yes, always := vocabulary.Executes(t.Text)
	if t.Kind == lex.Text {
		return always || yes && (r.lang == lex.PHP || r.lang == lex.Ruby) && r.isOp(-1, "(", ",", "&")
	}
	return yes && r.isOp(1, "(") && (always || !r.isOp(-1, ".", "->", "::"))
}

// listed reports the directory that a call lists, when it does not stand in
// the text as it is: what is in there may be what the text deletes.
func (r *recorder) listed(last string, f value, args []value) {
	if f.recv != nil {
		args = append([]value{*f.recv}, args...)
	}
	for _, a := range args {
		if a.full() && !a.plain && vocabulary.Lists(last) {
			r.literal(a.text)
		}
	}
}

// directory is the home or the working directory, if one goes by the name that
// stands first.
func directory(names []value) value {
	for _, n := range names[:min(1, len(names))] {
		if dir, ok := vocabulary.Directory(n.text); ok {
			return value{kind: valueText, text: dir, path: true}
		}
	}
	return value{text: lex.Gap}
}
