package local_test

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/handrail-bot/handrail/cmd/local"
)

// TestHalfRemovedTempDir: a directory that could not be removed whole is known to the next start.
func TestHalfRemovedTempDir(t *testing.T) {
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	dir, end, err := local.TempDir()
	must(t, err)
	held := filepath.Join(dir, "clone")
	must(t, os.Mkdir(held, 0o755))
	if err := unix.Mount("handrail", held, "tmpfs", 0, ""); err != nil {
		t.Skip("NEEDS TMPFS:", err)
	}
	failed := end()
	must(t, unix.Unmount(held, 0))
	if failed == nil {
		t.Error("a mounted directory went")
	}
	_, end, err = local.TempDir()
	must(t, err)
	must(t, end())
	if _, err := os.Lstat(dir); err == nil {
		t.Error("it is still there")
	}
}
