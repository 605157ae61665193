package layer

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/handrail-bot/handrail/agent/workspace"
	"github.com/handrail-bot/handrail/gitops/flock"
)

// Part is a directory of a layer: To, below [workspace.LayerTree] or
// [workspace.LayerCache], has the files of the directory From.
type Part struct{ From, To string }

// Assemble makes a layer of links to the files of other directories, which are not
// changed: workspaces lay their own files over them. The layer is removed when drop is
// called, or after the end of this process.
func (s *Store) Assemble(ctx context.Context, parts []Part) (dir string, drop func(), err error) {
	name := make([]byte, 32)
	_, _ = rand.Read(name) // never fails
	key := hex.EncodeToString(name)
	lock, err := flock.Wait(ctx, s.at("locks", key+".build"), true)
	if err != nil {
		return "", nil, fmt.Errorf("assemble layer: %w", err)
	}
	dir = s.at("making", key)
	drop = func() {
		_ = errors.Join(workspace.RemoveTree(dir), os.Remove(lock.Name()), flock.Release(lock)) // the next start tries again
	}
	if err := assemble(ctx, dir, parts); err != nil {
		drop()
		return "", nil, fmt.Errorf("assemble layer: %w", err)
	}
	return dir, drop, nil
}

func assemble(ctx context.Context, dir string, parts []Part) error {
	if err := errors.Join(
		makeDir(dir),
		makeDir(filepath.Join(dir, workspace.LayerTree)),
		makeDir(filepath.Join(dir, workspace.LayerCache)),
	); err != nil {
		return err
	}
	for _, p := range parts {
		to := filepath.Join(dir, p.To)
		if err := makeParents(dir, filepath.Dir(p.To)); err != nil {
			return err
		}
		if _, err := shareTree(ctx, p.From, to); err != nil {
			return err
		}
	}
	return nil
}

// makeParents makes a directory below dir with its parents, for the user of workspaces.
func makeParents(dir, name string) error {
	if name == "." {
		return nil
	}
	if err := makeParents(dir, filepath.Dir(name)); err != nil {
		return err
	}
	if err := makeDir(filepath.Join(dir, name)); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}
