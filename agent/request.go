package agent

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/handrail-bot/handrail/agent/llm"
	"github.com/handrail-bot/handrail/agent/prompt"
	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/agent/tools"
	"github.com/handrail-bot/handrail/policy"
)

// toolset is what the model is offered of the tools that there are.
type toolset struct {
	*journal
	*tools.Registry
	window *window
}

// smallWindow is the largest window, in tokens, for which only the tools are offered
// that matter most.
const smallWindow = 16384

// offered lists the tools that the mode can use. Leaving the others out is a courtesy
// to the model; the gate is what refuses them. The list depends on nothing that
// changes from turn to turn, because requests begin with it.
func (t *toolset) offered() []llm.ToolSpec {
	out := make([]llm.ToolSpec, 0, len(t.Specs()))
	small, reads := t.small(), !t.mode.Writes()
	for _, s := range t.Specs() {
		offer := (s.Kind == policy.Read || t.mode.Allows(s.Kind)) && (s.Essential || !small) && s.In(t.mode.Name)
		if offer && s.Description != "" && !s.Untold { //control:untold-tools
			out = append(out, s.Told(small, reads))
		}
	}
	return out
}

// weakModel is the size below which a model gets lost among many tools and long prompts.
const weakModel = 8_000_000_000

// weak reports whether the model is small, and begins with no large window.
func (t *toolset) weak() bool {
	caps, first := t.window.model.caps, t.window.fixed
	if first == 0 {
		first = caps.Window()
	}
	return caps.Parameters > 0 && caps.Parameters < weakModel && first <= llm.FirstWindow //control:weak-models
}

// small reports whether there is little room: the window is small, or the model is.
func (t *toolset) small() bool {
	return t.weak() || LargestContext(t.window.fixed, t.window.model.caps) <= smallWindow
}

// edits reports whether a tool changes text that is there.
func (t *toolset) edits(tool string) bool { return t.Spec(tool).Edits }

func (t *toolset) names() []string { return tools.Names(t.offered()) }

// requests puts together what a model is sent.
type requests struct {
	*journal
	prompt    prompt.Builder
	tools     *toolset
	window    *window
	model     *model
	maxTokens int
}

// begin records what requests begin with from here on, where that is not what they
// began with so far. It is kept as long as it can be: what a server has computed of one
// request it need not compute again for the next one that begins with the same bytes.
func (q *requests) begin(ctx context.Context) error {
	specs := q.tools.offered()
	now := session.Prompt{Model: q.ModelName(), Mode: q.mode.Name, Text: q.model.text(), Form: formName(q.model.form), Digest: digestOf(specs)}
	if now.Why = q.whyAnew(now); now.Why == "" { //control:fixed-prompt
		return nil
	}
	now.System = q.prompt.Build(prompt.Input{Mode: now.Mode, Form: q.model.form, Long: q.longest() > maxWhole, Tools: specs, Provided: q.talk.provides(), Small: q.tools.small(), Weak: q.tools.weak(), View: len(q.talk.view()) > 0})
	if now.Why == session.PromptCompaction && now.System == q.lead.System {
		return nil
	}
	return q.record(ctx, session.NewEvent(session.TypePrompt, q.Turns, now))
}

// whyAnew returns why requests cannot begin as before, "" where they can. Another mode
// with the same tools is no reason: the model is told of it, see [history.message].
func (q *requests) whyAnew(now session.Prompt) session.PromptWhy {
	was := q.lead
	switch {
	case was == nil:
		return session.PromptBegin
	case was.Model != now.Model:
		return session.PromptModel
	case was.Text != now.Text || was.Form != now.Form:
		return session.PromptText
	case was.Mode != now.Mode && was.Digest != now.Digest:
		return session.PromptMode
	case was.Digest != now.Digest:
		return session.PromptTools
	case q.renewed:
		return session.PromptCompaction
	}
	return ""
}

// digestOf names a list of tools by all that a model is told of them.
func digestOf(specs []llm.ToolSpec) string {
	h := sha256.New()
	for _, s := range specs {
		fmt.Fprintf(h, "%q %q %s\n", s.Name, s.Description, s.Parameters)
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// build returns what requests begin with, and the conversation so far.
func (q *requests) build() llm.Request {
	system := ""
	if q.lead != nil {
		system = q.lead.System
	}
	req := q.plain(append([]llm.Message{{Role: llm.RoleSystem, Content: system}}, q.talk.messages(q.model.form)...))
	req.Think = q.model.caps.Thinking
	if !q.model.text() {
		req.Tools = q.tools.offered()
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
	messages = prompt.Seal(messages, q.model.form == llm.FormText, q.model.parser.IsTag) //control:marks-broken
	return llm.Request{Messages: messages, Context: q.window.size(), MaxTokens: q.limit()}
}

// limit is how many tokens an answer with calls may have. A file that is written whole
// needs some, and a model that may think needs more.
func (q *requests) limit() int {
	if q.maxTokens > 0 {
		return q.maxTokens
	}
	if q.model.form == llm.FormFiles {
		return answerLimit(0, q.longest())
	}
	limit := callTokens
	if q.model.caps.Thinking || q.model.caps.Parameters == 0 {
		limit = thinkTokens
	}
	return min(limit, q.window.size()/4)
}

// Tokens that an answer may have where its operator set no limit.
const (
	leastTokens = 2048 // with nothing in view
	callTokens  = 4096
	thinkTokens = 8192
)

// answerLimit returns how many tokens an answer may have that can write the files in view:
// as many as the operator configured, or else enough for the largest of them, of so many
// bytes, and some words.
func answerLimit(configured, view int) int {
	if configured > 0 {
		return configured
	}
	return max(leastTokens, view*2/5+leastTokens/4)
}

// maxWhole is the size, in bytes, from which a file is changed by blocks.
const maxWhole = 6000

// longest returns the bytes of the largest file in view.
func (q *requests) longest() int {
	n := 0
	for _, f := range q.talk.view() {
		n = max(n, len(f.Text))
	}
	return n
}

// formName is the form as the log has it: the first two are told by another field.
func formName(f llm.Form) string {
	if f == llm.FormFiles {
		return string(f)
	}
	return ""
}
