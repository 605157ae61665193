package gitops

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/handrail-bot/handrail/gitops/objects"
	"github.com/handrail-bot/handrail/policy/longtest"
)

// The index of a pack in another clone is read once, and not for each object.
func TestAlternateIsOpenedOnce(t *testing.T) {
	t.Parallel()
	dir, _ := clone(t, map[string]string{"a": "1\n", "b": "2\n"})
	git(t, dir, "gc", "-q")
	to := filepath.Join(t.TempDir(), "shared")
	git(t, dir, "clone", "-q", "--shared", dir, to)
	m := must(OpenLocal(to))(t)
	ids := strings.Fields(git(t, to, "rev-parse", "main:a", "main:b"))
	err := m.pool.Do(t.Context(), func(o *objects.DB) error {
		for i, id := range ids {
			if text, err := o.Read(plumbing.BlobObject, plumbing.NewHash(id), 10); err != nil || len(text) != 2 {
				t.Errorf("object %d: %q %v", i, text, err)
			}
			for _, name := range must(filepath.Glob(filepath.Join(dir, ".git/objects/pack/*.idx")))(t) {
				must(0, os.Remove(name))(t)
			}
		}
		return nil
	})
	must(0, err)(t)
}

// A clone of a clone, by paths of both kinds, has all objects of both, and writes none of
// them again.
func TestAlternatesOfAlternates(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	dir, head := clone(t, map[string]string{"a": "1\n"})
	git(t, dir, "gc", "-q")
	middle, to := filepath.Join(filepath.Dir(dir), "middle"), filepath.Join(t.TempDir(), "to")
	git(t, dir, "clone", "-q", "--shared", dir, middle)
	from := must(filepath.Rel(filepath.Join(middle, ".git/objects"), filepath.Join(dir, ".git/objects")))(t)
	must(0, os.WriteFile(filepath.Join(middle, ".git/objects/info/alternates"), []byte("# ours\n"+from+"\n"), 0o600))(t)
	next := commitFiles(t, middle, "next", map[string]string{"b": "2\n"})
	git(t, dir, "clone", "-q", "--shared", middle, to)
	m := must(OpenLocal(to))(t)
	for _, rev := range []string{head[:10], next[:10], "main"} {
		if id, err := m.Resolve(t.Context(), rev); err != nil || !strings.HasPrefix(id, rev) && id != next {
			t.Errorf("%s is %s, %v", rev, id, err)
		}
	}
	whole, err := m.Mend(t.Context(), head, next)
	if err != nil || !whole[head] || !whole[next] {
		t.Errorf("whole: %v %v", whole, err)
	}
	if _, err := m.Resolve(t.Context(), strings.Repeat("1", 40)); !errors.Is(err, ErrNotFound) {
		t.Errorf("a commit that is missing everywhere: %v", err)
	}
	checkpointOn(t, m, next, "c", "1\n")
	if loose := must(filepath.Glob(filepath.Join(to, ".git/objects/??/*")))(t); len(loose) != 2 {
		t.Errorf("a checkpoint with a known content wrote %q, want a tree and a commit", loose)
	}
	fsck(t, to)
}
