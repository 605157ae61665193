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

// window is the num_ctx of all requests for a model: a different value makes the server
// reload the model and lose its cache. It grows to the largest requested value. It is
// safe for concurrent use.
type window struct {
	mu          sync.Mutex
	requested   int // largest size requested
	fitted      int // largest size that fitted into the server's memory
	memoryLimit int // limit set by the server's memory, 0 if unknown
}

// of adjusts the capabilities of a model to its current window.
func (w *window) of(caps llm.Capabilities) llm.Capabilities {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.requested > llm.FirstWindow {
		caps.ContextSet = max(caps.ContextSet, w.requested)
	}
	if w.memoryLimit > 0 {
		caps.ContextSet, caps.ContextLength = w.memoryLimit, w.memoryLimit
	}
	return caps
}

// widen requests a window of at least the given size and returns the common one.
func (w *window) widen(tokens int) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.requested = max(w.requested, tokens); w.memoryLimit > 0 {
		w.requested = w.memoryLimit
	}
	return w.requested
}

func (w *window) loaded(tokens int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.fitted = max(w.fitted, tokens)
}

// outgrown shrinks the window to the largest one that fitted into the server's memory,
// and reports whether that is smaller. size is the window before.
func (w *window) outgrown() (size int, less bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if size = w.requested; w.fitted > 0 && w.fitted < size {
		w.requested, w.memoryLimit = w.fitted, w.fitted
		return size, true
	}
	return size, false
}

// ownDefault is the window of a server without a configured one. It is too small for a
// session and does not express a choice of the operator.
const ownDefault = 4096

// ownWindow returns the window that the server gives the model without num_ctx, that is,
// its OLLAMA_CONTEXT_LENGTH. If the model is not loaded yet, it is loaded to find out.
// The result is 0 if it does not reveal the operator's intention: it is the server's own
// default or the model's maximum. It is determined once, because later windows result
// from our own requests. known is false if ctx leaves no time for loading.
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
		m.end.Log.InfoContext(
			ctx, "the model's window is that which its server gives it", "model", m.end.Model, "num_ctx", m.loaded,
		)
	}
	if err != nil {
		m.end.Log.WarnContext(ctx, "model server does not list its loaded models", "model", m.end.Model, "err", err)
	}
	return m.loaded, true
}

// loading is the maximum time for loading a model.
const loading = 10 * time.Minute

// load makes the server load the model with its own defaults.
func (m *Model) load(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, loading)
	defer cancel()
	err := m.api.Generate(
		ctx,
		&api.GenerateRequest{Model: m.end.Model, KeepAlive: m.keepAlive},
		func(api.GenerateResponse) error { return nil },
	)
	if err != nil { // the first request will report details
		m.end.Log.WarnContext(ctx, "the model was not loaded", "model", m.end.Model, "err", err)
	}
}

// running lists the models loaded by the server.
func (m *Model) running(ctx context.Context) ([]api.ProcessModelResponse, error) {
	list, err := m.api.ListRunning(ctx)
	if err != nil {
		return nil, err
	}
	return list.Models, nil
}

func (m *Model) is(r api.ProcessModelResponse) bool { return m.named(r.Model, r.Name) }

// named reports whether a model with these names in a server's list is this one.
func (m *Model) named(model, name string) bool {
	return strings.TrimSuffix(cmp.Or(model, name), ":latest") == strings.TrimSuffix(m.end.Model, ":latest")
}

// errMemory is in the error chain if the server has too little memory.
var errMemory = errors.New("too little memory")

// noMemory returns the error for a server with too little memory. Waiting can help if
// other models are loaded that the server may unload.
func (m *Model) noMemory(ctx context.Context, cause error) error {
	running, _ := m.running(ctx)                                      // empty on error
	if running = slices.DeleteFunc(running, m.is); len(running) > 0 { //control:memory-is-waited-for
		var names []string
		for _, r := range running {
			names = append(names, cmp.Or(r.Name, r.Model))
		}
		busy := wire.Busy(cause)
		busy.Public = fmt.Sprintf(
			"the model server has no memory for model %s beside %s",
			m.end.Model,
			strings.Join(names, ", "),
		)
		return busy
	}
	size, less := m.window.outgrown()
	if less { //control:outgrown-memory
		return m.end.TooLong(cause)
	}
	return &llm.Error{
		Kind: llm.Invalid,
		Err:  cause,
		Public: fmt.Sprintf("the model server has too little memory for model %s with a window of %d tokens, "+
			"and no other model is loaded that could make room; set a smaller model.context (num_ctx), or take a smaller model", m.end.Model, size),
	}
}
