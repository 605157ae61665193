package session

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/handrail-bot/handrail/policy"
)

// State is the state of a session: the only fold of its events, used by the agent,
// the comments on GitHub, the terminal and the server. The same log gives the same
// state on any machine. Build it with [State.Apply] or [Fold]. It is not safe for
// concurrent use.
type State struct {
	Task        Task
	Phase       Phase
	Outcome     *Outcome  // outcome of the last run; nil if events followed it
	Mode        string    // mode that the agent switched to; "" means the task's
	Model       string    // model that the user switched to; "" means the task's
	Cleared     bool      // the conversation was forgotten, and no request followed
	GrantedMode string    // mode of the current request, given with it or with a plan; "" means the task's
	Ends        []Outcome // outcomes of the runs that ended the session, oldest first
	Rest        *Outcome  // outcome of the work before a checkpoint request; restored afterwards
	Todo        []Todo
	Turns       int // number of the model's answers
	Tokens      int
	Started     time.Time
	Updated     time.Time
	Seq         int64         // of the last event
	EndedAt     int64         // Seq of the event that ended the last run
	Took        time.Duration // time from the beginning of the request to the end of its last run
	Began       Beginning     // of the present request
	Place       Place         // of the last request or checkpoint request
	Heard       []Place       // of the messages that the conversation has as notes
	Later       []*Later      // requests that begin one after the other when this one has ended, see [State.Due]
	Unbegun     []*Later      // those of them that the last end gave up

	requested, answered int64 // Seq of the newest request and of the model's newest answer
	began               time.Time

	Servers  []Server // MCP servers in use, with their tools
	Timeline []Moment // events for display, in order
	Proof    Proof    // results of Handrail's own test runs

	Calls
	Changes
}

// Beginning is the state of a session when its present request began; zero for the first
// request.
type Beginning struct {
	At          int64  // Seq of the message that began it
	Key         string // of that message; "" for the first request
	After       int64  // EndedAt at that message
	Moments     int    // length of Timeline
	Checkpoints int    // number of checkpoints
	Why         string // reason if no user asked
}

// NewState returns the state of an empty log.
func NewState() *State { return &State{Phase: PhaseQueued} }

// Fold returns the state of a log.
func Fold(events []Event) (*State, error) {
	s := NewState()
	for _, e := range events {
		if err := s.Apply(e); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// ModelName returns the model that works on the session.
func (s *State) ModelName() string { return cmp.Or(s.Model, s.Task.Model) }

// ModeName returns the mode in which the user wants the current request done. The
// agent may have switched to a narrower one.
func (s *State) ModeName() string { return cmp.Or(s.GrantedMode, s.Task.Mode) }

// Over reports whether the session has ended for good. It continues only on a new
// request.
func (s *State) Over() bool { return s.Outcome != nil && !s.Outcome.Status.Parked() }

// Finished reports whether the session completed its work, with nothing left to retry
// or to resume.
func (s *State) Finished() bool {
	return s.Outcome != nil && s.Outcome.Status.finished()
}

// TakesNewRequest reports whether words begin a new request, with a budget of its own,
// and do not join the current one: the session is over, or it only reads and has used up
// its budget.
func (s *State) TakesNewRequest() bool {
	m, err := policy.ParseMode(s.ModeName())
	return s.Over() || s.Phase == PhaseOutOfBudget && err == nil && m.ReadOnly() //control:reading-begins-anew
}

// Apply folds one event. It skips unknown types, so that a newer log can be read.
func (s *State) Apply(e Event) error {
	p, err := Payload(e)
	if err != nil {
		return err
	}
	s.Take(e, p)
	return nil
}

// Payload decodes the payload of an event, as a pointer to [Opened], [Message],
// [Answer] and so on. It returns nil for an unknown type.
func Payload(e Event) (any, error) {
	if decode, ok := payloads[e.Type]; ok {
		return decode(e)
	}
	return nil, nil
}

var payloads = map[Type]func(Event) (any, error){
	TypeOpened:     pointer[Opened],
	TypeMessage:    pointer[Message],
	TypeLater:      pointer[Later],
	TypeAnswer:     pointer[Answer],
	TypeDecision:   pointer[Decision],
	TypeAsked:      pointer[Asked],
	TypeResolved:   pointer[Resolved],
	TypeStarted:    pointer[Started],
	TypeResult:     pointer[Result],
	TypeCheckpoint: pointer[Checkpoint],
	TypeNote:       pointer[Note],
	TypeState:      pointer[Update],
	TypeEnded:      pointer[Ended],
	TypePrompt:     pointer[Prompt],
	TypeVerified:   pointer[Verified],
	TypeMerged:     pointer[Merged],
	TypeTask:       pointer[sub],
}

func pointer[T any](e Event) (any, error) {
	p, err := Decode[T](e)
	return &p, err
}

// Take folds an event with an already decoded payload, see [Payload]. Callers that
// extract more from a log than State thus decode each event once. The state keeps the
// payload, which must not be changed afterwards.
func (s *State) Take(e Event, payload any) {
	s.Updated, s.Seq = e.Time, e.Seq
	if isRequest(payload) {
		s.requested = e.Seq
	}
	n, ok := payload.(*Note)
	works := e.Type != TypeEnded && e.Type != TypeResolved && e.Type != TypeLater && (!ok || n.Kind != NoteSaid)
	if works && s.Phase != PhaseQueued {
		s.Phase = PhaseRunning
	}
	switch p := payload.(type) {
	case *Opened:
		s.Task, s.Phase, s.Started, s.began = p.Task, PhaseRunning, e.Time, e.Time
		s.Place, s.Began.Why = p.Task.Place, p.Task.Why
		s.begin(p.Task)
	case *Message:
		s.beginRequest(e, p)
		s.message(p)
	case *Later:
		s.Later = append(s.Later, p)
	case *Answer:
		s.Turns, s.answered = e.Turn, p.seen(e) //control:words-during-an-answer
		s.Tokens += p.PromptTokens + p.AnswerTokens
		s.Inside += p.Inner //control:inner-turns-count
		s.addAnswer(e.Turn, p)
	case *Asked, *Decision, *Resolved, *Started, *Merged, *Result, *Checkpoint:
		s.applyCall(e, payload)
	case *Note:
		s.applyNote(p)
	case *Update:
		s.update(p)
	case *Verified:
		s.Proof.take(p)
	case *sub:
		s.inside(e)
		return
	case *Ended:
		if p.void(s.requested) {
			return
		}
		s.EndedAt, s.Took = e.Seq, e.Time.Sub(s.began)
		s.end(p)
	}
	s.tell(payload)
}

// addFinding adds a finding, if f is not nil.
func (s *State) addFinding(e Event, f *Finding) {
	if f != nil {
		s.Findings, s.Tokens = append(s.Findings, Reported{f, e.Seq}), s.Tokens+f.Tokens
	}
}

// permit moves the start of the work to the commit of a fork that the approver
// allowed, and to no other.
func (s *State) permit(id string) {
	for _, r := range s.Requests {
		if r.ID == id && r.Kind == AskCommit && r.Approval.IsApproved() && s.Turns == r.Turn && len(s.Checkpoints) == 0 {
			s.Task.Base = r.Head //control:fork-base
			s.begin(s.Task)
		}
	}
}

// applyResolved applies the answer to a request. A plan that was not approved, or that has
// to wait for a later request, changes nothing else.
func (s *State) applyResolved(at time.Time, p *Resolved) {
	s.settle(at, p)
	s.permit(p.ID)
	if r := s.Request(p.ID); r != nil && r.Kind == AskPlan && (!r.Approval.IsApproved() || s.Behind(r)) {
		return
	}
	s.Outcome = nil
	if len(s.Open()) == 0 {
		s.Phase = PhaseRunning
	}
}

// end applies the end of a run.
func (s *State) end(p *Ended) {
	s.Outcome, s.Phase = &p.Outcome, p.Outcome.Status.phase()
	if s.Over() {
		s.Rest, s.Ends = nil, append(s.Ends, p.Outcome)
		s.drop()
	}
}

// applyNote applies a note. A note on undone changes updates the outcome to be restored.
func (s *State) applyNote(p *Note) {
	s.note(p)
	if p.Kind == NoteSaid && p.Place != (Place{}) {
		s.Heard = append(s.Heard, p.Place)
	}
	if p.Kind == NoteTookBack || p.Kind == NoteConflicts {
		s.TakeBack = nil
	}
	if p.Kind == NoteConflicts { // the model has to resolve them
		s.Rest = nil
	}
	switch {
	case s.Rest == nil:
	case p.Kind == NoteTookBack:
		s.Rest.Summary, s.Rest.Tests, s.Rest.Wish = p.Text, "", Keep // until a checkpoint changes something
	case p.Kind == NoteReverted:
		s.Rest.Summary += "\n\nOf this, what was refused is as it was."
	}
}

// beginRequest notes a message that begins a request of its own. Words during a run belong
// to the request of that run; a retry goes on with the last one.
func (s *State) beginRequest(e Event, p *Message) {
	wish := p.TakeBack != nil && p.TakeBack.Do != Keep
	parked := s.Outcome != nil && s.Outcome.Status == StatusOutOfBudget
	if (s.Over() || parked) && (p.Text != "" || wish || p.Plan != "") { //control:one-comment-a-request
		s.began = e.Time
		s.Began = Beginning{
			At:          e.Seq,
			Key:         p.Key,
			After:       s.EndedAt,
			Moments:     len(s.Timeline),
			Checkpoints: len(s.Checkpoints),
			Why:         p.Why,
		}
	}
}

// message applies a message from the user, and its place.
func (s *State) message(p *Message) {
	if s.Over() && p.Text != "" {
		s.Tests = Tested{}
	}
	s.applyMessage(p)
	if isRequest(p) {
		s.begun(p)
	}
	if r := s.Request(p.Plan); r != nil {
		r.Seq = s.Seq
	}
	if p.Place != (Place{}) {
		s.Place = p.Place
	}
}

// applyMessage applies the content of a message. If it is only about checkpoints, the work
// is not affected, and an ended session ends again.
func (s *State) applyMessage(p *Message) {
	if p.Text != "" {
		s.markSpoken()
	}
	if p.Model != "" || p.Clear {
		s.Model = cmp.Or(p.Model, s.Model) //control:model-of-the-next-turn
		if p.Clear {
			s.Cleared, s.Todo, s.Rest, s.Heard = true, nil, nil, nil
		}
		s.restorePhase()
		return
	}
	if p.Mode != "" { //control:mode-of-the-request
		s.GrantedMode, s.Mode = p.Mode, p.Mode
	}
	if p.TakeBack == nil {
		s.Outcome, s.Rest, s.Phase = nil, nil, PhaseRunning
		s.Cleared = s.Cleared && p.Text == ""
		return
	}
	s.recordWish(p)
	if p.TakeBack.Do == Keep {
		s.restorePhase()
		return
	}
	if s.Outcome != nil {
		rest := *s.Outcome
		s.Rest = &rest
	}
	s.Outcome, s.Phase = nil, PhaseRunning
}

// restorePhase restores the phase of an ended session.
func (s *State) restorePhase() {
	if s.Outcome != nil {
		s.Phase = s.Outcome.Status.phase()
	}
}

func (s *State) checkpoint(e Event, p *Checkpoint) {
	s.take(e, p)
	s.Tests.applyCheckpoint(e, p)
	if (p.TookBack != "" || p.Merge != nil) && s.Rest != nil {
		s.Rest.Wish = cmp.Or(p.TookBack, Rebase)
	}
	if p.Parked {
		s.countCommand()
		return
	}
	s.publish(p.Commit)
}

func (s *State) update(p *Update) {
	if p.Todo != nil {
		s.Todo = p.Todo
	}
	if p.Mode != "" {
		s.Mode = p.Mode
	}
	s.addServers(p.Servers)
	for _, n := range p.Neighbors {
		s.Neighbors = slices.DeleteFunc(slices.Clone(s.Neighbors), func(had Neighbor) bool {
			return strings.EqualFold(had.Repository, n.Repository)
		})
		s.Neighbors = append(s.Neighbors, n)
	}
	if p.Plan != "" {
		s.GrantedMode, s.Todo = p.Mode, nil
		s.carryOut(p.Plan)
	}
}
