package storetest

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot/store"
)

// Bench measures the most frequent operations.
func Bench(b *testing.B, open func() store.Store) {
	payload := make([]byte, 8<<10) // about the size of an issue comment
	put := func(s store.Store, n int64) error {
		_, err := s.Deliveries.Put(b.Context(), &store.Delivery{
			ID: fmt.Sprint("d", n), Key: fmt.Sprint("k", n), Event: "issue_comment", Thread: fmt.Sprint("octo/hello#", n%100), Payload: payload,
		})
		return err
	}
	b.Run("put", func(b *testing.B) {
		s, n := open(), int64(0)
		for b.Loop() {
			n++
			must(b, put(s, n))
		}
	})
	b.Run("put, 64 at once", func(b *testing.B) {
		s := open()
		var n atomic.Int64
		b.SetParallelism(32)
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				if err := put(s, n.Add(1)); err != nil {
					b.Error(err)
				}
			}
		})
	})
	b.Run("append", func(b *testing.B) {
		s := open()
		l, err := s.Leases.Acquire(b.Context(), "s1", "me", time.Hour)
		must(b, err)
		log := s.Logs.Log(l.Fence())
		for b.Loop() {
			must(
				b,
				log.Append(
					b.Context(),
					session.NewEvent(session.TypeNote, 1, session.Note{Kind: "reminder", Text: "the turn limit is near"}),
				),
			)
		}
	})
	b.Run("lease", func(b *testing.B) {
		s := open()
		for b.Loop() {
			l, err := s.Leases.Acquire(b.Context(), "octo/hello#1", "me", time.Hour)
			must(b, err)
			_, err = s.Leases.Release(b.Context(), l, time.Time{})
			must(b, err)
		}
	})
}
