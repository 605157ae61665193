package acp

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"sync"
	"time"
)

// maxMessage is the maximum size in bytes of one message of an agent.
const maxMessage = 8 << 20

// maxWrite is the maximum time until an agent has read one message. It bounds all waits of those
// who have a word for the agent, also of those who end it.
const maxWrite = time.Minute

var errLong = errors.New("a message of the agent is too long")

// frames is a stream with one JSON message per line.
type frames struct {
	in   *bufio.Reader
	conn io.ReadWriteCloser
	out  sync.Mutex
}

func newFrames(conn io.ReadWriteCloser) *frames {
	return &frames{in: bufio.NewReaderSize(conn, 64<<10), conn: conn}
}

// ReadObject reads the next message. Lines that are no object are skipped: some agents print
// words of their libraries between their messages.
func (f *frames) ReadObject(v any) error {
	for {
		line, err := f.line()
		if len(line) > 0 && line[0] == '{' {
			return json.Unmarshal(line, v)
		}
		if err != nil {
			return err
		}
	}
}

func (f *frames) line() ([]byte, error) {
	var line []byte
	for {
		part, err := f.in.ReadSlice('\n')
		if len(line)+len(part) > maxMessage { //control:acp-long-message
			return nil, errLong
		}
		line = append(line, part...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return bytes.TrimSpace(line), err
		}
	}
}

// WriteObject writes a message, and ends an agent that does not read it.
func (f *frames) WriteObject(v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	f.out.Lock()
	defer f.out.Unlock()
	late := time.AfterFunc(maxWrite, func() { _ = f.conn.Close() }) //control:acp-deaf
	defer late.Stop()
	_, err = f.conn.Write(append(data, '\n'))
	return err
}

// Close ends the stream in both directions.
func (f *frames) Close() error { return f.conn.Close() }
