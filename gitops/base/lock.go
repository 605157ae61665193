package base

import (
	"context"
	"crypto/rand"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/handrail-bot/handrail/gitops/flock"
)

// holdAlive takes a lock for the lifetime of the process.
func (s *Store) holdAlive() error {
	for {
		f, err := os.CreateTemp(s.at("locks"), "alive-")
		if err != nil {
			return err
		}
		ok, err := flock.Try(f, true)
		if ok && flock.HasName(f) { // no other process removed it as stale
			s.alive = f
			return nil
		}
		if err := errors.Join(err, flock.Release(f)); err != nil {
			return err
		}
	}
}

// lock waits for a lock.
func (s *Store) lock(ctx context.Context, name string, alone bool) (*os.File, error) {
	return flock.Wait(ctx, s.at("locks/"+name), alone)
}

// lockNow takes a lock unless it is held.
func (s *Store) lockNow(name string, alone bool) (*os.File, bool, error) {
	return flock.Now(s.at("locks/"+name), alone)
}

// Temp makes a directory below dir that belongs to this process. [Store.Leftovers] finds those
// of dead processes.
func (s *Store) Temp(dir, prefix string) (string, error) {
	return os.MkdirTemp(dir, prefix+"-"+s.id()+"-")
}

func (s *Store) id() string { return strings.TrimPrefix(filepath.Base(s.alive.Name()), "alive-") }

// Leftovers returns the directories that dead processes made with [Store.Temp] in dir.
func (s *Store) Leftovers(dir, prefix string) (names []string, err error) {
	list, err := os.ReadDir(dir)
	for _, e := range list {
		rest, ok := strings.CutPrefix(e.Name(), prefix+"-")
		id, _, more := cutLast(rest)
		if _, id, _ = cutLast(id); ok && more && !s.isAlive(id) {
			names = append(names, filepath.Join(dir, e.Name()))
		}
	}
	return names, err
}

// cutLast cuts at the last hyphen; without one, after is the whole name.
func cutLast(name string) (before, after string, found bool) {
	i := strings.LastIndexByte(name, '-')
	if i < 0 {
		return "", name, false
	}
	return name[:i], name[i+1:], true
}

// isAlive reports whether a process still runs.
func (s *Store) isAlive(id string) bool {
	f, err := os.Open(s.at("locks/alive-" + id))
	if err != nil {
		return false
	}
	defer func() { _ = flock.Release(f) }()
	ok, err := flock.Try(f, true)
	return !ok || err != nil
}

func random() string { return strings.ToLower(rand.Text()[:10]) }
