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

// refFiles are the files that hold the refs of a repository. go-git reads
// them. It does not write them: it truncates a ref in place and does not heed
// git's lock files, so a process that is killed leaves an empty ref, and
// whoever runs git in the same clone is not kept out.
type refFiles struct {
	dir string
	own bool // a mirror: all who write its refs take the lock
}

// lock takes the refs for one short change, also while somebody else fetches.
// In a local clone git writes too, and git's lock files are all there is.
func (r *refFiles) lock(ctx context.Context) (unlock func(), err error) {
	if !r.own {
		return func() {}, nil
	}
	return lockFile(ctx, r.dir+".refs.lock")
}

// replace writes a file of refs anew under git's own lock file, as text says
// once that is taken; an empty text leaves the file. [refFiles.lock] is taken,
// so a lock file that is found in a mirror was left by a killed process.
func (r *refFiles) replace(path string, text func() (string, error)) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	if r.own { //control:left-locks
		drop(path + ".lock")
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
			_ = os.Remove(path) // empty, or the rename tells
		}
		if err == nil {
			if err = os.Rename(f.Name(), path); err == nil {
				// From here on a lock file of this name is somebody else's.
				return r.syncTo(path) //control:synced-ref
			}
		}
	}
	drop(f.Name())
	return err
}

// syncTo brings the name of a file to the disk, and those of the directories
// that it is in.
func (r *refFiles) syncTo(path string) error {
	dirs := []string{r.dir}
	for dir := filepath.Dir(path); len(dir) > len(r.dir); dir = filepath.Dir(dir) {
		dirs = append(dirs, dir)
	}
	return objects.SyncDirs(dirs...)
}

// swap moves a ref to a commit, or deletes it for "", unless expected returns
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
			err = r.repack(func(list []packedRef) []packedRef { return without(list, ref) })
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

// packed reads packed-refs, which a repository need not have.
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

// pack changes packed-refs: many refs at once or not at all.
func (r *refFiles) pack(ctx context.Context, change func([]packedRef) []packedRef) error {
	unlock, err := r.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	return r.repack(change)
}

// repack is pack for who has [refFiles.lock].
func (r *refFiles) repack(change func([]packedRef) []packedRef) error {
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

// remembered returns where the remote's refs were at the last fetch. Saved
// states of sessions are left out: they are no news to the remote, there are
// many of them, and their bases are on branches.
func (r *refFiles) remembered() ([]plumbing.Hash, error) {
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

// write replaces a file of a mirror in one step.
func (r *refFiles) write(name, text string) error {
	path := filepath.Join(r.dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(r.dir, "tmp_*")
	if err != nil {
		return err
	}
	defer drop(f.Name()) // gone after the rename
	defer f.Close()
	if _, err := f.WriteString(text); err != nil {
		return err
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return err
	}
	return r.syncTo(path)
}

// lockFile takes the lock of a file, which it makes if need be. The lock ends
// with the process that has it. The time of the file is when it was taken last.
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

// drop removes a temporary file; when it is gone already, all is well.
func drop(path string) { _ = os.Remove(path) }
