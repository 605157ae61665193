package workspace

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/sourcegraph/jsonrpc2"
)

// answering answers every request with what its function makes of it.
type answering func(c *Conn, req *jsonrpc2.Request) error

// pair is a client and a server that answers with f.
func pair(t *testing.T, f answering) *Conn {
	t.Helper()
	a, b := net.Pipe()
	log := slog.New(slog.DiscardHandler)
	ready := make(chan struct{})
	var server *Conn
	server = NewConn(t.Context(), b, handlerFunc(func(_ context.Context, _ *jsonrpc2.Conn, req *jsonrpc2.Request) {
		<-ready
		if err := f(server, req); err != nil {
			t.Errorf("answer %s: %v", req.Method, err)
		}
	}), log)
	close(ready)
	client := NewConn(t.Context(), a, handlerFunc(func(context.Context, *jsonrpc2.Conn, *jsonrpc2.Request) {}), log)
	t.Cleanup(func() {
		for _, c := range []*Conn{client, server} {
			if err := c.Close(); err != nil && !errors.Is(err, jsonrpc2.ErrClosed) {
				t.Error(err)
			}
			<-c.Gone()
		}
	})
	return client
}

// TestBodies: bytes of any kind go both ways as they are, beside their JSON.
func TestBodies(t *testing.T) {
	client := pair(t, func(c *Conn, req *jsonrpc2.Request) error {
		var p WriteParams
		if err := DecodeParams(req, &p); err != nil {
			return c.Fail(t.Context(), req.ID, err)
		}
		return c.Reply(t.Context(), req.ID, &ChunkResult{Data: p.Data, Stamp: string(p.Path)})
	})
	for i, data := range []string{"", "\n", "a\nb\n", "{\"json\":1}", "\x00\xff\xfe\n\n", strings.Repeat("long \xf0\n", 1<<18)} {
		var got ChunkResult
		if err := client.Call(t.Context(), uint64(i+1), "echo", &WriteParams{Path: []byte("p"), Data: []byte(data)}, &got); err != nil {
			t.Fatal(err)
		}
		if string(got.Data) != data || got.Stamp != "p" {
			t.Errorf("%d bytes came back as %d, stamp %q", len(data), len(got.Data), got.Stamp)
		}
	}
}

// TestNoParams: a request without parameters is told so.
func TestNoParams(t *testing.T) {
	if err := DecodeParams(&jsonrpc2.Request{Method: "x"}, &PathParams{}); err == nil || !strings.Contains(err.Error(), "no parameters") {
		t.Errorf("got %v", err)
	}
}

// TestTooLargeMessage: nothing of it is sent, and the connection stays.
func TestTooLargeMessage(t *testing.T) {
	client := pair(t, func(c *Conn, req *jsonrpc2.Request) error { return c.Reply(t.Context(), req.ID, nil) })
	err := client.Call(t.Context(), 1, "echo", &WriteParams{Data: make([]byte, maxMessage)}, nil)
	if !errors.Is(err, ErrTooLarge) {
		t.Errorf("got %v, want ErrTooLarge", err)
	}
	if err := client.Call(t.Context(), 2, "echo", nil, nil); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}

// TestFramesAreNotBelieved: lengths beyond the limit end the connection
// before anything is read, and messages that stop early are errors.
func TestFramesAreNotBelieved(t *testing.T) {
	head := func(n, m uint32) []byte {
		return binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, n), m)
	}
	for _, tt := range []struct {
		name string
		in   []byte
		want error
	}{
		{"message too long", head(maxMessage+1, 0), ErrTooLarge},
		{"body too long", head(2, maxMessage), ErrTooLarge},
		{"sum that overflows 32 bits", head(1<<31, 1<<31), ErrTooLarge},
		{"short body", append(head(2, 100), "{}x"...), io.ErrUnexpectedEOF},
		{"short long body", append(head(2, 2<<20), "{}x"...), io.ErrUnexpectedEOF},
		{"short head", []byte{0, 0}, io.ErrUnexpectedEOF},
	} {
		a, b := net.Pipe()
		go func() {
			_, err := b.Write(tt.in)
			if cerr := b.Close(); err != nil && !errors.Is(err, io.ErrClosedPipe) || cerr != nil {
				t.Errorf("%s: write: %v, %v", tt.name, err, cerr)
			}
		}()
		f := newFrames(a)
		if err := f.ReadObject(&struct{}{}); !errors.Is(err, tt.want) {
			t.Errorf("%s: %v, want %v", tt.name, err, tt.want)
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestUnfold(t *testing.T) {
	huge := int(^uint(0) >> 1)
	for _, tt := range []struct {
		name  string
		spans []Range
		text  string
		want  []Chunk // nil: refused
	}{
		{"nothing", nil, "", []Chunk{}},
		{"two spans", []Range{{From: 2, To: 3}, {From: 7, To: 7}}, "a\n\nc\n", []Chunk{{2, []string{"a", ""}}, {7, []string{"c"}}}},
		{"text that is not UTF-8", []Range{{From: 1, To: 1}}, "a\xff\n", []Chunk{{1, []string{"a\uFFFD"}}}},
		{"fewer lines than said", []Range{{From: 1, To: 3}}, "a\nb\n", nil},
		{"no lines for the second", []Range{{From: 1, To: 1}, {From: 2, To: 2}}, "a\n", nil},
		{"backwards", []Range{{From: 5, To: 4}}, "a\n", nil},
		{"before the first line", []Range{{From: 0, To: 1}}, "a\nb\n", nil},
		{"overlap", []Range{{From: 1, To: 2}, {From: 2, To: 2}}, "a\nb\nc\n", nil},
		{"more than there can be", []Range{{From: 1, To: huge}}, "a\n", nil},
	} {
		f, err := (&ReadResult{File: File{Path: "x", Chunks: []Chunk{{1, []string{"smuggled"}}}}, Spans: tt.spans, Text: []byte(tt.text)}).unfold()
		switch {
		case tt.want == nil && err == nil:
			t.Errorf("%s: accepted as %v", tt.name, f.Chunks)
		case tt.want != nil && (err != nil || !cmp.Equal(f.Chunks, tt.want)):
			t.Errorf("%s: %v, %v", tt.name, err, cmp.Diff(tt.want, f.Chunks))
		}
	}
}

// TestEncodeOnce: a body is one line of JSON and the bytes.
func TestEncodeOnce(t *testing.T) {
	body, err := encodeBody(&WriteParams{Path: []byte("p"), Data: []byte("x\ny")})
	if err != nil || !bytes.Equal(body, []byte("{\"path\":\"cA==\"}\nx\ny")) {
		t.Errorf("%q, %v", body, err)
	}
}

func TestErrorsSurviveTheWire(t *testing.T) {
	for _, want := range []error{ErrNotExist, ErrOutside, ErrIgnored, ErrNotFile, ErrTooLarge,
		ErrBinary, ErrGone, fs.ErrExist, fs.ErrPermission, context.DeadlineExceeded} {
		rpc := encodeError(fmt.Errorf("read x: %w", want))
		if got := decodeError(rpc); !errors.Is(got, want) || got.Error() != "read x: "+want.Error() {
			t.Errorf("%v became %v", want, got)
		}
	}
}
