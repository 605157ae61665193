package flock

import (
	"errors"
	"path/filepath"
	"syscall"
	"testing"
)

// Who starts a program while another goroutine gives a lock back shares the open file with
// it for a moment. The lock is free all the same.
func TestRelease(t *testing.T) {
	name := filepath.Join(t.TempDir(), "lock")
	f, ok, err := Now(name, true)
	if !ok || err != nil {
		t.Fatal(ok, err)
	}
	shared, err := syscall.Dup(int(f.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = syscall.Close(shared) }()
	if _, ok, err := Now(name, true); ok || err != nil {
		t.Errorf("a lock that is held: %v, %v", ok, err)
	}
	if err := Release(f); err != nil {
		t.Fatal(err)
	}
	again, ok, err := Now(name, true)
	if !ok || err != nil {
		t.Fatalf("a lock that was given back: %v, %v", ok, err)
	}
	if err := Release(again); err != nil {
		t.Error(err)
	}
}

// A signal that arrives during a system call says nothing about the lock.
func TestInterrupted(t *testing.T) {
	calls := 0
	err := uninterrupted(func() error {
		if calls++; calls < 3 {
			return syscall.EINTR
		}
		return syscall.EWOULDBLOCK
	})
	if calls != 3 || !errors.Is(err, syscall.EWOULDBLOCK) {
		t.Errorf("after %d calls: %v", calls, err)
	}
}
