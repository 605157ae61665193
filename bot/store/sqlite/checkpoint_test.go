package sqlite_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/handrail-bot/handrail/bot/store"
	"github.com/handrail-bot/handrail/bot/store/sqlite"
)

// TestLogIsMovedMeanwhile: pages reach the file long before a commit would have to move them,
// and while the store is open.
func TestLogIsMovedMeanwhile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "bot.db")
	s := open(t, sqlite.Config{Path: path})
	size := func(of string) int64 {
		info, err := os.Stat(of)
		must(t, err)
		return info.Size()
	}
	before := size(path)
	const each, most = 16 << 10, 48 << 20 // the limit of a commit is 64 MiB
	for i := 0; size(path) < before+4*each; i++ {
		if size(path+"-wal") > most {
			t.Fatalf("%d deliveries are in a log of %d bytes, none in the file", i, size(path+"-wal"))
		}
		d := store.Delivery{ID: fmt.Sprint("d", i), Event: "push", Thread: "a/b#1", Payload: make([]byte, each)}
		_, err := s.Deliveries.Put(t.Context(), &d)
		must(t, err)
	}
}
