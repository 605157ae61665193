package egress

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/handrail-bot/handrail/policy/reach"
)

// FuzzHead checks of every head that is taken that the library, which is what passes plain
// HTTP on, reads the same host from it, and only one request.
func FuzzHead(f *testing.F) {
	for _, s := range []string{
		"CONNECT a.example:443 HTTP/1.1\r\nHost: a.example:443\r\n\r\n", "GET http://a.example/x?y HTTP/1.1\r\nHost: a.example\r\nContent-Length: 0\r\n\r\n",
		"POST http://A.example:8080 HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", "GET http://a.example@b.example/ HTTP/1.1\r\n\r\n", "GET http://a.example\\@b.example/ HTTP/1.1\r\n\r\n",
		"CONNECT a.example:443\r\n\r\nHTTP/1.1\r\n\r\n", "GET http://a.example?@b.example/ HTTP/1.1\r\nHost : a.example\r\n\r\n", "GET http://a.example/ HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\n",
		"GET HTTP://a.example:80/%zz HTTP/1.1\r\nHost: a.example\r\n\r\n",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		h, err := readHead(bufio.NewReader(bytes.NewReader(data)))
		if err != nil {
			var r *refusal
			if errors.As(err, &r) && strings.ContainsFunc(r.Error(), func(c rune) bool { return c < ' ' || c > '~' && c != '…' }) {
				t.Errorf("%q is refused with %q", data, r.Error())
			}
			return
		}
		if name, ok := reach.Name(h.host); !ok || name != h.host || h.port < 1 || h.port > 65535 || !bytes.HasPrefix(data, h.raw) || bytes.Count(h.raw, []byte("\r\n\r\n")) != 1 {
			t.Fatalf("%q is a head of %q", data, h.at())
		}
		req, err := http.ReadRequest(bufio.NewReader(io.MultiReader(bytes.NewReader(h.raw), strings.NewReader("0\r\n\r\n"))))
		if err != nil || h.method == http.MethodConnect {
			return // refused when it is passed on, or never passed on as it is
		}
		port := req.URL.Port()
		if port == "" {
			port = "80"
		}
		if !strings.EqualFold(req.URL.Hostname()+":"+port, h.at()) || req.URL.User != nil || req.Method != h.method {
			t.Errorf("%q is for %s here and for %s there", data, h.at(), req.URL)
		}
	})
}

// Bytes are read up to the end of a head, which is not long.
func TestReadHead(t *testing.T) {
	for _, s := range []string{strings.Repeat("x", maxHead+1), "GET http://a.example/ HTTP/1.1\r\nX: " + strings.Repeat("x", maxHead) + "\r\n\r\n", strings.Repeat("GET / HTTP/1.1\r\n", 4000)} {
		var r *refusal
		if _, err := readHead(bufio.NewReader(strings.NewReader(s))); !errors.As(err, &r) || r.status != http.StatusBadRequest {
			t.Errorf("%.30q…: %v", s, err)
		}
	}
	for _, odd := range []string{"a\x00b", "a\rHost: b.example", "a\x1b[2J", "a\x7f"} {
		if _, err := readHead(bufio.NewReader(strings.NewReader("GET http://a.example/ HTTP/1.1\r\nX: " + odd + "\r\n\r\n"))); err == nil {
			t.Errorf("%q is taken in a header", odd)
		}
	}
	in := bufio.NewReader(strings.NewReader("CONNECT a.example:443 HTTP/1.1\r\n\r\nrest"))
	if _, err := readHead(in); err != nil {
		t.Fatal(err)
	}
	if rest, err := io.ReadAll(in); err != nil || string(rest) != "rest" {
		t.Errorf("left %q, %v", rest, err)
	}
}

// No connection carries more than its bound.
func TestBounded(t *testing.T) {
	for _, tt := range []struct {
		left int64
		want error
	}{{10, nil}, {9, errTooMuch}} {
		m := &metered{Conn: pretend{r: strings.NewReader("0123456789")}, left: tt.left, moved: func() {}}
		if data, err := io.ReadAll(m); !errors.Is(err, tt.want) || (err == nil) != (len(data) == 10) {
			t.Errorf("of %d: %q, %v", tt.left, data, err)
		}
	}
}

// pretend is a connection to read from.
type pretend struct {
	net.Conn
	r io.Reader
}

func (p pretend) Read(b []byte) (int, error) { return p.r.Read(b) }
