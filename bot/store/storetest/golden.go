package storetest

import (
	"bytes"
	"compress/gzip"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot/store"
)

// goldenSession is the session of the log that [Fill] stores.
const goldenSession = "sgolden00001"

var writeGolden = flag.Bool("golden.write", false, "write the database of the newest form to testdata")

// Golden calls check with the database of each schema version:
// testdata/golden-N.EXT.gz for migration N. With -golden.write it first stores the result
// of write, a database of the newest version.
func Golden(t *testing.T, ext string, write func(*testing.T) []byte, check func(t *testing.T, data []byte)) {
	t.Helper()
	forms, err := filepath.Glob("migrations/*.sql")
	must(t, err)
	for form := 1; form <= len(forms); form++ {
		t.Run(fmt.Sprint("form ", form), func(t *testing.T) {
			file := fmt.Sprintf("testdata/golden-%d.%s.gz", form, ext)
			if *writeGolden && form == len(forms) {
				pack(t, file, write(t))
			}
			check(t, Unpack(t, file))
		})
	}
}

func pack(t *testing.T, file string, data []byte) {
	t.Helper()
	var out bytes.Buffer
	zip, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	must(t, err)
	_, err = zip.Write(data)
	must(t, err)
	must(t, zip.Close())
	must(t, os.WriteFile(file, out.Bytes(), 0o600))
}

// Unpack reads a golden database.
func Unpack(t *testing.T, file string) []byte {
	t.Helper()
	data, err := os.ReadFile(file)
	must(t, err)
	zip, err := gzip.NewReader(bytes.NewReader(data))
	must(t, err)
	data, err = io.ReadAll(zip)
	must(t, err)
	return data
}

// Fill stores a few records of each kind in an empty store. The golden databases of every
// version hold the same records.
func Fill(t testing.TB, s store.Store) {
	t.Helper()
	ctx := t.Context()
	first, second := delivery("d1", thread), delivery("d2", thread)
	first.Key, second.Priority = "comment 1", store.PriorityStop
	_, err := s.Deliveries.Put(ctx, first, second)
	must(t, err)
	must(t, s.Deliveries.Done(ctx, "worked", "d1"))
	data, err := golden.ReadFile("testdata/golden-1.jsonl")
	must(t, err)
	_, err = Import(ctx, bytes.NewReader(data), s.Logs)
	must(t, err)
	must(
		t,
		s.Sessions.Create(
			ctx,
			&store.Session{
				ID:        goldenSession,
				Thread:    thread,
				Repo:      "octo/hello",
				Requester: "octocat",
				State:     "running",
				Data:      []byte(`{"x":1}`),
			},
		),
	)
	l, err := s.Leases.Acquire(ctx, goldenSession, "me", time.Minute)
	must(t, err)
	must(t, s.Logs.Log(l.Fence()).Append(ctx, note(9, "after the import")))
	for _, key := range []string{"i1", "i2"} {
		must(
			t,
			s.Intents.Intend(
				ctx,
				l.Fence(),
				&store.Intent{Key: key, Session: goldenSession, Kind: "comment", Payload: []byte("{}")},
			),
		)
	}
	must(t, s.Intents.Done(ctx, l.Fence(), "i1", "42"))
	own, err := s.Leases.Acquire(ctx, thread, "me", time.Minute)
	must(t, err)
	_, err = s.Leases.Release(ctx, own, own.Until)
	must(t, err)
	must(t, s.Meta.Set(ctx, "k", []byte("v")))
}

// Filled checks that a store holds the records of [Fill], and that work can continue.
func Filled(t *testing.T, s store.Store) {
	t.Helper()
	ctx := t.Context()
	d, err := s.Deliveries.Next(ctx, thread)
	must(t, err)
	if d.ID != "d2" || d.Seq != 2 || d.Priority != store.PriorityStop || string(d.Payload) != `{"id":"d2"}` {
		t.Errorf("the oldest delivery is %+v", d)
	}
	again := delivery("d3", thread)
	again.Key = "comment 1"
	stored, err := s.Deliveries.Put(ctx, delivery("d1", thread), again)
	must(t, err)
	if stored[0] || stored[1] {
		t.Error("a delivery that was known is stored again")
	}
	filledSession(t, s)
	l, err := s.Leases.Lease(ctx, thread)
	must(t, err)
	if l.Epoch != 1 || l.Attempts != 1 || l.NotBefore.IsZero() {
		t.Errorf("the lease of the thread is %+v", l)
	}
	value, err := s.Meta.Get(ctx, "k")
	must(t, err)
	if diff := cmp.Diff("v", string(value)); diff != "" {
		t.Errorf("value (-want +got):\n%s", diff)
	}
	must(t, s.Deliveries.Done(ctx, "", "d2"))
	must(t, s.Logs.Log(store.Fence{Key: goldenSession, Epoch: 1}).Append(ctx, note(10, "and on")))
	if _, err := s.Deliveries.Next(ctx, thread); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("after the last delivery: %v", err)
	}
}

func filledSession(t *testing.T, s store.Store) {
	t.Helper()
	ctx := t.Context()
	row, err := s.Sessions.ByThread(ctx, thread)
	must(t, err)
	if row.ID != goldenSession || row.State != "running" || string(row.Data) != `{"x":1}` || row.Owner != "me" ||
		row.Epoch != 1 {
		t.Errorf("the session is %+v", row)
	}
	n, err := store.Verify(ctx, s.Logs, func(_ store.Head, _ []session.Event, err error) { must(t, err) })
	must(t, err)
	events, err := s.Logs.Log(store.Fence{Key: goldenSession}).Events(ctx, 13)
	must(t, err)
	if n != 1 || len(events) != 1 || events[0].Type != session.TypeNote {
		t.Errorf("%d logs, events after the import: %+v", n, events)
	}
	if in, err := s.Effects.Effect(ctx, "i1"); err != nil || in.State != store.Done || in.Ref != "42" {
		t.Errorf("the write that was made is %+v, %v", in, err)
	}
	if _, err := s.Effects.Effect(ctx, "i0"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("a write that never was: %v", err)
	}
	open, err := s.Intents.Open(ctx, goldenSession)
	must(t, err)
	if len(open) != 1 || open[0].Key != "i2" {
		t.Errorf("open intents are %+v", open)
	}
}
