// Package wire is the HTTP layer shared by the adapters of model servers. Its client
// gives up on a silent server and follows no redirect to another host. It reads lines
// from slow streams and reports network failures as [llm.Error].
//
// Model servers answer with streams that may last an hour and may break off, so there
// is no limit on the total time. The limit is on silence, and only while the client
// is reading.
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

// Errors of the client that [Failure] recognizes.
var (
	errIdle     = errors.New("no byte from the server for as long as it should take")
	errRedirect = errors.New("redirect refused")
)

// newHTTP returns an HTTP client for model servers, with the transport and the
// cookies of from, or its own if from is nil. A read fails with [errIdle] after idle
// without a byte; if idle is 0 or less, [patience] decides. A redirect fails with
// [errRedirect] if it leaves the scheme, host and port of the first request, or would
// turn the POST into a GET.
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

// Post sends body, which is JSON, and returns the answer with any status. The caller
// closes the answer's body. header may be nil.
func Post(
	ctx context.Context,
	client *http.Client,
	url string,
	header http.Header,
	body []byte,
) (*http.Response, error) {
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

// Excerpt returns the beginning of an error answer's body for the operator, at most 4
// KiB.
func Excerpt(r io.Reader) string {
	b, err := io.ReadAll(io.LimitReader(r, maxExcerpt))
	if err != nil && len(b) == 0 {
		return err.Error()
	}
	return strings.TrimSpace(strings.ToValidUTF8(string(b), "\uFFFD"))
}

// idleTransport runs a timer while the client waits for the server.
type idleTransport struct {
	base     http.RoundTripper
	patience *patience
}

// RoundTrip implements [http.RoundTripper].
func (t *idleTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(req.Context())
	asked, limit := time.Now(), t.patience.firstLimit(req.ContentLength)
	timer := time.AfterFunc(limit, func() {
		t.patience.reset()
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
			t.patience.record(req.ContentLength, time.Since(asked))
			return t.patience.betweenLimit()
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
	begun  func() time.Duration // called at the first byte, then set to nil; returns the wait for later bytes
	cancel context.CancelCauseFunc
	cause  func(error) error
}

// Read implements [io.Reader]. The timer runs only during the read, so a slow reader
// is not mistaken for a silent server.
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

// Close implements [io.Closer] and cancels the request.
func (b *idleBody) Close() error {
	b.timer.Stop()
	b.cancel(nil)
	return b.ReadCloser.Close()
}
