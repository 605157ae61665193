package workspace

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sourcegraph/jsonrpc2"
)

// Workspace is an open workspace. Its methods satisfy [Files], [Searcher], [Shell],
// [Changer] and [Starter], and are safe for concurrent use. After Close, or if the host
// has died, they fail with [ErrGone]. Cancelling a call's context also stops the work
// inside.
type Workspace struct {
	engine  string
	root    string
	conn    *Conn
	release func(context.Context) error
	ids     atomic.Uint64

	egress Egress

	mu      sync.Mutex
	runs    map[uint64]*tail
	progs   map[uint64]*process
	streams map[uint64]*stream // nil after the connection has ended

	watch    sync.WaitGroup
	closing  sync.Once
	closeErr error
}

// Config is the input of [Connect]. Release is called once, by Close, after the
// connection was closed. It must end the host if it is still alive, wait for it, and
// remove its resources.
type Config struct {
	Engine  string
	Conn    io.ReadWriteCloser
	Egress  Egress // of the [Spec]
	Release func(context.Context) error
	Log     *slog.Logger
}

// Connect greets the tool host at the other end of cfg.Conn and returns the workspace
// once the host has answered. On failure it releases everything.
func Connect(ctx context.Context, cfg Config) (*Workspace, error) {
	w := &Workspace{engine: cfg.Engine, release: cfg.Release, egress: cfg.Egress,
		runs: map[uint64]*tail{}, progs: map[uint64]*process{}, streams: map[uint64]*stream{}}
	logger := cfg.Log
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	alive, end := context.WithCancel(context.WithoutCancel(ctx))
	w.conn = NewConn(alive, cfg.Conn, handlerFunc(w.handleMessage), logger)
	w.watch.Go(func() {
		<-w.conn.Gone()
		end()
		w.endPrograms()
		w.endStreams()
	})
	var hello HelloResult
	if err := w.call(ctx, MethodHello, nil, &hello); err != nil {
		return nil, errors.Join(fmt.Errorf("greet tool host: %w", err), w.Close(context.WithoutCancel(ctx)))
	}
	if hello.Version != WireVersion {
		err := fmt.Errorf("greet tool host: it speaks version %d, not %d: mount the same binary", hello.Version, WireVersion)
		return nil, errors.Join(err, w.Close(context.WithoutCancel(ctx)))
	}
	w.root = hello.Root
	if w.egress != nil {
		if err := w.call(ctx, MethodListen, nil, nil); err != nil {
			return nil, errors.Join(fmt.Errorf("let hosts through: %w", err), w.Close(context.WithoutCancel(ctx)))
		}
	}
	return w, nil
}

// Engine returns the name of the engine that opened the workspace.
func (w *Workspace) Engine() string { return w.engine }

// Root returns the absolute path of the workspace as seen by commands inside.
func (w *Workspace) Root() string { return w.root }

// Close ends the workspace: every process in it, and all its files. Calling
// it again returns the same error.
func (w *Workspace) Close(ctx context.Context) error {
	w.closing.Do(func() {
		if err := w.conn.Close(); err != nil && !errors.Is(err, jsonrpc2.ErrClosed) {
			w.closeErr = fmt.Errorf("close workspace connection: %w", err)
		}
		w.watch.Wait()
		if w.release != nil {
			w.closeErr = errors.Join(w.closeErr, w.release(ctx))
		}
	})
	return w.closeErr
}

// Read returns lines of a text file, or all of it if no ranges are given.
func (w *Workspace) Read(ctx context.Context, path string, ranges ...Range) (File, error) {
	var r ReadResult
	if err := w.call(ctx, MethodRead, PathParams{Path: []byte(path), Ranges: ranges}, &r); err != nil {
		return File{}, err
	}
	return r.unfold()
}

// ReadAll returns the bytes and the mode of a file. It returns [ErrTooLarge] if the
// file has more than limit bytes; limit 0 means [MaxWrite].
func (w *Workspace) ReadAll(ctx context.Context, path string, limit int64) ([]byte, fs.FileMode, error) {
	if limit <= 0 {
		limit = MaxWrite
	}
	r := &chunkReader{ctx: ctx, ws: w, req: ChunkParams{Path: []byte(path), Limit: limit}}
	if err := r.fetch(); err != nil {
		return nil, 0, err
	}
	var out bytes.Buffer
	if _, err := io.Copy(&out, io.LimitReader(r, limit+1)); err != nil {
		return nil, 0, err
	}
	if int64(out.Len()) > limit {
		return nil, 0, fmt.Errorf("read %s: %w", path, ErrTooLarge)
	}
	return out.Bytes(), r.mode, nil
}

// Write replaces or creates a file atomically, and creates missing directories. An
// existing file keeps its mode.
func (w *Workspace) Write(ctx context.Context, name string, data []byte) error {
	if len(data) > MaxWrite {
		return fmt.Errorf("write %s: %d bytes, the limit is %d: %w", name, len(data), MaxWrite, ErrTooLarge)
	}
	return w.call(ctx, MethodWrite, &WriteParams{Path: []byte(name), Data: data}, nil)
}

// Remove removes a file, a symlink or an empty directory.
func (w *Workspace) Remove(ctx context.Context, path string) error {
	return w.call(ctx, MethodRemove, PathParams{Path: []byte(path)}, nil)
}

// List lists a directory in order, without files excluded by .gitignore and
// .agentignore. limit 0 means 1,000.
func (w *Workspace) List(ctx context.Context, path string, recursive bool, limit int) (Listing, error) {
	var l Listing
	err := w.call(ctx, MethodList, PathParams{Path: []byte(path), Recursive: recursive, Max: limit}, &l)
	return l, err
}

// Search finds text in the files visible to List.
func (w *Workspace) Search(ctx context.Context, q Query) (Matches, error) {
	var m Matches
	err := w.call(ctx, MethodSearch, q, &m)
	return m, err
}

// Find finds files and directories by name among those visible to List.
func (w *Workspace) Find(ctx context.Context, q NameQuery) (Names, error) {
	var n Names
	err := w.call(ctx, MethodFind, q, &n)
	return n, err
}

// Outline finds the definitions in a file, or in the files of a directory that are
// visible to List.
func (w *Workspace) Outline(ctx context.Context, q OutlineQuery) (Outline, error) {
	var o Outline
	err := w.call(ctx, MethodOutline, q, &o)
	return o, err
}

// Used returns at most the given number of definitions in paths, those named by most
// other files. It reads as many of the files as the time allows.
func (w *Workspace) Used(ctx context.Context, paths []string, within time.Duration, most int) ([]Used, error) {
	var u []Used
	err := w.call(ctx, MethodUsed, UsedParams{Paths: paths, Time: within, Max: most}, &u)
	return u, err
}

// Changes lists the differences from the base, by path.
func (w *Workspace) Changes(ctx context.Context) ([]Change, error) {
	return w.changes(ctx, MethodChanges, nil)
}

// OtherChanges is [Workspace.Changes] of another repository that may be changed. The paths
// are relative to its directory.
func (w *Workspace) OtherChanges(ctx context.Context, name string) ([]Change, error) {
	return w.changes(ctx, MethodOther, PathParams{Path: []byte(name)})
}

func (w *Workspace) changes(ctx context.Context, method string, params any) ([]Change, error) {
	var wire []WireChange
	if err := w.call(ctx, method, params, &wire); err != nil {
		return nil, err
	}
	out := make([]Change, 0, len(wire))
	for _, c := range wire {
		if !fs.ValidPath(validUTF8(string(c.Path))) || string(c.Path) == "." && c.Why == "" {
			return nil, fmt.Errorf("list changes: the tool host reports the path %q", c.Path)
		}
		out = append(out, Change{
			Path:  string(c.Path),
			Kind:  c.Kind,
			Mode:  c.Mode,
			Size:  c.Size,
			Why:   c.Why,
			Wrote: c.Wrote,
		})
	}
	return out, nil
}

// Strays returns the work that is only in the repository inside, by ref.
func (w *Workspace) Strays(ctx context.Context) ([]Stray, error) {
	var out []Stray
	err := w.call(ctx, MethodStrays, nil, &out)
	return out, err
}

// Content returns the bytes of a regular file, or the target of a symlink. The reader
// must be closed, and is valid only until ctx ends.
func (w *Workspace) Content(ctx context.Context, path string) (io.ReadCloser, error) {
	r := &chunkReader{ctx: ctx, ws: w, req: ChunkParams{Path: []byte(path), Raw: true}}
	if err := r.fetch(); err != nil {
		return nil, err
	}
	return r, nil
}

// Readlink returns the target of a symlink, or "" for a regular file.
func (w *Workspace) Readlink(ctx context.Context, path string) (string, error) {
	r := &chunkReader{ctx: ctx, ws: w, req: ChunkParams{Path: []byte(path), Raw: true}}
	if err := r.fetch(); err != nil || r.mode&fs.ModeSymlink == 0 {
		return "", err
	}
	return string(r.data), nil
}

// call makes one request. If ctx ends first, it tells the host to stop.
func (w *Workspace) call(ctx context.Context, method string, params, result any) error {
	return w.callID(ctx, w.ids.Add(1), method, params, result)
}

func (w *Workspace) callID(ctx context.Context, id uint64, method string, params, result any) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	err := w.conn.Call(ctx, id, method, params, result)
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		// A failure here means the connection is gone, and the request with it.
		_ = w.conn.Notify(context.WithoutCancel(ctx), MethodCancel, CancelParams{ID: id})
	}
	return decodeError(err)
}

// handleMessage handles requests and notifications from the host. It runs on the reading
// goroutine, so it must not block.
func (w *Workspace) handleMessage(ctx context.Context, _ *jsonrpc2.Conn, req *jsonrpc2.Request) {
	if !req.Notif {
		w.handleCall(ctx, req)
		return
	}
	switch req.Method {
	case MethodProgress:
		var p ProgressParams
		if DecodeParams(req, &p) == nil {
			if t := w.tailOf(p.ID); t != nil {
				t.add(p.Text)
			}
		}
	case MethodOutput:
		var p StreamParams
		if DecodeParams(req, &p) == nil {
			w.output(p)
		}
	}
}

type handlerFunc func(context.Context, *jsonrpc2.Conn, *jsonrpc2.Request)

func (f handlerFunc) Handle(ctx context.Context, c *jsonrpc2.Conn, r *jsonrpc2.Request) { f(ctx, c, r) }
