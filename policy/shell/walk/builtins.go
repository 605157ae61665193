package walk

import (
	"slices"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/handrail-bot/handrail/policy/shell/argv"
	"github.com/handrail-bot/handrail/policy/shell/filter"
	"github.com/handrail-bot/handrail/policy/shell/known"
	"github.com/handrail-bot/handrail/policy/shell/mark"
	"github.com/handrail-bot/handrail/policy/shell/word"
	"github.com/handrail-bot/handrail/policy/shell/zone"
)

// builtin is for the commands of the shell that print nothing.
func builtin(c *Command) string {
	switch c.Name {
	case ":", "true":
		c.status = succeeded
	case "false":
		c.status = failed
	case "test", "[":
		compare(c)
	case "wait":
		if name, ok := c.Value("p"); ok {
			assignWord(c.Walk, name, unknown)
		}
	case "let":
		if text := strings.Join(c.Texts(), " "); strings.Contains(text, remote) {
			c.Hit("evaluated-remote") //control:evaluated-remote
		} else if strings.Contains(text, mark.Written) {
			c.Hit("evaluated-text") //control:evaluated-text
		}
	case "cd", "pushd", "popd":
		changeDirectory(c)
	case "shift":
		n := 1
		if len(c.List) > 0 {
			n, _ = strconv.Atoi(c.At(0))
		}
		if n >= 0 && n <= len(c.pos) {
			c.pos = c.pos[n:]
		}
	case "unset":
		unset(c)
	case "enable":
		if c.Has("f") {
			c.Hit("unknown-code")
		}
	case "hash":
		remember(c)
	case "history":
		return unknown
	}
	return ""
}

func unset(c *Command) {
	for _, a := range c.OperandsAfter() {
		word.Name(c.Walk, a.S)
		delete(c.vars, a.S)
		if c.Has("f") {
			delete(c.funcs, a.S)
		}
	}
}

// remember is hash: a name stands for a file from then on.
func remember(c *Command) {
	v, ok := c.Value("p")
	if !ok {
		return
	}
	c.Found.Hit("search-path", "hash "+v)
	for _, a := range c.OperandsAfter("p") {
		c.aliases[a.S] = v
	}
}

func changeDirectory(c *Command) {
	dir := "~"
	switch to := c.OperandsAfter(); {
	case c.Name == "popd" || to.At(0) == "-":
		dir = "."
	case len(to) > 0:
		dir = c.Resolve(to[0].S)
	}
	c.set("PWD", dir)
	if c.Name != "popd" {
		c.status = succeeded
	}
}

// compare computes a comparison of known words, so that loops over a counter
// come to their end.
func compare(c *Command) {
	w := c.Texts()
	if i := slices.Index(w, "-v"); i >= 0 {
		word.Name(c.Walk, c.At(i+1))
	}
	if len(w) > 0 && w[len(w)-1] == "]" {
		w = w[:len(w)-1]
	}
	if len(w) != 3 || !mark.Known(w[0]) || !mark.Known(w[2]) {
		return
	}
	a, errA := strconv.Atoi(w[0])
	b, errB := strconv.Atoi(w[2])
	numbers := errA == nil && errB == nil
	result, ok := map[string]bool{
		"=": w[0] == w[2], "==": w[0] == w[2], "!=": w[0] != w[2], "-lt": a < b, "-le": a <= b, "-gt": a > b, "-ge": a >= b, "-eq": a == b, "-ne": a != b,
	}[w[1]]
	if !ok || w[1][0] == '-' && !numbers {
		return
	}
	if c.status = failed; result {
		c.status = succeeded
	}
}

func echo(c *Command) string {
	c.status = succeeded
	words, newline, decode := c.Texts(), "\n", false
	for len(words) > 0 && len(words[0]) > 1 && words[0][0] == '-' && strings.Trim(words[0][1:], "neE") == "" {
		if strings.Contains(words[0], "n") {
			newline = ""
		}
		decode = decode || strings.Contains(words[0], "e")
		words = words[1:]
	}
	out := strings.Join(words, " ")
	if decode {
		out = filter.Unescape(out, true)
	}
	prints(c, out)
	return out + newline
}

// prints checks text that a command shows.
func prints(c *Command, out string) {
	c.Found.Step(len(out))
	if !c.quiet && strings.Contains(out, secret) {
		c.Found.Hit("secret-shown", out)
	}
	for _, s := range []string{"::set-env", "::add-path", "::stop-commands", "##vso["} {
		if strings.Contains(out, s) {
			c.Found.Hit("runner-command", out)
		}
	}
}

// printf computes what printf prints, or stores with -v.
func printf(c *Command) string {
	c.status = succeeded
	args, name := c.Texts(), ""
	if len(args) > 1 && args[0] == "-v" {
		name, args = args[1], args[2:]
	} else if len(args) > 0 && strings.HasPrefix(args[0], "-v") && len(args[0]) > 2 {
		name, args = args[0][2:], args[1:]
	}
	if len(args) > 0 && args[0] == "--" {
		args = args[1:]
	}
	out, ok := filter.Printf(args)
	if !ok {
		out = mark.Opaque(strings.Join(args, ""))
	}
	if name != "" {
		assignWord(c.Walk, name, out)
		return ""
	}
	prints(c, out)
	return out
}

// assignWord gives a variable a value and rates it. The name may be that of
// an element.
func assignWord(w *Walk, name, value string) {
	word.Name(w, name)
	name, _, _ = strings.Cut(name, "[")
	rateVariable(w, name, value)
	if w.vars[w.real(name)].integer {
		word.Evaluate(w, value)
	}
	w.set(name, value)
}

func set(c *Command) string {
	if len(c.List) == 0 {
		c.Found.Hit("environment-dump", "set")
		return secret
	}
	for i, a := range c.List {
		switch {
		case a.S == "--" || a.S == "-":
			c.pos, c.foreign = c.From(i+1).Texts(), false
			return ""
		case a.S != "" && (a.S[0] == '-' || a.S[0] == '+'):
			if strings.Contains(a.S, "a") && !strings.HasPrefix(a.S, "--") || c.At(i+1) == "allexport" {
				c.exports = a.S[0] == '-'
			}
		case i > 0 && strings.HasSuffix(c.At(i-1), "o"): // the name of an option
		default:
			c.pos, c.foreign = c.From(i).Texts(), false
			return ""
		}
	}
	return ""
}

func eval(c *Command) string {
	text := strings.Join(c.Texts(), " ")
	if strings.Contains(text, remote) {
		c.Found.Hit("remote-code", "eval")
	}
	if !mark.Known(text) {
		c.Found.Hit("opaque-code", "eval "+text)
	}
	return c.Program(text)
}

func source(c *Command) string {
	ops := c.OperandsAfter()
	if len(ops) == 0 {
		return ""
	}
	name := ops[0].S
	p := c.Resolve(name)
	text, own := c.File(name)
	switch {
	case !mark.Known(name):
		if strings.Contains(name, remote) {
			c.Found.Hit("remote-code", name)
		}
		c.Found.Hit("unknown-code", "source "+name)
	case GlobIn(name) != "":
		c.Found.Hit("many-scripts", "source "+name)
	case own:
		c.In = nil
		if text == unknown {
			c.Found.Hit("opaque-code", "source "+name)
		}
		return c.Program(text)
	case strings.HasPrefix(p, "/dev/"):
		return c.Nested(c.ReadFile(p))
	case zone.SecretOf(p) == zone.OwnSecret:
		c.Found.Hit("secret-loaded", name)
	}
	c.Found.Changes = true
	return unknown
}

func trap(c *Command) string {
	ops := c.OperandsAfter()
	if len(ops) == 0 {
		return ""
	}
	if len(ops) == 2 && OneOf(ops[1].S, "EXIT", "0") { // with what the variables hold then
		c.atExit = append(slices.Clone(c.atExit), ops[0].S)
		return ""
	}
	c.Nested(ops[0].S)
	return ""
}

func alias(c *Command) string {
	for _, a := range c.OperandsAfter() {
		name, text, ok := strings.Cut(a.S, "=")
		if !ok {
			continue
		}
		if words := strings.Fields(text); known.In("shadowed", name) && len(words) > 0 && !namesProgram(words, name) {
			c.Found.Hit("shadow", name+"="+text)
		}
		c.aliases[name] = text
		calls := c.calls
		c.calls = append(slices.Clone(calls), "alias "+name)
		c.Nested(text)
		c.calls = calls
	}
	return ""
}

// namesProgram reports whether one of the words is the program of that name
// where the system keeps it.
func namesProgram(words []string, name string) bool {
	return slices.ContainsFunc(words, func(w string) bool {
		return strings.TrimLeft(w, `\`) == name || ProgramName(w) == name && strings.HasPrefix(w, "/usr/")
	})
}

// shadows reports whether a function has the name of a program that later
// commands trust, and does not come to run it.
func shadows(name string, body *syntax.Stmt) bool {
	if !known.In("shadowed", name) || body == nil {
		return false
	}
	own := false
	syntax.Walk(body, func(n syntax.Node) bool {
		if w, ok := n.(*syntax.Word); ok && namesProgram([]string{w.Lit()}, name) {
			own = true
		}
		return !own
	})
	return !own
}

// declareWords is declare or export when it runs through a wrapper.
func declareWords(c *Command) string {
	ops := c.OperandsAfter()
	if len(ops) == 0 {
		c.Hit("environment-dump")
		return secret
	}
	for _, a := range ops {
		if name, value, ok := strings.Cut(a.S, "="); ok {
			assignWord(c.Walk, name, value)
		} else {
			word.Name(c.Walk, a.S)
		}
	}
	return ""
}

func complete(c *Command) string {
	for _, o := range []string{"C", "F"} {
		if v, ok := c.Value(o); ok {
			if o == "C" && c.Name == "complete" {
				c.Hit("program-runs")
			}
			c.Nested(v)
		}
	}
	return unknown
}

func bind(c *Command) string {
	if v, ok := c.Value("x"); ok {
		_, code, _ := strings.Cut(v, ":")
		c.Nested(strings.Trim(code, " \"'"))
	}
	return ""
}

// which is also type, and command -v.
func which(c *Command) string {
	var b strings.Builder
	for _, a := range c.OperandsAfter() {
		b.WriteString("/usr/bin/" + ProgramName(a.S) + "\n")
	}
	return b.String()
}

// processes prints numbers of processes: of all of them, unless it selects.
func processes(c *Command) string {
	ops := c.OperandsAfter("o", "O", "p", "C", "u", "U", "t", "g", "G", "s", "k", "sort", "format")
	selects := c.Has("C", "p", "ppid", "pid") || c.Is("ps") && c.Has("u", "U") && !c.Has("a", "A", "e")
	if !c.Is("ps") {
		selects = len(ops) > 0 && strings.Trim(ops[0].S, "^.*$+ ") != ""
	}
	if selects || c.Is("pidof") {
		return unknown
	}
	return everyProcess + unknown
}

func pwd(c *Command) string {
	v, _ := c.get("PWD")
	return strings.Join(v, "") + "\n"
}

// printenv prints the environment, or variables of it.
func printenv(c *Command) string {
	ops := c.OperandsAfter()
	if len(ops) == 0 {
		if !c.AsksHelp() {
			c.Hit("environment-dump")
		}
		return secret
	}
	out := ""
	for _, a := range ops {
		if zone.SecretName(a.S) {
			c.Hit("secret-shown")
			out = secret
		}
		if list, ok := c.get(a.S); ok && len(ops) == 1 && len(list) == 1 { // the line itself set it
			return out + list[0] + "\n"
		}
	}
	return out + unknown
}

// commandBuiltin runs a command past functions and aliases of its name.
func commandBuiltin(c *Command) string {
	for i, a := range c.List {
		switch {
		case a.S == "--" || a.S == "-p":
		case len(a.S) > 1 && a.S[0] == '-' && strings.Trim(a.S[1:], "pvV") == "":
			return which(c)
		default:
			return execPlain(c, c.List[i:])
		}
	}
	return ""
}

func execPlain(c *Command, args argv.List) string {
	name := args[0].S
	fn, hasFunc := c.funcs[name]
	text, hasAlias := c.aliases[name]
	delete(c.funcs, name)
	delete(c.aliases, name)
	out := c.Exec(args)
	if hasFunc {
		c.funcs[name] = fn
	}
	if hasAlias {
		c.aliases[name] = text
	}
	return out
}
