package poll

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

// deliveriesKey is where the times of the deliveries are kept.
const deliveriesKey = "deliveries polled"

// read is how far the deliveries of an App were read, in GitHub's time. First is the
// newest one of the first poll: one that was taken before that is nobody's here. Before
// are those of that second.
type read struct {
	First, Newest time.Time
	Before        []string
}

// deliveries takes in the deliveries since the last poll, whether or not GitHub could
// bring them: an address that stands in for none may answer anything. The first poll
// takes those that nobody took, as the sweep asks for them.
func (p *Poller) deliveries(ctx context.Context) error {
	var was read
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
	if oldest := time.Now().Add(-reach); since.Before(oldest) {
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
			p.seen[d.GUID] = d.At // by any of its attempts
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

// fetch takes in those of a list of attempts, newest first, that are not known, oldest
// first.
func (p *Poller) fetch(ctx context.Context, list []ghapp.Delivery) error {
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
		payload, err := p.GitHub.Sent(ctx, d.ID)
		if errors.Is(err, ghapp.ErrNotFound) { // GitHub has forgotten it meanwhile
			p.seen[d.GUID] = d.At
			continue
		}
		if err != nil {
			return errors.Join(wrong, err)
		}
		if err := p.take(ctx, d.GUID, d.Event, payload); err != nil {
			wrong = errors.Join(wrong, err) // the others need not wait for it
			continue
		}
		p.seen[d.GUID] = d.At
	}
	return wrong
}

// needs reports whether the intake makes anything of an event. Of what was installed it
// hears beside what the bot listens to.
func (p *Poller) needs(event string) bool {
	return event == "installation" || event == "installation_repositories" || p.Hears(event)
}
