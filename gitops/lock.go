package gitops

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// lock takes the mirror for a change of its refs, in this process and across
// processes. The lock file ends with the process that holds it.
func (m *Mirror) lock(ctx context.Context) (unlock func(), err error) {
	select {
	case m.fetching <- struct{}{}:
	case <-ctx.Done():
		return nil, fmt.Errorf("wait for mirror: %w", context.Cause(ctx))
	}
	f, err := lockFile(ctx, m.dir+".lock")
	if err != nil {
		<-m.fetching
		return nil, err
	}
	return func() {
		f.Close()
		<-m.fetching
	}, nil
}

// lockRefs takes the files of a mirror's refs for one short change, also
// while somebody else fetches. All who write them take it, so a lock file of
// git's kind that is found under it was left behind by a killed process. In a
// local clone git writes too, and its lock files are all there is.
func (m *Mirror) lockRefs(ctx context.Context) (unlock func(), err error) {
	if m.url == "" {
		return func() {}, nil
	}
	f, err := lockFile(ctx, m.dir+".refs.lock")
	if err != nil {
		return nil, err
	}
	return func() { f.Close() }, nil
}

// gitLock makes git's own lock file of a file of refs. [Mirror.lockRefs] is held.
func (m *Mirror) gitLock(path string) (*os.File, error) {
	if m.url != "" { //control:left-locks
		drop(path + ".lock")
	}
	f, err := os.OpenFile(path+".lock", os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if os.IsExist(err) {
		return nil, fmt.Errorf("%w: %s.lock exists: remove it if no other process uses %s", ErrStale, filepath.Base(path), m.dir)
	}
	return f, err
}

// lockFile takes the lock of a file, which it makes if need be.
func lockFile(ctx context.Context, path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open mirror lock: %w", err)
	}
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		ok, err := tryLock(f)
		if ok {
			return f, nil
		}
		if err == nil {
			select {
			case <-tick.C:
				continue
			case <-ctx.Done():
				err = context.Cause(ctx)
			}
		}
		f.Close()
		return nil, fmt.Errorf("lock mirror: %w", err)
	}
}
