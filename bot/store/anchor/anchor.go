// Package anchor ties event logs to a key that is not in the database. A hash chain
// shows that nothing was changed by accident; whoever owns the database can make the
// whole chain anew. So the end of a log is signed whenever a run ends, and
// [Check] finds a chain that was made without the key.
package anchor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot/store"
	"github.com/handrail-bot/handrail/policy/secret"
)

// Logs signs the ends of logs. With a nil Key it signs nothing.
type Logs struct {
	store.Logs
	Meta store.Meta
	Key  *secret.Key
}

// Log implements store.Logs.
func (l Logs) Log(f store.Fence) session.Log { return signing{l.Logs.Log(f), l, f.Key} }

// Apply implements store.Logs.
func (l Logs) Apply(ctx context.Context, f store.Fence, c store.Change) error {
	if err := l.Logs.Apply(ctx, f, c); err != nil {
		return err
	}
	return l.sign(ctx, f.Key, c.Events)
}

// signing is the log of one session.
type signing struct {
	session.Log
	logs Logs
	id   string
}

// Append implements session.Log.
func (s signing) Append(ctx context.Context, events ...*session.Event) error {
	if err := s.Log.Append(ctx, events...); err != nil {
		return err
	}
	return s.logs.sign(ctx, s.id, events)
}

// signature is what is kept of the end of a log.
type signature struct {
	Seq  int64  `json:"seq"`
	Hash string `json:"hash"`
	Key  string `json:"key"` // its name
	Sum  string `json:"sum"`
}

func metaKey(id string) string { return "signed end of " + id }

func (s signature) text(id string) string { return fmt.Sprintf("%s %d %s", id, s.Seq, s.Hash) }

// sign signs the newest of events that ends a run. It comes after the events: when
// it fails, or the process dies before it, the log is signed up to the end before.
func (l Logs) sign(ctx context.Context, id string, events []*session.Event) error {
	for _, e := range slices.Backward(events) {
		if e.Type != session.TypeEnded || l.Key == nil {
			continue
		}
		s := signature{Seq: e.Seq, Hash: e.Hash, Key: l.Key.Name}
		s.Sum = l.Key.Sign(s.text(id))
		data, err := json.Marshal(s)
		if err == nil {
			err = l.Meta.Set(ctx, metaKey(id), data)
		}
		if err != nil {
			return fmt.Errorf("sign log of %s: %w", id, err)
		}
		return nil
	}
	return nil
}

// Report is what [Check] found out about a log.
type Report struct {
	Signed int64  // the log is as it was signed up to this event; 0 for none
	Key    string // name of a key that signed and is not here
}

// Check compares a log with what was signed of it. The error says what is wrong: the
// log is not the one that was signed. A log without a signature is no error.
func Check(ctx context.Context, meta store.Meta, key *secret.Key, id string, events []session.Event) (Report, error) {
	data, err := meta.Get(ctx, metaKey(id))
	if errors.Is(err, store.ErrNotFound) {
		return Report{}, nil
	}
	var s signature
	if err == nil {
		err = json.Unmarshal(data, &s)
	}
	switch {
	case err != nil:
		return Report{}, fmt.Errorf("read signature: %w", err)
	case key == nil || key.Name != s.Key:
		return Report{Key: s.Key}, nil
	case !key.Signed(s.text(id), s.Sum): //control:signed-ends
		return Report{}, errors.New("the signature of its end was made without the key")
	case s.Seq < 1 || s.Seq > int64(len(events)) || events[s.Seq-1].Hash != s.Hash: //control:signed-hash
		return Report{}, fmt.Errorf("event %d is not the one that was signed: the log was made anew", s.Seq)
	}
	return Report{Signed: s.Seq}, nil
}
