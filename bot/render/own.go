package render

import (
	"fmt"
	"strings"

	"github.com/handrail-bot/handrail/bot/custom"
	"github.com/handrail-bot/handrail/policy/untrusted"
)

// CustomBroken says that a repository's custom command cannot be called.
func CustomBroken(c custom.Command) string {
	return fmt.Sprintf(
		"I did nothing: the file of the command %s needs a fix first.\n\n> %s\n\n`handrail config check` checks these files. For a task that begins with this word, write `/agent task: %s …`.",
		code(c.Name),
		words(line(c.Err.Error(), 300)),
		c.Name,
	)
}

// CustomMisuse says that a repository's custom command was called with wrong arguments.
func CustomMisuse(c custom.Command, wrong string) string {
	return fmt.Sprintf(
		"I did nothing: %s %s. Usage: %s. For a task that begins with this word, write `/agent task: %s …`.",
		code(c.Name),
		wrong,
		code("/agent "+c.Usage()),
		c.Name,
	)
}

// CustomModeConflict says that a custom command was called with a mode that contradicts its own.
func CustomModeConflict(c custom.Command, mode string) string {
	return fmt.Sprintf(
		"I did nothing: the command %s runs in %s mode, so `--mode %s` contradicts it. Leave the flag out.",
		code(c.Name),
		code(c.Mode),
		clean(line(mode, 40)),
	)
}

// CustomCommands lists the repository's custom commands, or reports why they cannot be read.
func CustomCommands(book custom.Book, cannot error) string {
	if cannot != nil {
		return "\nThe commands of this repository could not be read: " + clean(cannot.Error()) + "\n"
	}
	if len(book) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("\n| command of this repository | effect |\n|---|---|\n")
	for _, c := range book {
		what := cell(c.Description)
		switch {
		case c.Err != nil:
			what = "cannot be called: " + cell(c.Err.Error())
		case what == "":
			what = "see " + code(c.Path)
		}
		fmt.Fprintf(&b, "| %s | %s |\n", cell(code("/agent "+c.Usage())), what)
	}
	return b.String()
}

// cell returns text as a table cell.
func cell(text string) string { return strings.ReplaceAll(words(line(text, 200)), "|", "\\|") }

// Help folds the commands that are of no use to the reader now.
func Help(text, others string) untrusted.Post {
	return untrusted.Post{Text: text, Folds: []untrusted.Fold{{Title: "All commands", Text: others}}}
}
