package workspace

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
)

// Starter starts programs that communicate over stdin and stdout.
type Starter interface {
	Start(ctx context.Context, p Program) (io.ReadWriteCloser, error)
}

// Start starts a program inside the workspace. Writes go to its stdin, and reads come
// from its stdout; its stderr is dropped. At the end, Read returns [io.EOF] for exit
// code 0, or an error that describes the end. Close ends the program with all its child
// processes. ctx covers the start only.
func (w *Workspace) Start(ctx context.Context, p Program) (io.ReadWriteCloser, error) {
	if len(p.Argv) == 0 || p.Argv[0] == "" {
		return nil, errors.New("start program: no command given")
	}
	id := w.ids.Add(1)
	pr := &process{ws: w, id: id}
	pr.more.L = &pr.mu
	w.mu.Lock()
	w.progs[id] = pr
	w.mu.Unlock()
	if err := w.call(ctx, MethodStart, StartParams{ID: id, Program: p}, nil); err != nil {
		//nolint:contextcheck // the word to stop must go out although ctx has ended
		pr.drop() // the host may have started it although the call was cancelled
		return nil, err
	}
	return pr, nil
}

// maxBacklog is the maximum size in bytes of unread output of a program.
const maxBacklog = 64 << 20

type process struct {
	ws *Workspace
	id uint64

	mu    sync.Mutex
	more  sync.Cond
	buf   []byte
	ended error
}

// Read blocks until output arrives or the program ends.
func (p *process) Read(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.buf) == 0 && p.ended == nil {
		p.more.Wait()
	}
	if len(p.buf) == 0 {
		return 0, p.ended
	}
	n := copy(b, p.buf)
	p.buf = p.buf[n:]
	return n, nil
}

// Write sends b to the program's stdin, and blocks until the program has read it.
func (p *process) Write(b []byte) (int, error) {
	p.mu.Lock()
	ended := p.ended
	p.mu.Unlock()
	if ended != nil {
		return 0, fmt.Errorf("write to program: %w", io.ErrClosedPipe)
	}
	sent := 0
	for sent < len(b) {
		part := b[sent:min(len(b), sent+MaxChunk)]
		if err := p.ws.call(context.Background(), MethodInput, &StreamParams{ID: p.id, Data: part}, nil); err != nil {
			return sent, fmt.Errorf("write to program: %w", err)
		}
		sent += len(part)
	}
	return sent, nil
}

// Close ends the program. It never fails: if the workspace is gone, the program has
// ended.
func (p *process) Close() error {
	p.drop()
	return nil
}

func (p *process) drop() {
	p.ws.mu.Lock()
	delete(p.ws.progs, p.id)
	p.ws.mu.Unlock()
	p.end(io.ErrClosedPipe)
	_ = p.ws.conn.Notify(context.Background(), MethodStop, &StreamParams{ID: p.id})
}

func (p *process) end(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended == nil {
		p.ended = err
	}
	p.more.Broadcast()
}

func (w *Workspace) output(s StreamParams) {
	w.mu.Lock()
	p := w.progs[s.ID]
	w.mu.Unlock()
	if p == nil {
		return
	}
	p.mu.Lock()
	tooMuch := len(p.buf)+len(s.Data) > maxBacklog
	if !tooMuch {
		p.buf = append(p.buf, s.Data...)
		p.more.Broadcast()
	}
	p.mu.Unlock()
	switch {
	case tooMuch:
		p.end(fmt.Errorf("read from program: %w", ErrTooLarge))
	case s.End && s.Exit == "":
		p.end(io.EOF)
	case s.End:
		p.end(fmt.Errorf("program ended: %s", s.Exit))
	}
}

func (w *Workspace) endPrograms() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for id, p := range w.progs {
		p.end(ErrGone)
		delete(w.progs, id)
	}
}
