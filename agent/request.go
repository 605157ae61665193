package agent

import (
	"fmt"
	"slices"

	"github.com/handrail-bot/handrail/agent/llm"
	"github.com/handrail-bot/handrail/agent/prompt"
	"github.com/handrail-bot/handrail/agent/tools"
	"github.com/handrail-bot/handrail/policy"
)

// toolset is what the model is offered of the tools that there are.
type toolset struct {
	*journal
	*tools.Registry
	window *window
}

// offered lists the tools that the mode can use now. Leaving the others out
// is a courtesy to the model; the gate is what refuses them.
func (t *toolset) offered() []llm.ToolSpec {
	out := make([]tools.Spec, 0, len(t.Specs()))
	size := 0
	for _, s := range t.Specs() {
		changes := s.Kind == policy.Write || s.Kind == policy.Delete
		if s.Kind != policy.Read && !t.mode.Allows(s.Kind) || changes && t.editsSpent() {
			continue
		}
		out = append(out, s)
		size += len(s.Name) + len(s.Description) + len(s.Parameters)
	}
	if t.window.tokens(size) > t.window.size()/3 {
		out = slices.DeleteFunc(out, func(s tools.Spec) bool { return !s.Essential })
	}
	return tools.ForModel(out)
}

func (t *toolset) names() []string {
	var out []string
	for _, s := range t.offered() {
		out = append(out, s.Name)
	}
	return out
}

// requests puts together what a model is sent.
type requests struct {
	*journal
	prompt    prompt.Builder
	tools     *toolset
	window    *window
	model     *model
	meter     *meter
	maxTokens int
}

// build returns the system prompt of this moment and the conversation so far.
func (q *requests) build() llm.Request {
	specs := q.tools.offered()
	system := q.prompt.Build(prompt.Input{
		Mode: q.mode.Name, Native: !q.model.text, Tools: specs, Todo: q.Todo, Memory: q.notes.String(),
		Task: q.Task.Text, Turn: q.Turns - q.used.turnsFrom, Turns: q.meter.turnLimit(),
	})
	req := q.plain(append([]llm.Message{{Role: llm.RoleSystem, Content: system}}, q.talk.messages(q.model.text)...))
	req.Think = q.model.caps.Thinking
	if !q.model.text {
		req.Tools = specs
	}
	if !q.model.caps.Vision {
		for i := range req.Messages {
			if n := len(req.Messages[i].Images); n > 0 {
				req.Messages[i].Images = nil
				req.Messages[i].Content += fmt.Sprintf("\n\n(%d pictures are left out: this model cannot see.)", n)
			}
		}
	}
	return req
}

// plain is a request of just these messages. Every request is made here, so here the
// control marks of chat templates are broken in everything that was read or said: the
// log keeps what is exact. The system prompt is ours; it breaks what it quotes itself.
func (q *requests) plain(messages []llm.Message) llm.Request {
	messages = prompt.Seal(messages, q.model.text) //control:marks-broken
	return llm.Request{Messages: messages, Context: q.window.size(), MaxTokens: q.maxTokens}
}
