package rules

import (
	"cmp"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/handrail-bot/handrail/policy/shell/argv"
	"github.com/handrail-bot/handrail/policy/shell/code/decode"
	"github.com/handrail-bot/handrail/policy/shell/known"
	"github.com/handrail-bot/handrail/policy/shell/mark"
	"github.com/handrail-bot/handrail/policy/shell/walk"
	"github.com/handrail-bot/handrail/policy/shell/zone"
)

var shellTakes = []string{"o", "O", "rcfile", "init-file"}

// shell follows a shell: its program text, its script, or its input.
func shell(c *walk.Command) string {
	if c.AsksHelp() {
		return unknown
	}
	for _, o := range shellTakes[2:] {
		if file, ok := c.Value(o); ok {
			shellScript(c.With(c.Name, argv.Of(file)), argv.Of(file))
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
		return shellScript(c, ops)
	}
	return shellInput(c, ops)
}

// shellInput follows a shell that reads its input.
func shellInput(c *walk.Command, ops argv.List) string {
	switch {
	case c.Has("i"):
		if c.Given() {
			c.StdinProgram()
		}
		return shellSession
	case !c.Given():
		return ""
	}
	if ops.At(0) == "-" {
		ops = ops[1:]
	}
	return c.WithPositions(ops, len(ops) == 0, c.StdinProgram)
}

// shellLetters are the letters of the options before the first operand.
func shellLetters(c *walk.Command) string {
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

var (
	setsValue = walk.Lazily(`(^|[;\n{]\s*)(?:set(?:\s+-\w+)*|let|mut|var|const)\s+(\w+)(?:\s*=\s*|\s+)([^;\n]+)`)
	program   = walk.Lazily(`\^(\w)`)
)

// asPosix is a program of a shell that is no POSIX shell, with its assignments
// and calls written as those have them.
func asPosix(text string) string {
	text = program().ReplaceAllString(setsValue().ReplaceAllString(text, "$1$2=$3"), "$1")
	return strings.ReplaceAll(text, "http get ", "curl -s ")
}

func shellText(c *walk.Command, ops argv.List) string {
	zero := c.Zero
	if len(ops) > 1 {
		c.Zero = ops[1].S
	}
	out := c.WithPositions(ops.From(2), len(ops) < 3, func() string { return c.Nested(ops[0].S) })
	if c.Is("fish", "nu", "elvish", "xonsh") {
		c.OnlyCritical(argv.Of("sh", "-c", asPosix(ops[0].S)), c.Line())
	}
	if c.Is("xonsh") { // Python, too
		c.OnlyCritical(argv.Of("python3", "-c", ops[0].S), c.Line())
	}
	c.Zero = zero
	return out
}

func shellScript(c *walk.Command, ops argv.List) string {
	name := ops[0].S
	if strings.Contains(name, remote) {
		c.Hit("remote-code")
	}
	text, own := c.File(name)
	if !own && (!mark.Known(name) || ops[0].Pat != "") {
		c.Hit("unknown-code")
		return unknown
	}
	if walk.GlobIn(name) != "" {
		c.Hit("many-scripts")
	}
	p := c.Resolve(name)
	switch {
	case own:
		if strings.Trim(text, unknown) == "" && text != "" {
			c.Hit("opaque-code")
		}
		return c.Script(name, text, ops[1:])
	case strings.HasPrefix(p, "/dev/") || strings.HasPrefix(p, "/proc/"):
		c.In = &walk.Input{Text: c.ReadFile(name)}
		return c.StdinProgram()
	case c.ReadSecret(p) == remote:
		c.Hit("remote-code")
	}
	return unknown
}

// language follows the interpreter of another language.
func language(c *walk.Command) string {
	if c.Is("bun", "deno") && len(c.List) > 0 && !c.Exactly("run", "eval", "-e", "-p", "--eval", "test", "-") && !strings.Contains(c.At(0), ".") {
		if c.Is("bun") {
			return packageTool(c)
		}
		return subcommands(c)
	}
	if address, ok := c.Value("S"); ok && c.Is("php") {
		return phpServer(c, address)
	}
	if c.AsksHelp() || len(c.List) == 1 && c.Exactly("--version", "-V") {
		return unknown
	}
	if mod, ok := c.Value("m"); ok && (c.Is("python") || strings.HasPrefix(c.Name, "pypy")) {
		return pythonModule(c, mod)
	}
	if code, ok := encodedCommand(c); ok {
		c.Hit("opaque-code")
		return unknown + walk.ScanCode(c, code)
	}
	editsInPlace(c)
	if code, ok := inlineCode(c); ok {
		return walk.ScanCode(c, code) + c.PassOn()
	}
	if at := c.Index("eval"); c.Is("deno", "bun", "crystal") && at >= 0 && at+1 < len(c.List) {
		lang := map[string]string{"crystal": "ruby"}[c.Name]
		walk.ScanCode(c.With(cmp.Or(lang, "node"), nil), c.At(at+1))
		return unknown
	}
	return languageFile(c)
}

// phpServer is php as a web server.
func phpServer(c *walk.Command, address string) string {
	if !zone.Local(address) || strings.HasPrefix(address, "0.0.0.0") {
		c.Found.Network = true
		c.Hit("listens")
	}
	return unknown
}

// languageFile follows an interpreter that reads a file, or its input.
func languageFile(c *walk.Command) string {
	ops := c.OperandsAfter("W", "X", "r", "I", "l", "d", "require", "import", "loader", "C")
	if len(ops) > 1 && strings.HasSuffix(ops[0].S, "setup.py") && c.Exactly("upload", "register") {
		c.Hit("publish")
	}
	if c.Is("deno", "bun") && walk.OneOf(ops.At(0), "run", "test", "task") {
		ops = ops[1:]
	}
	if len(ops) == 0 || ops[0].S == "-" {
		if c.Given() {
			return unknown + walk.ScanCode(c, c.Stdin())
		}
		return unknown
	}
	name := ops[0].S
	if c.Is("php", "python", "ruby") {
		databaseTask(c.With(walk.ProgramName(name), c.From(c.Index(name)+1)))
	}
	walk.CodeFile(c, name)
	return unknown
}

// editsInPlace records the files that perl or ruby changes.
func editsInPlace(c *walk.Command) {
	if !c.Is("perl", "ruby") || !c.Has("i") {
		return
	}
	for _, a := range c.OperandsAfter("e", "E", "M", "I", "r") {
		c.Write(a.S)
	}
}

// encodedCommand is the program that PowerShell is given in base64, of text in
// UTF-16. Any beginning of the option's name will do.
func encodedCommand(c *walk.Command) (string, bool) {
	if !c.Is("pwsh", "powershell") {
		return "", false
	}
	for i, a := range c.List {
		name := strings.ToLower(strings.TrimLeft(a.S, "-/"))
		if a.S == "" || !strings.Contains("-/", a.S[:1]) || name == "" || !strings.HasPrefix("encodedcommand", name) && name != "ec" {
			continue
		}
		if text, ok := decode.Text("utf-16", c.At(i+1)); ok {
			return text, true
		}
		return unknown, true
	}
	return "", false
}

// finder is fzf: it runs what its options bind and preview.
func finder(c *walk.Command) string {
	for _, v := range c.Values("--preview", "--bind") {
		_, code, ok := strings.Cut(v, "(")
		if !ok {
			code = v[strings.LastIndexByte(v, ':')+1:]
		}
		c.Nested(strings.TrimSuffix(code, ")"))
	}
	return c.PassOn()
}

// inlineCode collects every program text on the command line.
func inlineCode(c *walk.Command) (string, bool) {
	var all []string
	args := c.List
	if end := c.Index("--"); end >= 0 {
		args = args[:end]
	}
	for i, a := range args {
		for _, n := range known.Tables().Code[c.Name] {
			if text, ok := codeOption(args.From(i+1), a.S, n); ok {
				all = append(all, text)
			}
		}
	}
	flag := map[string]string{"perl": "-M", "ruby": "-r"}[c.Name]
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

func pythonModule(c *walk.Command, mod string) string {
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
	m := c.With(mod, rest)
	switch mod {
	case "http.server", "SimpleHTTPServer":
		c.Found.Network = true
		if v, ok := m.Value("b", "bind"); !ok || v == "0.0.0.0" || !zone.Local(v) {
			c.Hit("listens")
		}
	case "smtpd", "ftplib", "telnetlib", "pyftpdlib":
		c.Found.Network = true
		c.Hit("listens")
	case "pip", "twine", "poetry", "build", "pipx", "uv", "hatch", "flit", "conda":
		return c.RuleOf(m)(m)
	case "base64":
		if c.Given() && m.Has("d") {
			return walk.Converted(m, c.Stdin())
		}
	case "timeit", "trace", "pdb", "cProfile", "profile", "runpy":
		for _, a := range rest {
			if strings.ContainsAny(a.S, "( ") {
				walk.ScanCode(c.With("python", nil), a.S)
			}
		}
	}
	return unknown
}

// editor follows the commands an editor is started with.
func editor(c *walk.Command) string {
	for i, a := range c.List {
		s := a.S
		if (len(s) > 1 && s[0] == '-' && s[1] != '-' && strings.HasSuffix(s, "c") || walk.OneOf(s, "--cmd", "--eval", "-eval")) && i+1 < len(c.List) {
			s = c.At(i + 1)
		} else if !strings.HasPrefix(s, "+") {
			continue
		}
		editorCommand(c, strings.TrimLeft(s, "+: "))
	}
	if !c.Given() || !c.Is("ed", "ex") && !c.Has("s") {
		return unknown
	}
	script := c.Stdin()
	if ops := c.OperandsAfter("c", "cmd", "u"); len(ops) > 0 && c.Is("ed", "ex") && c.ReadFile(ops[0].S) == unknown {
		c.Store(c.Resolve(ops[0].S), script, false)
	}
	for l := range strings.SplitSeq(script, "\n") {
		editorCommand(c, strings.TrimSpace(l))
	}
	for _, a := range c.OperandsAfter("c", "cmd", "u") {
		if c.Is("ed", "ex") {
			c.Write(a.S)
		}
	}
	return unknown
}

func editorCommand(c *walk.Command, s string) {
	if c.Is("emacs") {
		walk.ScanCode(c.With("emacs", nil), s)
	}
	before, code, ok := strings.Cut(s, "!")
	if ok && (walk.OneOf(before, "", "%", "r ", "w ") || strings.HasPrefix(s, "sil")) {
		c.Runs(c, code)
	}
	if cmd, file, ok := strings.Cut(s, " "); ok && file != "" && walk.OneOf(strings.TrimRight(cmd, "!"), "w", "wq", "x", "write", "saveas", "sav", "up", "update") {
		c.Write(strings.TrimSpace(file))
	}
	if strings.Contains(s, "system(") || strings.Contains(s, "shell-command") || strings.Contains(s, "call-process") {
		c.Hit("program-runs")
		walk.CallText(c, s)
	}
}

func debugger(c *walk.Command) string {
	if c.Exactly("-p", "--pid", "attach") {
		c.Hit("process-memory")
	}
	for _, s := range c.Values("-ex", "-eval-command", "--eval-command", "-o") {
		s = strings.TrimSpace(s)
		for _, p := range []string{"shell ", "!", "platform shell ", "pipe | "} {
			if rest, ok := strings.CutPrefix(s, p); ok {
				c.Runs(c, rest)
			}
		}
		for _, p := range []string{"python ", "py ", "python-interactive ", "pi ", "script "} {
			if rest, ok := strings.CutPrefix(s, p); ok {
				c.Hit("program-runs")
				walk.ScanCode(c.With("python", nil), rest)
			}
		}
	}
	if at := c.Index("--args"); at >= 0 && at+1 < len(c.List) {
		c.Exec(c.List[at+1:])
	}
	return unknown
}

// calculator is dc, which runs the lines that begin with a "!".
func calculator(c *walk.Command) string {
	for l := range strings.SplitSeq(strings.Join(c.Texts(), "\n")+"\n"+c.Waiting(), "\n") {
		if code, ok := strings.CutPrefix(strings.TrimSpace(l), "!"); ok {
			c.Runs(c, code)
		}
	}
	return unknown
}

var macroCall = walk.Lazily("e?syscmd\\(\\s*[`']?([^')]*)")

// macros is m4.
func macros(c *walk.Command) string {
	text := strings.Join(c.Texts(), "\n") + c.GivenText()
	for _, s := range macroCall().FindAllStringSubmatch(text, 8) {
		c.Runs(c, s[1])
	}
	return unknown
}

// manual is man and info.
func manual(c *walk.Command) string {
	programs := c.Values("-P", "--pager")
	for _, a := range c.List {
		for _, o := range []string{"-H", "-P", "--html="} {
			if v, ok := strings.CutPrefix(a.S, o); ok && v != "" {
				programs = append(programs, strings.TrimPrefix(v, "="))
			}
		}
	}
	for _, p := range programs {
		if c.Is("man") && !walk.OneOf(walk.ProgramName(p), "cat", "less", "more") {
			c.Runs(c, p)
		}
	}
	return unknown
}

// compiler looks at a program that the command line itself holds.
func compiler(c *walk.Command) string {
	text := ""
	if c.Exactly("-") {
		text = c.GivenText()
	}
	for _, a := range c.OperandsAfter("o", "x", "I", "L", "l", "D") {
		own, _ := c.File(a.S)
		text += own
	}
	if text != "" {
		walk.ScanCode(c.With("c", nil), text)
	}
	return unknown
}

// builder is for compilers whose other sub-commands are in the tables.
func builder(c *walk.Command) string {
	ownSource(c, c.Name, c.OperandsAfter())
	virtualMachine(c)
	databaseTask(c)
	return subcommands(c)
}

// virtualMachine follows the options with which java runs a program when it
// fails.
func virtualMachine(c *walk.Command) {
	for _, a := range c.List {
		if option, v, ok := strings.Cut(a.S, "="); ok && walk.OneOf(option, "-XX:OnError", "-XX:OnOutOfMemoryError") {
			c.Runs(c, v)
		}
	}
}

// ownSource looks at sources that the command line itself wrote, or gives on
// standard input.
func ownSource(c *walk.Command, lang string, files argv.List) {
	for _, a := range files {
		text, _ := c.File(a.S)
		switch {
		case a.S == "-" && c.Given():
			text = c.Stdin()
		case text == "" && (lang == "go" || a.S == "."):
			dir := c.Resolve(strings.TrimSuffix(a.S, "/..."))
			for _, name := range slices.Sorted(maps.Keys(c.Content)) {
				if strings.HasSuffix(name, "."+lang) && (path.Dir(name) == dir || strings.HasSuffix(a.S, "/...") && zone.Under(path.Dir(name), dir)) {
					text += c.Content[name]
				}
			}
		}
		if text != "" {
			walk.ScanCode(c.With(lang, nil), text)
		}
	}
}
