package terminal

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/handrail-bot/handrail/agent"
	"github.com/handrail-bot/handrail/policy/untrusted"
)

// activity is the current activity: a running tool, or an answer of the model.
type activity struct {
	tool  string // title of the running tool; empty during an answer
	since time.Time
	live  agent.Live // progress of the answer
	// last returns the last line that the tool printed; it may be nil. It is called
	// periodically: line is its result at the time asked.
	last  func() string
	line  string
	asked time.Time
	frame int
	// The model says that it is done. Its end is recorded, unless that is sent back to it.
	ending bool
}

func (g *activity) begin(title string, at time.Time) { *g = activity{tool: title, since: at} }
func (g *activity) wait(at time.Time)                { *g = activity{since: at} }

// Patches sets the source of the changes that are shown on a terminal.
func (t *Terminal) Patches(of func(commit, parent string) string) { t.patchOf = of }

// Live takes the progress of an answer. Waits for the model's server are printed, the
// rest is shown in the live lines. Silence is shown there too, if the terminal has live
// lines.
func (t *Terminal) Live(l agent.Live) {
	t.screen.mu.Lock()
	defer t.screen.mu.Unlock()
	if l.Output != "" {
		return // Printed delivers its last line
	}
	l.Title = ToOperator(l.Title)
	t.goingOn.live = l
	if l.Silent > 0 && t.screen.look.Live {
		return // the live lines show the elapsed time
	}
	if l.Title == "" || strings.HasPrefix(l.Title, "Thought for ") || strings.HasPrefix(l.Title, "Writing ") ||
		l.Title == t.warned {
		return
	}
	t.warned = l.Title
	look := t.screen.look
	t.screen.printLocked(look.line(look.in(yellow, "  "+untrusted.NoRunnerCommands(untrusted.EscapeLine(l.Title)))))
}

// Setup shows the progress of creating the workspace.
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

// Printed notes that a command printed output; last returns its last line.
func (t *Terminal) Printed(last func() string) {
	t.screen.mu.Lock()
	defer t.screen.mu.Unlock()
	t.goingOn.last = last
}

// maxLive is the maximum number of lines shown of a growing answer.
const maxLive = 8

var frames = []string{"⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"}

// now returns the live lines. The caller holds the screen's lock.
func (t *Terminal) now() (out []string) {
	g, l, at := &t.goingOn, t.screen.look, t.clock()
	if g.since.IsZero() || t.view.Outcome != nil {
		return nil
	}
	tail := func(s string, c tone) {
		if strings.TrimSpace(s) != "" {
			lines := l.barLines(lastOf(s), l.words, c)
			out = append(out, lines[max(0, len(lines)-maxLive):]...)
		}
	}
	what, more := "waiting for the model", ""
	if t.view.TakeBack != nil || t.view.Rest != nil {
		what = "changing the branch" // an undo asks no model
	} else if g.ending {
		what = "finishing"
	}
	switch {
	case g.tool != "":
		what = untrusted.EscapeLine(g.tool)
	case g.live.Content != "":
		what = cmp.Or(untrusted.EscapeLine(g.live.Title), "answering")
		tail(g.live.Content, plain)
	case g.live.Thinking != "":
		what = cmp.Or(untrusted.EscapeLine(g.live.Title), "thinking")
		tail(g.live.Thinking, dim)
	case g.live.Silent > 0: // the reason is below, if there is room
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
		out = append(out, l.line(l.in(dim, "  └ "+untrusted.EscapeLine(expandTabs(g.line)))))
	}
	turn := t.view.AllTurns()
	if g.tool == "" && !g.ending {
		turn++
	}
	status := fmt.Sprintf("  turn %d", max(turn, 1))
	if t.view.Tokens > 0 {
		status += fmt.Sprintf(" · %s tokens", tokens(t.view.Tokens))
	}
	switch {
	case t.screen.listens && g.tool != "":
		status += " · /skip ends this call"
	case t.screen.listens:
		status += " · type to add a request"
	}
	return append(out, l.line(l.in(dim, status+" · Ctrl-C parks the session")))
}

// lastOf returns the end of a text; no more of it fits on the screen.
func lastOf(s string) string {
	const most = 4 << 10
	if len(s) > most {
		s = strings.ToValidUTF8(s[len(s)-most:], "")
	}
	return s
}

// tokens formats a number of tokens: 950, 3.1k, 1.2M.
func tokens(n int) string {
	switch {
	case n >= 1_000_000:
		return fmt.Sprintf("%.1fM", float64(n)/1e6)
	case n >= 1000:
		return fmt.Sprintf("%.1fk", float64(n)/1e3)
	}
	return fmt.Sprint(n)
}
