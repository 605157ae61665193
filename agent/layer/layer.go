// Package layer stores the results of set-ups, the layers: directories named by a hash of
// all their inputs. Workspaces of sessions use them as a read-only base.
//
// Several processes may share one directory. A layer gets its name when it is complete,
// and is made only once even if several processes want it. Locks end with their process.
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

// Config configures the location and the retention of layers.
type Config struct {
	Dir      string
	MaxBytes int64         // of all layers; 0 means 20 GiB
	MaxAge   time.Duration // since the last use; 0 means 14 days
}

// Store holds layers. It is safe for concurrent use, also by several processes.
type Store struct{ cfg Config }

// version is the version of the directory layout.
const version = "v1"

// Open opens the store in a directory, which is created if necessary.
func Open(cfg Config) (*Store, error) {
	cfg.MaxBytes, cfg.MaxAge = cmp.Or(cfg.MaxBytes, 20<<30), cmp.Or(cfg.MaxAge, 14*24*time.Hour)
	uid, _ := workspace.Owner()
	cfg.Dir = filepath.Join(cfg.Dir, fmt.Sprintf("%s-%d", version, uid)) // layers of other users are not shared
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

// Take returns the directory of a layer, or "" if it does not exist. The layer is kept
// until drop is called.
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
	if _, err := os.Stat(s.at("layers", key)); err != nil { // removed in the meantime
		return "", func() {}, errors.Join(flock.Release(lock), ignore(err, fs.ErrNotExist))
	}
	_ = os.Chtimes(lock.Name(), time.Time{}, time.Now()) // time of the last use
	return s.at("layers", key), func() {
		_ = flock.Release(lock)
		s.sweepNowAndThen()
	}, nil
}

// Begin makes a layer in a new directory that contains only caches: those called names in
// the newest layer of the same family, as recorded in its file "family". It returns "" if
// there are none, or if they have more than most bytes.
func (s *Store) Begin(ctx context.Context, dir, family string, names []string, most int64) (begun string, err error) {
	older, drop, err := s.newest(ctx, family)
	if err != nil || older == "" {
		return "", err
	}
	defer drop()
	return Begin(ctx, dir, Want{Older: filepath.Join(older, workspace.LayerCache), Names: names, SizeLimit: most})
}

// End completes the caches that a workspace on a layer made by [Store.Begin] left in its
// state directory, and returns their location. Both are below dir.
func (*Store) End(dir, begun, state string) (caches string, err error) {
	return End(dir, begun, state)
}

// newest is [Store.Take] for the newest layer of a family.
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

// Make calls fill to make a layer in an empty directory, unless the layer exists.
// Concurrent callers wait for it. If fill fails, its files are removed.
func (s *Store) Make(ctx context.Context, key string, fill func(dir string) error) (err error) {
	if !isKey().MatchString(key) {
		return fmt.Errorf("make layer %q: %w", key, fs.ErrInvalid)
	}
	lock, err := flock.Wait(ctx, s.at("locks", key+".build"), true) //control:layer-built-once
	if err != nil {
		return fmt.Errorf("make layer: %w", err)
	}
	defer func() { err = errors.Join(err, flock.Release(lock)) }()
	if _, err := os.Stat(s.at("layers", key)); err == nil { // made in the meantime
		return nil
	}
	dir := s.at("making", key)
	if err := errors.Join(workspace.RemoveTree(dir), os.Mkdir(dir, 0o755)); err != nil { // remains of a process that died
		return fmt.Errorf("make layer: %w", err)
	}
	if err := fill(dir); err != nil {
		return errors.Join(err, workspace.RemoveTree(dir))
	}
	for _, name := range []string{workspace.LayerTree, workspace.LayerCache} {
		if info, err := os.Lstat(filepath.Join(dir, name)); err != nil || !info.IsDir() {
			return errors.Join(
				fmt.Errorf("make layer: it has no %s: %w", name, cmp.Or(err, fs.ErrInvalid)),
				workspace.RemoveTree(dir),
			)
		}
	}
	if err := os.Rename(dir, s.at("layers", key)); err != nil {
		return errors.Join(fmt.Errorf("make layer: %w", err), workspace.RemoveTree(dir))
	}
	return nil
}

// clear removes the unfinished layers of processes that died.
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

// sweepEvery is the minimum time between two sweeps of a store.
const sweepEvery = time.Hour

func (s *Store) sweepNowAndThen() {
	if info, err := os.Stat(s.at("swept")); err == nil && time.Since(info.ModTime()) < sweepEvery {
		return
	}
	_ = s.sweep(s.cfg.MaxAge) // remaining layers are removed by the next sweep
}

// RemoveUnused removes the layers that were unused for the given time or for MaxAge,
// whichever is shorter.
func (s *Store) RemoveUnused(unused time.Duration) error {
	if err := s.sweep(min(unused, s.cfg.MaxAge)); err != nil {
		return fmt.Errorf("remove unused layers: %w", err)
	}
	return nil
}

// sweptLayer is a layer during a sweep. Its bytes exclude files shared with layers used more
// recently.
type sweptLayer struct {
	key   string
	used  time.Time
	bytes int64
}

// sweep removes the layers that were unused for longer than age and, while the store is
// too large, the least recently used one. Layers in use are kept.
func (s *Store) sweep(age time.Duration) error {
	lock, ok, err := flock.Now(s.at("locks", "sweep"), true)
	if !ok {
		return err // another sweep is running
	}
	defer func() { _ = flock.Release(lock) }()
	list, err := os.ReadDir(s.at("layers"))
	if err = errors.Join(err, s.clear(), os.WriteFile(s.at("swept"), nil, 0o644)); err != nil {
		return err
	}
	var all []sweptLayer
	var total int64
	for _, e := range list {
		l := sweptLayer{key: e.Name()}
		if info, err := os.Stat(s.at("locks", l.key)); err == nil {
			l.used = info.ModTime()
		} else if info, err := e.Info(); err == nil {
			l.used = info.ModTime()
		}
		all = append(all, l)
	}
	slices.SortFunc(all, func(a, b sweptLayer) int { return a.used.Compare(b.used) })
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

// evict removes a layer unless it is in use.
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
	gone := s.at("making", key) // the layer disappears atomically
	if err := errors.Join(workspace.RemoveTree(gone), os.Rename(s.at("layers", key), gone)); err != nil {
		return false, err
	}
	return true, errors.Join(
		workspace.RemoveTree(gone),
		os.Remove(s.at("locks", key)),
		os.Remove(s.at("locks", key+".build")),
	)
}

// size returns the disk usage of a directory without the files in seen, because caches
// are shared. It adds its files to seen.
func size(dir string, seen map[uint64]bool) (total int64) {
	_ = filepath.WalkDir(dir, func(name string, _ fs.DirEntry, err error) error {
		var st syscall.Stat_t
		if err == nil && syscall.Lstat(name, &st) == nil && (st.Nlink < 2 || !seen[st.Ino]) {
			seen[st.Ino] = true
			total += st.Blocks * 512
		}
		return nil // unreadable files are not counted
	})
	return total
}
