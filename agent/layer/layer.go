// Package layer keeps what set-ups made: directories by the hash of all that they hang
// on, which workspaces of sessions lie on. Nothing that runs in one can write there.
//
// Several processes may use one directory. A layer gets its name when it is whole, and is
// made once, whoever wants it at the same time. Locks end with the process that has them.
package layer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/handrail-bot/handrail/agent/workspace"
	"github.com/handrail-bot/handrail/gitops/flock"
	"github.com/handrail-bot/handrail/policy/pattern"
)

// Config says where layers are kept, and how long.
type Config struct {
	Dir      string
	MaxBytes int64         // of all layers; 0 for 20 GiB
	MaxAge   time.Duration // since the last use; 0 for 14 days
}

// Store has the layers. It is safe for concurrent use, also by several processes.
type Store struct{ cfg Config }

// version is that of the layout.
const version = "v1"

// Open opens the store at a directory, which is made where it is missing.
func Open(cfg Config) (*Store, error) {
	cfg.MaxBytes, cfg.MaxAge = cmp.Or(cfg.MaxBytes, 20<<30), cmp.Or(cfg.MaxAge, 14*24*time.Hour)
	uid, _ := workspace.Owner()
	cfg.Dir = filepath.Join(cfg.Dir, fmt.Sprintf("%s-%d", version, uid)) // another user's files are no layer of ours
	s := &Store{cfg}
	for _, dir := range []string{"layers", "locks", "making"} {
		if err := os.MkdirAll(s.at(dir), 0o755); err != nil {
			return nil, fmt.Errorf("open layers: %w", err)
		}
	}
	if err := s.clear(); err != nil {
		return nil, fmt.Errorf("open layers: %w", err)
	}
	return s, nil
}

func (s *Store) at(parts ...string) string {
	return filepath.Join(append([]string{s.cfg.Dir}, parts...)...)
}

var isKey = pattern.Lazy(`^[0-9a-f]{64}$`)

// Take returns the directory of a layer, "" where there is none. It stays as long as drop
// was not called.
func (s *Store) Take(ctx context.Context, key string) (dir string, drop func(), err error) {
	if !isKey().MatchString(key) {
		return "", nil, fmt.Errorf("take layer %q: %w", key, fs.ErrInvalid)
	}
	if _, err := os.Stat(s.at("layers", key)); errors.Is(err, fs.ErrNotExist) {
		return "", func() {}, nil
	}
	lock, err := flock.Wait(ctx, s.at("locks", key), false)
	if err != nil {
		return "", nil, fmt.Errorf("take layer: %w", err)
	}
	if _, err := os.Stat(s.at("layers", key)); err != nil { // it went meanwhile
		return "", func() {}, errors.Join(flock.Release(lock), ignore(err, fs.ErrNotExist))
	}
	_ = os.Chtimes(lock.Name(), time.Time{}, time.Now()) // when it was used
	return s.at("layers", key), func() {
		_ = flock.Release(lock)
		s.sweepNowAndThen()
	}, nil
}

// Begin makes a layer in a new directory that has nothing but caches: those called names of
// the layer that was made last of those whose file "family" says the same. It returns ""
// where there are none, or more than most bytes of them.
func (s *Store) Begin(ctx context.Context, dir, family string, names []string, most int64) (begun string, err error) {
	older, drop, err := s.newest(ctx, family)
	if err != nil || older == "" {
		return "", err
	}
	defer drop()
	return Begin(ctx, dir, Want{Older: filepath.Join(older, workspace.LayerCache), Names: names, Most: most})
}

// End makes whole what a workspace on a layer that [Store.Begin] made left of the caches in
// its state directory, and returns where they are. Both are below dir.
func (*Store) End(dir, begun, state string) (caches string, err error) {
	return End(dir, begun, state)
}

// newest is [Store.Take] of the layer that was made last of a family.
func (s *Store) newest(ctx context.Context, family string) (dir string, drop func(), err error) {
	list, err := os.ReadDir(s.at("layers"))
	if err != nil {
		return "", nil, fmt.Errorf("look for a layer: %w", err)
	}
	var last time.Time
	best := ""
	for _, e := range list {
		said, err := os.ReadFile(s.at("layers", e.Name(), "family"))
		if err != nil || string(said) != family { //control:caches-of-the-family
			continue
		}
		if info, err := os.Stat(s.at("layers", e.Name(), "family")); err == nil && info.ModTime().After(last) {
			best, last = e.Name(), info.ModTime()
		}
	}
	if best == "" {
		return "", func() {}, nil
	}
	return s.Take(ctx, best)
}

func ignore(err, target error) error {
	if errors.Is(err, target) {
		return nil
	}
	return err
}

// Make has fill make a layer in an empty directory, unless it is there. Who wants the
// same at the same time waits, and finds it. Nothing stays of one that fails.
func (s *Store) Make(ctx context.Context, key string, fill func(dir string) error) (err error) {
	if !isKey().MatchString(key) {
		return fmt.Errorf("make layer %q: %w", key, fs.ErrInvalid)
	}
	lock, err := flock.Wait(ctx, s.at("locks", key+".build"), true) //control:layer-built-once
	if err != nil {
		return fmt.Errorf("make layer: %w", err)
	}
	defer func() { err = errors.Join(err, flock.Release(lock)) }()
	if _, err := os.Stat(s.at("layers", key)); err == nil { // another was faster
		return nil
	}
	dir := s.at("making", key)
	if err := errors.Join(workspace.RemoveTree(dir), os.Mkdir(dir, 0o755)); err != nil { // what one that died left
		return fmt.Errorf("make layer: %w", err)
	}
	if err := fill(dir); err != nil {
		return errors.Join(err, workspace.RemoveTree(dir))
	}
	for _, name := range []string{workspace.LayerTree, workspace.LayerCache} {
		if info, err := os.Lstat(filepath.Join(dir, name)); err != nil || !info.IsDir() {
			return errors.Join(fmt.Errorf("make layer: it has no %s: %w", name, cmp.Or(err, fs.ErrInvalid)), workspace.RemoveTree(dir))
		}
	}
	if err := os.Rename(dir, s.at("layers", key)); err != nil {
		return errors.Join(fmt.Errorf("make layer: %w", err), workspace.RemoveTree(dir))
	}
	return nil
}

// clear removes what processes that died were making.
func (s *Store) clear() error {
	list, err := os.ReadDir(s.at("making"))
	for _, e := range list {
		lock, ok, lockErr := flock.Now(s.at("locks", e.Name()+".build"), true)
		if err = errors.Join(err, lockErr); ok {
			err = errors.Join(err, workspace.RemoveTree(s.at("making", e.Name())), flock.Release(lock))
		}
	}
	return err
}

// sweepEvery is how often a store is looked through.
const sweepEvery = time.Hour

func (s *Store) sweepNowAndThen() {
	if info, err := os.Stat(s.at("swept")); err == nil && time.Since(info.ModTime()) < sweepEvery {
		return
	}
	_ = s.sweep(s.cfg.MaxAge) // what stays is seen the next time
}

// RemoveUnused removes at once the layers that nobody has used for a time, or for as long as
// they stay in any case.
func (s *Store) RemoveUnused(unused time.Duration) error {
	if err := s.sweep(min(unused, s.cfg.MaxAge)); err != nil {
		return fmt.Errorf("remove unused layers: %w", err)
	}
	return nil
}

// one is a layer as the sweep sees it. Its bytes are those that no layer has that was used
// later.
type one struct {
	key   string
	used  time.Time
	bytes int64
}

// sweep removes the layers that nobody has used for an age and, while there is too much,
// the one that nobody has used for the longest. One that is in use stays.
func (s *Store) sweep(age time.Duration) error {
	lock, ok, err := flock.Now(s.at("locks", "sweep"), true)
	if !ok {
		return err // another does it
	}
	defer func() { _ = flock.Release(lock) }()
	list, err := os.ReadDir(s.at("layers"))
	if err = errors.Join(err, s.clear(), os.WriteFile(s.at("swept"), nil, 0o644)); err != nil {
		return err
	}
	var all []one
	var total int64
	for _, e := range list {
		l := one{key: e.Name()}
		if info, err := os.Stat(s.at("locks", l.key)); err == nil {
			l.used = info.ModTime()
		} else if info, err := e.Info(); err == nil {
			l.used = info.ModTime()
		}
		all = append(all, l)
	}
	slices.SortFunc(all, func(a, b one) int { return a.used.Compare(b.used) })
	seen := map[uint64]bool{}
	for i := range slices.Backward(all) {
		all[i].bytes = size(s.at("layers", all[i].key), seen)
		total += all[i].bytes
	}
	for _, l := range all {
		if total <= s.cfg.MaxBytes && time.Since(l.used) <= age {
			continue
		}
		gone, err := s.evict(l.key)
		if err != nil {
			return err
		}
		if gone {
			total -= l.bytes
		}
	}
	return nil
}

// evict removes a layer unless somebody uses it.
func (s *Store) evict(key string) (bool, error) {
	building, ok, err := flock.Now(s.at("locks", key+".build"), true)
	if !ok {
		return false, err
	}
	defer func() { _ = flock.Release(building) }()
	lock, ok, err := flock.Now(s.at("locks", key), true)
	if !ok { //control:layer-in-use
		return false, err
	}
	defer func() { _ = flock.Release(lock) }()
	gone := s.at("making", key) // so that nobody finds half of it
	if err := errors.Join(workspace.RemoveTree(gone), os.Rename(s.at("layers", key), gone)); err != nil {
		return false, err
	}
	return true, errors.Join(workspace.RemoveTree(gone), os.Remove(s.at("locks", key)), os.Remove(s.at("locks", key+".build")))
}

// size returns what a directory takes, without the files that were seen before: caches are
// shared.
func size(dir string, seen map[uint64]bool) (total int64) {
	_ = filepath.WalkDir(dir, func(name string, _ fs.DirEntry, err error) error {
		var st syscall.Stat_t
		if err == nil && syscall.Lstat(name, &st) == nil && (st.Nlink < 2 || !seen[st.Ino]) {
			seen[st.Ino] = true
			total += st.Blocks * 512
		}
		return nil // what cannot be read is not counted
	})
	return total
}
