package telemetry

import (
	"context"
	"log/slog"

	"go.opentelemetry.io/otel/trace"
)

// Logger returns a logger whose lines within a run have its trace and session.
func (t *Traces) Logger(l *slog.Logger) *slog.Logger {
	if t == nil {
		return l
	}
	return slog.New(tracedHandler{l.Handler(), false})
}

type tracedHandler struct {
	slog.Handler
	session bool // the line has one already
}

// Handle implements [slog.Handler].
func (h tracedHandler) Handle(ctx context.Context, r slog.Record) error {
	of := trace.SpanContextFromContext(ctx)
	if !of.IsValid() {
		return h.Handler.Handle(ctx, r)
	}
	named := h.session
	r.Attrs(func(a slog.Attr) bool {
		named = named || a.Key == "session"
		return !named
	})
	r = r.Clone()
	if id, ok := ctx.Value(conversation{}).(string); ok && !named {
		r.AddAttrs(slog.String("session", id))
	}
	r.AddAttrs(slog.String("trace", of.TraceID().String()))
	return h.Handler.Handle(ctx, r)
}

// WithAttrs implements [slog.Handler].
func (h tracedHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	for _, a := range attrs {
		h.session = h.session || a.Key == "session"
	}
	h.Handler = h.Handler.WithAttrs(attrs)
	return h
}

// WithGroup implements [slog.Handler].
func (h tracedHandler) WithGroup(name string) slog.Handler {
	h.Handler = h.Handler.WithGroup(name)
	return h
}
