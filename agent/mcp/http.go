package mcp

import (
	"errors"
	"io"
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
	resp, err := o.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	resp.Body = boundedBody{resp.Body, o.meter}
	return resp, nil
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
