package walk

import (
	"path"
	"slices"
	"strings"

	"github.com/handrail-bot/handrail/policy/shell/argv"
	"github.com/handrail-bot/handrail/policy/shell/code"
	"github.com/handrail-bot/handrail/policy/shell/known"
	"github.com/handrail-bot/handrail/policy/shell/mark"
	"github.com/handrail-bot/handrail/policy/shell/zone"
)

// foreign is a program text of another language on its way through the rules.
type foreign struct {
	*Command
	program code.Program
	runs    bool // it executes something
	evals   bool // it executes text of its own language that is not plain
	socket  bool
	network bool
	secrets bool // it reads a credential
	sends   bool
}

// dataCall is a call of a database's library that destroys data.
var dataCall = Lazily(`(?i)\b(?:execute|query|exec|raw|run|do)\w*\s*\(\s*["'](?:drop\s+(?:table|database|schema)|truncate\s|delete\s+from\s+[\w.]+\s*["';])[^"']*|\bflush_?(?:all|db)\s*\(|\bdrop_?(?:database|collection)\s*\(|\.(?:delete|destroy|truncate)_all\b`)

// ScanCode looks at the text of a program in another language: at the calls
// in it that execute, delete, write, send or read the environment. Text with
// no such call is a program that no rule knows.
func ScanCode(c *Command, text string) string {
	defer c.Enter(len(text))()
	if strings.Contains(text, Elided) {
		c.Found.Exhaust()
	}
	if strings.Contains(text, remote) {
		c.Found.Hit("remote-code", c.Name)
	}
	lang, ok := code.LanguageOf(c.Name)
	marked := strings.ContainsAny(text, unknown+secret)
	if marked && lang != "awk" { // there it is mostly a pattern or a number
		c.Found.Hit("opaque-code", c.Name+" "+text)
	}
	c.Found.Changes = c.Found.Changes || lang != "awk"
	if !ok { // of a language without a table: its strings may be commands
		c.Found.Unlisted(c.Name)
		for _, l := range codeString().FindAllStringSubmatch(text, 64) {
			suspectCommand(c, strings.TrimLeft(l[1], "|! "))
		}
		Said(c.Walk, c.Line(), text)
		strange(c, text)
		return ""
	}
	if known.In("dialects", c.Name) { // whose library is not that of the language
		Said(c.Walk, c.Line(), text)
		strange(c, text)
	}
	p := code.Read(lang, text)
	x := &foreign{Command: c, program: p, secrets: strings.Contains(text, secret)}
	switch {
	case lang == "awk" && marked && len(p.Calls) > 0:
		c.Found.Hit("opaque-code", c.Name+" "+text)
	case lang != "awk" && len(p.Calls) == 0 && !p.Opaque:
		c.Found.Unlisted(c.Name)
	}
	return c.subshell(func() string {
		for _, call := range p.Calls {
			x.call(call)
		}
		x.literals()
		x.together()
		if data := dataCall().FindString(text); data != "" && !strings.Contains(strings.ToLower(text), "sqlite") {
			c.Found.Hit("database-destroy", data)
		}
		x.makes()
		marks := ""
		if x.network {
			marks = remote
		}
		if x.secrets {
			marks += secret
		}
		return marks
	})
}

var plainFile = Lazily(`^[\w./-]{1,64}$`)

// makes remembers the files that the text may make: what it fetches, or a copy
// of a program.
func (x *foreign) makes() {
	content := ""
	if x.network {
		content = remote
	}
	for _, l := range x.program.Strings {
		if content == "" && zone.Under(l, "/bin", "/sbin", "/usr/bin", "/usr/sbin", "/usr/local/bin") && Dangerous(path.Base(l)) {
			content = systemProgram + path.Base(l)
		}
	}
	if content == "" {
		return
	}
	for _, l := range x.program.Strings {
		if p := x.Resolve(l); plainFile().MatchString(l) && (zone.Of(p) == zone.Workspace || zone.Of(p) == zone.Temp) {
			if _, own := x.Content[p]; !own {
				x.Content[p] = content
			}
		}
	}
}

// call rates one call.
func (x *foreign) call(call code.Call) {
	words := make(argv.List, len(call.Args))
	for i, a := range call.Args {
		words[i].S = marked(a)
	}
	switch call.Kind {
	case code.Exec, code.Shell:
		x.execute(call, words)
	case code.Eval:
		x.evals = true
		x.Found.Hit("opaque-code", x.Name)
	case code.Load:
		for _, w := range words {
			CodeFile(x.Command, w.S)
		}
	case code.Delete, code.DeleteTree:
		x.delete(words, call.Kind == code.DeleteTree)
	case code.Write:
		for _, w := range words {
			x.Write(w.S)
		}
	case code.Fetch, code.Send, code.Connect:
		x.reach(call.Kind, words)
	case code.Env:
		x.variable(words)
	case code.Fork:
		if x.program.Endless || x.count(code.Fork) > 2 {
			x.Found.Hit("fork-bomb", x.Name)
		} else {
			x.Found.Hit("forks", x.Name)
		}
	case code.Signal:
		x.Found.Hit("signals", x.Name)
		if words.Exactly("-1") {
			x.Found.Hit("machine-stop", x.Name)
		}
	case code.Chdir:
		if len(words) > 0 {
			x.set("PWD", x.Resolve(words[0].S))
		}
	case code.Grow:
		x.Found.Hit("exhaust", x.Name)
	}
}

// delete rates what the text deletes. When that is not plain, any of its
// strings may be it.
func (x *foreign) delete(words argv.List, tree bool) {
	plain := len(words) > 0
	for _, w := range words {
		whole := tree || GlobIn(w.S) != "" || strings.HasSuffix(w.S, "/") || w.S != "" && x.Resolve(w.S) == "."
		x.Remove(argv.Word{S: w.S, Pat: GlobIn(w.S)}, whole)
		plain = plain && w.S != "" && !strings.Contains(w.S, unknown)
	}
	if plain {
		return
	}
	paths := slices.DeleteFunc(slices.Clone(x.program.Strings), func(l string) bool { return !strings.ContainsAny(l, "/~.*") || strings.ContainsAny(l, " \n(") })
	for _, l := range paths {
		x.Remove(argv.Word{S: l, Pat: GlobIn(l)}, true)
	}
	if len(paths) == 0 {
		x.Found.Hit("delete-unknown", x.Name)
	}
}

// marked is an argument with a mark for each part that is not known.
func marked(a code.Arg) string { return strings.ReplaceAll(a.Text, code.Gap, unknown) }

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
	if awk := strings.HasSuffix(x.Name, "awk"); !plain || awk && call.Name == "system" {
		x.Hit("program-runs")
	} else if awk { // what it prints may be what it reads
		call.Input = append(call.Input, code.Arg{Text: x.Waiting()})
	}
	line := strings.TrimSpace(strings.Join(words.Texts(), " "))
	if x.program.Endless && (strings.HasSuffix(line, "&") || strings.Contains(call.Name, "pawn") || strings.Contains(call.Name, "Popen")) {
		x.Found.Hit("fork-bomb", x.Name)
	}
	inputs := []*Input{x.In}
	for _, a := range call.Input { // each may be what the command reads
		inputs = append(inputs, &Input{Text: marked(a)})
	}
	for _, in := range inputs[min(1, len(call.Input)):] {
		x.subshell(func() string {
			if x.In = in; len(call.Dir) > 0 {
				x.set("PWD", x.Resolve(marked(call.Dir[0])))
			}
			switch {
			case call.Kind == code.Exec:
				return x.Exec(words)
			case line != "":
				return x.Nested(line)
			}
			return ""
		})
	}
}

// reach rates what goes over the network.
func (x *foreign) reach(kind code.Kind, words argv.List) {
	local := len(words) > 0
	if file := !strings.Contains(strings.Join(words.Texts(), ""), "://"); file && OneOf(x.Name, "php") && kind == code.Fetch && mark.Known(words.At(0)) {
		return // the same functions read files
	}
	for _, w := range words {
		local = local && zone.Local(w.S)
		if zone.Metadata(w.S) {
			x.Found.Hit("secret-read", w.S)
		}
	}
	x.Found.Network, x.network = true, true
	switch kind {
	case code.Connect:
		x.socket = true
	case code.Send:
		x.sends = true
	}
	switch {
	case kind != code.Fetch:
		x.Found.Hit("network-send", x.Name)
	case !local:
		x.Found.Hit("download", x.Name)
	}
}

// variable rates what is read of the environment.
func (x *foreign) variable(words argv.List) {
	if len(words) == 0 {
		x.Found.Hit("environment-dump", x.Name)
		x.secrets = true
	}
	for _, w := range words {
		if zone.SecretName(w.S) {
			x.Found.Hit("secret-shown", w.S)
			x.secrets = true
		}
	}
}

// literals looks at the texts in the program. Where it executes something
// that is not plain, any of them may be it.
func (x *foreign) literals() {
	for _, l := range x.program.Strings {
		for _, p := range argv.PathsIn(l) {
			if strings.Contains(x.ReadSecret(x.Resolve(p)), secret) {
				x.secrets = true
			}
		}
		if x.program.Opaque {
			suspectCommand(x.Command, l)
		}
	}
	if !x.program.Opaque {
		return
	}
	x.Found.Hit("opaque-code", x.Name)
	suspects(x.Walk, append(x.held(), x.program.Strings...))
	x.hidden()
	for i, a := range x.List { // what it is given may be what it executes
		if suspectCommand(x.Command, a.S); Dangerous(ProgramName(a.S)) {
			x.OnlyCritical(x.List[i:], x.Line())
		}
	}
	if strings.Contains(x.Waiting(), remote) && (x.runs || x.evals) {
		x.Found.Hit("remote-code", x.Name)
	}
	if x.program.Stdin && x.Given() && x.depth < 20 {
		text := x.Waiting()
		x.Nested(text)
		if x.evals {
			ScanCode(x.Command, text)
		}
	}
}

// hidden follows what a text evaluates in another spelling. Only what is
// critical counts.
func (x *foreign) hidden() {
	if !x.evals || x.depth > 20 {
		return
	}
	for _, s := range x.program.Strings[:min(len(x.program.Strings), 64)] {
		for _, text := range code.Decoded(s) {
			onlyCritical(x.Walk, text, func() { ScanCode(x.Command, text) })
		}
	}
}

// together rates what the calls do together.
func (x *foreign) together() {
	switch {
	case !x.network:
	case x.secrets:
		x.Found.Hit("secret-sent", x.Name)
	case x.evals || x.program.Opaque && !x.socket:
		x.Found.Hit("remote-code", x.Name)
	case x.runs && x.socket:
		x.Found.Hit("reverse-shell", x.Name)
	}
}

// CodeFile looks at a program file of another language, as far as it is known.
func CodeFile(c *Command, name string) {
	text, own := c.File(name)
	switch {
	case strings.Contains(name, remote) || strings.Contains(name, "://"):
		c.Found.Network = true
		c.Hit("remote-code")
	case strings.HasPrefix(name, unknown) || strings.HasPrefix(name, "found-"+unknown) || strings.HasSuffix(name, "/found-"+unknown):
		c.Hit("unknown-code")
	case GlobIn(name) != "":
		if !c.Is("node") || !c.Exactly("--test") { // which is for many
			c.Hit("many-scripts")
		}
	case own:
		ScanCode(c, text)
	case strings.HasPrefix(name, "/dev/stdin") && c.Given():
		ScanCode(c, c.Stdin())
	case c.ReadSecret(c.Resolve(name)) == remote:
		c.Hit("remote-code")
	}
}
