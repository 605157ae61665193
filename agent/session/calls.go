package session

import (
	"crypto/rand"
	"slices"
	"strings"
	"time"

	"github.com/handrail-bot/handrail/policy"
)

// Calls are the calls of a session and what people were asked about them.
type Calls struct {
	Last      []*CallState // those of the last answer, in order
	Publish   *CallState   // the request to publish something sensitive, if one stands; see [PublishTool]
	Requests  []*Request   // everything that people were asked, in order
	Edits     int          // calls that changed files, and commands that did
	Inside    int          // answers in sub-tasks
	Posts     int          // times that the model wrote to its thread
	Findings  []Reported   // what was reported of the code, in order
	Unchecked string       // the last call that nobody approved and that could change what an approved one meets
	Shell     Shell

	byID  map[string]*CallState
	ended *CallState // the last of the answer that did
}

// PublishTool is the name of the tool in a request to put something sensitive
// on the branch. No model can call it.
const PublishTool = "publish"

// SetUpTool is the name of the tool in a request to set a repository up. No model can
// call it.
const SetUpTool = "set_up"

// CallState is a call and what became of it so far.
type CallState struct {
	Call
	Turn     int
	Decision *Decision
	Request  *Request // the last one about it; nil for none
	Started  bool
	Began    time.Time // when it was started first
	Spoken   bool      // a person said something since
	Result   *Result
	Reminder string // of the engine to the model, at the end of the result
	Counted  bool   // the files that it changed count as an edit

	run    *ToolRun
	inside bool // it was made in a sub-task
}

// Request is something that a person was asked.
type Request struct {
	Asked
	Turn     int       // of the session when it was asked
	Answer   *Resolved // the word that settled it, or the last of several
	Settled  time.Time // when that was recorded
	Approval policy.Approval
	Commit   string  // that what was approved went to the branch with
	Came     *Result // what its call came to; nil so far
}

// Open reports whether c still needs work.
func (c *CallState) Open() bool { return c.Result == nil }

// Approval returns where the request about c stands; the zero value, which
// grants nothing, when nobody was asked.
func (c *CallState) Approval() policy.Approval {
	if c == nil || c.Request == nil {
		return policy.Approval{}
	}
	return c.Request.Approval
}

// Waits reports whether c waits for a person.
func (c *CallState) Waits() bool { return c.Open() && c.Approval().Waits() }

// kind returns what the call does, as the gate recorded it. Older logs do not
// say so: there the names of the tools of that time do, and a call by another
// name is [policy.Unknown], which is taken for one that changes something.
func (c *CallState) kind() policy.Kind {
	if c.Decision != nil && c.Decision.Kind != policy.Unknown {
		return c.Decision.Kind //control:recorded-kind
	}
	return oldKinds[c.Name]
}

// oldKinds are the tools of logs whose decisions have no kind. Nothing is ever
// added: a tool says its kind itself.
var oldKinds = map[string]policy.Kind{
	"write_file": policy.Write, "apply_diff": policy.Write, "edit_file": policy.Write,
	"insert_content": policy.Write, "search_and_replace": policy.Write,
	"delete_file": policy.Delete, "run_terminal_command": policy.Execute,

	"read_file": policy.Read, "list_files": policy.Read, "search_workspace": policy.Read, "fetch_instructions": policy.Read,
	"ask_followup_question": policy.Converse, "attempt_completion": policy.Converse, "condense": policy.Converse,
	"switch_mode": policy.Converse, "update_todo_list": policy.Converse,
}

// Harmless reports whether running c twice is the same as running it once: it
// only reads, or talks to people, or posts under a key that is the call's.
func (c *CallState) Harmless() bool {
	k := c.kind()
	return k == policy.Read || k == policy.Converse || k == policy.Post
}

// Title returns what people are told c does, or "" when it never began.
func (c *CallState) Title() string {
	if c.run == nil {
		return ""
	}
	return c.run.Title
}

// changes reports whether a call of kind k can change the workspace.
func changes(k policy.Kind) bool {
	return k != policy.Read && k != policy.Converse && k != policy.Network && k != policy.Post
}

// Open returns what waits for a person.
func (c *Calls) Open() []Asked { return c.asked(policy.Approval.Waits) }

// Granted returns what a person said yes to and has not ended.
func (c *Calls) Granted() []Asked {
	return c.asked(func(a policy.Approval) bool { return a.Stands() || a.State == policy.Begun })
}

// Request returns what people were asked under an id, or nil.
func (c *Calls) Request(id string) *Request {
	for _, r := range c.Requests {
		if r.ID == id {
			return r
		}
	}
	return nil
}

// askIDLength is how many letters the id of a request has. With 32 to choose from
// there are 10^12 ids.
const askIDLength = 8

// NewAskID returns the id of a request: random, so that nobody can say yes to one
// that they have not seen, and easy to type. No other request of the session has
// it.
func (c *Calls) NewAskID() string {
	for {
		id := strings.ToLower(rand.Text()[:askIDLength])                   //control:random-id
		if strings.ContainsAny(id, "0123456789") && c.Request(id) == nil { // no word is an id
			return id
		}
	}
}

// Plan returns the newest plan that people were asked about, or nil.
func (c *Calls) Plan() *Request {
	for _, r := range slices.Backward(c.Requests) {
		if r.Kind == AskPlan {
			return r
		}
	}
	return nil
}

// carryOut takes the yes to a plan: it is carried out once.
func (c *Calls) carryOut(id string) {
	if r := c.Request(id); r != nil {
		r.Approval = r.Approval.Begin().Finish()
	}
}

func (c *Calls) asked(which func(policy.Approval) bool) []Asked {
	var out []Asked
	for _, r := range c.Requests {
		if which(r.Approval) {
			out = append(out, r.Asked)
		}
	}
	return out
}

// call returns the call with an id. It makes one up for an id that no answer
// holds, such as that of a request to publish.
func (c *Calls) call(id string) *CallState {
	if s, ok := c.byID[id]; ok {
		return s
	}
	return c.add(&CallState{Call: Call{ID: id}})
}

func (c *Calls) add(s *CallState) *CallState {
	if c.byID == nil {
		c.byID = map[string]*CallState{}
	}
	c.byID[s.ID] = s
	return s
}

func (c *Calls) answered(turn int, p *Answer) {
	c.Last, c.ended = nil, nil
	for _, call := range p.Calls {
		c.Last = append(c.Last, c.add(&CallState{Call: call, Turn: turn}))
	}
}

func (c *Calls) ask(turn int, p *Asked) {
	if p.Tool == PublishTool {
		c.Publish = c.add(&CallState{Call: Call{ID: p.Call, Name: PublishTool}, Turn: turn})
	}
	r := &Request{Asked: *p, Turn: turn, Approval: policy.OpenApproval(p.ID, p.Digest, p.Deadline)}
	c.Requests = append(c.Requests, r)
	if p.Kind != AskPlan {
		c.call(p.Call).Request = r
	}
}

func (c *Calls) settle(at time.Time, p *Resolved) {
	for _, r := range c.Requests {
		if r.ID == p.ID && r.Approval.Takes(p.Verdict) {
			r.Answer, r.Settled, r.Approval = p, at, r.Approval.Settle(p.Verdict)
		}
	}
}

func (c *Calls) start(at time.Time, p *Started) {
	s := c.call(p.Call)
	if !s.Started {
		s.Began = at
	}
	s.Started = true
	if s.Request != nil {
		s.Request.Approval = s.Request.Approval.Begin()
	}
	if s.run != nil {
		s.run.Anew = true
	}
	s.run = &ToolRun{Name: s.Name, Title: p.Title, Inside: s.inside}
}

// Awaits returns since when a call of a tool waits for its result, the zero time where
// none does, or a person said something meanwhile.
func (c *Calls) Awaits(tool string) time.Time {
	for _, s := range c.Last {
		if s.Name == tool && s.Started && s.Open() && !s.Spoken { //control:words-end-the-wait
			return s.Began
		}
	}
	return time.Time{}
}

// spoken notes that a person said something while calls wait.
func (c *Calls) spoken() {
	for _, s := range c.Last {
		s.Spoken = s.Spoken || s.Open()
	}
}

// result ends a call. It returns what the call should have made of files, where
// a person said yes to that.
func (c *Calls) result(p *Result) (approved []policy.Effect) {
	s := c.call(p.Call)
	begun := s.Approval().State == policy.Begun
	if s.Started && !begun && changes(s.kind()) {
		c.Unchecked = s.ID //control:unapproved-step
	}
	s.Result, c.ended = p, s
	c.Shell.ran(p)
	if s.Request != nil {
		s.Request.Approval = s.Request.Approval.Finish()
	}
	if begun && p.OK {
		approved = s.Request.Effects
	}
	if p.OK && s.kind() == policy.Post {
		c.Posts++
	}
	if p.OK && len(p.Changes) > 0 {
		s.Counted = true
		c.Edits++
	}
	return approved
}

// countCommand counts a command that changed files as one edit: a limit on
// edits is a limit, whichever way they are made.
func (c *Calls) countCommand() {
	if s := c.ended; s != nil && s.kind() == policy.Execute && !s.Counted {
		s.Counted = true
		c.Edits++
	}
}

// publish uses up what people said yes to: it went to the branch.
func (c *Calls) publish(commit string) {
	for _, r := range c.Requests {
		if r.Tool == PublishTool && r.Approval.Stands() {
			r.Commit, r.Approval = commit, r.Approval.Finish()
		}
	}
	c.Publish = nil
}

func (c *Calls) note(p *Note) {
	if p.Call != "" {
		c.call(p.Call).Reminder = p.Text
	}
	if p.Kind == NoteReverted {
		c.dropPublish()
	}
}

// dropPublish gives up what was asked about changes that were taken back.
func (c *Calls) dropPublish() {
	if g := c.Publish; g != nil && (g.Approval().Waits() || g.Approval().Stands()) {
		g.Request.Approval = g.Request.Approval.Settle(policy.Stale)
		g.Request.Answer = &Resolved{ID: g.Request.ID, Verdict: policy.Stale, Reason: "the change was taken back"}
	}
	c.Publish = nil
}
