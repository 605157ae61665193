package code

import (
	"slices"
	"strconv"
	"strings"

	"github.com/handrail-bot/handrail/policy/shell/code/decode"
	"github.com/handrail-bot/handrail/policy/shell/code/lex"
	"github.com/handrail-bot/handrail/policy/shell/code/vocabulary"
)

// fold is the value of a call of a function that only computes, or that finds
// a function by its name.
func (r *recorder) fold(how string, f value, args []value) value {
	line := r.line
	method := f.recv != nil && (f.recv.kind == valueText || f.recv.kind == valueList)
	all := args
	if method {
		all = append([]value{*f.recv}, args...)
	}
	switch how {
	case "module":
		if len(args) > 0 && args[0].full() {
			return value{kind: valueName, name: module(args[0].text)}
		}
		return value{kind: valueComputed}
	case "attr":
		return r.attribute(args)
	case "global":
		if len(args) == 0 {
			return value{kind: valueName, name: "builtins"}
		}
		return args[0]
	case "opaque":
		return r.record(Exec, f.name, []value{{text: lex.Gap}}, line)
	case "send":
		return r.send(f, args, line)
	case "callback":
		return r.callback(args, line)
	}
	if kind, ok := map[string]valueKind{"computed": valueComputed, "pattern": valuePattern}[how]; ok {
		return value{kind: kind}
	}
	for _, v := range flatten(all) {
		r.joined += len(v.text) + 1
	}
	if len(all) == 0 || r.joined > maxText {
		return value{text: lex.Gap}
	}
	out := compute(how, all, method)
	out.path = vocabulary.MakesPath(f.name)
	if out.full() {
		r.literal(out.text)
	}
	for i := range args {
		if how != "same" {
			r.escape(args[i])
		}
	}
	return out
}

// attribute is the member of an object whose name is given as text.
func (r *recorder) attribute(args []value) value {
	if len(args) < 2 || !args[1].full() {
		return value{kind: valueComputed}
	}
	v := memberOf(args[0], args[1].text)
	v.any = true
	return v
}

// send calls the function whose name is the first argument.
func (r *recorder) send(f value, args []value, line int) value {
	if len(args) == 0 {
		return value{text: lex.Gap}
	}
	target := value{kind: valueComputed}
	switch {
	case args[0].kind == valueFunction:
		return value{text: lex.Gap}
	case args[0].kind == valueName && r.lang != lex.Ruby && r.lang != lex.PHP:
		target = args[0]
	case args[0].full() && f.recv != nil:
		target = memberOf(*f.recv, args[0].text)
		target.any = true
	case args[0].full():
		target = value{kind: valueName, name: args[0].text}
	}
	if f.name == "method" || strings.HasSuffix(f.name, ".method") || strings.HasSuffix(f.name, "const_get") {
		target.any = true
		return target
	}
	return r.call(target, args[1:], line)
}

// callback looks for the name of a function that executes among texts.
func (r *recorder) callback(args []value, line int) value {
	for _, a := range args {
		if e, ok := r.lookup(value{kind: valueName, name: a.text}); a.kind == valueText && ok && e.executes() {
			r.record(e.kind, a.text, []value{{text: lex.Gap}}, line)
		} else if a.kind == valueOther && len(args) > 1 && a.key == "" {
			continue
		}
		r.escape(a)
	}
	return value{text: lex.Gap}
}

// full reports whether all of a text is known. What was decoded is, but it is
// no plain literal: it was hidden.
func (v value) full() bool { return v.kind == valueText && !strings.Contains(v.text, lex.Gap) }

// compute is the result of a function on literals.
func compute(how string, all []value, method bool) value {
	v := all[0]
	for _, a := range all[1:] {
		if coded := strings.NewReplacer("_", "", "-", "").Replace(a.text); a.kind == valueText && how == "same" && slices.Contains([]string{"base64", "hex", "rot13"}, coded) {
			how = coded
		}
	}
	gap := value{text: lex.Gap}
	switch how {
	case "same":
		return v
	case "join":
		return join(all, method)
	case "path":
		return joined(flatten(all), "/")
	case "concat":
		return joined(flatten(all), "")
	case "list":
		return value{kind: valueList, list: all}
	case "chr":
		return characters(flatten(all))
	case "split":
		return split(all)
	}
	if !v.full() {
		return gap
	}
	text, ok := decode.Text(how, v.text)
	if !ok {
		return gap
	}
	return value{kind: valueText, text: text}
}

// join joins a list with a text between its elements, in either order.
func join(all []value, method bool) value {
	sep := value{kind: valueText, plain: true}
	list := all
	switch {
	case all[0].kind == valueList && method:
		list = all[0].list
		sep.text = ","
		if len(all) > 1 {
			sep = all[1]
		}
	case all[0].kind == valueText && len(all) == 2 && all[1].kind == valueText && method && all[0].text == "":
		return all[1]
	case all[0].kind == valueText && len(all) > 1:
		sep, list = all[0], flatten(all[1:])
	default:
		return value{text: lex.Gap}
	}
	out := joined(list, sep.known())
	out.plain = out.plain && sep.plain && !slices.ContainsFunc(list, func(v value) bool { return v.kind != valueText })
	return out
}

// characters is the text of the characters with the given numbers.
func characters(all []value) value {
	var b strings.Builder
	for _, v := range all {
		n, err := strconv.ParseInt(v.text, 0, 32)
		switch {
		case v.kind == valueText:
			b.WriteString(v.text)
		case v.kind != valueNumber || err != nil || n < 0 || n > 0x10ffff:
			return value{text: lex.Gap}
		default:
			b.WriteRune(rune(n))
		}
	}
	return value{kind: valueText, text: b.String(), plain: len(all) == 1 && all[0].plain && all[0].kind == valueText}
}

// split is a list of the words of a text.
func split(all []value) value {
	v := all[0]
	if !v.full() || strings.ContainsAny(v.text, `'"\`) {
		return value{text: lex.Gap}
	}
	words := strings.Fields(v.text)
	if len(all) > 1 {
		if all[1].kind != valueText || all[1].text == "" {
			return value{text: lex.Gap}
		}
		words = strings.Split(v.text, all[1].text)
	}
	out := value{kind: valueList}
	for _, w := range words {
		out.list = append(out.list, value{kind: valueText, text: w, plain: true})
	}
	return out
}
