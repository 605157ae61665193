package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/handrail-bot/handrail/agent"
	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot/command"
	"github.com/handrail-bot/handrail/bot/dashboard"
	"github.com/handrail-bot/handrail/bot/store"
	"github.com/handrail-bot/handrail/cmd/local"
	"github.com/handrail-bot/handrail/cmd/terminal"
	"github.com/handrail-bot/handrail/policy"
)

// watched shows a local session in a browser.
type watched struct {
	session *local.Session
	desk    local.Desk
	began   time.Time
	stop    context.CancelFunc
	board   *dashboard.Server
	http    *http.Server
	done    chan struct{}
}

// watch serves the dashboard of a local session on loopback, and prints the address that
// opens it once. A stop in the browser cancels the returned context.
func watch(ctx context.Context, w *console, s *local.Session) (context.Context, *watched, error) {
	ctx, stop := context.WithCancel(ctx)
	o := &watched{session: s, began: time.Now(), stop: stop, done: make(chan struct{})}
	code := rand.Text()
	var err error
	o.board, err = dashboard.New(dashboard.Config{
		Sessions: o,
		Pages:    o.page,
		Code:     code,
		Local:    true,
		Command:  o.command,
		Log:      w.log,
	})
	if err != nil {
		return ctx, o, err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return ctx, o, fmt.Errorf("listen for the browser: %w", err)
	}
	o.http = &http.Server{Handler: o.board, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: time.Minute}
	go func() {
		defer close(o.done)
		if err := o.http.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			w.log.Warn("the page of the session ended", "err", err)
		}
	}()
	s.Show(&local.Watch{
		Desk:  &o.desk,
		Alone: !terminal.IsPerson(w.in),
		Live: func(l agent.Live) {
			o.board.Live(s.Task.Session, dashboard.Live{Thinking: l.Thinking, Content: l.Content, Title: l.Title})
		},
		Event: func() { o.board.Grown(s.Task.Session) },
	})
	fmt.Fprintf(w.out, "watch it at http://%s/open?code=%s (the address works once)\n", l.Addr(), code)
	return ctx, o, nil
}

// close ends the page.
func (o *watched) close(ctx context.Context) error {
	o.stop()
	if o.http == nil {
		return nil
	}
	o.board.Close()
	err := o.http.Shutdown(ctx)
	<-o.done
	return err
}

// Session implements dashboard.Sessions.
func (o *watched) Session(ctx context.Context, id string) (*store.Session, error) {
	t := o.session.Task
	if id != t.Session {
		return nil, store.ErrNotFound
	}
	events, err := o.session.Log().Events(ctx, 0)
	if err != nil {
		return nil, err
	}
	state, err := session.Fold(events)
	if err != nil {
		return nil, err
	}
	row := &store.Session{
		ID:        id,
		Thread:    local.Title(t.Text),
		Requester: "you",
		Mode:      t.Mode,
		Model:     t.Model,
		Branch:    t.Branch,
		State:     state.Phase,
		Created:   o.began,
		Updated:   o.began,
	}
	if len(state.Open()) > 0 {
		row.State = session.PhaseAwaitingApproval
	}
	if n := len(events); n > 0 {
		row.Updated = events[n-1].Time
	}
	if !row.State.Over() && !row.State.Waits() {
		row.Owner, row.Until = "this terminal", time.Now().Add(time.Minute)
	}
	return row, nil
}

// List implements dashboard.Sessions.
func (o *watched) List(ctx context.Context, q store.Query) ([]*store.Session, error) {
	row, err := o.Session(ctx, o.session.Task.Session)
	if err != nil || len(q.States) > 0 && !slices.Contains(q.States, row.State) ||
		!q.Before.IsZero() && !row.Created.Before(q.Before) {
		return nil, err
	}
	return []*store.Session{row}, nil
}

func (o *watched) page(ctx context.Context, id string, after int64, limit int) ([]session.Event, error) {
	if id != o.session.Task.Session {
		return nil, store.ErrNotFound
	}
	events, err := o.session.Log().Events(ctx, after)
	return events[:min(len(events), limit)], err
}

// localCommands are the commands that a local session takes from its page.
func localCommands() command.Table {
	return command.Table{
		{Name: "approve", Usage: "approve <id>", Args: command.TakesIDs, Grants: true},
		{Name: "deny", Usage: "deny <id> [reason]", Args: command.TakesIDsAndReason},
		{Name: "stop", Usage: "stop", Args: command.TakesText},
		{Name: "skip", Usage: "skip", Args: command.TakesNothing},
		{Name: command.Task, Usage: "text", Args: command.TakesText},
		{Name: command.AskHelp, Usage: "help", Args: command.TakesNothing},
	}
}

// command carries out a command of the page.
func (o *watched) command(ctx context.Context, order dashboard.Order) error {
	events, err := o.session.Log().Events(ctx, 0)
	if err != nil {
		return err
	}
	state, err := session.Fold(events)
	if err != nil {
		return err
	}
	cmds, err := localCommands().Parse(order.Text)
	if err != nil {
		return err
	}
	if len(cmds) == 0 {
		return o.say(ctx, strings.TrimSpace(order.Text), state)
	}
	for _, c := range cmds {
		switch c.Name {
		case "stop":
			o.stop()
		case "skip":
			o.session.Skip() // the call may have ended meanwhile
		case "approve", "deny":
			verdict := map[string]policy.ApprovalState{"approve": policy.Approved, "deny": policy.Denied}[c.Name]
			for _, id := range c.IDs {
				o.desk.Settle(session.Resolved{ID: id, Verdict: verdict, Reason: c.Text})
			}
		case command.Task:
			err = errors.Join(err, o.say(ctx, c.Text, state))
		}
	}
	return err
}

// say answers the open question; without one it is a message to the session.
func (o *watched) say(ctx context.Context, text string, state *session.State) error {
	if text == "" || o.desk.Answer(text, state.Open()) {
		return nil
	}
	return o.session.Interject(ctx, local.Wish{Text: text})
}
