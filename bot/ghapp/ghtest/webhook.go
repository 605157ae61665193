package ghtest

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha1" //nolint:gosec // GitHub still sends the older signature
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/handrail-bot/handrail/bot/ghapp/ghtest/hub"
)

// Delivery is one attempt to deliver an event.
type Delivery struct {
	ID         int64
	GUID       string // the same for every attempt
	Event      string
	Action     string
	At         time.Time
	Redelivery bool
	Status     int // HTTP status of the receiver; 0 if it was unreachable
	Payload    []byte

	installation, repository int64
}

// hooks sends events to the app.
type hooks struct {
	s     *Server
	to    string // address of the app's webhook
	queue []*Delivery
	log   []*Delivery // in sending order
	busy  bool
	wake  chan struct{}
}

// SetWebhook sets the destination of events. An empty url discards them, as for an app
// without a webhook.
func (h *hooks) SetWebhook(url string) {
	h.s.mu.Lock()
	defer h.s.mu.Unlock()
	h.to = url
}

// Deliveries returns the attempts so far, oldest first.
func (h *hooks) Deliveries() []Delivery {
	h.s.mu.Lock()
	defer h.s.mu.Unlock()
	out := make([]Delivery, 0, len(h.log))
	for _, d := range h.log {
		out = append(out, *d)
	}
	return out
}

// Flush waits until every event so far is sent and answered.
func (h *hooks) Flush(ctx context.Context) error {
	return h.s.Wait(ctx, func(*Server) bool {
		h.s.mu.Lock()
		defer h.s.mu.Unlock()
		return len(h.queue) == 0 && !h.busy
	})
}

// Enqueue queues a repeated or an invented delivery under a new id. It reports whether
// there is a destination.
func (h *hooks) Enqueue(d *Delivery) bool {
	h.s.mu.Lock()
	defer h.s.mu.Unlock()
	h.enqueue(d)
	return h.to != ""
}

func (h *hooks) findDelivery(id int64) *Delivery {
	for _, d := range h.log {
		if d.ID == id {
			return d
		}
	}
	return nil
}

func guid() string {
	var b [16]byte
	if _, err := rand.Read(b[:]); err != nil {
		panic(err) // never fails
	}
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

func (h *hooks) enqueue(d *Delivery) {
	if h.to == "" {
		return
	}
	d.ID, d.Status = h.s.NextID(), 0
	h.queue = append(h.queue, d)
	select {
	case h.wake <- struct{}{}:
	default:
	}
}

// enqueueEvent queues one event. It adds repository, sender and installation to the payload, as
// GitHub does. The caller holds the lock.
func (s *Server) enqueueEvent(ev hub.Event) {
	in := s.Installed(ev.Repo)
	if in == nil {
		return
	}
	p := s.payload(ev)
	if ev.Action != "" {
		p["action"] = ev.Action
	}
	p["sender"] = s.filled("simple-user", s.userShape(ev.By))
	p["repository"] = s.filled("repository", s.repoShape(ev.Repo))
	if owner := ev.Repo.Owner; owner.Kind == "Organization" {
		p["organization"] = object{"login": owner.Login, "id": owner.ID}
	}
	p["installation"] = object{"id": in.ID, "node_id": "MDIzOkludGVncmF0aW9u" + itoa(in.ID)}
	b, err := json.Marshal(p)
	if err != nil {
		s.log.Error("encode event", "err", err)
		return
	}
	s.enqueue(
		&Delivery{GUID: guid(), Event: ev.Kind, Action: ev.Action, Payload: b, installation: in.ID, repository: ev.Repo.ID},
	)
}

func (h *hooks) deliverLoop() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	client := &http.Client{Timeout: 10 * time.Second, CheckRedirect: func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse
	}}
	defer client.CloseIdleConnections()
	h.s.done.Add(1)
	go func() {
		defer h.s.done.Done()
		<-h.s.closed
		cancel()
	}()
	for {
		select {
		case <-h.s.closed:
			return
		case <-h.wake:
		}
		for {
			d, url := h.nextDelivery()
			if d == nil {
				break
			}
			h.finish(d, h.send(ctx, client, url, d))
		}
	}
}

func (h *hooks) nextDelivery() (*Delivery, string) {
	h.s.mu.Lock()
	defer h.s.mu.Unlock()
	if h.to == "" {
		h.queue = nil // the destination was removed
	}
	if len(h.queue) == 0 {
		return nil, ""
	}
	d := h.queue[0]
	h.queue = h.queue[1:]
	h.busy = true
	d.At = h.s.Now()
	return d, h.to
}

func (h *hooks) finish(d *Delivery, status int) {
	h.s.mu.Lock()
	defer h.s.mu.Unlock()
	d.Status = status
	h.log = append(h.log, d)
	h.busy = false
	h.s.touch()
}

// send posts one delivery in GitHub's form and returns the status; 0 means no answer.
func (h *hooks) send(ctx context.Context, client *http.Client, url string, d *Delivery) int {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(d.Payload))
	if err != nil {
		h.s.log.Warn("deliver event", "err", err)
		return 0
	}
	secret := h.s.App().WebhookSecret
	head := req.Header
	head.Set("Content-Type", "application/json")
	head.Set("User-Agent", "GitHub-Hookshot/ghtest")
	head.Set("X-GitHub-Event", d.Event)
	head.Set("X-GitHub-Delivery", d.GUID)
	head.Set("X-GitHub-Hook-ID", "42")
	head.Set("X-GitHub-Hook-Installation-Target-Type", "integration")
	head.Set("X-GitHub-Hook-Installation-Target-ID", itoa(h.s.App().ID))
	sum1 := hmac.New(sha1.New, []byte(secret))
	sum1.Write(d.Payload)
	head.Set("X-Hub-Signature", "sha1="+hex.EncodeToString(sum1.Sum(nil)))
	head.Set("X-Hub-Signature-256", Sign(secret, d.Payload))
	resp, err := client.Do(req)
	if err != nil {
		h.s.log.Warn("deliver event", "event", d.Event, "err", err)
		return 0
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, io.LimitReader(resp.Body, 1<<20)); err != nil {
		h.s.log.Debug("read webhook answer", "err", err)
	}
	return resp.StatusCode
}

// Sign returns the X-Hub-Signature-256 header for a payload.
func Sign(secret string, payload []byte) string {
	m := hmac.New(sha256.New, []byte(secret))
	m.Write(payload)
	return "sha256=" + hex.EncodeToString(m.Sum(nil))
}
