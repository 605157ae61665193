package gitops

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"

	"github.com/handrail-bot/handrail/gitops/objects"
)

const maxContents = 20_000 // contents per request

// promise makes a new mirror partial if the remote can send contents later.
func promise(ctx context.Context, m *Mirror, s *service) error {
	if s.Empty || !s.Adv.Capabilities.Supports(capability.Filter) {
		return nil
	}
	ok, err := m.wire.promises(ctx, m.url)
	if err != nil || !ok {
		return err
	}
	return m.pool.MakePartial(m.url)
}

// fetchMissing fetches contents that the mirror lacks. It checks again after taking the lock:
// another process may have fetched them. Contents that arrived are kept, even after a
// later error.
func fetchMissing(ctx context.Context, m *Mirror, ids []plumbing.Hash) error {
	unlock, err := m.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	start := time.Now()
	m.pool.Renew()
	err = m.pool.Do(ctx, func(o *objects.DB) error {
		ids = o.Missing(ids)
		return nil
	})
	var bytes int64
	for some := range slices.Chunk(ids, maxContents) {
		if err == nil {
			err = askAgain(ctx, func() error {
				n, err := fetchContents(ctx, m, some)
				bytes += n
				return err
			})
		}
	}
	if err != nil {
		return err
	}
	if len(ids) > 0 {
		tidy(ctx, m)
		m.log.LogAttrs(
			ctx,
			slog.LevelInfo,
			"brought contents",
			slog.Int("files", len(ids)),
			slog.Int64("bytes", bytes),
			slog.Duration("took", time.Since(start)),
		)
	}
	return nil
}

// fetchContents fetches contents in one request.
func fetchContents(ctx context.Context, m *Mirror, ids []plumbing.Hash) (int64, error) {
	pack, err := m.wire.contents(ctx, m.url, ids)
	if err != nil {
		return 0, err
	}
	n, err := m.packs.Install(ctx, pack)
	pack.Close()
	if err == nil {
		return n, checkArrived(ctx, m, ids)
	}
	if cause := context.Cause(ctx); cause != nil {
		return n, fmt.Errorf("download: %w", cause)
	}
	return n, fmt.Errorf("download: %w", unreadableAnswer(err))
}

// checkArrived returns an error unless the answer contained all requested contents. Otherwise a
// reader would request the missing ones forever.
func checkArrived(ctx context.Context, m *Mirror, ids []plumbing.Hash) error {
	return m.pool.Do(ctx, func(o *objects.DB) error {
		if n := len(o.Missing(ids)); n > 0 { //control:answer-is-what-was-asked
			return fmt.Errorf("%w: its answer lacks %d of the %d contents that it was asked for", ErrUnavailable, n, len(ids))
		}
		return nil
	})
}

// remoteTips returns the last known commits of the remote's branches and tags.
func remoteTips(ctx context.Context, m *Mirror) (map[string]plumbing.Hash, error) {
	refs, err := m.localRefs(ctx, "refs/")
	out := map[string]plumbing.Hash{}
	for name, id := range refs {
		if m.url != "" && followsRemote(name) {
			out[name] = plumbing.NewHash(id)
		}
	}
	return out, err
}
