package bot

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/bot/store"
)

// intend adds a write to a change. Nothing is sent before the change is
// stored.
func (w *worker) intend(c *change, wr ghapp.Write) {
	c.Intents = append(c.Intents, w.intent(wr))
}

func (w *worker) intent(wr ghapp.Write) *store.Intent {
	if wr.Thread.Number == 0 {
		wr.Thread = w.ref
	}
	wr.Since = w.cfg.Now().Add(-time.Hour) // clocks differ
	payload, err := json.Marshal(wr)
	if err != nil {
		panic(fmt.Sprintf("bot: marshal write: %v", err)) // strings and numbers only
	}
	return &store.Intent{Key: wr.Key, Kind: string(wr.Kind), Payload: payload}
}

// effects carries out what is intended and not done, oldest first. What was
// sent before without an answer is looked up, and sent again only when it is
// not there after the settle time.
func (w *worker) effects(ctx context.Context, f store.Fence, id string) error {
	open, err := w.cfg.Store.Intents.Open(ctx, id)
	if err != nil {
		return fmt.Errorf("read intents: %w", err)
	}
	for _, in := range open {
		if _, err := w.effect(ctx, f, in); ghapp.UnlessRefused(err) != nil {
			return err
		}
	}
	return nil
}

// ensure makes one write happen, once, and returns what it made. A write that
// GitHub will never take gives a refusal.
func (w *worker) ensure(ctx context.Context, f store.Fence, wr ghapp.Write) (ghapp.Ref, error) {
	in := w.intent(wr)
	in.Session = f.Key
	if err := w.cfg.Store.Intents.Intend(ctx, f, in); err != nil {
		return ghapp.Ref{}, fmt.Errorf("record intent: %w", err)
	}
	return w.effect(ctx, f, *in)
}

// effect does one intent, if it is not done yet.
func (w *worker) effect(ctx context.Context, f store.Fence, in store.Intent) (ghapp.Ref, error) {
	var wr ghapp.Write
	if err := json.Unmarshal(in.Payload, &wr); err != nil {
		return ghapp.Ref{}, w.refused(ctx, f, in, err)
	}
	switch in.State {
	case store.Done:
		return refOf(in), nil
	case store.Failed:
		return ghapp.Ref{}, &ghapp.Refusal{Reason: in.Reason}
	case store.Attempted:
		ref, ok, err := w.lookUp(ctx, in, wr)
		switch {
		case errors.Is(err, ghapp.ErrNotFound):
			return ref, w.refused(ctx, f, in, err)
		case err != nil:
			return ref, err
		case ok:
			return ref, w.done(ctx, f, in.Key, ref)
		}
	}
	if _, err := w.cfg.Store.Intents.Attempted(ctx, f, in.Key, w.cfg.Now().Add(w.cfg.Settle)); err != nil {
		return ghapp.Ref{}, fmt.Errorf("record attempt: %w", err)
	}
	ref, err := w.at.Client.Perform(ctx, wr)
	switch {
	case err == nil:
		return ref, w.done(ctx, f, in.Key, ref)
	case ghapp.KindOf(err) == ghapp.Permanent:
		return ref, w.refused(ctx, f, in, err)
	}
	return ref, fmt.Errorf("write %s: %w", wr.Kind, err)
}

// lookUp asks GitHub whether a write that was sent before has happened. It
// waits out the settle time before it believes a no.
func (w *worker) lookUp(ctx context.Context, in store.Intent, wr ghapp.Write) (ghapp.Ref, bool, error) {
	ref, ok, err := w.at.Client.Find(ctx, wr)
	if err != nil || ok {
		return ref, ok, err
	}
	wait := in.NotBefore.Sub(w.cfg.Now())
	if wait <= 0 {
		return ref, false, nil
	}
	t := time.NewTimer(wait)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
		return ref, false, ctx.Err()
	}
	return w.at.Client.Find(ctx, wr)
}

func (w *worker) done(ctx context.Context, f store.Fence, key string, ref ghapp.Ref) error {
	text, err := json.Marshal(ref)
	if err != nil {
		return err
	}
	if err := w.cfg.Store.Intents.Done(ctx, f, key, string(text)); err != nil {
		return fmt.Errorf("record effect: %w", err)
	}
	return nil
}

// refused gives up a write that GitHub will never take. A reaction or a
// comment that was deleted meanwhile is no reason to stop; the operator is
// told.
func (w *worker) refused(ctx context.Context, f store.Fence, in store.Intent, cause error) error {
	w.cfg.Log.ErrorContext(ctx, "write refused", "thread", w.key, "kind", in.Kind, "key", in.Key, "err", cause)
	if err := w.cfg.Store.Intents.Failed(ctx, f, in.Key, cause.Error()); err != nil {
		return err
	}
	return &ghapp.Refusal{Reason: cause.Error()}
}

func refOf(in store.Intent) ghapp.Ref {
	var ref ghapp.Ref
	if json.Unmarshal([]byte(in.Ref), &ref) != nil {
		return ghapp.Ref{}
	}
	return ref
}
