package code

import (
	"slices"
	"strings"
)

// full returns a name with imports and aliases resolved.
func (r *reader) full(n string) string {
	if r.folds {
		n = strings.ToLower(n)
	}
	n = strings.ReplaceAll(strings.TrimLeft(n, "&\\@"), "\\", ".")
	n = strings.TrimPrefix(strings.TrimPrefix(strings.TrimPrefix(n, "globalThis."), "Kernel."), "CORE.")
	for range 3 {
		root, rest, more := strings.Cut(n, ".")
		to := r.alias[strings.TrimLeft(root, "$")]
		if to == "" || to == root {
			break
		}
		if n = to; more {
			n += "." + rest
		}
	}
	return strings.TrimPrefix(n, "node:")
}

// entry looks a name up in the language's table: by its full name, as a method of any
// receiver, or by its library.
func (r *reader) entry(n string) (entry, bool) {
	n = r.full(n)
	if e, ok := r.calls[n]; ok {
		return e, true
	}
	at := strings.LastIndexByte(n, '.')
	if at < 0 {
		return entry{}, false
	}
	if e, ok := r.calls[n[at:]]; ok {
		return e, true
	}
	for ; at > 0; at = strings.LastIndexByte(n[:at], '.') {
		if e, ok := r.calls[n[:at]+".*"]; ok {
			return e, true
		}
	}
	return entry{}, false
}

// call handles a call and returns the known part of its result.
func (r *reader) call(n string, on value, args []value) value {
	if e, ok := r.entry(n); ok {
		return r.recordKnown(n, e, on, args)
	}
	full := r.full(n)
	last := full[strings.LastIndexByte(full, '.')+1:]
	_, own := r.alias[last]
	if on.name == "" && strings.HasPrefix(n, ".") && on.list != nil && len(args) == 0 {
		own = true
	}
	if !own && !slices.Contains(voids, last) && len(r.p.Unknown) < maxItems {
		r.p.Unknown = append(r.p.Unknown, strings.TrimLeft(full, "."))
	}
	for _, a := range args {
		r.passArgument(a)
	}
	return gap
}

// passArgument handles a function that is passed as an argument: it may be called with any
// arguments.
func (r *reader) passArgument(a value) {
	for _, v := range items(a) {
		if e, ok := r.entry(v.name); ok && v.name != "" && e.kind.runs() {
			r.record(Call{Kind: e.kind, Name: v.name}, gap)
		}
	}
}

// recordKnown records a call that is in the table.
func (r *reader) recordKnown(n string, e entry, on value, args []value) value {
	var flat []value
	for _, a := range args {
		if e.kind != Harmless || a.list == nil {
			flat = append(flat, items(a)...)
		}
		r.passArgument(a)
	}
	arg := func(i int) value {
		if i < len(flat) {
			return flat[i]
		}
		return gap
	}
	c := Call{Kind: e.kind, Name: r.full(n)}
	if e.kind == Shell && e.shape == first && on.plain && on.text == "0" { // a pattern match, not a command
		return gap
	}
	switch e.kind {
	case Harmless:
		if strings.HasSuffix(n, ".delete") && on.plain && strings.ContainsAny(on.text, "/~") { // a method of a path
			r.record(Call{Kind: Delete, Name: c.Name}, on)
		}
		return gap
	case decodes:
		r.p.Hidden = true
		return gap
	case module:
		if !arg(0).plain {
			r.p.Opaque = true
		}
		return value{text: Gap, name: arg(0).text}
	case member:
		if !arg(1).plain {
			r.p.Opaque = true
		}
		return value{text: Gap, name: arg(0).name + "." + arg(1).text}
	case sends:
		to := arg(0)
		if to.name == "" {
			to.name = to.text
		}
		if to.name == Gap {
			r.p.Opaque = true
			return gap
		}
		return r.call(to.name, on, flat[min(1, len(flat)):])
	case same:
		if len(flat) == 0 {
			return on
		}
		return flat[0]
	case paths:
		v := on
		if v.text == Gap {
			v = value{plain: true}
		}
		for i, a := range flat {
			if i > 0 || v.text != "" {
				a.text = "/" + a.text
			}
			v = joined(v, a)
		}
		return v
	case home:
		return plainText("~")
	case here:
		return plainText(".")
	case Env:
		if len(args) == 0 {
			r.record(c)
		} else {
			r.record(c, arg(0))
		}
		if arg(0).text == "HOME" {
			return plainText("~")
		}
		return gap
	}
	r.record(c, r.relevantArgs(&c, e.shape, on, args, flat)...)
	return gap
}

// relevantArgs returns the relevant arguments of a call.
func (r *reader) relevantArgs(c *Call, s shape, on value, args, flat []value) []value {
	if c.Kind == Delete && slices.ContainsFunc(flat, func(v value) bool { return v.name == "recursive" }) {
		flat = slices.DeleteFunc(
			flat,
			func(v value) bool { return v.name == "recursive" || v.name == "force" || v.name == "true" },
		)
		c.Kind = DeleteTree
	}
	if c.Kind == Shell && s == first && len(args) > 0 && args[0].list != nil { // a list of words
		s, flat = all, args[0].list
	}
	switch s {
	case all:
		return flat
	case program:
		return flat
	case zero:
		return slices.Concat(flat[:min(1, len(flat))], flat[min(2, len(flat)):])
	case mode:
		return slices.Concat(flat[min(1, len(flat)):min(2, len(flat))], flat[min(3, len(flat)):])
	case receiver:
		return items(on)
	case last:
		return flat[max(0, len(flat)-1):]
	case moved:
		for _, v := range flat[:min(1, len(flat))] {
			r.record(Call{Kind: Delete, Name: c.Name}, v)
		}
		return flat[min(1, len(flat)):]
	case opened:
		return r.opens(c, flat)
	case none:
		return nil
	}
	return flat[:min(1, len(flat))]
}

// opens returns the file that a call opens for writing, or nil. Opening can also run a
// command.
func (r *reader) opens(c *Call, args []value) []value {
	text := func(i int) value {
		if i < len(args) {
			return args[i]
		}
		return value{plain: true}
	}
	how, file := text(1), text(0)
	if cmd, ok := strings.CutPrefix(file.text, "|"); ok && len(args) == 1 {
		c.Kind, file.text = Shell, cmd
		return []value{file}
	}
	if r.sigils != "" && r.bare && !r.folds && r.fill == "$" { // Perl: a handle, a mode and a file
		how, file = text(1), text(2)
		if len(args) == 2 {
			how.text, file.text = strings.Trim(how.text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789./_- "), strings.TrimLeft(how.text, "<>+| ")
			if cmd, ok := strings.CutSuffix(file.text, "|"); ok {
				how.text, file.text = "|", cmd
			}
		}
		if file.plain = true; strings.Contains(how.text, "|") {
			c.Kind = Shell
			return append([]value{file}, args[min(3, len(args)):]...)
		}
	}
	if strings.ContainsAny(how.text, "wax+>"+Gap) {
		return []value{file}
	}
	c.Kind = Harmless
	return nil
}

// record adds a call to the program.
func (r *reader) record(c Call, args ...value) {
	if c.Kind == Harmless || len(r.p.Calls) >= maxItems {
		r.p.Opaque = r.p.Opaque || c.Kind != Harmless
		return
	}
	for _, a := range args {
		for _, v := range items(a) {
			c.Args = append(c.Args, Arg{v.text, v.plain})
		}
	}
	if c.Kind == Eval {
		for _, a := range c.Args {
			if r.text(a.Text); a.Text == Gap {
				r.p.Opaque = true
			}
		}
	}
	r.p.Calls = append(r.p.Calls, c)
}
