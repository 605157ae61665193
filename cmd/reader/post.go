package reader

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/agent/tools"
	"github.com/handrail-bot/handrail/agent/tools/github"
	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/bot/ghapp/reads"
)

// maxPosts is the maximum number of writes of a session's model to its thread.
const maxPosts = 10

// Board writes to a session's own thread. It implements [github.Board].
type Board struct {
	Reader
	Session string
	Log     session.Log
	Send    func(context.Context, ghapp.Write) (ghapp.Ref, error) // performs a write, once per key
	// Intended returns the write that Send recorded for a key; the zero value if there is none.
	Intended func(ctx context.Context, key string) (ghapp.Write, error)
}

// key returns the key of the write of a call.
func (b Board) key(call string) string { return "post-" + b.Session + "-" + ghapp.Digest(call) }

// Tools returns the tools that write to the board.
func (b Board) Tools() []tools.Tool { return github.Posts(b) }

// May implements [github.Board].
func (b Board) May(ctx context.Context, p github.Post) error {
	events, err := b.Log.Events(ctx, 0)
	if err != nil {
		return err
	}
	v, err := session.Fold(events)
	if err != nil {
		return err
	}
	if v.Posts >= maxPosts {
		return fmt.Errorf(
			"this session has written to the thread %d times, which is all that it may; say the rest at the end",
			maxPosts,
		)
	}
	if p.Comment != "" {
		return nil
	}
	have, err := reads.Labels(ctx, b.client)
	if err != nil {
		return err
	}
	var names []string
	for _, l := range have {
		names = append(names, l.Name)
	}
	for _, name := range slices.Concat(p.Labels, p.Off) {
		if !slices.ContainsFunc(names, func(h string) bool { return strings.EqualFold(h, name) }) { //control:labels-that-there-are
			return fmt.Errorf("the repository has no label %q; it has: %s", name, tools.Shorten(strings.Join(names, ", "), 1000))
		}
	}
	return nil
}

// Put implements [github.Board].
func (b Board) Put(ctx context.Context, call string, p github.Post) error {
	wr := ghapp.Write{Key: b.key(call), Thread: b.ref, Kind: ghapp.WriteComment, Body: p.Comment} //control:post-once
	if p.Comment == "" {
		wr.Kind, wr.Labels, wr.Off = ghapp.WriteLabels, p.Labels, p.Off
	}
	_, err := b.Send(ctx, wr)
	var no *ghapp.Refusal
	if err == nil || errors.As(err, &no) || errors.Is(err, session.ErrFenced) || ctx.Err() != nil {
		return err
	}
	return &session.Away{For: session.PhaseWaitingGitHub, Err: err}
}
