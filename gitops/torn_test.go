package gitops

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/handrail-bot/handrail/policy/longtest"
)

// What a power cut left half on the disk is written again with the same content,
// not taken for what its name says.
func TestTornObject(t *testing.T) {
	longtest.Leave(t)
	for _, size := range []int64{0, 10} {
		r := newRemote(t)
		url, bare, _ := r.repo("one", nil)
		bulk(t, bare, many(5))
		m := mirrorOf(t, url)
		head, err := m.Resolve(t.Context(), "main")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := m.Checkpoint(t.Context(), Checkpoint{Parent: head, Changes: tenChanges("a")}); err != nil {
			t.Fatal(err)
		}
		torn := 0
		err = filepath.WalkDir(filepath.Join(m.dir, "objects"), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || len(d.Name()) != 38 {
				return err
			}
			torn++
			return os.Truncate(path, size)
		})
		if err != nil || torn < 11 {
			t.Fatalf("%d objects torn, %v", torn, err)
		}
		if err := m.Close(); err != nil { // as after the restart
			t.Fatal(err)
		}
		c, err := m.Checkpoint(t.Context(), Checkpoint{Parent: head, Changes: tenChanges("a"), Meta: Meta{Message: "again"}})
		if err != nil {
			t.Fatalf("torn to %d bytes: %v", size, err)
		}
		if _, err := filesOf(t, m, c.ID); err != nil {
			t.Errorf("torn to %d bytes: the commit cannot be read: %v", size, err)
		}
	}
}

// In a person's clone nothing is removed: what is damaged is set aside, and a commit that
// lacks something stays.
func TestTheirObjectsStay(t *testing.T) {
	t.Parallel()
	dir, head := clone(t, map[string]string{"a": "1\n", "d/b": "2\n"})
	m, err := OpenLocal(dir)
	if err != nil {
		t.Fatal(err)
	}
	loose := func(what string) string {
		id := git(t, dir, "rev-parse", what)
		return filepath.Join(dir, ".git/objects", id[:2], id[2:])
	}
	blob, tree, commit := loose(head+":a"), loose(head+":d"), loose(head)
	before := must(os.ReadFile(commit))(t)
	for _, step := range []error{os.Chmod(blob, 0o600), os.WriteFile(blob, []byte("half"), 0o600), os.Remove(tree)} {
		if step != nil {
			t.Fatal(step)
		}
	}
	if whole, err := m.Mend(t.Context(), head); err != nil || whole[head] {
		t.Fatalf("whole %v, %v", whole, err)
	}
	if got, err := os.ReadFile(blob + ".damaged"); err != nil || string(got) != "half" {
		t.Errorf("what was damaged is %q, %v", got, err)
	}
	if got, err := os.ReadFile(commit); err != nil || string(got) != string(before) {
		t.Errorf("the commit is gone: %v", err)
	}
}
