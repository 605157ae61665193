// Package usage holds the sentences that explain the syntax of commands.
package usage

// Faults of a command. [ListIs] follows each.
const (
	Misfit     = "Nothing was done: the command is `%s %s`, without other words. For a task, write `%s task: %s`"
	Condition  = "Nothing was done: an approval takes no further words, which may be a condition. Write `%s %s %s` alone, or `%s deny %s` and your words"
	Beside     = "Nothing was done: `%s %s` counts only in a comment of commands, and this one also says “%s”. Write the command again, in a comment of its own; quotations may stay"
	NearFlag   = "`%s` is no flag. Did you mean `%s`? If it is part of a task, write `%s task: …`"
	NoCount    = "Say how many turns to add: `%s %s +10`"
	BadCommit  = "`%s %s`: write 7 to 40 digits of the commit's id"
	KeepFiles  = "`%s %s`: name the files to keep, or none to keep all"
	TooLong    = "The text is too long to be read"
	NotSaid    = "I ignored `%s` here, since GitHub shows it in %s. If you meant a command, write it on a line of its own, with an empty line before it"
	Contradict = "`%s` and `--mode %s` contradict each other"
	ListIs     = ". `%s help` lists the commands."

	// Reply to a request for help.
	Begin    = "Write `%s` and %s as a comment, for example `%s %s`.\n\n"
	Question = "ask why the test fails" // an example for readers who may only ask
	Head     = "| command | effect |\n|---|---|\n"
	ModeRow  = "| `%s %s …` | a task in %s mode, this time only |\n"
	Flags    = "\nFlags for a task, before or after its words: `--mode NAME`, `--model NAME`, `--turns N`. If a task begins like a command, write `%s task: …`.\n"

	// Reasons why GitHub does not treat a line as a command, see [NotSaid].
	TooDeep    = "a text nested too deeply to be read"
	ShownElse  = "a text that it shows differently"
	Controls   = "a text with control characters"
	LazyLine   = " (without an empty line between them, a line belongs to the quotation above it)"
	BeginsElse = "a line that begins with something else"

	// Faults of a custom command: its name, its arguments.
	IsCommand      = "`%s %s` is one of Handrail's commands"
	IsMode         = "`%s %s` is a task in that mode"
	IsNear         = "it is one typo away from `%s %s`"
	NoArguments    = "takes no arguments"
	FewerArguments = "takes %s, and here are %d. Put words that belong together in quotation marks"
)

// Help describes each command. The text of "task" ends a sentence, see [Begin].
var Help = map[string]string{
	"task":    "your request",
	"approve": "allow one or more requests; without an id the only one, with `all` each one that is not critical",
	"deny":    "refuse one or more requests, with a reason; without an id the only one, with `all` each one",
	"ok":      "approve work on this commit of a fork",
	"stop":    "end the session; its branch stays",
	"skip":    "end the running step alone, such as a command",
	"status":  "show the status",
	"resume":  "continue a waiting session",
	"retry":   "try again after a failure",
	"budget":  "add turns",
	"diff":    "show the changes, with a link to the whole diff",
	"undo":    "take back the last checkpoint, or the last n, or only these files",
	"redo":    "bring undone changes back",
	"keep":    "protect the branch as it is, or these files, from undo",
	"rebase":  "merge the base branch; I resolve conflicts",
	"ready":   "take the pull request out of draft, and request a review",
	"model":   "continue with another model, from the next turn on",
	"config":  "show the configuration and its sources",
	"clear":   "forget the conversation; the branch and its checkpoints stay",
	"help":    "show this list",
}
