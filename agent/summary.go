package agent

import (
	"context"
	"fmt"
	"strings"

	"github.com/handrail-bot/handrail/agent/llm"
	"github.com/handrail-bot/handrail/agent/session"
)

// summarize returns an outcome with a summary from the first source that has one: the
// model's closing words, its latest explanation, an extra request to the model, or a list
// of the last tool results.
func (f *finisher) summarize(ctx context.Context, status session.Status, said string) *session.Outcome {
	out := &session.Outcome{Status: status}
	sources := []func() string{
		func() string { return said },
		f.lastExplanation,
		func() string { return f.askSummary(ctx) },
		f.lastResults,
	}
	if f.model.form == llm.FormFiles { // a small model is not asked for a summary
		sources = []func() string{func() string { return said }, f.changes}
	}
	for _, source := range sources {
		if out.Summary = strings.TrimSpace(source()); out.Summary != "" {
			break
		}
	}
	if status == session.StatusNoChanges {
		out.Reason = "The task asks for a change, and no file was changed."
		if f.Published != f.Task.Base {
			out.Reason = "The last request asks for a change, and no file was changed for it. Earlier changes stay as they are."
		}
	}
	return out
}

// changes lists the files that the work changed.
func (f *finisher) changes() string {
	if names := f.changedPaths(); names != "" {
		return "Changed: " + names + "."
	}
	return ""
}

// lastExplanation returns the model's latest explanation along the way.
func (f *finisher) lastExplanation() string {
	for i := len(f.talk.entries) - 1; i > 0; i-- {
		if a := f.talk.entries[i].answer; a != nil && len(a.Content) > 40 {
			return a.Content
		}
	}
	return ""
}

// askSummary asks the model once for a summary; failure is acceptable. The tools stay in
// the request, so that it has the same prefix as the previous one.
func (f *finisher) askSummary(ctx context.Context) string {
	req := f.requests.build()
	req.Messages = append(req.Messages, llm.Message{Role: llm.RoleUser,
		Content: "Summarize in two or three sentences what you did and found, for the person who asked. Call no tool."})
	return f.model.askOnce(ctx, req)
}

// lastResults lists the last six tool results.
func (f *finisher) lastResults() string {
	var lines []string
	for i := len(f.talk.entries) - 1; i >= 0 && len(lines) < 6; i-- {
		calls := f.talk.entries[i].calls
		for j := len(calls) - 1; j >= 0 && len(lines) < 6; j-- {
			if res := calls[j].Result; res != nil {
				lines = append([]string{fmt.Sprintf("- %s: %s", calls[j].Name, firstLine(res.Content, 100))}, lines...)
			}
		}
	}
	if len(lines) == 0 {
		return ""
	}
	return "The last steps were:\n" + strings.Join(lines, "\n")
}
