package agent

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/handrail-bot/handrail/agent/llm"
	"github.com/handrail-bot/handrail/agent/session"
)

// Retry says how to go on when the model's server fails in a way that may
// pass. The zero value means four attempts, one second apart at first,
// doubling, with jitter, never more than thirty seconds.
type Retry struct {
	Attempts int
	Base     time.Duration
	Max      time.Duration
}

func (r Retry) withDefaults() Retry {
	if r.Attempts == 0 {
		r.Attempts = 4
	}
	if r.Base == 0 {
		r.Base = time.Second
	}
	if r.Max == 0 {
		r.Max = 30 * time.Second
	}
	return r
}

// wait is the pause before attempt n, counted from 1: exponential, with half
// of it random so that many sessions do not come back at once.
func (r Retry) wait(n int) time.Duration {
	d := min(r.Base<<(n-1), r.Max)
	return d/2 + rand.N(d/2+1)
}

// mostPatience bounds the wait that a server may ask for.
const mostPatience = 2 * time.Minute

// after is the pause before attempt n after err: what the server asked for,
// if that is longer.
func (r Retry) after(n int, err error) time.Duration {
	d := r.wait(n)
	var me *llm.Error
	if errors.As(err, &me) {
		d = max(d, min(me.RetryAfter, mostPatience))
	}
	return d
}

// retrying calls f until it succeeds, fails for good, or the attempts are
// used up. A broken answer leaves nothing behind, so the turn is simply asked
// again from the last complete one.
func (r *run) retrying(ctx context.Context, f func() error) error {
	for n := 1; ; n++ {
		err := f()
		if err == nil || ctx.Err() != nil {
			return errors.Join(err, ctx.Err())
		}
		if !llm.KindOf(err).Temporary() || n >= r.cfg.Retry.Attempts {
			return err
		}
		wait := r.cfg.Retry.after(n, err)
		r.cfg.Log.WarnContext(ctx, "model failed, trying again", "session", r.state.Task.Session, "attempt", n, "wait", wait, "err", err)
		r.live(Live{Title: fmt.Sprintf("%s; trying again (%d of %d)", sentence(err), n+1, r.cfg.Retry.Attempts)})
		if err := pause(ctx, wait); err != nil {
			return err
		}
	}
}

// sentence is what a person is told of a failure of the model.
func sentence(err error) string {
	var me *llm.Error
	if !errors.As(err, &me) || me.Public == "" {
		return "The model failed"
	}
	first, size := utf8.DecodeRuneInString(me.Public)
	if strings.HasPrefix(me.Public, "model ") || strings.HasPrefix(me.Public, "the ") || strings.HasPrefix(me.Public, "what ") {
		return string(unicode.ToUpper(first)) + me.Public[size:]
	}
	return me.Public
}

func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (r *run) capabilities(ctx context.Context) (caps llm.Capabilities, err error) {
	err = r.retrying(ctx, func() error {
		caps, err = r.cfg.Model.Capabilities(ctx)
		return err
	})
	return caps, err
}

// modelFailed decides what a failure of the model means for the session:
// text calls instead of native ones, a shorter conversation, or the end with
// a sentence that a person understands.
func (r *run) modelFailed(ctx context.Context, err error) (verdict, *session.Outcome, error) {
	if ctx.Err() != nil || errors.Is(err, session.ErrFenced) {
		return goOn, nil, err
	}
	var me *llm.Error
	if !errors.As(err, &me) {
		return goOn, nil, err
	}
	switch {
	case me.Kind == llm.Unsupported && r.without(lacks(me)):
		if r.text && !r.state.textOnly {
			return goOn, nil, r.tell(ctx, session.NoteFallback, "This server takes no native tool calls. Write calls as text, as the system prompt describes.")
		}
		return goOn, nil, nil
	case me.Kind == llm.TooLong && r.squeezed < mostSqueezes:
		return goOn, nil, r.makeRoom(ctx)
	case me.Kind == llm.TooLong:
		me = &llm.Error{Kind: me.Kind, Public: fmt.Sprintf("Even shortened, the task does not fit into the model's context of %d tokens. "+
			"Use a model with a larger context, or ask for less at once.", r.window())}
	}
	r.cfg.Log.ErrorContext(ctx, "model failed", "session", r.state.Task.Session, "model", r.cfg.Model.Name(), "err", err)
	return halt, r.failed(advice(me)), nil
}

// What a model or its server can lack.
const (
	lackTools    = "tools"
	lackThinking = "thinking"
	lackImages   = "images"
)

// lacks reads out of an error what the model cannot do. The adapters end
// their sentence with it, so that a model's name cannot be mistaken for it.
func lacks(me *llm.Error) string {
	_, what, _ := cutLast(me.Public, " cannot ")
	switch {
	case strings.Contains(what, "tool"):
		return lackTools
	case strings.Contains(what, "think"):
		return lackThinking
	case strings.Contains(what, "image"):
		return lackImages
	}
	return ""
}

func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}

// without goes on without what the model lacks, and says whether that makes a
// difference to what was tried.
func (r *run) without(what string) bool {
	switch {
	case what == lackTools && !r.text:
		r.text, r.caps.Tools = true, false
	case what == lackThinking && r.caps.Thinking:
		r.caps.Thinking = false
	case what == lackImages && r.caps.Vision:
		r.caps.Vision = false
	default:
		return false
	}
	return true
}

// advice is the sentence that ends a session whose model failed, with what
// can be done about it.
func advice(me *llm.Error) string {
	text := strings.TrimRight(sentence(me), ".")
	if me.Kind.Temporary() {
		return text + ". It was tried several times. Nothing is lost: ask again to go on from here."
	}
	return text + "."
}
