package walk

import (
	"strconv"
	"strings"

	"github.com/handrail-bot/handrail/policy/shell/code"
	"github.com/handrail-bot/handrail/policy/shell/filter"
	"github.com/handrail-bot/handrail/policy/shell/known"
	"github.com/handrail-bot/handrail/policy/shell/mark"
	"github.com/handrail-bot/handrail/policy/shell/zone"
)

// textTool follows a plain text tool and computes what it prints, as far as
// its input is known.
func textTool(c *Command) string {
	if size, ok := c.Value("c", "bytes"); ok && c.Is("head") && c.filed && HugeSize(size) {
		c.Hit("exhaust")
	}
	return Converted(c, textInput(c))
}

// HugeSize reports whether a size is more than a disk has to spare.
func HugeSize(s string) bool {
	s = strings.TrimLeft(strings.ToUpper(s), "+")
	s = strings.TrimSuffix(strings.TrimSuffix(s, "B"), "I")
	unit := 0
	if len(s) > 0 {
		unit = strings.IndexByte("KMGTPE", s[len(s)-1]) + 1
	}
	n, err := strconv.ParseFloat(strings.TrimRight(s, "KMGTPE"), 64)
	if err != nil {
		return false
	}
	for range unit {
		n *= 1024
	}
	return n >= 20<<30
}

// textInput is what a text tool reads: its files, or the standard input.
func textInput(c *Command) string {
	files := c.OperandsAfter(known.Tables().Takes[c.Name]...)
	switch {
	case c.Is("tr"):
		return c.Stdin()
	case known.In("programmed", c.Name) && !c.Has("e", "expression"): // the first is a program text or a pattern
		files = files.From(1)
	}
	if len(files) == 0 {
		return c.Stdin()
	}
	var b strings.Builder
	for _, a := range files {
		if a.S == "-" {
			b.WriteString(c.Stdin())
			continue
		}
		endless := strings.HasPrefix(a.S, "/dev/zero") || strings.HasPrefix(a.S, "/dev/urandom") || strings.HasPrefix(a.S, "/dev/random")
		if endless && (!c.Is("head") || !c.Has("c", "n")) {
			c.Hit("exhaust")
		}
		b.WriteString(c.ReadFile(a.S))
	}
	return b.String()
}

// everyProcess stands for the numbers of all processes.
const everyProcess = "%all"

// EveryProcessText is what a list of all processes prints.
const EveryProcessText = everyProcess + unknown + "\n"

// EveryProcess reports whether a text has the numbers of all processes.
func EveryProcess(text string) bool { return strings.Contains(text, everyProcess) }

// keepsLines reports whether a text tool passes on every line, or those with a
// number.
func (c *Command) keepsLines() bool {
	text := strings.Join(c.Texts(), " ")
	if strings.HasSuffix(c.Name, "grep") || c.Is("rg") {
		pattern := c.OperandsAfter("e").At(0)
		return strings.Trim(pattern, `^$[0-9]+*.\d{}:igt`) == "" && !c.Has("v") || c.Has("v") && strings.Contains(strings.ToLower(text), "pid")
	}
	return !strings.Contains(text, "/") && !strings.Contains(text, "~") && !strings.Contains(text, "==")
}

// Converted applies a text tool to its input.
func Converted(c *Command, in string) string {
	c.Found.Step(len(in))
	grep := strings.HasSuffix(c.Name, "grep")
	switch {
	case strings.Contains(in, everyProcess) && c.keepsLines():
		return everyProcess + unknown
	case strings.HasSuffix(c.Name, "awk") && strings.HasPrefix(strings.TrimSpace(filter.Program(c.List)), "BEGIN"):
		in = ""
	case grep && c.Has("c", "count", "q", "quiet", "silent"):
		return unknown
	case (grep || c.Is("rg")) && c.Has("l", "files-with-matches", "L", "files-without-match", "files"):
		return "found-" + unknown + "\n"
	case c.Is("cut") && c.Exactly("-d=") && c.Exactly("-f1"):
		return unknown // names, without their values
	case mark.Known(in):
	case c.Is("cat", "head", "tail", "tac", "sort", "uniq", "less", "more", "bat", "pv", "nl"):
		return in
	case c.Is("sed", "gsed", "grep", "tr", "cut", "rg", "egrep", "fgrep") && strings.Trim(in, mark.All+"\n") != "":
		return mark.Opaque(in) + mark.Strip(in)
	default:
		return mark.Opaque(in)
	}
	out, ok := filter.Run(c.Name, c.List, in)
	if !ok {
		return unknown
	}
	return out
}

func tee(c *Command) string {
	in := c.Stdin()
	for _, a := range c.OperandsAfter() {
		if a.S == "-" {
			continue
		}
		for _, p := range c.Places(a) {
			if strings.HasPrefix(p, "/dev/tcp/") && strings.Contains(in, secret) {
				c.Found.Hit("secret-sent", p)
			}
			c.Found.Write(p)
			c.Store(p, in, c.Has("a"))
		}
	}
	return in
}

// pager follows the command a pager is started with.
func pager(c *Command) string {
	for _, a := range c.List {
		if code, ok := strings.CutPrefix(a.S, "+!"); ok {
			c.Runs(c, code)
		}
	}
	return textTool(c)
}

// programFile is the program text of awk or sed that -f names, as far as the
// line itself holds it.
func programFile(c *Command) string {
	file, ok := c.Value("f", "file")
	switch {
	case !ok:
		return ""
	case file == "-" || file == "/dev/stdin":
		return c.Waiting()
	}
	if text := c.ReadFile(file); text != unknown {
		return text
	}
	return ""
}

// sed looks for commands that run programs or write files.
func sed(c *Command) string {
	file := programFile(c)
	if len(c.Line()) > 8192 || len(file) > 1<<16 {
		c.Found.Exhaust()
	}
	if c.Has("i", "in-place") {
		ops := c.OperandsAfter("f", "l", "e", "expression")
		if !c.Has("e", "expression", "f", "file") {
			ops = ops.From(1)
		}
		for _, a := range ops {
			for _, p := range c.Places(a) {
				c.Found.Write(p)
			}
			edited(c, a.S)
		}
	}
	scripts := append([]string{filter.Script(c.List), file}, c.Values("-e", "--expression")...)
	for _, s := range scripts {
		sedScript(c, s)
	}
	return textTool(c)
}

var sedInsert = Lazily(`(?m)^(?:\d+|\$|/[^/]*/)?\s*[iac](?:\\\n|\\|\s)\s*(.+)$`)

// edited remembers what a file holds after it was changed in place: all of it,
// or else what was put into it.
func edited(c *Command, name string) {
	p := c.Resolve(name)
	if text, ok := c.Content[p]; ok && mark.Known(text) {
		if out, ok := filter.Run("sed", c.List, text); ok {
			c.Content[p] = out
			return
		}
	}
	var added strings.Builder
	for _, s := range sedInsert().FindAllStringSubmatch(filter.Script(c.List), 16) {
		added.WriteString(s[1] + "\n")
	}
	if sub, ok := filter.ParseSubstitution(filter.Script(c.List)); ok && Dangerous(ProgramName(FirstWord(sub.With))) && strings.Contains(sub.With, " ") {
		added.WriteString(sub.With + "\n")
	}
	if added.Len() > 0 {
		c.Content[p] = added.String()
	}
}

// sedScript follows what the commands of a sed script run and write.
func sedScript(c *Command, text string) {
	for _, call := range code.Read("sed", text).Calls {
		if target := marked(call.Args[0]); call.Kind == code.Write {
			c.Write(target)
		} else {
			c.Runs(c, target)
		}
	}
}

var codeString = Lazily(`"((?:\\.|[^"\\])*)"`)

// awk looks for code that runs programs or writes files.
func awk(c *Command) string {
	text := filter.Program(c.List) + programFile(c)
	for _, a := range c.List {
		if strings.Contains(a.S, "system") && strings.Contains(a.S, "(") && a.S != text {
			text += "\n" + a.S
		}
	}
	if text != "" && strings.Trim(text, mark.All) == "" {
		c.Hit("opaque-code")
	}
	if strings.Contains(text, "/inet") {
		c.Found.Network = true
		if strings.Contains(text, "getline") {
			c.Hit("reverse-shell")
		} else {
			c.Hit("socket")
		}
	}
	ScanCode(c, assigned(c)+text)
	return textTool(c)
}

// assigned is what the options of awk assign, as the first rule of a program.
func assigned(c *Command) string {
	var b strings.Builder
	for _, v := range c.Values("-v", "--assign") {
		if name, value, ok := strings.Cut(v, "="); ok && mark.Known(value) {
			b.WriteString(name + " = " + strconv.Quote(value) + "\n")
		}
	}
	if b.Len() == 0 {
		return ""
	}
	return "BEGIN {\n" + b.String() + "}\n"
}

// suspectCommand follows a text when it looks like a command.
func suspectCommand(c *Command, text string) {
	if word := FirstWord(text); word != "" && code.Printable(text) && Dangerous(ProgramName(word)) {
		c.Nested(text)
	}
}

// CallText follows the argument of a call in a program text that runs a
// command.
func CallText(c *Command, arg string) {
	lits := codeString().FindAllStringSubmatch(arg, 16)
	if strings.TrimSpace(codeString().ReplaceAllString(arg, "")) != "" || len(lits) == 0 {
		c.Hit("program-runs")
	}
	var b strings.Builder
	for _, l := range lits {
		b.WriteString(filter.Unescape(l[1], false))
	}
	c.Nested(b.String())
}

// grep looks for searches that find credentials outside the workspace.
func grep(c *Command) string {
	ops := c.OperandsAfter("e", "f", "A", "B", "C", "m", "t", "g")
	term, _ := c.Value("e", "regexp")
	if term == "" && len(ops) > 0 {
		term, ops = ops[0].S, ops[1:]
	}
	if c.Has("r", "R", "recursive") || c.Is("rg") {
		for _, a := range ops {
			switch c.ZoneOf(a) {
			case zone.Vital, zone.System, zone.Home, zone.Startup, zone.Outside, zone.Above:
				if zone.Hunts(term) || c.Resolve(a.S) == "~" {
					c.Hit("secret-hunt")
				}
			}
		}
	}
	return textTool(c)
}

func yes(c *Command) string {
	if c.filed {
		c.Hit("exhaust")
	}
	words := strings.Join(c.Texts(), " ")
	if words == "" {
		words = "y"
	}
	return words + "\n" + words + "\n"
}
