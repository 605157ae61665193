// Package webhook accepts GitHub's deliveries: it verifies the signature of the raw
// bytes, stores the delivery, and only then answers 202. It handles no event; the queue
// does.
package webhook

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/sync/semaphore"

	"github.com/handrail-bot/handrail/bot/store"
	"github.com/handrail-bot/handrail/policy/pattern"
)

// maxBody is GitHub's maximum size of a delivery, in bytes.
const maxBody = 25 << 20

// Intake is the part of the store that a Handler needs.
type Intake interface {
	Put(ctx context.Context, deliveries ...*store.Delivery) (stored []bool, err error)
}

// Config configures a Handler.
type Config struct {
	Secret []byte // shared with GitHub, required
	Intake Intake // usually store.Store.Deliveries
	// Parse returns the thread, sender, key and priority of a delivery. It reports false
	// for one that the bot does not use; that is answered but not stored.
	Parse  func(ctx context.Context, event string, payload []byte) (store.Delivery, bool, error)
	Memory int64            // bytes for all bodies, at least twice maxBody, 0 means 128 MiB; further requests wait
	Wait   time.Duration    // for memory and for the store, 0 means 8 s: GitHub hangs up after 10 s
	Now    func() time.Time // nil means time.Now
	Log    *slog.Logger     // nil disables logging
}

// Handler answers POST /webhook.
type Handler struct {
	Config

	small, large *semaphore.Weighted // in bytes
	refusals     *refusals
}

// New returns a handler.
func New(c Config) (*Handler, error) {
	switch {
	case len(c.Secret) == 0:
		return nil, errors.New(
			"make webhook: the secret is empty: set the webhook secret of the GitHub App, without it any sender could forge deliveries",
		)
	case c.Intake == nil:
		return nil, errors.New("make webhook: no intake given")
	case c.Parse == nil:
		return nil, errors.New("make webhook: no parser given")
	}
	if c.Memory == 0 {
		c.Memory = 128 << 20
	}
	c.Memory = max(c.Memory, 2*maxBody)
	if c.Wait == 0 {
		c.Wait = 8 * time.Second
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return &Handler{
		Config:   c,
		small:    semaphore.NewWeighted(c.Memory / 2),
		large:    semaphore.NewWeighted(c.Memory / 2),
		refusals: newRefusals(c.Log),
	}, nil
}

// refusal is an answer other than success. The text goes to the sender of the request; it
// must not help to forge one.
type refusal struct {
	status int
	text   string
}

// Error implements error.
func (r *refusal) Error() string { return r.text }

// ServeHTTP implements [http.Handler].
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), h.Wait)
	defer cancel()
	status, text, err := h.take(ctx, w, r)
	var refused *refusal
	switch {
	case errors.As(err, &refused):
		status, text = refused.status, refused.text
		h.refusals.warn(
			ctx, "status", status, "reason", text, "delivery",
			clip(r.Header.Get("X-GitHub-Delivery")),
			"remote",
			r.RemoteAddr,
		)
	case err != nil:
		status, text = http.StatusServiceUnavailable, "the delivery could not be stored, send it again"
		h.Log.ErrorContext(ctx, "store delivery", "delivery", clip(r.Header.Get("X-GitHub-Delivery")), "err", err)
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, text+"\n") // the sender may have disconnected
}

func clip(s string) string { return s[:min(len(s), 64)] }

// take handles a request and returns the answer.
func (h *Handler) take(ctx context.Context, w http.ResponseWriter, r *http.Request) (int, string, error) {
	switch {
	case r.URL.Path != "/webhook":
		return 0, "", &refusal{http.StatusNotFound, "there is nothing here: the path is /webhook"}
	case r.Method != http.MethodPost:
		w.Header().Set("Allow", http.MethodPost)
		return 0, "", &refusal{http.StatusMethodNotAllowed, "deliveries are sent by POST"}
	}
	signature, err := readSignature(r.Header.Values("X-Hub-Signature-256"))
	if err != nil {
		return 0, "", err
	}
	body, release, err := h.body(ctx, w, r)
	if err != nil {
		return 0, "", err
	}
	defer release()
	mac := hmac.New(sha256.New, h.Secret)
	mac.Write(body)
	if !hmac.Equal(mac.Sum(nil), signature) {
		return 0, "", &refusal{
			http.StatusUnauthorized,
			"the signature is wrong: is the webhook secret the same on both sides?",
		}
	}
	return h.store(ctx, r.Header, body)
}

// readSignature decodes the single signature header.
func readSignature(values []string) ([]byte, error) {
	if len(values) != 1 {
		return nil, &refusal{http.StatusUnauthorized, "one X-Hub-Signature-256 header is needed: set a webhook secret"}
	}
	digits, ok := strings.CutPrefix(values[0], "sha256=")
	sum, err := hex.DecodeString(digits)
	if !ok || err != nil || len(sum) != sha256.Size {
		return nil, &refusal{http.StatusUnauthorized, "X-Hub-Signature-256 is not a SHA-256 signature"}
	}
	return sum, nil
}

// small is the part of a body that needs no memory for large bodies, so that a few large
// deliveries cannot delay many small ones.
const small = 64 << 10

// body reads the request within the memory shared by all requests, and within the time of
// one request.
func (h *Handler) body(
	ctx context.Context,
	w http.ResponseWriter,
	r *http.Request,
) (_ []byte, release func(), err error) {
	tooLarge := &refusal{http.StatusRequestEntityTooLarge, fmt.Sprintf("the body is larger than %d MiB", maxBody>>20)}
	if r.ContentLength > maxBody {
		return nil, nil, tooLarge
	}
	deadline, _ := ctx.Deadline()
	if err := http.NewResponseController(w).SetReadDeadline(deadline); err != nil &&
		!errors.Is(err, http.ErrNotSupported) {
		return nil, nil, fmt.Errorf("limit time of request: %w", err)
	}
	var held memory
	defer func() {
		if err != nil {
			held.free()
		}
	}()
	busy := &refusal{http.StatusServiceUnavailable, "too many deliveries at once, send it again"}
	if !held.take(ctx, h.small, small) {
		return nil, nil, busy
	}
	var buf bytes.Buffer
	in := http.MaxBytesReader(w, r.Body, maxBody)
	_, err = io.CopyN(&buf, in, small)
	if err == nil {
		// The memory for a large body is acquired at once: requests that each hold some and
		// wait for more could deadlock.
		need := r.ContentLength
		if need < 0 {
			need = maxBody
		}
		if !held.take(ctx, h.large, need) {
			return nil, nil, busy
		}
		_, err = buf.ReadFrom(in)
	}
	var tooMany *http.MaxBytesError
	switch {
	case errors.As(err, &tooMany):
		return nil, nil, tooLarge
	case err != nil && !errors.Is(err, io.EOF):
		return nil, nil, &refusal{http.StatusBadRequest, "the body ended early"}
	}
	return buf.Bytes(), held.free, nil
}

// memory is the shared memory held by one request.
type memory []func()

func (m *memory) take(ctx context.Context, from *semaphore.Weighted, n int64) bool {
	if from.Acquire(ctx, n) != nil {
		return false
	}
	*m = append(*m, func() { from.Release(n) })
	return true
}

func (m *memory) free() {
	for _, release := range *m {
		release()
	}
	*m = nil
}

// plain matches identifiers in headers.
var plain = pattern.Lazy(`^[A-Za-z0-9_-]{1,64}$`)

// store stores a delivery with a valid signature.
func (h *Handler) store(ctx context.Context, header http.Header, body []byte) (int, string, error) {
	id, event := header.Get("X-GitHub-Delivery"), header.Get("X-GitHub-Event")
	if !plain().MatchString(id) || !plain().MatchString(event) {
		return 0, "", &refusal{
			http.StatusBadRequest,
			"X-GitHub-Delivery and X-GitHub-Event must name the delivery and its event",
		}
	}
	payload, err := payload(header.Get("Content-Type"), body)
	if err != nil {
		return 0, "", err
	}
	if event == "ping" {
		return http.StatusOK, "pong", nil
	}
	d, wanted, err := h.Parse(ctx, event, payload)
	switch {
	case errors.Is(err, store.ErrUnparsable):
		return 0, "", &refusal{http.StatusBadRequest, "the payload is not that of a " + event + " event"}
	case err != nil:
		return 0, "", fmt.Errorf("parse %s event: %w", event, err)
	case !wanted:
		h.Log.InfoContext(ctx, "ignored", "delivery", id, "event", event, "why", "it has no request for the bot")
		return http.StatusAccepted, "not needed", nil
	}
	d.ID, d.Event, d.Payload, d.Received = id, event, payload, h.Now()
	stored, err := h.Intake.Put(ctx, &d)
	if err != nil {
		return 0, "", err
	}
	if !stored[0] {
		h.Log.InfoContext(ctx, "ignored", "delivery", id, "event", event, "thread", d.Thread, "why", "it is known already")
		return http.StatusAccepted, "known already", nil
	}
	return http.StatusAccepted, "stored", nil
}

// payload returns the JSON object in a body, in either of GitHub's two content types.
func payload(contentType string, body []byte) ([]byte, error) {
	kind, _, err := mime.ParseMediaType(contentType)
	if err == nil && kind == "application/x-www-form-urlencoded" {
		form, err := url.ParseQuery(string(body))
		if err != nil || len(form["payload"]) != 1 {
			return nil, &refusal{http.StatusBadRequest, "the form has no payload"}
		}
		body = []byte(form.Get("payload"))
	} else if err != nil || kind != "application/json" {
		return nil, &refusal{http.StatusBadRequest, "the content type must be application/json"}
	}
	if !json.Valid(body) || !utf8.Valid(body) || !bytes.HasPrefix(bytes.TrimLeft(body, " \t\r\n"), []byte("{")) {
		return nil, &refusal{http.StatusBadRequest, "the payload is not a JSON object"}
	}
	return body, nil
}
