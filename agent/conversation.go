package agent

import (
	"fmt"
	"strings"

	"github.com/handrail-bot/handrail/agent/compact"
	"github.com/handrail-bot/handrail/agent/llm"
	"github.com/handrail-bot/handrail/agent/memory"
	"github.com/handrail-bot/handrail/agent/session"
)

// state is what a log says about where a session stands. It is a pure fold
// over events: the same log gives the same state on any machine.
type state struct {
	task    session.Task
	asks    string // latest words of a person after the task
	seq     int64
	turn    int // answers so far
	entries []entry
	calls   []*call // of the last answer, in order

	todo  []session.Todo
	notes memory.Notes
	ratio compact.Ratio
	mode  string

	turnsFrom int // turn at which the present allowance began
	granted   int // turns added by people since
	tokens    int
	edits     int // successful edits by tools
	lines     int // changed lines
	writes    int // results that changed files since the last request of a person

	refusals int // completions refused since the last request of a person
	idle     int // answers in a row without a call and without an end
	empty    int // answers in a row with nothing in them
	garbled  int // answers in a row whose calls nobody understood

	saved     string               // commit of the last saved state, private or not
	published string               // last commit on the branch
	unpushed  []session.FileChange // what differs between the two
	approved  map[string]string    // sensitive path → blob that a person let through
	gate      *call                // the request to publish something sensitive, if one was made
	keys      []callKey            // calls so far, for habits
	files     map[string]session.FileChange
	order     []string
	asked     int // how often something was asked, for fresh ids
	ended     *session.Outcome
}

// entry is one piece of conversation: an answer with its calls, or words for
// the model.
type entry struct {
	seq    int64
	user   string
	images []session.Blob
	answer *session.Answer
	calls  []*call
}

// call is a call and what became of it so far.
type call struct {
	session.Call
	turn     int
	decision *session.Decision
	asked    *session.Asked
	resolved *session.Resolved
	started  bool
	result   *session.Result
	reminder string
}

func newState() *state {
	return &state{files: map[string]session.FileChange{}, approved: map[string]string{}}
}

// open says whether c still needs work.
func (c *call) open() bool { return c.result == nil }

// waiting says whether c waits for a person.
func (c *call) waiting() bool { return c.open() && c.asked != nil && c.resolved == nil }

func (s *state) find(id string) *call {
	if s.gate != nil && s.gate.ID == id {
		return s.gate
	}
	for _, c := range s.calls {
		if c.ID == id {
			return c
		}
	}
	return nil
}

// fresh begins a new allowance: a person asked for something.
func (s *state) fresh() {
	s.ended = nil
	s.idle, s.empty, s.garbled, s.refusals = 0, 0, 0, 0
}

// folds is what each type of event does to a state.
var folds = map[session.Type]func(*state, session.Event) error{
	session.TypeOpened:     fold((*state).opened),
	session.TypeMessage:    fold((*state).message),
	session.TypeAnswer:     fold((*state).answered),
	session.TypeDecision:   fold((*state).decided),
	session.TypeAsked:      fold((*state).wasAsked),
	session.TypeResolved:   fold((*state).settled),
	session.TypeStarted:    fold((*state).begun),
	session.TypeResult:     fold((*state).resulted),
	session.TypeCheckpoint: fold((*state).kept),
	session.TypeNote:       fold((*state).noted),
	session.TypeState:      fold((*state).changed),
	session.TypeEnded:      fold((*state).end),
}

func fold[T any](f func(*state, session.Event, T)) func(*state, session.Event) error {
	return func(s *state, e session.Event) error {
		p, err := session.Decode[T](e)
		if err != nil {
			return err
		}
		f(s, e, p)
		return nil
	}
}

// apply folds one event. Types this version does not know are skipped, so a
// newer log can still be read.
func (s *state) apply(e session.Event) error {
	if e.Seq != s.seq+1 {
		return fmt.Errorf("fold log: event %d follows %d", e.Seq, s.seq)
	}
	s.seq = e.Seq
	if f, ok := folds[e.Type]; ok {
		return f(s, e)
	}
	return nil
}

func (s *state) opened(e session.Event, p session.Opened) {
	s.task = p.Task
	s.saved, s.published = p.Task.Base, p.Task.Base
	s.entries = append(s.entries, entry{seq: e.Seq, user: taskText(p.Task), images: p.Task.Images})
}

// taskText puts what was provided before the request, under labels that say
// that it need not be read again.
func taskText(t session.Task) string {
	var b strings.Builder
	for _, it := range t.Context {
		label := "Contents of " + it.Name
		if it.Kind == "selection" {
			label = "The person's selected code from " + it.Name
		}
		fmt.Fprintf(&b, "%s (already provided — do not re-read):\n```\n%s\n```\n\n", label, strings.TrimSuffix(it.Text, "\n"))
	}
	b.WriteString(t.Text)
	return b.String()
}

func (s *state) message(e session.Event, p session.Message) {
	s.granted += p.Budget
	if s.ended != nil && !s.ended.Status.Parked() {
		s.turnsFrom, s.granted, s.writes = s.turn, p.Budget, 0
	}
	s.fresh()
	if p.Text != "" {
		s.asks = p.Text
		s.entries = append(s.entries, entry{seq: e.Seq, user: p.Text})
	}
}

func (s *state) answered(e session.Event, p session.Answer) {
	s.turn = e.Turn
	s.tokens += p.PromptTokens + p.AnswerTokens
	s.ratio.Learn(p.PromptBytes, p.PromptTokens)
	s.calls = nil
	for _, c := range p.Calls {
		s.calls = append(s.calls, &call{Call: c, turn: e.Turn})
		s.keys = append(s.keys, keyOf(c))
	}
	s.entries = append(s.entries, entry{seq: e.Seq, answer: &p, calls: s.calls})
	s.count(p)
}

// count keeps the runs of answers that lead nowhere.
func (s *state) count(p session.Answer) {
	nothing := p.Content == "" && len(p.Calls) == 0 && len(p.Errors) == 0 && !p.Complete
	garbled := len(p.Errors) > 0 && len(p.Calls) == 0
	idle := len(p.Calls) == 0 && !p.Complete
	s.empty, s.garbled, s.idle = next(s.empty, nothing), next(s.garbled, garbled), next(s.idle, idle)
}

func next(n int, again bool) int {
	if again {
		return n + 1
	}
	return 0
}

func (s *state) decided(_ session.Event, p session.Decision) {
	if c := s.find(p.Call); c != nil {
		c.decision = &p
	}
}

func (s *state) wasAsked(e session.Event, p session.Asked) {
	s.asked++
	if p.Tool == publishTool {
		s.gate = &call{Call: session.Call{ID: p.Call, Name: publishTool}, turn: e.Turn}
	}
	if c := s.find(p.Call); c != nil {
		c.asked, c.resolved = &p, nil
	}
}

func (s *state) settled(_ session.Event, p session.Resolved) {
	s.ended = nil
	for _, c := range append(s.calls[:len(s.calls):len(s.calls)], s.gate) {
		if c != nil && c.asked != nil && c.asked.ID == p.ID && (c.resolved == nil || c.overruled(p)) {
			c.resolved = &p
		}
	}
}

func (s *state) begun(_ session.Event, p session.Started) {
	if c := s.find(p.Call); c != nil {
		c.started = true
	}
}

func (s *state) resulted(_ session.Event, p session.Result) {
	c := s.find(p.Call)
	if c == nil {
		return
	}
	c.result = &p
	s.notes.Observe(stepOf(c))
	if p.OK && len(p.Changes) > 0 {
		s.edits++
		s.writes++
	}
}

func (s *state) kept(_ session.Event, p session.Checkpoint) {
	s.writes++
	s.saved = p.Commit
	for path, blob := range p.Approved {
		s.approved[path] = blob
	}
	if p.Parked {
		s.unpushed = p.Files
		return
	}
	s.published, s.unpushed, s.gate = p.Commit, nil, nil
	for _, f := range p.Files {
		s.addFile(f)
	}
}

func (s *state) addFile(f session.FileChange) {
	have, ok := s.files[f.Path]
	if !ok {
		s.order = append(s.order, f.Path)
		s.files[f.Path] = f
	} else {
		have.Added += f.Added
		have.Removed += f.Removed
		if f.Kind == "delete" || have.Kind == "delete" {
			have.Kind = f.Kind
		}
		s.files[f.Path] = have
	}
	s.lines += f.Added + f.Removed
}

// changedFiles lists what the session changed on the branch so far, in the
// order in which files were first touched.
func (s *state) changedFiles() []session.FileChange {
	out := make([]session.FileChange, 0, len(s.order))
	for _, p := range s.order {
		out = append(out, s.files[p])
	}
	return out
}

func (s *state) noted(e session.Event, p session.Note) {
	switch p.Kind {
	case noteReverted:
		s.gate = nil
	case noteRefused:
		s.refusals++
	}
	if p.Before > 0 {
		s.compact(e.Seq, p)
		return
	}
	if c := s.find(p.Call); c != nil && p.Call != "" {
		c.reminder = p.Text
		return
	}
	if p.Text != "" {
		s.entries = append(s.entries, entry{seq: e.Seq, user: p.Text})
	}
}

// compact replaces everything after the task and up to p.Before by a summary.
func (s *state) compact(seq int64, p session.Note) {
	kept := s.entries[:1:1]
	kept = append(kept, entry{seq: seq, user: p.Text})
	for _, e := range s.entries[1:] {
		if e.seq > p.Before {
			kept = append(kept, e)
		}
	}
	s.entries = kept
}

func (s *state) changed(_ session.Event, p session.State) {
	if p.Todo != nil {
		s.todo = p.Todo
	}
	if p.Mode != "" {
		s.mode = p.Mode
	}
}

func (s *state) end(_ session.Event, p session.Ended) { s.ended = &p.Outcome }

// messages turns the entries into a conversation, after the system prompt.
// In native mode each result is a message of its own; in text mode the
// results of an answer travel together as words of the user.
func (s *state) messages(text bool) []llm.Message {
	out := make([]llm.Message, 0, 2*len(s.entries))
	for _, e := range s.entries {
		switch {
		case e.answer == nil:
			out = append(out, llm.Message{Role: llm.RoleUser, Content: e.user, Images: pictures(e.images)})
		case text:
			out = append(out, textTurn(e)...)
		default:
			out = append(out, nativeTurn(e)...)
		}
	}
	return out
}

func pictures(blobs []session.Blob) [][]byte {
	var out [][]byte
	for _, b := range blobs {
		out = append(out, b.Data)
	}
	return out
}

func nativeTurn(e entry) []llm.Message {
	head := llm.Message{Role: llm.RoleAssistant, Content: e.answer.Content, Thinking: e.answer.Thinking}
	out := []llm.Message{head}
	for _, c := range e.calls {
		out[0].Calls = append(out[0].Calls, llm.ToolCall{ID: c.ID, Name: c.Name, Arguments: c.Arguments})
		out = append(out, llm.Message{Role: llm.RoleTool, ToolName: c.Name, ToolCallID: c.ID, Content: c.told(), Images: c.images()})
	}
	return out
}

func textTurn(e entry) []llm.Message {
	raw := e.answer.Raw
	if raw == "" {
		raw = e.answer.Content
	}
	out := []llm.Message{{Role: llm.RoleAssistant, Content: raw}}
	if len(e.calls) == 0 {
		return out
	}
	var b strings.Builder
	var images [][]byte
	for _, c := range e.calls {
		fmt.Fprintf(&b, "[TOOL RESULT: %s]\n%s\n\n", c.Name, c.told())
		images = append(images, c.images()...)
	}
	return append(out, llm.Message{Role: llm.RoleUser, Content: strings.TrimSpace(b.String()), Images: images})
}

// told is what the model hears of a call.
func (c *call) told() string {
	text := "(no result: the session was interrupted before this call ran)"
	if c.result != nil {
		text = c.result.Content
	}
	if c.reminder != "" {
		text += "\n\n" + c.reminder
	}
	return text
}

func (c *call) images() [][]byte {
	if c.result == nil {
		return nil
	}
	return pictures(c.result.Images)
}

// overruled says whether p takes back an approval that was not used yet: one
// denial wins, and so does an approval that stopped counting. Nothing turns a
// denial into an approval.
func (c *call) overruled(p session.Resolved) bool {
	return c.resolved.Verdict == verdictApproved && p.Verdict != verdictApproved && !c.started && c.result == nil
}

// stepOf says of a finished call what is worth remembering.
func stepOf(c *call) memory.Step {
	s := memory.Step{Tool: c.Name, OK: c.result.OK, Result: c.result.Content, Command: argument(c.Arguments, "command", "cmd")}
	if p := pathArgument(c.Arguments); p != "" {
		s.Paths = []string{p}
	}
	for _, f := range c.result.Changes {
		s.Changed = append(s.Changed, f.Path)
	}
	return s
}
