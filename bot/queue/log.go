package queue

import (
	"context"
	"log/slog"
)

// riverLog drops the info lines of the job runner, which count jobs and not work, unless
// debug lines are wanted.
type riverLog struct{ slog.Handler }

// Enabled implements [slog.Handler].
func (l riverLog) Enabled(ctx context.Context, level slog.Level) bool {
	return l.Handler.Enabled(ctx, level) && (level > slog.LevelInfo || l.Handler.Enabled(ctx, slog.LevelDebug))
}

// WithAttrs implements [slog.Handler].
func (l riverLog) WithAttrs(list []slog.Attr) slog.Handler {
	return riverLog{l.Handler.WithAttrs(list)}
}

// WithGroup implements [slog.Handler].
func (l riverLog) WithGroup(name string) slog.Handler { return riverLog{l.Handler.WithGroup(name)} }
