package agent

import (
	"context"
	"fmt"
	"slices"

	"github.com/handrail-bot/handrail/agent/llm"
	"github.com/handrail-bot/handrail/agent/prompt"
	"github.com/handrail-bot/handrail/agent/session"
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

// loop is the whole of an agent: look up what the request names, finish the
// calls of the last answer, put what they changed on the branch, see whether
// that was all, and ask the model for the next answer.
func (r *run) loop(ctx context.Context) (session.Outcome, error) {
	steps := []step{r.provide, r.finishCalls, r.publish, r.finish, r.checkBudget, r.think}
	for {
		if r.cfg.Checkpoints.Moved() {
			return session.Outcome{Status: session.StatusMoved, Turns: r.state.Turns}, nil
		}
		if err := r.listen(ctx); err != nil {
			return session.Outcome{}, err
		}
		for _, s := range steps {
			seq := r.state.Seq
			v, out, err := s(ctx)
			if err != nil {
				return session.Outcome{}, err
			}
			if v == halt {
				return r.end(ctx, *out)
			}
			if r.state.Seq != seq {
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
	out.Turns = r.state.Turns - r.state.used.turnsFrom
	out.Files = slices.Clone(r.state.Files)
	out.Commit = r.state.Published
	ev := session.NewEvent(session.TypeEnded, r.state.Turns, session.Ended{Outcome: out})
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
	ev := session.NewEvent(session.TypeAnswer, r.state.Turns+1, answer)
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
	return r.fitted(r.build()), nil
}

func (r *run) build() llm.Request {
	specs := r.offered()
	system := r.cfg.Prompt.Build(prompt.Input{
		Mode: r.mode.Name, Native: !r.text, Tools: specs, Todo: r.state.Todo, Memory: r.memory(),
		Task: r.state.Task.Text, Turn: r.state.Turns - r.state.used.turnsFrom, Turns: r.turnLimit(),
	})
	req := llm.Request{
		Messages:  append([]llm.Message{{Role: llm.RoleSystem, Content: system}}, r.state.talk.messages(r.text)...),
		Think:     r.caps.Thinking,
		Context:   r.window(),
		MaxTokens: r.cfg.MaxTokens,
	}
	if !r.text {
		req.Tools = specs
	}
	if !r.caps.Vision {
		for i := range req.Messages {
			if n := len(req.Messages[i].Images); n > 0 {
				req.Messages[i].Images = nil
				req.Messages[i].Content += fmt.Sprintf("\n\n(%d pictures are left out: this model cannot see.)", n)
			}
		}
	}
	return req
}
