package storetest

import (
	"bytes"
	"context"
	"embed"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot/store"
)

//go:embed testdata/golden-*.jsonl
var golden embed.FS

func logChain(t *testing.T, e *env) {
	ctx := t.Context()
	f := e.hold(t, "s1", "me").Fence()
	l := e.Logs.Log(f)
	var all []*session.Event
	for i := range 120 { // more than one statement holds
		all = append(all, note(i, fmt.Sprintf("ünïcode \x00 %d", i)))
	}
	first, second := note(0, "first"), note(0, "second")
	must(t, l.Append(ctx, first, second))
	must(t, l.Append(ctx))
	must(t, l.Append(ctx, all...))
	if second.Seq != 2 || second.Prev != first.Hash || all[119].Seq != 122 {
		t.Errorf("append did not fill the chain: %+v, %+v", first, second)
	}
	events, err := l.Events(ctx, 0)
	must(t, err)
	must(t, session.Verify(events))
	want := append([]*session.Event{first, second}, all...)
	for i := range want {
		if diff := cmp.Diff(*want[i], events[i]); diff != "" {
			t.Fatalf("event %d (-want +got):\n%s", i, diff)
		}
	}
	tail, err := l.Events(ctx, 120)
	must(t, err)
	if len(tail) != 2 || tail[0].Seq != 121 {
		t.Errorf("events after 120: %+v", tail)
	}
	none, err := l.Events(ctx, 122)
	must(t, err)
	if len(none) != 0 {
		t.Errorf("events after the last: %+v", none)
	}
	heads, err := e.Logs.Heads(ctx)
	must(t, err)
	if diff := cmp.Diff([]store.Head{{Session: "s1", Seq: 122, Hash: all[119].Hash}}, heads); diff != "" {
		t.Errorf("heads (-want +got):\n%s", diff)
	}
}

// logPages checks that pages have limits, and together the whole log.
func logPages(t *testing.T, e *env) {
	ctx := t.Context()
	l := e.Logs.Log(e.hold(t, "s1", "me").Fence())
	must(t, l.Append(ctx, note(0, "a"), note(0, "b"), note(0, strings.Repeat("c", store.PageBytes)), note(0, "d")))
	var got [][]int64
	for after := int64(0); ; {
		page, err := e.Logs.Page(ctx, "s1", after, 2)
		must(t, err)
		if len(page) == 0 {
			break
		}
		var seqs []int64
		for _, ev := range page {
			seqs = append(seqs, ev.Seq)
		}
		got, after = append(got, seqs), seqs[len(seqs)-1]
	}
	if diff := cmp.Diff([][]int64{{1, 2}, {3}, {4}}, got); diff != "" {
		t.Errorf("pages (-want +got):\n%s", diff)
	}
}

// logOutput checks that the log holds the whole output of a command, however long.
func logOutput(t *testing.T, e *env) {
	ctx := t.Context()
	f := e.hold(t, "s1", "me").Fence()
	l := e.Logs.Log(f)
	out := strings.Repeat("ünïcode \"<&>\"\n", (8<<20)/len("ünïcode \"<&>\"\n"))
	must(
		t,
		l.Append(
			ctx,
			note(0, "before"),
			session.NewEvent(session.TypeResult, 1, session.Result{Call: "c1", Handle: "o1", Output: out}),
		),
	)
	got, ok, err := session.OutputOf(ctx, l, "o1")
	must(t, err)
	if !ok || got != out {
		t.Errorf("%d bytes of %d came back", len(got), len(out))
	}
	if _, ok, err := session.OutputOf(ctx, l, "o"); ok || err != nil {
		t.Errorf("an output that nobody kept: %t, %v", ok, err)
	}
}

func logContention(t *testing.T, e *env) {
	f := e.hold(t, "s1", "me").Fence()
	errs := parallel(8, func(i int) error {
		for j := range 10 {
			if err := e.Logs.Log(f).Append(t.Context(), note(i, fmt.Sprint(i, j)), note(i, "x")); err != nil {
				return err
			}
		}
		return nil
	})
	must(t, errors.Join(errs...))
	events, err := e.Logs.Log(f).Events(t.Context(), 0)
	must(t, err)
	must(t, session.Verify(events))
	if len(events) != 160 {
		t.Errorf("%d events, want 160", len(events))
	}
	for i := 0; i < len(events); i += 2 {
		if events[i].Turn != events[i+1].Turn {
			t.Fatalf("events %d and %d of one append are apart", i+1, i+2)
		}
	}
}

func logFenced(t *testing.T, e *env) {
	ctx := t.Context()
	want(
		t,
		"append without a lease",
		e.Logs.Log(store.Fence{Key: "s1", Epoch: 1}).Append(ctx, note(0, "x")),
		session.ErrFenced,
	)
	want(t, "append to a log for reading", e.Logs.Log(store.Fence{Key: "s1"}).Append(ctx, note(0, "x")), session.ErrFenced)
	l := e.hold(t, "s1", "me")
	want(t, "append with epoch 0", e.Logs.Log(store.Fence{Key: "s1"}).Append(ctx, note(0, "x")), session.ErrFenced)
	ended, cancel := context.WithCancel(ctx)
	cancel()
	if err := e.Logs.Log(l.Fence()).Append(ended, note(0, "x")); err == nil {
		t.Error("append with an ended context succeeded")
	}
	heads, err := e.Logs.Heads(ctx)
	must(t, err)
	if len(heads) != 0 {
		t.Errorf("refused appends left %+v", heads)
	}
}

func logImport(t *testing.T, e *env) {
	ctx := t.Context()
	var m session.Memory
	must(t, m.Append(ctx, note(0, "a"), note(1, "b")))
	events, err := m.Events(ctx, 0)
	must(t, err)
	forged := append([]session.Event(nil), events...)
	forged[1].Data = []byte(`{"kind":"reminder","text":"c"}`)
	if e.Logs.Import(ctx, "s1", forged) == nil {
		t.Error("imported a forged log")
	}
	if e.Logs.Import(ctx, "s1", events[1:]) == nil || e.Logs.Import(ctx, "s1", nil) == nil ||
		e.Logs.Import(ctx, "", events) == nil {
		t.Error("imported a log that is not whole")
	}
	must(t, e.Logs.Import(ctx, "s1", events))
	want(t, "a second import", e.Logs.Import(ctx, "s1", events), store.ErrExists)
	l := e.hold(t, "s1", "me")
	must(t, e.Logs.Log(l.Fence()).Append(ctx, note(2, "c")))
	got, err := e.Logs.Log(store.Fence{Key: "s1"}).Events(ctx, 0)
	must(t, err)
	must(t, session.Verify(got))
	if diff := cmp.Diff([]string{"a", "b", "c"}, texts(t, got)); diff != "" {
		t.Errorf("imported and continued log (-want +got):\n%s", diff)
	}
}

// logGolden imports logs written by earlier versions and exports them byte for byte.
func logGolden(t *testing.T, e *env) {
	files, err := golden.ReadDir("testdata")
	must(t, err)
	if len(files) == 0 {
		t.Fatal("no golden logs")
	}
	for _, file := range files {
		data, err := golden.ReadFile("testdata/" + file.Name())
		must(t, err)
		id, err := Import(t.Context(), bytes.NewReader(data), e.Logs)
		must(t, err)
		var out bytes.Buffer
		must(t, Export(t.Context(), e.Logs, id, &out))
		if diff := cmp.Diff(string(data), out.String()); diff != "" {
			t.Errorf("%s came out different (-want +got):\n%s", file.Name(), diff)
		}
	}
}

// changeAtomic makes changes that fail in one part.
func changeAtomic(t *testing.T, e *env) {
	ctx := t.Context()
	row := &store.Session{ID: "s1", Thread: thread}
	must(t, e.Sessions.Create(ctx, row))
	_, err := e.Deliveries.Put(ctx, delivery("d1", thread))
	must(t, err)
	f := e.hold(t, "s1", "me").Fence()
	whole := func() store.Change {
		copied := *row
		copied.State = "running"
		return store.Change{
			Events: []*session.Event{note(1, "x")}, Session: &copied, Done: []string{"d1"},
			Intents: []*store.Intent{{Key: "i", Session: "s1", Kind: "comment"}},
		}
	}
	for name, spoil := range map[string]func(*store.Change){
		"old session":      func(c *store.Change) { c.Session.Version = 9 },
		"other session":    func(c *store.Change) { c.Session.ID = "s2" },
		"intent elsewhere": func(c *store.Change) { c.Intents[0].Session = "s2" },
		"intent no key":    func(c *store.Change) { c.Intents[0].Key = "" },
	} {
		c := whole()
		spoil(&c)
		if e.Logs.Apply(ctx, f, c) == nil {
			t.Fatalf("%s: applied", name)
		}
		if c.Events[0].Seq != 0 {
			t.Errorf("%s: a refused change filled its event", name)
		}
	}
	unchanged(t, e)
	c := whole()
	must(t, e.Logs.Apply(ctx, f, c))
	if c.Events[0].Seq != 1 || c.Session.Version != 2 || c.Intents[0].State != store.Intended {
		t.Errorf("the change was not filled: %+v", c)
	}
	_, err = e.Deliveries.Next(ctx, thread)
	want(t, "next delivery", err, store.ErrNotFound)
}

// unchanged checks that refused changes had no effect.
func unchanged(t *testing.T, e *env) {
	t.Helper()
	ctx := t.Context()
	events, err := e.Logs.Log(store.Fence{Key: "s1"}).Events(ctx, 0)
	must(t, err)
	row, err := e.Sessions.Session(ctx, "s1")
	must(t, err)
	d, err := e.Deliveries.Next(ctx, thread)
	must(t, err)
	open, err := e.Intents.Open(ctx, "s1")
	must(t, err)
	if len(events) != 0 || row.Version != 1 || d.ID != "d1" || len(open) != 0 {
		t.Errorf("refused changes left events %v, session %+v, delivery %v, intents %v", events, row, d, open)
	}
}
