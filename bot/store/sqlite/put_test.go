package sqlite_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/handrail-bot/handrail/bot/store"
	"github.com/handrail-bot/handrail/bot/store/sqlite"
)

// BenchmarkPut stores one delivery after the other, each of another thread.
func BenchmarkPut(b *testing.B) {
	s := open(b, sqlite.Config{Path: filepath.Join(b.TempDir(), "bot.db")})
	payload := []byte(`{"pad":"` + strings.Repeat("x", 8<<10) + `"}`)
	n := 0
	for b.Loop() {
		n++
		_, err := s.Deliveries.Put(b.Context(), &store.Delivery{
			ID: fmt.Sprint("d", n), Key: fmt.Sprint("k", n), Event: "issue_comment", Thread: fmt.Sprint("o/r#", n), Sender: "kim", Payload: payload,
		})
		must(b, err)
	}
}
