// Package wire is the HTTP side that the adapters of model servers share: a
// client that gives up when a server falls silent and that follows no redirect
// to another host, lines out of an answer that arrives slowly, and network
// failures as [llm.Error].
//
// Model servers answer with streams that may last an hour and may break off, so
// there can be no limit on the whole time. The limit here is on silence, and only
// while somebody is reading.
package wire

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// Errors that [Failure] recognizes in what the client returns.
var (
	errIdle     = errors.New("no byte from the server for as long as it should take")
	errRedirect = errors.New("redirect refused")
)

// newHTTP returns an HTTP client for model servers, with the transport and the
// cookies of from, or its own for nil: every read fails with [errIdle] after
// idle without a byte (0 or less: as long as [patience] has it), and a redirect that leaves
// the scheme, host and port of the first request, or that would turn the POST
// into a GET, fails with [errRedirect].
func newHTTP(from *http.Client, idle time.Duration) *http.Client {
	client := http.Client{}
	if from != nil {
		client = *from
	}
	base := client.Transport
	if base == nil {
		base = http.DefaultTransport
	}
	client.Transport = &idleTransport{base: base, patience: &patience{fixed: max(idle, 0)}}
	client.CheckRedirect = checkRedirect
	return &client
}

const maxRedirects = 3

func checkRedirect(req *http.Request, via []*http.Request) error {
	first := via[0]
	switch {
	case len(via) > maxRedirects:
		return fmt.Errorf("%w: more than %d hops", errRedirect, maxRedirects)
	case req.URL.Scheme != first.URL.Scheme || req.URL.Host != first.URL.Host:
		return fmt.Errorf("%w: %s leads to %s://%s; configure that address if it is meant",
			errRedirect, first.URL.Redacted(), req.URL.Scheme, req.URL.Host)
	case req.Method != first.Method:
		return fmt.Errorf("%w: %s would become a %s to %s", errRedirect, first.Method, req.Method, req.URL.Redacted())
	}
	return nil
}

// Post sends body, which is JSON, and returns the answer whatever its status.
// The caller closes the answer's body. header may be nil.
func Post(ctx context.Context, client *http.Client, url string, header http.Header, body []byte) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("build request: %w", err)
	}
	for k, v := range header {
		req.Header[k] = v
	}
	req.Header.Set("Content-Type", "application/json")
	return client.Do(req)
}

const maxExcerpt = 4 << 10

// Excerpt returns the beginning of an error answer's body, at most 4 KiB, for
// an operator to read.
func Excerpt(r io.Reader) string {
	b, err := io.ReadAll(io.LimitReader(r, maxExcerpt))
	if err != nil && len(b) == 0 {
		return err.Error()
	}
	return strings.TrimSpace(strings.ToValidUTF8(string(b), "\uFFFD"))
}

// idleTransport starts a timer whenever somebody waits for the server.
type idleTransport struct {
	base     http.RoundTripper
	patience *patience
}

// RoundTrip implements [http.RoundTripper].
func (t *idleTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(req.Context())
	asked, limit := time.Now(), t.patience.first(req.ContentLength)
	timer := time.AfterFunc(limit, func() {
		t.patience.ended()
		cancel(errIdle)
	})
	resp, err := t.base.RoundTrip(req.WithContext(ctx))
	timer.Stop()
	if err != nil {
		err = causeOf(ctx, err)
		cancel(nil)
		return nil, err
	}
	resp.Body = &idleBody{
		ReadCloser: resp.Body, timer: timer, wait: max(limit-time.Since(asked), time.Second), cancel: cancel,
		begun: func() time.Duration {
			t.patience.saw(req.ContentLength, time.Since(asked))
			return t.patience.between()
		},
		cause: func(err error) error { return causeOf(ctx, err) },
	}
	return resp, nil
}

func causeOf(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); errors.Is(cause, errIdle) {
		return cause
	}
	return err
}

type idleBody struct {
	io.ReadCloser
	timer  *time.Timer
	wait   time.Duration        // for the next byte
	begun  func() time.Duration // called at the first byte; returns the wait for the others, nil afterwards
	cancel context.CancelCauseFunc
	cause  func(error) error
}

// Read implements [io.Reader]. The clock runs only while it waits, so a slow
// reader is not mistaken for a silent server.
func (b *idleBody) Read(p []byte) (int, error) {
	b.timer.Reset(b.wait)
	n, err := b.ReadCloser.Read(p)
	b.timer.Stop()
	if n > 0 && b.begun != nil {
		b.wait, b.begun = b.begun(), nil
	}
	if err != nil && !errors.Is(err, io.EOF) {
		err = b.cause(err)
	}
	return n, err
}

// Close implements [io.Closer] and gives up the request.
func (b *idleBody) Close() error {
	b.timer.Stop()
	b.cancel(nil)
	return b.ReadCloser.Close()
}
