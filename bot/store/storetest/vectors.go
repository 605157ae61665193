package storetest

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/handrail-bot/handrail/bot/store"
)

// Vectors runs the tests of stores that keep vectors.
func Vectors(t *testing.T, open func(t *testing.T, now func() time.Time) store.Vectors) {
	t.Helper()
	c := NewClock()
	s := open(t, c.Now)
	ctx := t.Context()
	rows := func(maker string, blobs ...string) map[string][]byte {
		t.Helper()
		got, err := s.Vectors(ctx, maker, blobs)
		must(t, err)
		return got
	}
	if got := rows("m"); len(got) != 0 {
		t.Errorf("no blobs have %v", got)
	}
	must(t, s.PutVectors(ctx, "m", "a", []byte{0, 255, 128}))
	must(t, s.PutVectors(ctx, "m", "a", []byte("another")))
	must(t, s.PutVectors(ctx, "n", "a", []byte("of n")))
	must(t, s.PutVectors(ctx, "m", "b", []byte("b")))
	if diff := cmp.Diff(map[string][]byte{"a": {0, 255, 128}, "b": []byte("b")}, rows("m", "a", "b", "c")); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
	errs := parallel(8, func(i int) error {
		return s.PutVectors(ctx, "m", fmt.Sprint("p", i%4), bytes.Repeat([]byte{1}, 300_000))
	})
	if count(errs, nil) != len(errs) || len(rows("m", "p0", "p1", "p2", "p3")) != 4 {
		t.Errorf("rows put at once: %v", errs)
	}
	var many []string
	for i := range 400 {
		many = append(many, fmt.Sprint("x", i))
	}
	if got := rows("m", append(many, "b")...); len(got) != 1 {
		t.Errorf("of many %d are stored", len(got))
	}
	pruneVectors(t, s, c, rows)
}

// pruneVectors: rows that were read lately stay.
func pruneVectors(t *testing.T, s store.Vectors, c *Clock, rows func(string, ...string) map[string][]byte) {
	t.Helper()
	c.Add(40 * 24 * time.Hour)
	rows("m", "a")
	c.Add(40 * 24 * time.Hour)
	n, err := s.PruneVectors(t.Context(), c.Now().Add(-60*24*time.Hour))
	must(t, err)
	if n != 6 || len(rows("m", "a", "b")) != 1 || len(rows("n", "a")) != 0 {
		t.Errorf("%d rows are pruned; left are %v", n, rows("m", "a", "b"))
	}
}
