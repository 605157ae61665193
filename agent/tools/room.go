package tools

import "context"

type roomKey struct{}

// WithRoom says how many bytes the results of calls may have.
func WithRoom(ctx context.Context, bytes int) context.Context {
	return context.WithValue(ctx, roomKey{}, bytes)
}

// Room returns how many bytes a result may have: most, or fewer where the caller has less
// room for it.
func Room(ctx context.Context, most int) int {
	if n, ok := ctx.Value(roomKey{}).(int); ok && n > 0 {
		return min(n, most)
	}
	return most
}
