package base

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/handrail-bot/handrail/gitops/flock"
)

// sweepEvery is the minimum time between sweeps.
const sweepEvery = time.Hour

func (s *Store) sweepNowAndThen() {
	if info, err := os.Stat(s.at("swept")); err == nil && time.Since(info.ModTime()) < sweepEvery {
		return
	}
	_ = s.sweep(s.cfg.MaxAge) // the next sweep tries again
}

// RemoveUnused removes the bases that were not used for this time, or for MaxAge if that
// is shorter, and the contents that no other base has.
func (s *Store) RemoveUnused(unused time.Duration) error {
	if err := s.sweep(min(unused, s.cfg.MaxAge)); err != nil {
		return fmt.Errorf("remove unused bases: %w", err)
	}
	return nil
}

// clear removes the unfinished directories of dead processes, and their locks.
func (s *Store) clear() error {
	left, err := s.Leftovers(s.at("making"), "making")
	for _, name := range left {
		err = errors.Join(err, os.RemoveAll(name))
	}
	locks, globErr := filepath.Glob(s.at("locks/alive-*"))
	for _, name := range locks {
		lock, ok, lockErr := s.lockNow(filepath.Base(name), true)
		if !ok {
			err = errors.Join(err, lockErr)
			continue
		}
		err = errors.Join(err, os.Remove(name), flock.Release(lock))
	}
	return errors.Join(err, globErr)
}

// sweepEntry is a base in a sweep.
type sweepEntry struct {
	key  string
	used time.Time
}

// sweep removes the bases that were not used for age and, while the store is too large,
// the least recently used ones. It keeps bases that are in use.
func (s *Store) sweep(age time.Duration) error {
	lock, ok, err := s.lockNow("sweep", true)
	if !ok {
		return err // another process is sweeping
	}
	defer func() { _ = flock.Release(lock) }()
	err = errors.Join(s.clear(), os.WriteFile(s.at("swept"), nil, 0o644), s.forget(age))
	list, readErr := s.bases()
	if err = errors.Join(err, readErr); err != nil {
		return err
	}
	var kept []sweepEntry
	for _, b := range list {
		if strings.Contains(b.key, ".bad-") || time.Since(b.used) > age {
			if ok, err := s.evict(b.key); ok || err != nil {
				if err != nil {
					return err
				}
				continue
			}
		}
		kept = append(kept, b)
	}
	total, err := s.prune()
	for len(kept) > 0 && total > s.cfg.MaxBytes && err == nil {
		var gone bool
		if gone, err = s.evict(kept[0].key); gone {
			total, err = s.prune()
		}
		kept = kept[1:]
	}
	return err
}

// bases lists the bases, the least recently used first, and a layer before its tree.
func (s *Store) bases() ([]sweepEntry, error) {
	dirs, err := os.ReadDir(s.at("bases"))
	var list []sweepEntry
	for _, d := range dirs {
		b := sweepEntry{key: d.Name()}
		key, _, _ := strings.Cut(b.key, ".bad-")
		if info, err := os.Stat(s.at("locks/" + key)); err == nil {
			b.used = info.ModTime()
		}
		list = append(list, b)
	}
	slices.SortStableFunc(list, func(a, b sweepEntry) int { return a.used.Compare(b.used) })
	return list, err
}

// evict removes a base unless it, or a layer on it, is in use.
func (s *Store) evict(name string) (bool, error) {
	key, _, _ := strings.Cut(name, ".bad-")
	lock, ok, err := s.lockNow(key, true)
	if !ok { //control:base-in-use
		return false, err
	}
	defer func() { _ = flock.Release(lock) }()
	if err := os.RemoveAll(s.moveAway(name)); err != nil {
		return false, err
	}
	for _, end := range []string{"", ".build"} {
		if err := os.Remove(s.at("locks/" + key + end)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return true, err
		}
	}
	return true, nil
}

// moveAway renames a base, so that a half-deleted one is never found, and returns its new
// path.
func (s *Store) moveAway(name string) string {
	to := s.at("making/making-" + s.id() + "-" + random())
	if os.Rename(s.at("bases/"+name), to) != nil {
		return s.at("bases/" + name)
	}
	return to
}

// prune removes the contents that no tree has. It returns the total size of the others,
// including those of single bases.
func (s *Store) prune() (total int64, err error) {
	err = filepath.WalkDir(s.at("pool"), func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		var info syscall.Stat_t
		if err := syscall.Lstat(name, &info); err != nil {
			return nil //nolint:nilerr // another has removed it
		}
		if info.Nlink < 2 {
			return os.Remove(name)
		}
		total += info.Size
		return nil
	})
	list, readErr := os.ReadDir(s.at("bases"))
	for _, d := range list {
		a, err := s.about(d.Name())
		_, none := os.Lstat(s.at("bases/" + d.Name() + "/" + alone))
		if err == nil && (a.On != "" || none == nil) {
			total += a.Bytes
		}
	}
	return total, errors.Join(err, readErr)
}

// forget removes cached facts about trees that are older than age. They can be computed
// again.
func (s *Store) forget(age time.Duration) error {
	var errs []error
	for _, places := range []string{"names/*/*", "views/*/*", "making/known-*", "making/pooled-*"} {
		list, err := filepath.Glob(s.at(places))
		errs = append(errs, err)
		for _, name := range list {
			if info, err := os.Stat(name); err == nil && time.Since(info.ModTime()) > age {
				errs = append(errs, os.Remove(name))
			}
		}
	}
	return errors.Join(errs...)
}
