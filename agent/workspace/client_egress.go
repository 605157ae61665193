package workspace

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/sourcegraph/jsonrpc2"
)

// Egress is the way out of a workspace that has no network of its own. Inside, commands
// find a proxy at [ProxyAddress], and nothing else; each connection to it is handed to
// Serve, which reads what is wanted, does it or not, and closes the connection. What comes
// over it is the workspace's: hostile. ctx ends with the workspace. Refused returns what
// was not let through since it was asked last, a line for each, for the model. Both are
// called concurrently.
type Egress interface {
	Serve(ctx context.Context, conn net.Conn)
	Refused() []string
}

// ProxyAddress is where the proxy is inside a workspace with an [Egress].
const ProxyAddress = "127.0.0.1:3128"

// MaxStreams is how many connections to the proxy the tool host carries at once.
const MaxStreams = 64

// stream is one connection from inside. The bytes of each direction go through a pipe
// without a buffer, and each piece is answered when it was taken: who is slow makes the
// other side wait, and nothing piles up.
type stream struct {
	up, down net.Conn // what comes from inside is written to up, what goes there read from down
	far      carried  // of the egress
	busy     bool     // a piece is being written to up
}

func newStream() *stream {
	s := &stream{}
	s.up, s.far.Conn = net.Pipe()
	s.down, s.far.out = net.Pipe()
	return s
}

func (s *stream) end() { _, _ = s.up.Close(), s.down.Close() }

// carried is the other end of a stream.
type carried struct {
	net.Conn // reads what comes from inside
	out      net.Conn
}

// Write sends to the inside.
func (c carried) Write(b []byte) (int, error) { return c.out.Write(b) }

// Close ends both directions.
func (c carried) Close() error { return errors.Join(c.Conn.Close(), c.out.Close()) }

// SetWriteDeadline sets that of Write.
func (c carried) SetWriteDeadline(t time.Time) error { return c.out.SetWriteDeadline(t) }

// SetDeadline sets that of both directions.
func (c carried) SetDeadline(t time.Time) error {
	return errors.Join(c.Conn.SetDeadline(t), c.out.SetDeadline(t))
}

// asked takes a call of the host, which is about connections to the proxy. It does not
// wait for anything, since the next message is read after it.
func (w *Workspace) asked(ctx context.Context, req *jsonrpc2.Request) {
	var p StreamParams
	err := DecodeParams(req, &p)
	var s *stream
	if err == nil {
		s, err = w.streamFor(req.Method, p.ID)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.streams == nil {
		return
	}
	w.watch.Go(func() {
		switch {
		case err != nil:
		case req.Method == MethodDial:
			w.carry(ctx, p.ID, s, req.ID)
			return
		default:
			err = w.take(s, p)
		}
		w.answer(ctx, req.ID, err)
	})
}

// answer answers a call of the host.
func (w *Workspace) answer(ctx context.Context, id jsonrpc2.ID, err error) {
	if err == nil {
		_ = w.conn.Reply(ctx, id, nil) // it fails when the host is gone, and so is the stream then
		return
	}
	_ = w.conn.Fail(ctx, id, err)
}

// streamFor returns the stream that a call is about.
func (w *Workspace) streamFor(method string, id uint64) (*stream, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := w.streams[id]
	switch {
	case method == MethodDial && (w.egress == nil || s != nil || w.streams == nil || len(w.streams) >= 2*MaxStreams):
		return nil, errors.New("open connection: refused")
	case method == MethodDial:
		s = newStream()
		w.streams[id] = s
		return s, nil
	case method == MethodUp && s != nil && !s.busy:
		s.busy = true
		return s, nil
	case method == MethodUp:
		return nil, fmt.Errorf("take from connection: %w", net.ErrClosed)
	}
	return nil, fmt.Errorf("answer tool host: unknown method %q: mount the same binary", method)
}

// take passes on what came from inside.
func (w *Workspace) take(s *stream, p StreamParams) error {
	_, err := s.up.Write(p.Data)
	if p.End {
		err = s.up.Close()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	s.busy = false
	return err
}

// carry gives a new connection to the egress and passes on what that says, until both
// have ended.
func (w *Workspace) carry(ctx context.Context, id uint64, s *stream, call jsonrpc2.ID) {
	stop := context.AfterFunc(ctx, s.end)
	defer stop()
	w.answer(ctx, call, nil)
	said := make(chan struct{})
	go func() {
		defer close(said)
		w.say(ctx, id, s)
	}()
	w.egress.Serve(ctx, s.far)
	_ = s.far.Close()
	<-said
	s.end()
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.streams, id)
}

// say sends to the inside what the egress writes.
func (w *Workspace) say(ctx context.Context, id uint64, s *stream) {
	buf := make([]byte, 64<<10)
	for {
		n, err := s.down.Read(buf)
		if n > 0 && w.call(ctx, MethodDown, &StreamParams{ID: id, Data: buf[:n]}, nil) != nil {
			_ = s.down.Close()
			return
		}
		if err != nil {
			_ = w.call(ctx, MethodDown, &StreamParams{ID: id, End: true}, nil)
			return
		}
	}
}

// endStreams keeps new ones from coming; those that are there end by their context.
func (w *Workspace) endStreams() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.streams = nil
}
