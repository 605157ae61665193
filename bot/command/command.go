// Package command reads what a person asked for in a comment. It is a leaf
// and pure: text in, commands out.
//
// A command is a line of a paragraph, as GitHub shows it, whose first word is
// "/agent": not one in code, in a quotation, in a list, a table or a heading,
// in HTML, folded or hidden. What follows on the line, and the lines up to the
// next command, belong to it. Where somebody may have meant a command that is
// none, or where parsers may see different things, nothing is carried out, and
// the reply asks.
package command

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Prefix is the word that a command line begins with.
const Prefix = "/agent"

// Names of commands that are not only said by their word: free text is a
// task, and the command word alone asks for help.
const (
	Task    = "task"
	AskHelp = "help"
)

// Command is one thing a person asked for. Name is that of a [Spec]. Text is
// the free text: the task, the reason of a denial, the words of a question.
type Command struct {
	Name  string
	Text  string
	ID    string // of a request, see [TakesID]
	Count int    // see [TakesCount]
	Mode  string // --mode, or the mode that the command names
	Model string // --model
	Turns int    // --turns
	Place int    // among the commands of the comment, from 0 on
}

// Spec says how one command is written.
type Spec struct {
	Name   string // the first word behind the prefix
	Usage  string // all that stands behind the prefix
	Help   string // what it does
	Args   func(c *Command, rest string) error
	Grants bool // it lets something happen: a comment that may say no as well grants nothing
}

// Table is the commands that there are. One of them is named [Task] and one
// [AskHelp].
type Table []Spec

// modes are words that start a task in the mode they name.
var modes = [...]string{"plan", "review", "ask", "debug", "architect", "explore", "security"}

// Check returns an error that names what is missing in the table, or there
// twice.
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
		case s.Help == "":
			return fmt.Errorf("check commands: %q does not say what it does", s.Name)
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

// Error is wrong use. Public is a short reply that helps.
type Error struct {
	Public string
}

// Error implements error.
func (e *Error) Error() string { return "parse command: " + e.Public }

// Parse returns the commands in body, in order. A body without a command
// gives none. An *[Error] says what is wrong with the first command that
// cannot be understood; then nothing of the body is carried out.
func (t Table) Parse(body string) ([]Command, error) {
	text := lines(body)
	if len(text) > mostText {
		return nil, wrong("the text is too long to be read")
	}
	list := mentions(text)
	for _, m := range list {
		if m.asks() {
			return nil, wrong("a line here begins with `%s`, but for GitHub it stands in %s, so nothing was done. If it is meant, write it on a line of its own, with an empty line before it", Prefix, m.where)
		}
	}
	list = slices.DeleteFunc(list, func(m mention) bool { return !m.said })
	var out []Command
	no := refusalIn(text, list)
	for i, m := range list {
		end := len(text)
		if i+1 < len(list) {
			end = list[i+1].start
		}
		c, grants, err := t.parse(text[m.end:end])
		if err == nil && grants {
			err = alone(c.Name, text[m.end:end], no)
		}
		if err != nil {
			return nil, err
		}
		c.Place = i
		out = append(out, c)
	}
	return out, nil
}

// parse reads what stands behind a command word. It reports whether the
// command grants something.
func (t Table) parse(text string) (c Command, grants bool, err error) {
	text, err = flags(&c, text)
	if err != nil {
		return c, false, err
	}
	word, rest := cutWord(text)
	name := strings.ToLower(word)
	if slices.Contains(modes[:], name) {
		if c.Mode != "" && c.Mode != name {
			return c, false, wrong("`%s` and `--mode %s` contradict each other", name, c.Mode)
		}
		c.Name, c.Mode, c.Text = Task, name, rest
		return c, false, nil
	}
	for _, s := range t {
		if s.Name == name && name != Task {
			c.Name = name
			err := s.Args(&c, rest)
			return c, s.Grants, err
		}
	}
	c.Name, c.Text = Task, text
	if text == "" {
		c.Name = AskHelp
	}
	return c, false, nil
}

// flags takes --mode, --model and --turns off the front and the end of the
// first line.
func flags(c *Command, text string) (string, error) {
	line, more, _ := strings.Cut(text, "\n")
	words := strings.Fields(line)
	kept := make([]string, 0, len(words))
	for i := 0; i < len(words); i++ {
		name, value, inline := strings.Cut(words[i], "=")
		if !slices.Contains([]string{"--mode", "--model", "--turns"}, name) {
			kept = append(kept, words[i])
			continue
		}
		if !inline {
			if i++; i == len(words) {
				return "", wrong("`%s` needs a value", name)
			}
			value = words[i]
		}
		if err := flag(c, name, value); err != nil {
			return "", err
		}
	}
	if len(kept) < len(words) {
		line = strings.Join(kept, " ")
	}
	return strings.TrimSpace(line + "\n" + more), nil
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
			return wrong("`--turns %s`: write a number from 1 to 1000", value)
		}
		c.Turns = n
	}
	return nil
}

func cutWord(s string) (word, rest string) {
	i := strings.IndexAny(s, " \t\n\u00a0")
	if i < 0 {
		return s, ""
	}
	return s[:i], strings.TrimSpace(s[i:])
}

// TakesID reads the id of a request, and free text.
func TakesID(c *Command, rest string) error {
	id, text := cutWord(rest)
	id = strings.Trim(strings.ToLower(id), "`<>#.,")
	if id == "" {
		return wrong("say which request: `%s %s <id>`; the id stands in the request", Prefix, c.Name)
	}
	if len(id) > 40 || strings.Trim(id, "0123456789abcdefghijklmnopqrstuvwxyz-") != "" {
		return wrong("`%s` is not the id of a request", clip(id))
	}
	c.ID, c.Text = id, text
	return nil
}

// TakesText keeps what stands behind a command as text. It serves commands
// without arguments too, since people add "please" and reasons.
func TakesText(c *Command, rest string) error {
	c.Text = rest
	return nil
}

// TakesCount reads a number of turns, and free text.
func TakesCount(c *Command, rest string) error {
	word, text := cutWord(rest)
	c.Text = text
	if word == "" {
		return wrong("say how many turns to add: `%s %s +10`", Prefix, c.Name)
	}
	n, err := strconv.Atoi(strings.TrimPrefix(word, "+"))
	if err != nil || n < 1 || n > 1000 {
		return wrong("`%s %s`: write a number from 1 to 1000", c.Name, clip(word))
	}
	c.Count = n
	return nil
}

func clip(s string) string {
	if r := []rune(s); len(r) > 40 {
		return string(r[:40]) + "…"
	}
	return s
}

func wrong(format string, args ...any) error {
	return &Error{Public: fmt.Sprintf(format, args...) + fmt.Sprintf(". `%s help` lists the commands.", Prefix)}
}

// Help is the reply to "/agent help", in Markdown.
func (t Table) Help() string {
	var b, list strings.Builder
	for _, m := range modes {
		fmt.Fprintf(&list, "| `%s %s …` | start in %s mode |\n", Prefix, m, m)
	}
	for _, s := range t {
		if s.Name == Task {
			fmt.Fprintf(&b, "Write `%s` and %s as a comment, for example `%s %s`.\n\n", Prefix, s.Help, Prefix, s.Usage)
			continue
		}
		fmt.Fprintf(&list, "| `%s %s` | %s |\n", Prefix, s.Usage, s.Help)
	}
	return b.String() + "| command | what it does |\n|---|---|\n" + list.String() + "\nFlags for a task: `--mode NAME`, `--model NAME`, `--turns N`.\n"
}
