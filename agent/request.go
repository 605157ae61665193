package agent

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/handrail-bot/handrail/agent/compact"
	"github.com/handrail-bot/handrail/agent/llm"
	"github.com/handrail-bot/handrail/agent/prompt"
	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/agent/tools"
	"github.com/handrail-bot/handrail/policy"
)

// toolset selects the tools that the model is offered.
type toolset struct {
	*journal
	*tools.Registry
	window *window
	off    func(m policy.Mode, tool string) bool // see [policy.Policy.ToolOff]
}

// smallWindow is the largest window, in tokens, in which only essential tools are
// offered.
const smallWindow = 16384

// offered lists the tools available in the mode. It only spares the model useless calls;
// the gate enforces the mode. The list does not change from turn to turn, because it is
// part of the common prefix of requests.
func (t *toolset) offered() []llm.ToolSpec {
	out := make([]llm.ToolSpec, 0, len(t.Specs()))
	small, reads := t.small(), !t.mode.Writes()
	defines := t.defines(small)
	for _, s := range t.Specs() {
		offer := (s.Kind == policy.Read || t.mode.Allows(s.Kind)) && (s.Essential || !small) && (small || !s.Small) &&
			s.In(t.mode.Name) && (t.off == nil || !t.off(t.mode, s.Name))
		if s.Served != tools.NotServed {
			offer = offer && t.mode.Allows(policy.MCP) && (s.Served == tools.Definition) == defines //control:mcp-budget
		}
		if offer && s.Description != "" && !s.Untold { //control:untold-tools
			out = append(out, s.Told(small, reads))
		}
	}
	return out
}

// definitionShare is the part of the window, as a divisor, that the definitions of MCP
// servers may take: a popular server has 34,000 tokens of them.
const definitionShare = 10

// defines reports whether each tool of the MCP servers is offered under its own name: the
// model calls tools natively, and all definitions fit. Otherwise their names alone are
// told.
func (t *toolset) defines(small bool) bool {
	if small || t.window.model.text() {
		return false
	}
	size := 0
	for _, s := range t.Specs() {
		if s.Served == tools.Definition {
			size += len(s.Name) + len(s.Description) + len(s.Parameters)
		}
	}
	most := LargestContext(t.window.fixed, t.window.model.caps) / definitionShare
	return size <= compact.Ratio{}.Bytes(most)
}

// weakModel is the size below which a model cannot handle many tools and long prompts.
const weakModel = 8_000_000_000

// weak reports whether the model is small and its first window is not a large one.
func (t *toolset) weak() bool {
	caps, first := t.window.model.caps, t.window.fixed
	if first == 0 {
		first = caps.Window()
	}
	return caps.Parameters > 0 && caps.Parameters < weakModel && first <= llm.FirstWindow //control:weak-models
}

// small reports whether the window or the model is small.
func (t *toolset) small() bool {
	return t.weak() || LargestContext(t.window.fixed, t.window.model.caps) <= smallWindow
}

// edits reports whether a tool changes existing text.
func (t *toolset) edits(tool string) bool { return t.Spec(tool).Edits }

func (t *toolset) names() []string { return tools.Names(t.offered()) }

// requests builds the requests to the model.
type requests struct {
	*journal
	prompt    prompt.Builder
	tools     *toolset
	window    *window
	model     *model
	maxTokens int
	sealer    prompt.Sealer
}

// begin records the common prefix of the requests if it has changed. The prefix is kept
// as long as possible, because a server reuses its computations for requests that begin
// with the same bytes.
func (q *requests) begin(ctx context.Context) error {
	specs := q.tools.offered()
	now := session.Prompt{
		Model:  q.ModelName(),
		Mode:   q.mode.Name,
		Text:   q.model.text(),
		Form:   formName(q.model.form),
		Digest: digestOf(specs),
	}
	if now.Why = q.whyAnew(now); now.Why == "" { //control:fixed-prompt
		return nil
	}
	now.System = q.prompt.Build(
		prompt.Input{
			Mode:     now.Mode,
			Form:     q.model.form,
			Long:     q.largestFile() > maxWhole,
			Parts:    inParts(q.talk.view(), false),
			Tools:    specs,
			Provided: q.talk.provides(),
			Small:    q.tools.small(),
			Weak:     q.tools.weak(),
			View:     len(q.talk.view()) > 0,
		},
	)
	if now.Why == session.PromptCompaction && now.System == q.lead.System {
		return nil
	}
	return q.record(ctx, session.NewEvent(session.TypePrompt, q.Turns, now))
}

// whyAnew returns the reason that the prefix has to change, or "". Another mode with the
// same tools is no reason: the model is told about it by [history.message].
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

// digestOf identifies a list of tools by their full descriptions.
func digestOf(specs []llm.ToolSpec) string {
	h := sha256.New()
	for _, s := range specs {
		fmt.Fprintf(h, "%q %q %s\n", s.Name, s.Description, s.Parameters)
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// build returns a request with the common prefix and the conversation so far.
func (q *requests) build() llm.Request {
	system := ""
	if q.lead != nil {
		system = q.lead.System
	}
	messages := []llm.Message{{Role: llm.RoleSystem, Content: system}}
	if q.showsWorked() {
		messages = append(messages, prompt.Worked()...)
	}
	req := q.plain(append(messages, q.talk.messages(q.model.form)...))
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

// showsWorked reports whether a worked task stands before the conversation: a small model is asked for
// whole files, and no text has the name of the sample's file. Every second try goes without: it differs more.
func (q *requests) showsWorked() bool {
	view := q.talk.view()
	whole := q.talk.line == nil && !inParts(view, q.talk.failed()) && q.largestFile() <= maxWhole
	return q.model.form == llm.FormFiles && q.mode.Writes() && q.tools.weak() && len(view) > 0 && whole &&
		q.model.claims.tries()%2 == 0 && !q.talk.names(prompt.WorkedFile)
}

// plain returns a request with the given messages. All requests are built here, so this
// is the place to neutralize the control marks of chat templates in text that was read or
// said; the log keeps the original. The system prompt escapes its own quotations.
func (q *requests) plain(messages []llm.Message) llm.Request {
	messages = q.sealer.Seal(messages, q.model.form == llm.FormText, q.model.parser.IsTag) //control:marks-broken
	return llm.Request{Messages: messages, Context: q.window.size(), MaxTokens: q.limit()}
}

// limit returns the maximum number of tokens of an answer. A whole file needs some, and a
// model that may think needs more.
func (q *requests) limit() int {
	if q.maxTokens > 0 {
		return q.maxTokens
	}
	if q.model.form == llm.FormFiles {
		return answerLimit(0, q.largestFile(), q.model.caps.Parameters)
	}
	limit := callTokens
	if q.model.caps.Thinking || q.model.caps.Parameters == 0 {
		limit = thinkTokens
	}
	return min(limit, q.window.size()/4)
}

// Default limits of an answer, in tokens.
const (
	minTokens   = 2048 // without files in view
	tinyTokens  = 512  // the same, for models below tinyModel
	callTokens  = 4096
	thinkTokens = 8192
)

// tinyModel is the number of parameters below which a long answer never was a right one.
const tinyModel = 400_000_000

// isTiny reports whether a model is known to be below tinyModel.
func isTiny(parameters int64) bool { return parameters > 0 && parameters < tinyModel }

// answerLimit returns the maximum number of tokens of an answer that writes a file: the
// configured limit, or else enough for view, the size in bytes of the largest file in
// view, and some words.
func answerLimit(configured, view int, parameters int64) int {
	least := minTokens
	if isTiny(parameters) { //control:tiny-answers
		least = tinyTokens
	}
	if configured > 0 {
		return configured
	}
	return max(least, view*2/5+tinyTokens)
}

// maxWhole is the largest size, in bytes, of a file that is rewritten as a whole.
const maxWhole = 6000

// largestFile returns the size in bytes of the largest file in view.
func (q *requests) largestFile() int {
	n := 0
	for _, f := range q.talk.view() {
		n = max(n, len(f.Text))
	}
	return n
}

// formName returns the form for the log; Prompt.Text distinguishes the other forms.
func formName(f llm.Form) string {
	if f == llm.FormFiles {
		return string(f)
	}
	return ""
}
