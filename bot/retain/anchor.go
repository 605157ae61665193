package retain

// Event logs are tied to a key outside of the database. A hash chain detects
// accidental changes, but with access to the database the whole chain can be rebuilt. The
// end of a log is therefore signed whenever a run ends, and [CheckLog] detects a chain that
// was rebuilt without the key.

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

// AnchoredLogs signs the ends of logs. A nil Key disables signing.
type AnchoredLogs struct {
	store.Logs
	Meta store.Meta
	Key  *secret.Key
}

// Log implements store.Logs.
func (l AnchoredLogs) Log(f store.Fence) session.Log { return signing{l.Logs.Log(f), l, f.Key} }

// Apply implements store.Logs.
func (l AnchoredLogs) Apply(ctx context.Context, f store.Fence, c store.Change) error {
	if err := l.Logs.Apply(ctx, f, c); err != nil {
		return err
	}
	return l.sign(ctx, f.Key, c.Events)
}

// signing is the log of one session.
type signing struct {
	session.Log
	logs AnchoredLogs
	id   string
}

// Append implements session.Log.
func (s signing) Append(ctx context.Context, events ...*session.Event) error {
	if err := s.Log.Append(ctx, events...); err != nil {
		return err
	}
	return s.logs.sign(ctx, s.id, events)
}

// signature is the stored signature of a log's end.
type signature struct {
	Seq  int64  `json:"seq"`
	Hash string `json:"hash"`
	Key  string `json:"key"` // the key's name
	Sum  string `json:"sum"`
}

func metaKey(id string) string { return "signed end of " + id }

func (s signature) text(id string) string { return fmt.Sprintf("%s %d %s", id, s.Seq, s.Hash) }

// sign signs the newest of the events that end a run. It runs after they are stored:
// after a failure or a crash in between, only the previous end is signed.
func (l AnchoredLogs) sign(ctx context.Context, id string, events []*session.Event) error {
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

// LogReport is the result of [Check] for a log.
type LogReport struct {
	Signed int64  // last event covered by the signature; 0 if unsigned
	Key    string // name of the signing key, if it is not available
}

// CheckLog compares a log with its signature. It returns an error if the log differs from
// the signed one. A log without a signature is no error.
func CheckLog(
	ctx context.Context,
	meta store.Meta,
	key *secret.Key,
	id string,
	events []session.Event,
) (LogReport, error) {
	data, err := meta.Get(ctx, metaKey(id))
	if errors.Is(err, store.ErrNotFound) {
		return LogReport{}, nil
	}
	var s signature
	if err == nil {
		err = json.Unmarshal(data, &s)
	}
	switch {
	case err != nil:
		return LogReport{}, fmt.Errorf("read signature: %w", err)
	case key == nil || key.Name != s.Key:
		return LogReport{Key: s.Key}, nil
	case !key.Signed(s.text(id), s.Sum): //control:signed-ends
		return LogReport{}, errors.New("the signature of its end was made without the key")
	case s.Seq < 1 || s.Seq > int64(len(events)) || events[s.Seq-1].Hash != s.Hash: //control:signed-hash
		return LogReport{}, fmt.Errorf("event %d is not the one that was signed: the log was made anew", s.Seq)
	}
	return LogReport{Signed: s.Seq}, nil
}
