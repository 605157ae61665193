package shell

import (
	"slices"
	"strings"

	"github.com/handrail-bot/handrail/policy/shell/code"
)

// foreign is the state of analyzing a program text in another language.
type foreign struct {
	*command
	program *code.Program
	runs    bool // it runs commands
	opaque  bool // a command that it runs is not plain
	socket  bool
	network bool
	secrets bool // it reads a credential
}

// dataCall matches calls of database libraries that destroy data.
var dataCall = lazily(
	`(?i)\bflush_?(?:all|db)\s*\(|\bdrop_?(?:database|collection)\s*\(|\.(?:delete|destroy|truncate)_all\b`,
)

// scanCode rates the calls in a program text in another language that execute, delete,
// write, send, or read the environment. With a call that the table does not have, it
// counts as an unknown program.
func scanCode(c *command, text string) string {
	defer c.enter(len(text))()
	if strings.Contains(text, elided) {
		c.found.exhaust()
	}
	lang := code.LanguageOf(c.name)
	awk := lang == "awk"
	if strings.Contains(text, remote) {
		c.found.hit("remote-code", c.name)
	}
	if strings.ContainsAny(text, unknown+secret) && !awk { // in awk, marks are mostly in a pattern or a number
		c.found.hit("opaque-code", c.name+" "+text)
	}
	c.found.changes = c.found.changes || !awk
	x := &foreign{command: c, program: code.Read(lang, text), secrets: strings.Contains(text, secret)}
	if lang == "other" { //control:foreign-code
		c.found.hit("foreign-code", c.name+" "+text)
		c.mayRun([]string{text})
	}
	if lang == "other" || len(x.program.Unknown) > 0 || x.program.Opaque {
		c.found.unlisted(strings.TrimSpace(c.name + " " + strings.Join(x.program.Unknown, " ")))
		c.mayRun(x.program.Strings)
	}
	if x.program.Endless && !strings.Contains(text, "sleep") && !strings.Contains(text, "imeout") && !awk {
		c.found.hit("exhaust", c.name)
	}
	return c.subshell(func() string {
		for _, call := range x.program.Calls {
			x.call(call)
		}
		x.together()
		if dataCall().MatchString(text) ||
			slices.ContainsFunc(x.program.Strings, statementDestroys) && !strings.Contains(text, "sqlite") {
			c.found.hit("database-destroy", text)
		}
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

// call rates one call.
func (x *foreign) call(call code.Call) {
	words := argsOf(call.Args...)
	for i, a := range words {
		words[i].s = strings.ReplaceAll(a.s, code.Gap, unknown)
		if r, ok := rowOf("value", a.s); ok {
			words[i].s = r[0][0]
		}
	}
	switch call.Kind {
	case code.Run:
		x.run(words, call.Plain() && (call.Name != "system" || code.LanguageOf(x.name) != "awk"))
	case code.Eval:
		x.opaque = true
		x.found.hit("opaque-code", x.name)
	case code.Load:
		for _, w := range words {
			x.runsCode(w.s)
		}
	case code.Delete, code.DeleteTree:
		x.deletes(words, call.Plain(), call.Kind == code.DeleteTree)
	case code.Move:
		x.deletes(words[:min(1, len(words))], true, false)
		x.writes(words.from(1))
	case code.Write:
		x.writes(words)
	case code.Fetch, code.Send, code.Connect:
		x.reach(call.Kind, words)
	case code.Env:
		x.variable(words)
	case code.Fork:
		if x.program.Endless || strings.Count(x.line(), "fork") > 2 {
			x.found.hit("fork-bomb", x.name)
		} else {
			x.found.hit("forks", x.name)
		}
	case code.Signal:
		x.found.hit("signals", x.name)
		if words.exactly("-1") {
			x.found.hit("machine-stop", x.name)
		}
	case code.Chdir:
		if len(words) > 0 {
			x.set("PWD", x.resolve(words[0].s))
		}
	}
}

// run follows a command: one text for a shell, or the words of it.
func (x *foreign) run(words list, plain bool) {
	x.runs = true
	if !plain {
		x.hit("program-runs")
	}
	for len(words) > 1 && words[0].s == unknown {
		words = words[1:]
	}
	x.opaque = x.opaque || !plain || inList("shells", words[0].s) // a shell runs its input
	line := strings.Join(words.words(), " ")
	if x.program.Endless && (strings.HasSuffix(line, "&") || x.says("pawn", "Popen")) {
		x.found.hit("fork-bomb", x.name)
	}
	if len(words) > 1 && !strings.Contains(words[0].s, " ") {
		x.exec(words)
	} else if line != "" {
		x.nested(line)
	}
}

func (x *foreign) writes(words list) {
	for _, w := range words {
		x.write(w.s)
		x.store(x.resolve(w.s), unknown)
	}
}

// deletes rates a deletion. If its arguments are not plain, any string of the program may
// be the path.
func (x *foreign) deletes(words list, plain, tree bool) {
	some := plain
	if !plain {
		for _, l := range x.program.Strings {
			if strings.ContainsAny(l, "/~.*") && !strings.ContainsAny(l, " \n(") {
				words = append(words, arg{s: l})
				some, tree = true, true
			}
		}
	}
	for _, w := range words {
		whole := tree || globIn(w.s) != "" || strings.HasSuffix(w.s, "/") || w.s != "" && x.resolve(w.s) == "."
		x.remove(arg{s: w.s, pat: globIn(w.s)}, whole)
	}
	if !some {
		x.found.hit("delete-unknown", x.name)
	}
}

// reach rates network access.
func (x *foreign) reach(kind code.Kind, words list) {
	address := strings.Join(words.words(), "")
	for _, w := range words {
		if metadata(w.s) {
			x.found.hit("secret-read", w.s)
		}
		if kind == code.Fetch && !strings.Contains(w.s, "://") { // the file that it is saved to
			x.store(x.resolve(w.s), remote)
		}
	}
	x.found.network, x.network, x.socket = true, true, x.socket || kind == code.Connect
	switch {
	case kind != code.Fetch:
		x.found.hit("network-send", x.name)
	case address == "" || slices.ContainsFunc(words, func(w arg) bool { return !local(w.s) }):
		x.found.hit("download", x.name)
	}
}

func (x *foreign) variable(words list) {
	if len(words) == 0 {
		x.found.hit("environment-dump", x.name)
		x.secrets = true
	}
	for _, w := range words {
		if secretName(w.s) {
			x.found.hit("secret-shown", w.s)
			x.secrets = true
		}
	}
}

// together rates the calls in combination with each other and the program's strings.
func (x *foreign) together() {
	for _, l := range x.program.Strings {
		for _, p := range pathsIn(l) {
			if strings.Contains(x.readSecret(x.resolve(p)), secret) {
				x.secrets = true
			}
		}
	}
	if x.opaque || x.program.Opaque && x.runs {
		x.mayRun(append(slices.Clip(x.program.Strings), x.words()...))
		if x.program.Hidden {
			x.found.hit("hidden-code", x.name)
		}
		if in := x.waiting(); strings.Contains(in, remote) {
			x.found.hit("remote-code", x.name)
		} else if x.given() && x.depth < 20 {
			x.nested(in)
		}
	}
	switch {
	case !x.network:
	case x.secrets:
		x.found.hit("secret-sent", x.name)
	case x.opaque && !x.socket:
		x.found.hit("remote-code", x.name)
	case x.runs && x.socket:
		x.found.hit("reverse-shell", x.name)
	}
}
