package around

import (
	"strings"

	"github.com/handrail-bot/handrail/policy/shell/argv"
	"github.com/handrail-bot/handrail/policy/shell/known"
	"github.com/handrail-bot/handrail/policy/shell/walk"
	"github.com/handrail-bot/handrail/policy/shell/zone"
)

// programSetting is the name of a property or an option that says that its
// value is a program or a command line.
var programSetting = walk.Lazily(`(?i)(?:vettool|exec|executable|command|cmd|runner|launcher|wrapper|linker|tool|program|hook|event|eval|script|browser|editor|pager|shell|compiler|toolexec|extld|run_under|ld|cc|cxx)$`)

// settingArguments is the name of a property with the arguments of a program
// that another property names.
var settingArguments = walk.Lazily(`(?i)\.(?:args|arguments|commandlineArgs)$`)

// namedPrograms follows the programs that properties and options of a tool
// name: -Dx.executable=…, -p:PreBuildEvent=…, -C linker=…, --runtool x.
func namedPrograms(c *walk.Command) {
	if givesTexts(c) {
		return
	}
	program := ""
	for i, a := range c.List {
		name, value, ok := strings.Cut(a.S, "=")
		if !ok && strings.HasPrefix(name, "-") && len(name) > 5 {
			value = c.At(i + 1)
		}
		before := c.At(i - 1)
		setting := strings.HasPrefix(name, "-") || strings.HasPrefix(name, "/p:") || len(before) > 1 && before[0] == '-'
		if !setting || value == "" {
			continue
		}
		nestedSettings(c, value)
		switch {
		case programSetting().MatchString(name):
			program = strings.Join(strings.FieldsFunc(value, func(r rune) bool { return strings.ContainsRune(" [],\"'", r) }), " ")
			namedProgram(c, program)
			namedProgram(c, value)
		case settingArguments().MatchString(name) && program != "":
			namedProgram(c, program+" "+value)
		}
	}
}

// commandAddress is an address or an output that is a command.
var commandAddress = walk.Lazily(`(?i)^(?:\[[^\]]*\]|-)?(?:exec|system|shell|cmd|ext:|pipeto|process):(?:[^\w/.~]{0,3})([\w/.~].*)`)

// commandAddresses follows arguments that name a command where others name a
// file: exec:x, ext::x.
func commandAddresses(c *walk.Command) {
	if givesTexts(c) && !c.Is("git") {
		return
	}
	for i, a := range c.List {
		if strings.HasPrefix(a.S, "scripts.") && i > 0 {
			c.OnlyCritical(argv.Of("sh", "-c", c.At(i+1)), c.Line())
		}
		if m := commandAddress().FindStringSubmatch(a.S); m != nil && !strings.HasPrefix(m[1], "//") && !known.In("project-runners", c.Name) {
			c.Runs(c, m[1])
		}
	}
}

// givesTexts reports whether the arguments of a program are texts or commands
// that have rules of their own.
func givesTexts(c *walk.Command) bool {
	switch {
	case c.Is("go", "cargo", "npm", "pnpm", "yarn"):
		return false
	case known.In("own-options", c.Name), known.In("shells", c.Name):
		return true
	}
	return known.In("named", c.Name) || known.In("text-tools", c.Name)
}

// nestedSettings follows options within the value of an option:
// -ldflags '-extld=x'.
func nestedSettings(c *walk.Command, value string) {
	for part := range strings.FieldsSeq(value) {
		if option, v, ok := strings.Cut(part, "="); ok && strings.HasPrefix(option, "-") && programSetting().MatchString(option) {
			namedProgram(c, v)
		}
	}
}

// namedProgram rates a program that a setting names: what it would do by
// itself, and where it lies.
func namedProgram(c *walk.Command, text string) {
	first := walk.FirstWord(text)
	if first == "" || first[0] == '-' {
		return
	}
	at := zone.Of(c.Resolve(first))
	system := zone.Under(first, "/bin", "/sbin", "/usr/bin", "/usr/sbin") && walk.OneOf(walk.ProgramName(first), "rm", "dd", "shred", "mkfs")
	if strings.Contains(first, "/") && (at == zone.Temp && !strings.HasPrefix(c.Resolve(first), "~") || at == zone.Outside && !strings.HasPrefix(first, "/opt/") || system) {
		c.Hit("program-runs") //control:named-programs
	}
	if walk.Dangerous(walk.ProgramName(first)) {
		c.OnlyCritical(argv.Of("sh", "-c", text), c.Line())
	}
}
