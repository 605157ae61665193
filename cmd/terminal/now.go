package terminal

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/handrail-bot/handrail/agent"
	"github.com/handrail-bot/handrail/policy/untrusted"
)

// goingOn is what goes on: a tool that runs, or the model that answers.
type goingOn struct {
	tool  string // title of the tool that runs; "" while the model has the word
	since time.Time
	live  agent.Live // of the answer
	// last returns the last line that the tool printed; nil for nothing. It is asked now
	// and then: line is what it said at asked.
	last  func() string
	line  string
	asked time.Time
	frame int
}

func (g *goingOn) begin(title string, at time.Time) { *g = goingOn{tool: title, since: at} }
func (g *goingOn) wait(at time.Time)                { *g = goingOn{since: at} }

// Live takes in how far an answer is. What the model's server makes people wait for is
// printed; the rest is shown where what goes on is, and so is a silence where that can be
// written over.
func (t *Terminal) Live(l agent.Live) {
	t.screen.mu.Lock()
	defer t.screen.mu.Unlock()
	if l.Output != "" {
		return // its last line comes by Printed
	}
	t.goingOn.live = l
	if l.Silent > 0 && t.screen.look.Live {
		return // the line is written over as time passes
	}
	if l.Title == "" || strings.HasPrefix(l.Title, "Thought for ") || strings.HasPrefix(l.Title, "Writing ") || l.Title == t.warned {
		return
	}
	t.warned = l.Title
	look := t.screen.look
	t.screen.printLocked(look.line(look.in(yellow, "  "+untrusted.NoRunnerCommands(untrusted.EscapeLine(l.Title)))))
}

// Setup takes in how far the workspace is that is being made.
func (t *Terminal) Setup(how string) {
	how = untrusted.EscapeLine(how)
	if !t.screen.look.Live {
		t.Say("  %s", how)
		return
	}
	t.screen.mu.Lock()
	defer t.screen.mu.Unlock()
	t.goingOn.begin(how, t.clock())
}

// Printed takes in that a command printed something, of which last returns the last line.
func (t *Terminal) Printed(last func() string) {
	t.screen.mu.Lock()
	defer t.screen.mu.Unlock()
	t.goingOn.last = last
}

// mostLive is how many lines of an answer are shown while it grows.
const mostLive = 8

var frames = []string{"⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"}

// now returns the lines for what goes on. The lock is held.
func (t *Terminal) now() (out []string) {
	g, l, at := &t.goingOn, t.screen.look, t.clock()
	if g.since.IsZero() || t.view.Outcome != nil {
		return nil
	}
	tail := func(s string, c tone) {
		if strings.TrimSpace(s) != "" {
			lines := l.behindBar(lastOf(s), l.words, c)
			out = append(out, lines[max(0, len(lines)-mostLive):]...)
		}
	}
	what, more := "waiting for the model", ""
	switch {
	case g.tool != "":
		what = untrusted.EscapeLine(g.tool)
	case g.live.Content != "":
		what = cmp.Or(untrusted.EscapeLine(g.live.Title), "answering")
		tail(g.live.Content, plain)
	case g.live.Thinking != "":
		what = cmp.Or(untrusted.EscapeLine(g.live.Title), "thinking")
		tail(g.live.Thinking, dim)
	case g.live.Silent > 0: // why stands below it, where there is room
		what, more, _ = strings.Cut(untrusted.EscapeLine(g.live.Title), " (")
		more = strings.TrimSuffix(more, ")")
	case g.live.Title != "":
		what = untrusted.EscapeLine(g.live.Title)
	}
	took := " · " + at.Sub(g.since).Truncate(time.Second).String()
	if g.tool == "" && g.live.Speed > 0 {
		took = fmt.Sprintf(" · %d tokens/s", g.live.Speed) + took
	}
	g.frame++
	what = l.fit(what, len([]rune(took))+2) + l.in(dim, took)
	out = append(out, l.in(cyan, frames[g.frame%len(frames)])+" "+what)
	if more != "" {
		out = append(out, l.line(l.in(dim, "  └ "+more)))
	}
	if g.last != nil && at.Sub(g.asked) > time.Second {
		g.line, g.asked = g.last(), at
	}
	if g.line != "" {
		out = append(out, l.line(l.in(dim, "  └ "+untrusted.EscapeLine(spaced(g.line)))))
	}
	turn := t.view.AllTurns()
	if g.tool == "" {
		turn++
	}
	status := fmt.Sprintf("  turn %d", max(turn, 1))
	if t.view.Tokens > 0 {
		status += fmt.Sprintf(" · %s tokens", tokens(t.view.Tokens))
	}
	return append(out, l.line(l.in(dim, status+" · Ctrl-C parks the session")))
}

// lastOf returns the end of a text, which is all of it that can be seen.
func lastOf(s string) string {
	const most = 4 << 10
	if len(s) > most {
		s = strings.ToValidUTF8(s[len(s)-most:], "")
	}
	return s
}

// tokens writes a number of tokens: 950, 3.1k, 1.2M.
func tokens(n int) string {
	switch {
	case n >= 1_000_000:
		return fmt.Sprintf("%.1fM", float64(n)/1e6)
	case n >= 1000:
		return fmt.Sprintf("%.1fk", float64(n)/1e3)
	}
	return fmt.Sprint(n)
}
