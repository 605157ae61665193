package gitops

import (
	"context"
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

// lock takes the mirror for a fetch, in this process and across processes.
func (m *Mirror) lock(ctx context.Context) (unlock func(), err error) {
	return lockFile(ctx, m.dir+".lock")
}

// cloned reports whether the first fetch has been completed.
func (m *Mirror) cloned() bool {
	_, err := os.Stat(filepath.Join(m.dir, "packed-refs"))
	return err == nil
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
