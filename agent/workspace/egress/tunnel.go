package egress

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"slices"
	"time"

	"github.com/handrail-bot/handrail/policy/reach"
)

// helloTime is the time limit for a client to start TLS.
const helloTime = 30 * time.Second

// tunnel joins two connections after the client has started TLS for the requested name.
// The content stays encrypted.
func (p *Proxy) tunnel(ctx context.Context, c client, h head) error {
	up, err := p.dial(ctx, h)
	if err != nil {
		return err
	}
	defer func() { _ = up.Close() }()
	stop := context.AfterFunc(ctx, func() { _ = up.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	if _, err := io.WriteString(c, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		return err
	}
	if err := c.SetDeadline(time.Now().Add(helloTime)); err != nil {
		return err
	}
	begin, name, err := readHello(c)
	switch n, _ := reach.Name(name); {
	case errors.Is(err, errSilent):
		return err
	case err != nil: //control:egress-tls
		return &refusal{at: h.at(), why: "because the traffic in it was no TLS", err: err, begun: true}
	case n != h.host: //control:egress-sni
		return &refusal{
			at:    h.at(),
			why:   "because the TLS that came through it was for " + quote(name) + ", another name",
			begun: true,
			last:  unrecognized,
		}
	}
	if err := c.SetDeadline(time.Time{}); err != nil {
		return err
	}
	if _, err := up.Write(begin); err != nil {
		return err
	}
	moved, end := idle(c, up)
	join(&metered{Conn: c, left: maxUp, moved: moved}, &metered{Conn: up, left: maxDown, moved: moved})
	end()
	return nil
}

// unrecognized is the TLS alert unrecognized_name.
var unrecognized = []byte{21, 3, 3, 0, 2, 2, 112}

// join copies data in both directions until the host has sent everything.
func join(c, up *metered) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		if _, err := io.Copy(up, c); err != nil || up.CloseWrite() != nil {
			_ = up.Close()
		}
	}()
	_, _ = io.Copy(c, up) // an error on either side ends both
	_ = c.Close()
	_ = up.Close()
	<-done
}

// encryptedHello is the TLS extension that hides the requested name.
const encryptedHello = 0xfe0d

var (
	errHello  = errors.New("read")
	errHidden = errors.New("the name is hidden")
	errSilent = errors.New("nothing came")
)

// readHello reads the ClientHello of TLS. It returns the bytes read, and the requested
// name.
func readHello(r io.Reader) (raw []byte, name string, err error) {
	var seen bytes.Buffer
	err = errors.New("no TLS")
	var hidden bool
	// The standard library parses the hello; the handshake ends before any answer.
	heard := func(i *tls.ClientHelloInfo) (*tls.Config, error) {
		name, hidden, err = i.ServerName, slices.Contains(i.Extensions, encryptedHello), nil
		return nil, errHello
	}
	cfg := &tls.Config{MinVersion: tls.VersionTLS12, GetConfigForClient: heard}
	handshake := tls.Server(readOnlyConn{r: io.TeeReader(r, &seen)}, cfg).Handshake()
	switch {
	case err != nil && seen.Len() == 0:
		return nil, "", errSilent
	case err != nil:
		return nil, "", handshake
	case hidden: //control:egress-hidden-name
		return nil, "", errHidden
	}
	return seen.Bytes(), name, nil
}

// readOnlyConn is a connection that discards writes.
type readOnlyConn struct {
	net.Conn
	r io.Reader
}

func (l readOnlyConn) Read(b []byte) (int, error)  { return l.r.Read(b) }
func (l readOnlyConn) Write(b []byte) (int, error) { return len(b), nil }
