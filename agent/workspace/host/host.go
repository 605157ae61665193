// Package host is the tool host. It runs inside the workspace as one unprivileged user,
// and serves [workspace.Workspace] over its connection: files, search, commands,
// programs and changes. It trusts neither the tree it serves nor the commands it runs.
// The engine provides the wall around it.
package host

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"runtime/debug"
	"sync"
	"time"

	"github.com/sourcegraph/jsonrpc2"

	"github.com/handrail-bot/handrail/agent/workspace"
	"github.com/handrail-bot/handrail/policy/ignore"
)

// Config configures the host.
type Config struct {
	Root   string           // absolute path of the tree
	Name   string           // see [workspace.Spec]
	Base   string           // read-only base; "" if the engine cannot show it
	Upper  string           // upper layer of the overlay at Root; "" if Root is a copy; needs Base
	Layer  string           // read-only tree of the set-up below the base; "" if none
	Cache  string           // upper layer of the overlay at [workspace.CacheInside]; "" if there is none
	Git    string           // path inside of [workspace.Spec.Git]; "" if none
	LSP    string           // installed language servers, see [workspace.Spec]; "" if none
	Writes []string         // names of the other repositories that may be changed
	Env    []string         // complete environment of commands, KEY=value
	Dirs   []string         // other directories on the server's disk that count; found automatically with Init
	Init   bool             // the process owns its PID namespace: reap and kill orphans
	Hold   bool             // the host itself enforces the limits
	Limits workspace.Limits // Command and DiskBytes; the others only with Hold
	// Way opens the proxy for a [workspace.Egress]; nil disables proxies.
	Way func(context.Context, *workspace.Conn) (Way, error)
	Log *slog.Logger

	idleServer time.Duration // after which a language server ends; 0 means 5 minutes
	slower     int           // multiplies the time limits of answers; 0 means 1
}

// limit returns a time limit of an answer. Tests have longer ones, which only end hangs.
func (c Config) limit(d time.Duration) time.Duration { return d * time.Duration(max(1, c.slower)) }

// Way carries connections of commands to the proxy. Down delivers data of the proxy.
// Environ returns the environment variables for commands.
type Way interface {
	Down(p workspace.StreamParams) error
	Environ() []string
	Close()
}

// host serves one connection.
type host struct {
	cfg     Config
	root    *os.Root
	real    string // cfg.Root without symlinks
	conn    *workspace.Conn
	log     *slog.Logger
	agent   *ignores // .agentignore of the base
	git     *ignores // present .gitignore
	base    *baseline
	procs   *processes
	shell   *shell
	progs   programs
	servers servers
	pages   pages
	way     wayOut
	watch   *fileWatch       // set before base is known
	others  map[string]*host // those that may be changed, by name; they serve nothing
	of      *host            // of another repository: the workspace, and the directory in it
	within  string
	past    gitMaker // guarded by the shell's queue
	wasFull []string // paths of full places; guarded likewise

	strayed sync.Mutex
	strays  seenDirectories // guarded by strayed

	work  sync.WaitGroup
	mu    sync.Mutex
	stops map[jsonrpc2.ID]context.CancelFunc
	wrote map[string]bool // files that write has written; true for those that did not exist or were empty
	moves map[stamp]bool  // the same by size, time and inode, to find them under another name
}

// Serve answers on conn until it is closed or ctx ends, then ends everything that it
// started. It returns nil if the client hung up.
func Serve(ctx context.Context, conn io.ReadWriteCloser, cfg Config) error {
	h, err := newHost(cfg)
	if err != nil {
		return errors.Join(err, conn.Close())
	}
	defer func() { _ = h.root.Close() }()
	defer h.base.close()
	if cfg.Init {
		release, err := h.procs.guard()
		if err != nil {
			return errors.Join(err, conn.Close())
		}
		defer release()
		defer h.procs.reapEach()()
	}
	if err := h.procs.launch(cfg); err != nil {
		return errors.Join(err, conn.Close())
	}
	defer h.procs.endThread()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ready := make(chan struct{})
	h.conn = workspace.NewConn(ctx, conn, starting{h, ready}, h.log)
	close(ready)
	defer h.closeOthers()
	h.work.Go(func() {
		h.watch = newWatch(ctx, h.watchConfig())
		h.scanOthers(ctx)
		h.base.scan(ctx, h)
		h.watch.Run(ctx)
	})
	<-h.conn.Gone()
	cancel()
	h.mu.Lock()
	for _, stop := range h.stops {
		stop()
	}
	h.stops = nil
	h.mu.Unlock()
	h.servers.close()
	h.pages.close()
	h.progs.stopAll(h)
	h.way.close()
	h.work.Wait()
	h.shell.close()
	if h.base.err != nil && !errors.Is(h.base.err, context.Canceled) {
		return fmt.Errorf("serve workspace: %w", h.base.err)
	}
	return nil
}

func newHost(cfg Config) (*host, error) {
	if !filepath.IsAbs(cfg.Root) {
		return nil, fmt.Errorf("open workspace root %q: it must be an absolute path", cfg.Root)
	}
	if cfg.Limits.Command <= 0 {
		cfg.Limits.Command = workspace.DefaultLimits.Command
	}
	root, err := os.OpenRoot(cfg.Root)
	if err != nil {
		return nil, fmt.Errorf("open workspace root: %w", err)
	}
	resolved, err := filepath.EvalSymlinks(cfg.Root)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open workspace root: %w", err), root.Close())
	}
	h := &host{
		cfg:   cfg,
		root:  root,
		real:  resolved,
		log:   cfg.Log,
		stops: map[jsonrpc2.ID]context.CancelFunc{},
		wrote: map[string]bool{},
		moves: map[stamp]bool{},
	}
	if h.log == nil {
		h.log = slog.New(slog.DiscardHandler)
	}
	h.procs = &processes{init: cfg.Init}
	h.agent = newIgnores(root, ".agentignore", true)
	h.git = newIgnores(root, ".gitignore", false)
	h.git.own = ignore.Parse(ignoredFiles(cfg.Git)) //control:own-ignores-count
	if h.git.folds = caseless(cfg.Git); h.git.folds {
		h.git.own = h.git.own.Caseless()
	}
	if h.base, err = newBaseline(cfg, h.agent); err != nil {
		return nil, errors.Join(err, root.Close())
	}
	h.base.tree = root
	if err := h.openOthers(); err != nil {
		return nil, errors.Join(err, root.Close())
	}
	h.past = gitMaker{Root: root, Past: cfg.Git}
	h.shell = newShell(h)
	h.progs.running = map[uint64]*program{}
	h.servers.begin(h)
	h.pages.h = h
	return h, nil
}

// starting delays the first message until the connection is known.
type starting struct {
	h     *host
	ready <-chan struct{}
}

// Handle runs each request on its own goroutine; Serve waits for them.
func (s starting) Handle(ctx context.Context, _ *jsonrpc2.Conn, req *jsonrpc2.Request) {
	<-s.ready
	h := s.h
	if req.Notif {
		h.notified(req)
		return
	}
	ctx, cancel := context.WithCancel(ctx)
	if !h.begin(&req.ID, cancel) {
		cancel()
		return
	}
	go func() {
		defer h.work.Done()
		h.answer(ctx, req)
		h.mu.Lock()
		delete(h.stops, req.ID)
		h.mu.Unlock()
		cancel()
	}()
}

// begin registers work for which Serve waits. It reports false if Serve is ending.
func (h *host) begin(id *jsonrpc2.ID, stop context.CancelFunc) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.stops == nil {
		return false
	}
	if id != nil {
		h.stops[*id] = stop
	}
	h.work.Add(1)
	return true
}

func (h *host) answer(ctx context.Context, req *jsonrpc2.Request) {
	var result any
	err := h.recoverPanic(req.Method, func() (err error) {
		result, err = h.do(ctx, req)
		return err
	})
	if err == nil {
		err = h.conn.Reply(ctx, req.ID, result)
		if err == nil || !errors.Is(err, workspace.ErrTooLarge) {
			return // if the reply failed, the client is gone
		}
	}
	if err := h.conn.Fail(ctx, req.ID, err); err != nil {
		h.log.Debug("answer client", "err", err)
	}
}

// recoverPanic calls fn and returns its panic as an error: it ends the request, not the
// workspace.
func (h *host) recoverPanic(what string, fn func() error) (err error) {
	defer func() {
		if v := recover(); v != nil { //control:host-panic
			h.log.Error("panic", "what", what, "value", fmt.Sprint(v), "stack", string(debug.Stack()))
			err = fmt.Errorf("%s broke because of a fault in Handrail itself (%v): reach the aim in another way", what, v)
		}
	}()
	return fn()
}

func (h *host) notified(req *jsonrpc2.Request) {
	switch req.Method {
	case workspace.MethodCancel:
		var p workspace.CancelParams
		if workspace.DecodeParams(req, &p) == nil {
			h.mu.Lock()
			if stop := h.stops[jsonrpc2.ID{Num: p.ID}]; stop != nil {
				stop()
			}
			h.mu.Unlock()
		}
	case workspace.MethodStop:
		var p workspace.StreamParams
		if workspace.DecodeParams(req, &p) == nil && h.begin(nil, nil) {
			go func() {
				defer h.work.Done()
				h.progs.stop(h, p.ID)
			}()
		}
	}
}

func (h *host) do(ctx context.Context, req *jsonrpc2.Request) (any, error) {
	switch req.Method {
	case workspace.MethodHello:
		return workspace.HelloResult{Version: workspace.WireVersion, Root: h.cfg.Root}, nil
	case workspace.MethodRead:
		return with(req, func(p workspace.PathParams) (*workspace.ReadResult, error) {
			return h.read(ctx, string(p.Path), p.Ranges)
		})
	case workspace.MethodChunk:
		return with(req, h.chunk)
	case workspace.MethodWrite:
		return with(req, func(p workspace.WriteParams) (any, error) { return nil, h.write(ctx, string(p.Path), p.Data) })
	case workspace.MethodRemove:
		return with(req, func(p workspace.PathParams) (any, error) { return nil, h.remove(ctx, string(p.Path)) })
	case workspace.MethodList:
		return with(req, func(p workspace.PathParams) (workspace.Listing, error) { return h.list(ctx, p) })
	case workspace.MethodSearch:
		return with(req, func(q workspace.Query) (workspace.Matches, error) { return h.search(ctx, q) })
	case workspace.MethodFind:
		return with(req, func(q workspace.NameQuery) (workspace.Names, error) { return h.find(ctx, q) })
	case workspace.MethodOutline:
		return with(req, func(q workspace.OutlineQuery) (workspace.Outline, error) { return survey{h}.outline(ctx, q) })
	case workspace.MethodUsed:
		return with(req, func(p workspace.UsedParams) ([]workspace.Used, error) { return survey{h}.used(ctx, p) })
	case workspace.MethodRun:
		return with(req, func(c workspace.Command) (*workspace.RunResult, error) {
			res, err := h.run(ctx, req.ID, c)
			return &workspace.RunResult{CommandResult: res, Text: []byte(res.Output)}, err
		})
	case workspace.MethodChanges:
		return h.changes(ctx)
	case workspace.MethodOther:
		return with(req, func(p workspace.PathParams) ([]workspace.WireChange, error) {
			return h.otherChanges(ctx, string(p.Path))
		})
	case workspace.MethodStrays:
		h.strayed.Lock()
		defer h.strayed.Unlock()
		return strays(h.root, &h.strays), nil
	case workspace.MethodStart:
		return with(req, func(p workspace.StartParams) (any, error) { return nil, h.startProgram(ctx, p) })
	case workspace.MethodLanguages:
		return with(req, func(c []workspace.LanguageServer) ([]workspace.Language, error) {
			return h.servers.languages(ctx, c)
		})
	case workspace.MethodServers:
		return h.servers.states(ctx)
	case workspace.MethodWarm:
		return h.servers.warm(ctx)
	case workspace.MethodCode:
		return with(req, func(q workspace.CodeQuery) (workspace.CodeAnswer, error) { return h.servers.code(ctx, q) })
	case workspace.MethodProblems:
		return with(req, func(q workspace.ProblemsQuery) ([]workspace.FileProblems, error) {
			return h.servers.problems(ctx, q)
		})
	case workspace.MethodChromium:
		return h.pages.name(), nil
	case workspace.MethodPage:
		return with(req, func(s workspace.PageStep) (*workspace.PageView, error) { return h.pages.page(ctx, s) })
	case workspace.MethodListen:
		return nil, h.way.begin(ctx, h)
	case workspace.MethodDown:
		return with(req, func(p workspace.StreamParams) (any, error) { return nil, h.way.down(p) })
	case workspace.MethodInput:
		return with(req, func(p workspace.StreamParams) (any, error) { return nil, h.progs.input(p) })
	}
	return nil, fmt.Errorf("answer client: unknown method %q: mount the same binary", req.Method)
}

// wayOut holds the proxy, once it is open.
type wayOut struct {
	mu   sync.Mutex
	to   Way
	over bool
}

// begin opens the proxy before any command runs that could take its address.
func (w *wayOut) begin(ctx context.Context, h *host) (err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if h.cfg.Way == nil || w.to != nil || w.over {
		return errors.New("open the way out: there is none here")
	}
	if w.to, err = h.cfg.Way(ctx, h.conn); err == nil {
		h.cfg.Env = append(h.cfg.Env, w.to.Environ()...)
	}
	return err
}

func (w *wayOut) down(p workspace.StreamParams) error {
	w.mu.Lock()
	to := w.to
	w.mu.Unlock()
	if to == nil {
		return fmt.Errorf("carry to command: %w", net.ErrClosed)
	}
	return to.Down(p)
}

func (w *wayOut) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.over = true
	if w.to != nil {
		w.to.Close()
	}
}

func with[P, R any](req *jsonrpc2.Request, f func(P) (R, error)) (any, error) {
	var p P
	if err := workspace.DecodeParams(req, &p); err != nil {
		return nil, err
	}
	return f(p)
}
