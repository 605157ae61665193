// Package usage holds the sentences that explain the syntax of commands.
package usage

// Faults of a command. [ListIs] follows each.
const (
	Misfit     = "Nothing was done: the command is `%s %s`, without other words. A task that begins like it is written `%s task: %s`"
	Beside     = "Nothing was done: `%s %s` counts in a comment that holds commands and nothing else, and this one also says “%s”. Write the command again, in a comment of its own; quotations may stay"
	NearFlag   = "`%s` is no flag. Did you mean `%s`? Words that are about it are written `%s task: …`"
	NoCount    = "Say how many turns to add: `%s %s +10`"
	BadCommit  = "`%s %s`: write 7 to 40 digits of the commit's id"
	TooLong    = "The text is too long to be read"
	NotSaid    = "A line here begins with `%s`, but for GitHub it stands in %s, so nothing was done. If it is meant, write it on a line of its own, with an empty line before it"
	Contradict = "`%s` and `--mode %s` contradict each other"
	ListIs     = ". `%s help` lists the commands."

	// Reply to a request for help.
	Begin   = "Write `%s` and %s as a comment, for example `%s %s`.\n\n"
	Head    = "| command | what it does |\n|---|---|\n"
	ModeRow = "| `%s %s …` | a task in %s mode, this time only |\n"
	Flags   = "\nFlags for a task, before or behind its words: `--mode NAME`, `--model NAME`, `--turns N`. A task that begins like a command is written `%s task: …`.\n"

	// Reasons why GitHub does not treat a line as a command, see [NotSaid].
	TooDeep    = "a text that is nested too deeply to be read"
	ShownElse  = "a text that it shows in another way than it is written"
	Controls   = "a text with control characters"
	LazyLine   = " (a line counts to the quotation above it when no empty line stands between them)"
	BeginsElse = "a line that begins with something else"

	// Faults of a custom command: its name, its arguments.
	IsCommand      = "`%s %s` is a command of the bot"
	IsMode         = "`%s %s` is a task in that mode"
	IsNear         = "it is a slip of the keyboard away from `%s %s`"
	NoArguments    = "takes no arguments"
	FewerArguments = "takes %s, and here are %d. Words that belong together stand between quotation marks"
)

// Help describes each command. The text of "task" ends a sentence, see [Begin].
var Help = map[string]string{
	"task":    "what you want",
	"approve": "let a waiting action happen, or several; without an id the only one, with `all` each one that is not critical",
	"deny":    "refuse a waiting action and say why, or several; without an id the only one, with `all` each one",
	"ok":      "let me work on this commit of a fork",
	"stop":    "end the work; what is done stays on the branch",
	"status":  "say where the work stands",
	"resume":  "go on with work that waits",
	"retry":   "try again after a failure",
	"budget":  "let the work have more turns",
	"diff":    "show what the work changed, with a link to all of it",
	"undo":    "take back the last checkpoint, or the last n, or only these files",
	"redo":    "bring back what was undone",
	"keep":    "have undo leave alone what is there, or these files",
	"rebase":  "take the base branch in, by a merge; I settle conflicts",
	"model":   "go on with another model, from the next turn on",
	"config":  "show what is in force here, and where it comes from",
	"clear":   "forget the conversation; the branch and its checkpoints stay",
	"help":    "show this list",
}
