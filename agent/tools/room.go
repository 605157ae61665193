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

type strictKey struct{}

// Strict makes the edit tools refuse an edit after which a file does not parse that parsed before.
func Strict(ctx context.Context) context.Context { return context.WithValue(ctx, strictKey{}, true) }

// IsStrict reports whether the caller is strict.
func IsStrict(ctx context.Context) bool { return ctx.Value(strictKey{}) != nil }

type readsKey struct{}

// WithReads returns a context that notes the files which a writing call reads, and these. Only the call may
// use the context, and the list is complete when the call has ended.
func WithReads(ctx context.Context) (context.Context, *[]string) {
	files := new([]string)
	return context.WithValue(ctx, readsKey{}, files), files
}

// NoteRead notes a file whose lines may be in the words of the call, after its links were followed.
func NoteRead(ctx context.Context, path string) {
	if files, ok := ctx.Value(readsKey{}).(*[]string); ok {
		*files = append(*files, path)
	}
}
