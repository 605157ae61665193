// Package threadref is a store in one git ref of the repository, for the Action, which
// has no database: a single ref holds all records of a thread.
//
// Each change is a commit without a parent that is pushed only if the ref has not moved.
// If it has, the change is made again on the new state. Workflow runs therefore never
// overwrite each other, and find the work that others left for them.
//
// The ref holds "state.json.gz" with the records, and for each session
// "<id>.<n>.jsonl.gz" with parts of its log. All parts but the last are final, so an
// append to a long log costs little more than to a short one. The oldest sessions are
// removed, see [maxSessions].
//
//	threadref.go  reading and moving the ref
//	book.go       the content of the ref
//	mend.go       checks of content written by others
//	leases.go     leases
//	intake.go     deliveries and wakes
//	records.go    sessions, intents, values
//	logs.go       logs
//	idle.go       waiting until no work is left
package threadref

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot/store"
)

// Config configures a Store.
type Config struct {
	Repo Repo
	Ref  string           // full name of the ref
	Now  func() time.Time // nil means time.Now
	// Limit is the maximum size of all logs in bytes, 0 means the default.
	Limit int
	// MaxUnpacked is the maximum unpacked size of the ref in bytes, 0 means the default.
	MaxUnpacked int64
	// Away reports whether the holder of a lease is permanently gone, such as a finished
	// workflow run: its lease is then free at once. If nil, leases only expire.
	Away func(ctx context.Context, owner string) (bool, error)
	// Seal and Open encrypt and decrypt the files of the ref; nil leaves them plain.
	Seal, Open func([]byte) ([]byte, error)
}

// Store keeps a thread in a ref. It is safe for concurrent use.
//
// Changes that must precede their effects are in the ref when a method returns: leases,
// deliveries, attempts, and all events except [soft] ones. Other changes follow within
// [maxBehind]; a crash before that means that their work is repeated in the same
// order.
type Store struct {
	Config

	me     string // identifies the writes of this store
	mu     sync.Mutex
	at     string // commit on which now is based
	now    *book
	wrote  int64
	behind bool // now has changes that the ref lacks
	nudges chan store.Waiting
	due    map[string]time.Time   // time of the next check, by thread
	asked  map[string]holderState // by owner of leases
	late   *time.Timer
	failed error // error of a background write
}

// maxBehind is the maximum delay before changes are in the ref.
const maxBehind = 5 * time.Second

// maxTries is the maximum number of retries of a change after the ref moved.
const maxTries = 50

// New returns a store. It reads the ref on first use.
func New(c Config) *Store {
	if c.Now == nil {
		c.Now = time.Now
	}
	return &Store{
		Config: c,
		me:     session.NewID(),
		nudges: make(chan store.Waiting, 64),
		due:    map[string]time.Time{},
		asked:  map[string]holderState{},
	}
}

// Store returns the store of all kinds of records.
func (s *Store) Store() store.Store {
	return store.Store{
		Deliveries: deliveries{s},
		Wakes:      wakes{s},
		Leases:     leases{s},
		Sessions:   sessions{s},
		Logs:       logs{s},
		Intents:    intents{s},
		Effects:    intents{s},
		Meta:       meta{s},
	}
}

// Use switches the store to the ref of another thread. The previous one must have no
// pending changes.
func (s *Store) Use(ref string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if ref != s.Ref {
		s.Ref, s.at, s.now = ref, "", nil
	}
}

func (s *Store) stamp() time.Time { return s.Now().UTC().Truncate(time.Microsecond) }

// Refresh reads the ref again, after it writes pending changes.
func (s *Store) Refresh(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.behind {
		if err := s.flush(ctx); err != nil {
			return err
		}
	}
	return s.load(ctx)
}

// Flush writes pending changes to the ref.
func (s *Store) Flush(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.flush(ctx)
}

// load reads the ref, unless it has not moved.
func (s *Store) load(ctx context.Context) error {
	files, commit, err := s.Repo.ReadRef(ctx, s.Ref)
	if err != nil {
		return fmt.Errorf("read %s: %w", s.Ref, err)
	}
	if s.now != nil && commit == s.at {
		return nil
	}
	b, err := decode(files, s.unpacker())
	if err != nil {
		return fmt.Errorf("read %s at %s: %w", s.Ref, commit, err)
	}
	s.at, s.now, s.behind = commit, b, false
	return nil
}

func (s *Store) unpacker() unpacker { return unpacker{s.Open, cmp.Or(s.MaxUnpacked, maxUnpacked)} }

// read calls fn with the records, which fn must not change.
func (s *Store) read(ctx context.Context, fn func(*book) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.now == nil {
		if err := s.load(ctx); err != nil {
			return err
		}
	}
	return fn(s.now)
}

// depth says when a change must be in the ref.
type depth int

const (
	soon depth = iota // within maxBehind
	sure              // before the method returns
)

// change lets fn modify the records. If the ref moved, fn is called again with other
// records, so it must have no other effects.
func (s *Store) change(ctx context.Context, d depth, fn func(*book) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := cmp.Or(ctx.Err(), s.failed); err != nil {
		return err
	}
	if s.now == nil {
		if err := s.load(ctx); err != nil {
			return err
		}
	}
	// Pending changes are written before a sure one: if that is retried, it then starts
	// from the state of the ref.
	if d == sure && s.behind {
		if err := s.flush(ctx); err != nil {
			return err
		}
	}
	for try := 0; ; try++ {
		next := s.now.clone()
		if err := fn(next); err != nil {
			if d == sure && try == 0 && !errors.Is(err, session.ErrFenced) { // a newer state may allow it
				before := s.at
				if e := s.load(ctx); e == nil && s.at != before {
					continue
				}
			}
			return err
		}
		if d == soon {
			s.now, s.behind = next, true
			s.writeLater() //nolint:contextcheck // it is written after the call has ended
			return nil
		}
		err := s.write(ctx, next)
		if !errors.Is(err, ErrMoved) || try == maxTries {
			return err
		}
		if err := s.load(ctx); err != nil {
			return err
		}
	}
}

// write moves the ref to next. If a failure leaves the result unknown, it reads the ref,
// so that no change is made twice.
func (s *Store) write(ctx context.Context, next *book) error {
	next.Writer, next.Change = s.me, s.wrote+1
	next.trim(s.stamp(), cmp.Or(s.Limit, maxBytes))
	files, err := next.encode(s.Seal)
	if err != nil {
		return err
	}
	s.wrote++
	commit, err := s.Repo.WriteRef(ctx, s.Ref, files, s.at)
	if err == nil {
		s.at, s.now, s.behind = commit, next, false
		return nil
	}
	err = fmt.Errorf("write %s: %w", s.Ref, err)
	//control:written-after-all
	if files, commit, e := s.Repo.ReadRef(ctx, s.Ref); e == nil && commit != s.at {
		if b, e := decode(files, s.unpacker()); e == nil && b.Writer == s.me && b.Change == s.wrote {
			s.at, s.now, s.behind = commit, b, false
			return nil
		}
	}
	return err
}

// flush writes pending changes. Other processes may add deliveries and ask for leases;
// those are merged. If one of them took over a lease of this store, the store is fenced.
func (s *Store) flush(ctx context.Context) error {
	if !s.behind {
		return s.failed
	}
	for try := 0; ; try++ {
		err := s.write(ctx, s.now)
		if !errors.Is(err, ErrMoved) || try == maxTries {
			return err
		}
		mine := s.now
		s.now = nil
		if err := s.load(ctx); err != nil {
			s.now = mine
			return err
		}
		joined, err := mine.join(s.now)
		if err != nil {
			s.failed = fmt.Errorf("write %s: %w", s.Ref, err)
			return s.failed
		}
		s.now, s.behind = joined, true
	}
}

// writeLater schedules a write of pending changes.
func (s *Store) writeLater() {
	if s.late != nil {
		return
	}
	s.late = time.AfterFunc(maxBehind, func() { s.catchUp(context.Background()) })
}

func (s *Store) catchUp(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.late = nil
	if err := s.flush(ctx); err != nil && !errors.Is(err, session.ErrFenced) {
		s.writeLater() //nolint:contextcheck // a later write, or the end, has it
	}
}

// nudge sends w to the reader of nudges, unless the channel is full.
func (s *Store) nudge(w store.Waiting) {
	select {
	case s.nudges <- w:
	default:
	}
}
