// Package store holds the words for everything the bot keeps: deliveries,
// sessions, leases, event logs, intents and a few single values. What people
// were asked and answered is in the event logs.
//
// Adapters are [github.com/handrail-bot/handrail/bot/store/sqlite] (embedded),
// [github.com/handrail-bot/handrail/bot/store/postgres] (many machines) and
// [github.com/handrail-bot/handrail/bot/store/gitref] (the log of one session
// in a git ref). What each must do is written as tests in storetest.
//
// The rule that everything here serves: what was acknowledged is never lost,
// and what was done is never done twice. Whoever works on a session holds its
// lease and names the lease's epoch in every write; a write with an old epoch
// fails with [session.ErrFenced].
package store

import (
	"context"
	"errors"
	"time"

	"github.com/handrail-bot/handrail/agent/session"
)

// Errors a caller branches on. Fenced writes fail with [session.ErrFenced].
var (
	ErrNotFound = errors.New("not in the store")
	ErrExists   = errors.New("already in the store")
	ErrConflict = errors.New("changed by somebody else in the meantime")
	ErrHeld     = errors.New("lease is held by another worker")
	ErrPutOff   = errors.New("put off after a failure")
	ErrNotOver  = errors.New("not over, or something waits for it")
	ErrFull     = errors.New("no space left for the database: free disk space, then try again")
)

// Unless returns err, and nil when it is target: a caller says so what it
// takes for no error.
func Unless(err, target error) error {
	if errors.Is(err, target) {
		return nil
	}
	return err
}

// Store is the whole of what is kept, by kind of record. Every field of an
// opened store is set and safe for concurrent use.
type Store struct {
	Deliveries Deliveries
	Wakes      Wakes
	Leases     Leases
	Sessions   Sessions
	Logs       Logs
	Intents    Intents
	Effects    Effects
	Meta       Meta
}

// Deliveries keeps what GitHub sent until it was worked on.
type Deliveries interface {
	// Put stores deliveries together with a wake for each of their threads,
	// durably when it returns. Calls that come at the same time share one
	// transaction. The answer says for each delivery whether it is new; one
	// whose ID, or whose non-empty Key, was stored before is not stored again.
	Put(ctx context.Context, deliveries ...*Delivery) (stored []bool, err error)
	// Next returns the oldest delivery of thread that is not done, or
	// [ErrNotFound].
	Next(ctx context.Context, thread string) (*Delivery, error)
	// Done marks deliveries as worked on, with a short note for the operator.
	// To do it in one transaction with their effect, use [Logs.Apply].
	Done(ctx context.Context, note string, ids ...string) error
	// Unknown returns those of ids that were never stored, for the sweep that
	// asks GitHub to send again what was lost during a downtime.
	Unknown(ctx context.Context, ids ...string) ([]string, error)
	// Prune forgets deliveries done before a time and returns how many. A
	// forgotten id is no longer recognized as a duplicate.
	Prune(ctx context.Context, before time.Time) (int, error)
}

// ErrUnparsable means that the payload of a delivery is not what its event says.
var ErrUnparsable = errors.New("payload cannot be read")

// Delivery is one webhook delivery.
type Delivery struct {
	ID       string    `json:"id"`               // X-GitHub-Delivery; a redelivery has the same
	Event    string    `json:"event"`            // X-GitHub-Event
	Key      string    `json:"key,omitempty"`    // what it speaks about, such as comment id and updated_at; "" for no second check
	Thread   string    `json:"thread"`           // "owner/repo#12"; deliveries of one thread are worked on in order
	Sender   string    `json:"sender,omitempty"` // who caused it, for the limit per user
	Priority int       `json:"priority"`         // one of the Priority constants
	Payload  []byte    `json:"payload"`          // raw JSON
	Received time.Time `json:"received"`         // filled by Put when zero
	Seq      int64     `json:"seq"`              // order of arrival, filled by Put
}

// Priorities of deliveries and wakes. Smaller comes first; zero means
// PriorityWork.
const (
	PriorityStop   = 1 // stop, withdraw
	PriorityAnswer = 2 // approvals, denials, answers to questions
	PriorityWork   = 3 // new tasks and follow-ups
	PriorityIdle   = 4 // schedules, sweeps
)

// Wake says that a thread has work. It is the argument of the queue's jobs.
type Wake struct {
	Thread string `json:"thread"`
	Sender string `json:"sender,omitempty"` // for the limit per user
	Due    bool   `json:"due,omitempty"`    // there is work even when no delivery waits
}

// Kind names the job in the queue's tables.
func (Wake) Kind() string { return "wake" }

// Wakes inserts wakes and finds the threads that need one.
type Wakes interface {
	// Wake tells the queue that thread has work at the given time; a zero
	// time means now.
	Wake(ctx context.Context, thread string, priority int, at time.Time) error
	// Waiting returns the threads that have undone deliveries, an unheard
	// [Leases.Want] or an expired lease (their own or that of one of their
	// sessions), whose own lease is not live and which do not back off, most
	// urgent and oldest first, at most limit.
	Waiting(ctx context.Context, limit int) ([]Waiting, error)
	// Urgent returns the undone deliveries of thread that came after a number
	// and are as urgent as priority or more, oldest first, at most 200. It is a look ahead:
	// deliveries are worked on in the order of [Deliveries.Next] all the same.
	Urgent(ctx context.Context, thread string, priority int, after int64) ([]*Delivery, error)
	// Nudges returns a channel that receives the threads woken by this
	// process, as a hint. Hints may be dropped; the queue's table has all.
	// There is one channel, for one reader.
	Nudges() <-chan Waiting
}

// Jobs runs the jobs of the queue in the database of a store. Start returns
// when they run; Stop takes no new ones and waits for those that run.
type Jobs interface {
	Start(ctx context.Context) error
	Stop(ctx context.Context) error
	StopAndCancel(ctx context.Context) error
}

// Waiting is a thread that nobody works on although it has work. Sender is
// who caused the oldest of it. Epoch is that of the thread's lease, 0 when
// there never was one: when it has moved, somebody has looked since.
type Waiting struct {
	Thread   string
	Sender   string
	Priority int
	Since    time.Time
	Epoch    int64
}

// Leases gives the right to work on something, to one owner at a time. The
// key is a session id or a thread.
type Leases interface {
	// Acquire takes the lease of key for ttl and raises its epoch by one. It
	// fails with [ErrHeld] while another lease, also of the same owner, is
	// live, and with [ErrPutOff] before NotBefore.
	Acquire(ctx context.Context, key, owner string, ttl time.Duration) (Lease, error)
	// Heartbeat extends a lease that nobody took over. It fails with
	// [session.ErrFenced] when somebody did: stop at once.
	Heartbeat(ctx context.Context, l Lease, ttl time.Duration) (Lease, error)
	// Release gives a lease back. A zero backoff means that the work is done:
	// when the key is a thread with undone deliveries, or when [Leases.Want]
	// was called since, the lease is kept and the answer is false: go on
	// working. Any other backoff gives it back in any case and keeps the
	// thread from [Wakes.Waiting], and the lease from everybody, until then;
	// one in the future counts as a failed attempt.
	Release(ctx context.Context, l Lease, backoff time.Time) (released bool, err error)
	// Want asks the holder of key's lease to look again before the release.
	// It reports false when nobody holds it: acquire it.
	Want(ctx context.Context, key string) (held bool, err error)
	// Lease returns the row of key as it stands, live or not, or
	// [ErrNotFound].
	Lease(ctx context.Context, key string) (Lease, error)
}

// Lease is the right to work on Key until Until. Epoch grows with every
// acquisition and is what writes are checked against.
type Lease struct {
	Key   string    `json:"key"`
	Owner string    `json:"owner"` // empty after a release
	Epoch int64     `json:"epoch"`
	Until time.Time `json:"until"`
	// NotBefore is when a key that was given back with a backoff may be
	// worked on again. It tells nothing about a lease that is held.
	NotBefore time.Time `json:"not_before,omitzero"`
	Attempts  int       `json:"attempts,omitempty"` // failed attempts since the last release without a backoff
	Wanted    bool      `json:"wanted,omitempty"`   // somebody called Want since the acquisition
}

// Fence returns what writes under the lease carry.
func (l Lease) Fence() Fence { return Fence{Key: l.Key, Epoch: l.Epoch} }

// Fence names the lease a write is made under. Key is the session id.
type Fence struct {
	Key   string
	Epoch int64
}

// Sessions keeps one row per session.
type Sessions interface {
	// Create stores a new session; [ErrExists] when its ID is taken. It sets
	// Created, Updated and Version.
	Create(ctx context.Context, s *Session) error
	// Session returns a session by ID, or [ErrNotFound].
	Session(ctx context.Context, id string) (*Session, error)
	// ByThread returns the newest session of a thread, or [ErrNotFound].
	ByThread(ctx context.Context, thread string) (*Session, error)
	// Update replaces the row. With a fence it fails with
	// [session.ErrFenced] when the lease was lost; without one (zero) it is
	// refused with [session.ErrFenced] while a live lease exists. It fails
	// with [ErrConflict] when Version is not the stored one, and raises it
	// otherwise.
	Update(ctx context.Context, f Fence, s *Session) error
	// List returns sessions, newest first.
	List(ctx context.Context, q Query) ([]*Session, error)
}

// Query selects sessions. Empty fields select everything; Limit 0 means 100.
type Query struct {
	Repo, Requester string
	States          []session.Phase
	Before          time.Time // created before
	Limit           int

	Pulls    []int    // whose pull request is one of these,
	Branches []string // or whose branch is
}

// Session is what is known about a session besides its log. Epoch, Owner and
// Until come from its lease and are read only.
type Session struct {
	ID        string         `json:"id"`
	Thread    string         `json:"thread"`
	Repo      string         `json:"repo"` // "owner/repo"
	Requester string         `json:"requester,omitempty"`
	Mode      string         `json:"mode,omitempty"`
	Model     string         `json:"model,omitempty"`
	Branch    string         `json:"branch,omitempty"`
	Base      string         `json:"base,omitempty"`
	State     session.Phase  `json:"state"`
	Status    session.Status `json:"status,omitempty"` // how the last run ended
	Pull      int            `json:"pull,omitempty"`   // number of its pull request
	Data      []byte         `json:"data,omitempty"`   // JSON of the owner of the row, kept as it is
	Created   time.Time      `json:"created"`
	Updated   time.Time      `json:"updated"`
	Version   int64          `json:"version"`

	Epoch int64     `json:"-"`
	Owner string    `json:"-"`
	Until time.Time `json:"-"`
}

// Logs keeps the event logs of sessions.
type Logs interface {
	// Log returns the log of session f.Key. Appending needs the fence of a
	// lease that is still held; a log with epoch 0 can only be read.
	Log(f Fence) session.Log
	// Apply makes all of a change or nothing of it.
	Apply(ctx context.Context, f Fence, c Change) error
	// Heads returns where the log of each session ends, ordered by session.
	Heads(ctx context.Context) ([]Head, error)
	// Import stores a complete log under a session that has none yet;
	// [ErrExists] otherwise. The events keep their hashes and are verified.
	Import(ctx context.Context, id string, events []session.Event) error
}

// Change is what happens together. Everything in it belongs to the fence's
// session.
type Change struct {
	Events  []*session.Event // appended
	Session *Session         // updated
	Intents []*Intent        // recorded as intended, see [Intents.Intend]
	Done    []string         // deliveries worked on; when somebody else did one meanwhile, nothing is written
}

// Head is the end of one log.
type Head struct {
	Session string `json:"session"`
	Seq     int64  `json:"seq"`
	Hash    string `json:"hash"`
}

// Intents keeps writes to GitHub from before they are tried until they are
// known to have happened. A fence is needed for an intent of a session; one
// without a session is written with the zero fence.
type Intents interface {
	// Intend records a write. When the key is there already nothing is
	// stored and the given intent is overwritten with the stored one.
	Intend(ctx context.Context, f Fence, in *Intent) error
	// Attempted records, before the request leaves, that it does, and that
	// it must not be repeated before notBefore. It fails with [ErrConflict]
	// on an intent that is done or failed.
	Attempted(ctx context.Context, f Fence, key string, notBefore time.Time) (Intent, error)
	// Done records that the write happened; ref is what GitHub calls the
	// result. Repeating it with the same ref is no error.
	Done(ctx context.Context, f Fence, key, ref string) error
	// Failed records that the write is given up.
	Failed(ctx context.Context, f Fence, key, reason string) error
	// Open returns the intents of a session that are neither done nor
	// failed, oldest first. The empty session means those that have none.
	Open(ctx context.Context, id string) ([]Intent, error)
}

// Effects tells of writes that were intended, whatever became of them.
type Effects interface {
	// Effect returns the intent of a key, or [ErrNotFound].
	Effect(ctx context.Context, key string) (Intent, error)
}

// Intent is one write to GitHub. Payload is what is needed to make it.
type Intent struct {
	Key       string      `json:"key"`
	Session   string      `json:"session,omitempty"`
	Kind      string      `json:"kind"`
	Payload   []byte      `json:"payload,omitempty"`
	State     IntentState `json:"state"`
	Ref       string      `json:"ref,omitempty"`
	Reason    string      `json:"reason,omitempty"`
	Attempts  int         `json:"attempts,omitempty"`
	NotBefore time.Time   `json:"not_before,omitzero"`
	Created   time.Time   `json:"created"`
	Updated   time.Time   `json:"updated"`
}

// IntentState is how far an intent has come.
type IntentState string

// The states of an intent.
const (
	Intended  IntentState = "intended"
	Attempted IntentState = "attempted"
	Done      IntentState = "done"
	Failed    IntentState = "failed"
)

// Meta keeps single values, such as the time of the last delivery sweep.
type Meta interface {
	// Get returns a value, or [ErrNotFound].
	Get(ctx context.Context, key string) ([]byte, error)
	// Set stores a value.
	Set(ctx context.Context, key string, value []byte) error
	// Swap stores a value if the stored one is old (nil: none), else fails
	// with [ErrConflict].
	Swap(ctx context.Context, key string, old, value []byte) error
	// Drop forgets a value. One that is not there is no error.
	Drop(ctx context.Context, key string) error
	// DropAll forgets every value whose key begins with prefix, which is not empty.
	DropAll(ctx context.Context, prefix string) error
}
