package threadref

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot/store"
)

// book is the whole content of the ref. Its records are replaced, never modified, so a
// copy of the maps is a copy of the book.
type book struct {
	records

	logs  map[string]*chain
	files map[string][]byte // finished parts of logs, by file name
}

// records is the part that every change writes again.
type records struct {
	Form       int                      `json:"form"`
	Writer     string                   `json:"writer"` // id of the store that wrote this; Change counts its writes
	Change     int64                    `json:"change"`
	Seq        int64                    `json:"seq,omitempty"`
	Deliveries []store.Delivery         `json:"deliveries,omitempty"` // undone ones, oldest first
	Known      map[string]known         `json:"known,omitempty"`      // done ones, by id
	Sessions   map[string]store.Session `json:"sessions,omitempty"`
	Order      []string                 `json:"order,omitempty"` // of sessions, oldest first
	Leases     map[string]store.Lease   `json:"leases,omitempty"`
	Intents    map[string]store.Intent  `json:"intents,omitempty"`
	Planned    []string                 `json:"planned,omitempty"` // keys of intents, oldest first
	Values     map[string][]byte        `json:"values,omitempty"`
	Heads      map[string]store.Head    `json:"heads,omitempty"` // ends of logs
}

// known is a finished delivery, kept to recognize a redelivery.
type known struct {
	Key  string    `json:"key,omitempty"`
	Done time.Time `json:"done"`
	Note string    `json:"note,omitempty"`
}

// chain is one log.
type chain struct {
	events []session.Event
	sealed int // number of events in finished parts
	parts  int
}

// form is the version of the format.
const form = 1

// limit returns the size of events at which a part is finished, in bytes. Each change
// writes the last part again, so the first parts are small; later ones grow with the log,
// to keep their number small.
func (c chain) limit() int { return 16 << 10 << min(c.parts/64, 6) }

// maxUnpacked is the maximum unpacked size of all files together, in bytes.
const maxUnpacked = 512 << 20

// maxSessions and maxBytes limit the sessions in a ref, and maxKnownAge the time for
// which it recognizes redeliveries. The newest session and unfinished ones are kept at any
// size: their budgets limit that.
const (
	maxSessions = 20
	maxBytes    = 32 << 20
	maxKnownAge = 30 * 24 * time.Hour
)

// Names of files. The ref has no directories.
const (
	stateFile = "state.json.gz"
	partEnd   = ".jsonl.gz"
)

// errSealed means that a ref is sealed and no key was given.
var errSealed = errors.New("it is sealed: the key that it was sealed with is needed")

func newBook() *book {
	return &book{records: records{Form: form}, logs: map[string]*chain{}, files: map[string][]byte{}}
}

// clone returns a copy to change. Its maps are not nil.
func (b *book) clone() *book {
	c := *b
	c.Deliveries, c.Known = slices.Clone(b.Deliveries), copied(b.Known)
	c.Sessions, c.Leases = copied(b.Sessions), copied(b.Leases)
	c.Intents, c.Values, c.Heads = copied(b.Intents), copied(b.Values), copied(b.Heads)
	c.Order, c.Planned = slices.Clone(b.Order), slices.Clone(b.Planned)
	c.logs, c.files = copied(b.logs), copied(b.files)
	return &c
}

func copied[V any](m map[string]V) map[string]V {
	if m == nil { //control:nothing-is-empty
		return map[string]V{}
	}
	return maps.Clone(m)
}

// join merges changes that other processes made in the ref: new deliveries, and requests
// to holders of leases. It fails with [session.ErrFenced] if one of them took a lease
// held here.
func (b *book) join(theirs *book) (*book, error) {
	c := b.clone()
	for key, l := range theirs.Leases {
		mine := c.Leases[key]
		if l.Epoch > mine.Epoch {
			if mine.Owner != "" {
				return nil, session.ErrFenced
			}
			mine = l
		}
		mine.Wanted = mine.Wanted || l.Wanted
		c.Leases[key] = mine
	}
	for _, d := range theirs.Deliveries {
		if !c.has(d.ID, "") {
			c.Seq = max(c.Seq+1, d.Seq)
			d.Seq = c.Seq
			c.Deliveries = append(c.Deliveries, d)
		}
	}
	return c, nil
}

// trim removes old records.
func (b *book) trim(now time.Time, limit int) {
	maps.DeleteFunc(b.Known, func(_ string, k known) bool { return now.Sub(k.Done) > maxKnownAge })
	size := 0
	for _, data := range b.files {
		size += len(data)
	}
	//control:old-sessions-are-forgotten
	for i := 0; i < len(b.Order)-1 && (len(b.Order) > maxSessions || size > limit); {
		id := b.Order[i]
		if !b.Sessions[id].State.Over() { //control:unfinished-are-not-forgotten
			i++
			continue
		}
		size -= b.forget(id)
		b.Order = slices.Delete(b.Order, i, i+1)
	}
}

// forget removes a session and returns the size of its log in bytes.
func (b *book) forget(id string) (size int) {
	delete(b.Sessions, id)
	delete(b.Leases, id)
	delete(b.Heads, id)
	delete(b.logs, id)
	maps.DeleteFunc(b.files, func(name string, data []byte) bool {
		ours := strings.HasPrefix(name, id+".") && strings.HasSuffix(name, partEnd)
		if ours {
			size += len(data)
		}
		return ours
	})
	maps.DeleteFunc(b.Intents, func(_ string, in store.Intent) bool { return in.Session == id })
	b.Planned = slices.DeleteFunc(b.Planned, func(key string) bool { _, ok := b.Intents[key]; return !ok })
	return size
}

// encode returns the files of the ref. It moves the events at the end of a log into
// finished parts, while they fill one.
func (b *book) encode(seal func([]byte) ([]byte, error)) (map[string][]byte, error) {
	state, err := json.Marshal(b.records)
	if err != nil {
		return nil, err
	}
	last := map[string][]byte{} // files that the next change writes again
	if last[stateFile], err = pack(state, seal); err != nil {
		return nil, err
	}
	for id, c := range b.logs {
		next, size := *c, 0
		for i := next.sealed; i < len(next.events); i++ {
			size += len(next.events[i].Data)
			full := size >= next.limit()
			if !full && i < len(next.events)-1 {
				continue
			}
			data, err := packEvents(next.events[next.sealed:i+1], seal)
			if err != nil {
				return nil, fmt.Errorf("write log of session %s: %w", id, err)
			}
			if !full {
				last[partName(id, next.parts)] = data
				break
			}
			b.files[partName(id, next.parts)] = data
			next.sealed, next.parts, size = i+1, next.parts+1, 0
		}
		b.logs[id] = &next
	}
	maps.Copy(last, b.files)
	return last, nil
}

func partName(id string, n int) string { return fmt.Sprintf("%s.%06d%s", id, n, partEnd) }

// event is the stored form of an event. Data keeps its exact bytes: the hash covers them.
type event struct {
	session.Event

	Data []byte `json:"bytes,omitempty"`
}

func packEvents(events []session.Event, seal func([]byte) ([]byte, error)) ([]byte, error) {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	for _, e := range events {
		line := event{Event: e, Data: e.Data}
		line.Event.Data = nil
		if err := enc.Encode(line); err != nil {
			return nil, err
		}
	}
	return pack(out.Bytes(), seal)
}

func pack(data []byte, seal func([]byte) ([]byte, error)) ([]byte, error) {
	var out bytes.Buffer
	zip, err := gzip.NewWriterLevel(&out, gzip.BestSpeed)
	if err != nil {
		return nil, err
	}
	_, err = zip.Write(data)
	if err := errors.Join(err, zip.Close()); err != nil {
		return nil, err
	}
	if seal == nil {
		return out.Bytes(), nil
	}
	return seal(out.Bytes())
}

// unpacker unpacks files of the ref, up to a total size.
type unpacker struct {
	open func([]byte) ([]byte, error)
	left int64 // remaining bytes, for all files together
}

func (u *unpacker) unpack(data []byte) ([]byte, error) {
	if u.open != nil {
		var err error
		if data, err = u.open(data); err != nil {
			return nil, err
		}
	}
	zip, err := gzip.NewReader(bytes.NewReader(data))
	if errors.Is(err, gzip.ErrHeader) && u.open == nil {
		err = errSealed
	}
	if err != nil {
		return nil, err
	}
	out, err := io.ReadAll(io.LimitReader(zip, u.left+1))
	if u.left -= int64(len(out)); err == nil && u.left < 0 { //control:refs-unpack-to-so-much
		err = errors.New("the ref unpacks to more than it may")
	}
	return out, err
}

// decode reads the files of the ref. A missing ref gives an empty book.
func decode(files map[string][]byte, u unpacker) (*book, error) {
	b := newBook()
	if len(files) == 0 {
		return b, nil
	}
	data, err := u.unpack(files[stateFile])
	if err != nil {
		return nil, fmt.Errorf("%s: %w", stateFile, err)
	}
	if err := json.Unmarshal(data, &b.records); err != nil {
		return nil, fmt.Errorf("%s: %w", stateFile, err)
	}
	if b.Form != form {
		const other = "%s has the form %d: another version of handrail wrote it, this one reads %d"
		return nil, fmt.Errorf(other, stateFile, b.Form, form)
	}
	if err := b.mend(); err != nil {
		return nil, fmt.Errorf("%s: %w", stateFile, err)
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		whole, ok := strings.CutSuffix(name, partEnd)
		if !ok {
			continue
		}
		id := whole[:max(strings.LastIndexByte(whole, '.'), 0)]
		data, err := u.unpack(files[name])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if err := b.take(id, name, data); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		b.files[name] = files[name]
	}
	return b, b.check()
}

// take adds a part to a log. The last part stays open for further events.
func (b *book) take(id, name string, data []byte) error {
	next := &chain{}
	if c := b.logs[id]; c != nil {
		next = &chain{events: c.events, sealed: len(c.events), parts: c.parts + 1}
	}
	if name != partName(id, next.parts) {
		return errors.New("a part before it is missing")
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	for {
		var line event
		err := dec.Decode(&line)
		if errors.Is(err, io.EOF) {
			b.logs[id] = next
			return nil
		}
		if err != nil {
			return err
		}
		line.Event.Data = line.Data
		next.events = append(next.events, line.Event)
	}
}

// check verifies that the logs are complete and end at the recorded heads.
func (b *book) check() error {
	for id := range b.logs {
		if _, ok := b.Heads[id]; !ok { //control:no-log-without-an-end
			return fmt.Errorf("the records do not say where the log of session %s ends", id)
		}
	}
	for id, h := range b.Heads {
		c := b.logs[id]
		if c == nil || len(c.events) == 0 {
			return fmt.Errorf("the log of session %s is missing", id)
		}
		if err := session.Verify(c.events); err != nil {
			return fmt.Errorf("log of session %s: %w", id, err)
		}
		if last := c.events[len(c.events)-1]; last.Hash != h.Hash || last.Seq != h.Seq {
			return fmt.Errorf("the log of session %s does not end where the records say", id)
		}
		delete(b.files, partName(id, c.parts)) // the last part is written again
	}
	return nil
}
