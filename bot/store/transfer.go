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

// logForm is the current version of the export format.
const logForm = 1

const maxLine = 64 << 20

// header is the first line of an exported log.
type header struct {
	Handrail string `json:"handrail"` // "session log"
	Form     int    `json:"form"`
	Session  string `json:"session"`
}

// ErrTorn is returned by [ReadLog], with the complete events, if the end of an exported
// log is missing.
var ErrTorn = errors.New("log is torn")

// WriteLog writes a log as lines of JSON: a header, one line for each event, and the head
// of the chain.
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

// line is an exported event. Data is a string, because the hash covers its bytes and a
// JSON encoder would change them.
type line struct {
	session.Event

	Data   string `json:"data,omitempty"`
	Data64 []byte `json:"data64,omitempty"` // replaces Data if that is not UTF-8
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

// ReadLog reads and verifies the output of [WriteLog]. If the end is missing, at any
// byte, it returns the complete events with [ErrTorn]. For a modified log it returns only
// an error.
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
		return id, nil, fmt.Errorf("read log of session %s, line %d: %w", id, good+2, err) // line 1 is the header
	}
	if end == nil {
		return id, events, fmt.Errorf("read log, line %d: %w after %d events", at+1, ErrTorn, len(events))
	}
	last := Head{Session: id}
	if n := len(events); n > 0 {
		last.Seq, last.Hash = events[n-1].Seq, events[n-1].Hash
	}
	if *end != last {
		return id, nil, fmt.Errorf(
			"read log of session %s, line %d: %d events are there, %d were written",
			id,
			at,
			last.Seq,
			end.Seq,
		)
	}
	return id, events, nil
}

// wholeLines is a split function for lines that drops an incomplete last line.
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

// readLine reads an event, or the head at the end.
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

// Verify checks every log of a store: the chain of its events, and that it ends at the
// stored head. It calls report for each session, with its events and nil if the log is
// intact, and returns the number of logs.
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
