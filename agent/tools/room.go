package tools

import "context"

type roomKey struct{}

// WithRoom sets the maximum size of call results in bytes.
func WithRoom(ctx context.Context, bytes int) context.Context {
	return context.WithValue(ctx, roomKey{}, bytes)
}

// Room returns the maximum size of a result in bytes: most, or less if the caller has
// less room.
func Room(ctx context.Context, most int) int {
	if n, ok := ctx.Value(roomKey{}).(int); ok && n > 0 {
		return min(n, most)
	}
	return most
}
