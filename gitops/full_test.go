//go:build linux

package gitops

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/handrail-bot/handrail/policy/longtest"
)

// smallDisk is a file system of so many kilobytes, and a way to fill it up
// and to make room again.
func smallDisk(t *testing.T, kb string) (dir string, fill, free func()) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "disk")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), "mount", "-t", "tmpfs", "-o", "size="+kb+"k", "tmpfs", dir).CombinedOutput(); err != nil {
		if strings.Contains(os.Getenv("HANDRAIL_REQUIRE_ENGINES"), "tmpfs") {
			t.Fatalf("no small disk: %v: %s", err, out)
		}
		t.Skipf("NOT TESTED: a full disk needs the right to mount a small one: %v: %s", err, out)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Errorf("unmount: %v", err)
		}
	})
	ballast := filepath.Join(dir, "ballast")
	fill = func() {
		t.Helper()
		f, err := os.OpenFile(ballast, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		for n := 4096; n > 0; {
			if _, err := f.Write(make([]byte, n)); err != nil {
				n /= 2
			}
		}
	}
	free = func() {
		if err := os.Remove(ballast); err != nil {
			t.Error(err)
		}
	}
	return dir, fill, free
}

// TestFullDisk: nothing that a full disk cuts off is taken for whole, the
// error says what it is, and when there is room again everything goes on.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	dir, fill, free := smallDisk(t, "4096")
	r := newRemote(t)
	url, bare, work := r.repo("one", map[string]string{"a": "1\n"})
	s := newStore(t, func(c *Config) { c.Dir = filepath.Join(dir, "mirrors") })
	full := func(what string, err error) {
		t.Helper()
		if !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), "no space left") {
			t.Errorf("%s on a full disk: %v", what, err)
		}
	}
	fill()
	_, err := s.Mirror(t.Context(), url)
	full("clone", err)
	free()
	m := must(s.Mirror(t.Context(), url))(t)
	head := must(m.Resolve(t.Context(), "main"))(t)
	fsck(t, m.dir)

	theirs := commitFiles(t, work, "theirs", map[string]string{"b": strings.Repeat("text that is new\n", 500), "c": noise(300_000)})
	git(t, work, "push", "-q", "origin", "main")
	fill()
	full("fetch", m.Fetch(t.Context()))
	if got := must(m.Resolve(t.Context(), "main"))(t); got != head {
		t.Errorf("after a fetch that failed main is at %s", got)
	}
	_, err = m.Checkpoint(t.Context(), Checkpoint{Parent: head, Changes: []Change{put("n", noise(200_000))}})
	full("checkpoint", err)
	_, err = m.Checkpoint(t.Context(), Checkpoint{Parent: head, Changes: []Change{put("huge", noise(largeBlob+1000))}})
	full("checkpoint of a large file", err)
	full("set ref", m.SetRef(t.Context(), "refs/handrail/sessions/x", head, ""))
	free()
	fsck(t, m.dir)

	must(0, m.Fetch(t.Context()))(t)
	if got := must(m.Resolve(t.Context(), "main"))(t); got != theirs {
		t.Errorf("with room again main is at %s", got)
	}
	c := must(m.Checkpoint(t.Context(), Checkpoint{Parent: head, Changes: []Change{put("n", noise(200_000))}}))(t)
	must(0, m.SetRef(t.Context(), "refs/handrail/sessions/x", c.ID, ""))(t)
	fill()
	_, err = m.PushSafe(t.Context(), SafePush{Commit: c.ID, Base: head, Ref: "refs/heads/w"})
	full("push", err)
	free()
	got, err := m.PushSafe(t.Context(), SafePush{Commit: c.ID, Base: head, Ref: "refs/heads/w"})
	if err != nil || got.Ref != "refs/heads/w" {
		t.Errorf("push with room again: %+v %v", got, err)
	}
	if text := git(t, bare, "show", "w:n"); text+"\n" != noise(200_000) {
		t.Error("what was pushed is not what was saved")
	}
	fsck(t, m.dir)
	if left, _ := filepath.Glob(filepath.Join(m.dir, "tmp_*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// noise is text that does not compress.
func noise(n int) string {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+/"
	b := make([]byte, n)
	x := uint32(n)
	for i := range b {
		x = x*1664525 + 1013904223
		b[i] = letters[x>>26]
	}
	b[n-1] = '\n'
	return string(b)
}
