package host

import (
	"context"
	"errors"
	"fmt"
	"path"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/handrail-bot/handrail/agent/workspace"
)

const (
	defaultMatches = 200
	maxMatches     = 5000
	maxContext     = 50
	searchTime     = 20 * time.Second
)

// searched is one file of a search.
type searched struct {
	path  string
	dir   *dirHandle // nil if the query names the file
	found []workspace.MatchLine
	hits  int // number of matching lines, including those beyond the cap
}

// batch is a group of files on its way from the walker through a worker to the collector,
// which takes batches in the walker's order. Handing over single files would cost more
// than searching them.
type batch struct {
	files []searched
	done  chan struct{}
}

// maxBatch is the maximum number of files in a batch.
const maxBatch = 32

// search searches all visible files, with one worker per processor. Results come in path
// order.
func (h *host) search(ctx context.Context, q workspace.Query) (workspace.Matches, error) {
	m, err := lineMatcher(q)
	if err != nil {
		return workspace.Matches{}, err
	}
	if q.Glob != "" && !doublestar.ValidatePattern(q.Glob) {
		return workspace.Matches{}, fmt.Errorf("search: glob %q is not valid", q.Glob)
	}
	limit := q.Max
	if limit <= 0 {
		limit = defaultMatches
	}
	ctx, cancel := context.WithTimeout(ctx, h.cfg.limit(searchTime))
	defer cancel()
	s := &searching{h: h, q: q, m: m, limit: min(limit, maxMatches), context: min(max(q.Context, 0), maxContext),
		todo: make(chan *batch, 8), order: make(chan *batch, 32)}
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() { s.work(ctx) })
	}
	var walkErr error
	workers.Go(func() {
		defer close(s.todo)
		defer close(s.order)
		walkErr = s.h.recoverPanic("search", func() error { return s.walk(ctx) })
		if walkErr == nil {
			walkErr = s.flush(ctx)
		}
		s.next.release()
	})
	out := s.collect()
	workers.Wait()
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return out, fmt.Errorf("search: not done after %s, give a path or a glob: %w", searchTime, context.DeadlineExceeded)
	}
	if err := s.broke.Load(); err != nil {
		return workspace.Matches{}, *err
	}
	if err := errors.Join(walkErr, ctx.Err()); err != nil {
		return workspace.Matches{}, fmt.Errorf("search: %w", err)
	}
	return out, nil
}

type searching struct {
	h       *host
	q       workspace.Query
	m       *matcher
	limit   int
	context int
	next    batch // filled by the walker
	todo    chan *batch
	order   chan *batch
	full    atomic.Bool // the cap is reached: only count
	broke   atomic.Pointer[error]
}

func (s *searching) walk(ctx context.Context) error {
	p := s.q.Path
	if p == "" {
		p = "."
	}
	rel, err := s.h.clean(p)
	if err != nil {
		return err
	}
	f, info, err := s.h.open(rel)
	if err != nil {
		return err
	}
	at := s.h.inside(f, rel)
	f.Close()
	if !info.IsDir() {
		return s.queue(ctx, searched{path: at})
	}
	walked := 0
	w := s.h.visible(func(n *node) (bool, error) {
		if walked++; walked > maxWalked {
			return false, fmt.Errorf("more than %d files: give a path", maxWalked)
		}
		if n.mode.IsRegular() && n.stat.Size > 0 && fits(s.q.Glob, n.path) {
			return false, s.queue(ctx, searched{path: n.path, dir: n.dir.retain()})
		}
		return true, nil
	})
	return w.walk(ctx, at)
}

// fits reports whether a glob matches the path, or the name if the glob has no slash. An
// empty glob matches all.
func fits(glob, rel string) bool {
	switch {
	case glob == "":
		return true
	case strings.Contains(glob, "/"):
		return doublestar.MatchUnvalidated(strings.TrimPrefix(glob, "/"), rel)
	}
	return doublestar.MatchUnvalidated(glob, path.Base(rel))
}

func (s *searching) queue(ctx context.Context, f searched) error {
	if s.next.files = append(s.next.files, f); len(s.next.files) < maxBatch {
		return nil
	}
	return s.flush(ctx)
}

// flush hands over the queued files.
func (s *searching) flush(ctx context.Context) error {
	if len(s.next.files) == 0 {
		return nil
	}
	b := &batch{s.next.files, make(chan struct{})}
	select {
	case s.todo <- b:
		s.next.files = nil
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case s.order <- b:
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}

// release drops the references to the files' directories.
func (b *batch) release() {
	for _, f := range b.files {
		if f.dir != nil {
			f.dir.release()
		}
	}
}

func (s *searching) work(ctx context.Context) {
	var r room
	for b := range s.todo {
		for i := range b.files {
			if ctx.Err() != nil {
				break
			}
			if err := s.h.recoverPanic("search", func() error { s.file(ctx, &b.files[i], &r); return nil }); err != nil {
				s.broke.Store(&err)
			}
		}
		b.release()
		close(b.done)
	}
}

func (s *searching) collect() workspace.Matches {
	out := workspace.Matches{Files: []workspace.FileMatches{}}
	shown := 0
	for b := range s.order {
		<-b.done
		for _, f := range b.files {
			if f.hits == 0 {
				continue
			}
			take := min(f.hits, s.limit-shown)
			out.Left += f.hits - take
			if take <= 0 {
				continue
			}
			if lines := firstHits(f.found, take, s.context); len(lines) > 0 {
				out.Files = append(out.Files, workspace.FileMatches{Path: validName(f.path), Lines: lines})
			}
			if shown += take; shown >= s.limit {
				s.full.Store(true)
			}
		}
	}
	return out
}

// firstHits returns the lines up to the n-th hit and its context.
func firstHits(lines []workspace.MatchLine, n, context int) []workspace.MatchLine {
	last := 0
	for i, l := range lines {
		if l.Hit {
			if n--; n == 0 {
				last = l.N
			}
			if n < 0 {
				j := i
				for j > 0 && lines[j-1].N > last+context {
					j--
				}
				return lines[:j]
			}
		}
	}
	return lines
}
