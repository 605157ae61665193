//go:build linux

package main

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/handrail-bot/handrail/policy/longtest"
)

// smallDisk mounts a disk of a size at a directory.
func smallDisk(t *testing.T, dir, size string) {
	t.Helper()
	if out, err := exec.CommandContext(t.Context(), "mount", "-t", "tmpfs", "-o", "size="+size, "tmpfs", dir).CombinedOutput(); err != nil {
		missing(t, "tmpfs", "a small disk, and the right to mount it: %v: %s", err, out)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Errorf("unmount: %v", err)
		}
	})
}

// TestTakeServerOnAFullDisk: the earlier server stays, and nothing is left of the new one.
func TestTakeServerOnAFullDisk(t *testing.T) {
	t.Parallel()
	into := t.TempDir()
	smallDisk(t, into, "64k")
	state, _ := madeServer(t, "first")
	if err := takeServer(t.Context(), state, into, installed); err != nil {
		t.Fatal(err)
	}
	state, _ = madeServer(t, strings.Repeat("x", 1<<20))
	if err := takeServer(t.Context(), state, into, installed); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("the error is %v", err)
	}
	leftIn(t, into, "first")
}

// The disk that has the mirrors fills up while a session works: it waits, and
// goes on when there is room.
func TestFullDiskUnderASession(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	s := newStory(t, greeting, askMore)
	s.stop()
	dir := filepath.Join(s.cfg.Data, "mirrors")
	smallDisk(t, dir, "2m")
	fast := func(o *serverOptions) { o.again, o.sweep = 10*time.Millisecond, 20*time.Millisecond }
	s.restart(fast)
	t.Cleanup(s.stop) // before the disk goes
	s.say("you", "/agent fix the greeting and clean the build")
	id := s.request()
	s.until("**awaiting approval**")
	ballast := filepath.Join(dir, "ballast")
	if err := os.WriteFile(ballast, make([]byte, 4<<20), 0o600); err == nil {
		t.Fatal("the disk is not small")
	}
	s.say("you", "/agent approve "+id)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	err := waitFor(ctx, func() bool { return strings.Count(s.log.String(), `msg="work on thread"`) > mostTriesOfARun })
	if text := s.thread(); err != nil || strings.Contains(text, "**failed**") {
		t.Fatalf("%v\n%s", err, text)
	}
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	s.approve("**done**", "Pull request: #")
	s.has(storyBranch, map[string]string{"greet.sh": "echo Hello there\n"})
}
