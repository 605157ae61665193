package shell

import (
	"maps"
	"slices"
	"strings"

	"github.com/handrail-bot/handrail/policy/shell/argv"
	"github.com/handrail-bot/handrail/policy/shell/mark"
	"github.com/handrail-bot/handrail/policy/shell/zone"
)

var shellTakes = []string{"o", "O", "rcfile", "init-file"}

// shell follows a shell: its program text, its script, or its input.
func shell(c *command, f *finding) string {
	if c.asksHelp() {
		return unknown
	}
	for _, o := range shellTakes[2:] {
		if file, ok := c.Value(o); ok {
			shellScript(c.with(c.name, argv.Of(file)), f, argv.Of(file))
		}
	}
	ops := c.OperandsAfter(shellTakes...)
	for len(ops) > 1 && len(ops[0].S) > 1 && ops[0].S[0] == '+' {
		ops = ops[1:]
	}
	letters := shellLetters(c)
	program := strings.Contains(letters, "c")
	for _, a := range c.List {
		program = program || strings.HasPrefix(a.S, "-") && !mark.Known(a.S) || a.S == "--command"
	}
	switch {
	case program && len(ops) > 0:
		return shellText(c, ops)
	case strings.Contains(letters, "n") && !program:
		return ""
	case len(ops) > 0 && !strings.Contains(letters, "s") && ops[0].S != "-":
		return shellScript(c, f, ops)
	}
	return shellInput(c, ops)
}

// shellInput follows a shell that reads its input.
func shellInput(c *command, ops argv.List) string {
	switch {
	case c.Has("i"):
		if c.given() {
			c.stdinProgram()
		}
		return shellSession
	case !c.given():
		return ""
	}
	if ops.At(0) == "-" {
		ops = ops[1:]
	}
	return c.withPositions(ops, len(ops) == 0, c.stdinProgram)
}

// shellLetters are the letters of the options before the first operand.
func shellLetters(c *command) string {
	letters := ""
	for i := 0; i < len(c.List); i++ {
		s := c.At(i)
		if s == "+o" || s == "+O" {
			i++
			continue
		}
		if len(s) < 2 || s[0] != '-' && s[0] != '+' || s == "--" {
			break
		}
		if argv.Takes(s, shellTakes) {
			i++
		}
		if s[1] != '-' {
			letters += s
		}
	}
	return letters
}

func shellText(c *command, ops argv.List) string {
	zero := c.zero
	if len(ops) > 1 {
		c.zero = ops[1].S
	}
	out := c.withPositions(ops.From(2), len(ops) < 3, func() string { return c.nested(ops[0].S) })
	c.zero = zero
	return out
}

func shellScript(c *command, f *finding, ops argv.List) string {
	name := ops[0].S
	if strings.Contains(name, remote) {
		f.hit("remote-code", c.line())
	}
	text, own := c.file(name)
	if !own && (!mark.Known(name) || ops[0].Pat != "") {
		f.hit("unknown-code", c.line())
		return unknown
	}
	if globIn(name) != "" {
		f.hit("many-scripts", c.line())
	}
	p := c.resolve(name)
	switch {
	case own:
		if strings.Trim(text, unknown) == "" && text != "" {
			f.hit("opaque-code", c.line())
		}
		return c.script(name, text, ops[1:])
	case strings.HasPrefix(p, "/dev/") || strings.HasPrefix(p, "/proc/"):
		c.in = &input{text: c.readFile(name)}
		return c.stdinProgram()
	case c.readSecret(p) == remote:
		f.hit("remote-code", c.line())
	}
	return unknown
}

// language follows the interpreter of another language.
func language(c *command, f *finding) string {
	if c.is("bun", "deno") && len(c.List) > 0 && !c.Exactly("run", "eval", "-e", "-p", "--eval", "test", "-") && !strings.Contains(c.At(0), ".") {
		if c.is("bun") {
			return packageTool(c, f)
		}
		return subcommands(c, f)
	}
	if address, ok := c.Value("S"); ok && c.is("php") {
		return phpServer(c, f, address)
	}
	if c.asksHelp() || len(c.List) == 1 && c.Exactly("--version", "-V") {
		return unknown
	}
	if mod, ok := c.Value("m"); ok && (c.is("python") || strings.HasPrefix(c.name, "pypy")) {
		return pythonModule(c, f, mod)
	}
	if code, ok := inlineCode(c); ok {
		scanCode(c, f, code)
		return c.passOn()
	}
	if at := c.Index("eval"); c.is("deno", "bun", "crystal") && at >= 0 && at+1 < len(c.List) {
		scanCode(c.with("node", nil), f, c.At(at+1))
		return unknown
	}
	return languageFile(c, f)
}

// phpServer is php as a web server.
func phpServer(c *command, f *finding, address string) string {
	if !zone.Local(address) || strings.HasPrefix(address, "0.0.0.0") {
		f.network = true
		f.hit("listens", c.line())
	}
	return unknown
}

// languageFile follows an interpreter that reads a file, or its input.
func languageFile(c *command, f *finding) string {
	ops := c.OperandsAfter("W", "X", "r", "I", "l", "d", "require", "import", "loader", "C")
	if len(ops) > 1 && strings.HasSuffix(ops[0].S, "setup.py") && c.Exactly("upload", "register") {
		f.hit("publish", c.line())
	}
	if c.is("deno", "bun") && oneOf(ops.At(0), "run", "test", "task") {
		ops = ops[1:]
	}
	if len(ops) == 0 || ops[0].S == "-" {
		if c.given() {
			scanCode(c, f, c.stdin())
		}
		return unknown
	}
	codeFile(c, f, ops[0].S)
	return unknown
}

// inlineCode collects every program text on the command line.
func inlineCode(c *command) (string, bool) {
	var all []string
	args := c.List
	if end := c.Index("--"); end >= 0 {
		args = args[:end]
	}
	for i, a := range args {
		for _, n := range tables().code[c.name] {
			if text, ok := codeOption(args.From(i+1), a.S, n); ok {
				all = append(all, text)
			}
		}
	}
	flag := map[string]string{"perl": "-M", "ruby": "-r"}[c.name]
	for _, a := range c.List {
		if len(all) > 0 && flag != "" && strings.HasPrefix(a.S, flag) {
			all = append(all, "use "+a.S[len(flag):]) // a library that the text calls
		}
	}
	return strings.Join(all, "\n"), len(all) > 0
}

// codeOption is the program text that an option holds, here or in the next
// argument.
func codeOption(next argv.List, s, name string) (string, bool) {
	if len(name) > 1 {
		if s == "--"+name || s == "-"+name {
			return next.At(0), len(next) > 0
		}
		return strings.CutPrefix(s, "--"+name+"=")
	}
	switch {
	case len(s) < 2 || s[0] != '-':
		return "", false
	case s[1] != '-' && strings.HasSuffix(s, name):
		return next.At(0), len(next) > 0
	}
	return s[2:], strings.HasPrefix(s, "-"+name) && len(s) > 2
}

func codeFile(c *command, f *finding, name string) {
	if c.is("php", "python", "ruby") {
		databaseTask(c.with(programName(name), c.From(c.Index(name)+1)), f)
	}
	text, own := c.file(name)
	switch {
	case strings.Contains(name, remote) || strings.Contains(name, "://"):
		f.network = true
		f.hit("remote-code", c.line())
	case strings.HasPrefix(name, unknown) || strings.HasPrefix(name, "found-"+unknown) || strings.HasSuffix(name, "/found-"+unknown):
		f.hit("unknown-code", c.line())
	case globIn(name) != "":
		f.hit("many-scripts", c.line())
	case own:
		scanCode(c, f, text)
	case strings.HasPrefix(name, "/dev/stdin") && c.given():
		scanCode(c, f, c.stdin())
	case c.readSecret(c.resolve(name)) == remote:
		f.hit("remote-code", c.line())
	}
}

func pythonModule(c *command, f *finding, mod string) string {
	var rest argv.List
	for i, a := range c.List {
		if a.S == "-m" {
			rest = c.From(i + 2)
			break
		}
		if strings.HasPrefix(a.S, "-m") {
			rest = c.From(i + 1)
			break
		}
	}
	m := c.with(mod, rest)
	switch mod {
	case "http.server", "SimpleHTTPServer":
		f.network = true
		if v, ok := m.Value("b", "bind"); !ok || v == "0.0.0.0" || !zone.Local(v) {
			f.hit("listens", c.line())
		}
	case "smtpd", "ftplib", "telnetlib", "pyftpdlib":
		f.network = true
		f.hit("listens", c.line())
	case "pip", "twine", "poetry", "build", "pipx", "uv", "hatch", "flit", "conda":
		return c.ruleOf(m)(m, f)
	case "base64":
		if c.given() && m.Has("d") {
			return converted(m, f, c.stdin())
		}
	case "timeit", "trace", "pdb", "cProfile", "profile", "runpy":
		for _, a := range rest {
			if strings.ContainsAny(a.S, "( ") {
				scanCode(c.with("python", nil), f, a.S)
			}
		}
	}
	return unknown
}

// editor follows the commands an editor is started with.
func editor(c *command, f *finding) string {
	for i, a := range c.List {
		s := a.S
		if (len(s) > 1 && s[0] == '-' && s[1] != '-' && strings.HasSuffix(s, "c") || oneOf(s, "--cmd", "--eval", "-eval")) && i+1 < len(c.List) {
			s = c.At(i + 1)
		} else if !strings.HasPrefix(s, "+") {
			continue
		}
		editorCommand(c, f, strings.TrimLeft(s, "+: "))
	}
	if !c.given() || !c.is("ed", "ex") && !c.Has("s") {
		return unknown
	}
	for l := range strings.SplitSeq(c.stdin(), "\n") {
		editorCommand(c, f, strings.TrimSpace(l))
	}
	for _, a := range c.OperandsAfter("c", "cmd", "u") {
		if c.is("ed", "ex") {
			c.write(a.S)
		}
	}
	return unknown
}

func editorCommand(c *command, f *finding, s string) {
	before, code, ok := strings.Cut(s, "!")
	if ok && (oneOf(before, "", "%", "r ", "w ") || strings.HasPrefix(s, "sil")) {
		c.runs(c, code)
	}
	if cmd, file, ok := strings.Cut(s, " "); ok && file != "" && oneOf(strings.TrimRight(cmd, "!"), "w", "wq", "x", "write", "saveas", "sav", "up", "update") {
		c.write(strings.TrimSpace(file))
	}
	if strings.Contains(s, "system(") || strings.Contains(s, "shell-command") || strings.Contains(s, "call-process") {
		f.hit("program-runs", c.line())
		callText(c, f, s)
	}
}

func debugger(c *command, f *finding) string {
	if c.Exactly("-p", "--pid", "attach") {
		f.hit("process-memory", c.line())
	}
	for _, s := range c.Values("-ex", "-eval-command", "--eval-command", "-o") {
		s = strings.TrimSpace(s)
		for _, p := range []string{"shell ", "!", "python ", "platform shell "} {
			if rest, ok := strings.CutPrefix(s, p); ok {
				c.runs(c, rest)
			}
		}
	}
	if at := c.Index("--args"); at >= 0 && at+1 < len(c.List) {
		c.exec(c.List[at+1:])
	}
	return unknown
}

// calculator is dc, which runs the lines that begin with a "!".
func calculator(c *command, _ *finding) string {
	for l := range strings.SplitSeq(strings.Join(c.Texts(), "\n")+"\n"+c.waiting(), "\n") {
		if code, ok := strings.CutPrefix(strings.TrimSpace(l), "!"); ok {
			c.runs(c, code)
		}
	}
	return unknown
}

var macroCall = lazily("e?syscmd\\(\\s*[`']?([^')]*)")

// macros is m4.
func macros(c *command, _ *finding) string {
	text := strings.Join(c.Texts(), "\n") + c.givenText()
	for _, s := range macroCall().FindAllStringSubmatch(text, 8) {
		c.runs(c, s[1])
	}
	return unknown
}

// manual is man and info.
func manual(c *command, _ *finding) string {
	programs := c.Values("-P", "--pager")
	for _, a := range c.List {
		for _, o := range []string{"-H", "-P", "--html="} {
			if v, ok := strings.CutPrefix(a.S, o); ok && v != "" {
				programs = append(programs, strings.TrimPrefix(v, "="))
			}
		}
	}
	for _, p := range programs {
		if c.is("man") && !oneOf(programName(p), "cat", "less", "more") {
			c.runs(c, p)
		}
	}
	return unknown
}

// compiler looks at a program that the command line itself holds.
func compiler(c *command, f *finding) string {
	text := ""
	if c.Exactly("-") {
		text = c.givenText()
	}
	for _, a := range c.OperandsAfter("o", "x", "I", "L", "l", "D") {
		own, _ := c.file(a.S)
		text += own
	}
	if text != "" {
		scanCode(c.with("c", nil), f, text)
	}
	if v, ok := c.Value("o"); ok {
		c.write(v)
	}
	return unknown
}

// builder is for compilers whose other sub-commands are in the tables.
func builder(c *command, f *finding) string {
	ownSource(c, f, c.name, c.OperandsAfter())
	return subcommands(c, f)
}

// ownSource looks at sources that the command line itself wrote, or gives on
// standard input.
func ownSource(c *command, f *finding, lang string, files argv.List) {
	for _, a := range files {
		text, _ := c.file(a.S)
		switch {
		case a.S == "-" && c.given():
			text = c.stdin()
		case text == "" && (a.S == "." || a.S == "./..."):
			for _, name := range slices.Sorted(maps.Keys(c.content)) {
				if strings.HasSuffix(name, "."+lang) && !strings.Contains(name, "/") {
					text += c.content[name]
				}
			}
		}
		if text != "" {
			scanCode(c.with(lang, nil), f, text)
		}
	}
}
