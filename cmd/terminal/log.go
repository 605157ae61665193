package terminal

import (
	"context"
	"io"
	"log/slog"
	"sync/atomic"

	"golang.org/x/term"

	"github.com/handrail-bot/handrail/agent"
)

// Log writes log lines to a terminal that may have live lines. It removes them before a
// log line; they are redrawn below it.
type Log struct {
	to     io.Writer
	screen atomic.Pointer[screen]        // nil until a terminal exists
	line   atomic.Pointer[term.Terminal] // being edited; it writes above the typed text
}

// NewLog returns a log that writes to a writer.
func NewLog(to io.Writer) *Log { return &Log{to: to} }

// Write implements [io.Writer].
func (l *Log) Write(p []byte) (int, error) {
	if t := l.line.Load(); t != nil {
		return t.Write(p)
	}
	s := l.screen.Load()
	if s == nil {
		return l.to.Write(p)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.write(s.clear()) // the next tick redraws the live lines
	return l.to.Write(p)
}

// WithoutShown returns a logger that drops messages that the terminal shows itself.
func (l *Log) WithoutShown(of *slog.Logger) *slog.Logger {
	return slog.New(filterHandler{of.Handler(), l})
}

// filterHandler drops messages that the terminal shows itself.
type filterHandler struct {
	slog.Handler

	log *Log
}

// Handle implements [slog.Handler].
func (u filterHandler) Handle(ctx context.Context, r slog.Record) error {
	if r.Message == agent.TriesAgain && u.log.screen.Load() != nil {
		return nil
	}
	return u.Handler.Handle(ctx, r)
}

// WithAttrs implements [slog.Handler].
func (u filterHandler) WithAttrs(list []slog.Attr) slog.Handler {
	return filterHandler{u.Handler.WithAttrs(list), u.log}
}

// WithGroup implements [slog.Handler].
func (u filterHandler) WithGroup(name string) slog.Handler {
	return filterHandler{u.Handler.WithGroup(name), u.log}
}
