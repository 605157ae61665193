package egress

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"time"
)

// hopHeaders are the hop-by-hop headers. They are not forwarded.
var hopHeaders = []string{
	"Connection", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authorization", "Proxy-Connection", "Te", "Trailer",
	"Transfer-Encoding", "Upgrade", "Expect", "Http2-Settings",
}

// plain forwards one request of plain HTTP and its answer. It does not follow
// redirects: the client's next request is checked again.
func (p *Proxy) plain(ctx context.Context, c client, h head) error {
	moved, end := idle(c)
	defer end()
	body := &metered{Conn: c, left: maxUp, moved: moved}
	if err := c.SetDeadline(time.Time{}); err != nil {
		return err
	}
	req, err := http.ReadRequest(bufio.NewReader(io.MultiReader(bytes.NewReader(h.raw), body)))
	if err != nil || !strings.EqualFold(strings.TrimSuffix(req.URL.Host, ":80"), strings.TrimSuffix(h.at(), ":80")) {
		return malformed("it cannot be read")
	}
	if strings.EqualFold(req.Header.Get("Expect"), "100-continue") {
		if _, err := io.WriteString(c, "HTTP/1.1 100 Continue\r\n\r\n"); err != nil {
			return err
		}
	}
	strip(req.Header)
	req.RequestURI, req.Close = "", true
	if req.Header.Get("User-Agent") == "" {
		req.Header.Set("User-Agent", "") // suppress Go's default
	}
	out := &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			conn, err := p.dial(ctx, h)
			if err != nil {
				return nil, err
			}
			return &metered{Conn: conn, left: maxDown, moved: moved}, nil
		},
		DisableKeepAlives: true, DisableCompression: true, MaxResponseHeaderBytes: 256 << 10, ResponseHeaderTimeout: idleTime,
	}
	defer out.CloseIdleConnections()
	resp, err := out.RoundTrip(req.WithContext(ctx))
	var r *refusal
	switch {
	case errors.As(err, &r):
		return r
	case err != nil:
		return &refusal{status: http.StatusBadGateway, at: h.at(), why: "it does not answer", err: err}
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode == http.StatusSwitchingProtocols {
		return &refusal{status: http.StatusBadGateway, at: h.at(), why: "it changed the protocol, without a request for that"}
	}
	strip(resp.Header)
	resp.Close = true
	return resp.Write(body)
}

// strip removes the hop-by-hop headers, and those named by Connection.
func strip(h http.Header) {
	for _, list := range h.Values("Connection") {
		for name := range strings.SplitSeq(list, ",") {
			h.Del(strings.TrimSpace(name))
		}
	}
	for _, name := range hopHeaders {
		h.Del(name)
	}
}
