package agent

import (
	"context"
	"fmt"
	"strings"

	"github.com/handrail-bot/handrail/agent/llm"
	"github.com/handrail-bot/handrail/agent/session"
)

// text reports whether the model makes no native calls.
func (m *model) text() bool { return m.form == llm.FormText || m.form == llm.FormFiles }

// weakForms is the model size below which one failed turn is enough to change the form.
const weakForms = 7_000_000_000

func (m *model) weak() bool { return m.caps.Parameters > 0 && m.caps.Parameters < weakForms }

// belowNative returns the form for a model if its native calls do not arrive.
func (m *model) belowNative() llm.Form {
	if m.weak() && m.configuredForm == llm.FormAuto {
		return llm.FormFiles
	}
	return llm.FormText
}

// choose returns the form for the model. In order of precedence: the form that the
// session fell back to or began with, the operator's choice, the form with the best
// experience, and the default for the model's capabilities.
func (m *model) choose() llm.Form {
	form := m.stepped
	if lead := m.lead; form == llm.FormAuto && lead != nil && lead.Model == m.ModelName() {
		form = formOf(lead)
	}
	if form == llm.FormAuto {
		form = m.configuredForm
	}
	if form == llm.FormAuto && m.forms != nil {
		form = m.forms.Best(m.llm.Name(), m.caps)
	}
	if form == llm.FormAuto {
		form = llm.FormOf(m.caps)
	}
	if form == llm.FormNative && !m.caps.Tools {
		form = llm.FormText
	}
	return form
}

// formOf returns the form of requests that began with p.
func formOf(p *session.Prompt) llm.Form {
	switch {
	case p.Form != "":
		return llm.Form(p.Form)
	case p.Text:
		return llm.FormText
	}
	return llm.FormNative
}

// formInstructions tells the model how to answer in a new form.
var formInstructions = map[llm.Form]string{
	llm.FormFiles: "Answer with the files that change, each under its path, as the system prompt says.",
}

// stepTo switches to another form. For the files form it discards the answers since the
// latest user message.
func (j *journal) stepTo(ctx context.Context, form llm.Form, why string) error {
	note := session.Note{
		Kind: session.NoteFallback,
		Form: string(form),
		Text: strings.TrimSpace(why + " " + formInstructions[form]),
	}
	if form == llm.FormFiles {
		note.Text = formInstructions[form]
		if done := j.changedPaths(); done != "" {
			note.Text = fmt.Sprintf("Already changed for this request: %s. %s", done, note.Text)
		}
		note.Back = j.talk.afterUserMessage()
	}
	return j.record(ctx, session.NewEvent(session.TypeNote, j.Turns, note))
}

func (j *journal) changedPaths() string {
	var names []string
	for _, f := range j.Files {
		names = append(names, f.Path)
	}
	return strings.Join(names, ", ")
}

// afterUserMessage returns the number of the event after the latest user message.
func (t *conversation) afterUserMessage() int64 {
	for i := len(t.entries) - 1; i >= 0; i-- {
		if t.entries[i].person {
			return t.entries[i].seq + 1
		}
	}
	return 1
}
