// Package session holds the words of one agent session: the task that opens
// it, the events it is made of, the log that keeps them and the outcome that
// ends it. It owns what the log means: [State] is the one fold of it.
//
// The session is its event log. Conversation, progress comment, check run and
// dashboard are functions of the log, so whatever is not in an event did not
// happen.
//
//	event.go     the events and what is in them
//	words.go     the words that they use, and those for where a session stands
//	question.go  what words alone can end
//	state.go     the fold: what a log says
//	calls.go     calls, and what people were asked about them
//	refusal.go   what the model is told where nobody said yes
//	changes.go   files, commits and pushes
//	tests.go     how the tests went
//	finding.go   what a reviewer reports
//	shell.go     the shell that commands run in
//	wish.go      the events of a person's wish
//	once.go      an approval is for one thing, once: the rule over a log
//	timeline.go  what happened, for people
//	subject.go   the name of a checkpoint
//	chain.go     how events are numbered and linked; a log in memory
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

// Task is what a session is asked to do. It is recorded as the first event
// and never changes afterwards; later wishes arrive as [Message] events.
type Task struct {
	Session   string   `json:"session"`             // session id, see [NewID]
	Thread    string   `json:"thread,omitempty"`    // "owner/repo#12", empty on the command line
	Text      string   `json:"text"`                // the request, cleaned and fenced by the caller
	Mode      string   `json:"mode"`                // name of a policy mode, for example "code"
	Model     string   `json:"model"`               // model name as the server knows it
	Base      string   `json:"base"`                // commit id the work starts from
	Branch    string   `json:"branch"`              // branch that receives the checkpoints
	Nonce     string   `json:"nonce,omitempty"`     // random, in the fences around untrusted text
	Requester string   `json:"requester,omitempty"` // login of the person who asked
	Turns     int      `json:"turns,omitempty"`     // turn limit, 0 for the mode's default
	Images    []Blob   `json:"images,omitempty"`    // pictures for vision models
	Context   []Item   `json:"context,omitempty"`   // user-provided context, resolved before the first turn
	Links     []string `json:"links,omitempty"`     // where links of the text lead; they are looked up, and the model is not told
	Place     Place    `json:"place,omitzero"`      // where the request stands
	Why       string   `json:"why,omitempty"`       // it began, where nobody asked in words
	Clone     Clone    `json:"clone,omitzero"`      // where it runs, on the command line
}

// Clone is where a session of the command line works, and how, so that it can go on
// without being told again.
type Clone struct {
	Path      string `json:"path"`                // of the clone, absolute
	Workspace string `json:"workspace,omitempty"` // engine that was asked for
	Image     string `json:"image,omitempty"`     // for docker
	CAFile    string `json:"ca_file,omitempty"`   // with an authority that the model's server is trusted by, absolute
	Provider  string `json:"provider,omitempty"`  // kind of the model's server, if it was given
	Server    string `json:"server,omitempty"`    // address of the model's server, when it was given; "" for the environment's
}

// Place is where on GitHub a request stands. What was said there up to then came
// with it. DiffThread is the number of the comment with which the talk about lines of
// a diff began that the request belongs to, 0 when it stands elsewhere.
type Place struct {
	At         time.Time `json:"at"`
	Comment    int64     `json:"comment,omitempty"`
	DiffThread int64     `json:"diff_thread,omitempty"`
	Thread     int       `json:"thread,omitempty"` // number of the thread where that is not the session's own
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
}

// Type names what an event says. [Payload] decodes what it holds.
type Type string

// The types of events, in the order in which a turn usually makes them.
const (
	TypeOpened     Type = "opened"     // Opened: the session began
	TypeMessage    Type = "message"    // Message: words from a person (follow-up, or the bot on their behalf)
	TypeAnswer     Type = "answer"     // Answer: one complete answer of the model
	TypeDecision   Type = "decision"   // Decision: the gate's word on one call
	TypeAsked      Type = "asked"      // Asked: approval or an answer was requested from a person
	TypeResolved   Type = "resolved"   // Resolved: a person (or a deadline) settled what was asked
	TypeStarted    Type = "started"    // Started: a tool call began to run
	TypeResult     Type = "result"     // Result: a tool call ended
	TypeCheckpoint Type = "checkpoint" // Checkpoint: changes became a commit
	TypeNote       Type = "note"       // Note: the engine told the model something (reminder, refusal, compaction)
	TypeState      Type = "state"      // Update: todo list or mode changed
	TypeEnded      Type = "ended"      // Ended: the run ended or parked with an outcome
	TypeTask       Type = "task"       // something happened in a sub-task
	TypePrompt     Type = "prompt"     // Prompt: what requests to the model begin with, from here on
	TypeVerified   Type = "verified"   // Verified: Handrail ran the project's tests on a saved state
)

// Event is one record of the log. Seq starts at 1 and has no gaps; Hash
// chains the record to the one before it, see [Chain]. Seq, Prev and Hash are
// filled by [Log.Append]; the writer leaves them zero.
type Event struct {
	Seq  int64           `json:"seq"`
	Time time.Time       `json:"time"`
	Turn int             `json:"turn"`
	Type Type            `json:"type"`
	V    int             `json:"v"` // version of the payload's form, 1 today
	Data json.RawMessage `json:"data"`
	Prev string          `json:"prev,omitempty"`
	Hash string          `json:"hash,omitempty"`
}

// Opened is the payload of [TypeOpened].
type Opened struct {
	Task Task `json:"task"`
}

// Message is the payload of [TypeMessage]. Key identifies its source (a
// comment id with its updated_at) so that one comment enters once.
type Message struct {
	Key    string `json:"key,omitempty"`
	Author string `json:"author,omitempty"`
	Text   string `json:"text"`
	Budget int    `json:"budget,omitempty"` // turns granted by "/agent budget +10"
	Turns  int    `json:"turns,omitempty"`  // for the request that it begins; 0 for as many as the task has
	Mode   string `json:"mode,omitempty"`   // of the request that it begins; "" where it goes on with the one before
	Why    string `json:"why,omitempty"`    // it came, where nobody wrote it in the thread

	TakeBack *TakeBack `json:"take_back,omitempty"` // nil for words to the model
	Model    string    `json:"model,omitempty"`     // works on the session from now on; "" for the one so far
	Clear    bool      `json:"clear,omitempty"`     // what was said up to now is forgotten

	Images  []Blob   `json:"images,omitempty"`  // pictures for vision models
	Context []Item   `json:"context,omitempty"` // what the words are about, as in [Task]
	Links   []string `json:"links,omitempty"`   // as in [Task]
	Place   Place    `json:"place,omitzero"`    // as in [Task]
}

// TakeBack is a wish about the checkpoints of the session: to take the last N
// back, to bring N again that were taken back, or to keep what is there from being
// taken back. Paths are the files that it is about; none for all.
type TakeBack struct {
	Do    TakeBackKind `json:"do"`
	N     int          `json:"n,omitempty"`
	Paths []string     `json:"paths,omitempty"`
	// Branch is what [Rebase] takes in.
	Branch string `json:"branch,omitempty"`
}

// Merge is a base branch that a state takes in. Conflicts are the files in which both
// sides had changed the same lines, Open those of them that still have both.
type Merge struct {
	Branch    string   `json:"branch"`
	Commit    string   `json:"commit"`
	Conflicts []string `json:"conflicts,omitempty"`
	Open      []string `json:"open,omitempty"`
	Turn      int      `json:"turn,omitempty"` // of the session when it was taken in
}

// Unsettled reports whether files still have both sides.
func (m *Merge) Unsettled() bool { return m != nil && len(m.Open) > 0 }

// Second returns the commit that is a second parent with it, "" for none.
func (m *Merge) Second() string {
	if m == nil {
		return ""
	}
	return m.Commit
}

// Unseen reports whether there were conflicts at which nobody has looked by a turn.
func (m *Merge) Unseen(turn int) bool { return m != nil && len(m.Conflicts) > 0 && turn == m.Turn }

// Call is one tool call as it will be run. ID is unique in the session.
type Call struct {
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`           // a JSON object
	Truncated bool            `json:"truncated,omitempty"` // the model was cut off inside this call
	Repaired  bool            `json:"repaired,omitempty"`  // the JSON needed mending
	Text      bool            `json:"text,omitempty"`      // parsed from prose, not a native call
}

// What of an answer can be lost.
const (
	LostCall   = "call"   // the server dropped a call
	LostUnread = "unread" // the server could not read a call
	LostEnd    = "end"    // the answer reached its limit
	LostLoop   = "loop"   // the answer repeated itself and was stopped
	LostTime   = "time"   // the answer took longer than it may and was stopped
)

// Answer is the payload of [TypeAnswer].
type Answer struct {
	Thinking       string   `json:"thinking,omitempty"`
	ThinkingMillis int64    `json:"thinking_ms,omitempty"`
	Content        string   `json:"content,omitempty"` // for the reader: without call markup
	Raw            string   `json:"raw,omitempty"`     // what a text-mode model is shown as its own words; empty when equal to Content
	Again          string   `json:"again,omitempty"`   // that in its place, where its own words would not be read as the same calls again
	Calls          []Call   `json:"calls,omitempty"`
	Errors         []string `json:"errors,omitempty"`       // calls that could not be understood
	Lost           string   `json:"lost,omitempty"`         // what of it did not arrive: [LostCall] and its like
	Complete       bool     `json:"complete,omitempty"`     // the model said that it is done
	PromptBytes    int      `json:"prompt_bytes,omitempty"` // size of what was sent, to learn how the server counts
	PromptTokens   int      `json:"prompt_tokens,omitempty"`
	AnswerTokens   int      `json:"answer_tokens,omitempty"`
}

// Decision is the payload of [TypeDecision]. Kind is what the call does; logs
// written before it was recorded lack it.
type Decision struct {
	Call     string         `json:"call"`
	Kind     policy.Kind    `json:"kind,omitempty"`
	Verdict  policy.Verdict `json:"verdict"`
	Severity string         `json:"severity,omitempty"`
	Rule     string         `json:"rule,omitempty"`
	Reasons  []string       `json:"reasons,omitempty"`
	Digest   string         `json:"digest,omitempty"`
	Auto     bool           `json:"auto,omitempty"` // allowed by a setting that stands in for a person
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
	// Effects is what a yes allows on the branch: each file with its content
	// before and after. Commands have none, because nobody can compute it.
	Effects  []policy.Effect `json:"effects,omitempty"`
	Base     string          `json:"base,omitempty"`
	Head     string          `json:"head,omitempty"`
	Deadline time.Time       `json:"deadline,omitzero"`
	// Bound is what else the digest covers, as it was when the request was
	// made, so that people can be told what changed since.
	Bound  []Fact  `json:"bound,omitempty"`
	Review *Review `json:"review,omitempty"` // it can be answered by a review; nil: by words alone
}

// Review is how a sensitive edit is put before people as a small pull
// request: Commit holds exactly that edit on top of Head, Branch is where it
// is put to be looked at, Base the session's branch, which it would go to.
type Review struct {
	Commit string `json:"commit"`
	Branch string `json:"branch"`
	Base   string `json:"base"`
}

// Resolved is the payload of [TypeResolved]. Verdict is one of the words that
// [policy.Approval.Settle] takes.
type Resolved struct {
	ID      string               `json:"id"`
	Verdict policy.ApprovalState `json:"verdict"`
	By      string               `json:"by,omitempty"`
	ByID    int64                `json:"by_id,omitempty"`
	Reason  string               `json:"reason,omitempty"`
	Hint    string               `json:"hint,omitempty"` // what the model is to do instead; people are not shown it
	Key     string               `json:"key,omitempty"`  // source of the answer: comment id with updated_at, or review id
}

// Started is the payload of [TypeStarted].
type Started struct {
	Call  string `json:"call"`
	Title string `json:"title"` // for people: "Running go test ./..."
}

// Result is the payload of [TypeResult].
type Result struct {
	Call    string       `json:"call"`
	OK      bool         `json:"ok"`
	Content string       `json:"content"` // what the model is told
	Title   string       `json:"title,omitempty"`
	Millis  int64        `json:"ms"`
	Changes []FileChange `json:"changes,omitempty"`
	Cut     bool         `json:"cut,omitempty"` // it began, and the workspace ended before it did; outcome unknown
	Images  []Blob       `json:"images,omitempty"`
	// Complete is set by attempt_completion, Mistake when the model used the
	// tool wrongly (as opposed to the world being against it).
	Complete bool `json:"complete,omitempty"`
	Mistake  bool `json:"mistake,omitempty"`
	// NoChange is why the model says, with Complete, that no file had to change.
	NoChange string `json:"no_change,omitempty"`
	// LeftOut is all that lay in the workspace after the call and cannot be
	// kept. It is nil where that was not looked for, or nothing had changed.
	LeftOut []LeftOut `json:"left_out,omitzero"`
	Tests   *TestRun  `json:"tests,omitempty"` // what of the project's tests the call ran; nil for none
	Dir     string    `json:"dir,omitempty"`   // where the shell stands after a command, relative to the root
	Finding *Finding  `json:"finding,omitempty"`
	// Handle names a command that runs on in the background, or the Output of one: all
	// that it printed, where Content has only a part.
	Handle string `json:"handle,omitempty"`
	Output string `json:"output,omitempty"`
}

// LeftOut is something that is in no checkpoint. Path is "." for what is about
// the whole workspace, Why a few words such as "a socket".
type LeftOut struct {
	Path string `json:"path"`
	Why  string `json:"why"`
}

// FileChange counts what happened to one file.
type FileChange struct {
	Path    string     `json:"path"`
	From    string     `json:"from,omitempty"`
	Kind    ChangeKind `json:"kind"`
	Added   int        `json:"added"`
	Removed int        `json:"removed"`
	Blob    string     `json:"blob,omitempty"` // mode and object id of the content, checkpoints only
	Was     string     `json:"was,omitempty"`  // the same of what was there before; for a rename, at From
}

// Effects returns what happened, path by path: a rename is the end of one file and
// the beginning of another.
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
	// Whole is what the branch has from then on that its base has not, as people see
	// it in a pull request: Files are what one step did. Older logs have none.
	Whole []FileChange `json:"whole,omitzero"`
	// Parked marks a half-done state kept on a private ref; without it the
	// commit is on the branch.
	Parked bool `json:"parked,omitempty"`
	// Content is what a half-done state adds to Parent, so that a machine
	// that does not have the commit can make it; empty when it is too large.
	Content []Stored `json:"content,omitempty"`
	// Branch is where the commit is, when it is not the task's branch.
	Branch string `json:"branch,omitempty"`
	// TookBack says that the commit takes checkpoints back, or brings them again:
	// its message names them. It is empty for any other.
	TookBack TakeBackKind `json:"took_back,omitempty"`
	// Merge is set when the commit has a base branch that Parent has not. Files are
	// then what differs from both, and on the branch what differs from the base.
	Merge *Merge `json:"merge,omitempty"`
	// Sent tells how the commit came to the branch where that was not plain.
	Sent *Sent `json:"sent,omitempty"`
}

// Sent tells people what became of a push.
type Sent struct {
	How       SentHow      `json:"how"`
	Branch    string       `json:"branch"`               // that was meant
	Said      []string     `json:"said,omitempty"`       // what was in the way, in the remote's words; untrusted
	Conflicts []string     `json:"conflicts,omitempty"`  // files that could not be merged
	Held      []FileChange `json:"held,omitempty"`       // files that the bot may not push
	Patch     string       `json:"patch,omitempty"`      // what is on no branch
	PatchSize int          `json:"patch_size,omitempty"` // bytes of a patch that is too long to be kept here
}

// Stored is one changed path of a [Checkpoint] with what it holds. Mode is
// git's, such as "100644"; it is empty for a path that is gone. Data is sealed
// with the key that Sealed names; it is plain in logs of older versions.
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
	Call   string   `json:"call,omitempty"`   // the result that it is added to; empty for words of their own
	Before int64    `json:"before,omitempty"` // compaction: events up to this Seq are replaced by Text; shortening: they are shortened
	Most   int      `json:"most,omitempty"`   // shortening: bytes that stay of each piece; of the task and the last one eight times as many
	Layer  string   `json:"layer,omitempty"`  // set-up: digest of what the workspaces lie on from here
	Back   int64    `json:"back,omitempty"`   // answers from this Seq on are taken back: the model is told Text in their place
	Form   string   `json:"form,omitempty"`   // fallback: the form of answering from here on; "" for text
	Items  []Item   `json:"items,omitempty"`  // context: the files and posts; logs of older versions have Text
}

// Prompt is the payload of [TypePrompt]. Requests begin with the same bytes until the
// next one, so that the model's server need not compute them again. Digest is that of
// the tools that are offered.
type Prompt struct {
	Why    PromptWhy `json:"why"`
	System string    `json:"system"`
	Model  string    `json:"model,omitempty"`
	Mode   string    `json:"mode"`
	Text   bool      `json:"text,omitempty"` // calls travel as text
	Form   string    `json:"form,omitempty"` // of answering; "" for the one that Text tells
	Digest string    `json:"digest"`
}

// Update is the payload of [TypeState]; only what changed is set. Plan is the id of an
// approved plan that is carried out from here on, in the mode that is set with it.
type Update struct {
	Todo []Todo `json:"todo,omitempty"`
	Mode string `json:"mode,omitempty"`
	Plan string `json:"plan,omitempty"`
	// Image is what commands run in from here on; nil where that stays.
	Image *Image `json:"image,omitempty"`
}

// Image is a container image that commands run in; one without a name stands for the
// programs of the machine. Why says who chose it, Notes what was not taken, for people.
// Guess means that nobody named it for the agent.
type Image struct {
	Name  string   `json:"image"`
	Why   string   `json:"why"`
	Notes []string `json:"notes,omitempty"`
	Guess bool     `json:"guess,omitempty"`
}

// Todo is one line of the agent's list.
type Todo struct {
	Text   string     `json:"text"`
	Status TodoStatus `json:"status"`
}

// Ended is the payload of [TypeEnded].
type Ended struct {
	Outcome Outcome `json:"outcome"`
}

// Outcome is what a run came to. Summary and Reason are Markdown for people.
type Outcome struct {
	Status  Status       `json:"status"`
	Summary string       `json:"summary,omitempty"`
	Reason  string       `json:"reason,omitempty"`
	Tests   string       `json:"tests,omitempty"`  // how they went, in Markdown; only with StatusDone
	Commit  string       `json:"commit,omitempty"` // last checkpoint
	Files   []FileChange `json:"files,omitempty"`
	Turns   int          `json:"turns"`
	Wish    TakeBackKind `json:"wish,omitempty"` // it only did this with the checkpoints; Keep when they stayed
}

// ErrFenced is returned by [Log.Append] when another worker has taken the
// session over. The holder must stop at once and write nothing more.
var ErrFenced = errors.New("session is held by another worker")

// Log keeps the events of one session. Append stores all events or none, is
// durable when it returns, fills Seq, Prev and Hash in the given slice, and
// fails with [ErrFenced] after the lease was lost. Events returns those with
// Seq > after in order. Both are safe for concurrent use.
type Log interface {
	Append(ctx context.Context, events ...*Event) error
	Events(ctx context.Context, after int64) ([]Event, error)
}
