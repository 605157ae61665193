package store

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sort"
	"unicode/utf8"

	"github.com/handrail-bot/handrail/agent/session"
)

// logForm is the version of the form in which logs are exported today.
const logForm = 1

const maxLine = 64 << 20

// header is the first line of an exported log.
type header struct {
	Handrail string `json:"handrail"` // "session log"
	Form     int    `json:"form"`
	Session  string `json:"session"`
}

// ErrTorn is returned with the events before the tear by [ReadLog] when the
// end of an exported log is missing.
var ErrTorn = errors.New("log is torn")

// WriteLog writes a log as lines of JSON: a header, one line for each event,
// and the head that the chain ends with.
func WriteLog(w io.Writer, id string, events []session.Event) error {
	if err := session.Verify(events); err != nil {
		return fmt.Errorf("write log of session %s: %w", id, err)
	}
	out := bufio.NewWriter(w)
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	end := Head{Session: id}
	err := enc.Encode(header{Handrail: "session log", Form: logForm, Session: id})
	for i := range events {
		end.Seq, end.Hash = events[i].Seq, events[i].Hash
		err = errors.Join(err, writeEvent(out, &events[i]))
	}
	if err = errors.Join(err, enc.Encode(end), out.Flush()); err != nil {
		return fmt.Errorf("write log of session %s: %w", id, err)
	}
	return nil
}

// line is an event as it is exported. Data is a string, because the hash is
// over its bytes and a JSON writer would rearrange them.
type line struct {
	session.Event

	Data   string `json:"data,omitempty"`
	Data64 []byte `json:"data64,omitempty"` // in place of Data when that is not UTF-8
}

func writeEvent(w io.Writer, e *session.Event) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	l := line{Event: *e}
	if utf8.Valid(e.Data) {
		l.Data = string(e.Data)
	} else {
		l.Data64 = e.Data
	}
	return enc.Encode(l)
}

// ReadLog reads what [WriteLog] wrote and verifies it. When the end is
// missing, at whatever byte, it returns the whole events that are there with
// [ErrTorn]. A log that was changed gives an error and nothing else.
func ReadLog(r io.Reader) (id string, events []session.Event, err error) {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxLine)
	lines.Split(wholeLines)
	var end *Head
	at := 0
	for lines.Scan() {
		at++
		switch {
		case id == "":
			id, err = readHeader(lines.Bytes())
		case end != nil:
			err = errors.New("it goes on after its end")
		default:
			events, end, err = readLine(lines.Bytes(), events)
		}
		if err != nil {
			return id, nil, fmt.Errorf("read log, line %d: %w", at, err)
		}
	}
	if err := lines.Err(); err != nil {
		return id, nil, fmt.Errorf("read log: %w", err)
	}
	if err := session.Verify(events); err != nil {
		good := sort.Search(len(events), func(n int) bool { return session.Verify(events[:n+1]) != nil })
		return id, nil, fmt.Errorf("read log of session %s, line %d: %w", id, good+2, err) // the header is the first line
	}
	if end == nil {
		return id, events, fmt.Errorf("read log, line %d: %w after %d events", at+1, ErrTorn, len(events))
	}
	last := Head{Session: id}
	if n := len(events); n > 0 {
		last.Seq, last.Hash = events[n-1].Seq, events[n-1].Hash
	}
	if *end != last {
		return id, nil, fmt.Errorf("read log of session %s, line %d: %d events are there, %d were written", id, at, last.Seq, end.Seq)
	}
	return id, events, nil
}

// wholeLines splits off lines that end with a newline and drops the rest.
func wholeLines(data []byte, atEOF bool) (int, []byte, error) {
	if i := bytes.IndexByte(data, '\n'); i >= 0 {
		return i + 1, data[:i], nil
	}
	if atEOF {
		return len(data), nil, nil
	}
	return 0, nil, nil
}

func readHeader(data []byte) (string, error) {
	var h header
	if err := json.Unmarshal(data, &h); err != nil || h.Handrail != "session log" || h.Session == "" {
		return "", errors.New("this is not an exported session log")
	}
	if h.Form < 1 || h.Form > logForm {
		return "", fmt.Errorf("form %d is not known, this version reads up to %d: use a newer version", h.Form, logForm)
	}
	return h.Session, nil
}

// readLine reads an event or the head at the end.
func readLine(data []byte, events []session.Event) ([]session.Event, *Head, error) {
	var end Head
	if err := json.Unmarshal(data, &end); err == nil && end.Session != "" {
		return events, &end, nil
	}
	var l line
	if err := json.Unmarshal(data, &l); err != nil {
		return events, nil, err
	}
	e := l.Event
	e.Data = nil
	if data := append([]byte(l.Data), l.Data64...); len(data) > 0 {
		e.Data = data
	}
	return append(events, e), nil, nil
}

// Verify checks every log of a store: the chain of its events, and that it
// ends where the store says it does. It calls report for each session, with
// its events, and nil when all is well, and returns how many were checked.
func Verify(ctx context.Context, logs Logs, report func(h Head, events []session.Event, err error)) (int, error) {
	heads, err := logs.Heads(ctx)
	if err != nil {
		return 0, fmt.Errorf("verify logs: %w", err)
	}
	for i, h := range heads {
		events, err := logs.Log(Fence{Key: h.Session}).Events(ctx, 0)
		if err != nil {
			return i, fmt.Errorf("verify logs: %w", err)
		}
		report(h, events, verify(h, events))
	}
	return len(heads), nil
}

func verify(h Head, events []session.Event) error {
	if err := session.Verify(events); err != nil {
		return err
	}
	if int64(len(events)) != h.Seq {
		return fmt.Errorf("%d events are there, %d were written", len(events), h.Seq)
	}
	if n := len(events); n > 0 && events[n-1].Hash != h.Hash {
		return fmt.Errorf("event %d: is not the one that was written last", h.Seq)
	}
	return nil
}
