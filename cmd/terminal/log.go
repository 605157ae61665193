package terminal

import (
	"context"
	"io"
	"log/slog"
	"sync/atomic"

	"golang.org/x/term"

	"github.com/handrail-bot/handrail/agent"
)

// Log is where a program logs to while a terminal may show what goes on: a line takes that
// from the screen first, and it is drawn again below the line.
type Log struct {
	to     io.Writer
	screen atomic.Pointer[screen]        // nil until a terminal that is written over is there
	line   atomic.Pointer[term.Terminal] // in which somebody types at this moment; it writes above what is typed
}

// NewLog returns a log whose lines go to a writer.
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
	s.write(s.clear()) // the next tick draws it again
	return l.to.Write(p)
}

// Unsaid returns a logger that leaves out what the terminal says in words.
func (l *Log) Unsaid(of *slog.Logger) *slog.Logger { return slog.New(unsaid{of.Handler(), l}) }

// unsaid leaves out what is said already.
type unsaid struct {
	slog.Handler

	log *Log
}

// Handle implements [slog.Handler].
func (u unsaid) Handle(ctx context.Context, r slog.Record) error {
	if r.Message == agent.TriesAgain && u.log.screen.Load() != nil {
		return nil
	}
	return u.Handler.Handle(ctx, r)
}

// WithAttrs implements [slog.Handler].
func (u unsaid) WithAttrs(list []slog.Attr) slog.Handler {
	return unsaid{u.Handler.WithAttrs(list), u.log}
}

// WithGroup implements [slog.Handler].
func (u unsaid) WithGroup(name string) slog.Handler {
	return unsaid{u.Handler.WithGroup(name), u.log}
}
