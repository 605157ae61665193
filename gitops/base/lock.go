package base

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// live takes a lock for as long as the process runs.
func (s *Store) live() error {
	for {
		f, err := os.CreateTemp(s.at("locks"), "alive-")
		if err != nil {
			return err
		}
		ok, err := tryLock(f, true)
		if ok && stillNamed(f) { // nobody took it for one that a dead process left
			s.alive = f
			return nil
		}
		if err := errors.Join(err, f.Close()); err != nil {
			return err
		}
	}
}

// tryLock takes a lock that ends with the process, for oneself or with others.
func tryLock(f *os.File, alone bool) (bool, error) {
	how := syscall.LOCK_SH
	if alone {
		how = syscall.LOCK_EX
	}
	err := syscall.Flock(int(f.Fd()), how|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) || errors.Is(err, syscall.EINTR) {
		return false, nil
	}
	return err == nil, err
}

// lock waits for a lock.
func (s *Store) lock(ctx context.Context, name string, alone bool) (*os.File, error) {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		f, ok, err := s.lockNow(name, alone)
		if err != nil {
			return nil, fmt.Errorf("lock %s: %w", name, err)
		}
		if ok {
			return f, nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// lockNow takes a lock unless others have it.
func (s *Store) lockNow(name string, alone bool) (*os.File, bool, error) {
	f, err := os.OpenFile(s.at("locks/"+name), os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, false, err
	}
	ok, err := tryLock(f, alone)
	if ok && !stillNamed(f) { // whoever had it has removed it
		ok = false
	}
	if !ok {
		return nil, false, errors.Join(err, f.Close())
	}
	return f, true, nil
}

func stillNamed(f *os.File) bool {
	mine, err := f.Stat()
	if err != nil {
		return false
	}
	there, err := os.Stat(f.Name())
	return err == nil && os.SameFile(mine, there)
}

// Temp makes a directory below dir for as long as this process uses it. What a
// process that died left there, Clear removes.
func (s *Store) Temp(dir, prefix string) (string, error) {
	return os.MkdirTemp(dir, prefix+"-"+s.id()+"-")
}

func (s *Store) id() string { return strings.TrimPrefix(filepath.Base(s.alive.Name()), "alive-") }

// Left returns what processes that died left in a directory, of what [Store.Temp]
// makes with a prefix.
func (s *Store) Left(dir, prefix string) (names []string, err error) {
	list, err := os.ReadDir(dir)
	for _, e := range list {
		rest, ok := strings.CutPrefix(e.Name(), prefix+"-")
		id, _, more := cutLast(rest)
		if _, id, _ = cutLast(id); ok && more && !s.lives(id) {
			names = append(names, filepath.Join(dir, e.Name()))
		}
	}
	return names, err
}

// cutLast cuts at the last hyphen; without one all is the end.
func cutLast(name string) (before, after string, found bool) {
	i := strings.LastIndexByte(name, '-')
	if i < 0 {
		return "", name, false
	}
	return name[:i], name[i+1:], true
}

// lives reports whether a process still runs.
func (s *Store) lives(id string) bool {
	f, err := os.Open(s.at("locks/alive-" + id))
	if err != nil {
		return false
	}
	defer func() { _ = f.Close() }()
	ok, err := tryLock(f, true)
	return !ok || err != nil
}

func random() string { return strings.ToLower(rand.Text()[:10]) }
