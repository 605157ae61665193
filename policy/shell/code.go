package shell

import (
	"slices"
	"strings"

	"github.com/handrail-bot/handrail/policy/shell/argv"
	"github.com/handrail-bot/handrail/policy/shell/code"
	"github.com/handrail-bot/handrail/policy/shell/zone"
)

// foreign is a program text of another language on its way through the rules.
type foreign struct {
	*command
	f       *finding
	program code.Program
	runs    bool // it executes something
	evals   bool // it executes text of its own language that is not plain
	socket  bool
	network bool
	secrets bool // it reads a credential
	sends   bool
}

// scanCode looks at the text of a program in another language: at the calls
// in it that execute, delete, write, send or read the environment. Text with
// no such call is a program that no rule knows.
func scanCode(c *command, f *finding, text string) {
	defer c.Enter(len(text))()
	f.changes = true
	if strings.Contains(text, remote) {
		f.hit("remote-code", c.name)
	}
	if strings.ContainsAny(text, unknown+secret) {
		f.hit("opaque-code", c.name+" "+text)
	}
	lang, ok := code.LanguageOf(c.name)
	if !ok { // of a language without a table: its strings may be commands
		f.unknown = addTo(f.unknown, c.name)
		for _, l := range awkString().FindAllStringSubmatch(text, 64) {
			suspectCommand(c, l[1])
		}
		return
	}
	p := code.Read(lang, text)
	x := &foreign{command: c, f: f, program: p}
	if len(p.Calls) == 0 && !p.Opaque {
		f.unknown = addTo(f.unknown, c.name)
	}
	c.subshell(func() string {
		for _, call := range p.Calls {
			x.call(call)
		}
		x.literals()
		x.together()
		return ""
	})
}

// call rates one call.
func (x *foreign) call(call code.Call) {
	words := make(argv.List, len(call.Args))
	for i, a := range call.Args {
		words[i].S = known(a)
	}
	switch call.Kind {
	case code.Exec, code.Shell:
		x.execute(call, words)
	case code.Eval:
		x.evals = true
		x.f.hit("opaque-code", x.name)
	case code.Load:
		for _, w := range words {
			codeFile(x.command, x.f, w.S)
		}
	case code.Delete, code.DeleteTree:
		x.delete(words, call.Kind == code.DeleteTree)
	case code.Write:
		for _, w := range words {
			x.write(w.S)
		}
	case code.Fetch, code.Send, code.Connect:
		x.reach(call.Kind, words)
	case code.Env:
		x.variable(words)
	case code.Fork:
		if x.program.Endless || x.count(code.Fork) > 2 {
			x.f.hit("fork-bomb", x.name)
		} else {
			x.f.hit("forks", x.name)
		}
	case code.Signal:
		x.f.hit("signals", x.name)
		if words.Exactly("-1") {
			x.f.hit("machine-stop", x.name)
		}
	case code.Chdir:
		if len(words) > 0 {
			x.set("PWD", x.resolve(words[0].S))
		}
	case code.Grow:
		x.f.hit("exhaust", x.name)
	}
}

// delete rates what the text deletes. When that is not plain, any of its
// strings may be it.
func (x *foreign) delete(words argv.List, tree bool) {
	plain := len(words) > 0
	for _, w := range words {
		whole := tree || globIn(w.S) != "" || strings.HasSuffix(w.S, "/") || w.S != "" && x.resolve(w.S) == "."
		x.remove(argv.Word{S: w.S, Pat: globIn(w.S)}, whole)
		plain = plain && w.S != "" && !strings.Contains(w.S, unknown)
	}
	if plain {
		return
	}
	paths := slices.DeleteFunc(slices.Clone(x.program.Strings), func(l string) bool { return !strings.ContainsAny(l, "/~.*") || strings.ContainsAny(l, " \n(") })
	for _, l := range paths {
		x.remove(argv.Word{S: l, Pat: globIn(l)}, true)
	}
	if len(paths) == 0 {
		x.f.hit("delete-unknown", x.name)
	}
}

// known is an argument with a mark for each part that is not known.
func known(a code.Arg) string { return strings.ReplaceAll(a.Text, code.Gap, unknown) }

func (x *foreign) count(k code.Kind) int {
	n := 0
	for _, c := range x.program.Calls {
		if c.Kind == k {
			n++
		}
	}
	return n
}

// execute follows a command that the text runs.
func (x *foreign) execute(call code.Call, words argv.List) {
	x.runs = true
	plain := len(words) > 0 && !slices.ContainsFunc(call.Args, func(a code.Arg) bool { return !a.Plain })
	if !plain {
		x.f.hit("program-runs", x.line())
	}
	line := strings.TrimSpace(strings.Join(words.Texts(), " "))
	if x.program.Endless && (strings.HasSuffix(line, "&") || strings.Contains(call.Name, "pawn") || strings.Contains(call.Name, "Popen")) {
		x.f.hit("fork-bomb", x.name)
	}
	inputs := []*input{x.in}
	for _, a := range call.Input { // each may be what the command reads
		inputs = append(inputs, &input{text: known(a)})
	}
	for _, in := range inputs[min(1, len(call.Input)):] {
		x.subshell(func() string {
			if x.in = in; len(call.Dir) > 0 {
				x.set("PWD", x.resolve(known(call.Dir[0])))
			}
			switch {
			case call.Kind == code.Exec:
				return x.exec(words)
			case line != "":
				return x.nested(line)
			}
			return ""
		})
	}
}

// reach rates what goes over the network.
func (x *foreign) reach(kind code.Kind, words argv.List) {
	local := len(words) > 0
	for _, w := range words {
		local = local && zone.Local(w.S)
		if zone.Metadata(w.S) {
			x.f.hit("secret-read", w.S)
		}
	}
	x.f.network, x.network = true, true
	switch kind {
	case code.Connect:
		x.socket = true
	case code.Send:
		x.sends = true
	}
	switch {
	case kind != code.Fetch:
		x.f.hit("network-send", x.name)
	case !local:
		x.f.hit("download", x.name)
	}
}

// variable rates what is read of the environment.
func (x *foreign) variable(words argv.List) {
	if len(words) == 0 {
		x.f.hit("environment-dump", x.name)
		x.secrets = true
	}
	for _, w := range words {
		if zone.SecretName(w.S) {
			x.f.hit("secret-shown", w.S)
			x.secrets = true
		}
	}
}

// literals looks at the texts in the program. Where it executes something
// that is not plain, any of them may be it.
func (x *foreign) literals() {
	for _, l := range x.program.Strings {
		for _, p := range pathsIn(l) {
			if strings.Contains(x.readSecret(x.resolve(p)), secret) {
				x.secrets = true
			}
		}
		if x.program.Opaque {
			suspectCommand(x.command, l)
		}
	}
	if !x.program.Opaque {
		return
	}
	x.f.hit("opaque-code", x.name)
	if strings.Contains(x.waiting(), remote) && (x.runs || x.evals) {
		x.f.hit("remote-code", x.name)
	}
	if x.program.Stdin && x.given() && x.depth < 20 {
		text := x.waiting()
		x.nested(text)
		if x.evals {
			scanCode(x.command, x.f, text)
		}
	}
}

// together rates what the calls do together.
func (x *foreign) together() {
	switch {
	case !x.network:
	case x.secrets:
		x.f.hit("secret-sent", x.name)
	case x.evals || x.program.Opaque && !x.socket:
		x.f.hit("remote-code", x.name)
	case x.runs && x.socket:
		x.f.hit("reverse-shell", x.name)
	}
}
