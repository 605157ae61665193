package retain

import (
	"bytes"
	"context"
	"maps"
	"strings"
	"testing"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot/store"
	"github.com/handrail-bot/handrail/policy/secret"
)

// values is a store's Meta in memory.
type values map[string][]byte

func (v values) Get(_ context.Context, key string) ([]byte, error) {
	if data, ok := v[key]; ok {
		return data, nil
	}
	return nil, store.ErrNotFound
}

func (v values) Set(_ context.Context, key string, value []byte) error {
	v[key] = value
	return nil
}

func (v values) Swap(ctx context.Context, key string, _, value []byte) error {
	return v.Set(ctx, key, value)
}

func (v values) Drop(_ context.Context, key string) error {
	delete(v, key)
	return nil
}

func (v values) DropAll(_ context.Context, prefix string) error {
	maps.DeleteFunc(v, func(key string, _ []byte) bool { return strings.HasPrefix(key, prefix) })
	return nil
}

// oneLog is a store with one log.
type oneLog struct {
	store.Logs
	log *session.Memory
}

func (l oneLog) Log(store.Fence) session.Log { return l.log }

// TestForgedSignatures: an end that was signed is known, and neither another log nor
// another signature passes for it.
func TestForgedSignatures(t *testing.T) {
	key, err := secret.DeriveKey("the server's", "test")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name   string
		change func(meta values, events []session.Event) []session.Event
		want   string // in the error
		signed int64
	}{
		{name: "as it was", signed: 2},
		{name: "more events after it", change: func(_ values, e []session.Event) []session.Event { return append(e, session.Event{Seq: 3}) }, signed: 2},
		{name: "no signature", change: func(m values, e []session.Event) []session.Event { clear(m); return e }},
		{name: "another hash", change: func(_ values, e []session.Event) []session.Event { e[1].Hash = "f00"; return e }, want: "not the one that was signed"},
		{name: "a shorter log", change: func(_ values, e []session.Event) []session.Event { return e[:1] }, want: "not the one that was signed"},
		{name: "signature adapted", change: func(m values, e []session.Event) []session.Event {
			m[metaKey("s1")] = bytes.ReplaceAll(m[metaKey("s1")], []byte(e[1].Hash), []byte("f00"))
			e[1].Hash = "f00"
			return e
		}, want: "without the key"},
		{name: "signature of another log", change: func(m values, e []session.Event) []session.Event {
			s := signature{Seq: 2, Hash: e[1].Hash}
			m[metaKey("s1")] = bytes.ReplaceAll(m[metaKey("s1")], []byte(key.Sign(s.text("s1"))), []byte(key.Sign(s.text("s2"))))
			return e
		}, want: "without the key"},
	} {
		t.Run(c.name, func(t *testing.T) {
			meta := values{}
			logs := AnchoredLogs{Logs: oneLog{log: &session.Memory{}}, Meta: meta, Key: key}
			log := logs.Log(store.Fence{Key: "s1"})
			if err := log.Append(t.Context(), session.NewEvent(session.TypeOpened, 0, session.Opened{}), session.NewEvent(session.TypeEnded, 0, session.Ended{})); err != nil {
				t.Fatal(err)
			}
			events, err := log.Events(t.Context(), 0)
			if err != nil {
				t.Fatal(err)
			}
			if c.change != nil {
				events = c.change(meta, events)
			}
			got, err := CheckLog(t.Context(), meta, key, "s1", events)
			if got.Signed != c.signed || (err != nil) != (c.want != "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("%+v, %v", got, err)
			}
		})
	}
}
