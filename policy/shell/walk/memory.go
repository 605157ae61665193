package walk

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/handrail-bot/handrail/policy/shell/argv"
	"github.com/handrail-bot/handrail/policy/shell/finding"
	"github.com/handrail-bot/handrail/policy/shell/word"
	"github.com/handrail-bot/handrail/policy/shell/zone"
)

// variable holds the values a shell variable may have at this point: one,
// or several after code that may or may not have run. A plain variable is a
// list of one.
type variable struct {
	alts    [][]string
	keys    []string // of an associative array
	ref     string   // the variable that this one is another name of
	integer bool     // what it is given is evaluated
}

// variables is what the shell holds in variables and parameters.
type variables struct {
	Found   *finding.Finding
	vars    map[string]variable
	keyed   map[string]bool // which variables have texts for keys
	way     int             // which alternative of each variable is taken
	ways    int             // how many alternatives were seen
	pos     []string        // positional parameters
	foreign bool            // the positional parameters come from elsewhere
	last    string          // $_
	Zero    string          // $0
}

// maxAlternatives is how many values of a variable are followed.
const maxAlternatives = 8

// subshell runs f in a copy of the shell: what it assigns is lost.
func (w *Walk) subshell(f func() string) string {
	saved := *w
	w.vars = maps.Clone(w.vars)
	w.ways, w.way, w.atExit = 1, 0, nil
	out := f()
	exit(w)
	saved.status = w.status
	*w = saved
	return out
}

// exit follows what a shell does when it ends.
func exit(w *Walk) {
	texts := w.atExit
	w.atExit = nil
	for _, text := range texts {
		w.Nested(text)
	}
}

// maybe runs f, which may or may not run in reality: a variable it changed
// keeps its former values as alternatives.
func (w *Walk) maybe(f func() string) string {
	before := maps.Clone(w.vars)
	out := f()
	for name, now := range w.vars {
		old, ok := before[name]
		if !ok || slices.EqualFunc(old.alts, now.alts, slices.Equal[[]string]) {
			continue
		}
		merged := variable{alts: slices.Clone(now.alts), keys: now.keys}
		for _, alt := range old.alts {
			if len(merged.alts) < maxAlternatives && !slices.ContainsFunc(merged.alts, func(a []string) bool { return slices.Equal(a, alt) }) {
				merged.alts = append(merged.alts, alt)
			}
		}
		w.vars[name] = merged
	}
	w.status = unsure
	return out
}

// real is the name of a variable behind its other names.
func (v *variables) real(name string) string {
	for range 4 {
		if ref := v.vars[name].ref; ref != "" {
			name = ref
		}
	}
	return name
}

// set gives a variable one value, or a list.
func (v *variables) set(name string, list ...string) {
	size := 0
	for _, s := range list {
		size += len(s)
	}
	if size > maxText {
		v.Found.Exhaust()
	}
	v.Found.Step(size)
	name = v.real(name)
	v.vars[name] = variable{alts: [][]string{list}, integer: v.vars[name].integer}
}

// get is the value of a variable in this alternative, and whether it is set.
func (v *variables) get(name string) ([]string, bool) {
	if alts := v.vars[v.real(name)].alts; len(alts) > 0 {
		v.ways = max(v.ways, len(alts))
		return alts[min(v.way, len(alts)-1)], true
	}
	if s, ok := environment[name]; ok {
		return []string{s}, true
	}
	return nil, false
}

// ownJob stands for the number of a background job of this shell.
const ownJob = "%!"

const systemPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// environment is the values that variables have on any machine, or what
// stands for them.
var environment = map[string]string{
	"HOME": "~", "PATH": systemPath, "IFS": " \t\n", "SHELL": "/bin/bash", "BASH": "/bin/bash", "OSTYPE": "linux-gnu", "HOSTTYPE": "x86_64",
	"PWD": ".", "GITHUB_WORKSPACE": ".", "CI_PROJECT_DIR": ".", "WORKSPACE": ".", "TMPDIR": "/tmp", "TMP": "/tmp", "TEMP": "/tmp", "RUNNER_TEMP": "/tmp",
	"GITHUB_PATH": zone.RunnerFiles + "GITHUB_PATH", "GITHUB_ENV": zone.RunnerFiles + "GITHUB_ENV", "GITHUB_OUTPUT": zone.RunnerFiles + "GITHUB_OUTPUT",
	"GITHUB_STEP_SUMMARY": zone.RunnerFiles + "GITHUB_STEP_SUMMARY", "GITHUB_STATE": zone.RunnerFiles + "GITHUB_STATE", "GITHUB_EVENT_PATH": zone.RunnerFiles + "GITHUB_EVENT_PATH",
	"GOPATH": "~/go", "CARGO_HOME": "~/.cargo", "XDG_CONFIG_HOME": "~/.config", "XDG_CACHE_HOME": "~/.cache",
}

// Lookup is what a variable or a special parameter holds, for expansions.
func (v *variables) Lookup(name string) word.Variable {
	found := v.holds(name)
	found.Keyed = v.keyed[name]
	return found
}

func (v *variables) holds(name string) word.Variable {
	text := func(s string) word.Variable { return word.Variable{Values: []string{s}} }
	switch n, err := strconv.Atoi(name); {
	case name == "!":
		return text(ownJob)
	case name == "0":
		return text(v.Zero)
	case name == "_":
		return text(v.last)
	case name == "-":
		return text("himBHs")
	case err == nil && n >= 1 && n <= len(v.pos):
		return text(v.pos[n-1])
	case v.foreign && (err == nil || OneOf(name, "@", "*", "#")):
		return text(unknown)
	case name == "@" || name == "*":
		return word.Variable{Values: v.pos}
	case name == "#":
		return text(strconv.Itoa(len(v.pos)))
	case err == nil:
		return word.Variable{State: word.Absent}
	}
	list, ok := v.get(name)
	if !ok {
		return word.Variable{State: word.Open}
	}
	return word.Variable{Values: list, Keys: v.vars[name].keys}
}

// Set gives a variable a value, for expansions.
func (v *variables) Set(name, value string) { v.set(name, value) }

// Either reports which of two alternatives is taken, and has both taken.
func (v *variables) Either() bool {
	v.ways = max(v.ways, 2)
	return v.way%2 == 0
}

// alternatives calls f once for each alternative of the variables that it
// reads, from one on.
func (v *variables) alternatives(from int, f func()) {
	way, ways := v.way, v.ways
	v.ways = 1
	for v.way = from; v.way < max(from+1, min(v.ways, maxAlternatives)); v.way++ {
		f()
	}
	v.way, v.ways = way, max(ways, v.ways)
}

// assign performs one assignment.
func (w *Walk) assign(a *syntax.Assign) {
	w.Found.Step(0)
	switch {
	case a.Name == nil:
		return
	case a.Array != nil:
		w.assignArray(a)
		return
	case a.Naked:
		return
	}
	name := a.Name.Value
	var alts [][]string
	w.alternatives(w.way, func() {
		value := word.Text(w, a.Value)
		if old, ok := w.get(name); ok && a.Append {
			value = strings.Join(old[:min(1, len(old))], "") + value
		} else if a.Append && zone.SecretName(name) { // the environment has it
			value = secret + value
		}
		rateVariable(w, name, value)
		if w.vars[w.real(name)].integer {
			word.Evaluate(w, value)
		}
		if a.Index != nil {
			if name == "BASH_CMDS" || name == "BASH_ALIASES" { // where the shell looks for programs
				w.Found.Hit("shadow", name+"="+value)
				w.aliases[word.Subscript(w, a.Name.Value, a.Index)] = value
			}
			w.assignElement(name, a.Index, value)
			return
		}
		w.Found.Step(len(value))
		alts = append(alts, []string{value})
	})
	if a.Index == nil {
		w.set(name, alts[0]...)
		if len(alts) > 1 {
			w.vars[name] = variable{alts: alts}
		}
	}
}

func (w *Walk) assignArray(a *syntax.Assign) {
	name := a.Name.Value
	var list, keys []string
	if a.Append {
		old, _ := w.get(name)
		list = append(list, old...)
		keys = append(keys, w.vars[name].keys...)
	}
	for _, e := range a.Array.Elems {
		switch {
		case e.Value == nil:
		case e.Index == nil:
			list = append(list, word.Fields(w, e.Value).Texts()...)
		default:
			value := word.Text(w, e.Value)
			if n, ok := word.Number(w, e.Index); ok && n >= 0 && n < 256 && len(keys) == 0 && numeric(e.Index) {
				list = putAt(list, int(n), value)
				continue
			}
			list = append(list, value)
			keys = append(keys, word.Subscript(w, a.Name.Value, e.Index))
		}
	}
	w.set(name, list...)
	if len(keys) == len(list) {
		w.vars[name] = variable{alts: w.vars[name].alts, keys: keys}
	}
}

func numeric(x syntax.ArithmExpr) bool {
	w, ok := x.(*syntax.Word)
	return !ok || w.Lit() != "" && strings.Trim(w.Lit(), "0123456789") == ""
}

func putAt(list []string, n int, value string) []string {
	for len(list) <= n {
		list = append(list, "")
	}
	list[n] = value
	return list
}

func (w *Walk) assignElement(name string, index syntax.ArithmExpr, value string) {
	old, _ := w.get(name)
	list, keys := slices.Clone(old), slices.Clone(w.vars[name].keys)
	n, ok := int64(0), false
	if !w.keyed[name] {
		n, ok = word.Number(w, index)
	}
	if ok && n < 0 {
		n += int64(len(list))
	}
	if len(keys) == 0 && ok && numeric(index) && n >= 0 && n < 1024 {
		w.set(name, putAt(list, int(n), value)...)
		return
	}
	key := word.Subscript(w, name, index)
	if at := slices.Index(keys, key); at >= 0 && at < len(list) {
		list[at] = value
	} else {
		list, keys = append(list, value), append(keys, key)
	}
	w.vars[name] = variable{alts: [][]string{list}, keys: keys}
}

// declare follows export, declare, local, readonly, typeset and nameref.
func (w *Walk) declare(c *syntax.DeclClause) string {
	variant := c.Variant.Value
	words, flags := []string{variant}, argv.List{}
	show := len(c.Args) == 0
	for _, a := range c.Args {
		if a.Name != nil {
			show = false
			words = append(words, a.Name.Value)
			w.declareOne(a, variant, flags)
			continue
		}
		for _, f := range word.Fields(w, a.Value) {
			words = append(words, f.S)
			if name, value, ok := strings.Cut(f.S, "="); ok && !strings.HasPrefix(f.S, "-") {
				assignWord(w, name, value)
				if flags.Has("i") {
					word.Evaluate(w, value)
				}
				if name, _, _ := strings.Cut(name, "["); variant == "export" || flags.Has("x") {
					w.passOn(name)
				}
			} else {
				word.Name(w, f.S)
			}
			flags = append(flags, f)
			show = show || f.S == "-p" || variant != "export" && flags.Has("p", "x")
		}
	}
	w.Found.Ran(render(words))
	if show && len(c.Args) < 2 {
		w.Found.Hit("environment-dump", strings.Join(words, " "))
		return secret
	}
	w.status = succeeded
	return ""
}

// giveKind remembers that a variable holds a number, or has texts for keys.
func giveKind(w *Walk, name string, flags argv.List) {
	if flags.Has("A") {
		w.keyed[name] = true
	}
	if flags.Has("i") {
		v := w.vars[name]
		v.integer = true
		w.vars[name] = v
	}
}

func (w *Walk) declareOne(a *syntax.Assign, variant string, flags argv.List) {
	name := a.Name.Value
	if variant != "export" {
		giveKind(w, name, flags)
	}
	w.assign(a)
	if list, ok := w.get(name); ok && a.Array == nil && len(list) == 1 && strings.HasPrefix(list[0], "(") && strings.HasSuffix(list[0], ")") {
		w.Program(name + "=" + list[0]) // with -a the text is read as a list
	}
	if variant == "export" || flags.Has("x") {
		w.passOn(name)
	}
	v, ok := w.vars[name]
	if !ok || a.Naked {
		return
	}
	change := func(s string) string { return s }
	switch {
	case variant == "nameref" || variant != "export" && flags.Has("n"):
		if len(v.alts) > 0 && len(v.alts[0]) > 0 {
			word.Name(w, v.alts[0][0])
			w.vars[name] = variable{ref: v.alts[0][0]}
		}
		return
	case flags.Has("l"):
		change = strings.ToLower
	case flags.Has("u"):
		change = strings.ToUpper
	}
	v.change(change)
}

// change changes each text that a variable may hold.
func (v variable) change(to func(string) string) {
	for i, alt := range v.alts {
		v.alts[i] = slices.Clone(alt)
		for j, s := range alt {
			v.alts[i][j] = to(s)
		}
	}
}
