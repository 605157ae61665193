// Package session defines the vocabulary of one agent session: the task that opens
// it, its events, the log that stores them and the outcome that ends it. It defines
// the meaning of the log: [State] is its only fold.
//
// The session is its event log. Conversation, progress comment, check run and
// dashboard are functions of the log, so anything without an event did not happen.
//
//	event.go     the events and their payloads
//	words.go     the constants of the events, and the states of a session
//	question.go  questions, and reasons for no change
//	request.go   an end belongs to the newest request: the rule over a log
//	state.go     the fold of a log
//	calls.go     calls, and the requests to the user about them
//	refusal.go   messages to the model on requests that were not granted
//	changes.go   files, commits and pushes
//	tests.go     the last test run
//	finding.go   findings of a review
//	shell.go     the shell that commands run in
//	server.go    MCP servers and their tools
//	wish.go      the events of a user's request about the session
//	once.go      an approval is for one thing, once: the rule over a log
//	timeline.go  the history, for display
//	subject.go   the name of a checkpoint
//	chain.go     numbering and linking of events; a log in memory
//	file.go      a log in a file
//	inside.go    the events of sub-tasks
//	part.go      the log of one sub-task
//	rewrite.go   the texts in an event
package session

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/handrail-bot/handrail/policy"
)

// Task is the assignment of a session. It is recorded as the first event and never
// changes; later requests arrive as [Message] events.
type Task struct {
	Session   string   `json:"session"`             // session id, see [NewID]
	Thread    string   `json:"thread,omitempty"`    // "owner/repo#12"; empty on the command line
	Text      string   `json:"text"`                // the request, cleaned and fenced by the caller
	Mode      string   `json:"mode"`                // name of a policy mode, for example "code"
	Model     string   `json:"model"`               // model name as known to the server
	Base      string   `json:"base"`                // commit id that the work starts from
	Branch    string   `json:"branch"`              // branch that receives the checkpoints
	Nonce     string   `json:"nonce,omitempty"`     // random, in the fences around untrusted text
	Requester string   `json:"requester,omitempty"` // login of the requester
	Turns     int      `json:"turns,omitempty"`     // turn limit; 0 means the mode's default
	Images    []Blob   `json:"images,omitempty"`    // pictures for vision models
	Context   []Item   `json:"context,omitempty"`   // user-provided context, resolved before the first turn
	Links     []string `json:"links,omitempty"`     // targets of links in the text; looked up, but not shown to the model
	Place     Place    `json:"place,omitzero"`      // location of the request
	Why       string   `json:"why,omitempty"`       // reason of the start, if not a request in words
	Clone     Clone    `json:"clone,omitzero"`      // working copy, on the command line

	Convention Convention `json:"convention,omitempty"` // of the commit subjects
}

// Clone records the place and the settings of a command-line session, so that it can
// resume without them being given again.
type Clone struct {
	Path      string `json:"path"`                // absolute path of the clone
	Workspace string `json:"workspace,omitempty"` // requested engine
	Image     string `json:"image,omitempty"`     // for docker
	CAFile    string `json:"ca_file,omitempty"`   // absolute path of a CA certificate for the model's server
	Provider  string `json:"provider,omitempty"`  // kind of the model's server, if given
	Deps      string `json:"deps,omitempty"`      // source of packages: clone, setup or none; "" if unset
	Server    string `json:"server,omitempty"`    // address of the model's server; "" means the environment's
	Agent     string `json:"agent,omitempty"`     // external agent by name; "" means Handrail's own loop
	Command   string `json:"command,omitempty"`   // program of the agent, in place of its own

	Others map[string]string `json:"others,omitempty"` // absolute paths of clones of other repositories, by "owner/name"
}

// Place is the location of a request on GitHub. The request includes the conversation
// there up to that point. DiffThread is the number of the first comment of a review
// thread on diff lines, 0 if the request is not in one.
type Place struct {
	At         time.Time `json:"at"`
	Comment    int64     `json:"comment,omitempty"`
	DiffThread int64     `json:"diff_thread,omitempty"`
	Thread     int       `json:"thread,omitempty"` // number of the thread if it is not the session's own
}

// Blob is a small binary attachment.
type Blob struct {
	Name string `json:"name"`
	Type string `json:"type"` // media type, for example "image/png"
	Data []byte `json:"data"`
}

// Item is one piece of user-provided context. Name is the path, with
// ":L10-L50" for a selection.
type Item struct {
	Kind ItemKind `json:"kind"`
	Name string   `json:"name"`
	Text string   `json:"text"`
	Part bool     `json:"part,omitempty"` // functions of a file alone, not the whole
}

// Type is the kind of an event. [Payload] decodes its payload.
type Type string

// The event types, in the usual order of a turn.
const (
	TypeOpened     Type = "opened"     // Opened: the session began
	TypeMessage    Type = "message"    // Message: a message from the user, or from the bot on their behalf
	TypeLater      Type = "later"      // Later: a request that begins when the one before it has ended
	TypeAnswer     Type = "answer"     // Answer: one complete answer of the model
	TypeDecision   Type = "decision"   // Decision: the gate's verdict on one call
	TypeAsked      Type = "asked"      // Asked: an approval or an answer was requested from the user
	TypeResolved   Type = "resolved"   // Resolved: the user or a deadline settled a request
	TypeStarted    Type = "started"    // Started: a tool call began
	TypeResult     Type = "result"     // Result: a tool call ended
	TypeCheckpoint Type = "checkpoint" // Checkpoint: changes were committed
	TypeNote       Type = "note"       // Note: the engine informed the model (reminder, refusal, compaction)
	TypeState      Type = "state"      // Update: the to-do list, the mode or the image changed
	TypeEnded      Type = "ended"      // Ended: the run ended or parked with an outcome
	TypeTask       Type = "task"       // an event of a sub-task
	TypePrompt     Type = "prompt"     // Prompt: the new beginning of requests to the model
	TypeVerified   Type = "verified"   // Verified: Handrail ran the project's tests on a saved state
	TypeMerged     Type = "merged"     // Merged: the model was asked where parts of an edit belong
)

// Event is one record of the log. Seq starts at 1 and has no gaps. Hash chains the
// record to the previous one, see [Chain]. [Log.Append] sets Seq, Prev and Hash; the
// writer leaves them zero.
type Event struct {
	Seq  int64           `json:"seq"`
	Time time.Time       `json:"time"`
	Turn int             `json:"turn"`
	Type Type            `json:"type"`
	V    int             `json:"v"` // version of the payload format, currently 1
	Data json.RawMessage `json:"data"`
	Prev string          `json:"prev,omitempty"`
	Hash string          `json:"hash,omitempty"`
}

// Opened is the payload of [TypeOpened].
type Opened struct {
	Task Task `json:"task"`
}

// Message is the payload of [TypeMessage]. Key identifies its source (a comment id
// with its updated_at), so that a comment is recorded once.
type Message struct {
	Key    string `json:"key,omitempty"`
	Author string `json:"author,omitempty"`
	Text   string `json:"text"`
	Budget int    `json:"budget,omitempty"` // turns granted by "/agent budget +10"
	Turns  int    `json:"turns,omitempty"`  // turn limit of the new request; 0 means the task's
	Mode   string `json:"mode,omitempty"`   // mode of the new request; "" if it continues the previous one
	Why    string `json:"why,omitempty"`    // reason of the message, if it was not written in the thread
	Plan   string `json:"plan,omitempty"`   // approved plan that begins now, see [State.DuePlan]

	TakeBack *TakeBack `json:"take_back,omitempty"` // nil for a message to the model
	Model    string    `json:"model,omitempty"`     // model of the session from now on; "" means unchanged
	Clear    bool      `json:"clear,omitempty"`     // forget the conversation so far

	Images  []Blob   `json:"images,omitempty"`  // pictures for vision models
	Context []Item   `json:"context,omitempty"` // as in [Task]
	Links   []string `json:"links,omitempty"`   // as in [Task]
	Place   Place    `json:"place,omitzero"`    // as in [Task]
}

// TakeBack is a request about the checkpoints of a session: to undo the last N, to
// redo N, to protect the present ones from undo, or to merge the base branch. Paths
// limits it to some files; empty means all.
type TakeBack struct {
	Do    TakeBackKind `json:"do"`
	N     int          `json:"n,omitempty"`
	Paths []string     `json:"paths,omitempty"`
	// Branch is the branch that [Rebase] merges.
	Branch string `json:"branch,omitempty"`
}

// Merge is a base branch merged into a state. Conflicts are the files in which both
// sides had changed the same lines; Open are those among them with unresolved
// conflicts.
type Merge struct {
	Branch    string   `json:"branch"`
	Commit    string   `json:"commit"`
	Conflicts []string `json:"conflicts,omitempty"`
	Open      []string `json:"open,omitempty"`
	Turn      int      `json:"turn,omitempty"` // the session's turn at the time of the merge
}

// Unsettled reports whether files have unresolved conflicts.
func (m *Merge) Unsettled() bool { return m != nil && len(m.Open) > 0 }

// Second returns the second parent of the merge commit, or "".
func (m *Merge) Second() string {
	if m == nil {
		return ""
	}
	return m.Commit
}

// Unseen reports whether the merge had conflicts and no turn has passed since.
func (m *Merge) Unseen(turn int) bool { return m != nil && len(m.Conflicts) > 0 && turn == m.Turn }

// Call is one tool call as executed. ID is unique in the session.
type Call struct {
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`           // a JSON object
	Truncated bool            `json:"truncated,omitempty"` // the answer was cut off within this call
	Repaired  bool            `json:"repaired,omitempty"`  // the JSON was repaired
	Text      bool            `json:"text,omitempty"`      // parsed from prose, not a native call
	Dialect   string          `json:"dialect,omitempty"`   // format of a repaired call, as the parser names it

	Merged *Merged `json:"-"` // of its own event; nil if there is none
}

// Merged is the payload of [TypeMerged]: the model's answer to the question where the unsettled
// parts of a call's edit belong, as the text of the lines around them. An empty Text means that
// there is no answer; the question is not asked again.
type Merged struct {
	Call         string `json:"call"`
	Text         string `json:"text,omitempty"`
	PromptTokens int    `json:"prompt_tokens,omitempty"`
	AnswerTokens int    `json:"answer_tokens,omitempty"`
}

// Kinds of losses from an answer.
const (
	LostCall   = "call"   // the server counted more than arrived: it may have dropped a call
	LostUnread = "unread" // the server could not parse a call
	LostEnd    = "end"    // the answer reached its length limit
	LostLoop   = "loop"   // the answer repeated itself and was stopped
	LostTime   = "time"   // the answer exceeded its time limit and was stopped
)

// Answer is the payload of [TypeAnswer].
type Answer struct {
	Thinking       string   `json:"thinking,omitempty"`
	ThinkingMillis int64    `json:"thinking_ms,omitempty"`
	Content        string   `json:"content,omitempty"` // for the reader: without call markup
	Raw            string   `json:"raw,omitempty"`     // the model's own text, to show it in text mode; empty if equal to Content
	Again          string   `json:"again,omitempty"`   // shown instead of Raw if Raw would not parse into the same calls again
	Calls          []Call   `json:"calls,omitempty"`
	Errors         []string `json:"errors,omitempty"`       // descriptions of calls that could not be parsed
	Lost           string   `json:"lost,omitempty"`         // kind of the missing part: [LostCall] and its like
	Complete       bool     `json:"complete,omitempty"`     // the model declared the task done
	Seen           int64    `json:"seen,omitempty"`         // Seq of the last event before the request; old logs lack it
	PromptBytes    int      `json:"prompt_bytes,omitempty"` // size of the request, to calibrate the server's token count
	PromptTokens   int      `json:"prompt_tokens,omitempty"`
	AnswerTokens   int      `json:"answer_tokens,omitempty"`
	Inner          int      `json:"inner,omitempty"` // an external agent's turns in this answer after the first, or -1
}

// Decision is the payload of [TypeDecision]. Kind is the kind of the call; old logs
// lack it.
type Decision struct {
	Call     string         `json:"call"`
	Kind     policy.Kind    `json:"kind,omitempty"`
	Verdict  policy.Verdict `json:"verdict"`
	Severity string         `json:"severity,omitempty"`
	Rule     string         `json:"rule,omitempty"`
	Reasons  []string       `json:"reasons,omitempty"`
	Digest   string         `json:"digest,omitempty"`
	Auto     bool           `json:"auto,omitempty"` // allowed by a setting in place of an approver
}

// Asked is the payload of [TypeAsked].
type Asked struct {
	ID       string   `json:"id"`
	Kind     AskKind  `json:"kind"`
	Call     string   `json:"call,omitempty"`
	Digest   string   `json:"digest,omitempty"`
	Severity string   `json:"severity,omitempty"`
	Reasons  []string `json:"reasons,omitempty"`
	Tool     string   `json:"tool,omitempty"`
	Display  string   `json:"display"` // the exact command, diff or question
	Choices  []string `json:"choices,omitempty"`
	Paths    []string `json:"paths,omitempty"`
	// Effects are the changes that an approval allows on the branch: each file with its
	// content before and after. Commands have none, since their effects cannot be
	// predicted.
	Effects  []policy.Effect `json:"effects,omitempty"`
	Base     string          `json:"base,omitempty"`
	Head     string          `json:"head,omitempty"`
	Deadline time.Time       `json:"deadline,omitzero"`
	// Bound holds the other facts that the digest covers, as of the request, so that
	// later changes can be reported.
	Bound  []Fact  `json:"bound,omitempty"`
	Server string  `json:"server,omitempty"` // MCP server of the call, or of the question
	Review *Review `json:"review,omitempty"` // allows an answer by review; nil means by comment only
}

// Review presents a sensitive edit as a small pull request. Commit is that edit
// alone, on top of Head. Branch is the branch to review, and Base the session's
// branch that it would go to.
type Review struct {
	Commit string `json:"commit"`
	Branch string `json:"branch"`
	Base   string `json:"base"`
}

// Resolved is the payload of [TypeResolved]. Verdict is a state that
// [policy.Approval.Settle] accepts.
type Resolved struct {
	ID      string               `json:"id"`
	Verdict policy.ApprovalState `json:"verdict"`
	By      string               `json:"by,omitempty"`
	ByID    int64                `json:"by_id,omitempty"`
	Reason  string               `json:"reason,omitempty"`
	Hint    string               `json:"hint,omitempty"` // advice for the model on how to go on; not displayed
	Key     string               `json:"key,omitempty"`  // source of the answer: comment id with updated_at, or review id
}

// Started is the payload of [TypeStarted].
type Started struct {
	Call  string `json:"call"`
	Title string `json:"title"` // for display: "Running go test ./..."
}

// Result is the payload of [TypeResult].
type Result struct {
	Call    string       `json:"call"`
	OK      bool         `json:"ok"`
	Content string       `json:"content"` // for the model
	Title   string       `json:"title,omitempty"`
	Millis  int64        `json:"ms"`
	Changes []FileChange `json:"changes,omitempty"`
	Cut     bool         `json:"cut,omitempty"` // began, but the workspace ended first; outcome unknown
	Images  []Blob       `json:"images,omitempty"`
	// Complete is set by attempt_completion. Mistake is set if the model misused the
	// tool, as opposed to an external failure.
	Complete bool `json:"complete,omitempty"`
	Mistake  bool `json:"mistake,omitempty"`
	// Class is the kind of failure, also of one that is no mistake; "" if there is none, or
	// if it is of no known kind.
	Class ErrorClass `json:"class,omitempty"`
	// NoChange is the model's reason, given with Complete, why no file had to change.
	NoChange string `json:"no_change,omitempty"`
	// LeftOut lists the files in the workspace after the call that cannot be saved. It is
	// nil if they were not looked for, or if nothing had changed.
	LeftOut []LeftOut `json:"left_out,omitzero"`
	Tests   *TestRun  `json:"tests,omitempty"` // the project's tests that the call ran; nil if it ran none
	Ran     *TestRun  `json:"ran,omitempty"`   // what the call ran, if it is not known whether these were tests
	Dir     string    `json:"dir,omitempty"`   // the shell's directory after a command, relative to the root
	Finding *Finding  `json:"finding,omitempty"`
	// Handle names a command in the background, or the Output of a command: all that it
	// printed, if Content has only a part.
	Handle string `json:"handle,omitempty"`
	Output string `json:"output,omitempty"`
}

// LeftOut is something that no checkpoint contains. Path is "." if it concerns the
// whole workspace. Why is a short reason such as "a socket".
type LeftOut struct {
	Path string `json:"path"`
	Why  string `json:"why"`
}

// FileChange is the change of one file.
type FileChange struct {
	Path    string     `json:"path"`
	From    string     `json:"from,omitempty"`
	Kind    ChangeKind `json:"kind"`
	Added   int        `json:"added"`
	Removed int        `json:"removed"`
	Blob    string     `json:"blob,omitempty"`  // mode and object id of the content, checkpoints only
	Was     string     `json:"was,omitempty"`   // likewise for the previous content; for a rename, at From
	Fault   string     `json:"fault,omitempty"` // position and reason if the written text does not parse, results only
	In      string     `json:"in,omitempty"`    // the one function with all of the change, saved states of one file only
}

// Effects returns the change by path. A rename deletes one file and creates another.
func (f FileChange) Effects() []policy.Effect {
	if f.From == "" {
		return []policy.Effect{{Path: f.Path, Was: f.Was, Is: f.Blob}}
	}
	return []policy.Effect{{Path: f.From, Was: f.Was}, {Path: f.Path, Is: f.Blob}} //control:rename-deletes
}

// Checkpoint is the payload of [TypeCheckpoint].
type Checkpoint struct {
	Commit string       `json:"commit"`
	Tree   string       `json:"tree,omitempty"`
	Parent string       `json:"parent"`
	Files  []FileChange `json:"files"`
	// Whole is the resulting diff of the branch to its base, as shown in a pull request;
	// Files are the changes of one step. Old logs lack it.
	Whole []FileChange `json:"whole,omitzero"`
	// Parked marks an intermediate state on a private ref. Otherwise the commit is on the
	// branch.
	Parked bool `json:"parked,omitempty"`
	// Content holds the changes of an intermediate state relative to Parent, so that a
	// machine without the commit can recreate it. It is empty if too large.
	Content []Stored `json:"content,omitempty"`
	// Of is the session that sealed Content, if another one did.
	Of string `json:"of,omitempty"`
	// Branch is the branch of the commit, if it is not the task's.
	Branch string `json:"branch,omitempty"`
	// TookBack says that the commit undoes or redoes checkpoints; its message names them.
	// Otherwise it is empty.
	TookBack TakeBackKind `json:"took_back,omitempty"`
	// Merge is set if the commit contains a base branch that Parent does not. Files are
	// then the differences from both, and on the branch the differences from the base.
	Merge *Merge `json:"merge,omitempty"`
	// Sent describes a push that did not go as planned.
	Sent *Sent `json:"sent,omitempty"`
}

// Sent is the result of a push, for display.
type Sent struct {
	How       SentHow      `json:"how"`
	Branch    string       `json:"branch"`               // the intended one
	Said      []string     `json:"said,omitempty"`       // the remote's messages; untrusted
	Conflicts []string     `json:"conflicts,omitempty"`  // files with merge conflicts
	Held      []FileChange `json:"held,omitempty"`       // files that the bot must not push
	Patch     string       `json:"patch,omitempty"`      // changes that are on no branch
	PatchSize int          `json:"patch_size,omitempty"` // size in bytes of a patch too long to store here
}

// Stored is one changed path of a [Checkpoint] with its content. Mode is git's, such
// as "100644", or empty for a deleted path. Data is sealed with the key named by
// Sealed, or plain in old logs.
type Stored struct {
	Path   string `json:"path"`
	Mode   string `json:"mode,omitempty"`
	Data   []byte `json:"data,omitempty"`
	Sealed string `json:"sealed,omitempty"`
}

// Note is the payload of [TypeNote].
type Note struct {
	Kind   NoteKind `json:"kind"`
	Text   string   `json:"text"`
	Call   string   `json:"call,omitempty"`   // the result that Text is appended to; "" for a separate message
	Before int64    `json:"before,omitempty"` // events up to this Seq are replaced by Text (compaction) or shortened (shortening)
	Most   int      `json:"most,omitempty"`   // shortening: bytes kept per piece; eight times as many of the task and the last piece
	Layer  string   `json:"layer,omitempty"`  // set-up: digest of the layer below the workspaces from now on
	Back   int64    `json:"back,omitempty"`   // answers from this Seq on are retracted: the model sees Text instead
	Form   string   `json:"form,omitempty"`   // fallback: the form of answers from now on; "" means text
	Hide   string   `json:"hide,omitempty"`   // tests: the function that the model sees without its body until the next such note
	Line   *Line    `json:"line,omitempty"`   // tests: the line that the next answer corrects; nil means none
	Items  []Item   `json:"items,omitempty"`  // context: the files and posts; old logs have Text instead
	Place  Place    `json:"place,omitzero"`   // said: of the message
}

// Prompt is the payload of [TypePrompt]. Until the next one, requests begin with the
// same bytes, so that the model's server can reuse its computation. Digest is the
// digest of the offered tools.
type Prompt struct {
	Why    PromptWhy `json:"why"`
	System string    `json:"system"`
	Model  string    `json:"model,omitempty"`
	Mode   string    `json:"mode"`
	Text   bool      `json:"text,omitempty"` // calls travel as text
	Form   string    `json:"form,omitempty"` // of the answers; "" means that Text decides
	Digest string    `json:"digest"`
}

// Update is the payload of [TypeState]; only changed fields are set. Plan is the id
// of an approved plan to carry out from now on, in the given mode.
type Update struct {
	Todo []Todo `json:"todo,omitempty"`
	Mode string `json:"mode,omitempty"`
	Plan string `json:"plan,omitempty"`
	// Image is the container image for commands from now on; nil means unchanged.
	Image *Image `json:"image,omitempty"`
	// Servers are MCP servers that the session uses from now on.
	Servers []Server `json:"servers,omitempty"`
	// Neighbors are changes in other repositories; each takes the place of the one before it.
	Neighbors []Neighbor `json:"neighbors,omitempty"`
}

// Neighbor is the saved change of a session in another repository. Files are the differences
// of Commit from Base, and Content holds them as in a [Checkpoint]. An empty list of files
// means that the change was undone.
type Neighbor struct {
	Repository string       `json:"repository"`   // "owner/name"
	ID         string       `json:"id,omitempty"` // of the repository, whatever its name
	Base       string       `json:"base"`
	Commit     string       `json:"commit"`
	Tree       string       `json:"tree"`
	Files      []FileChange `json:"files"`
	Content    []Stored     `json:"content,omitempty"`
}

// Image is a container image for commands. An empty name means the programs of the
// machine. Why is the source of the choice, and Notes the rejected ones, for display.
// Guess means that the image was not chosen explicitly for the agent.
type Image struct {
	Name  string   `json:"image"`
	Why   string   `json:"why"`
	Notes []string `json:"notes,omitempty"`
	Guess bool     `json:"guess,omitempty"`
}

// Todo is one item of the agent's to-do list.
type Todo struct {
	Text   string     `json:"text"`
	Status TodoStatus `json:"status"`
}

// Ended is the payload of [TypeEnded]. Seen is the Seq of the last event that the end took
// into account. The end of finished work is void if a request arrived since then: the run
// goes on. The zero value means that the end is never void.
type Ended struct {
	Outcome Outcome `json:"outcome"`
	Seen    int64   `json:"seen,omitempty"`
}

// void reports whether the newest request arrived too late for an end.
func (e *Ended) void(request int64) bool {
	return e.Seen > 0 && request > e.Seen && e.Outcome.Status.finished() //control:late-request-voids-the-end
}

// Outcome is the result of a run. Summary and Reason are Markdown for display.
type Outcome struct {
	Status  Status       `json:"status"`
	Summary string       `json:"summary,omitempty"`
	Title   string       `json:"title,omitempty"` // of the change, by the model and checked, see [Title]; only with StatusDone
	Reason  string       `json:"reason,omitempty"`
	Tests   string       `json:"tests,omitempty"`  // test results in Markdown; only with StatusDone
	Commit  string       `json:"commit,omitempty"` // last checkpoint
	Files   []FileChange `json:"files,omitempty"`
	Turns   int          `json:"turns"`
	Wish    TakeBackKind `json:"wish,omitempty"` // the only action was this one on the checkpoints; Keep if they did not change

	Withdrawn bool `json:"withdrawn,omitempty"` // its requester took the request back; only with StatusStopped
}

// ErrFenced is the error of [Log.Append] after another worker has taken over the
// session. The previous holder must stop at once and write nothing more.
var ErrFenced = errors.New("session is held by another worker")

// Log stores the events of one session. Append stores all events or none, is durable
// when it returns (but for answers, see [File.Append]), sets Seq, Prev and Hash in the
// given events, and fails with [ErrFenced] after the lease was lost. Events returns the
// events with Seq > after, in order. Both are safe for concurrent use.
type Log interface {
	Append(ctx context.Context, events ...*Event) error
	Events(ctx context.Context, after int64) ([]Event, error)
}
