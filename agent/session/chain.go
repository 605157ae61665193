package session

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"
)

// payloadVersion is the current version of the payload format.
const payloadVersion = 1

// NewID returns a fresh session id: "s" and twelve lower-case base32
// characters from the system's random source.
func NewID() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // crypto/rand.Read never fails
	return "s" + strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(b[:]))[:12]
}

// NewEvent makes an event from a payload struct. It panics if JSON cannot encode the
// payload, which is a programming error.
func NewEvent(t Type, turn int, payload any) *Event {
	data, err := json.Marshal(payload)
	if err != nil {
		panic(fmt.Sprintf("session: marshal %s payload: %v", t, err))
	}
	return &Event{Time: time.Now().UTC(), Turn: turn, Type: t, V: payloadVersion, Data: data}
}

// Decode decodes the payload of e into T, the struct named after e.Type. It fails on
// a payload written by a newer version.
func Decode[T any](e Event) (T, error) {
	var p T
	if e.V > payloadVersion {
		return p, fmt.Errorf(
			"decode %s event %d: form %d is not known, this version reads up to %d: use a newer version",
			e.Type,
			e.Seq,
			e.V,
			payloadVersion,
		)
	}
	if err := json.Unmarshal(e.Data, &p); err != nil {
		return p, fmt.Errorf("decode %s event %d: %w", e.Type, e.Seq, err)
	}
	return p, nil
}

// Chain numbers and links events that follow a record with sequence seq and hash
// prev. Log adapters call it in Append. Time is truncated to microseconds, the
// precision of all databases.
func Chain(seq int64, prev string, events []*Event) {
	for _, e := range events {
		seq++
		e.Seq, e.Prev = seq, prev
		e.Time = e.Time.UTC().Truncate(time.Microsecond)
		e.Hash = e.digest()
		prev = e.Hash
	}
}

// Verify checks that events are an unbroken chain from sequence 1. The error names
// the first record that does not fit.
func Verify(events []Event) error {
	prev := ""
	for i := range events {
		e := &events[i]
		switch {
		case e.Seq != int64(i)+1:
			return fmt.Errorf("event %d: sequence is %d", i+1, e.Seq)
		case e.Prev != prev:
			return fmt.Errorf("event %d: does not follow the event before it", e.Seq)
		case e.Hash != e.digest():
			return fmt.Errorf("event %d: content was changed after it was written", e.Seq)
		}
		prev = e.Hash
	}
	return nil
}

func (e *Event) digest() string {
	h := sha256.New()
	var n [8]byte
	write := func(part []byte) {
		binary.BigEndian.PutUint64(n[:], uint64(len(part)))
		h.Write(n[:])
		h.Write(part)
	}
	for _, part := range [...]string{e.Prev, fmt.Sprint(e.Seq), e.Time.UTC().Format(time.RFC3339Nano),
		fmt.Sprint(e.Turn), string(e.Type), fmt.Sprint(e.V)} {
		write([]byte(part))
	}
	write(e.Data)
	return hex.EncodeToString(h.Sum(nil))
}

// Memory is a [Log] in memory, for tests and for runs without persistence. The zero
// value is an empty log.
type Memory struct {
	mu     sync.Mutex
	events []Event
}

// Append implements [Log].
func (m *Memory) Append(ctx context.Context, events ...*Event) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.chain(events)
	m.add(events)
	return nil
}

// chain numbers and links events after the existing ones.
func (m *Memory) chain(events []*Event) {
	prev := ""
	if n := len(m.events); n > 0 {
		prev = m.events[n-1].Hash
	}
	Chain(int64(len(m.events)), prev, events)
}

func (m *Memory) add(events []*Event) {
	for _, e := range events {
		m.events = append(m.events, *e)
	}
}

// Events implements [Log].
func (m *Memory) Events(_ context.Context, after int64) ([]Event, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if after >= int64(len(m.events)) {
		return nil, nil
	}
	return append([]Event(nil), m.events[after:]...), nil
}
