package base

import (
	"bytes"
	"compress/zlib"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// A clone whose objects are not what their ids say gets no base, and leaves nothing that
// another repository with the same ids would be shown.
func TestLyingObjects(t *testing.T) {
	t.Parallel()
	honest := newRepo(t)
	commit := honest.commit(start)
	other := honest.git("evil\n", "hash-object", "-w", "--stdin")
	for _, of := range []string{":a.txt", ":exec", ":link", ":d/e", ":", ""} {
		t.Run("made"+of, func(t *testing.T) {
			t.Parallel()
			lies := &repo{t: t, dir: t.TempDir()}
			lies.git("", "init", "-q", "-b", "main")
			lies.git("", "pull", "-q", honest.dir, "made")
			kind, text := "blob", "evil\n"
			switch of {
			case ":", ":d/e":
				kind, text = "tree", "100644 f.txt\x00"+string(idOf(t, other))
			case "":
				kind, text = "commit", "tree "+lies.git("", "rev-parse", "main:d")+"\nauthor a <a@b> 1 +0000\ncommitter a <a@b> 1 +0000\n\nx\n"
			}
			for _, length := range []string{"as it is", "short", "long"} {
				lies.replace("main"+of, kind, text, length)
				m := openClone(lies.dir)
				t.Cleanup(m.pool.Renew)
				store := openStore(t, t.TempDir())
				if b, err := store.Take(t.Context(), m, Want{Commit: commit}); err == nil {
					t.Errorf("%s: a base has what is not in its commit: %v", length, seen(t, b))
				}
				wantSeen(t, honest.take(store, Want{Commit: commit}), start)
			}
		})
	}
}

// replace puts other content under an id. Its length is what its header says, or not.
func (r *repo) replace(what, kind, text, length string) {
	r.t.Helper()
	id := r.git("", "rev-parse", what)
	packs, err := filepath.Glob(filepath.Join(r.dir, ".git/objects/pack/*.pack"))
	must(r.t, err)
	for _, name := range packs {
		data, err := os.ReadFile(name)
		must(r.t, err)
		must(r.t, os.RemoveAll(filepath.Join(r.dir, ".git/objects/pack")))
		r.git(string(data), "unpack-objects", "-q")
	}
	says := len(text)
	switch length {
	case "short":
		says += 3
	case "long":
		says -= 3
	}
	var out bytes.Buffer
	z := zlib.NewWriter(&out)
	fmt.Fprintf(z, "%s %d\x00%s", kind, says, text)
	must(r.t, z.Close())
	name := filepath.Join(r.dir, ".git/objects", id[:2], id[2:])
	must(r.t, os.Remove(name))
	must(r.t, os.WriteFile(name, out.Bytes(), 0o444))
}

func idOf(t *testing.T, hex string) []byte {
	t.Helper()
	var id []byte
	_, err := fmt.Sscanf(hex, "%x", &id)
	must(t, err)
	return id
}
