package host

import (
	"context"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/handrail-bot/handrail/agent/workspace/gitdir"
)

// makeGit makes the repository before a command, when it is time for it.
func (h *host) makeGit(ctx context.Context, line string) {
	err := h.past.Before(ctx, line, func() (func(string) (gitdir.Stamp, bool), error) {
		changes, err := h.changes(ctx)
		changed := map[string]bool{}
		for _, c := range changes {
			changed[string(c.Path)] = true
		}
		return func(name string) (gitdir.Stamp, bool) {
			if changed[name] {
				return gitdir.Stamp{}, false
			}
			return h.base.of(h.cfg.Base, name)
		}, err
	})
	if err != nil {
		h.log.Debug("make repository", "err", err)
	}
}

// of returns size and time of a file of the base.
func (b *baseline) of(dir, name string) (gitdir.Stamp, bool) {
	if b.upper == nil {
		st, ok := b.files[name]
		return gitdir.Stamp{Size: st.size, Mtime: st.mtime}, ok
	}
	var info unix.Stat_t
	if err := unix.Lstat(filepath.Join(dir, name), &info); err != nil { // nobody can write there
		return gitdir.Stamp{}, false
	}
	return gitdir.Stamp{Size: info.Size, Mtime: info.Mtim.Nano()}, true
}
