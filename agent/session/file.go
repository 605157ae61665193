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
)

// File is a [Log] in a file, one event a line. It is for one process at a
// time; the command line uses it.
type File struct {
	kept Memory // what the file holds
	f    *os.File
}

// OpenFile opens or makes the log at path. A last line that a crash cut off is removed;
// anything else that is not the unbroken chain is an error.
func OpenFile(path string) (*File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open log: %w", err)
	}
	l := &File{f: f}
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

// ReadEvents reads events that were written one a line and checks their
// chain. It returns them with the length of the whole lines in bytes; a last
// line without its end is left out.
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

// Append implements [Log].
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
	if _, err = l.f.Write(buf.Bytes()); err == nil {
		err = l.f.Sync()
	}
	if err != nil {
		// Half a line must not stay in front of the next event.
		return errors.Join(fmt.Errorf("write log: %w", err), l.f.Truncate(at))
	}
	l.kept.add(events)
	return nil
}

// Events implements [Log].
func (l *File) Events(ctx context.Context, after int64) ([]Event, error) {
	return l.kept.Events(ctx, after)
}

// Close makes everything durable and closes the file.
func (l *File) Close() error { return errors.Join(l.f.Sync(), l.f.Close()) }
