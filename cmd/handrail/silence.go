package main

import (
	"context"
	"net"
	"net/http"
	"time"
)

// maxSilence is how long a connection to GitHub may carry nothing. Git's keep-alives and the chunks of an upload come
// within seconds.
const maxSilence = 2 * time.Minute

// endSilent has a transport give up connections that carry nothing in either direction for longer than limit.
// Without it, an answer that stops in the middle while the connection stays would be waited for without end.
func endSilent(t *http.Transport, limit time.Duration) {
	dial := t.DialContext
	if dial == nil {
		dial = new(net.Dialer).DialContext
	}
	t.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return heardConn{conn, limit}, nil //control:silent-connection
	}
}

// heardConn is a connection of which each read and write moves the deadline of both.
type heardConn struct {
	net.Conn

	limit time.Duration
}

// Read implements [net.Conn].
func (c heardConn) Read(p []byte) (int, error) {
	if err := c.SetDeadline(time.Now().Add(c.limit)); err != nil {
		return 0, err
	}
	return c.Conn.Read(p)
}

// Write implements [net.Conn].
func (c heardConn) Write(p []byte) (int, error) {
	if err := c.SetDeadline(time.Now().Add(c.limit)); err != nil {
		return 0, err
	}
	return c.Conn.Write(p)
}
