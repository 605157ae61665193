package ghcheck

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/handrail-bot/handrail/bot/ghapp/ghtest"
)

// Ping sends GitHub's event for a newly configured webhook.
func (s *Server) Ping(ctx context.Context) (ghtest.Delivery, error) {
	return s.Deliver(
		ctx,
		"ping",
		fmt.Appendf(
			nil,
			`{"zen":"Keep it logically awesome.","hook_id":42,"hook":{"type":"App","id":42,"app_id":%d,"active":true,"events":["*"],"created_at":%q}}`,
			s.App().ID,
			s.Clock().UTC().Format(time.RFC3339),
		),
	)
}

// Deliver signs and sends an arbitrary payload as a new event, waits for the answer and
// returns the attempt.
func (s *Server) Deliver(ctx context.Context, event string, payload []byte) (ghtest.Delivery, error) {
	var head struct {
		Action string `json:"action"`
	}
	if err := json.Unmarshal(payload, &head); err != nil {
		return ghtest.Delivery{}, fmt.Errorf("deliver event: %w", err)
	}
	return s.deliver(ctx, ghtest.Delivery{GUID: rand.Text(), Event: event, Action: head.Action, Payload: payload})
}

// Redeliver repeats an earlier delivery under the same GUID, waits for the answer and
// returns the new attempt.
func (s *Server) Redeliver(ctx context.Context, id int64) (ghtest.Delivery, error) {
	all := s.Deliveries()
	i := slices.IndexFunc(all, func(d ghtest.Delivery) bool { return d.ID == id })
	if i < 0 {
		return ghtest.Delivery{}, fmt.Errorf("redeliver %d: no such delivery", id)
	}
	all[i].Redelivery = true
	return s.deliver(ctx, all[i])
}

func (s *Server) deliver(ctx context.Context, d ghtest.Delivery) (ghtest.Delivery, error) {
	queued := d
	if !s.Enqueue(&queued) {
		return d, fmt.Errorf("deliver event %s: no webhook is set", d.Event)
	}
	err := s.Wait(ctx, func(*ghtest.Server) bool {
		all := s.Deliveries()
		i := slices.IndexFunc(all, func(sent ghtest.Delivery) bool { return sent.ID == queued.ID })
		if i >= 0 {
			d = all[i]
		}
		return i >= 0
	})
	return d, err
}
