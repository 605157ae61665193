package workspace

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"sync"
	"unicode/utf8"
)

// Run runs one command in the session's shell; commands are queued. A failing command is
// a result, not an error. If ctx ends, the command and its child processes are killed.
// progress is called from the calling goroutine, and never after Run has returned.
func (w *Workspace) Run(ctx context.Context, cmd Command, progress func(chunk string)) (CommandResult, error) {
	id := w.ids.Add(1)
	t := &tail{ready: make(chan struct{}, 1)}
	if progress != nil {
		w.mu.Lock()
		w.runs[id] = t
		w.mu.Unlock()
		defer func() {
			w.mu.Lock()
			delete(w.runs, id)
			w.mu.Unlock()
		}()
	}
	var got RunResult
	done := make(chan error, 1)
	go func() { done <- w.callID(ctx, id, MethodRun, cmd, &got) }()
	for {
		select {
		case <-t.ready:
			if s := t.take(); s != "" {
				progress(s)
			}
		case err := <-done:
			if s := t.take(); s != "" {
				progress(s)
			}
			res := got.CommandResult
			res.Output = strings.ToValidUTF8(string(got.Text), "\uFFFD")
			if w.egress != nil {
				res.Refused = w.egress.Refused() //control:egress-told
			}
			if res.Dir != "" && !fs.ValidPath(res.Dir) {
				return res, fmt.Errorf("run command: the tool host reports the directory %q", res.Dir)
			}
			return res, err
		}
	}
}

// maxTail is the maximum size in bytes of progress that waits for a slow reader.
const maxTail = 256 << 10

// tail buffers progress until it is read.
type tail struct {
	ready chan struct{}
	mu    sync.Mutex
	text  strings.Builder
	cut   int
}

func (t *tail) add(s string) {
	t.mu.Lock()
	if t.text.Len()+len(s) > maxTail {
		t.cut += len(s)
	} else {
		t.text.WriteString(s)
	}
	t.mu.Unlock()
	select {
	case t.ready <- struct{}{}:
	default:
	}
}

func (t *tail) take() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.text.String()
	t.text.Reset()
	if t.cut > 0 {
		s += fmt.Sprintf("\n[%d bytes not shown]\n", t.cut)
		t.cut = 0
	}
	return s
}

func (w *Workspace) tailOf(id uint64) *tail {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.runs[id]
}

// chunkReader reads a file in chunks. The file must not change meanwhile.
type chunkReader struct {
	//nolint:containedctx // io.Reader has no parameter for it; Content documents that the reader lives within it
	ctx  context.Context
	ws   *Workspace
	req  ChunkParams
	mode fs.FileMode
	data []byte
	more bool
	done bool
}

func (r *chunkReader) fetch() error {
	var res ChunkResult
	if err := r.ws.call(r.ctx, MethodChunk, r.req, &res); err != nil {
		return err
	}
	if len(res.Data) > MaxChunk || (res.More && len(res.Data) == 0) {
		return fmt.Errorf("read %s: the tool host sent a chunk of %d bytes", r.req.Path, len(res.Data))
	}
	r.mode, r.data, r.more = res.Mode, res.Data, res.More
	r.req.Stamp = res.Stamp
	r.req.Offset += int64(len(res.Data))
	return nil
}

func (r *chunkReader) Read(p []byte) (int, error) {
	if r.done {
		return 0, fs.ErrClosed
	}
	for len(r.data) == 0 {
		if !r.more {
			return 0, io.EOF
		}
		if err := r.fetch(); err != nil {
			return 0, err
		}
	}
	n := copy(p, r.data)
	r.data = r.data[n:]
	return n, nil
}

func (r *chunkReader) Close() error {
	r.done, r.data = true, nil
	return nil
}

// validUTF8 returns a name as valid text, only for checks of its form.
func validUTF8(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	return strings.ToValidUTF8(s, "?")
}
