package gitops

import (
	"context"
	"fmt"
	"os"
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
	f, err := m.lockFile(ctx)
	if err != nil {
		<-m.fetching
		return nil, err
	}
	return func() {
		f.Close()
		<-m.fetching
	}, nil
}

func (m *Mirror) lockFile(ctx context.Context) (*os.File, error) {
	f, err := os.OpenFile(m.dir+".lock", os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open mirror lock: %w", err)
	}
	tick := time.NewTicker(20 * time.Millisecond)
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
