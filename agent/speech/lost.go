package speech

import (
	"fmt"
	"slices"
	"strings"

	"github.com/handrail-bot/handrail/agent/session"
)

// Losses tracks incomplete answers in a log: calls that the server dropped or could
// not parse, answers that were cut off, took too long or repeated themselves, and
// prompts that the server truncates. It is a pure fold. It decides on messages to the
// model and on changes of the method.
type Losses struct {
	row    int    // consecutive answers with the same kind of loss
	kind   string // kind of the loss
	errors string // the server's messages
	ran    bool   // calls of the last answer arrived
	native int    // failed attempts at native calls since the last successful one
	why    string // the reason for the failure

	context contextCount
}

// AddAnswer folds an answer.
func (t *Losses) AddAnswer(a *session.Answer) {
	t.context.record(a.PromptBytes, a.PromptTokens)
	if a.Lost == t.kind && a.Lost != "" {
		t.row++
	} else {
		t.kind, t.row = a.Lost, 1
	}
	t.errors, t.ran = strings.Join(a.Errors, "; "), len(a.Calls) > 0
	printed := slices.ContainsFunc(a.Calls, func(c session.Call) bool { return c.Text })
	switch {
	case slices.ContainsFunc(a.Calls, func(c session.Call) bool { return !c.Text }):
		t.native = 0
	case printed:
		t.native, t.why = t.native+1, "you write your calls as text"
	case a.Lost == session.LostCall || a.Lost == session.LostUnread || len(a.Errors) > 0:
		t.native, t.why = t.native+1, "your calls do not seem to arrive"
	}
}

// Reset resets the losses, after new input from the user.
func (t *Losses) Reset() { *t = Losses{} }

// Note folds a note of the engine. The prompt begins anew if calls change to another
// form or the conversation was compacted.
func (t *Losses) Note(p *session.Note) {
	if p.Kind == session.NoteFallback || p.Before > 0 {
		t.native, t.context = 0, contextCount{}
	}
}

// maxNative is the number of answers with failed native calls after which calls
// travel as text, in which unknown names and broken JSON are tolerated.
const maxNative = 2

// TextCalls returns the message to the model that calls travel as text from now on,
// or "" while native calls are possible.
func (t *Losses) TextCalls() string {
	if t.native < maxNative {
		return ""
	}
	return "Native tool calls do not work here: " + t.why + ". From now on write every call as text, in the form that the system prompt shows."
}

// maxReminders is the maximum number of consecutive reminders of the same kind of loss.
const maxReminders = 2

// Reminder returns the message to the model about its last answer, or "". tools are
// the names that it may call.
func (t *Losses) Reminder(tools []string) string {
	if t.row > maxReminders {
		return ""
	}
	switch t.kind {
	case session.LostCall:
		return "Less of your answer arrived here than the server counted. If a tool call was in it, that call did not run: " +
			"the server drops a call whose name is no tool and one whose arguments are not JSON. " + form(tools)
	case session.LostUnread:
		ran := "Nothing was run. "
		if t.ran { //control:other-calls-ran
			ran = "That call did not run. "
		}
		return "Your tool call could not be understood: " + t.errors + ". " + ran + form(tools)
	case session.LostEnd:
		return "Your answer was longer than it may be and was cut off. What was not finished did not run. " +
			smaller
	case session.LostTime:
		return "Your answer took longer than it may and was stopped. What was not finished did not run. " + smaller
	case session.LostLoop:
		return "Your answer said the same again and again and was stopped. Do not repeat it: make the next tool call now, or say in one sentence what keeps you from it."
	}
	return ""
}

// smaller is the advice after an answer that was too long.
const smaller = "Go on in smaller steps: think less, write a long file in several edits, and say what you have to say in fewer words."

// form describes the form of a call.
func form(tools []string) string {
	if len(tools) == 0 {
		return ""
	}
	example, arguments := tools[0], "{}"
	if slices.Contains(tools, "read_file") {
		example, arguments = "read_file", `{"path": "PATH"}`
	}
	return fmt.Sprintf(
		"The tools are: %s. Send the call again with one of these names and all its arguments in one JSON object, as in {\"name\": %q, \"arguments\": %s}.",
		strings.Join(tools, ", "),
		example,
		arguments,
	)
}

// End returns the reason to end the session, or "".
func (t *Losses) End() string {
	if why := t.context.cut(); why != "" { //control:context-cut
		return why
	}
	if t.row <= maxReminders {
		return ""
	}
	switch t.kind {
	case session.LostLoop:
		return fmt.Sprintf(
			"The model said the same again and again in %d answers, at a higher temperature as well. Nothing is lost. Use another model, or describe the task more precisely.",
			t.row,
		)
	case session.LostEnd:
		return fmt.Sprintf(
			"%d answers of the model in a row were longer than an answer may be. Nothing is lost. Raise `model.max_tokens`, or use another model.",
			t.row,
		)
	case session.LostTime:
		return fmt.Sprintf(
			"%d answers of the model in a row took longer than an answer may. Nothing is lost. Raise `model.answer_time`, use a smaller or faster model, or ask for less at once.",
			t.row,
		)
	}
	return ""
}

// Counts reports whether the server's token counts are reliable.
func (t *Losses) Counts() bool { return t.context.grown == 0 }

// Temperature returns the temperature for the next request: higher after an answer
// that repeated itself, since an equal request would do so again. nil means
// unchanged.
func (t *Losses) Temperature() *float64 {
	if t.kind != session.LostLoop { //control:another-temperature
		return nil
	}
	warm := min(0.5+0.3*float64(t.row), 1.4)
	return &warm
}
