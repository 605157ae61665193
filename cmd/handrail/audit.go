package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/handrail-bot/handrail/bot/store"
	"github.com/handrail-bot/handrail/bot/store/archive"
	"github.com/handrail-bot/handrail/cmd/door"
)

type auditCmd struct {
	Verify auditVerifyCmd `cmd:"" help:"Check the hash chains of all logs: that nothing was changed, added or taken away."`
}

type auditVerifyCmd struct {
	storeFlags `embed:""`

	Files []string `arg:"" optional:"" help:"Exported logs to check instead of the database: files, or git:REPOSITORY for all sessions in it."`
}

// Run checks logs. It names what is broken and ends with 1 then.
func (c *auditVerifyCmd) Run(ctx context.Context, w *console) error {
	if len(c.Files) > 0 {
		return c.files(ctx, w)
	}
	return c.database(ctx, w)
}

func (c *auditVerifyCmd) files(ctx context.Context, w *console) error {
	addresses, err := eachSession(ctx, w, c.Files)
	if err != nil {
		return err
	}
	broken := false
	for _, path := range addresses {
		id, events, err := readLog(ctx, w, path)
		if err == nil && len(events) == 0 {
			err = errors.New("there is no event in it")
		}
		if err != nil {
			broken = true
			fmt.Fprintf(w.out, "%s: BROKEN: %v\n", path, err)
			continue
		}
		fmt.Fprintf(w.out, "%s: session %s, %d events: ok\n", path, id, len(events))
	}
	if broken {
		return door.ErrFailed
	}
	return nil
}

// eachSession names each session of the repositories among addresses.
func eachSession(ctx context.Context, w *console, addresses []string) ([]string, error) {
	var out []string
	for _, address := range addresses {
		if !archive.IsGit(address) {
			out = append(out, address)
			continue
		}
		err := withRepository(ctx, w, address, func(r *archive.Repository) error {
			ids, err := r.Sessions(ctx)
			for _, id := range ids {
				out = append(out, r.Address()+"#"+id)
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (c *auditVerifyCmd) database(ctx context.Context, w *console) (err error) {
	s, err := c.open(ctx, w)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	broken := 0
	n, err := store.Verify(ctx, s.Logs, func(h store.Head, err error) {
		if err != nil {
			broken++
			fmt.Fprintf(w.out, "%s: BROKEN: %v\n", h.Session, err)
			return
		}
		fmt.Fprintf(w.out, "%s: %d events: ok\n", h.Session, h.Seq)
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(w.out, "%d logs, %d broken\n", n, broken)
	if broken > 0 {
		return door.ErrFailed
	}
	return nil
}
