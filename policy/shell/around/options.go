package around

import (
	"slices"
	"strings"

	"github.com/handrail-bot/handrail/policy/shell/argv"
	"github.com/handrail-bot/handrail/policy/shell/known"
	"github.com/handrail-bot/handrail/policy/shell/mark"
	"github.com/handrail-bot/handrail/policy/shell/walk"
)

// optionPrograms follows the programs and the files that options of a tool
// name.
func optionPrograms(c *walk.Command) {
	namedByOptions(c)
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

// runningOption is the name of an option that says that its value is run.
var runningOption = walk.Lazily(`^--(?:[a-z-]+-)?(?:exec|execute|command|cmd|hook|posthook|prehook|preview|pager|editor|rsh|askpass|program|launcher|wrapper|interpreter|on-[a-z-]+|(?:pre|post|before|after)-[a-z-]+)$`)

// runningShapes follows the values of options whose names say that they are
// run, whatever the program.
func runningShapes(c *walk.Command) {
	if !slices.ContainsFunc(c.List, func(a argv.Word) bool { return strings.HasPrefix(a.S, "--") }) ||
		known.In("own-options", c.Name) || walk.Wraps(c.Name) || known.In("shells", c.Name) || known.In("languages", c.Name) {
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
func runsValue(c *walk.Command, value string) {
	first := walk.FirstWord(mark.Strip(value) + " x")
	switch {
	case !mark.Known(value), strings.ContainsAny(value, ";|&$`<>"), strings.Contains(first, "/") && walk.OwnPlace(first), known.In("shells", walk.ProgramName(first)):
		c.Runs(c, value)
	case strings.Contains(value, " "):
		c.Nested(value)
	}
}
