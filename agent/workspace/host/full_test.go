package host

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/handrail-bot/handrail/agent/workspace"
)

// A write that finds a disk full says which one, and stays what it is.
func TestFullDiskIsNamed(t *testing.T) {
	t.Parallel()
	h := &host{cfg: Config{Root: t.TempDir()}}
	for _, no := range []error{unix.ENOSPC, unix.EDQUOT} {
		err := h.explainFull(fmt.Errorf("write a: %w", no), "not/there/yet")
		if !errors.Is(err, no) || !strings.Contains(err.Error(), "the disk of "+h.cfg.Root+", which holds ") || !strings.Contains(err.Error(), "delete unneeded files") {
			t.Errorf("%v", err)
		}
	}
	if !errors.Is(h.explainFull(unix.ENOSPC, "."), workspace.ErrFull) {
		t.Error("callers do not know a full disk")
	}
	if err := h.explainFull(os.ErrPermission, "."); !errors.Is(err, os.ErrPermission) || err.Error() != os.ErrPermission.Error() {
		t.Errorf("something else: %v", err)
	}
}

// A place without names for files is full as well.
func TestFullPlace(t *testing.T) {
	t.Parallel()
	for p, want := range map[place]string{
		{at: "/a", size: 1 << 30, free: 1 << 20}:                                       "",
		{at: "/a", size: 1 << 30, free: 1000}:                                          "/a is full: it holds 1.0 GiB. Delete",
		{at: "/a", size: 1 << 30, free: 1 << 20, files: 100, spare: 1, inMemory: true}: "",
		{at: "/a", size: 1 << 30, free: 1 << 20, files: 100, inMemory: true}:           "/a is full: it holds 100 files. Delete",
		{at: "/a", size: 5 << 20, files: 100, spare: 7, inMemory: true}:                "/a is full: it holds 5.0 MiB. Delete",
	} {
		if p.full() != (want != "") || !strings.HasPrefix(p.String(), want) || strings.Contains(p.String(), "workspace.memory") != p.inMemory {
			t.Errorf("%+v: full %t, %s", p, p.full(), p)
		}
	}
}
