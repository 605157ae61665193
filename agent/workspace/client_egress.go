package workspace

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/sourcegraph/jsonrpc2"
)

// Egress is the proxy of a workspace without a network of its own. Commands inside find
// it at [ProxyAddress]. Each connection is passed to Serve, which reads a request,
// handles or refuses it, and closes the connection. Its input is hostile. ctx ends with
// the workspace. Refused returns the refusals since its last call, one line each, for
// the model. Both methods are called concurrently.
type Egress interface {
	Serve(ctx context.Context, conn net.Conn)
	Refused() []string
}

// ProxyAddress is the address of the proxy inside a workspace with an [Egress].
const ProxyAddress = "127.0.0.1:3128"

// MaxStreams is the maximum number of concurrent proxy connections of a tool host.
const MaxStreams = 64

// stream is one proxy connection from inside. Each direction uses an unbuffered pipe,
// and each piece is acknowledged after it was read: a slow reader blocks the writer,
// and nothing accumulates.
type stream struct {
	up, down net.Conn   // up takes data from inside, down yields data for inside
	far      egressConn // the end used by the egress
	busy     bool       // a piece is being written to up
}

func newStream() *stream {
	s := &stream{}
	s.up, s.far.Conn = net.Pipe()
	s.down, s.far.out = net.Pipe()
	return s
}

func (s *stream) end() { _, _ = s.up.Close(), s.down.Close() }

// egressConn is the egress's end of a stream.
type egressConn struct {
	net.Conn // reads data from inside
	out      net.Conn
}

// Write sends data to the inside.
func (c egressConn) Write(b []byte) (int, error) { return c.out.Write(b) }

// Close ends both directions.
func (c egressConn) Close() error { return errors.Join(c.Conn.Close(), c.out.Close()) }

// SetWriteDeadline sets the deadline of Write.
func (c egressConn) SetWriteDeadline(t time.Time) error { return c.out.SetWriteDeadline(t) }

// SetDeadline sets the deadline of both directions.
func (c egressConn) SetDeadline(t time.Time) error {
	return errors.Join(c.Conn.SetDeadline(t), c.out.SetDeadline(t))
}

// handleCall handles a call of the host about proxy connections. It must not block, because
// it runs on the reading goroutine.
func (w *Workspace) handleCall(ctx context.Context, req *jsonrpc2.Request) {
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
			err = w.passUp(s, p)
		}
		w.answer(ctx, req.ID, err)
	})
}

// answer answers a call of the host.
func (w *Workspace) answer(ctx context.Context, id jsonrpc2.ID, err error) {
	if err == nil {
		_ = w.conn.Reply(ctx, id, nil) // fails only if the host, and so the stream, is gone
		return
	}
	_ = w.conn.Fail(ctx, id, err)
}

// streamFor returns the stream of a call. It creates the stream for [MethodDial].
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

// passUp passes data from inside to the egress.
func (w *Workspace) passUp(s *stream, p StreamParams) error {
	_, err := s.up.Write(p.Data)
	if p.End {
		err = s.up.Close()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	s.busy = false
	return err
}

// carry hands a new connection to the egress and forwards its output until both have
// ended.
func (w *Workspace) carry(ctx context.Context, id uint64, s *stream, call jsonrpc2.ID) {
	stop := context.AfterFunc(ctx, s.end)
	defer stop()
	w.answer(ctx, call, nil)
	said := make(chan struct{})
	go func() {
		defer close(said)
		w.sendDown(ctx, id, s)
	}()
	w.egress.Serve(ctx, s.far)
	_ = s.far.Close()
	<-said
	s.end()
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.streams, id)
}

// sendDown sends the output of the egress to the inside.
func (w *Workspace) sendDown(ctx context.Context, id uint64, s *stream) {
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

// endStreams refuses new streams. The existing ones end with their context.
func (w *Workspace) endStreams() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.streams = nil
}
