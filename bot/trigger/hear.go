package trigger

import (
	"context"
	"errors"
	"slices"

	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/bot/live"
	"github.com/handrail-bot/handrail/bot/store"
	"github.com/handrail-bot/handrail/bot/watch"
)

// Watcher starts tasks on events without a command.
func Watcher() watch.Watcher { return watch.Watcher{Where: where, Hear: hear} }

// where returns the thread of an event that may start a task.
func where(_ context.Context, c *live.Config, ev ghapp.Event) (store.Delivery, bool, error) {
	key, number, ok := Key(ev)
	notLetIn := ev.Sender.Bot && !slices.Contains(c.Policy.Approvals.Bots, ev.Sender.ID)
	if !ok || notLetIn || c.GitHub.Flooding(ev.Thread.Repository(), ev.Sender.Login) {
		return store.Delivery{}, false, nil
	}
	at := ev.Thread
	at.Number = number
	return store.Delivery{Thread: at.Key(), Sender: ev.Sender.Login, Priority: store.PriorityWork, Key: key}, true, nil
}

// hear returns the task of an event. If the event has no thread, hear opens an issue and
// hands the task to its thread.
func hear(ctx context.Context, h *watch.Heard) (*watch.Answer, error) {
	ev := h.Event
	if _, _, ok := Key(ev); !ok {
		return nil, nil
	}
	if h.At.Ref.Number == 0 {
		return openFor(ctx, h)
	}
	self, err := h.GitHub.Self(ctx)
	if err != nil {
		return nil, err
	}
	if ours, _ := h.GitHub.Written(ev.Body); byBot(ev, self, ours) {
		return &watch.Answer{Note: "own deed"}, nil
	}
	if why, err := h.MayBegin(ctx, ev); err != nil || why != "" { //control:trigger-by-right
		return &watch.Answer{Note: why}, err
	}
	place, err := h.Start(ctx, ev.Installation)
	if err != nil {
		return nil, err
	}
	task, why := decide(ev, place.Config.Triggers)
	if task == nil {
		return &watch.Answer{Note: why}, nil
	}
	if why := skipReason(h, task); why != "" {
		return &watch.Answer{Note: why}, nil
	}
	is := h.At.Issue
	if ev.Thread.Number != 0 && !ev.Thread.Same(h.At.Ref) {
		if is, err = h.At.Client.Issue(ctx, ev.Thread); err != nil {
			return nil, err
		}
	}
	payload, err := task.Event(is, h.Delivery.Payload, h.Delivery.Key)
	return &watch.Answer{Task: payload}, err
}

// skipReason returns why a configured review is skipped: the agent made the pull request, or
// works on it. Labels and assignments are explicit requests and never skipped.
func skipReason(h *watch.Heard, task *Task) string {
	ev := h.Event
	if ev.Kind != "pull_request" || ev.Action == "labeled" || ev.Action == "assigned" {
		return ""
	}
	if ours, _ := h.GitHub.Written(ev.Body); ours {
		return "the agent's own pull request"
	}
	if h.Session != nil && !h.Session.State.Over() && h.Session.Mode != task.Mode {
		return "the agent is at work here"
	}
	return ""
}

// openFor opens an issue for the task, once, and hands the task to its thread.
func openFor(ctx context.Context, h *watch.Heard) (*watch.Answer, error) {
	d, ev := h.Delivery, h.Event
	place, err := h.Start(ctx, ev.Installation)
	if err != nil {
		return nil, err
	}
	task, why := decide(ev, place.Config.Triggers)
	if task == nil {
		return &watch.Answer{Note: why}, nil
	}
	if err := task.MayOpen(ctx, h.At.Client); errors.Is(err, ErrNoRights) {
		return &watch.Answer{Note: task.By.Login + " " + err.Error()}, nil
	} else if err != nil {
		return nil, err
	}
	to := h.At.Ref
	made, err := h.Ensure(ctx, task.Issue(to, "dispatch-"+ghapp.Digest(d.ID), ""))
	var no *ghapp.Refusal
	if errors.As(err, &no) {
		return &watch.Answer{Note: "GitHub opens no issue: " + no.Reason}, nil
	}
	if err != nil {
		return nil, err
	}
	to.Number = made.Number
	is, err := h.At.Client.Issue(ctx, to)
	if err != nil {
		return nil, err
	}
	there := *d
	there.ID, there.Key, there.Thread, there.Event = "issue of "+d.ID, "issue of "+d.ID, to.Key(), Starts
	if there.Payload, err = task.Event(is, d.Payload, d.ID); err != nil {
		return nil, err
	}
	_, err = h.Store.Deliveries.Put(ctx, &there)
	return &watch.Answer{Note: "it has an issue: " + to.Key()}, err
}
