package around

import (
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/handrail-bot/handrail/policy/shell/argv"
	"github.com/handrail-bot/handrail/policy/shell/known"
	"github.com/handrail-bot/handrail/policy/shell/walk"
)

// mostWritten is how many commands are tried in the files of a project.
const mostWritten = 24

// writtenFiles looks for commands that destroy in the project files that the
// line itself wrote, when a tool runs that obeys such files.
func writtenFiles(c *walk.Command) {
	if len(c.Content) == 0 || !obeys(c) || c.AsksHelp() {
		return
	}
	tried := 0
	for _, name := range slices.Sorted(maps.Keys(c.Content)) {
		project := known.In("project-files", path.Base(name)) || known.In("project-files", path.Ext(name))
		if strings.HasPrefix(name, "/dev/") || known.In("document-endings", path.Ext(name)) && !project {
			continue
		}
		walk.Said(c.Walk, c.Line(), c.Content[name])
		if !project {
			continue
		}
		for part := range strings.FieldsFuncSeq(c.Content[name], func(r rune) bool { return strings.ContainsRune(";|&\n(){}`", r) }) {
			words := strings.FieldsFunc(part, func(r rune) bool { return strings.ContainsRune(" \t'\"\\,[]<>", r) })
			at := slices.IndexFunc(words, func(s string) bool { return known.In("destroying-programs", walk.ProgramName(s)) })
			if at < 0 || tried >= mostWritten {
				continue
			}
			tried++
			c.OnlyCritical(argv.Of(words[at:]...), c.Line()) //control:written-project-files
		}
	}
}

// obeys reports whether a program may run what files of the project say: one
// that is known for it, or a program that nobody knows.
func obeys(c *walk.Command) bool {
	return known.In("obeys-files", c.Name) || !known.In("named", c.Name) && !known.In("text-tools", c.Name) && !known.In("reads", c.Name) && !known.In("shells", c.Name)
}
