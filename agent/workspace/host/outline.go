package host

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/handrail-bot/handrail/agent/workspace"
)

const (
	outlineTime  = 5 * time.Second
	maxOutlined  = 4000    // maximum number of files per outline
	maxSource    = 1 << 20 // maximum file size in bytes; larger files are generated
	sampleStride = 16      // sampling stride through a list of files
)

// survey reads source code for outlines and usage counts.
type survey struct{ *host }

// outline finds the definitions in a file, or in the files of a directory.
func (h survey) outline(ctx context.Context, q workspace.OutlineQuery) (workspace.Outline, error) {
	if q.Glob != "" && !doublestar.ValidatePattern(q.Glob) {
		return workspace.Outline{}, fmt.Errorf("outline: glob %q is not valid", q.Glob)
	}
	rel, err := h.clean(q.Path)
	if err != nil {
		return workspace.Outline{}, err
	}
	f, info, err := h.open(rel)
	if err != nil {
		return workspace.Outline{}, err
	}
	at := h.inside(f, rel)
	f.Close()
	d := newDefinitions(at, info.IsDir())
	if !info.IsDir() {
		text, err := h.source(rel)
		if err != nil {
			return workspace.Outline{}, err
		}
		d.Add(rel, text)
		return d.Outline(q.Max, 0), nil
	}
	var paths []string
	w := h.visible(func(n *node) (bool, error) {
		if n.mode.IsRegular() && fits(q.Glob, n.path) && d.Knows(n.path) {
			paths = append(paths, n.path)
		}
		if len(paths) >= maxEntries {
			return false, errWalked
		}
		return true, nil
	})
	if err := w.walk(ctx, at); err != nil && !errors.Is(err, errWalked) {
		return workspace.Outline{}, fmt.Errorf("outline of %s: %w", at, err)
	}
	slices.SortStableFunc(paths, func(a, b string) int { return strings.Count(a, "/") - strings.Count(b, "/") })
	done := h.sources(ctx, paths[:min(len(paths), maxOutlined)], h.cfg.limit(outlineTime), d.Add)
	return d.Outline(q.Max, len(paths)-done), ctx.Err()
}

// used ranks definitions by the number of other files that name them. It samples the list
// evenly, so that a run cut short by its time limit is still representative.
func (h survey) used(ctx context.Context, p workspace.UsedParams) ([]workspace.Used, error) {
	u := newUses()
	var known, spread []string
	for _, name := range p.Paths {
		if isSource(name) {
			known = append(known, name)
		}
	}
	step := max(1, (len(known)+maxOutlined-1)/maxOutlined)
	for from := range step * sampleStride {
		for i := from; i < len(known); i += step * sampleStride {
			spread = append(spread, known[i])
		}
	}
	h.sources(ctx, spread[:min(len(spread), maxOutlined)], min(p.Time, h.cfg.limit(outlineTime)), u.Add)
	return u.Top(p.Max), ctx.Err()
}

// sources calls each for the files in parallel until the time is up, and returns the
// number of files reached.
func (h survey) sources(
	ctx context.Context,
	paths []string,
	within time.Duration,
	each func(path string, text []byte),
) int {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	var next atomic.Int64
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for ctx.Err() == nil {
				i := int(next.Add(1)) - 1
				if i >= len(paths) {
					return
				}
				if text, err := h.source(paths[i]); err == nil {
					_ = h.recoverPanic("outline", func() error { each(paths[i], text); return nil }) // a panic costs only this file
				}
			}
		})
	}
	workers.Wait()
	return min(int(next.Load()), len(paths))
}

// source reads a file that may be source code.
func (h survey) source(rel string) ([]byte, error) {
	f, info, err := h.openFile(rel)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info.Size() > maxSource {
		return nil, fmt.Errorf(
			"outline of %s: %d bytes, at most %d are looked through: %w",
			rel,
			info.Size(),
			maxSource,
			workspace.ErrTooLarge,
		)
	}
	text, err := io.ReadAll(io.LimitReader(f, maxSource))
	if err != nil {
		return nil, fmt.Errorf("outline of %s: %w", rel, err)
	}
	if isBinary(text[:min(len(text), sniffed)]) {
		return nil, fmt.Errorf("outline of %s: %w", rel, workspace.ErrBinary)
	}
	return text, nil
}
