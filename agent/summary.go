package agent

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/handrail-bot/handrail/agent/llm"
	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/policy/phrase"
)

// summarize returns an outcome with a summary from the first source that has one: the
// model's closing words, its latest explanation, an extra request to the model, or a list
// of the last tool results.
func (f *finisher) summarize(ctx context.Context, status session.Status, said string) *session.Outcome {
	out := &session.Outcome{Status: status}
	sources := []func() string{
		func() string { return said },
		f.lastExplanation,
		func() string { return f.askOnce(ctx, askSummary) },
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
		out.Reason = "The model said that it was done, but no file was changed."
		if f.Published != f.Task.Base {
			out.Reason = "The model said that it was done, but no file was changed for the last request. Earlier changes stay as they are."
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

// outOfBudget returns the outcome of a session that has used up its turns. One that may
// write parks, as out says. One that only reads ends with the model's account of its
// findings, and names the files that it read.
func (f *finisher) outOfBudget(ctx context.Context, out *session.Outcome) (*session.Outcome, error) {
	if f.inside || f.mayWrite() || f.meter.turnsLeft() > 0 || f.Unanswered() { //control:reading-ends
		return out, nil
	}
	why := f.meter.turnsUsed()
	why += ", so this is not the whole of it: " + f.filesRead() //control:unread-is-told
	ask := "No turns are left. Answer the request now with what you found. Call no tool."
	summary := strings.TrimSpace(cmp.Or(f.askOnce(ctx, ask), f.lastExplanation(), f.lastResults()))
	if f.planner.plans() && summary != "" {
		return f.planner.propose(ctx, summary+"\n\n"+why)
	}
	return &session.Outcome{Status: f.inWords(), Reason: why, Summary: summary}, nil
}

// maxFilesRead is the maximum number of read files that are named.
const maxFilesRead = 10

// filesRead names the files that the model read for the request.
func (f *finisher) filesRead() string {
	var names []string
	for _, path := range f.claims.read {
		names = append(names, "`"+strings.ReplaceAll(path, "`", "")+"`")
	}
	switch {
	case len(names) == 0:
		return "no file was read."
	case len(names) > maxFilesRead:
		return fmt.Sprintf("%s and some more were read, and nothing else.", strings.Join(names[:maxFilesRead], ", "))
	case len(names) == 1:
		return names[0] + " was read, and nothing else."
	}
	return phrase.List(names) + " were read, and nothing else."
}

// lastExplanation returns the model's latest explanation along the way, since the user's
// last message.
func (f *finisher) lastExplanation() string {
	for i := len(f.talk.entries) - 1; i > 0 && !f.talk.entries[i].person; i-- {
		if a := f.talk.entries[i].answer; a != nil && len(a.Content) > 40 {
			return a.Content
		}
	}
	return ""
}

const askSummary = "Summarize in two or three sentences what you did and found, for the person who asked. Call no tool."

// askOnce asks the model once for closing words; failure is acceptable. The tools stay in
// the request, so that it has the same prefix as the previous one.
func (f *finisher) askOnce(ctx context.Context, ask string) string {
	req := f.requests.build()
	req.Messages = append(req.Messages, llm.Message{Role: llm.RoleUser, Content: ask})
	return f.model.askOnce(ctx, req)
}

const askTitle = "Write the title of this change for the history of the repository: one line of at most 72 characters, " +
	"as an order (Add …, Fix …), and only what the diff does. Answer with that line alone. Call no tool. Changed: "

// title asks the model for the title of the work, with the work in view, or returns "" if
// its answer is none. A small model is not asked.
func (f *finisher) title(ctx context.Context) string {
	if f.inside || f.model.form == llm.FormFiles || len(f.Files) == 0 {
		return ""
	}
	how := f.Task.Convention
	ask := askTitle + f.changedPaths()
	if words := how.Words(); words != "" {
		ask += ". Write it " + words
	}
	return how.Fit(session.Title(f.askOnce(ctx, ask), f.Files), f.Files, f.Task.Text)
}

// lastResults lists the last six tool results since the user's last message.
func (f *finisher) lastResults() string {
	var lines []string
	for i := len(f.talk.entries) - 1; i >= 0 && len(lines) < 6 && !f.talk.entries[i].person; i-- {
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
