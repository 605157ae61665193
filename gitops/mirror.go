package gitops

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/handrail-bot/handrail/gitops/flock"
	"github.com/handrail-bot/handrail/gitops/objects"
)

// Mirror is a repository: a bare mirror of a remote, or a user's clone. Its methods are
// safe for concurrent use.
type Mirror struct {
	dir     string // directory of objects and refs
	gitDir  string // directory of HEAD; differs from dir in a linked work tree
	url     string // empty for a local clone
	wire    *wire
	partial bool           // the first fetch omits contents
	packs   *objects.Packs // nil in a local clone, which git itself packs
	refs    *refFiles
	pool    *objects.Pool
	log     *slog.Logger

	settings Settings // of a local clone's owner
}

func newMirror(dir, gitDir string) *Mirror {
	return &Mirror{
		dir:    dir,
		gitDir: gitDir,
		log:    slog.New(slog.DiscardHandler),
		refs:   &refFiles{dir: dir},
		pool:   objects.NewPool(dir),
	}
}

// Close closes the mirror's open files. The mirror can be used again.
func (m *Mirror) Close() error {
	m.pool.Renew()
	return nil
}

// Objects returns the pool for reading the repository's objects.
func (m *Mirror) Objects() *objects.Pool { return m.pool }

// lock locks the mirror for a fetch, in this process and across processes.
func (m *Mirror) lock(ctx context.Context) (unlock func(), err error) {
	return lockFile(ctx, m.dir+".lock")
}

// cloned reports whether the first fetch of a mirror is complete.
func cloned(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "packed-refs"))
	return err == nil
}

// syncUp syncs the directory entries on the path to a new mirror. It skips unreadable
// parents, which existed before.
func syncUp(dir string) error {
	for ; ; dir = filepath.Dir(dir) {
		err := objects.SyncDirs(dir)
		if errors.Is(err, fs.ErrPermission) {
			err = nil
		}
		if err != nil || dir == filepath.Dir(dir) {
			return err
		}
	}
}

// Mend removes incomplete files after a power failure, and reports which of the commits
// are complete. The others then count as missing, so that they can be fetched or made
// again.
func (m *Mirror) Mend(ctx context.Context, commits ...string) (whole map[string]bool, err error) {
	err = m.pool.Mend()
	whole = map[string]bool{}
	there, rerr := remoteTips(ctx, m)
	err = errors.Join(err, rerr)
	for _, c := range commits {
		err = errors.Join(err, ctx.Err(), m.pool.Do(ctx, func(o *objects.DB) (err error) {
			whole[c], err = o.Whole(ctx, c, there)
			return err
		}))
	}
	m.pool.Renew()
	if err != nil {
		return nil, fmt.Errorf("mend mirror: %w", err)
	}
	return whole, nil
}

// skeleton creates an empty bare repository at m.dir. It is idempotent.
func (m *Mirror) skeleton() error {
	for _, d := range []string{"objects/pack", "objects/info", "refs/heads", "refs/tags"} {
		if err := os.MkdirAll(filepath.Join(m.dir, d), 0o700); err != nil {
			return err
		}
	}
	for name, text := range map[string]string{
		"config": "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = true\n[gc]\n\tauto = 0\n",
		"HEAD":   "ref: " + noDefault + "\n",
	} {
		if _, err := os.Stat(filepath.Join(m.dir, name)); err == nil {
			continue
		}
		if err := m.refs.write(name, text); err != nil {
			return err
		}
	}
	return nil
}

// SessionRefs is the prefix of the refs of saved sessions, by id. They are never pushed.
const SessionRefs = "refs/handrail/sessions/"

// removedSuffix is the suffix of the name of a mirror during its removal.
const removedSuffix = ".removed"

// Unused is a mirror that was not used recently.
type Unused struct {
	Name string   // name of its directory
	Own  []string // refs not from the remote: their commits may exist nowhere else
}

// Of reports whether this may be the mirror of a repository, "owner/name". It never
// misses the right mirror, but may match one with a similar name.
func (u Unused) Of(repo string) bool {
	slugged := u.Name[:max(strings.LastIndex(u.Name, "-"), 0)]
	return len(slugged) >= maxSlug || // the name was shortened
		strings.HasSuffix(strings.ToLower(slugged), strings.ToLower("-"+slug(repo)))
}

// RemoveUnused removes the mirrors that no process has used since before, unless one is
// in use or needed returns true; they can be cloned again. It returns the number of
// removed mirrors, and of unused mirrors that were kept. The mirror is locked against
// fetches and changes of refs while needed runs.
func (s *Store) RemoveUnused(
	ctx context.Context,
	before time.Time,
	needed func(context.Context, Unused) (bool, error),
) (gone, kept int, err error) {
	list, err := os.ReadDir(s.cfg.Dir)
	if err != nil {
		return 0, 0, fmt.Errorf("remove unused mirrors: %w", err)
	}
	var errs []error
	for _, e := range list {
		name := e.Name()
		if err := ctx.Err(); err != nil {
			return gone, kept, err
		}
		if e.IsDir() && strings.HasSuffix(name, removedSuffix) { // left by a killed process
			errs = append(errs, os.RemoveAll(filepath.Join(s.cfg.Dir, name)))
		}
		if !e.IsDir() || !strings.HasSuffix(name, ".git") || !lastUse(filepath.Join(s.cfg.Dir, name)).Before(before) {
			continue
		}
		ok, err := s.remove(ctx, name, before, needed)
		if err != nil {
			errs = append(errs, fmt.Errorf("remove mirror %s: %w", name, err))
		}
		if ok {
			gone++
			s.cfg.Log.LogAttrs(ctx, slog.LevelInfo, "removed a mirror that was not used", slog.String("mirror", name))
		} else {
			kept++
		}
	}
	return gone, kept, errors.Join(errs...)
}

// lastUse returns the time of the last use of a mirror: every writer takes a lock.
func lastUse(dir string) (last time.Time) {
	for _, f := range []string{dir + ".lock", dir + ".refs.lock", filepath.Join(dir, "packed-refs"), dir} {
		if info, err := os.Stat(f); err == nil && info.ModTime().After(last) {
			last = info.ModTime()
		}
	}
	return last
}

// remove removes a mirror, unless it is used or needed.
func (s *Store) remove(
	ctx context.Context,
	name string,
	before time.Time,
	needed func(context.Context, Unused) (bool, error),
) (bool, error) {
	dir := filepath.Join(s.cfg.Dir, name)
	for _, lock := range []string{dir + ".lock", dir + ".refs.lock"} { //control:removed-under-locks
		f, ok, err := flock.Now(lock, true)
		if err != nil || !ok {
			return false, err
		}
		defer func() { _ = flock.Release(f) }()
	}
	if !lastUse(dir).Before(before) { // used before this process got the locks
		return false, nil
	}
	if s.isReading(dir) {
		return false, nil
	}
	refs, err := newMirror(dir, dir).ownRefs(ctx)
	if err != nil {
		return false, err
	}
	if need, err := needed(ctx, Unused{Name: name, Own: refs}); err != nil || need { //control:needed-mirror-stays
		return false, err
	}
	// atomic for other processes
	if err := errors.Join(os.RemoveAll(dir+removedSuffix), os.Rename(dir, dir+removedSuffix)); err != nil {
		return false, err
	}
	s.forget(dir)
	return true, os.RemoveAll(dir + removedSuffix)
}

// isReading reports whether this process is reading from a mirror.
func (s *Store) isReading(dir string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range s.mirrors {
		if m.dir == dir && m.pool.Busy() {
			return true
		}
	}
	return false
}

// forget drops the open mirror of a directory.
func (s *Store) forget(dir string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for url, m := range s.mirrors {
		if m.dir == dir {
			m.pool.Renew()
			delete(s.mirrors, url)
		}
	}
}

// ownRefs returns the names of the refs that do not follow the remote.
func (m *Mirror) ownRefs(ctx context.Context) (own []string, err error) {
	defer m.pool.Renew()
	refs, err := m.localRefs(ctx, "refs/")
	for name := range refs {
		if !followsRemote(name) && !isPullRef(name) {
			own = append(own, name)
		}
	}
	slices.Sort(own)
	return own, err
}
