package mend

// maxArguments is the maximum number of arguments of a call.
const maxArguments = 200

// Arguments reads call arguments in Python syntax from after the opening parenthesis.
// Positional arguments have an empty Key; if the first one is an object, its members take
// its place.
func Arguments(s string, i int) ([]Field, Value) {
	r := &reader{s: s, i: i, stack: []byte{'('}}
	args, ok := r.arguments()
	v := r.result(true)
	v.OK = ok
	return args, v
}

func (r *reader) arguments() ([]Field, bool) {
	var args []Field
	for len(args) <= maxArguments {
		r.space()
		if r.atEnd() {
			return args, true
		}
		if c := r.peek(); c == ')' {
			r.i++
			return args, true
		} else if c == ',' {
			r.i++
			continue
		}
		if r.has("**{") {
			r.i += 2
		}
		key := r.keyword()
		if r.atEnd() { // the text ended inside the name
			return args, true
		}
		r.out = nil
		if !r.value() || len(r.out) == 0 {
			return args, r.End
		}
		if list, isObject := Fields(r.out); isObject && key == "" && len(args) == 0 {
			args = append(args, list...)
		} else {
			args = append(args, Field{Key: key, Value: r.out})
		}
	}
	return args, false
}

// keyword skips "name =" and returns the name, or "" if there is none.
func (r *reader) keyword() string {
	n := r.nameLength(r.i)
	k := skipBlank(r.s, r.i+n)
	key := r.s[r.i : r.i+n]
	switch {
	case n == 0:
	case k == len(r.s):
		r.i = k
	case colonAt(r.s, k) == 1 && (k+1 == len(r.s) || r.s[k+1] != '='):
		r.i = k + 1
		return key
	}
	return ""
}
