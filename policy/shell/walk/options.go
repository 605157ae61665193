package walk

import (
	"slices"
	"strings"

	"github.com/handrail-bot/handrail/policy/shell/argv"
	"github.com/handrail-bot/handrail/policy/shell/known"
	"github.com/handrail-bot/handrail/policy/shell/mark"
)

// optionPrograms follows the programs and the files that options of a tool
// name.
func optionPrograms(c *Command) {
	for _, t := range known.Tables().Options[c.Name] {
		for _, o := range t.Options {
			namedByOption(c, t.Kind, o)
		}
	}
	runningShapes(c)
	switch {
	case c.Is("php") && c.Says("auto_prepend_file", "auto_append_file"),
		c.Is("apt", "apt-get", "dpkg", "aptitude") && c.Says("-Invoke", "pre-invoke", "post-invoke"):
		c.Hit("program-runs")
	case c.Is("cargo") && c.Says("--config") && c.Says("runner", "wrapper", "linker"):
		c.Hit("program-runs")
		_, v, _ := strings.Cut(c.Line(), "=")
		c.OnlyCritical(argv.Of("sh", "-c", strings.Trim(v, "\"' ")), c.Line())
	}
}

func namedByOption(c *Command, kind, option string) {
	switch kind {
	case "run":
		if value, ok := optionValue(c, option); ok {
			Packer(c, value)
		}
	case "load":
		if _, ok := optionValue(c, option); ok || len(option) > 1 && c.Exactly("-"+option, "--"+option) {
			c.Hit("program-runs")
		}
	case "text":
		if value, ok := c.Value(option); ok {
			c.Nested(value)
		}
	case "writes":
		if value, ok := c.Value(option); ok {
			c.Write(value)
		}
	}
}

// optionValue is the value of an option of the tables: a single letter stands
// alone.
func optionValue(c *Command, o string) (string, bool) {
	value, ok := c.Value(o)
	if len(o) == 1 {
		return value, ok && c.Exactly("-"+o)
	}
	if !ok {
		return singleDash(c, o)
	}
	return value, ok
}

// Packer follows a program that an archive goes through.
func Packer(c *Command, v string) {
	if known.In("packers", ProgramName(FirstWord(v+" x"))) {
		return
	}
	c.Runs(c, v)
}

// singleDash is the value of a long option with one dash: -fplugin=x.
func singleDash(c *Command, option string) (string, bool) {
	for _, a := range c.List {
		if v, ok := strings.CutPrefix(a.S, "-"+option+"="); ok {
			return v, true
		}
	}
	return "", false
}

// runningOption is the name of an option that says that its value is run.
var runningOption = Lazily(`^--(?:[a-z-]+-)?(?:exec|execute|command|cmd|hook|posthook|prehook|preview|pager|editor|rsh|askpass|program|launcher|wrapper|interpreter|on-[a-z-]+|(?:pre|post|before|after)-[a-z-]+)$`)

// runningShapes follows the values of options whose names say that they are
// run, whatever the program.
func runningShapes(c *Command) {
	if !slices.ContainsFunc(c.List, func(a argv.Word) bool { return strings.HasPrefix(a.S, "--") }) ||
		known.In("own-options", c.Name) || wraps(c.Name) || known.In("shells", c.Name) || known.In("languages", c.Name) {
		return
	}
	for i, a := range c.List {
		if a.S == "--" {
			return
		}
		option, value, ok := strings.Cut(a.S, "=")
		if !strings.HasPrefix(option, "--") || !runningOption().MatchString(option) {
			continue
		}
		if !ok {
			value = c.At(i + 1)
		}
		if value == "" || value[0] == '-' {
			continue
		}
		runsValue(c, value) //control:running-options
	}
}

// runsValue follows a text that an option seems to run. It counts by itself
// when it is more than the name of a program with its words.
func runsValue(c *Command, value string) {
	first := FirstWord(mark.Strip(value) + " x")
	switch {
	case !mark.Known(value), strings.ContainsAny(value, ";|&$`<>"), strings.Contains(first, "/") && ownPlace(first), known.In("shells", ProgramName(first)):
		c.Runs(c, value)
	case strings.Contains(value, " "):
		c.Nested(value)
	}
}

// SuspectValues looks at the values of options of a program that nobody knows:
// a text that begins with a program whose arguments matter may be run.
func SuspectValues(c *Command) {
	if c.Has("r", "R", "recursive") && c.Has("f", "force") { // as rm has them
		c.OnlyCritical(append(argv.Of("rm"), c.List...), c.Line())
	}
	for i, a := range c.List {
		option, value, ok := strings.Cut(a.S, "=")
		if !ok || len(option) < 2 || option[0] != '-' {
			option, value = c.At(i-1), a.S
		}
		if len(option) < 2 || option[0] != '-' || known.In("text-options", option) || !strings.Contains(value, " ") || !Dangerous(ProgramName(FirstWord(value))) {
			continue
		}
		c.OnlyCritical(argv.Of("sh", "-c", value), c.Line())
	}
}
