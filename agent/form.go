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

// weakForms is the size below which one failed turn is enough to ask in another form.
const weakForms = 7_000_000_000

func (m *model) weak() bool { return m.caps.Parameters > 0 && m.caps.Parameters < weakForms }

// belowNative is the form for a model whose native calls do not arrive.
func (m *model) belowNative() llm.Form {
	if m.weak() && m.wanted == llm.FormAuto {
		return llm.FormFiles
	}
	return llm.FormText
}

// choose returns the form in which the model is asked: the one that the session fell back
// to or began with, the operator's, the one that went well before, or the one that fits
// what its server says of it.
func (m *model) choose() llm.Form {
	form := m.stepped
	if lead := m.lead; form == llm.FormAuto && lead != nil && lead.Model == m.ModelName() {
		form = formOf(lead)
	}
	if form == llm.FormAuto {
		form = m.wanted
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

// formOf is the form of requests that began with p.
func formOf(p *session.Prompt) llm.Form {
	switch {
	case p.Form != "":
		return llm.Form(p.Form)
	case p.Text:
		return llm.FormText
	}
	return llm.FormNative
}

// inForm says to the model how it answers from here on.
var inForm = map[llm.Form]string{
	llm.FormFiles: "Answer with the files that change, each under its path, as the system prompt says.",
}

// stepTo asks the model in another form from here on. Its failed turns since a person last
// wrote are taken back.
func (j *journal) stepTo(ctx context.Context, form llm.Form, why string) error {
	note := session.Note{Kind: session.NoteFallback, Form: string(form), Text: strings.TrimSpace(why + " " + inForm[form])}
	if form == llm.FormFiles {
		note.Text = inForm[form]
		if done := j.changedPaths(); done != "" {
			note.Text = fmt.Sprintf("Already changed for this request: %s. %s", done, note.Text)
		}
		note.Back = j.talk.afterPerson()
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

// afterPerson is the event behind the last words of a person.
func (t *conversation) afterPerson() int64 {
	for i := len(t.entries) - 1; i >= 0; i-- {
		if t.entries[i].person {
			return t.entries[i].seq + 1
		}
	}
	return 1
}
