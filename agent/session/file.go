package session

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
)

// File is a [Log] in a file, with one event per line, for the command line. Only one
// process may use it at a time.
type File struct {
	kept Memory // content of the file
	f    *os.File
	sync func(*os.File) error
}

// OpenFile opens or creates the log at path. It removes a last line that a crash cut
// off. Any other break of the chain is an error.
func OpenFile(path string) (*File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open log: %w", err)
	}
	l := &File{f: f, sync: syncData}
	if err := l.load(); err != nil {
		return nil, errors.Join(fmt.Errorf("read log %s: %w", path, err), f.Close())
	}
	return l, nil
}

func (l *File) load() error {
	events, whole, err := ReadEvents(l.f)
	if err != nil {
		return err
	}
	l.kept.events = events
	if err := l.f.Truncate(whole); err != nil {
		return err
	}
	_, err = l.f.Seek(whole, io.SeekStart)
	return err
}

// ReadEvents reads events, one per line, and verifies their chain. It also returns
// the length in bytes of the complete lines. An unterminated last line is left out.
func ReadEvents(r io.Reader) ([]Event, int64, error) {
	var events []Event
	var whole int64
	br := bufio.NewReader(r)
	for {
		line, err := br.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return events, whole, Verify(events)
		}
		if err != nil {
			return nil, 0, err
		}
		e, err := readLine(line)
		if err != nil {
			return nil, 0, fmt.Errorf("event %d: %w", len(events)+1, err)
		}
		events = append(events, e)
		whole += int64(len(line))
	}
}

// Append implements [Log]. An answer of a model is on the disk with the next event: nothing is done
// before, and a model that is asked again answers again.
func (l *File) Append(ctx context.Context, events ...*Event) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	l.kept.mu.Lock()
	defer l.kept.mu.Unlock()
	l.kept.chain(events)
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	for _, e := range events {
		if err := enc.Encode(e); err != nil {
			return fmt.Errorf("encode event: %w", err)
		}
	}
	at, err := l.f.Seek(0, io.SeekEnd)
	if err != nil {
		return fmt.Errorf("write log: %w", err)
	}
	_, err = l.f.Write(buf.Bytes())
	if err == nil && slices.ContainsFunc(events, func(e *Event) bool { return e.Type != TypeAnswer }) {
		err = l.sync(l.f)
	}
	if err != nil {
		// An incomplete line must not precede the next event.
		return errors.Join(fmt.Errorf("write log: %w", err), l.f.Truncate(at))
	}
	l.kept.add(events)
	return nil
}

// Events implements [Log].
func (l *File) Events(ctx context.Context, after int64) ([]Event, error) {
	return l.kept.Events(ctx, after)
}

// Close syncs and closes the file.
func (l *File) Close() error { return errors.Join(l.f.Sync(), l.f.Close()) }
