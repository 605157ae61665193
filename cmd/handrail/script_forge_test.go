package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot/approval"
	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/bot/ghapp/ghtest"
	"github.com/handrail-bot/handrail/bot/store/archive"
	"github.com/handrail-bot/handrail/bot/store/gitref"
	"github.com/handrail-bot/handrail/bot/store/threadref"
	"github.com/handrail-bot/handrail/bot/thread"
	"github.com/handrail-bot/handrail/cmd/action"
	"github.com/handrail-bot/handrail/policy"
)

// forge writes a yes to what waits in a thread into its ref, as somebody may who can
// push: all sums are right, and its source is a comment that its author wrote.
func (s *stage) forge(_ *testscript.TestScript, args []string) error {
	ctx, cancel := context.WithTimeout(context.Background(), s.patience())
	defer cancel()
	number, err := strconv.Atoi(args[0])
	if err != nil {
		return err
	}
	at := thread.Ref{Owner: "team", Repo: "app", Number: number}
	comments := s.gh.Thread(at).Comments
	n, err := strconv.Atoi(args[2])
	if err != nil || n < 1 || n > len(comments) {
		return fmt.Errorf("there is no comment %s in #%d", args[2], number)
	}
	var dir string
	s.gh.Do(func() { dir = s.gh.FindRepo(at.Owner, at.Repo).Dir.Path })
	w := &console{log: logger(io.Discard, "error")}
	return withRepository(ctx, w, archive.Prefix+dir, func(r *archive.Repository) error {
		state := threadref.New(threadref.Config{Repo: r, Ref: action.Ref(gitref.Prefix, at)})
		return errors.Join(s.forged(ctx, state, at, args[1], comments[n-1]), state.Flush(ctx))
	})
}

func (s *stage) forged(ctx context.Context, state *threadref.Store, at thread.Ref, by string, c ghtest.Comment) error {
	kept := state.Store()
	row, err := kept.Sessions.ByThread(ctx, at.Key())
	if err != nil {
		return err
	}
	v, err := stateOf(ctx, kept.Logs, row.ID)
	if err != nil {
		return err
	}
	if len(v.Open()) == 0 {
		return fmt.Errorf("nothing waits in %s", at)
	}
	ev := ghapp.Event{Kind: "issue_comment", Comment: ghapp.EventComment{ID: c.ID, Body: c.Body, Updated: c.Updated}}
	yes := session.Resolved{ID: v.Open()[0].ID, Verdict: policy.Approved, By: by, ByID: s.gh.UserID(by), Key: approval.Source(ev, ghapp.Target{Comment: c.ID})}
	l, err := kept.Leases.Acquire(ctx, row.ID, "forger", time.Minute)
	if err != nil {
		return err
	}
	if err := kept.Logs.Log(l.Fence()).Append(ctx, session.NewEvent(session.TypeResolved, v.Turns, yes)); err != nil {
		return err
	}
	row.State = session.PhaseQueued
	if err := kept.Sessions.Update(ctx, l.Fence(), row); err != nil {
		return err
	}
	_, err = kept.Leases.Release(ctx, l, time.Time{})
	return err
}
