package host

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/handrail-bot/handrail/agent/workspace"
)

// A listing visits few entries beyond its limit, however many there are.
func TestListEnds(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, sub := range []string{"a", "b"} {
		for i := range workspace.MaxLeft {
			name := filepath.Join(dir, sub, fmt.Sprint(i))
			if err := os.MkdirAll(name, 0o755); err != nil {
				t.Fatal(err)
			}
		}
	}
	h, err := newHost(Config{Root: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := h.root.Close(); err != nil {
			t.Error(err)
		}
	}()
	for _, tt := range []struct{ limit, left int }{
		{1, workspace.MaxLeft},
		{workspace.MaxLeft, workspace.MaxLeft},
		{2*workspace.MaxLeft + 1, 1},
		{2*workspace.MaxLeft + 2, 0},
	} {
		l, err := h.list(t.Context(), workspace.PathParams{Path: []byte("."), Recursive: true, Max: tt.limit})
		if err != nil || len(l.Entries) != tt.limit || l.Left != tt.left {
			t.Errorf("limit %d: %d entries, %d left, %v", tt.limit, len(l.Entries), l.Left, err)
		}
	}
}
