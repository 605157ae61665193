package speech

import (
	"fmt"
	"slices"
	"strings"

	"github.com/handrail-bot/handrail/agent/session"
)

// Losses is what a log says of answers that did not arrive whole: calls that a server
// dropped or could not read, answers that were cut off, took too long or went round in
// circles, and prompts that a server cuts. It is a pure fold, and says what to tell the
// model and when to go another way.
type Losses struct {
	row    int    // answers in a row of which the same was lost
	kind   string // what
	errors string // what the server said of it
	native int    // answers without a native call, since the last one with it, whose calls did not come as such
	why    string // what became of those calls

	context contextCount
}

// Answered folds an answer.
func (t *Losses) Answered(a *session.Answer) {
	t.context.sent(a.PromptBytes, a.PromptTokens)
	if a.Lost == t.kind && a.Lost != "" {
		t.row++
	} else {
		t.kind, t.row = a.Lost, 1
	}
	t.errors = strings.Join(a.Errors, "; ")
	printed := slices.ContainsFunc(a.Calls, func(c session.Call) bool { return c.Text })
	switch {
	case slices.ContainsFunc(a.Calls, func(c session.Call) bool { return !c.Text }):
		t.native = 0
	case printed:
		t.native, t.why = t.native+1, "you write your calls as text"
	case a.Lost == session.LostCall || a.Lost == session.LostUnread || len(a.Errors) > 0:
		t.native, t.why = t.native+1, "the model server drops your calls"
	}
}

// Anew forgets the losses: a person has said something.
func (t *Losses) Anew() { *t = Losses{} }

// Note folds words of the engine: where calls begin to travel in another way, or the
// conversation was compacted, the prompt begins anew.
func (t *Losses) Note(p *session.Note) {
	if p.Kind == session.NoteFallback || p.Before > 0 {
		t.native, t.context = 0, contextCount{}
	}
}

// mostNative is how many answers may fail to make their calls natively before calls
// travel as text, where other names and broken JSON are understood.
const mostNative = 2

// TextCalls returns what the model is told when its calls shall travel as text from
// now on, "" while native calls may still do.
func (t *Losses) TextCalls() string {
	if t.native < mostNative {
		return ""
	}
	return "Native tool calls do not work here: " + t.why + ". From now on write every call as text, in the form that the system prompt shows."
}

// mostTold is how often in a row the model is told of the same loss.
const mostTold = 2

// Reminder returns what the model is told about its last answer, "" for nothing. Tools
// are the names that it may call.
func (t *Losses) Reminder(tools []string) string {
	if t.row > mostTold {
		return ""
	}
	switch t.kind {
	case session.LostCall:
		return "A tool call in your answer did not arrive: the server drops a call whose name is no tool and one whose arguments are not JSON. Nothing was run. " + form(tools)
	case session.LostUnread:
		return "Your tool call could not be understood: " + t.errors + ". Nothing was run. " + form(tools)
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

// smaller is what to do about an answer that was too long.
const smaller = "Go on in smaller steps: think less, write a long file in several edits, and say what you have to say in fewer words."

// form shows how a call is made.
func form(tools []string) string {
	if len(tools) == 0 {
		return ""
	}
	example, arguments := tools[0], "{}"
	if slices.Contains(tools, "read_file") {
		example, arguments = "read_file", `{"path": "PATH"}`
	}
	return fmt.Sprintf("The tools are: %s. Send the call again with one of these names and all its arguments in one JSON object, as in {\"name\": %q, \"arguments\": %s}.",
		strings.Join(tools, ", "), example, arguments)
}

// End returns why the session ends, "" while it goes on.
func (t *Losses) End() string {
	if why := t.context.cut(); why != "" { //control:context-cut
		return why
	}
	if t.row <= mostTold {
		return ""
	}
	switch t.kind {
	case session.LostLoop:
		return fmt.Sprintf("The model said the same again and again in %d answers, at a higher temperature as well. Nothing is lost. Use another model, or say more precisely what to do.", t.row)
	case session.LostEnd:
		return fmt.Sprintf("%d answers of the model in a row were longer than an answer may be. Nothing is lost. Raise `model.max_tokens`, or use another model.", t.row)
	case session.LostTime:
		return fmt.Sprintf("%d answers of the model in a row took longer than an answer may. Nothing is lost. Raise `model.answer_time`, use a smaller or faster model, or ask for less at once.", t.row)
	}
	return ""
}

// Counts reports whether what the server counts can be learned from.
func (t *Losses) Counts() bool { return t.context.grown == 0 }

// Temperature is that of the next request: higher after an answer that went round in
// circles, since the same request would do so again. Nil leaves it as it is.
func (t *Losses) Temperature() *float64 {
	if t.kind != session.LostLoop { //control:another-temperature
		return nil
	}
	warm := min(0.5+0.3*float64(t.row), 1.4)
	return &warm
}
