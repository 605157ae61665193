// Package gitref keeps the log of a session in a git ref of the repository,
// refs/agent/sessions/<id>, for the Action, which has no database. Each write
// is a commit pushed with compare-and-swap, so that two workflow runs cannot
// both write: the second finds the ref moved.
//
// The ref holds one compacted blob with the whole log, "log.jsonl.gz" in the
// form of [store.WriteLog], and "lease.json" with the lease. A snapshot of the
// bot's own, such as the session's row, is kept beside them as "state.json".
package gitref

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"sync"
	"time"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot/store"
)

// Prefix is where the refs of sessions are.
const Prefix = "refs/agent/sessions/"

// The files in a ref.
const (
	logFile   = "log.jsonl.gz"
	leaseFile = "lease.json"
	stateFile = "state.json"
)

// maxLog limits what a compressed log unpacks to.
const maxLog = 1 << 30

// ErrMoved is what [Repo.WriteRef] wraps when the ref is not where the writer
// believes it to be.
var ErrMoved = errors.New("ref has moved")

// Repo is a git repository, with its remote. It is satisfied by package
// gitops through cmd.
type Repo interface {
	// ReadRef returns the files of the commit that ref points to on the
	// remote, and the commit's id. A ref that does not exist gives no files,
	// the empty id and no error.
	ReadRef(ctx context.Context, ref string) (files map[string][]byte, commit string, err error)
	// WriteRef makes a commit of exactly files with the parent old and moves
	// ref to it on the remote, if ref is at old there; the empty old means
	// that ref must not exist. It returns the new commit's id, or an error
	// that wraps [ErrMoved], also when the remote refused because another push
	// was faster ("cannot lock ref").
	WriteRef(ctx context.Context, ref string, files map[string][]byte, old string) (commit string, err error)
}

// Config is what a Store needs.
type Config struct {
	Repo Repo
	// Redact removes secrets from the payload of an event before it is
	// chained and pushed. The writer's event is changed too, so that its hash
	// is that of what is stored. Nil keeps payloads as they are.
	Redact func(t session.Type, data []byte) []byte
	Now    func() time.Time // nil for time.Now
}

// Store keeps sessions in refs. It is safe for concurrent use.
type Store struct {
	Config

	mu    sync.Mutex
	cache map[string]*snapshot // by session, as last seen
}

// snapshot is what a ref holds. It is never changed, only replaced.
type snapshot struct {
	commit string
	lease  store.Lease
	events []session.Event
	state  []byte
}

// New makes a store that reads and writes nothing yet.
func New(c Config) (*Store, error) {
	if c.Repo == nil {
		return nil, errors.New("make session refs: no repository given")
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	return &Store{Config: c, cache: map[string]*snapshot{}}, nil
}

// plain is what a session id is made of. It becomes part of a ref's name.
var plain = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$`)

func refOf(id string) (string, error) {
	if !plain.MatchString(id) {
		return "", fmt.Errorf("%q is not a session id", id)
	}
	return Prefix + id, nil
}

// read fetches a session. One that does not exist is empty.
func (s *Store) read(ctx context.Context, id string) (*snapshot, error) {
	ref, err := refOf(id)
	if err != nil {
		return nil, err
	}
	files, commit, err := s.Repo.ReadRef(ctx, ref)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", ref, err)
	}
	if old := s.cache[id]; old != nil && old.commit == commit {
		return old, nil
	}
	r := &snapshot{commit: commit, lease: store.Lease{Key: id}, state: files[stateFile]}
	if data, ok := files[leaseFile]; ok {
		if err := json.Unmarshal(data, &r.lease); err != nil {
			return nil, fmt.Errorf("read lease in %s: %w", ref, err)
		}
	}
	if data, ok := files[logFile]; ok {
		if r.events, err = unpack(id, data); err != nil {
			return nil, fmt.Errorf("read log in %s: %w", ref, err)
		}
	}
	s.cache[id] = r
	return r, nil
}

// known is read without asking the remote, for the holder of a lease: when
// the ref moved all the same, the push of what follows fails.
func (s *Store) known(ctx context.Context, id string) (*snapshot, error) {
	if r := s.cache[id]; r != nil {
		return r, nil
	}
	return s.read(ctx, id)
}

// write pushes what follows a snapshot. Another writer in between is no reason
// to try again here: it decides anew from what it reads.
func (s *Store) write(ctx context.Context, id string, next snapshot) error {
	ref, err := refOf(id)
	if err != nil {
		return err
	}
	lease, err := json.Marshal(next.lease)
	if err != nil {
		return fmt.Errorf("marshal lease: %w", err)
	}
	files := map[string][]byte{leaseFile: lease}
	if next.state != nil {
		files[stateFile] = next.state
	}
	if len(next.events) > 0 {
		if files[logFile], err = pack(id, next.events); err != nil {
			return err
		}
	}
	commit, err := s.Repo.WriteRef(ctx, ref, files, next.commit)
	if err != nil {
		delete(s.cache, id)
		return fmt.Errorf("write %s: %w", ref, err)
	}
	next.commit = commit
	s.cache[id] = &next
	return nil
}

func pack(id string, events []session.Event) ([]byte, error) {
	var out bytes.Buffer
	zip := gzip.NewWriter(&out)
	if err := errors.Join(store.WriteLog(zip, id, events), zip.Close()); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

func unpack(id string, data []byte) ([]session.Event, error) {
	zip, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	got, events, err := store.ReadLog(io.LimitReader(zip, maxLog))
	if err != nil {
		return nil, err
	}
	if got != id {
		return nil, fmt.Errorf("it is the log of session %q", got)
	}
	return events, nil
}

// Acquire takes the lease of a session for ttl and raises its epoch. It fails
// with [store.ErrHeld] while another is live, or was faster.
func (s *Store) Acquire(ctx context.Context, id, owner string, ttl time.Duration) (store.Lease, error) {
	l, err := s.lease(ctx, s.read, id, func(l *store.Lease) error {
		if l.Owner != "" && l.Until.After(s.Now()) {
			return store.ErrHeld
		}
		l.Owner, l.Epoch, l.Until = owner, l.Epoch+1, s.Now().UTC().Add(ttl)
		return nil
	})
	if errors.Is(err, ErrMoved) {
		err = fmt.Errorf("%w: %w", store.ErrHeld, err)
	}
	if err != nil {
		return store.Lease{}, fmt.Errorf("acquire lease of session %s: %w", id, err)
	}
	return l, nil
}

// Release gives a lease back, or fails with [session.ErrFenced]. Leases are
// not extended, since that costs a push: take one for as long as a workflow
// may run.
func (s *Store) Release(ctx context.Context, held store.Lease) error {
	_, err := s.lease(ctx, s.known, held.Key, func(l *store.Lease) error {
		if !holds(*l, held.Fence()) {
			return session.ErrFenced
		}
		l.Owner = ""
		return nil
	})
	if err != nil {
		return fmt.Errorf("release lease of session %s: %w", held.Key, fenced(err))
	}
	return nil
}

type reader func(ctx context.Context, id string) (*snapshot, error)

func (s *Store) lease(ctx context.Context, read reader, id string, fn func(*store.Lease) error) (store.Lease, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, err := read(ctx, id)
	if err != nil {
		return store.Lease{}, err
	}
	next := *r
	if err := fn(&next.lease); err != nil {
		return store.Lease{}, err
	}
	return next.lease, s.write(ctx, id, next)
}

// holds reports whether a fence is that of the lease.
func holds(l store.Lease, f store.Fence) bool {
	return f.Epoch != 0 && l.Epoch == f.Epoch && l.Owner != "" && l.Key == f.Key
}

// fenced tells a ref that moved under a holder's hands as what it is: another
// worker writes.
func fenced(err error) error {
	if errors.Is(err, ErrMoved) {
		return fmt.Errorf("%w: %w", session.ErrFenced, err)
	}
	return err
}

// Log returns the log of session f.Key. A log with epoch 0 can only be read.
func (s *Store) Log(f store.Fence) session.Log { return &log{s, f} }

type log struct {
	store *Store
	fence store.Fence
}

// Append implements [session.Log]. It pushes before it returns.
func (l *log) Append(ctx context.Context, events ...*session.Event) error {
	return l.store.Save(ctx, l.fence, nil, events...)
}

// Events implements [session.Log].
func (l *log) Events(ctx context.Context, after int64) ([]session.Event, error) {
	l.store.mu.Lock()
	defer l.store.mu.Unlock()
	r, err := l.store.read(ctx, l.fence.Key)
	if err != nil {
		return nil, err
	}
	if after >= int64(len(r.events)) {
		return nil, nil
	}
	return append([]session.Event(nil), r.events[max(after, 0):]...), nil
}

// Save appends events and, unless it is nil, replaces the state, in one push.
func (s *Store) Save(ctx context.Context, f store.Fence, state []byte, events ...*session.Event) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, err := s.known(ctx, f.Key)
	if err != nil {
		return err
	}
	if !holds(r.lease, f) {
		return fmt.Errorf("write to session %s: %w", f.Key, session.ErrFenced)
	}
	if len(events) == 0 && state == nil {
		return nil
	}
	chained := make([]*session.Event, len(events))
	for i, e := range events {
		copied := *e
		if s.Redact != nil {
			copied.Data = s.Redact(e.Type, e.Data)
		}
		chained[i] = &copied
	}
	next := *r
	prev := ""
	if n := len(r.events); n > 0 {
		prev = r.events[n-1].Hash
	}
	session.Chain(int64(len(r.events)), prev, chained)
	next.events = append([]session.Event(nil), r.events...)
	for _, e := range chained {
		next.events = append(next.events, *e)
	}
	if state != nil {
		next.state = state
	}
	if err := s.write(ctx, f.Key, next); err != nil {
		return fmt.Errorf("write to session %s: %w", f.Key, fenced(err))
	}
	for i, e := range chained {
		*events[i] = *e
	}
	return nil
}

// State returns what the bot keeps of a session, or [store.ErrNotFound].
func (s *Store) State(ctx context.Context, id string) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, err := s.read(ctx, id)
	if err == nil && r.state == nil {
		err = store.ErrNotFound
	}
	if err != nil {
		return nil, fmt.Errorf("read state of session %s: %w", id, err)
	}
	return r.state, nil
}

// Import stores an exported log under a ref that has none yet, else fails
// with [store.ErrExists]. Nothing is redacted: the log keeps its hashes.
func (s *Store) Import(ctx context.Context, r io.Reader) (string, error) {
	id, events, err := store.ReadLog(r)
	if err != nil {
		return id, fmt.Errorf("import session: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	old, err := s.read(ctx, id)
	if err != nil {
		return id, err
	}
	if len(old.events) > 0 {
		return id, fmt.Errorf("import session %s: %w", id, store.ErrExists)
	}
	next := *old
	next.events = events
	return id, s.write(ctx, id, next)
}
