package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/handrail-bot/handrail/agent/lsp"
	"github.com/handrail-bot/handrail/agent/workspace"
)

// Limits of language servers.
const (
	idleServer   = 5 * time.Minute
	watchServer  = 2 * time.Second
	deafTime     = 5 * time.Second
	maxRestarts  = 1
	maxTold      = 5000 // changed files that a server is told of; with more it is started anew
	serverMemory = 2 << 30
)

// servers runs the language servers of the workspace, one per kind and root. They start at the
// first question, and again once if they end by themselves.
type servers struct {
	h      *host
	known  []lsp.Server
	ctx    context.Context //nolint:containedctx // they outlive the request that starts them
	cancel context.CancelFunc

	starting sync.WaitGroup
	asking   atomic.Int32 // questions about code at work

	mu     sync.Mutex
	all    map[string]*server
	closed bool
	disk   map[string]stamp        // the changes of the tree that the servers know of
	dirty  bool                    // a command may have changed files since
	before map[string][]byte       // text of files before their first change since the last report
	missed map[*server][]lsp.Event // by servers that are starting
	told   map[string][]workspace.Problem
	fresh  map[string]bool // files to report
}

// server is one language server, or the reason that there is none.
type server struct {
	lsp.Server
	root string

	client   atomic.Pointer[lsp.Client] // nil while it does not run
	mu       sync.Mutex                 // held while it starts
	pr       *program
	out      *os.File
	starts   int
	off      string // why it is not started again
	used     time.Time
	waited   bool // the first answer across files had its wait
	followed sync.WaitGroup
}

func (s *servers) begin(h *host) {
	s.h, s.known = h, lsp.Known()
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.all, s.before, s.told = map[string]*server{}, map[string][]byte{}, map[string][]workspace.Problem{}
	s.fresh, s.missed = map[string]bool{}, map[*server][]lsp.Event{}
}

func (s *servers) close() {
	s.cancel()
	s.starting.Wait()
	s.mu.Lock()
	s.closed = true
	all := s.all
	s.mu.Unlock()
	for _, v := range all {
		v.mu.Lock()
		v.stop(s.h, "the workspace has ended")
		v.mu.Unlock()
		v.followed.Wait()
	}
}

// maxLooked is the maximum number of files that are looked at for their language.
const maxLooked = 20_000

// languages takes the configured servers, and returns those that are installed and have files
// here.
func (s *servers) languages(ctx context.Context, configured []workspace.LanguageServer) ([]workspace.Language, error) {
	if err := s.h.base.wait(ctx); err != nil {
		return nil, err
	}
	known := lsp.Known()
	for _, c := range slices.Backward(configured) {
		known = append([]lsp.Server{lsp.Configured(c.Name, c.Command, c.Extensions)}, known...)
	}
	disk, err := s.h.touched(ctx)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	s.known, s.disk = known, disk
	s.mu.Unlock()
	installed := slices.Collect(s.installed(known))
	if len(installed) == 0 {
		return nil, nil // without a walk over all files
	}
	files, err := s.filesHere(ctx)
	if err != nil {
		return nil, err
	}
	var out []workspace.Language
	taken := map[string]bool{}
	for _, k := range installed {
		var has []string
		for ext := range k.Languages {
			if files[ext].n > 0 && !taken[ext] {
				has = append(has, ext)
				taken[ext] = true
			}
		}
		if slices.Sort(has); len(has) > 0 {
			out = append(out, workspace.Language{Server: k.Name, Extensions: has, Index: k.Cache})
		}
	}
	return out, nil
}

// program returns the path of a server's program on the workspace's PATH, or "".
func (s *servers) program(k lsp.Server) string {
	if len(k.Argv) == 0 {
		return ""
	}
	name := k.Argv[0]
	switch {
	case path.IsAbs(name):
		return programIn([]string{"/"}, name)
	case strings.Contains(name, "/"):
		return programIn([]string{s.h.cfg.Root}, name)
	}
	return s.h.onPath(name)
}

// bundled returns the path of a server's program among those of the operator, or "".
func (s *servers) bundled(k lsp.Server) string {
	if s.h.cfg.LSP == "" || len(k.Argv) == 0 || strings.Contains(k.Argv[0], "/") {
		return ""
	}
	return programIn([]string{path.Join(s.h.cfg.LSP, k.Name, "bin")}, k.Argv[0])
}

// installed yields the servers that have a program here, with its path: first the workspace's own, then
// those of the operator.
func (s *servers) installed(known []lsp.Server) iter.Seq[lsp.Server] {
	return func(yield func(lsp.Server) bool) {
		ways := []func(lsp.Server) string{s.program, s.bundled} //control:own-server-wins
		for _, find := range ways {
			for _, k := range known {
				at := find(k)
				if at == "" {
					continue
				}
				k.Argv = append([]string{at}, k.Argv[1:]...)
				if !yield(k) {
					return
				}
			}
		}
	}
}

// serverFor returns the running server for a file, and starts it if it has to. why is the reason if
// there is none.
func (s *servers) serverFor(ctx context.Context, rel string) (v *server, why string) {
	if err := s.refresh(ctx); err != nil {
		return nil, err.Error()
	}
	if v, why = s.kindFor(rel); v == nil {
		return nil, why
	}
	return v, s.start(ctx, v)
}

// kindFor returns the server for a file, running or not. why is the reason if there is none.
func (s *servers) kindFor(rel string) (v *server, why string) {
	ext := strings.ToLower(path.Ext(rel))
	s.mu.Lock()
	defer s.mu.Unlock()
	var kind *lsp.Server
	for k := range s.installed(s.known) {
		if k.Serves(rel) {
			kind = &k
			break
		}
	}
	if kind == nil || s.closed {
		return nil, fmt.Sprintf("there is no language server for %s files here", cmp.Or(ext, "such"))
	}
	root := kind.RootOf(s.h.cfg.Root, path.Join(s.h.cfg.Root, rel), func(dir, name string) bool {
		in, err := filepath.Rel(s.h.cfg.Root, path.Join(dir, name))
		if err != nil {
			return false
		}
		_, err = s.h.root.Lstat(in)
		return err == nil
	})
	key := kind.Name + " " + root
	v = s.all[key]
	if v == nil {
		v = &server{Server: *kind, root: root}
		s.all[key] = v
	}
	return v, ""
}

// start starts a server that does not run. It returns the reason if that fails.
func (s *servers) start(ctx context.Context, v *server) (why string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.used = time.Now()
	if c := v.client.Load(); c != nil {
		select {
		case <-c.Gone():
			v.stop(s.h, "")
		default:
			return ""
		}
	}
	switch {
	case v.off != "":
		return v.off
	case v.starts > maxRestarts: //control:server-restarts-once
		v.off = fmt.Sprintf("the language server %s has ended by itself %d times and is not started again", v.Name, v.starts)
		return v.off
	}
	if err := s.h.mayRun(ctx, ""); err != nil {
		return err.Error()
	}
	env := map[string]string{}
	for _, kv := range v.Env {
		name, value, _ := strings.Cut(kv, "=")
		env[name] = value
	}
	pr, out, err := s.h.spawn(workspace.Program{Argv: v.Argv, Env: env}, v.root)
	if err != nil {
		return fmt.Sprintf("the language server %s does not start: %v", v.Name, err)
	}
	v.starts++
	v.pr, v.out, v.waited = pr, out, false
	s.mu.Lock()
	s.missed[v] = nil
	s.mu.Unlock()
	//nolint:contextcheck // the server outlives the request that starts it
	client, err := lsp.Start(s.ctx, serverPipe{out, pr.stdin, s.h.cfg.limit(deafTime)}, lsp.Config{
		Root: v.root, Server: v.Server, Start: s.h.cfg.limit(lsp.StartTime), Call: s.h.cfg.limit(lsp.CallTime),
	})
	s.mu.Lock()
	missed := s.missed[v]
	delete(s.missed, v)
	if err == nil {
		v.client.Store(client)
	}
	s.mu.Unlock()
	if err != nil {
		v.stop(s.h, "")
		return fmt.Sprintf("the language server %s does not start: %v", v.Name, err)
	}
	if len(missed) > 0 { //control:told-while-starting
		_ = client.Watched(ctx, missed) // fails only if the server is gone
	}
	v.followed.Go(func() { s.follow(v, client, pr) })
	return ""
}

// stop ends the process of a server. The caller holds v.mu.
func (v *server) stop(h *host, off string) {
	v.off = cmp.Or(v.off, off)
	if v.pr == nil {
		return
	}
	h.procs.killAll(v.pr.family())
	_ = h.ended(v.pr, v.out) // it was killed
	if c := v.client.Swap(nil); c != nil {
		c.Close()
	}
	v.pr = nil
}

// follow ends a server that is idle or takes too much memory.
func (s *servers) follow(v *server, client *lsp.Client, pr *program) {
	most := int64(serverMemory)
	if m := s.h.cfg.Limits.MemoryBytes; m > 0 {
		most = min(most, m/2)
	}
	idle := cmp.Or(s.h.cfg.idleServer, idleServer)
	tick := time.NewTicker(min(watchServer, idle))
	defer tick.Stop()
	for {
		select {
		case <-client.Gone():
			v.mu.Lock()
			if v.client.Load() == client {
				v.stop(s.h, "")
			}
			v.mu.Unlock()
			return
		case <-s.ctx.Done():
			return
		case <-tick.C:
		}
		used := s.h.procs.memory(pr.family())
		self, seen := process(pr.cmd.Process.Pid)
		v.mu.Lock()
		switch {
		case v.client.Load() != client:
		case seen && self.state == 'Z': //control:server-that-left-its-output
			v.stop(s.h, "")
		case used > most: //control:server-memory
			v.stop(s.h, fmt.Sprintf("the language server %s was stopped: it used more than %d MB", v.Name, most>>20))
		case time.Since(v.used) > idle && s.asking.Load() == 0: //control:server-idles
			v.stop(s.h, "")
			v.starts = 0
		}
		v.mu.Unlock()
	}
}

// memory returns the resident memory of a family, in bytes.
func (ps *processes) memory(fam family) (sum int64) {
	for _, pid := range ps.find(fam) {
		sum += residentOf(pid)
	}
	return sum
}

// serverPipe is the connection to a server. One that does not read is given up after a while.
type serverPipe struct {
	out, in *os.File
	deaf    time.Duration
}

// Read implements [io.Reader].
func (p serverPipe) Read(b []byte) (int, error) { return p.out.Read(b) }

// Write implements [io.Writer].
func (p serverPipe) Write(b []byte) (int, error) {
	if err := p.in.SetWriteDeadline(time.Now().Add(p.deaf)); err != nil {
		return 0, err
	}
	n, err := p.in.Write(b)
	if err != nil {
		p.out.Close() // the reader ends, and with it the connection
	}
	return n, err
}

// Close implements [io.Closer].
func (p serverPipe) Close() error { return errors.Join(p.out.Close(), p.in.Close()) }

// running returns the clients of the servers that run, with their roots.
func (s *servers) running() (out []*server) {
	s.mu.Lock()
	all := make([]*server, 0, len(s.all))
	for _, v := range s.all {
		all = append(all, v)
	}
	s.mu.Unlock()
	for _, v := range all {
		if v.client.Load() != nil {
			out = append(out, v)
		}
	}
	return out
}

// ran notes that a command or a program may have changed files.
func (s *servers) ran() {
	s.mu.Lock()
	s.dirty = true
	s.mu.Unlock()
}

// willWrite keeps the text of a file before its first change since the last report.
func (s *servers) willWrite(rel string) {
	s.mu.Lock()
	_, known := s.before[rel]
	s.mu.Unlock()
	if known {
		return
	}
	text, err := survey{s.h}.source(rel)
	if err != nil {
		text = nil
	}
	s.mu.Lock()
	s.before[rel] = text
	s.mu.Unlock()
}

// wrote tells the running servers about a file that was written or removed.
func (s *servers) wrote(ctx context.Context, rel string) {
	s.mu.Lock()
	s.fresh[rel], s.dirty = true, true // a server that is starting is told by refresh
	s.mu.Unlock()
	s.tell(ctx, []lsp.Event{s.eventOf(rel)})
}

func (s *servers) eventOf(rel string) lsp.Event {
	e := lsp.Event{Path: path.Join(s.h.cfg.Root, rel), Kind: lsp.Changed}
	if _, err := s.h.root.Lstat(rel); err != nil {
		e.Kind = lsp.Deleted
	}
	return e
}

// tell sends changes of files to the running servers, and open documents with their text.
func (s *servers) tell(ctx context.Context, events []lsp.Event) {
	if len(events) == 0 {
		return
	}
	s.mu.Lock()
	for v, before := range s.missed {
		s.missed[v] = append(before, events[:min(len(events), max(0, maxTold-len(before)))]...)
	}
	s.mu.Unlock()
	for _, v := range s.running() {
		client := v.client.Load()
		if client == nil {
			continue
		}
		if len(events) > maxTold {
			v.mu.Lock()
			v.stop(s.h, "")
			v.starts--
			v.mu.Unlock()
			continue
		}
		open := client.Opened()
		for _, e := range events {
			if !slices.Contains(open, e.Path) {
				continue
			}
			text, err := survey{s.h}.source(s.rel(e.Path))
			if err != nil {
				_ = client.Forget(ctx, e.Path) // fails only if the server is gone
				continue
			}
			_ = client.Sync(ctx, e.Path, text) // likewise
		}
		_ = client.Watched(ctx, events) // likewise
	}
}

// rel returns a path relative to the root; "" if it is outside.
func (s *servers) rel(abs string) string {
	for _, root := range []string{s.h.cfg.Root, s.h.real} {
		if in, ok := strings.CutPrefix(abs, root+"/"); ok {
			return in
		}
	}
	return ""
}

// refresh tells the running servers exactly which files commands have made, changed or removed.
func (s *servers) refresh(ctx context.Context) error {
	s.mu.Lock()
	was := s.disk
	dirty := s.dirty || s.h.base.upper != nil || s.disk == nil || s.h.progs.busy() //control:programs-are-told
	s.dirty = false
	s.mu.Unlock()
	if !dirty {
		return nil
	}
	now, err := s.h.touched(ctx)
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.disk = now
	s.mu.Unlock()
	if was == nil { // the first look
		return nil
	}
	var events []lsp.Event
	add := func(rel string, kind lsp.EventKind) {
		events = append(events, lsp.Event{Path: path.Join(s.h.cfg.Root, rel), Kind: kind})
	}
	for rel, st := range now {
		old, had := was[rel]
		switch {
		case had && old == st:
			continue
		case st == stamp{}:
			add(rel, lsp.Deleted)
		case !had || old == stamp{}: //control:made-again
			add(rel, lsp.Created)
		default:
			add(rel, lsp.Changed)
		}
	}
	for rel, old := range was {
		if _, still := now[rel]; !still { // back as in the base, or gone
			e := s.eventOf(rel)
			if old == (stamp{}) && e.Kind == lsp.Changed {
				e.Kind = lsp.Created
			}
			events = append(events, e)
		}
	}
	s.mu.Lock()
	for _, e := range events[:min(len(events), maxTold)] {
		s.fresh[s.rel(e.Path)] = true
	}
	s.mu.Unlock()
	s.tell(ctx, events) //control:commands-are-told
	return nil
}

// touched returns the files that differ from the base, also ignored ones; deleted ones have no
// stamp.
func (h *host) touched(ctx context.Context) (map[string]stamp, error) {
	d, err := h.diff(ctx)
	if err != nil {
		return nil, fmt.Errorf("look for changed files: %w", err)
	}
	out := make(map[string]stamp, len(d.out)+len(d.fresh))
	for _, c := range d.out {
		out[string(c.Path)] = stamp{}
		if c.Kind != workspace.Deleted {
			if info, err := h.root.Lstat(string(c.Path)); err == nil {
				out[string(c.Path)] = stamp{size: info.Size(), mtime: info.ModTime().UnixNano(), mode: info.Mode()}
			}
		}
	}
	for i := range d.fresh {
		n := &d.fresh[i]
		out[n.path] = stamp{size: n.stat.Size, mtime: n.stat.Mtim.Nano(), mode: n.mode}
	}
	return out, nil
}
