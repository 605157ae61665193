package host

import (
	"context"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// makeGit makes the repository before a command if it is due.
func (h *host) makeGit(ctx context.Context, line string) {
	err := h.past.Before(ctx, line, func() (func(string) (repositoryStamp, bool), error) {
		changes, err := h.changes(ctx)
		changed := map[string]bool{}
		for _, c := range changes {
			changed[string(c.Path)] = true
		}
		return func(name string) (repositoryStamp, bool) {
			if changed[name] {
				return repositoryStamp{}, false
			}
			return gitStamp(h, name)
		}, err
	})
	if err != nil {
		h.log.Debug("make repository", "err", err)
	}
}

// gitStamp returns a file's git stamp. It reports false if the file has changed.
func gitStamp(h *host, name string) (repositoryStamp, bool) {
	var now, base unix.Stat_t
	if err := unix.Lstat(filepath.Join(h.cfg.Root, name), &now); err != nil {
		return repositoryStamp{}, false
	}
	if was, ok := h.base.files[name]; ok {
		base.Size, base.Mtim = was.size, unix.NsecToTimespec(was.mtime)
	} else if err := unix.Lstat(filepath.Join(h.cfg.Base, name), &base); err != nil {
		return repositoryStamp{}, false
	}
	return repositoryStamp{
			Size:  now.Size,
			Mtime: now.Mtim.Nano(),
			Inode: now.Ino,
			UID:   now.Uid,
			GID:   now.Gid,
		}, now.Size == base.Size &&
			now.Mtim == base.Mtim
}
