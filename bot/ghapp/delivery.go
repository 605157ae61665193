package ghapp

import (
	"context"
	"errors"
	"time"

	"github.com/google/go-github/v62/github"
)

// Delivery is one attempt by GitHub to deliver an event.
type Delivery struct {
	ID     int64
	GUID   string // the same for all attempts of one event
	Event  string
	At     time.Time
	Status int // HTTP status of the bot's answer; 0 if the bot was unreachable
}

// OK reports whether the bot accepted the delivery.
func (d Delivery) OK() bool { return d.Status >= 200 && d.Status < 300 }

// Deliveries returns the attempts since a time, newest first. GitHub keeps them for
// three days. It works for Apps only.
func (a *App) Deliveries(ctx context.Context, since time.Time) ([]Delivery, error) {
	if a.self == nil {
		return nil, errors.New("list deliveries: only an app can; a token has no webhook of its own")
	}
	var out []Delivery
	opt := &github.ListCursorOptions{PerPage: 100}
	for {
		list, resp, err := a.self.Apps.ListHookDeliveries(ctx, opt)
		if err != nil {
			return nil, a.fail("list deliveries", false, err)
		}
		for _, d := range list {
			if d.GetDeliveredAt().Before(since) {
				return out, nil
			}
			out = append(out, Delivery{ID: d.GetID(), GUID: d.GetGUID(), Event: d.GetEvent(),
				At: d.GetDeliveredAt().Time, Status: d.GetStatusCode()})
		}
		if resp.Cursor == "" {
			return out, nil
		}
		opt.Cursor = resp.Cursor
	}
}

// DeliveryPayload returns the payload of a delivery attempt, whether or not it arrived. It works
// for Apps only.
func (a *App) DeliveryPayload(ctx context.Context, id int64) ([]byte, error) {
	if a.self == nil {
		return nil, errors.New("read delivery: only an app can; a token has no webhook of its own")
	}
	d, _, err := a.self.Apps.GetHookDelivery(ctx, id)
	return d.GetRequest().GetRawPayload(), a.fail("read delivery", false, err)
}

// Redeliver asks GitHub to repeat a delivery. The GUID stays the same, so a duplicate
// is harmless.
func (a *App) Redeliver(ctx context.Context, id int64) error {
	if a.self == nil {
		return errors.New("redeliver event: only an app can; a token has no webhook of its own")
	}
	_, _, err := a.self.Apps.RedeliverHookDelivery(ctx, id)
	var accepted *github.AcceptedError
	if errors.As(err, &accepted) {
		return nil
	}
	return a.fail("redeliver event", true, err)
}
