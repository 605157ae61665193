package index

import (
	"context"
	"iter"
	"sync"

	"github.com/handrail-bot/handrail/agent/llm"
)

// Lull lets background work wait while conversations stream. The zero value is ready. It
// is safe for concurrent use.
type Lull struct {
	mu      sync.Mutex
	streams int
	over    chan struct{} // closed when none streams; nil if none does
}

// Of returns m with its answers counted: the index waits for them.
func (l *Lull) Of(m llm.Model) llm.Model { return streaming{m, l} }

type streaming struct {
	llm.Model

	lull *Lull
}

// Stream implements [llm.Model].
func (s streaming) Stream(ctx context.Context, req llm.Request) iter.Seq2[llm.Part, error] {
	return func(yield func(llm.Part, error) bool) {
		s.lull.begin()
		defer s.lull.end()
		s.Model.Stream(ctx, req)(yield)
	}
}

func (l *Lull) begin() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.streams++; l.streams == 1 {
		l.over = make(chan struct{})
	}
}

func (l *Lull) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.streams--; l.streams == 0 {
		close(l.over)
		l.over = nil
	}
}

// Wait waits until no conversation streams.
func (l *Lull) Wait(ctx context.Context) error {
	for {
		l.mu.Lock()
		over := l.over
		l.mu.Unlock()
		if over == nil {
			return nil
		}
		select {
		case <-over:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
