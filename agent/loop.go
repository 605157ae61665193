package agent

import (
	"context"
	"fmt"

	"github.com/handrail-bot/handrail/agent/llm"
	"github.com/handrail-bot/handrail/agent/prompt"
	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/policy"
)

// verdict says what a step leads to.
type verdict int

const (
	goOn verdict = iota // look again
	halt                // the run ends with the outcome
)

// step is one thing that may be due. Steps are tried in order, and the first
// that did something starts the round anew, so that each round begins with a
// look at the log.
type step func(ctx context.Context) (verdict, *session.Outcome, error)

// loop is the whole of an agent: finish the calls of the last answer, put
// what they changed on the branch, see whether that was all, and ask the
// model for the next answer.
func (r *run) loop(ctx context.Context) (session.Outcome, error) {
	steps := []step{r.finishCalls, r.publish, r.finish, r.checkBudget, r.think}
	for {
		if err := r.listen(ctx); err != nil {
			return session.Outcome{}, err
		}
		for _, s := range steps {
			seq := r.state.seq
			v, out, err := s(ctx)
			if err != nil {
				return session.Outcome{}, err
			}
			if v == halt {
				return r.end(ctx, *out)
			}
			if r.state.seq != seq {
				break
			}
		}
	}
}

// listen takes in what people wrote meanwhile.
func (r *run) listen(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if r.cfg.Inbox != nil {
		if err := r.cfg.Inbox(ctx); err != nil {
			return fmt.Errorf("read inbox: %w", err)
		}
	}
	return r.catchUp(ctx)
}

// end records the outcome.
func (r *run) end(ctx context.Context, out session.Outcome) (session.Outcome, error) {
	out.Turns = r.state.turn - r.state.turnsFrom
	out.Files = r.state.changedFiles()
	out.Commit = r.state.published
	ev := session.NewEvent(session.TypeEnded, r.state.turn, session.Ended{Outcome: out})
	if err := r.record(ctx, ev); err != nil {
		return session.Outcome{}, err
	}
	return out, nil
}

// think asks the model for one answer and records it.
func (r *run) think(ctx context.Context) (verdict, *session.Outcome, error) {
	req, err := r.request(ctx)
	if err != nil {
		return r.modelFailed(ctx, err)
	}
	answer, err := r.answer(ctx, req)
	if err != nil {
		return r.modelFailed(ctx, err)
	}
	ev := session.NewEvent(session.TypeAnswer, r.state.turn+1, answer)
	return goOn, nil, r.record(ctx, ev)
}

// request builds what the model is sent: the system prompt of this moment
// and the conversation so far.
func (r *run) request(ctx context.Context) (llm.Request, error) {
	if err := r.learnModel(ctx); err != nil {
		return llm.Request{}, err
	}
	if err := r.compactIfNeeded(ctx); err != nil {
		return llm.Request{}, err
	}
	return r.build(), nil
}

func (r *run) build() llm.Request {
	specs := r.offered()
	system := r.cfg.Prompt.Build(prompt.Input{
		Mode: r.mode.Name, Native: !r.text, Tools: specs, Todo: r.state.todo, Memory: r.memory(),
		Task: r.state.task.Text, Turn: r.state.turn - r.state.turnsFrom, Turns: r.turnLimit(),
	})
	req := llm.Request{
		Messages:  append([]llm.Message{{Role: llm.RoleSystem, Content: system}}, r.state.messages(r.text)...),
		Think:     r.caps.Thinking,
		Context:   r.window(),
		MaxTokens: r.cfg.MaxTokens,
	}
	if !r.text {
		req.Tools = specs
	}
	if !r.caps.Vision {
		for i := range req.Messages {
			req.Messages[i].Images = nil
		}
	}
	return req
}

// kinds are the tools that do more than read and talk.
var kinds = map[string]policy.Kind{
	"write_file": policy.Write, "apply_diff": policy.Write, "edit_file": policy.Write,
	"insert_content": policy.Write, "search_and_replace": policy.Write,
	"delete_file": policy.Delete, "run_terminal_command": policy.Execute,
}

// offered lists the tools that the mode can use. Leaving the others out is a
// courtesy to the model; the gate is what refuses them.
func (r *run) offered() []llm.ToolSpec {
	out := make([]llm.ToolSpec, 0, len(r.specs))
	for _, s := range r.specs {
		if k, ok := kinds[s.Name]; !ok || r.mode.Allows(k) {
			out = append(out, s)
		}
	}
	return out
}

// A session begins with a window that a laptop can afford and gets a larger
// one when it outgrows it, as far as the model goes: growing costs the server
// a reload, summarizing costs what the model knew.
const (
	firstContext = 32768
	mostContext  = 131072
)

// window is the context to work in, in tokens.
func (r *run) window() int {
	n := r.cfg.Context
	if n == 0 {
		n = max(firstContext, r.grown)
	}
	if r.caps.ContextLength > 0 {
		n = min(n, r.caps.ContextLength)
	}
	return n
}

// grow takes the next larger window, if the model has one to give.
func (r *run) grow() bool {
	now := r.window()
	limit := min(mostContext, r.caps.ContextLength)
	if r.cfg.Context != 0 || now >= limit {
		return false
	}
	r.grown = min(now*2, limit)
	return true
}

// learnModel asks once what the model can do.
func (r *run) learnModel(ctx context.Context) error {
	if r.caps != (llm.Capabilities{}) {
		return nil
	}
	caps, err := r.capabilities(ctx)
	if err != nil {
		return err
	}
	r.caps = caps
	r.text = !caps.Tools
	return nil
}

func (r *run) turnLimit() int {
	n := r.mode.Turns
	if r.cfg.Limits.Turns > 0 {
		n = r.cfg.Limits.Turns
	}
	if r.state.task.Turns > 0 {
		n = r.state.task.Turns
	}
	return n + r.state.granted
}

// checkBudget parks a session that has used what it was given.
func (r *run) checkBudget(context.Context) (verdict, *session.Outcome, error) {
	l := r.cfg.Limits
	var why string
	switch {
	case r.state.turn-r.state.turnsFrom >= r.turnLimit():
		why = fmt.Sprintf("all %d turns are used", r.turnLimit())
	case l.Tokens > 0 && r.state.tokens >= l.Tokens:
		why = fmt.Sprintf("%d tokens are used, %d were allowed", r.state.tokens, l.Tokens)
	case l.Edits > 0 && r.state.edits >= l.Edits:
		why = fmt.Sprintf("%d edits are made, %d were allowed", r.state.edits, l.Edits)
	case l.ChangedLines > 0 && r.state.lines >= l.ChangedLines:
		why = fmt.Sprintf("%d lines are changed, %d were allowed", r.state.lines, l.ChangedLines)
	case !r.until.IsZero() && r.cfg.Now().After(r.until):
		why = fmt.Sprintf("the session has run for %s", l.Wall)
	default:
		return goOn, nil, nil
	}
	return halt, &session.Outcome{
		Status: session.StatusOutOfBudget,
		Reason: why + ". Nothing is lost: grant more to go on from here.",
	}, nil
}
