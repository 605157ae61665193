package session

import (
	"crypto/rand"
	"slices"
	"strings"
	"time"

	"github.com/handrail-bot/handrail/policy"
)

// Calls holds the calls of a session and the requests to the user about them.
type Calls struct {
	Last      []*CallState // of the last answer, in order
	Publish   *CallState   // call of the pending request to publish sensitive changes; see [PublishTool]
	Requests  []*Request   // all requests, in order
	Edits     int          // number of calls and commands that changed files
	Inside    int          // number of answers in sub-tasks and in those of an external agent
	Posts     int          // number of the model's posts to its thread
	Triaged   string       // words of the last triage; "" if there was none
	Findings  []Reported   // review findings, in order
	Unchecked string       // last unapproved call that may affect an approved one
	Shell     Shell

	byID  map[string]*CallState
	ended *CallState // last call of the answer that ended
}

// PublishTool is the tool name in a request to publish sensitive changes on the
// branch. No model can call it.
const PublishTool = "publish"

// GuestAction is the tool that stands for an action of an external agent's own tools.
// GuestOther begins the text of one that is neither a command nor a change of files.
const (
	GuestAction = "agent_action"
	GuestOther  = "tool of the agent"
)

// SetUpTool is the tool name in a request to set up a repository. No model can call
// it.
const SetUpTool = "set_up"

// CallState is a call and its progress.
type CallState struct {
	Call
	Turn     int
	Decision *Decision
	Request  *Request // the last one about the call; nil if there is none
	Started  bool
	Began    time.Time // first start
	Spoken   bool      // the user wrote a message since the call was made
	Result   *Result
	Reminder string // of the engine to the model, appended to the result
	Counted  bool   // its changes were counted as an edit

	run    *ToolRun
	inside bool // made in a sub-task
}

// Request is a request to the user: for an approval or an answer.
type Request struct {
	Asked
	At       time.Time
	Seq      int64     // of the event that asks; that of the beginning of a plan that had to wait, see [State.DuePlan]
	Turn     int       // the session's turn at the time of the request
	Answer   *Resolved // the last settling answer
	Settled  time.Time // time of that answer
	Approval policy.Approval
	Commit   string  // commit that brought the approved changes to the branch
	Came     *Result // result of its call; nil until it ends
}

// Open reports whether c has no result yet.
func (c *CallState) Open() bool { return c.Result == nil }

// Approval returns the state of the request about c. Without a request, it is the
// zero value, which grants nothing.
func (c *CallState) Approval() policy.Approval {
	if c == nil || c.Request == nil {
		return policy.Approval{}
	}
	return c.Request.Approval
}

// Waits reports whether c waits for the user.
func (c *CallState) Waits() bool { return c.Open() && c.Approval().IsPending() }

// kind returns the kind of the call as recorded by the gate. For older logs without
// one, it is derived from the tool names of that time. Other names give
// [policy.Unknown], which counts as a change.
func (c *CallState) kind() policy.Kind {
	if c.Decision != nil && c.Decision.Kind != policy.Unknown {
		return c.Decision.Kind //control:recorded-kind
	}
	return oldKinds[c.Name]
}

// oldKinds are the kinds of tools in logs without recorded kinds. The list is closed:
// new tools declare their kind.
var oldKinds = map[string]policy.Kind{
	"write_file": policy.Write, "apply_diff": policy.Write, "edit_file": policy.Write,
	"insert_content": policy.Write, "search_and_replace": policy.Write,
	"delete_file": policy.Delete, "run_terminal_command": policy.Execute,

	"read_file": policy.Read, "list_files": policy.Read, "search_workspace": policy.Read, "fetch_instructions": policy.Read,
	"ask_followup_question": policy.Converse, "attempt_completion": policy.Converse, "condense": policy.Converse,
	"switch_mode": policy.Converse, "update_todo_list": policy.Converse,
}

// Harmless reports whether c is idempotent: it only reads, converses, or posts under
// the call's own key.
func (c *CallState) Harmless() bool {
	k := c.kind()
	return k == policy.Read || k == policy.Converse || k == policy.Post
}

// Title returns the call's title for display, or "" if it never began.
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

// Open returns the requests that wait for the user.
func (c *Calls) Open() []Asked { return c.asked(policy.Approval.IsPending) }

// Granted returns the approved requests whose calls have not ended.
func (c *Calls) Granted() []Asked {
	return c.asked(func(a policy.Approval) bool { return a.IsApproved() || a.State == policy.Begun })
}

// Request returns the request with an id, or nil.
func (c *Calls) Request(id string) *Request {
	for _, r := range c.Requests {
		if r.ID == id {
			return r
		}
	}
	return nil
}

// askIDLength is the number of letters in the id of a request. With an alphabet of
// 32, there are 10^12 ids.
const askIDLength = 8

// NewAskID returns a request id that is unique in the session. It is random, so that
// a request cannot be approved unseen, and easy to type.
func (c *Calls) NewAskID() string {
	for {
		id := strings.ToLower(rand.Text()[:askIDLength])                   //control:random-id
		if strings.ContainsAny(id, "0123456789") && c.Request(id) == nil { // with a digit, so that no word is an id
			return id
		}
	}
}

// Plan returns the newest plan put to the user, or nil.
func (c *Calls) Plan() *Request {
	for _, r := range slices.Backward(c.Requests) {
		if r.Kind == AskPlan {
			return r
		}
	}
	return nil
}

// WaitingPlan returns the plan that waits for its approval, or nil.
func (c *Calls) WaitingPlan() *Request {
	if r := c.Plan(); r != nil && r.Approval.IsPending() {
		return r
	}
	return nil
}

// carryOut uses up the approval of a plan: it is carried out once.
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

// call returns the call with an id. It creates one if no answer has that id, as in a
// request to publish.
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

func (c *Calls) addAnswer(turn int, p *Answer) {
	c.Last, c.ended = nil, nil
	for _, call := range p.Calls {
		c.Last = append(c.Last, c.add(&CallState{Call: call, Turn: turn}))
	}
}

func (c *Calls) ask(e Event, p *Asked) {
	if p.Tool == PublishTool {
		c.Publish = c.add(&CallState{Call: Call{ID: p.Call, Name: PublishTool}, Turn: e.Turn})
	}
	r := &Request{
		Asked:    *p,
		At:       e.Time,
		Seq:      e.Seq,
		Turn:     e.Turn,
		Approval: policy.OpenApproval(p.ID, p.Digest, p.Deadline),
	}
	c.Requests = append(c.Requests, r)
	if p.Kind != AskPlan {
		c.call(p.Call).Request = r
	}
}

func (c *Calls) settle(at time.Time, p *Resolved) {
	for _, r := range c.Requests {
		if r.ID == p.ID && r.Approval.CanSettle(p.Verdict) {
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

// Awaits returns the start time of a tool's call that waits for its result. It is
// zero if there is none, or if the user wrote a message meanwhile.
func (c *Calls) Awaits(tool string) time.Time {
	for _, s := range c.Last {
		if s.Name == tool && s.Started && s.Open() && !s.Spoken { //control:words-end-the-wait
			return s.Began
		}
	}
	return time.Time{}
}

// markSpoken records that the user wrote a message while calls wait.
func (c *Calls) markSpoken() {
	for _, s := range c.Last {
		s.Spoken = s.Spoken || s.Open()
	}
}

// result ends a call. It returns the file changes that the call was approved for.
func (c *Calls) result(p *Result) (approved []policy.Effect) {
	s := c.call(p.Call)
	begun := s.Approval().State == policy.Begun
	if s.Started && !begun && changes(s.kind()) {
		c.Unchecked = s.ID //control:unapproved-step
	}
	s.Result, c.ended = p, s
	c.Shell.addResult(p)
	if s.Request != nil {
		s.Request.Approval = s.Request.Approval.Finish()
	}
	if begun && p.OK {
		approved = s.Request.Effects
	}
	if p.OK && s.kind() == policy.Post {
		c.Posts++
		if p.Complete {
			c.Triaged = p.Content
		}
	}
	if p.OK && len(p.Changes) > 0 {
		s.Counted = true
		c.Edits++
	}
	return approved
}

// countCommand counts a command that changed files as one edit, so that the limit on
// edits cannot be evaded.
func (c *Calls) countCommand() {
	if s := c.ended; s != nil && s.kind() == policy.Execute && !s.Counted {
		s.Counted = true
		c.Edits++
	}
}

// publish uses up approvals to publish: the changes are on the branch.
func (c *Calls) publish(commit string) {
	for _, r := range c.Requests {
		if r.Tool == PublishTool && r.Approval.IsApproved() {
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

// dropPublish invalidates the request to publish changes that were taken back.
func (c *Calls) dropPublish() {
	if g := c.Publish; g != nil && (g.Approval().IsPending() || g.Approval().IsApproved()) {
		g.Request.Approval = g.Request.Approval.Settle(policy.Stale)
		g.Request.Answer = &Resolved{ID: g.Request.ID, Verdict: policy.Stale, Reason: "the change was taken back"}
	}
	c.Publish = nil
}
