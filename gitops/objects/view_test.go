package objects

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
)

// Objects that a view writes leave its files open; a pack of another process is found.
func TestViewIsOpenedOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	git := func(args ...string) {
		t.Helper()
		if out, err := exec.CommandContext(t.Context(), "git", append([]string{"-C", dir}, args...)...).CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	git("init", "-q", "--bare")
	err := NewPool(dir).Do(t.Context(), func(o *DB) error {
		storage := o.Storage
		var last plumbing.Hash
		for i := range 50 {
			var err error
			if last, err = o.Write(plumbing.BlobObject, []byte(fmt.Sprint(i))); err != nil {
				return err
			}
		}
		if o.Storage != storage {
			t.Error("the files were opened anew after a write")
		}
		tree, err := o.Write(plumbing.TreeObject, append([]byte("100644 a\x00"), last[:]...))
		if err != nil {
			return err
		}
		git("-c", "user.name=Kim", "-c", "user.email=kim@example.invalid", "update-ref", "refs/heads/main", commitOf(t, dir, tree))
		for range 2 { // the first pack is joined into a second one
			git("repack", "-q", "-a", "-d", "-f")
			if !o.Has(last) {
				t.Error("an object of another process's pack is missing")
			}
			if _, err := o.Read(plumbing.BlobObject, last, 100); err != nil {
				t.Error(err)
			}
			git("-c", "user.name=Kim", "-c", "user.email=kim@example.invalid", "update-ref", "refs/heads/main", commitOf(t, dir, tree))
		}
		if o.Storage == storage {
			t.Error("the files were not opened anew after a pack was added")
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// A view that is opened while objects are written sees those in packs.
func TestViewWhileObjectsAreWritten(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	git := func(stdin string, args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "git", append([]string{"-C", dir}, args...)...)
		cmd.Stdin = strings.NewReader(stdin)
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("git %v: %v", args, err)
		}
		return strings.TrimSpace(string(out))
	}
	git("", "init", "-q", "--bare")
	packed := git("x", "hash-object", "-w", "--stdin")
	git(packed+"\n", "pack-objects", "-q", "objects/pack/pack")
	git("", "prune-packed")
	ctx, stop := context.WithCancel(t.Context())
	var writers sync.WaitGroup
	for range 4 {
		writers.Go(func() {
			for ctx.Err() == nil {
				f, err := os.CreateTemp(filepath.Join(dir, "objects", "pack"), "tmp_obj_")
				if err != nil {
					t.Error(err)
					return
				}
				if err := errors.Join(f.Close(), os.Remove(f.Name())); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for n := range 500 {
		err := NewPool(dir).Do(ctx, func(o *DB) error {
			_, err := o.Read(plumbing.BlobObject, plumbing.NewHash(packed), 100)
			return err
		})
		if err != nil {
			t.Errorf("view %d: %v", n, err)
			break
		}
	}
	stop()
	writers.Wait()
}

func commitOf(t *testing.T, dir string, tree plumbing.Hash) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", "-C", dir, "-c", "user.name=Kim", "-c", "user.email=kim@example.invalid",
		"commit-tree", "-m", time.Now().String(), tree.String())
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	return string(out[:40])
}
