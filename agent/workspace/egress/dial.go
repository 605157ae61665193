package egress

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/handrail-bot/handrail/policy/reach"
)

// dialTime is the time limit for a connection to a host.
const dialTime = 15 * time.Second

var errInside = errors.New("its address is inside a network")

// dial connects to an allowed host. It checks the resolved address right before the
// connection is made, so that changing the DNS entry of a name gains nothing.
func (p *Proxy) dial(ctx context.Context, h head) (net.Conn, error) {
	place, inside := p.inside[h.host]
	name := h.host
	switch {
	case inside && place.IsSingleIP():
		name = place.Addr().String()
	case !inside && strings.Contains(name, "."): // fully qualified, without the machine's search domains
		name += "."
	}
	d := net.Dialer{
		Timeout:  dialTime,
		Resolver: p.resolver,
		Control: func(network, address string, _ syscall.RawConn) error {
			at, err := netip.ParseAddrPort(address)
			a := at.Addr().Unmap()
			switch {
			case err != nil || network != "tcp4" && network != "tcp6":
				return errInside
			case inside && place.Contains(a) && !reach.Metadata(a): //control:egress-metadata
				return nil
			case inside || !reach.Public(a): //control:egress-dialed
				return errInside
			}
			return nil
		},
	}
	conn, err := d.DialContext(ctx, "tcp", net.JoinHostPort(name, strconv.Itoa(h.port)))
	var unknown *net.DNSError
	switch {
	case err == nil:
		return conn, nil
	case errors.Is(err, errInside):
		return nil, &refusal{
			status: http.StatusForbidden,
			at:     h.at(),
			why:    "because its address is inside a network",
			err:    err,
		}
	case errors.As(err, &unknown):
		return nil, &refusal{status: http.StatusBadGateway, at: h.at(), why: "its name was not found", err: err}
	}
	return nil, &refusal{status: http.StatusBadGateway, at: h.at(), why: "it does not answer", err: err}
}

// metered is a connection with a read limit. moved is called after each transfer.
type metered struct {
	net.Conn
	left  int64
	moved func()
}

var errTooMuch = errors.New("more than one connection may carry")

// Read fails with errTooMuch once the limit is exceeded.
func (m *metered) Read(b []byte) (int, error) {
	n, err := m.Conn.Read(b)
	m.left -= int64(n)
	m.moved()
	if m.left < 0 { //control:egress-bounded
		return 0, errTooMuch
	}
	return n, err
}

// Write implements [net.Conn].
func (m *metered) Write(b []byte) (int, error) {
	n, err := m.Conn.Write(b)
	m.moved()
	return n, err
}

// CloseWrite closes the write direction if possible, else the connection.
func (m *metered) CloseWrite() error {
	if c, ok := m.Conn.(interface{ CloseWrite() error }); ok {
		return c.CloseWrite()
	}
	return m.Close()
}

// idle closes connections after idleTime without a transfer on any of them. moved is
// for [metered]; stop ends the watch.
func idle(conns ...net.Conn) (moved func(), stop func()) {
	t := time.AfterFunc(idleTime, func() {
		for _, c := range conns {
			_ = c.Close()
		}
	})
	return func() { t.Reset(idleTime) }, func() { t.Stop() }
}
