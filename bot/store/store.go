// Package store defines the bot's storage: deliveries, sessions, leases, event logs,
// intents and a few single values. Requests for approval and their answers are in the
// event logs.
//
// Adapters are [github.com/handrail-bot/handrail/bot/store/sqlite] (embedded),
// [github.com/handrail-bot/handrail/bot/store/postgres] (many machines) and
// [github.com/handrail-bot/handrail/bot/store/threadref] (the log of one session
// in a git ref). Package storetest holds the tests that every adapter passes.
//
// Acknowledged data is never lost, and no work is done twice. A worker holds the lease of
// its session and names the lease's epoch in every write; a write with an old epoch fails
// with [session.ErrFenced].
package store

import (
	"context"
	"errors"
	"time"

	"github.com/handrail-bot/handrail/agent/session"
)

// Errors that callers check for. Fenced writes fail with [session.ErrFenced].
var (
	ErrNotFound = errors.New("not in the store")
	ErrExists   = errors.New("already in the store")
	ErrConflict = errors.New("changed by another worker in the meantime")
	ErrHeld     = errors.New("lease is held by another worker")
	ErrPutOff   = errors.New("put off after a failure")
	ErrNotOver  = errors.New("not over, or something waits for it")
	ErrFull     = errors.New("no space left for the database: free disk space, then try again")
	ErrBusy     = errors.New("another process holds the database: end it, or let it go on")
)

// Unless returns err, or nil if err is target.
func Unless(err, target error) error {
	if errors.Is(err, target) {
		return nil
	}
	return err
}

// Store is the complete storage, by kind of record. Every field of an opened store is set
// and safe for concurrent use.
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

// Deliveries keeps GitHub's deliveries until they are done.
type Deliveries interface {
	// Put stores deliveries with a wake for each of their threads. They are durable when
	// it returns. Concurrent calls share one transaction. The result says for each
	// delivery whether it is new; one with a known ID, or a known non-empty Key, is not
	// stored again.
	Put(ctx context.Context, deliveries ...*Delivery) (stored []bool, err error)
	// Next returns the oldest undone delivery of thread, or [ErrNotFound].
	Next(ctx context.Context, thread string) (*Delivery, error)
	// Done marks deliveries as done, with a short note for the operator. [Logs.Apply] does
	// so in one transaction with their effect.
	Done(ctx context.Context, note string, ids ...string) error
	// Unknown returns those of ids that were never stored. The sweep uses it to request
	// deliveries that were lost during a downtime.
	Unknown(ctx context.Context, ids ...string) ([]string, error)
	// Prune deletes deliveries done before a time and returns their number. A deleted id is
	// no longer recognized as a duplicate.
	Prune(ctx context.Context, before time.Time) (int, error)
}

// ErrUnparsable means that a delivery's payload does not match its event.
var ErrUnparsable = errors.New("payload cannot be read")

// Delivery is one webhook delivery.
type Delivery struct {
	ID       string    `json:"id"`               // X-GitHub-Delivery; a redelivery has the same
	Event    string    `json:"event"`            // X-GitHub-Event
	Key      string    `json:"key,omitempty"`    // object of the event, such as comment id and updated_at; "" skips this second check
	Thread   string    `json:"thread"`           // "owner/repo#12"; deliveries of one thread are worked on in order
	Sender   string    `json:"sender,omitempty"` // account that caused it, for the limit per user
	Priority int       `json:"priority"`         // one of the Priority constants
	Payload  []byte    `json:"payload"`          // raw JSON
	Received time.Time `json:"received"`         // set by Put if zero
	Seq      int64     `json:"seq"`              // order of arrival, set by Put
}

// Priorities of deliveries and wakes. Smaller numbers come first; zero means
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
	Due    bool   `json:"due,omitempty"`    // there is work even if no delivery waits
}

// Kind names the job in the queue's tables.
func (Wake) Kind() string { return "wake" }

// Wakes inserts wakes and finds the threads that need one.
type Wakes interface {
	// Wake tells the queue that thread has work at the given time; a zero
	// time means now.
	Wake(ctx context.Context, thread string, priority int, at time.Time) error
	// Waiting returns at most limit threads that have work and no live lease of their own,
	// and are not backing off, most urgent and oldest first. A thread has work if it has
	// undone deliveries, an unheard [Leases.Want], or an expired lease (its own or that of
	// one of its sessions).
	Waiting(ctx context.Context, limit int) ([]Waiting, error)
	// Oldest returns the earliest Since of all threads that Waiting would return without a
	// limit, and the zero time if there are none.
	Oldest(ctx context.Context) (time.Time, error)
	// Urgent returns at most 200 undone deliveries of thread with a Seq above after that
	// are at least as urgent as priority, oldest first. It only looks ahead: the order of
	// work is still that of [Deliveries.Next].
	Urgent(ctx context.Context, thread string, priority int, after int64) ([]*Delivery, error)
	// Nudges returns a channel of threads woken by this process, as a hint. Hints may be
	// dropped; the queue's table is complete. There is one channel, for one reader.
	Nudges() <-chan Waiting
}

// Jobs runs the queue's jobs in the database of a store. Start returns once they run;
// Stop accepts no new ones and waits for the running ones.
type Jobs interface {
	Start(ctx context.Context) error
	Stop(ctx context.Context) error
	StopAndCancel(ctx context.Context) error
}

// Waiting is a thread with work and without a worker. Sender is the sender of the oldest
// work. Epoch is that of the thread's lease, 0 if it never had one; a later epoch means
// that a worker has looked since.
type Waiting struct {
	Thread   string
	Sender   string
	Priority int
	Since    time.Time
	Epoch    int64
}

// Leases gives the exclusive right to work on a session or a thread. The key is a session
// id or a thread.
type Leases interface {
	// Acquire takes the lease of key for ttl and raises its epoch by one. It fails with
	// [ErrHeld] while another lease, even of the same owner, is live, and with
	// [ErrPutOff] before NotBefore.
	Acquire(ctx context.Context, key, owner string, ttl time.Duration) (Lease, error)
	// Heartbeat extends a lease. It fails with [session.ErrFenced] if the lease was taken
	// over: the caller must stop at once.
	Heartbeat(ctx context.Context, l Lease, ttl time.Duration) (Lease, error)
	// Release gives a lease back. A zero backoff means that the work is done: if the
	// thread has undone deliveries, or [Leases.Want] was called meanwhile, the lease is
	// kept, the result is false, and the caller must go on. Any other backoff always
	// releases, and until then blocks the lease and keeps the thread from
	// [Wakes.Waiting]; a backoff in the future counts as a failed attempt.
	Release(ctx context.Context, l Lease, backoff time.Time) (released bool, err error)
	// Want asks the holder of key's lease to check for work before the release. It
	// reports false if the lease has no holder: acquire it then.
	Want(ctx context.Context, key string) (held bool, err error)
	// Lease returns the lease of key, live or not, or [ErrNotFound].
	Lease(ctx context.Context, key string) (Lease, error)
}

// Lease is the right to work on Key until Until. Epoch grows with every acquisition;
// writes are checked against it.
type Lease struct {
	Key   string    `json:"key"`
	Owner string    `json:"owner"` // empty after a release
	Epoch int64     `json:"epoch"`
	Until time.Time `json:"until"`
	// NotBefore is the end of the backoff of a released key. It has no meaning while the
	// lease is held.
	NotBefore time.Time `json:"not_before,omitzero"`
	Attempts  int       `json:"attempts,omitempty"` // failed attempts since the last release without a backoff
	Wanted    bool      `json:"wanted,omitempty"`   // Want was called since the acquisition
}

// Fence returns the fence for writes under the lease.
func (l Lease) Fence() Fence { return Fence{Key: l.Key, Epoch: l.Epoch} }

// Fence names the lease of a write. Key is the session id.
type Fence struct {
	Key   string
	Epoch int64
}

// Sessions keeps one row per session.
type Sessions interface {
	// Create stores a new session, or returns [ErrExists] if its ID is taken. It sets
	// Created, Updated and Version.
	Create(ctx context.Context, s *Session) error
	// Session returns a session by ID, or [ErrNotFound].
	Session(ctx context.Context, id string) (*Session, error)
	// ByThread returns the newest session of a thread, or [ErrNotFound].
	ByThread(ctx context.Context, thread string) (*Session, error)
	// Update replaces the row. With a fence it fails with [session.ErrFenced] if the lease
	// was lost; with the zero fence, if a live lease exists. It fails with [ErrConflict]
	// if Version is not the stored one, and raises it otherwise.
	Update(ctx context.Context, f Fence, s *Session) error
	// List returns sessions, newest first.
	List(ctx context.Context, q Query) ([]*Session, error)
	// Tally counts the sessions that have not ended. It reads no log.
	Tally(ctx context.Context) (Tally, error)
}

// Tally counts the sessions that have not ended.
type Tally struct {
	States map[session.Phase]int // without a state that has none
	Asked  int                   // open requests for an approval; see [Session.Asked]
	Oldest time.Time             // of the oldest one, in whole seconds; zero without any
}

// Count adds a row.
func (t *Tally) Count(s *Session) {
	if s.State.Over() {
		return
	}
	if t.States == nil {
		t.States = map[session.Phase]int{}
	}
	t.States[s.State]++
	if s.State != session.PhaseAwaitingApproval {
		return
	}
	n, at := s.Asked, s.AskedAt
	if at.IsZero() { // the row is older than the field
		n, at = 1, s.Updated
	}
	t.Asked += n
	if at = at.Truncate(time.Second); t.Oldest.IsZero() || at.Before(t.Oldest) {
		t.Oldest = at
	}
}

// Query selects sessions. Empty fields match everything; Limit 0 means 100.
type Query struct {
	Repo, Thread, Requester string
	States                  []session.Phase
	Before                  time.Time // created before, by the clock of then
	Since                   time.Time // written since, to the second, among the newest [MaxSince] that match the rest
	Below                   int64     // with a smaller [Session.Seq]: the next page of a list; 0 means the first one
	Limit                   int

	Pulls    []int    // sessions with one of these pull requests,
	Branches []string // or with one of these branches
}

// MaxSince is the maximum number of sessions that [Query.Since] looks at.
const MaxSince = 1000

// Session is the data of a session besides its log. Epoch, Owner and Until come from its
// lease and are read only.
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
	Status    session.Status `json:"status,omitempty"`  // outcome of the last run
	Pull      int            `json:"pull,omitempty"`    // number of its pull request
	Asked     int            `json:"asked,omitempty"`   // open requests for an approval
	AskedAt   time.Time      `json:"asked_at,omitzero"` // of the oldest of them; zero without any
	Stall     Stall          `json:"stall,omitzero"`    // see there
	Data      []byte         `json:"data,omitempty"`    // opaque JSON of the row's owner
	Seq       int64          `json:"seq,omitempty"`     // increases with each session, whatever the clock says; read only
	Created   time.Time      `json:"created"`
	Updated   time.Time      `json:"updated"`
	Version   int64          `json:"version"`

	Epoch int64     `json:"-"`
	Owner string    `json:"-"`
	Until time.Time `json:"-"`
}

// Stall tells since when a session has been in its state, and why it stands still there. The
// zero value means that nothing is known.
type Stall struct {
	Since time.Time `json:"since,omitzero"` // beginning of the state, or of Why
	Why   string    `json:"why,omitempty"`  // the reason in words, if State does not say it
	Until time.Time `json:"until,omitzero"` // end of GitHub's rate limit; zero without one
}

// Logs keeps the event logs of sessions.
type Logs interface {
	// Log returns the log of session f.Key. Appending needs the fence of a
	// lease that is still held; a log with epoch 0 can only be read.
	Log(f Fence) session.Log
	// Page returns at most limit events of a session with Seq > after, in order. It returns
	// fewer if their data exceeds [PageBytes]; a single event of any size is a page.
	Page(ctx context.Context, id string, after int64, limit int) ([]session.Event, error)
	// Apply makes a change completely or not at all.
	Apply(ctx context.Context, f Fence, c Change) error
	// Heads returns the end of each session's log, ordered by session.
	Heads(ctx context.Context) ([]Head, error)
	// Import stores a complete log for a session without one, or returns [ErrExists]. The
	// events keep their hashes, which are verified.
	Import(ctx context.Context, id string, events []session.Event) error
}

// PageBytes limits the data of the events in one [Logs.Page].
const PageBytes = 1 << 20

// Change is a set of writes in one transaction, all for the fence's session.
type Change struct {
	Events  []*session.Event // appended
	Session *Session         // updated
	Intents []*Intent        // recorded as intended, see [Intents.Intend]
	Done    []string         // deliveries to mark as done; if one is done already, nothing is written
}

// Head is the end of one log.
type Head struct {
	Session string `json:"session"`
	Seq     int64  `json:"seq"`
	Hash    string `json:"hash"`
}

// Intents keeps writes to GitHub from before the first attempt until their success is
// known. An intent of a session needs a fence; one without a session takes the zero
// fence.
type Intents interface {
	// Intend records a write. If the key exists, nothing is stored and *in is set to the
	// stored intent.
	Intend(ctx context.Context, f Fence, in *Intent) error
	// Attempted records an attempt before the request is sent. The write must not be
	// repeated before notBefore. It fails with [ErrConflict] if the intent is done or
	// failed.
	Attempted(ctx context.Context, f Fence, key string, notBefore time.Time) (Intent, error)
	// Done records that the write happened; ref is GitHub's name of the result. Repeating
	// the call with the same ref is no error.
	Done(ctx context.Context, f Fence, key, ref string) error
	// Failed records that the write was given up.
	Failed(ctx context.Context, f Fence, key, reason string) error
	// Open returns the intents of a session that are neither done nor failed, oldest
	// first. The empty id selects intents without a session.
	Open(ctx context.Context, id string) ([]Intent, error)
}

// Effects reads intents, including finished ones.
type Effects interface {
	// Effect returns the intent of a key, or [ErrNotFound].
	Effect(ctx context.Context, key string) (Intent, error)
}

// Intent is one write to GitHub. Payload holds the data for the write.
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

// IntentState is the progress of an intent.
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
	// Swap stores a value if the stored one is old, else fails with [ErrConflict]. A nil
	// old means that there must be none.
	Swap(ctx context.Context, key string, old, value []byte) error
	// Drop deletes a value. A missing one is no error.
	Drop(ctx context.Context, key string) error
	// DropAll deletes every value with a key that begins with prefix, which must not be
	// empty.
	DropAll(ctx context.Context, prefix string) error
}
