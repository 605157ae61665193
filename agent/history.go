package agent

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/handrail-bot/handrail/agent/compact"
	"github.com/handrail-bot/handrail/agent/llm"
	"github.com/handrail-bot/handrail/agent/prompt"
	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/agent/speech"
	"github.com/handrail-bot/handrail/policy"
)

// history is the shared session state, with the additional state of the loop. It is a
// pure fold: the same log yields the same history on any machine.
type history struct {
	*session.State
	talk   conversation
	used   budget
	habits speech.Habits
	claims claims
	seen   seenFiles
	lost   speech.Losses
	edits  func(tool string) bool // whether a tool changes existing text

	notes    compact.Notes
	ratio    compact.Ratio
	lead     *session.Prompt // prefix of all requests; nil before the first
	renewed  bool            // the conversation was compacted since then
	mode     policy.Mode     // the current mode
	stepped  llm.Form        // the form that the session fell back to; FormAuto before that
	todoTurn int             // turn of the last change of the todo list
}

// newHistory returns the history of an empty log. edits reports whether a tool changes
// existing text.
func newHistory(edits func(tool string) bool) *history {
	return &history{
		State: session.NewState(),
		edits: edits,
		habits: speech.NewHabits(func(tool string, arguments json.RawMessage) string {
			if !edits(tool) {
				return ""
			}
			return pathArgument(arguments)
		}),
	}
}

// maxGoal limits the goal in the session's notes, in characters.
const maxGoal = 300

// apply folds one event.
func (h *history) apply(e session.Event) error {
	if e.Seq != h.Seq+1 {
		return fmt.Errorf("fold log: event %d follows %d", e.Seq, h.Seq)
	}
	payload, err := session.Payload(e)
	if err != nil {
		return err
	}
	_, said := payload.(*session.Message)
	over := said && h.TakesNewRequest()
	h.Take(e, payload)
	switch p := payload.(type) {
	case *session.Opened:
		h.enter(p.Task.Mode)
		h.used.asked = p.Task.Turns
		h.talk.open(e, p.Task)
		h.seen.context(p.Task.Context)
		h.claims.from, h.claims.start = h.Content(), h.Saved
		h.notes.Goal = firstLine(session.Command(p.Task.Text), maxGoal)
	case *session.Message:
		h.message(e, p, over)
	case *session.Answer:
		h.answered(e, p)
	case *session.Resolved:
		h.noteDecision(p)
		if len(h.Checkpoints) == 0 { // permission to work on a fork's commit determines the start of the work
			h.claims.from, h.claims.start = h.Content(), h.Saved
		}
	case *session.Result:
		if c := h.find(p.Call); c != nil {
			h.habits.Result(c)
			h.claims.ran(c, h.lead != nil && h.lead.Form == string(llm.FormFiles), h.edits(c.Name))
			if h.Unanswered() { //control:tried-for-an-earlier-request
				h.claims.tried = ""
			}
			step := stepOf(c)
			h.notes.Observe(step)
			h.seen.result(c, step.Paths, step.Changed)
		}
	case *session.Checkpoint:
		h.claims.handedOver = h.claims.handedOver || p.Sent != nil && len(p.Sent.Held) > 0
	case *session.Note:
		h.note(e, p)
	case *session.Prompt:
		h.lead, h.renewed = p, false
	case *session.Update:
		if p.Todo != nil {
			h.todoTurn = h.Turns
		}
		if p.Mode != "" {
			h.enter(p.Mode)
		}
		if p.Plan != "" {
			h.carryOut(e, p.Plan)
		}
	}
	return nil
}

// note folds a note of the engine to the model.
func (h *history) note(e session.Event, p *session.Note) {
	if p.Kind == session.NoteFallback {
		h.stepped = cmp.Or(llm.Form(p.Form), llm.FormText)
	}
	if p.Kind == session.NoteCompaction {
		h.renewed = true
		h.habits.Forget() //control:forgotten-calls
	}
	h.lost.Note(p)
	h.seen.note(p)
	h.claims.note(p)
	h.talk.note(e, p)
}

// enter changes the mode. An unknown mode allows nothing.
func (h *history) enter(name string) {
	h.mode, _ = policy.ParseMode(name)
	h.talk.writes = h.mode.Writes()
}

// mayWrite reports whether the mode chosen by the user can change files. A mode that the
// model switched to does not matter.
func (h *history) mayWrite() bool {
	m, _ := policy.ParseMode(h.ModeName())
	return m.Writes()
}

// modeEdits returns the number of edits that count toward the mode's limit.
func (h *history) modeEdits() int { return h.Edits - h.used.modeFrom }

// message folds a user message. It begins a new allowance if over, that is, if the
// session had ended.
func (h *history) message(e session.Event, p *session.Message, over bool) {
	if p.Clear { //control:forgotten
		h.talk.entries, h.talk.asks, h.talk.unprovided = nil, "", ""
		h.seen = seenFiles{reset: h.seen.reset + 1}
		h.notes, h.todoTurn = compact.Notes{}, h.Turns
	}
	h.lost.Reset()
	if p.Clear || p.Model != "" { // it asks for nothing
		return
	}
	switched := p.Mode != "" && p.Mode != h.mode.Name
	bare := p.Mode != "" && p.TakeBack == nil && p.Text == ""
	if p.Mode != "" {
		over = true // a change of mode is a new request
		h.enter(p.Mode)
	}
	asks := over && (p.Text != "" || bare || len(p.Images)+len(p.Context) > 0) //control:only-words-ask
	h.used.message(p, over, asks, h.spent())
	h.claims.message(asks, h.Content(), h.Saved)
	h.habits.Forgive()
	if p.Text != "" {
		h.notes.Goal = firstLine(p.Text, maxGoal)
	}
	h.seen.context(p.Context)
	say := p.Text
	if switched && p.Text != "" || bare { //control:mode-is-told
		say = strings.TrimSpace(fmt.Sprintf("You are in %s mode now, with the tools of that mode.\n\n%s\n\n%s",
			p.Mode, prompt.OfMode(p.Mode), p.Text))
	}
	h.talk.message(e, p, say)
}

func (h *history) answered(e session.Event, p *session.Answer) {
	if h.lost.AddAnswer(p); h.lost.Counts() {
		h.ratio.Learn(p.PromptBytes, p.PromptTokens)
	}
	h.notes.Hear(p.Content)
	h.habits.AddAnswer(p)
	h.claims.answered(p)
	h.talk.answer(entry{seq: e.Seq, answer: p, calls: h.Last})
}

// noteDecision notes the decision of an approver.
func (h *history) noteDecision(p *session.Resolved) {
	for _, r := range h.Requests {
		if r.Answer == p {
			h.notes.Decide(decisionText(r))
		}
	}
}

// find returns a call of the last answer, or nil.
func (h *history) find(id string) *session.CallState {
	for _, c := range h.Last {
		if c.ID == id {
			return c
		}
	}
	return nil
}

// decisionText describes a decision for the notes.
func decisionText(r *session.Request) string {
	asked, said := firstLine(r.Display, 120), firstLine(r.Answer.Reason, 160)
	switch r.Answer.Verdict {
	case policy.Answered:
		return fmt.Sprintf("asked %q, the person said %q", asked, said)
	case policy.Denied:
		return fmt.Sprintf("the person denied %s (%s)", asked, said)
	}
	return ""
}

// stepOf summarizes a finished call for the notes.
func stepOf(c *session.CallState) compact.Step {
	n := readNamed(c.Arguments)
	s := compact.Step{
		Tool:    c.Name,
		OK:      c.Result.OK,
		Test:    c.Result.Tests != nil,
		Result:  c.Result.Content,
		Command: n.command(),
		Paths:   n.paths(),
	}
	for _, f := range c.Result.Changes {
		s.Changed = append(s.Changed, f.Path)
	}
	return s
}
