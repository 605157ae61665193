package ghapp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"syscall"
	"time"

	"github.com/google/go-github/v62/github"

	"github.com/handrail-bot/handrail/policy/reach"
)

// publicTransport returns a transport that connects to public addresses only. It checks the IP
// address at dial time, after name resolution, which defeats DNS rebinding. It uses no
// proxy, because a proxy would resolve the name again.
func publicTransport() *http.Transport {
	d := &net.Dialer{Timeout: 10 * time.Second, Control: onlyPublic}
	return &http.Transport{
		DialContext: d.DialContext, TLSHandshakeTimeout: 10 * time.Second, ResponseHeaderTimeout: 15 * time.Second,
		MaxIdleConns: 4, IdleConnTimeout: 30 * time.Second, ForceAttemptHTTP2: true,
	}
}

// onlyPublic refuses a connection to a non-public address right before dialing.
func onlyPublic(network, address string, _ syscall.RawConn) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil || network != "tcp4" && network != "tcp6" || !reach.Public(at.Addr()) { //control:picture-dialed
		return refused("its address is inside a network")
	}
	return nil
}

// awayTimeout is the timeout for a download from an external host.
const awayTimeout = time.Minute

// Away downloads content that GitHub may keep on another host, such as a job log.
// GitHub answers with a signed address, which is read without a token, or with the
// content itself. The caller must close the result.
func (c *Client) Away(ctx context.Context, a Ask) (io.ReadCloser, error) {
	req, err := c.ask(a)
	if err != nil {
		return nil, err
	}
	rest := c.gh.Client()
	rest.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	resp, err := rest.Do(req.WithContext(ctx))
	if err != nil {
		return nil, c.readError(a.Op, err)
	}
	if resp.StatusCode == http.StatusOK { // the server keeps the content itself
		return resp.Body, nil
	}
	defer discard(resp)
	to, err := resp.Location()
	if err != nil || resp.StatusCode/100 != 3 {
		if err := github.CheckResponse(resp); err != nil {
			return nil, c.readError(a.Op, err)
		}
		return nil, &Error{Op: a.Op, Kind: Temporary, Err: errors.New("GitHub did not say where it is kept")}
	}
	away, err := c.app.away(ctx, to)
	if err != nil {
		var e *Error
		if errors.As(err, &e) {
			e.Op = a.Op
			return nil, e
		}
		return nil, &Error{
			Op:   a.Op,
			Kind: Temporary,
			Err:  errors.New("where GitHub keeps it there was no answer"),
		} // the address is a secret, so the cause is dropped
	}
	return away, nil
}

// away reads an address that GitHub named, without a token. The operator's own host is
// reached through the operator's transport, every other host through one for public
// addresses only.
func (a *App) away(ctx context.Context, to *url.URL) (io.ReadCloser, error) {
	ctx, cancel := context.WithTimeout(ctx, awayTimeout)
	client := &http.Client{Transport: awayHops{a}, CheckRedirect: func(_ *http.Request, via []*http.Request) error {
		if len(via) > pictureHops {
			return &Error{Err: errors.New("it is behind too many redirects")}
		}
		return nil
	}}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, to.String(), nil)
	if err != nil {
		cancel()
		return nil, err
	}
	req.Header.Set("User-Agent", "handrail")
	resp, err := client.Do(req)
	if err != nil {
		cancel()
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		discard(resp)
		cancel()
		return nil, &Error{
			Status: resp.StatusCode,
			Kind:   kindOfStatus(resp.StatusCode, false),
			Err:    fmt.Errorf("where GitHub keeps it the answer is %d", resp.StatusCode),
		}
	}
	return timedBody{resp.Body, cancel}, nil
}

// awayHops chooses the transport of each hop.
type awayHops struct{ app *App }

// RoundTrip implements http.RoundTripper.
func (h awayHops) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Del("Referer") // it would reveal the signed address
	switch {
	case h.app.site.operated(r.URL):
		return h.app.cfg.Transport.RoundTrip(r)
	case r.URL.User != nil || !secure(r.URL): //control:log-elsewhere
		return nil, &Error{Err: errors.New("it is kept at an address that is not an https one")}
	}
	return h.app.outside.RoundTrip(r)
}

// timedBody is a body that cancels its timeout when closed.
type timedBody struct {
	io.ReadCloser
	end context.CancelFunc
}

// Close implements io.Closer.
func (e timedBody) Close() error {
	defer e.end()
	return e.ReadCloser.Close()
}
