// Package command reads what a person asked for in a comment. It is a leaf
// and pure: text in, commands out.
//
// A command is a line whose first word is "/agent", outside of code blocks
// and quotations. What follows on the line, and the lines up to the next
// command, belong to it.
package command

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Prefix is the word that a command line begins with.
const Prefix = "/agent"

// MaxBody is the longest comment that GitHub takes, in characters.
const MaxBody = 65536

// Command is one thing a person asked for. Name is one of [Names], and "task"
// for free text. Text is the free text: the task, the reason of a denial, the
// words of a question.
type Command struct {
	Name  string
	Text  string
	ID    string // approve, deny: which request
	Count int    // budget: how many turns
	Mode  string // --mode, or the mode that the command names
	Model string // --model
	Turns int    // --turns
}

// spec is one row of the table of commands.
type spec struct {
	name  string
	usage string
	help  string
	parse func(c *Command, rest string) error
}

// modes are commands that start a session in the mode they name.
var modes = [...]string{"plan", "review", "ask", "debug", "architect", "explore", "security"}

var table = [...]spec{
	{"approve", "approve <id>", "let a waiting action happen", parseID},
	{"deny", "deny <id> [reason]", "refuse a waiting action and say why", parseID},
	{"stop", "stop", "end the work; what is done stays on the branch", parseNothing},
	{"status", "status", "say where the work stands", parseNothing},
	{"resume", "resume", "go on with parked work", parseNothing},
	{"retry", "retry", "try again after a failure", parseNothing},
	{"budget", "budget +10", "grant more turns", parseCount},
	{"help", "help", "show this list", parseNothing},
}

// Error is wrong use. Public is a short reply that helps.
type Error struct {
	Public string
}

// Error implements error.
func (e *Error) Error() string { return "parse command: " + e.Public }

// Parse returns the commands in body, in order. A body without a command
// gives none. An *[Error] says what is wrong with the first command that
// cannot be understood.
func Parse(body string) ([]Command, error) {
	var out []Command
	for _, block := range blocks(body) {
		c, err := parse(block)
		if err != nil {
			return nil, err
		}
		out = append(out, c)
	}
	return out, nil
}

// blocks cuts body into the texts behind each command word.
func blocks(body string) []string {
	var out []string
	var f fence
	for line := range strings.Lines(strings.ReplaceAll(body, "\r\n", "\n")) {
		code := f.inside(line)
		rest, ok := commandLine(line)
		switch {
		case ok && !code:
			out = append(out, rest)
		case len(out) > 0:
			out[len(out)-1] += line
		}
	}
	return out
}

// commandLine returns what follows the command word. Up to three spaces may
// stand before it, as Markdown allows before any block; more make code.
func commandLine(line string) (string, bool) {
	trimmed := strings.TrimLeft(line, " ")
	if len(line)-len(trimmed) > 3 {
		return "", false
	}
	rest, ok := strings.CutPrefix(trimmed, Prefix)
	if !ok || (rest != "" && !strings.ContainsRune(" \t\n", rune(rest[0]))) {
		return "", false
	}
	return rest, true
}

// fence follows Markdown's fenced code blocks and HTML comments.
type fence struct {
	mark    string
	comment bool
}

// inside reports whether line belongs to a fenced block or a comment, the fences
// included.
func (f *fence) inside(line string) bool {
	t := strings.TrimLeft(line, " ")
	if f.comment {
		f.comment = !strings.Contains(line, "-->")
		return true
	}
	if f.mark != "" {
		closing := strings.TrimRight(t, " \t\n")
		if len(line)-len(t) <= 3 && len(closing) >= len(f.mark) && strings.Trim(closing, f.mark[:1]) == "" {
			f.mark = ""
		}
		return true
	}
	if strings.HasPrefix(t, "<!--") {
		f.comment = !strings.Contains(t, "-->")
		return true
	}
	for _, c := range []string{"`", "~"} {
		n := len(t) - len(strings.TrimLeft(t, c))
		if n >= 3 && len(line)-len(t) <= 3 && (c == "~" || !strings.Contains(t[n:], "`")) {
			f.mark = strings.Repeat(c, n)
			return true
		}
	}
	return false
}

func parse(text string) (Command, error) {
	var c Command
	text, err := flags(&c, text)
	if err != nil {
		return c, err
	}
	word, rest := cutWord(text)
	name := strings.ToLower(word)
	if slices.Contains(modes[:], name) {
		if c.Mode != "" && c.Mode != name {
			return c, wrong("`%s` and `--mode %s` contradict each other", name, c.Mode)
		}
		c.Name, c.Mode, c.Text = "task", name, rest
		return c, nil
	}
	for _, s := range table {
		if s.name == name {
			c.Name = name
			return c, s.parse(&c, rest)
		}
	}
	c.Name, c.Text = "task", text
	if text == "" {
		c.Name = "help"
	}
	return c, nil
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
	i := strings.IndexAny(s, " \t\n")
	if i < 0 {
		return s, ""
	}
	return s[:i], strings.TrimSpace(s[i:])
}

func parseID(c *Command, rest string) error {
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

// parseNothing takes commands without arguments. Words behind them are kept
// as text, since people add "please" and reasons.
func parseNothing(c *Command, rest string) error {
	c.Text = rest
	return nil
}

func parseCount(c *Command, rest string) error {
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
func Help() string {
	var b strings.Builder
	fmt.Fprintf(&b, "Write `%s` and what you want as a comment, for example `%s fix the failing test`.\n\n", Prefix, Prefix)
	b.WriteString("| command | what it does |\n|---|---|\n")
	for _, m := range modes {
		fmt.Fprintf(&b, "| `%s %s …` | start in %s mode |\n", Prefix, m, m)
	}
	for _, s := range table {
		fmt.Fprintf(&b, "| `%s %s` | %s |\n", Prefix, s.usage, s.help)
	}
	b.WriteString("\nFlags for a task: `--mode NAME`, `--model NAME`, `--turns N`.\n")
	return b.String()
}
