package workspace

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strconv"

	"github.com/sourcegraph/jsonrpc2"
)

// Conn is one end of the wire: JSON-RPC that carries parameters and results as a body
// beside the message, so that they are encoded and decoded once. A body is one line of
// JSON, followed by raw bytes if there is bulk data. Conn is safe for concurrent use.
type Conn struct{ rpc *jsonrpc2.Conn }

// NewConn starts a connection over conn. It passes the requests of the other end to h
// in order, with the body as Params; [DecodeParams] reads it. The connection ends with
// ctx, with Close, or if the other end hangs up.
func NewConn(ctx context.Context, conn io.ReadWriteCloser, h jsonrpc2.Handler, log *slog.Logger) *Conn {
	f := newFrames(conn)
	return &Conn{rpc: jsonrpc2.NewConn(ctx, f, h, jsonrpc2.OnSend(f.beforeSend), jsonrpc2.OnRecv(f.received),
		jsonrpc2.SetLogger(rpcLog{log}))}
}

// Call calls method with id, and decodes the answer into result, a pointer or nil. The
// id must be unique among the pending calls of this end.
func (c *Conn) Call(ctx context.Context, id uint64, method string, params, result any) error {
	x := &exchange{}
	var err error
	if x.sent, err = encodeBody(params); err != nil {
		return err
	}
	if err = c.rpc.Call(ctx, method, nil, nil, jsonrpc2.PickID(jsonrpc2.ID{Num: id}),
		jsonrpc2.ExtraField(bodyField, x)); err != nil ||
		result == nil {
		return err
	}
	return decodeBody(x.got, result)
}

// Notify sends a notification. It has no answer.
func (c *Conn) Notify(ctx context.Context, method string, params any) error {
	body, err := encodeBody(params)
	if err != nil {
		return err
	}
	return c.rpc.Notify(ctx, method, nil, jsonrpc2.ExtraField(bodyField, &exchange{sent: body}))
}

// Reply answers the request id.
func (c *Conn) Reply(ctx context.Context, id jsonrpc2.ID, result any) error {
	body, err := encodeBody(result)
	if err != nil {
		return err
	}
	return c.rpc.SendResponse(ctx, &jsonrpc2.Response{ID: id, Result: (*json.RawMessage)(&body)})
}

// Fail answers the request id with an error.
func (c *Conn) Fail(ctx context.Context, id jsonrpc2.ID, err error) error {
	return c.rpc.ReplyWithError(ctx, id, encodeError(err))
}

// Gone returns a channel that is closed when the connection has ended.
func (c *Conn) Gone() <-chan struct{} { return c.rpc.DisconnectNotify() }

// Close ends the connection.
func (c *Conn) Close() error { return c.rpc.Close() }

// DecodeParams reads the parameters of a request into v, a pointer.
func DecodeParams(req *jsonrpc2.Request, v any) error {
	if req.Params == nil {
		return fmt.Errorf("decode %s: no parameters", req.Method)
	}
	if err := decodeBody(*req.Params, v); err != nil {
		return fmt.Errorf("decode %s: %w", req.Method, err)
	}
	return nil
}

// bulky is a body with raw bytes after its JSON.
type bulky interface{ bulk() *[]byte }

func encodeBody(v any) ([]byte, error) {
	body, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("encode message: %w", err)
	}
	if b, ok := v.(bulky); ok {
		rest := *b.bulk()
		body = append(append(slices.Grow(body, len(rest)+1), '\n'), rest...)
	}
	return body, nil
}

func decodeBody(body []byte, v any) error {
	head, rest, _ := bytes.Cut(body, []byte("\n"))
	if err := json.Unmarshal(head, v); err != nil {
		return err
	}
	if b, ok := v.(bulky); ok {
		*b.bulk() = rest
	}
	return nil
}

// bodyField is the field of a request that holds its [exchange]. On the wire it is the
// length of the body.
const bodyField = "body"

// exchange holds the bodies of a request and of its answer.
type exchange struct{ sent, got []byte }

// MarshalJSON implements [json.Marshaler]. It writes the length of the body.
func (x *exchange) MarshalJSON() ([]byte, error) {
	return strconv.AppendInt(nil, int64(len(x.sent)), 10), nil
}

func exchangeOf(req *jsonrpc2.Request) *exchange {
	if req != nil {
		for _, f := range req.ExtraFields {
			if x, ok := f.Value.(*exchange); ok {
				return x
			}
		}
	}
	return &exchange{}
}

const frameBuffer = 64 << 10

// frames reads and writes messages with their bodies: both lengths, four bytes each, then
// the message and the body. beforeSend and WriteObject run in turn under the connection's
// lock, ReadObject and received on its reading goroutine, so next and last need no lock.
type frames struct {
	conn io.Closer
	in   *bufio.Reader
	out  *bufio.Writer
	next []byte // body for the next WriteObject
	last []byte // body of the last ReadObject
}

func newFrames(conn io.ReadWriteCloser) *frames {
	return &frames{conn: conn, in: bufio.NewReaderSize(conn, frameBuffer), out: bufio.NewWriterSize(conn, frameBuffer)}
}

// beforeSend takes the body out of a message.
func (f *frames) beforeSend(req *jsonrpc2.Request, resp *jsonrpc2.Response) {
	f.next = exchangeOf(req).sent
	if resp != nil && resp.Result != nil {
		f.next = *resp.Result
		null := json.RawMessage("null")
		resp.Result = &null
	}
}

// received passes the body to the waiting call.
func (f *frames) received(req *jsonrpc2.Request, resp *jsonrpc2.Response) {
	switch {
	case resp != nil:
		exchangeOf(req).got = f.last
	case len(f.last) == 0:
		req.Params = nil
	default:
		body := json.RawMessage(f.last)
		req.Params = &body
	}
	f.last = nil
}

// WriteObject sends a message and its body.
func (f *frames) WriteObject(message any) error {
	body := f.next
	f.next = nil
	data, err := json.Marshal(message)
	if err != nil {
		return fmt.Errorf("encode message: %w", err)
	}
	if n := len(data) + len(body); n > maxMessage {
		return fmt.Errorf("send message of %d bytes: %w", n, ErrTooLarge)
	}
	head := binary.BigEndian.AppendUint32(make([]byte, 0, 8), uint32(len(data)))
	head = binary.BigEndian.AppendUint32(head, uint32(len(body)))
	for _, part := range [][]byte{head, data, body} {
		if _, err := f.out.Write(part); err != nil {
			return err
		}
	}
	return f.out.Flush()
}

// ReadObject receives a message and its body. It refuses messages larger than
// [maxMessage].
func (f *frames) ReadObject(message any) error {
	var head [8]byte
	if _, err := io.ReadFull(f.in, head[:]); err != nil {
		return err
	}
	n, m := int64(binary.BigEndian.Uint32(head[:4])), int64(binary.BigEndian.Uint32(head[4:]))
	if n+m > maxMessage {
		return fmt.Errorf("receive message of %d bytes: %w", n+m, ErrTooLarge)
	}
	data, err := readN(f.in, n)
	if err != nil {
		return err
	}
	if f.last, err = readN(f.in, m); err != nil {
		return err
	}
	return json.Unmarshal(data, message)
}

// Close closes the underlying connection.
func (f *frames) Close() error { return f.conn.Close() }

// readN reads n bytes. It allocates as they arrive, because n is untrusted.
func readN(r io.Reader, n int64) ([]byte, error) {
	if n <= 1<<20 {
		data := make([]byte, n)
		_, err := io.ReadFull(r, data)
		return data, err
	}
	var data bytes.Buffer
	_, err := io.CopyN(&data, r, n)
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return data.Bytes(), err
}

type rpcLog struct{ log *slog.Logger }

// Printf logs a message of the library.
func (l rpcLog) Printf(format string, args ...any) {
	l.log.Debug("workspace connection", "err", fmt.Sprintf(format, args...))
}
