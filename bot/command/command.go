// Package command parses the commands in a comment. It is pure: text in, commands out.
//
// A command is a line of a paragraph, as GitHub shows it, with "/agent" as its first
// word. Lines in code, a quotation, a list, a table, a heading or HTML do not count, nor
// does folded or hidden text. The rest of the line and the lines up to the next command
// belong to the command. Only the form counts, no list of words: the first word names the
// command, and the rest is its arguments or the reply asks back. A comment that grants
// something holds commands and nothing else.
package command

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/handrail-bot/handrail/bot/render/usage"
	"github.com/handrail-bot/handrail/policy/phrase"
	"github.com/handrail-bot/handrail/policy/typo"
)

// prefix is the first word of a command line.
const prefix = "/agent"

// Names of commands that need no word of their own: free text is a task, and the command
// word alone asks for help.
const (
	Task    = "task"
	AskHelp = "help"
)

// Command is one parsed command. Name is that of a [Spec]. Text is the free text: the
// task, the reason of a denial, the text of a question.
type Command struct {
	Name     string
	Text     string
	IDs      []string // ids of requests, see [TakesIDs], or of a commit, see [TakesCommit]
	All      bool     // all requests
	Count    int      // see [TakesCount]
	Mode     string   // --mode, or a mode as the command's name
	Model    string   // --model
	Turns    int      // --turns
	Paths    []string // files, see [TakesCheckpoints]
	Explicit bool     // the task is marked as one: "task: …"
	Place    int      // index among the commands of the comment
}

// Spec is the syntax of one command. Args parses the text after the name; its errors ask
// back.
type Spec struct {
	Name   string // first word after the prefix
	Usage  string // everything after the prefix
	Help   string // description; empty means that of package usage
	Args   func(c *Command, rest string) error
	Grants bool // it permits something, so the comment must hold nothing else
}

func (s Spec) help() string { return cmp.Or(s.Help, usage.Help[s.Name]) }

// Table is the list of all commands. It must contain [Task] and [AskHelp].
type Table []Spec

// modes are words that start a task in the mode they name.
var modes = [...]string{"code", "plan", "review", "ask", "debug", "architect", "explore", "security", "triage"}

// ownTasks are the tasks of the modes, for a mode's name without further words.
var ownTasks = map[string]string{
	"code":      "Do the task of this thread.",
	"plan":      "Write a plan for the task of this thread.",
	"review":    "Review the change of this thread, as it is now, and report each fault that you find.",
	"ask":       "Answer the question of this thread.",
	"debug":     "Find the fault that this thread describes, and fix it.",
	"architect": "Design a solution for the task of this thread, and write it down.",
	"explore":   "Look at the code that this thread is about, as it is now, and report how it works.",
	"security":  "Review the change of this thread for security, as it is now, and report each fault that you find.",
	"triage":    "Sort this issue: labels, duplicates, a question to its author.",
}

// OwnTask returns the task of a mode by its name alone.
func OwnTask(mode string) string { return ownTasks[mode] }

// Check returns an error that names a part of the table that is missing or duplicate.
func (t Table) Check() error {
	seen := map[string]bool{}
	for i, s := range t {
		switch {
		case s.Name == "":
			return fmt.Errorf("check commands: command %d (%q) has no name", i+1, s.Usage)
		case s.Name != strings.ToLower(s.Name) || strings.ContainsAny(s.Name, " \t"):
			return fmt.Errorf("check commands: the name %q is not one word in lower case", s.Name)
		case s.Usage == "":
			return fmt.Errorf("check commands: %q has no usage", s.Name)
		case s.help() == "":
			return fmt.Errorf("check commands: %q has no help; add its line to usage.Help in bot/render/usage", s.Name)
		case s.Args == nil:
			return fmt.Errorf("check commands: %q does not say what it takes", s.Name)
		case seen[s.Name] || slices.Contains(modes[:], s.Name):
			return fmt.Errorf("check commands: %q is there twice", s.Name)
		}
		seen[s.Name] = true
	}
	for _, name := range []string{Task, AskHelp} {
		if !seen[name] {
			return fmt.Errorf("check commands: there is no %q", name)
		}
	}
	return nil
}

// Error is a usage error. Public is a short reply that helps. Beside means that the
// comment would grant something if it held nothing else.
type Error struct {
	Public string
	Beside bool
}

// Error implements error.
func (e *Error) Error() string { return "parse command: " + e.Public }

// Parse returns the commands in body, in order. An *[Error] describes the first command
// that cannot be parsed; no command of body is carried out then. A mention of one of
// names is equivalent to the command word.
func (t Table) Parse(body string, names ...string) ([]Command, error) {
	text := lines(body)
	if len(text) > maxText {
		return nil, wrong(usage.TooLong)
	}
	list := mentions(text, names...)
	for _, m := range list {
		if m.maybeMeant() {
			return nil, wrong(usage.NotSaid, strings.Trim(text[m.at:m.end], ":,"), m.where)
		}
	}
	list = slices.DeleteFunc(list, func(m mention) bool { return !m.isCommand })
	var out []Command
	for i, m := range list {
		end := len(text)
		if i+1 < len(list) {
			end = list[i+1].start
		}
		c, err := t.parse(text[m.end:end])
		if err != nil {
			return nil, err
		}
		c.Place = i
		out = append(out, c)
	}
	if i := slices.IndexFunc(out, t.grants); i >= 0 {
		if line := t.beside(text, list, out); line != "" { //control:yes-alone
			return nil, &Error{
				Public: fmt.Sprintf(usage.Beside+usage.ListIs, prefix, out[i].Name, clip(strings.ReplaceAll(line, "`", "")), prefix),
				Beside: true,
			}
		}
	}
	return out, nil
}

// grants reports whether a command permits something.
func (t Table) grants(c Command) bool {
	return slices.ContainsFunc(t, func(s Spec) bool { return s.Name == c.Name && s.Grants })
}

// parse parses the text after a command word. Its first word decides: the name of a
// command or a mode stands for that, and anything else is a task.
func (t Table) parse(text string) (c Command, err error) {
	text, err = flags(&c, strings.TrimSpace(text))
	if err != nil {
		return c, err
	}
	if rest, ok := explicitTask(text); ok {
		c.Name, c.Text, c.Explicit = Task, rest, true
		return c, nil
	}
	word, rest := cutVerb(text)
	name := strings.ToLower(word)
	if slices.Contains(modes[:], name) {
		return c, c.inMode(name, rest)
	}
	if at := strings.TrimLeft(rest, " \t\u00a0"); name == fixWord && isFlagged(at) { //control:flags-behind-fix
		rest, err = flags(&c, at)
		c.Name, c.Text = Task, strings.TrimSpace(word+" "+rest)
		return c, err
	}
	for _, s := range t {
		if s.Name != name || name == Task {
			continue
		}
		c.Name = name
		if err = s.Args(&c, rest); errors.Is(err, errMisfit) {
			err = wrong(usage.Misfit, prefix, s.Usage, prefix, clip(strings.ReplaceAll(firstLine(text), "`", "")))
		}
		return c, err
	}
	c.Name, c.Text = Task, text
	if text == "" && c.Mode == "" {
		c.Name = AskHelp
	}
	return c, nil
}

// inMode makes the command a task in a mode. Flags may follow the mode's name.
func (c *Command) inMode(name, rest string) (err error) {
	if at := strings.TrimLeftFunc(rest, unicode.IsSpace); isFlagged(at) { //control:flags-behind-a-mode
		if rest, err = flags(c, at); err != nil {
			return err
		}
	}
	if c.Mode != "" && c.Mode != name {
		return wrong(usage.Contradict, name, c.Mode)
	}
	c.Name, c.Mode, c.Text = Task, name, strings.TrimSpace(strings.TrimLeftFunc(rest, isPause))
	return nil
}

// known are the flags of a task. Other words with dashes are text.
var known = []string{"--mode", "--model", "--turns"}

// dashes are the dashes of keyboards: phones write one long dash for two short ones.
const dashes = "-\u2010\u2011\u2012\u2013\u2014\u2015\u2212"

// flagName returns the flag at the beginning of a text, or "".
func flagName(text string) string {
	name := upToSpace(text)
	name, _, _ = strings.Cut(name, "=")
	bare := strings.TrimLeft(name, dashes) //control:dashes-of-phones
	if len(bare) == len(name) || strings.HasPrefix(name, "-") && !strings.HasPrefix(name, "--") {
		return ""
	}
	if i := slices.Index(known, "--"+strings.ToLower(bare)); i >= 0 {
		return known[i]
	}
	return ""
}

// flags removes the known flags at the beginning and the end of the first line. Flags
// between other words are part of the text.
func flags(c *Command, text string) (string, error) {
	line, more, _ := strings.Cut(text, "\n")
	words := strings.Fields(line)
	first, last := 0, len(words)
	for first < last {
		n, err := flagAt(c, words[first:last])
		if err != nil {
			return "", err
		}
		if n == 0 {
			break
		}
		first += n
	}
	if first < last {
		if near := nearFlag(words[first]); near != "" { //control:misspelt-flag
			return "", wrong(usage.NearFlag, clip(strings.ReplaceAll(words[first], "`", "")), near, prefix)
		}
	}
	for last > first {
		n := 1
		if !strings.Contains(words[last-1], "=") && flagName(words[last-1]) == "" {
			n = 2
		}
		if last-n < first {
			break
		}
		if took, err := flagAt(c, words[last-n:last]); err != nil {
			return "", err
		} else if took != n {
			break
		}
		last -= n
	}
	if last-first < len(words) {
		line = strings.Join(words[first:last], " ")
	}
	return strings.TrimSpace(line + "\n" + more), nil
}

// isFlagged reports whether a text begins with a flag, or nearly so.
func isFlagged(text string) bool {
	word := upToSpace(text)
	return flagName(word) != "" || nearFlag(word) != ""
}

// nearFlag returns the flag that a word is one typing error away from, or two for a long word. It
// returns "" if there is none.
func nearFlag(word string) string {
	name, _, _ := strings.Cut(strings.ToLower(word), "=")
	bare := strings.TrimLeft(name, dashes)
	for _, flag := range known {
		maxErrors := 1
		if len(bare) > 3 && len(flag) > len("--mode") {
			maxErrors = 2
		}
		if bare != name && typo.Errors(bare, flag[2:]) <= maxErrors {
			return flag
		}
	}
	return ""
}

// flagAt parses the flag at the beginning of words. It returns the number of its words, 0
// if there is none.
func flagAt(c *Command, words []string) (int, error) {
	name := flagName(words[0])
	if name == "" {
		return 0, nil
	}
	_, value, inline := strings.Cut(words[0], "=")
	if inline {
		return 1, flag(c, name, value)
	}
	if len(words) == 1 {
		return 0, wrong("`%s` needs a value", name)
	}
	return 2, flag(c, name, words[1])
}

func flag(c *Command, name, value string) error {
	switch name {
	case "--mode":
		c.Mode = strings.ToLower(value)
	case "--model":
		c.Model = value
	case "--turns":
		n, err := strconv.Atoi(value)
		if err != nil || n < 1 || n > 1000 {
			return wrong("`--turns %s`: write a number from 1 to 1000", clip(value))
		}
		c.Turns = n
	}
	return nil
}

func clip(s string) string { return phrase.Short(s, 41) }

func wrong(format string, args ...any) error {
	return &Error{Public: fmt.Sprintf(format, args...) + fmt.Sprintf(usage.ListIs, prefix)}
}

// Help returns the reply to "/agent help", in Markdown: the commands and modes of use now,
// and apart from them the others.
func (t Table) Help(now func(Spec) bool, mode func(string) bool) (text, others string) {
	var begin, list, rest strings.Builder
	for _, s := range t {
		switch {
		case s.Name == Task:
			example := s.Usage
			if !now(s) {
				example = usage.Question
			}
			fmt.Fprintf(&begin, usage.Begin, prefix, s.help(), prefix, example)
		case now(s):
			fmt.Fprintf(&list, "| `%s %s` | %s |\n", prefix, s.Usage, s.help())
		default:
			fmt.Fprintf(&rest, "| `%s %s` | %s |\n", prefix, s.Usage, s.help())
		}
	}
	for _, m := range modes {
		to := &rest
		if mode(m) {
			to = &list
		}
		fmt.Fprintf(to, usage.ModeRow, prefix, m, m)
	}
	return begin.String() + usage.Head + list.String(), usage.Head + rest.String() + fmt.Sprintf(usage.Flags, prefix)
}
