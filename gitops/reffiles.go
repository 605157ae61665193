package gitops

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/handrail-bot/handrail/gitops/flock"
	"github.com/handrail-bot/handrail/gitops/objects"
)

// refFiles writes the files of a repository's refs; go-git only reads them. It truncates
// a ref in place and ignores git's lock files: a killed process would leave an empty ref,
// and a concurrent git in the same clone would not be locked out.
type refFiles struct {
	dir string
	own bool // a mirror: every writer of its refs takes the lock
}

// lock locks the refs for one short change, which may happen during a fetch. In a local
// clone git writes too, and only git's lock files protect the refs.
func (r *refFiles) lock(ctx context.Context) (unlock func(), err error) {
	if !r.own {
		return func() {}, nil
	}
	return lockFile(ctx, r.dir+".refs.lock")
}

// replace rewrites a file of refs under git's own lock file. It calls text once that is
// taken; an empty text leaves the file alone. The caller holds [refFiles.lock], so an
// existing lock file in a mirror was left by a killed process.
func (r *refFiles) replace(path string, text func() (string, error)) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	if r.own { //control:left-locks
		removeTemp(path + ".lock")
	}
	f, err := os.OpenFile(path+".lock", os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if os.IsExist(err) {
		return fmt.Errorf("%w: %s.lock exists: remove it if no other process uses %s", ErrStale, filepath.Base(path), r.dir)
	}
	if err != nil {
		return err
	}
	defer f.Close()
	content, err := text()
	if err == nil && content != "" {
		if _, err = f.WriteString(content); err == nil {
			err = errors.Join(f.Sync(), f.Close())
		}
		if info, serr := os.Lstat(path); serr == nil && info.IsDir() {
			_ = os.Remove(path) // if not empty, the rename fails
		}
		if err == nil {
			if err = os.Rename(f.Name(), path); err == nil {
				// From here on a lock file of this name belongs to another process.
				return r.syncTo(path) //control:synced-ref
			}
		}
	}
	removeTemp(f.Name())
	return err
}

// syncTo syncs the directory entry of a file, and those of its parent directories.
func (r *refFiles) syncTo(path string) error {
	dirs := []string{r.dir}
	for dir := filepath.Dir(path); len(dir) > len(r.dir); dir = filepath.Dir(dir) {
		dirs = append(dirs, dir)
	}
	return objects.SyncDirs(dirs...)
}

// swap moves a ref to a commit, or deletes it if commit is empty, unless expected returns
// an error.
func (r *refFiles) swap(ctx context.Context, ref, commit string, expected func() error) error {
	unlock, err := r.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	path := filepath.Join(r.dir, filepath.FromSlash(ref))
	return r.replace(path, func() (string, error) {
		if err := expected(); err != nil {
			return "", err
		}
		if commit != "" {
			return commit + "\n", nil
		}
		packed, err := r.packed()
		if err == nil && len(without(packed, ref)) < len(packed) {
			err = r.packLocked(func(list []packedRef) []packedRef { return without(list, ref) })
		}
		if err == nil {
			err = os.Remove(path)
		}
		if os.IsNotExist(err) {
			err = nil
		}
		return "", err
	})
}

// packedRef is one line of packed-refs; peeled is the commit of a tag object.
type packedRef struct{ name, id, peeled string }

func without(list []packedRef, ref string) []packedRef {
	return slices.DeleteFunc(list, func(r packedRef) bool { return r.name == ref })
}

// packed reads packed-refs. The file may be missing.
func (r *refFiles) packed() ([]packedRef, error) {
	data, err := os.ReadFile(filepath.Join(r.dir, "packed-refs"))
	if os.IsNotExist(err) {
		return nil, nil
	}
	var list []packedRef
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSuffix(line, "\n")
		if peeled, ok := strings.CutPrefix(line, "^"); ok && len(list) > 0 {
			list[len(list)-1].peeled = peeled
		} else if id, name, ok := strings.Cut(line, " "); ok && objects.IsID(id) {
			list = append(list, packedRef{name: name, id: id})
		}
	}
	return list, err
}

// pack changes packed-refs: many refs in one atomic step.
func (r *refFiles) pack(ctx context.Context, change func([]packedRef) []packedRef) error {
	unlock, err := r.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	return r.packLocked(change)
}

// packLocked is pack; the caller holds [refFiles.lock].
func (r *refFiles) packLocked(change func([]packedRef) []packedRef) error {
	return r.replace(filepath.Join(r.dir, "packed-refs"), func() (string, error) {
		list, err := r.packed()
		if err != nil {
			return "", err
		}
		list = change(list)
		slices.SortFunc(list, func(a, b packedRef) int { return strings.Compare(a.name, b.name) })
		var b strings.Builder
		b.WriteString("# pack-refs with: peeled fully-peeled sorted \n")
		for _, r := range list {
			fmt.Fprintf(&b, "%s %s\n", r.id, r.name)
			if r.peeled != "" {
				fmt.Fprintf(&b, "^%s\n", r.peeled)
			}
		}
		return b.String(), nil
	})
}

// lastRemoteTips returns the commits of the remote's refs at the last fetch. It leaves out
// the many saved states of sessions: the remote does not have them, and their bases are
// on branches.
func (r *refFiles) lastRemoteTips() ([]plumbing.Hash, error) {
	packed, err := r.packed()
	if err != nil {
		return nil, err
	}
	var list []plumbing.Hash
	for _, p := range packed {
		list = append(list, plumbing.NewHash(p.id))
	}
	pulls, err := filepath.Glob(filepath.Join(r.dir, "refs", "pull", "*", "head"))
	for _, p := range pulls {
		if data, err := os.ReadFile(p); err == nil && objects.IsID(strings.TrimSpace(string(data))) {
			list = append(list, plumbing.NewHash(strings.TrimSpace(string(data))))
		}
	}
	return list, err
}

// write replaces a file of a mirror atomically.
func (r *refFiles) write(name, text string) error {
	return r.replace(filepath.Join(r.dir, filepath.FromSlash(name)), func() (string, error) { return text, nil })
}

// lockFile locks a file, and creates it if missing. The lock ends with its process. The
// file's modification time is the time of the last lock.
func lockFile(ctx context.Context, path string) (unlock func(), err error) {
	f, err := flock.Wait(ctx, path, true)
	if err != nil {
		return nil, fmt.Errorf("lock mirror: %w", err)
	}
	unlock = func() { _ = flock.Release(f) }
	if err := os.Chtimes(path, time.Time{}, time.Now()); err != nil { //control:used-mirror-is-known
		unlock()
		return nil, fmt.Errorf("lock mirror: %w", err)
	}
	return unlock, nil
}

// removeTemp removes a temporary file. It ignores errors: the file may be gone.
func removeTemp(path string) { _ = os.Remove(path) }
