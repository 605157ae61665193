package local

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/cmd/door"
	"github.com/handrail-bot/handrail/policy"
)

// chatCommand is a command of the chat itself.
type chatCommand struct {
	name, args, help string
	about            bool // needs a session that has begun
	do               func(c *chat, ctx context.Context, rest string) error
}

func chatCommands() []chatCommand {
	return []chatCommand{
		{"help", "", "this list", false, (*chat).help},
		{"diff", "", "the changes of the session, as a patch", true, (*chat).diff},
		{"apply", "", "apply it to your files", true, (*chat).apply},
		{
			"undo",
			"[N]",
			"undo /apply, and then the last step, or the last N",
			true,
			(*chat).undo,
		},
		{
			"redo",
			"[N]",
			"redo it",
			true,
			func(c *chat, ctx context.Context, n string) error { return c.takeBack(ctx, session.Redo, n) },
		},
		{"image", "FILE", "a picture for the next request", false, (*chat).image},
		{"go", "[TURNS]", "continue parked work", true, (*chat).resume},
		{
			"quit",
			"",
			"end; the session can go on later",
			false,
			func(c *chat, _ context.Context, _ string) error { c.quit = true; return nil },
		},
	}
}

// lineCommand parses a line that is a command for the chat. The names of modes are
// commands, too.
func lineCommand(line string) (name, rest string, ok bool) {
	if !strings.HasPrefix(line, "/") {
		return "", "", false
	}
	name, rest, _ = strings.Cut(line[1:], " ")
	return strings.ToLower(name), strings.TrimSpace(rest), name != "" && !strings.Contains(name, "/") // a path is not a command
}

// commandWords returns all commands, with their slash.
func commandWords() (out []string) {
	for _, o := range chatCommands() {
		out = append(out, "/"+o.name)
	}
	for _, m := range policy.Modes() {
		out = append(out, "/"+m.Name)
	}
	return out
}

func (c *chat) runCommand(ctx context.Context, name, rest string) error {
	if name == "exit" {
		name = "quit"
	}
	for _, o := range chatCommands() {
		switch {
		case o.name != name:
		case o.args == "" && rest != "":
			return door.Usage("/%s takes no words behind it", name)
		case o.about && c.Wish.Session == "":
			return door.Usage("there is no request yet")
		default:
			return o.do(c, ctx, rest)
		}
	}
	if !slices.ContainsFunc(policy.Modes(), func(m policy.Mode) bool { return m.Name == name }) {
		near := policy.Nearest("/"+name, commandWords())
		if near != "" {
			near = ", did you mean " + near + "?"
		}
		return door.Usage("there is no /%s%s (see /help)", name, near)
	}
	if rest != "" {
		return c.request(ctx, rest, name)
	}
	c.mode = name
	if c.Editor == nil {
		c.Term.Say("Requests are worked on in %s mode from here on.", name)
	}
	return nil
}

func (c *chat) help(context.Context, string) error {
	row := func(name, words string) { c.Console.Note(fmt.Sprintf("  %-19s ", name), words) }
	c.Console.Note("", "A line is a request. @FILE in it puts a file or a picture before the model.")
	for _, o := range chatCommands() {
		row(strings.TrimSpace("/"+o.name+" "+o.args), o.help)
	}
	for _, m := range policy.Modes() {
		row("/"+m.Name+" [WORDS]", m.Description)
	}
	row(endCall, "while a tool runs: end that call alone")
	c.Console.Note("", "A mode with words is for these alone, and without for all later requests. Ctrl-C ends the request.")
	return nil
}

func (c *chat) diff(ctx context.Context, _ string) error {
	return (&Diff{Session: c.Wish.Session}).Run(ctx, c.Console)
}

func (c *chat) apply(ctx context.Context, _ string) error {
	return (&Apply{Session: c.Wish.Session, undo: "/undo"}).Run(ctx, c.Console)
}

// undo reverts the session's change in the user's files if all of it is there, and its
// last steps otherwise.
func (c *chat) undo(ctx context.Context, n string) error {
	r, err := Read(c.Wish.Session)
	if err != nil {
		return err
	}
	applied, err := r.applied()
	if err != nil {
		return err
	}
	if n != "" || applied == "" || applied != r.State.Published {
		return c.takeBack(ctx, session.Undo, n)
	}
	if err := Unapply(ctx, c.Console.Out, c.Wish.Session, ""); err != nil {
		return err
	}
	c.Term.Say("  /undo again undoes the last step on the branch, too")
	return nil
}

func (c *chat) takeBack(ctx context.Context, do session.TakeBackKind, n string) error {
	steps, err := number(n, 1)
	if err != nil {
		return err
	}
	w := c.Wish
	w.TakeBack, w.With = &session.TakeBack{Do: do, N: steps}, policy.Choice{}
	return c.work(ctx, w)
}

func (c *chat) image(_ context.Context, file string) error {
	found, err := Pictures([]string{file})
	c.images = append(c.images, found...)
	return err
}

func (c *chat) resume(ctx context.Context, turns string) error {
	more := 0
	if c.last.Status == session.StatusOutOfBudget {
		more = 10
	}
	more, err := number(turns, more)
	if err != nil {
		return err
	}
	w := c.Wish
	w.With = policy.Choice{Turns: more}
	return c.work(ctx, w)
}

func number(s string, otherwise int) (int, error) {
	if s == "" {
		return otherwise, nil
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 {
		return 0, door.Usage("%s is no number of steps", fmt.Sprintf("%.20q", s))
	}
	return n, nil
}
