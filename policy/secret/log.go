package secret

import (
	"context"
	"fmt"
	"log/slog"
)

// Logger returns a logger that redacts every record with r before passing it to log.
func Logger(log *slog.Logger, r *Redactor) *slog.Logger {
	return slog.New(redactedLog{log.Handler(), r})
}

type redactedLog struct {
	slog.Handler
	redactor *Redactor
}

// Handle implements slog.Handler.
func (h redactedLog) Handle(ctx context.Context, r slog.Record) error {
	text, _ := h.redactor.Redact(r.Message)
	out := slog.NewRecord(r.Time, r.Level, text, r.PC)
	r.Attrs(func(a slog.Attr) bool {
		out.AddAttrs(h.attr(a)) //control:log-redaction
		return true
	})
	return h.Handler.Handle(ctx, out)
}

// WithAttrs implements slog.Handler.
func (h redactedLog) WithAttrs(attrs []slog.Attr) slog.Handler {
	clean := make([]slog.Attr, len(attrs))
	for i, a := range attrs {
		clean[i] = h.attr(a)
	}
	return redactedLog{h.Handler.WithAttrs(clean), h.redactor}
}

// WithGroup implements slog.Handler.
func (h redactedLog) WithGroup(name string) slog.Handler {
	return redactedLog{h.Handler.WithGroup(name), h.redactor}
}

// attr redacts an attribute. A value that is not a string is searched in its text form,
// and kept if nothing was found.
func (h redactedLog) attr(a slog.Attr) slog.Attr {
	v := a.Value.Resolve()
	switch v.Kind() {
	case slog.KindGroup:
		var list []slog.Attr
		for _, x := range v.Group() {
			list = append(list, h.attr(x))
		}
		return slog.Attr{Key: a.Key, Value: slog.GroupValue(list...)}
	case slog.KindString, slog.KindAny:
		text := v.String()
		if b, ok := v.Any().([]byte); ok {
			text = string(b)
		} else if v.Kind() == slog.KindAny {
			text = fmt.Sprintf("%+v", v.Any())
		}
		if clean, n := h.redactor.Redact(text); n > 0 {
			return slog.String(a.Key, clean)
		}
	}
	return slog.Attr{Key: a.Key, Value: v}
}
