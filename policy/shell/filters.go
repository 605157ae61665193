package shell

import (
	"path"
	"regexp"
	"strings"

	"github.com/handrail-bot/handrail/policy/shell/filter"
	"github.com/handrail-bot/handrail/policy/shell/mark"
	"github.com/handrail-bot/handrail/policy/shell/zone"
)

// textTool follows a plain text tool and computes what it prints, as far as
// its input is known.
func textTool(c *command, f *finding) string {
	if size, ok := c.Value("c", "bytes"); ok && c.is("head") && c.filed && hugeSize(size) {
		f.hit("exhaust", c.line())
	}
	if out, ok := c.Value("o"); ok && c.is("sort") {
		c.write(out)
	}
	return converted(c, f, textInput(c, f))
}

// textInput is what a text tool reads: its files, or the standard input.
func textInput(c *command, f *finding) string {
	files := c.OperandsAfter(tables().takes[c.name]...)
	switch {
	case c.is("tr"):
		return c.stdin()
	case in("programmed", c.name) && !c.Has("e", "expression"): // the first is a program text or a pattern
		files = files.From(1)
	}
	if len(files) == 0 {
		return c.stdin()
	}
	var b strings.Builder
	for _, a := range files {
		if a.S == "-" {
			b.WriteString(c.stdin())
			continue
		}
		endless := strings.HasPrefix(a.S, "/dev/zero") || strings.HasPrefix(a.S, "/dev/urandom") || strings.HasPrefix(a.S, "/dev/random")
		if endless && (!c.is("head") || !c.Has("c", "n")) {
			f.hit("exhaust", c.line())
		}
		b.WriteString(c.readFile(a.S))
	}
	return b.String()
}

// converted applies a text tool to its input.
func converted(c *command, f *finding, in string) string {
	f.step(len(in))
	grep := strings.HasSuffix(c.name, "grep")
	switch {
	case strings.HasSuffix(c.name, "awk") && strings.HasPrefix(strings.TrimSpace(filter.Program(c.List)), "BEGIN"):
		in = ""
	case grep && c.Has("c", "count", "q", "quiet", "silent"):
		return unknown
	case (grep || c.is("rg")) && c.Has("l", "files-with-matches", "L", "files-without-match", "files"):
		return "found-" + unknown + "\n"
	case c.is("cut") && c.Exactly("-d=") && c.Exactly("-f1"):
		return unknown // names, without their values
	case mark.Known(in):
	case c.is("cat", "head", "tail", "tac", "sort", "uniq", "less", "more", "bat", "pv", "nl"):
		return in
	case c.is("sed", "gsed", "grep", "tr", "cut", "rg", "egrep", "fgrep") && strings.Trim(in, mark.All+"\n") != "":
		return mark.Opaque(in) + mark.Strip(in)
	default:
		return mark.Opaque(in)
	}
	out, ok := filter.Run(c.name, c.List, in)
	if !ok {
		return unknown
	}
	return out
}

func tee(c *command, f *finding) string {
	in := c.stdin()
	for _, a := range c.OperandsAfter() {
		if a.S == "-" {
			continue
		}
		for _, p := range c.places(a) {
			if strings.HasPrefix(p, "/dev/tcp/") && strings.Contains(in, secret) {
				f.hit("secret-sent", p)
			}
			f.write(p)
			c.store(p, in, c.Has("a"))
		}
	}
	return in
}

// pager follows the command a pager is started with.
func pager(c *command, f *finding) string {
	for _, a := range c.List {
		if code, ok := strings.CutPrefix(a.S, "+!"); ok {
			c.runs(c, code)
		}
	}
	return textTool(c, f)
}

// programFile is the program text of awk or sed that -f names, as far as the
// line itself holds it.
func programFile(c *command) string {
	file, ok := c.Value("f", "file")
	switch {
	case !ok:
		return ""
	case file == "-" || file == "/dev/stdin":
		return c.waiting()
	}
	if text := c.readFile(file); text != unknown {
		return text
	}
	return ""
}

// sed looks for commands that run programs or write files.
func sed(c *command, f *finding) string {
	if len(c.line()) > 8192 { // each part of it is compared with all of it
		f.exhaust()
	}
	if c.Has("i", "in-place") {
		ops := c.OperandsAfter("f", "l", "e", "expression")
		if !c.Has("e", "expression", "f", "file") {
			ops = ops.From(1)
		}
		for _, a := range ops {
			for _, p := range c.places(a) {
				f.write(p)
			}
		}
	}
	scripts := append([]string{filter.Script(c.List), programFile(c)}, c.Values("-e", "--expression")...)
	for _, s := range scripts {
		for part := range strings.FieldsFuncSeq(s, func(r rune) bool { return strings.ContainsRune(";\n{}", r) }) {
			sedCommand(c, strings.TrimSpace(part))
		}
	}
	return textTool(c, f)
}

var sedAddress = lazily(`^(?:(?:\d+|\$|/(?:\\.|[^/\\])*/|\d+~\d+)\s*[,!]?\s*)+`)

func sedCommand(c *command, s string) {
	s = strings.TrimLeft(sedAddress().ReplaceAllString(s, ""), "! ")
	if s == "" {
		return
	}
	sub, ok := filter.ParseSubstitution(s)
	flags, file, writes := strings.Cut(sub.Flags, "w")
	switch {
	case ok && strings.Contains(flags, "e"):
		c.runs(c, sub.With)
	case ok && writes:
		c.write(strings.TrimSpace(file))
	case ok:
	case s[0] == 'e' && (len(s) == 1 || s[1] == ' '):
		c.runs(c, strings.TrimSpace(s[1:]))
	case (s[0] == 'w' || s[0] == 'W') && len(s) > 1 && s[1] == ' ':
		c.write(strings.TrimSpace(s[1:]))
	}
}

var (
	awkString  = lazily(`"((?:\\.|[^"\\])*)"`)
	awkWrite   = lazily(`print[^;}|]*>>?\s*"([^"]+)"`)
	awkPipe    = lazily(`\|&?\s*"((?:\\.|[^"\\])*)"|"((?:\\.|[^"\\])*)"\s*\|&?\s*getline`)
	awkShell   = lazily(`print\s*\(?\s*"((?:\\.|[^"\\])*)"\s*\)?\s*\|&?\s*"[^"]*\b(?:sh|bash|zsh|dash|ksh)\b`)
	awkToShell = lazily(`\|&?\s*"[^"]*\b(?:sh|bash|zsh|dash|ksh)\b`)
	awkSystem  = lazily(`system\s*\(([^)]*)\)?`)
	awkEnviron = lazily(`ENVIRON\[\s*["']?([A-Za-z_][A-Za-z0-9_]*)`)
)

// awk looks for code that runs programs or writes files.
func awk(c *command, f *finding) string {
	text := filter.Program(c.List) + programFile(c)
	for _, a := range c.List {
		if strings.Contains(a.S, "system") && strings.Contains(a.S, "(") && a.S != text {
			text += "\n" + a.S
		}
	}
	awkRuns(c, f, text)
	if text != "" && strings.Trim(text, mark.All) == "" {
		f.hit("opaque-code", c.line())
	}
	for _, e := range awkEnviron().FindAllStringSubmatch(text, 8) {
		if zone.SecretName(e[1]) {
			f.hit("secret-shown", e[1])
		}
	}
	if strings.Contains(text, " in ENVIRON") {
		f.hit("environment-dump", "awk")
	}
	for _, s := range awkWrite().FindAllStringSubmatch(text, 8) {
		c.write(s[1])
	}
	if strings.Contains(text, "/inet") {
		f.network = true
		if strings.Contains(text, "getline") {
			f.hit("reverse-shell", c.line())
		} else {
			f.hit("socket", c.line())
		}
	}
	return textTool(c, f)
}

func awkRuns(c *command, f *finding, text string) {
	runs, toShell := awkSystem().MatchString(text), awkToShell().MatchString(text)
	if (runs || toShell) && strings.Contains(c.waiting(), remote) {
		f.hit("remote-code", c.line())
	}
	if v, ok := c.Value("v"); ok && runs {
		_, v, _ = strings.Cut(v, "=")
		suspectCommand(c, v)
	}
	for _, s := range awkSystem().FindAllStringSubmatch(text, 8) {
		f.hit("program-runs", c.line())
		callText(c, f, s[1])
		if strings.Trim(awkString().ReplaceAllString(s[1], ""), " ") != "" {
			for _, l := range awkString().FindAllStringSubmatch(text, 16) {
				suspectCommand(c, filter.Unescape(l[1], false))
			}
		}
	}
	if toShell && !awkShell().MatchString(text) {
		f.hit("program-runs", c.line())
	}
	for _, pattern := range []*regexp.Regexp{awkShell(), awkPipe()} {
		for _, s := range pattern.FindAllStringSubmatch(text, 8) {
			c.nested(filter.Unescape(strings.Join(s[1:], ""), false))
		}
	}
}

// suspectCommand follows a text when it looks like a command.
func suspectCommand(c *command, text string) {
	if word := firstWord(text); word != "" && printable(text) && dangerous(programName(word)) {
		c.nested(text)
	}
}

// printable reports whether a text has only characters that print.
func printable(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(c rune) bool {
		return c < ' ' && c != '\n' && c != '\t' || c == 0x7f || c == '\uFFFD'
	})
}

// callText follows the argument of a call in a program text that runs a
// command.
func callText(c *command, f *finding, arg string) {
	lits := awkString().FindAllStringSubmatch(arg, 16)
	if strings.TrimSpace(awkString().ReplaceAllString(arg, "")) != "" || len(lits) == 0 {
		f.hit("program-runs", c.line())
	}
	var b strings.Builder
	for _, l := range lits {
		b.WriteString(filter.Unescape(l[1], false))
	}
	c.nested(b.String())
}

// grep looks for searches that find credentials outside the workspace.
func grep(c *command, f *finding) string {
	ops := c.OperandsAfter("e", "f", "A", "B", "C", "m", "t", "g")
	term, _ := c.Value("e", "regexp")
	if term == "" && len(ops) > 0 {
		term, ops = ops[0].S, ops[1:]
	}
	if c.Has("r", "R", "recursive") || c.is("rg") {
		for _, a := range ops {
			switch c.zoneOf(a) {
			case zone.Vital, zone.System, zone.Home, zone.Startup, zone.Outside, zone.Above:
				if zone.Hunts(term) || c.resolve(a.S) == "~" {
					f.hit("secret-hunt", c.line())
				}
			}
		}
	}
	return textTool(c, f)
}

// pathTool is basename, dirname, realpath and readlink.
func pathTool(c *command, _ *finding) string {
	ops := c.OperandsAfter("s", "relative-to")
	if len(ops) == 0 {
		return unknown
	}
	if c.is("basename") && len(ops) == 2 && mark.Known(ops[0].S) {
		return strings.TrimSuffix(path.Base(ops[0].S), ops[1].S) + "\n"
	}
	var b strings.Builder
	for _, a := range ops {
		switch {
		case !mark.Known(a.S):
			b.WriteString(mark.Opaque(a.S))
		case c.is("basename"):
			b.WriteString(path.Base(a.S))
		case c.is("dirname"):
			b.WriteString(path.Dir(a.S))
		default:
			b.WriteString(c.resolve(a.S))
		}
		b.WriteString("\n")
	}
	return b.String()
}

func makeTemp(_ *command, _ *finding) string { return "/tmp/tmp." + unknown + "\n" }

func date(c *command, f *finding) string {
	if c.Has("s", "set") {
		f.hit("machine-settings", c.line())
	}
	return unknown
}

func yes(c *command, f *finding) string {
	if c.filed {
		f.hit("exhaust", c.line())
	}
	words := strings.Join(c.Texts(), " ")
	if words == "" {
		words = "y"
	}
	return words + "\n" + words + "\n"
}

func sequence(c *command, _ *finding) string {
	out, ok := filter.Sequence(c.List)
	if !ok {
		return unknown
	}
	return out
}

var jqEnviron = lazily(`(?:^|[^.\w"$])(?:\$ENV|env)\b(\.[A-Za-z_]\w*)?(\s*:)?`)

// jq looks for the environment in its program text.
func jq(c *command, f *finding) string {
	program := c.OperandsAfter("arg", "argjson", "indent", "f", "from-file").At(0)
	for _, s := range jqEnviron().FindAllStringSubmatch(program, 8) {
		switch {
		case s[2] != "":
		case s[1] == "":
			f.hit("environment-dump", c.line())
			return secret + unknown
		case zone.SecretName(s[1]):
			f.hit("secret-shown", c.line())
			return secret + unknown
		}
	}
	return unknown
}
