// Package beside delegates workspaces to another process on this machine, in a
// container of its own. That container has the tools for sandboxes, no secrets and no
// network, and its limits cover the sandboxes. Both sides share a socket, and the
// directory of the workspaces at the same path.
package beside

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/handrail-bot/handrail/agent/workspace"
)

// request is the first line of a connection. Without a Spec it asks whether workspaces
// are available.
type request struct {
	Version int             `json:"version"`
	Spec    *workspace.Spec `json:"spec,omitempty"`
	Overlay bool            `json:"overlay,omitempty"`
}

// response answers a request. The tool host and the client use the rest.
type response struct {
	Error    string           `json:"error,omitempty"`
	Bounds   workspace.Bounds `json:"bounds"`
	Programs string           `json:"programs,omitempty"`
}

// Engine opens workspaces through a socket.
type Engine struct {
	socket string
	log    *slog.Logger
}

var _ workspace.Engine = (*Engine)(nil)

// New returns an engine for a socket.
func New(socket string, log *slog.Logger) *Engine { return &Engine{socket: socket, log: log} }

// Name returns "bwrap", the engine behind the socket.
func (*Engine) Name() string { return "bwrap" }

// Layers returns true: workspaces are overlays.
func (*Engine) Layers() bool { return true }

// Check asks whether workspaces are available.
func (e *Engine) Check(ctx context.Context) error {
	_, err := e.ask(ctx)
	return err
}

// Bounds asks how limits are enforced.
func (e *Engine) Bounds(ctx context.Context) workspace.Bounds {
	answer, err := e.ask(ctx)
	if err != nil {
		answer.Bounds.Missing = append(answer.Bounds.Missing, "whatever "+e.socket+", which does not answer, leaves out")
	}
	return answer.Bounds
}

// Programs asks for the programs of workspaces.
func (e *Engine) Programs(ctx context.Context, _ workspace.Spec) (string, error) {
	answer, err := e.ask(ctx)
	return answer.Programs, err
}

func (e *Engine) ask(ctx context.Context) (response, error) {
	conn, answer, err := e.dial(ctx, request{})
	if err == nil {
		err = conn.UnixConn.Close()
	}
	return answer, err
}

// Open opens a workspace on an overlay, else on a copy.
func (e *Engine) Open(ctx context.Context, spec workspace.Spec) (*workspace.Workspace, error) {
	if err := spec.Check(); err != nil {
		return nil, err
	}
	ws, err := e.open(ctx, request{Spec: &spec, Overlay: true})
	if err != nil && ctx.Err() == nil {
		again := workspace.RemoveTree(spec.State) // discard the first attempt
		if again == nil {
			ws, again = e.open(ctx, request{Spec: &spec})
		}
		if again == nil {
			return ws, nil
		}
		return nil, errors.Join(err, again)
	}
	return ws, err
}

func (e *Engine) open(ctx context.Context, r request) (*workspace.Workspace, error) {
	conn, _, err := e.dial(ctx, r)
	if err != nil {
		return nil, fmt.Errorf("open workspace: %w", err)
	}
	return workspace.Connect(
		ctx,
		workspace.Config{
			Engine: e.Name(),
			Conn:   conn,
			Egress: r.Spec.Egress,
			Log:    e.log,
			Release: func(ctx context.Context) error {
				// The other side hangs up after everything has ended.
				conn.wait(ctx)
				return errors.Join(conn.UnixConn.Close(), r.Spec.Release())
			},
		},
	)
}

// dial connects, and makes one request.
func (e *Engine) dial(ctx context.Context, r request) (*hangUp, response, error) {
	var answer response
	c, err := new(net.Dialer).DialContext(ctx, "unix", e.socket)
	if err != nil {
		return nil, answer, fmt.Errorf("reach the workspaces at %s: %w: start `handrail workspaces` there", e.socket, err)
	}
	conn, ok := c.(*net.UnixConn)
	if !ok {
		return nil, answer, errors.Join(fmt.Errorf("reach the workspaces at %s: not a socket", e.socket), c.Close())
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	in := bufio.NewReader(conn)
	r.Version = workspace.WireVersion
	if err = json.NewEncoder(conn).Encode(r); err == nil {
		err = readLine(in, &answer)
	}
	if err == nil && answer.Error != "" {
		err = errors.New(answer.Error)
	}
	if err != nil {
		return nil, answer, errors.Join(fmt.Errorf("ask for a workspace at %s: %w", e.socket, err), conn.Close())
	}
	return &hangUp{UnixConn: conn, in: in, over: make(chan struct{})}, answer, nil
}

// maxLine is the maximum size in bytes of the first line.
const maxLine = 1 << 20

func readLine(in *bufio.Reader, into any) error {
	var line []byte
	for {
		part, err := in.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case len(line) > maxLine:
			return workspace.ErrTooLarge
		case errors.Is(err, bufio.ErrBufferFull):
		case err != nil:
			return err
		default:
			return json.Unmarshal(line, into)
		}
	}
}

// hangUp is a connection. Its Close closes only the write direction, so that the other
// side has time to shut down.
type hangUp struct {
	*net.UnixConn
	in   *bufio.Reader
	once sync.Once
	over chan struct{}
}

// Read reads the output of the tool host.
func (h *hangUp) Read(p []byte) (int, error) {
	n, err := h.in.Read(p)
	if err != nil {
		h.once.Do(func() { close(h.over) })
	}
	return n, err
}

// Close closes the write direction.
func (h *hangUp) Close() error {
	if err := h.CloseWrite(); err != nil && !errors.Is(err, net.ErrClosed) &&
		!strings.Contains(err.Error(), "not connected") {
		return err
	}
	return nil
}

// endTime is the time limit for a sandbox to end.
const endTime = 30 * time.Second

func (h *hangUp) wait(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTime)
	defer cancel()
	select {
	case <-h.over:
	case <-ctx.Done():
	}
}

// Launcher starts sandboxes.
type Launcher interface {
	Check(ctx context.Context) error
	Bounds(ctx context.Context) workspace.Bounds
	Programs(ctx context.Context, spec workspace.Spec) (string, error)
	Launch(ctx context.Context, spec workspace.Spec, overlay bool) (io.ReadWriteCloser, func(context.Context) error, error)
}

// Serve opens the workspaces requested at l, in directories below dir, until ctx ends.
func Serve(ctx context.Context, l net.Listener, sandboxes Launcher, dir string, log *slog.Logger) error {
	var work sync.WaitGroup
	defer work.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { _ = l.Close() })
	defer stop()
	for {
		conn, err := l.Accept()
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return fmt.Errorf("wait for a server: %w", err)
		}
		work.Go(func() {
			stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
			defer stop()
			s := served{conn: conn, in: bufio.NewReader(conn), sandboxes: sandboxes, dir: dir}
			if err := errors.Join(s.serve(ctx), conn.Close()); err != nil {
				log.WarnContext(ctx, "workspace", "err", err)
			}
		})
	}
}

// served is one connection.
type served struct {
	conn      net.Conn
	in        *bufio.Reader
	sandboxes Launcher
	dir       string
}

func (s served) serve(ctx context.Context) error {
	var r request
	if err := readLine(s.in, &r); err != nil {
		return fmt.Errorf("read request: %w", err)
	}
	answer := response{Bounds: s.sandboxes.Bounds(ctx)}
	if r.Version != workspace.WireVersion {
		answer.Error = fmt.Sprintf(
			"the server speaks version %d, not %d: run the same handrail in both containers",
			r.Version,
			workspace.WireVersion,
		)
	}
	if answer.Error == "" && r.Spec == nil {
		var err error
		answer.Programs, err = s.sandboxes.Programs(ctx, workspace.Spec{})
		if err = errors.Join(err, s.sandboxes.Check(ctx)); err != nil {
			answer.Error = err.Error()
		}
	}
	if answer.Error != "" || r.Spec == nil {
		return json.NewEncoder(s.conn).Encode(answer)
	}
	inside, release, err := s.launch(ctx, r)
	if err != nil {
		answer.Error = err.Error()
		return json.NewEncoder(s.conn).Encode(answer)
	}
	if err := json.NewEncoder(s.conn).Encode(answer); err != nil {
		return errors.Join(err, inside.Close(), release(ctx))
	}
	s.join(inside)
	err = release(context.WithoutCancel(ctx))
	if c, ok := inside.(interface{ Complaint() string }); ok && c.Complaint() != "" {
		err = errors.Join(fmt.Errorf("the sandbox says: %s", c.Complaint()), err)
	}
	return err
}

func (s served) launch(ctx context.Context, r request) (io.ReadWriteCloser, func(context.Context) error, error) {
	for _, at := range []string{r.Spec.Source, r.Spec.Over, r.Spec.Git, r.Spec.Layer, r.Spec.LSP, r.Spec.State} {
		if rel, err := filepath.Rel(s.dir, at); at != "" && (err != nil || !filepath.IsLocal(rel)) { //control:beside-directory
			return nil, nil, fmt.Errorf("%s is not below %s, the directory that this process shares with the server", at, s.dir)
		}
	}
	return s.sandboxes.Launch(ctx, *r.Spec, r.Overlay)
}

// join copies data between the connection and the sandbox until either ends.
func (s served) join(inside io.ReadWriteCloser) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = io.Copy(s.conn, inside) // an error on either side ends both
		_ = s.conn.SetReadDeadline(time.Unix(1, 0))
	}()
	_, _ = io.Copy(inside, s.in)
	_ = inside.Close()
	<-done
}
