package agent

import (
	"fmt"
	"hash/maphash"
	"strings"

	"github.com/handrail-bot/handrail/agent/compact"
	"github.com/handrail-bot/handrail/agent/memory"
	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/policy"
)

// state is what a log says about where a session stands. It is a pure fold
// over events: the same log gives the same state on any machine.
type state struct {
	task       session.Task
	asks       string // latest words of a person after the task
	unprovided string // words of a person whose context was not looked up yet
	seq        int64
	turn       int // answers so far
	entries    []entry
	calls      []*call // of the last answer, in order

	todo  []session.Todo
	notes memory.Notes
	ratio compact.Ratio
	mode  string

	lifted    bool // a person granted more for the present request
	turnsFrom int  // turn at which the present allowance began
	granted   int  // turns added by people since
	from      allowance
	modeFrom  int // edits made before the present request
	tokens    int
	edits     int            // successful edits by tools
	lines     int            // changed lines
	textOnly  bool           // the server refused native calls
	nudged    bool           // the model was sent back to its todo list since the last request
	todoTurn  int            // turn of the last change of the todo list
	wrong     int            // mistakes in a row
	wrongBy   map[string]int // mistakes in a row with a tool, or at a file

	refusals int // completions refused since the last request of a person
	idle     int // answers in a row without a call and without an end
	empty    int // answers in a row with nothing in them
	garbled  int // answers in a row whose calls nobody understood

	saved     string               // commit of the last saved state, private or not
	published string               // last commit on the branch
	askedFrom string               // what was published when a person last asked for something
	held      bool                 // a change went to people as a patch since then
	unpushed  []session.FileChange // what differs between the two
	approved  map[string]string    // sensitive path → blob that a person let through
	gate      *call                // the request to publish something sensitive, if one was made
	keys      []callKey            // calls so far, for habits
	heard     map[string]uint64    // call → digest of its result, for habits
	seed      maphash.Seed
	files     map[string]session.FileChange
	order     []string
	asked     int    // how often something was asked, for fresh ids
	drift     string // last call that nobody approved and that could change what an approved one meets
	ended     *session.Outcome
}

// entry is one piece of conversation: an answer with its calls, or words for
// the model.
type entry struct {
	seq      int64
	user     string
	provided string // what was looked up for user
	person   bool   // user is what a person said
	summary  bool   // user stands for earlier entries
	images   []session.Blob
	answer   *session.Answer
	calls    []*call
}

// call is a call and what became of it so far.
type call struct {
	session.Call
	turn     int
	decision *session.Decision
	asked    *session.Asked
	resolved *session.Resolved // the word that settled what was asked, or the last one
	approval policy.Approval   // where the request stands
	started  bool
	result   *session.Result
	reminder string
	counted  bool // the files that it changed count as an edit
}

func newState() *state {
	return &state{files: map[string]session.FileChange{}, approved: map[string]string{}, wrongBy: map[string]int{}, heard: map[string]uint64{}, seed: maphash.MakeSeed()}
}

// open says whether c still needs work.
func (c *call) open() bool { return c.result == nil }

// waiting says whether c waits for a person.
func (c *call) waiting() bool { return c.open() && c.approval.Waits() }

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
	s.idle, s.empty, s.garbled, s.refusals, s.wrong = 0, 0, 0, 0, 0
	clear(s.wrongBy)
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
	s.task.Nonce = nonceOf(p.Task)
	s.saved, s.published, s.askedFrom = p.Task.Base, p.Task.Base, p.Task.Base
	s.notes.Goal = firstLine(p.Task.Text, mostGoal)
	s.entries = append(s.entries, entry{
		seq: e.Seq, user: p.Task.Text, provided: provided(s.task.Nonce, p.Task.Context), person: true, images: p.Task.Images,
	})
	s.unprovided = p.Task.Text
}

// mostGoal bounds the goal in the session's notes, in characters.
const mostGoal = 300

func (s *state) message(e session.Event, p session.Message) {
	s.granted += p.Budget
	over := s.ended != nil && !s.ended.Status.Parked()
	s.lifted = p.Budget > 0 || s.lifted && !over
	if over {
		s.turnsFrom, s.granted, s.askedFrom, s.modeFrom = s.turn, p.Budget, s.published, s.edits
		s.held = false
	}
	if over || p.Budget > 0 {
		s.from = allowance{tokens: s.tokens, edits: s.edits, lines: s.lines}
	}
	s.fresh()
	s.nudged = false
	if p.Text != "" {
		s.asks, s.unprovided = p.Text, strings.TrimSpace(s.unprovided+"\n\n"+p.Text)
		s.notes.Goal = firstLine(p.Text, mostGoal)
	}
	if len(p.Text)+len(p.Images)+len(p.Context) > 0 {
		s.entries = append(s.entries, entry{
			seq: e.Seq, user: p.Text, provided: provided(s.task.Nonce, p.Context), person: true, images: p.Images,
		})
	}
}

func (s *state) answered(e session.Event, p session.Answer) {
	s.turn = e.Turn
	s.tokens += p.PromptTokens + p.AnswerTokens
	s.ratio.Learn(p.PromptBytes, p.PromptTokens)
	s.notes.Hear(p.Content)
	s.calls = nil
	for _, c := range p.Calls {
		s.calls = append(s.calls, &call{Call: c, turn: e.Turn})
		s.keys = append(s.keys, callKey{id: c.ID, name: c.Name, raw: c.Arguments})
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
		c.approval = policy.OpenApproval(p.ID, p.Digest, p.Deadline)
	}
}

func (s *state) settled(_ session.Event, p session.Resolved) {
	s.ended = nil
	word := policy.ApprovalState(p.Verdict)
	for _, c := range append(s.calls[:len(s.calls):len(s.calls)], s.gate) {
		if c != nil && c.open() && c.approval.ID == p.ID && c.approval.Takes(word) {
			c.resolved, c.approval = &p, c.approval.Settle(word)
			s.notes.Decide(decided(c, p))
		}
	}
}

func (s *state) begun(_ session.Event, p session.Started) {
	if c := s.find(p.Call); c != nil {
		c.started, c.approval = true, c.approval.Begin()
	}
}

func (s *state) resulted(_ session.Event, p session.Result) {
	c := s.find(p.Call)
	if c == nil {
		return
	}
	if k := kinds[c.Name]; c.started && !c.approval.Stands() && (k == policy.Write || k == policy.Delete || k == policy.Execute) {
		s.drift = c.ID //control:unapproved-step
	}
	c.result, c.approval = &p, c.approval.Finish()
	s.heard[p.Call] = maphash.String(s.seed, p.Content)
	s.notes.Observe(stepOf(c))
	if p.OK && len(p.Changes) > 0 {
		s.edits++
	}
	s.countMistake(c)
}

// countMistake keeps the runs of mistakes: in all, by tool and by file.
func (s *state) countMistake(c *call) {
	keys := []string{"tool " + c.Name}
	if p := editPath(c.Call); p != "" {
		keys = append(keys, "file "+p)
	}
	switch {
	case c.result.Mistake:
		s.wrong++
		for _, k := range keys {
			s.wrongBy[k]++
		}
	case c.result.OK:
		s.wrong = 0
		for _, k := range keys {
			delete(s.wrongBy, k)
		}
	}
}

// decided is what a person's answer settled, for the notes.
func decided(c *call, p session.Resolved) string {
	switch policy.ApprovalState(p.Verdict) {
	case policy.Answered:
		return fmt.Sprintf("asked %q, the person said %q", firstLine(c.asked.Display, 120), firstLine(p.Reason, 160))
	case policy.Denied:
		return fmt.Sprintf("the person denied %s (%s)", firstLine(c.asked.Display, 120), firstLine(p.Reason, 160))
	}
	return ""
}

func (s *state) kept(_ session.Event, p session.Checkpoint) {
	s.saved = p.Commit
	s.held = s.held || p.Sent != nil && len(p.Sent.Held) > 0
	for path, blob := range p.Approved {
		s.approved[path] = blob
	}
	if p.Parked {
		s.unpushed = p.Files
		s.countCommand()
		return
	}
	s.published, s.unpushed, s.gate = p.Commit, nil, nil
	for _, f := range p.Files {
		s.addFile(f)
	}
}

// countCommand counts a command that changed files as one edit: a limit on
// edits is a limit, whichever way they are made.
func (s *state) countCommand() {
	for i := len(s.calls) - 1; i >= 0; i-- {
		if c := s.calls[i]; c.result != nil {
			if kinds[c.Name] == policy.Execute && !c.counted {
				c.counted = true
				s.edits++
			}
			return
		}
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
	case noteTodo:
		s.nudged = true
	case noteFallback:
		s.textOnly = true
	case noteContext:
		s.putBefore(p.Text)
		return
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

// putBefore puts what was looked up in front of the latest words of a person.
func (s *state) putBefore(text string) {
	s.unprovided = ""
	for i := len(s.entries) - 1; i >= 0; i-- {
		if s.entries[i].person {
			s.entries[i].provided += text
			return
		}
	}
}

// compact replaces everything up to p.Before by a summary, except what people
// said.
func (s *state) compact(seq int64, p session.Note) {
	var said, kept []entry
	for _, e := range s.entries {
		switch {
		case e.seq > p.Before:
			kept = append(kept, e)
		case e.person:
			said = append(said, e)
		}
	}
	said = append(said, entry{seq: seq, user: p.Text, summary: true})
	s.entries = append(said, kept...)
}

func (s *state) changed(_ session.Event, p session.State) {
	if p.Todo != nil {
		s.todo, s.todoTurn = p.Todo, s.turn
	}
	if p.Mode != "" {
		s.mode = p.Mode
	}
}

func (s *state) end(_ session.Event, p session.Ended) { s.ended = &p.Outcome }

// stepOf says of a finished call what is worth remembering.
func stepOf(c *call) memory.Step {
	n := readNamed(c.Arguments)
	s := memory.Step{Tool: c.Name, OK: c.result.OK, Result: c.result.Content, Command: n.command(), Paths: n.paths()}
	for _, f := range c.result.Changes {
		s.Changed = append(s.Changed, f.Path)
	}
	return s
}
