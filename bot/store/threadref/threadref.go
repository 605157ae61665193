// Package threadref is a store in one git ref of the repository, for the Action, which
// has no database: all that the bot keeps of one thread is in one ref.
//
// Each change is a commit without a parent that is pushed only if the ref has not moved. Where it has,
// the change is made anew on what is there, so that two workflow runs never overwrite
// each other, and what one of them leaves for the other is found.
//
// The ref holds "state.json.gz" with the records, and for each session
// "<id>.<n>.jsonl.gz" with parts of its log: all but the last are never written
// again, so that a long log costs no more to add to than a short one. Of sessions that
// are over the oldest are forgotten, see [mostSessions].
//
//	threadref.go  reading and moving the ref
//	book.go       what is in it
//	mend.go       what it may be, where somebody else wrote it
//	leases.go     who works
//	intake.go     deliveries and wakes
//	records.go    sessions, intents, values
//	logs.go       logs
//	idle.go       waiting until nothing is left to do
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
	"github.com/handrail-bot/handrail/bot/store/gitref"
)

// Config is what a Store needs.
type Config struct {
	Repo gitref.Repo
	Ref  string           // its name, below refs/
	Now  func() time.Time // nil for time.Now
	// Limit is how many bytes logs of sessions that are over may have, 0 for what is usual.
	Limit int
	// Most is how many bytes the ref may unpack to, 0 for what is usual.
	Most int64
	// Away reports whether the holder of a lease is gone for good, such as a workflow
	// run that has ended: its lease is free at once. Nil waits for the end of leases.
	Away func(ctx context.Context, owner string) (bool, error)
	// Seal and Open encrypt and decrypt the files of the ref; nil leaves them plain.
	Seal, Open func([]byte) ([]byte, error)
}

// Store keeps a thread in a ref. It is safe for concurrent use.
//
// What must be known before the world is changed is in the ref when a method returns:
// leases, deliveries, attempts, and events but for those of [soft]. All else may be
// behind by [longestBehind]; what is lost by a crash is then done again, in the same
// order.
type Store struct {
	Config

	me     string // tells what this store wrote
	mu     sync.Mutex
	at     string // commit that now is made of
	now    *book
	wrote  int64
	behind bool // now has what the ref has not
	nudges chan store.Waiting
	due    map[string]time.Time // threads to be looked at, and when
	asked  map[string]look      // by owner of leases
	late   *time.Timer
	failed error // of a write that nobody waited for
}

// longestBehind is how long the ref may be behind.
const longestBehind = 5 * time.Second

// mostTries is how often a change is made anew because the ref moved.
const mostTries = 50

// New returns a store. Nothing is read before it is used.
func New(c Config) *Store {
	if c.Now == nil {
		c.Now = time.Now
	}
	return &Store{Config: c, me: session.NewID(), nudges: make(chan store.Waiting, 64), due: map[string]time.Time{}, asked: map[string]look{}}
}

// Store returns the kinds of records.
func (s *Store) Store() store.Store {
	return store.Store{
		Deliveries: deliveries{s}, Wakes: wakes{s}, Leases: leases{s}, Sessions: sessions{s}, Logs: logs{s}, Intents: intents{s}, Effects: intents{s}, Meta: meta{s},
	}
}

// Use has the store keep another thread, in another ref. Nothing of the one before is
// left to be written.
func (s *Store) Use(ref string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if ref != s.Ref {
		s.Ref, s.at, s.now = ref, "", nil
	}
}

func (s *Store) stamp() time.Time { return s.Now().UTC().Truncate(time.Microsecond) }

// Refresh reads the ref again. What this store was behind with is written first.
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

// Flush writes what the ref is behind with.
func (s *Store) Flush(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.flush(ctx)
}

// load reads the ref.
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

func (s *Store) unpacker() unpacker { return unpacker{s.Open, cmp.Or(s.Most, most)} }

// read lets fn look at the records.
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

// depth is how soon a change is in the ref.
type depth int

const (
	soon depth = iota // within longestBehind
	sure              // before the method returns
)

// change lets fn change the records. It is called again with other records when the
// ref moved, and must leave nothing of the first call behind.
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
	// What is only local is written before something is changed for sure: a change
	// that is made anew then begins with what the ref has.
	if d == sure && s.behind {
		if err := s.flush(ctx); err != nil {
			return err
		}
	}
	for try := 0; ; try++ {
		next := s.now.clone()
		if err := fn(next); err != nil {
			if d == sure && try == 0 && !errors.Is(err, session.ErrFenced) { // it may be so no more
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
		if !errors.Is(err, gitref.ErrMoved) || try == mostTries {
			return err
		}
		if err := s.load(ctx); err != nil {
			return err
		}
	}
}

// write moves the ref to next. Where it is not known whether it did, the ref says so:
// a change is never made twice.
func (s *Store) write(ctx context.Context, next *book) error {
	next.Writer, next.Change = s.me, s.wrote+1
	next.trim(s.stamp(), cmp.Or(s.Limit, mostBytes))
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

// flush writes what the ref is behind with. Others add deliveries only, and ask for
// leases: these are taken over. Whoever took a lease that this store writes under has
// fenced it.
func (s *Store) flush(ctx context.Context) error {
	if !s.behind {
		return s.failed
	}
	for try := 0; ; try++ {
		err := s.write(ctx, s.now)
		if !errors.Is(err, gitref.ErrMoved) || try == mostTries {
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

// writeLater has the ref catch up.
func (s *Store) writeLater() {
	if s.late != nil {
		return
	}
	s.late = time.AfterFunc(longestBehind, func() { s.catchUp(context.Background()) })
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

// nudge tells the reader of nudges, if it listens.
func (s *Store) nudge(w store.Waiting) {
	select {
	case s.nudges <- w:
	default:
	}
}
