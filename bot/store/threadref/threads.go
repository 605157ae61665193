package threadref

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot/store"
	"github.com/handrail-bot/handrail/policy/secret"
)

// threadRefs begins the names of refs with a whole thread, after [Prefix].
const threadRefs = "thread-"

// Seal encrypts a thread's ref with a key derived from a secret. An empty secret leaves
// it plain.
func Seal(s *Store, from secret.Value) error {
	key, err := secret.DeriveKey(from, "state of threads")
	if err == nil && from != "" { //control:state-is-sealed
		s.Seal = func(data []byte) ([]byte, error) { return key.Seal(data, s.Ref) }
		s.Open = func(data []byte) ([]byte, error) { return key.Open(data, s.Ref) }
	}
	return err
}

// Stored is a session in a repository, or an unreadable ref.
type Stored struct {
	Row store.Session // as far as known
	Err error         // why the ref cannot be read

	ref string // without [Prefix]
}

// Name returns the session part of an address, as [Prefix] describes it.
func (s Stored) Name() string {
	if s.Row.ID == "" || s.Row.ID == s.ref {
		return s.ref
	}
	return s.ref + "/" + s.Row.ID
}

// Sessions lists the sessions of the repository, or only those that the address selects.
func (r *Repository) Sessions(ctx context.Context) (out []Stored, err error) {
	all, err := r.repo.RemoteRefs(ctx, Prefix)
	if err != nil {
		return nil, err
	}
	for _, ref := range slices.Sorted(maps.Keys(all)) {
		ref = strings.TrimPrefix(ref, Prefix)
		found, err := r.stored(ctx, ref)
		if errors.Is(err, context.Canceled) {
			return nil, err
		}
		if err != nil {
			found = []Stored{{Err: err, ref: ref}}
		}
		for _, s := range found {
			if in, id, both := strings.Cut(r.session, "/"); r.session == "" || s.ref == in && (!both || s.Row.ID == id) ||
				s.Row.ID == r.session {
				out = append(out, s)
			}
		}
	}
	switch {
	case len(all) == 0:
		return nil, misuse(
			"%s holds no sessions: there is nothing below %s%s",
			r.address,
			Prefix,
			map[bool]string{true: ". `git fetch origin '+refs/agent/*:refs/agent/*'` fetches them into a clone"}[!strings.Contains(r.address, "://")],
		)
	case len(out) == 0 && r.session != "":
		return nil, misuse("%s holds no session %s", r.address, r.session)
	}
	return out, nil
}

// stored returns the sessions of a ref, newest first.
func (r *Repository) stored(ctx context.Context, ref string) (out []Stored, err error) {
	if !strings.HasPrefix(ref, threadRefs) {
		events, err := Log(ctx, r, ref)
		if err != nil || len(events) == 0 {
			return nil, cmp.Or(err, errors.New("it has no log"))
		}
		v, err := session.Fold(events)
		if err != nil {
			return nil, err
		}
		return []Stored{
			{ref: ref, Row: store.Session{ID: ref, Thread: v.Task.Thread, State: v.Phase, Created: events[0].Time}},
		}, nil
	}
	kept, err := r.thread(ctx, ref)
	if err != nil {
		return nil, err
	}
	list, err := kept.Sessions.List(ctx, store.Query{})
	for _, row := range list {
		out = append(out, Stored{ref: ref, Row: *row})
	}
	return out, err
}

// thread opens the ref of a thread.
func (r *Repository) thread(ctx context.Context, ref string) (store.Store, error) {
	s := New(Config{Repo: r, Ref: Prefix + ref})
	_, err := s.Store().Logs.Heads(ctx)
	if !errors.Is(err, errSealed) {
		return s.Store(), err
	}
	if r.key == "" {
		return store.Store{}, errors.New("sealed: it was written with a state-key, and HANDRAIL_STATE_KEY has none")
	}
	if err = Seal(s, r.key); err == nil {
		_, err = s.Store().Logs.Heads(ctx)
	}
	if errors.Is(err, secret.ErrSealed) {
		err = errors.New("sealed: HANDRAIL_STATE_KEY is another key than the one of its writer, or it was changed")
	}
	return s.Store(), err
}

// Read reads the log of the one session that the address selects: by its id, by both ref
// and id as in thread-12/ID, or by the ref thread-12, which selects its newest session.
func (r *Repository) Read(ctx context.Context) (id string, events []session.Event, err error) {
	if ref, id, _ := strings.Cut(r.session, "/"); strings.HasPrefix(ref, threadRefs) {
		return r.inThread(ctx, ref, id)
	}
	if r.session != "" {
		if events, err = Log(ctx, r, r.session); err != nil || len(events) > 0 {
			return r.session, events, err
		}
	}
	found, err := r.Sessions(ctx)
	if err != nil {
		return "", nil, err
	}
	if len(found) > 1 {
		return "", nil, misuse("%s holds %d sessions: say which, as %s#%s", r.address, len(found), r.address, found[0].Name())
	}
	ref, id, both := strings.Cut(found[0].Name(), "/")
	if both || strings.HasPrefix(ref, threadRefs) {
		return r.inThread(ctx, ref, id)
	}
	events, err = Log(ctx, r, ref)
	return ref, events, err
}

// inThread reads the log of a session in a thread's ref. An empty id selects the newest.
func (r *Repository) inThread(ctx context.Context, ref, id string) (string, []session.Event, error) {
	kept, err := r.thread(ctx, ref)
	if err != nil {
		return "", nil, fmt.Errorf("%s: %w", Prefix+ref, err)
	}
	if id == "" {
		list, err := kept.Sessions.List(ctx, store.Query{Limit: 1})
		if err != nil {
			return "", nil, err
		}
		if len(list) == 0 {
			return "", nil, misuse("%s holds no session in %s", r.address, Prefix+ref)
		}
		id = list[0].ID
	}
	events, err := kept.Logs.Log(store.Fence{Key: id}).Events(ctx, 0)
	if err == nil && len(events) == 0 {
		err = misuse("%s holds no session %s in %s", r.address, id, Prefix+ref)
	}
	return id, events, err
}
