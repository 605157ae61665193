package guest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/handrail-bot/handrail/agent/acp"
	"github.com/handrail-bot/handrail/agent/llm"
	"github.com/handrail-bot/handrail/policy/phrase"
	"github.com/handrail-bot/handrail/policy/untrusted"
)

const (
	completionTool = "attempt_completion"

	maxTokens = 100_000   // of one answer, so that budgets are looked at
	maxText   = 512 << 10 // bytes of one answer
	maxTitle  = 200       // characters of an action's title
	maxSteps  = 20        // titles in one step
	maxIdle   = 20        // answers in a row that are no turns
)

// answer collects one answer.
type answer struct {
	sent  int // bytes of words
	taken int // bytes of all updates
	left  int // bytes left out
	calls []llm.ToolCall
	asked []asked
}

// listen reads the agent's stream until its answer is whole. done is false if the caller
// stopped, or with an error.
func (g *Guest) listen(
	ctx context.Context,
	p *process,
	req llm.Request,
	yield func(llm.Part) bool,
) (done bool, err error) {
	g.cfg.Door.wakeUp(p, req.Turns)
	defer g.cfg.Door.pause()
	var a answer
	for {
		if !req.Until.IsZero() && !time.Now().Before(req.Until) { //control:guest-time-bound
			return g.finish(p, &a, yield), nil
		}
		e, ok, err := p.next()
		if err != nil {
			return false, err
		}
		if !ok {
			if g.cfg.Door.over(len(p.steps) > 0) {
				return g.finish(p, &a, yield), nil
			}
			if err := g.patiently(ctx, p, req.Until); err != nil {
				return false, err
			}
			continue
		}
		switch {
		case e.update != nil:
			if a.taken += sizeOf(*e.update); a.taken > maxBytes {
				return false, errFlood
			}
			if !a.take(p, *e.update, yield) {
				return false, nil
			}
			continue
		case e.asks != nil:
			if !g.ask(p, &a, e.asks) {
				continue
			}
		case e.calls != nil:
			a.call(asked{calls: e.calls}, e.calls.tool, e.calls.args)
		case e.end != nil:
			p.running = false
			if e.end.err != nil {
				return false, e.end.err
			}
			if next := p.nextPrompt(""); next != "" {
				p.prompt(ctx, next)
				continue
			}
			a.complete(req, p.words.String(), e.end.reason)
		}
		return g.finish(p, &a, yield), nil
	}
}

// patiently waits for a sign of life until a time, and cancels the turn if none comes for too
// long.
func (g *Guest) patiently(ctx context.Context, p *process, until time.Time) error {
	within, stop := context.WithTimeoutCause(ctx, g.cfg.Silence, errSilent)
	defer stop()
	if !until.IsZero() {
		within, stop = context.WithDeadlineCause(within, until, errLate)
		defer stop()
	}
	err := p.wait(within)
	if errors.Is(err, errLate) {
		return nil
	}
	if errors.Is(err, errSilent) {
		_ = p.conn.Cancel(ctx, p.session) // the process ends in any case
	}
	return err
}

// finish passes on the calls of an answer. A step comes first if the agent acted, so that
// its work is saved before anything waits.
func (g *Guest) finish(p *process, a *answer, yield func(llm.Part) bool) bool {
	if p.touched || len(a.calls) == 0 {
		did := p.steps
		if len(did) == 0 {
			did = []string{"Working"}
		}
		args, _ := json.Marshal(map[string][]string{"did": did[:min(len(did), maxSteps)]}) // of strings
		a.calls = slices.Insert(a.calls, 0, llm.ToolCall{Name: stepTool, Arguments: args})
		a.asked = slices.Insert(a.asked, 0, asked{})
		p.touched, p.steps = false, nil
	}
	if a.left > 0 && !yield(llm.Part{Content: fmt.Sprintf("\n\n[%d bytes more are left out]", a.left)}) {
		return false
	}
	p.asked = a.asked
	last := llm.Part{Calls: a.calls, Done: true, DoneReason: "tool_calls"}
	g.cfg.Door.settle(&last)
	if p.idle++; last.Inner >= 0 {
		p.idle = 0
	} else if p.idle > maxIdle { //control:guest-idle-bound
		last.Inner = 0
	}
	yield(last)
	return true
}

// take notes an update, and passes its words on.
func (a *answer) take(p *process, u acp.Update, yield func(llm.Part) bool) bool {
	switch u.Kind {
	case acp.MessageChunk, acp.ThoughtChunk:
		text := strings.ToValidUTF8(u.Text(), "�")
		if a.sent += len(text); a.sent > maxText {
			a.left += len(text)
			return true
		}
		if u.Kind == acp.ThoughtChunk {
			return yield(llm.Part{Thinking: text})
		}
		p.words.WriteString(text)
		return yield(llm.Part{Content: text})
	case acp.ToolCallBegun, acp.ToolCallUpdate:
		p.note(u.Call)
		p.words.Reset()
	}
	return true
}

// note records the progress of an action. One that can change files makes a step when it
// ends.
func (p *process) note(c acp.Call) {
	if p.noted += len(c.Input) + len(c.Title) + 200; p.noted > maxBytes {
		clear(p.calls) // calls that were never ended
		p.noted = 0
	}
	was := p.calls[c.ID]
	now := was.Merge(c)
	p.calls[c.ID] = now
	ended := now.Status == "completed" || now.Status == "failed"
	if quiet(now.Kind) || !ended || was.Status == now.Status {
		return
	}
	delete(p.calls, c.ID)
	p.touched = true
	if title := oneLine(now.Title); title != "" {
		p.steps = append(p.steps, title)
	}
}

// quiet reports whether actions of a kind leave files alone, in the agent's own words. It
// only spares needless steps: everything is saved with the next one.
func quiet(kind string) bool {
	return slices.Contains([]string{"read", "search", "think", "fetch", "switch_mode"}, kind)
}

// whole makes an agent's words one visible line.
func whole(s string) string {
	return untrusted.EscapeLine(strings.TrimSpace(strings.ToValidUTF8(s, "�")))
}

// oneLine does the same, and cuts it.
func oneLine(s string) string { return phrase.Short(whole(s), maxTitle) }

func (a *answer) call(of asked, name string, args []byte) {
	a.asked = append(a.asked, of)
	a.calls = append(a.calls, llm.ToolCall{Name: name, Arguments: args})
}

// ask makes a call of a request for permission. It reports whether the answer has to wait
// for it: an approval of the same request that came while no process ran is spent at once.
func (g *Guest) ask(p *process, a *answer, ask *permission) bool {
	call := p.calls[ask.Call.ID].Merge(ask.Call)
	p.calls[ask.Call.ID] = call
	p.touched = true
	args, err := g.requestOf(call)
	if err != nil {
		p.reject(ask)
		p.say = append(p.say, fmt.Sprintf("Your request %q was refused: %v.", oneLine(call.Title), err))
		return false
	}
	ask.args = args
	g.mu.Lock()
	granted := g.grants[args] //control:guest-grant-is-for-the-request
	delete(g.grants, args)
	g.mu.Unlock()
	if granted {
		if why := ask.allow(); why != "" {
			p.say = append(p.say, why)
		}
		return false
	}
	a.call(asked{asks: ask}, actionTool, []byte(args))
	return true
}

// allow answers a request with its one option to allow it once. why is set if there is
// none: then the request is cancelled.
func (ask *permission) allow() (why string) {
	ask.answered = true
	id, ok := ask.Only(acp.AllowOnce)
	if !ok { //control:guest-never-always
		ask.answer(nil)
		return "It was allowed, but the agent offers no single way to allow it once, so it was cancelled."
	}
	ask.answer(&id)
	return ""
}

// reject answers a request with its one option to reject it once, or cancels it.
func (p *process) reject(ask *permission) {
	ask.answered = true
	if id, ok := ask.Only(acp.RejectOnce); ok {
		ask.answer(&id)
		return
	}
	ask.answer(nil)
}

// complete ends the work with the agent's last words.
func (a *answer) complete(req llm.Request, words, reason string) {
	said := strings.TrimSpace(words)
	if said == "" {
		said = "The agent ended its turn without a word."
	}
	if why := stopped(reason); why != "" {
		said += "\n\n" + why
	}
	if !slices.ContainsFunc(req.Tools, func(t llm.ToolSpec) bool { return t.Name == completionTool }) {
		return
	}
	args, _ := json.Marshal(map[string]string{"result": said}) // of strings
	a.call(asked{}, completionTool, args)
}

// stopped describes an end that is none of the agent's own.
func stopped(reason string) string {
	switch reason {
	case acp.StopTokens:
		return "(It stopped there: its model's answer was cut off.)"
	case acp.StopRequests:
		return "(It stopped there: it may ask its model no more in one turn.)"
	case acp.StopRefusal:
		return "(It stopped there: its model refused to go on.)"
	case acp.StopCancelled:
		return "(Its turn was cancelled.)"
	}
	return ""
}

// prompt begins a turn.
func (p *process) prompt(ctx context.Context, text string) {
	p.running = true
	go func() {
		reason, err := p.conn.Prompt(context.WithoutCancel(ctx), p.session, text)
		p.push(event{end: &turnEnd{reason, err}}, 0)
	}()
}

// nextPrompt returns all that is to be said, and forgets it.
func (p *process) nextPrompt(more string) string {
	all := p.say
	if p.say = nil; more != "" {
		all = append(all, more)
	}
	return strings.Join(all, "\n\n")
}
