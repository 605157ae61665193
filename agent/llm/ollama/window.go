package ollama

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ollama/ollama/api"

	"github.com/handrail-bot/handrail/agent/llm"
	"github.com/handrail-bot/handrail/agent/llm/wire"
)

// window is the num_ctx of all requests for a model: a server loads the model anew for
// each other one, and has lost what it had computed. It grows with who needs most. It
// is safe for concurrent use.
type window struct {
	mu    sync.Mutex
	asked int // largest that was asked for
	had   int // largest that the server had memory for
	most  int // that it has memory for, 0 while that is not known
}

// of returns what a model can do with the window that it has.
func (w *window) of(caps llm.Capabilities) llm.Capabilities {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.asked > llm.FirstWindow {
		caps.ContextSet = max(caps.ContextSet, w.asked)
	}
	if w.most > 0 {
		caps.ContextSet, caps.ContextLength = w.most, w.most
	}
	return caps
}

// widen takes in that somebody needs a window, and returns the one for all.
func (w *window) widen(tokens int) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.asked = max(w.asked, tokens); w.most > 0 {
		w.asked = w.most
	}
	return w.asked
}

func (w *window) loaded(tokens int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.had = max(w.had, tokens)
}

// outgrown takes the window back to one that the server had memory for, and reports
// whether there was a smaller one.
func (w *window) outgrown() (size int, less bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if size = w.asked; w.had > 0 && w.had < size {
		w.asked, w.most = w.had, w.had
		return size, true
	}
	return size, false
}

// ownDefault is the window of a server on which nobody set another. It is too small for
// a session, and no choice of anybody.
const ownDefault = 4096

// ownWindow returns the window that the server gives the model by itself, when it is
// first asked: as it has it loaded, or else by loading it, because its
// OLLAMA_CONTEXT_LENGTH shows in nothing else. It is 0 where that says nothing of what
// the operator wants: the server's own default, or all that the model was made for.
// Later ones are of our own choice. It is not known to a caller who has no time for that.
func (m *Model) ownWindow(ctx context.Context, made int) (tokens int, known bool) {
	if m.learned {
		return m.loaded, true
	}
	running, err := m.running(ctx)
	at := slices.IndexFunc(running, m.is)
	if at < 0 && err == nil {
		if end, ok := ctx.Deadline(); ok && time.Until(end) < time.Minute {
			return 0, false
		}
		m.load(ctx) //control:window-is-asked
		running, err = m.running(ctx)
		at = slices.IndexFunc(running, m.is)
	}
	if ctx.Err() != nil {
		return 0, false
	}
	m.learned = true
	if at >= 0 && running[at].ContextLength > ownDefault && running[at].ContextLength != made {
		m.loaded = running[at].ContextLength
		m.end.Log.InfoContext(ctx, "the model's window is that which its server gives it", "model", m.end.Model, "num_ctx", m.loaded)
	}
	if err != nil {
		m.end.Log.WarnContext(ctx, "model server does not tell what it has loaded", "model", m.end.Model, "err", err)
	}
	return m.loaded, true
}

// loading is how long that may take.
const loading = 10 * time.Minute

// load has the server load the model as it does by itself.
func (m *Model) load(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, loading)
	defer cancel()
	err := m.api.Generate(ctx, &api.GenerateRequest{Model: m.end.Model, KeepAlive: m.keepAlive}, func(api.GenerateResponse) error { return nil })
	if err != nil { // the first request says more of it
		m.end.Log.WarnContext(ctx, "the model was not loaded", "model", m.end.Model, "err", err)
	}
}

// running lists the models that the server has loaded.
func (m *Model) running(ctx context.Context) ([]api.ProcessModelResponse, error) {
	list, err := m.api.ListRunning(ctx)
	if err != nil {
		return nil, err
	}
	return list.Models, nil
}

func (m *Model) is(r api.ProcessModelResponse) bool { return m.named(r.Model, r.Name) }

// named reports whether a server that lists a model under these names means this one.
func (m *Model) named(model, name string) bool {
	return strings.TrimSuffix(cmp.Or(model, name), ":latest") == strings.TrimSuffix(m.end.Model, ":latest")
}

// errMemory is in the chain of an error when the server has too little memory.
var errMemory = errors.New("too little memory")

// noMemory says of a server with too little memory whether waiting can help: other
// models are loaded, and it may end them.
func (m *Model) noMemory(ctx context.Context, cause error) error {
	running, _ := m.running(ctx)                                      // none where it does not tell
	if running = slices.DeleteFunc(running, m.is); len(running) > 0 { //control:memory-is-waited-for
		var names []string
		for _, r := range running {
			names = append(names, cmp.Or(r.Name, r.Model))
		}
		busy := wire.Busy(cause)
		busy.Public = fmt.Sprintf("the model server has no memory for model %s beside %s", m.end.Model, strings.Join(names, ", "))
		return busy
	}
	size, less := m.window.outgrown()
	if less { //control:outgrown-memory
		return m.end.TooLong(cause)
	}
	return &llm.Error{Kind: llm.Invalid, Err: cause, Public: fmt.Sprintf("the model server has too little memory for model %s with a window of %d tokens, "+
		"and no other model is loaded that could make room; set a smaller model.context (num_ctx), or take a smaller model", m.end.Model, size)}
}
