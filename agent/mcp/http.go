package mcp

import (
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"
)

// errElsewhere means that a server points to another address. Our requests carry its
// token, which no other server may get.
var errElsewhere = errors.New("it points to another address, which is not followed")

// Headers returns a transport that adds headers to requests. The caller bounds it to one
// server.
func Headers(next http.RoundTripper, headers map[string]string) http.RoundTripper {
	return withHeaders{next, headers}
}

type withHeaders struct {
	next    http.RoundTripper
	headers map[string]string
}

// RoundTrip implements [http.RoundTripper].
func (h withHeaders) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	for name, value := range h.headers {
		r.Header.Set(name, value)
	}
	return h.next.RoundTrip(r)
}

// origin returns the transport of a server: it reaches the server's own origin only, and
// its answers are bounded.
func (l *link) origin() http.RoundTripper {
	next := l.HTTP
	if next == nil {
		next = refusing{}
	}
	return originTransport{next, l.URL, l.meter}
}

// refusing is the transport of a server without one.
type refusing struct{}

// RoundTrip implements [http.RoundTripper].
func (refusing) RoundTrip(*http.Request) (*http.Response, error) {
	return nil, errors.New("no network is given to it")
}

type originTransport struct {
	next  http.RoundTripper
	own   string
	meter *meter
}

// RoundTrip implements [http.RoundTripper].
func (o originTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	own, err := url.Parse(o.own)
	if err != nil {
		return nil, err
	}
	if r.URL.Scheme != own.Scheme || !strings.EqualFold(r.URL.Host, own.Host) { //control:mcp-one-origin
		return nil, errElsewhere
	}
	if r.Method == http.MethodGet { //control:mcp-quiet-stream
		return &http.Response{
			Status:        "200 OK",
			StatusCode:    http.StatusOK,
			Header:        http.Header{"Content-Type": {eventStream}},
			ContentLength: -1,
			Body:          &besides{of: o, r: r},
			Request:       r,
		}, nil
	}
	return o.send(r)
}

func (o originTransport) send(r *http.Request) (*http.Response, error) {
	resp, err := o.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	resp.Body = boundedBody{resp.Body, o.meter}
	return resp, nil
}

const eventStream = "text/event-stream"

// besides is the stream of a server beside its answers: it may ask a question there. Many
// servers have none, or end it when they like. To the library that would be the end of the
// connection; here the stream falls silent, until the connection ends.
type besides struct {
	of    originTransport
	r     *http.Request
	resp  *http.Response // nil before the first Read, and once it is silent
	begun bool
}

// Read reads from the stream as long as there is one.
func (b *besides) Read(p []byte) (int, error) {
	if !b.begun {
		b.begun = true
		b.open()
	}
	if b.resp != nil {
		n, err := b.resp.Body.Read(p)
		if n > 0 || errors.Is(err, errFlood) {
			return n, err
		}
		_ = b.Close()
	}
	<-b.r.Context().Done()
	return 0, b.r.Context().Err()
}

func (b *besides) open() {
	resp, err := b.of.send(b.r)
	if err != nil {
		return
	}
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if resp.StatusCode != http.StatusOK || kind != eventStream {
		_ = resp.Body.Close()
		return
	}
	b.resp = resp
}

// Close ends the stream. It is not safe to be called during Read, which ends with the request.
func (b *besides) Close() error {
	if b.resp == nil {
		return nil
	}
	resp := b.resp
	b.resp = nil
	return resp.Body.Close()
}

type boundedBody struct {
	io.ReadCloser
	meter *meter
}

// Read fails once too much has arrived.
func (b boundedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if over := b.meter.count(n); over != nil {
		return 0, over
	}
	return n, err
}
