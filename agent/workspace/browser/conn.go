package browser

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
)

// maxMessage is the maximum size in bytes of a message of the browser. The largest is a picture.
const maxMessage = 24 << 20

// Errors after which a browser is of no more use.
var (
	ErrGone    = errors.New("the browser has ended")
	ErrCrashed = errors.New("the page has crashed, perhaps for lack of memory")
)

// conn speaks the DevTools protocol over the two pipes of --remote-debugging-pipe: JSON, each
// message followed by a zero byte. It is safe for concurrent use.
type conn struct {
	pipe   io.ReadWriteCloser
	events func(method, session string, params json.RawMessage) // on the reading goroutine
	gone   chan struct{}

	write sync.Mutex

	mu      sync.Mutex
	last    int
	waiting map[int]chan message
}

type message struct {
	ID      int             `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Session string          `json:"sessionId,omitempty"`
	Params  any             `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   *struct {
		Message string `json:"message"`
	} `json:"error,omitempty"`
}

// object is the parameters of a call.
type object map[string]any

// read delivers answers and events until the browser ends.
func (c *conn) read() {
	defer close(c.gone)
	defer c.pipe.Close()
	in := bufio.NewReaderSize(c.pipe, 64<<10)
	for {
		data, err := readMessage(in)
		if err != nil {
			return
		}
		m := message{}
		var params json.RawMessage
		m.Params = &params
		if json.Unmarshal(data, &m) != nil {
			return
		}
		if m.ID == 0 {
			c.events(m.Method, m.Session, params)
			continue
		}
		c.mu.Lock()
		to := c.waiting[m.ID]
		delete(c.waiting, m.ID)
		c.mu.Unlock()
		if to != nil {
			to <- m
		}
	}
}

// readMessage reads up to a zero byte.
func readMessage(in *bufio.Reader) ([]byte, error) {
	var data []byte
	for {
		part, err := in.ReadSlice(0)
		if data = append(data, part...); len(data) > maxMessage { //control:browser-message-size
			return nil, fmt.Errorf("read message of the browser: more than %d bytes", maxMessage)
		}
		if err == nil {
			return data[:len(data)-1], nil
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return nil, err
		}
	}
}

// post sends a call without waiting for its answer, which goes to the returned channel.
func (c *conn) post(session, method string, params object) (id int, answer chan message, err error) {
	answer = make(chan message, 1)
	c.mu.Lock()
	c.last++
	id = c.last
	c.waiting[id] = answer
	c.mu.Unlock()
	m := message{ID: id, Method: method, Session: session}
	if params != nil {
		m.Params = params
	}
	data, err := json.Marshal(m)
	if err == nil {
		c.write.Lock()
		_, err = c.pipe.Write(append(data, 0))
		c.write.Unlock()
	}
	if err != nil {
		c.forget(id)
		return 0, nil, fmt.Errorf("%s: %w", method, errors.Join(ErrGone, err))
	}
	return id, answer, nil
}

func (c *conn) forget(id int) {
	c.mu.Lock()
	delete(c.waiting, id)
	c.mu.Unlock()
}

// call sends a call and decodes its answer into result, a pointer or nil.
func (c *conn) call(ctx context.Context, session, method string, params object, result any) error {
	id, answer, err := c.post(session, method, params)
	if err != nil {
		return err
	}
	defer c.forget(id)
	select {
	case m := <-answer:
		if m.Error != nil {
			return fmt.Errorf("%s: %s", method, m.Error.Message)
		}
		if result == nil {
			return nil
		}
		if err := json.Unmarshal(m.Result, result); err != nil {
			return fmt.Errorf("%s: %w", method, err)
		}
		return nil
	case <-c.gone:
		return fmt.Errorf("%s: %w", method, ErrGone)
	case <-ctx.Done():
		return fmt.Errorf("%s: %w", method, ctx.Err())
	}
}
