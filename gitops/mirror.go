package gitops

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/handrail-bot/handrail/gitops/objects"
)

// Mirror is one repository: a bare mirror of a remote one, or a person's
// clone. Its methods are safe for concurrent use.
type Mirror struct {
	dir    string // objects and refs
	gitDir string // HEAD; differs from dir in a linked work tree
	url    string // "" for a local clone
	wire   *wire
	packs  *objects.Packs // nil in a local clone, where git packs
	refs   *refFiles
	pool   *objects.Pool
	log    *slog.Logger
}

func newMirror(dir, gitDir string) *Mirror {
	return &Mirror{dir: dir, gitDir: gitDir, log: slog.New(slog.DiscardHandler), refs: &refFiles{dir: dir}, pool: objects.NewPool(dir)}
}

// Close releases the files that the mirror has open; it can be used again.
func (m *Mirror) Close() error {
	m.pool.Renew()
	return nil
}

// Objects returns what reads the repository's objects.
func (m *Mirror) Objects() *objects.Pool { return m.pool }

// lock takes the mirror for a fetch, in this process and across processes.
func (m *Mirror) lock(ctx context.Context) (unlock func(), err error) {
	return lockFile(ctx, m.dir+".lock")
}

// cloned reports whether the first fetch of a mirror has been completed.
func cloned(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "packed-refs"))
	return err == nil
}

// syncUp brings the way to a new mirror to the disk. Directories above that
// this user may not read were there before.
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

// Mend removes from the mirror what a power cut left half on the disk, and
// reports which of some commits are here whole. One that is not is missing from
// then on, so that it can be fetched or made again.
func (m *Mirror) Mend(ctx context.Context, commits ...string) (whole map[string]bool, err error) {
	err = m.pool.Mend()
	whole = map[string]bool{}
	for _, c := range commits {
		err = errors.Join(err, ctx.Err(), m.pool.Once(func(o *objects.DB) (err error) {
			whole[c], err = o.Whole(c)
			return err
		}))
	}
	m.pool.Renew()
	if err != nil {
		return nil, fmt.Errorf("mend mirror: %w", err)
	}
	return whole, nil
}

// skeleton makes an empty bare repository at m.dir. It may be called again.
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
