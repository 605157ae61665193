package sweep

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/bot/store"
)

// deliveriesKey is the store key of the poll position.
const deliveriesKey = "deliveries polled"

// position is the position up to which an App's deliveries were read, by GitHub's clock.
// First is the newest delivery of the first poll: deliveries accepted before it belong
// to an earlier receiver. Before lists the deliveries of that same second.
type position struct {
	First, Newest time.Time
	Before        []string
}

// deliveries takes in all deliveries since the last poll, including those that GitHub
// marks as delivered: a placeholder webhook address may answer anything. The first poll
// takes in only failed ones, like the sweep.
func (p *poller) deliveries(ctx context.Context) error {
	var was position
	text, err := p.Store.Meta.Get(ctx, deliveriesKey)
	first := errors.Is(err, store.ErrNotFound)
	if !first {
		if err == nil {
			err = json.Unmarshal(text, &was)
		}
		if err != nil {
			return fmt.Errorf("read how far the deliveries were polled: %w", err)
		}
	}
	since := was.Newest.Add(-overlap)
	if oldest := time.Now().Add(-maxAge); since.Before(oldest) {
		since = oldest
	}
	list, err := p.GitHub.Deliveries(ctx, since)
	if err != nil {
		return err
	}
	now := was
	if len(list) > 0 && list[0].At.After(was.Newest) {
		now.Newest = list[0].At
	}
	if first {
		now.First = now.Newest
	}
	for _, d := range list {
		if first && d.At.Equal(now.First) {
			now.Before = append(now.Before, d.GUID)
		}
		if d.OK() && (d.At.Before(now.First) || slices.Contains(now.Before, d.GUID)) { //control:polled-from-now-on
			p.seen[d.GUID] = d.At // if any attempt succeeded
		}
	}
	if err := p.fetch(ctx, list); err != nil {
		return err
	}
	maps.DeleteFunc(p.seen, func(_ string, at time.Time) bool { return at.Before(now.Newest.Add(-2 * overlap)) })
	if !first && now.Newest.Equal(was.Newest) {
		return nil
	}
	if text, err = json.Marshal(now); err != nil {
		return err
	}
	return p.Store.Meta.Set(ctx, deliveriesKey, text)
}

// fetch takes in the unknown deliveries of a list of attempts, oldest first. list is in
// reverse order.
func (p *poller) fetch(ctx context.Context, list []ghapp.Delivery) error {
	var ids []string
	for _, d := range list {
		if _, seen := p.seen[d.GUID]; !seen && p.needs(d.Event) {
			ids = append(ids, d.GUID)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	unknown, err := p.Store.Deliveries.Unknown(ctx, ids...)
	if err != nil {
		return err
	}
	var wrong error
	for _, d := range slices.Backward(list) {
		if _, seen := p.seen[d.GUID]; seen || !slices.Contains(unknown, d.GUID) {
			continue
		}
		payload, err := p.GitHub.DeliveryPayload(ctx, d.ID)
		if errors.Is(err, ghapp.ErrNotFound) { // GitHub no longer keeps it
			p.seen[d.GUID] = d.At
			continue
		}
		if err != nil {
			return errors.Join(wrong, err)
		}
		if err := p.take(ctx, d.GUID, d.Event, payload); err != nil {
			wrong = errors.Join(wrong, err) // continue with the others
			continue
		}
		p.seen[d.GUID] = d.At
	}
	return wrong
}

// needs reports whether an event is used: by the bot, or for the list of installations.
func (p *poller) needs(event string) bool {
	return event == "installation" || event == "installation_repositories" || p.Hears(event)
}
