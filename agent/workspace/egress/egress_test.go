package egress_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/binary"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/handrail-bot/handrail/agent/workspace/egress"
	"github.com/handrail-bot/handrail/agent/workspace/workspacetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// dial returns a function that connects to a proxy.
func dial(t *testing.T, p *egress.Proxy) func(context.Context) (net.Conn, error) {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	var work sync.WaitGroup
	work.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			work.Go(func() { p.Serve(ctx, c) })
		}
	})
	t.Cleanup(func() { cancel(); _ = l.Close(); work.Wait() })
	return func(ctx context.Context) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "tcp", l.Addr().String())
	}
}

// What an engine's workspace is tested with, without a workspace.
func TestEscapes(t *testing.T) {
	site := workspacetest.NewSite(t)
	proxy := dial(t, workspacetest.Proxy(t, site))
	n := 0
	for _, a := range workspacetest.Attempts(site, "") {
		if a.Send == "" {
			continue
		}
		if got, err := a.Try(t.Context(), proxy); err == nil || strings.Contains(got, workspacetest.Marker) {
			t.Errorf("%s: %q, %v; want to be refused", a.Name, got, err)
		}
		n++
	}
	if n < 60 || site.Asked.Load() != 0 {
		t.Errorf("%d attempts; the site was asked %d times", n, site.Asked.Load())
	}
}

func TestLetThrough(t *testing.T) {
	site := workspacetest.NewSite(t)
	proxy := dial(t, workspacetest.Proxy(t, site))
	plain := "plain.example:" + site.Plain
	connect := "CONNECT allowed.example:" + site.TLS + " HTTP/1.1\r\n"
	for _, tt := range []struct{ name, send, then, want string }{
		{"TLS", connect + "Host: allowed.example:" + site.TLS + "\r\nProxy-Connection: keep-alive\r\nUser-Agent: x\r\n\r\n", "tls allowed.example", "GET allowed.example 0"},
		{"TLS, other letters", strings.Replace(connect, "allowed", "Allowed", 1) + "Host: allowed.example\r\n\r\n", "tls ALLOWED.example", "GET allowed.example 0"},
		{"TLS, version 1.0", "CONNECT allowed.example:" + site.TLS + " HTTP/1.0\r\n\r\n", "tls allowed.example", "GET allowed.example 0"},
		{"plain", "GET http://" + plain + "/ HTTP/1.1\r\nHost: " + plain + "\r\n\r\n", "", "GET " + plain + " 0"},
		{"a body", "POST http://" + plain + "/x?y=1 HTTP/1.1\r\nHost: " + plain + "\r\nContent-Length: 5\r\n\r\nhello", "", "POST " + plain + " 5"},
		{"a body in chunks", "PUT http://" + plain + " HTTP/1.1\r\nHost: " + plain + "\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n", "", "PUT " + plain + " 5"},
		{"asked to go on", "POST http://" + plain + "/ HTTP/1.1\r\nHost: " + plain + "\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\nhello", "", ""},
		{"no other protocol", "GET http://" + plain + "/ HTTP/1.1\r\nHost: " + plain + "\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AA\r\n\r\n", "", "GET " + plain + " 0"},
	} {
		got, err := workspacetest.Attempt{Send: tt.send, Then: tt.then}.Try(t.Context(), proxy)
		if tt.want == "" { // the answer that says so comes first
			if err == nil || !strings.Contains(err.Error(), "100 Continue") {
				t.Errorf("%s: %q, %v", tt.name, got, err)
			}
			continue
		}
		if err != nil || got != workspacetest.Marker+" "+tt.want {
			t.Errorf("%s: %q, %v; want %q", tt.name, got, err, tt.want)
		}
	}
}

// Who is refused is told why, the model once, and the log.
func TestTold(t *testing.T) {
	var log bytes.Buffer
	site := workspacetest.NewSite(t)
	p, err := egress.New(egress.Config{
		Hosts: []string{"inside.example", "gone.example", "site.example:" + site.TLS}, Inside: map[string]string{"site.example": "127.0.0.1"},
		Resolver: workspacetest.Names(t, map[string][]string{"inside.example": {"10.1.2.3"}}), Log: slog.New(slog.NewTextHandler(&log, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	proxy := dial(t, p)
	try := func(send, then string) string {
		_, err := workspacetest.Attempt{Send: send, Then: then}.Try(t.Context(), proxy)
		return fmt.Sprint(err)
	}
	for range 2 {
		try("CONNECT evil.example:443 HTTP/1.1\r\n\r\n", "")
	}
	if got := try("GET http://evil.example/ HTTP/1.1\r\n\r\n", ""); got != "answer 403 refused evil.example:80, not on workspace.hosts" {
		t.Errorf("the program is told %s", got)
	}
	try("GET http://inside.example/ HTTP/1.1\r\n\r\n", "")
	try("GET http://gone.example/ HTTP/1.1\r\n\r\n", "")
	try("CONNECT site.example:"+site.TLS+" HTTP/1.1\r\n\r\n", "tls evil.example")
	try("CONNECT site.example:"+site.TLS+" HTTP/1.1\r\n\r\n", "hello\r\n")
	want := []string{
		"refused evil.example:443, not on workspace.hosts",
		"refused evil.example:80, not on workspace.hosts",
		"refused inside.example:80, because its address is inside a network",
		"gone.example:80 is allowed but cannot be reached: its name was not found",
		"refused site.example:" + site.TLS + `, because the TLS that came through it was for "evil.example", another name`,
		"refused site.example:" + site.TLS + ", because the traffic in it was no TLS",
	}
	if got := p.Refused(); strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("the model is told\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if got := p.Refused(); got != nil {
		t.Errorf("and again %q", got)
	}
	if n := strings.Count(log.String(), `msg="network refused"`); n != len(want)-1 || !strings.Contains(log.String(), "list not reached\" host=gone.example:80") || !strings.Contains(log.String(), "host=evil.example:443 why=\"not on workspace.hosts\"") {
		t.Errorf("the log has %d refusals:\n%s", n, log.String())
	}
	for i := range 400 {
		try(fmt.Sprintf("CONNECT n%d.example:443 HTTP/1.1\r\n\r\n", i), "")
	}
	if got := p.Refused(); len(got) != 11 || got[10] != "refused 390 more" {
		t.Errorf("the model is told %q", got)
	}
	if n := strings.Count(log.String(), "\n"); n != 101 || !strings.Contains(log.String(), "further refusals") {
		t.Errorf("the log has %d lines", n)
	}
}

// A hello that hides the name that is meant goes nowhere.
func TestHiddenName(t *testing.T) {
	site := workspacetest.NewSite(t)
	proxy := dial(t, workspacetest.Proxy(t, site))
	for _, hidden := range []bool{false, true} {
		conn, err := proxy(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := workspacetest.Connect(conn, "CONNECT allowed.example:"+site.TLS+" HTTP/1.1\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		_, _ = conn.Write(hello(t, hidden))
		first := make([]byte, 1)
		if _, err := io.ReadFull(conn, first); (err == nil && first[0] == 22) == hidden { // a hello of the server
			t.Errorf("hidden %t: %v, %v", hidden, first, err)
		}
		_ = conn.Close()
	}
}

// hello returns the first message of TLS, with the extension that hides a name or without.
func hello(t *testing.T, hidden bool) []byte {
	t.Helper()
	near, far := net.Pipe()
	go func() {
		_ = tls.Client(near, &tls.Config{ServerName: "allowed.example", InsecureSkipVerify: true}).HandshakeContext(t.Context()) //nolint:gosec // nobody answers
		_ = near.Close()
	}()
	record := make([]byte, 5)
	if _, err := io.ReadFull(far, record); err != nil {
		t.Fatal(err)
	}
	body := make([]byte, binary.BigEndian.Uint16(record[3:]))
	if _, err := io.ReadFull(far, body); err != nil {
		t.Fatal(err)
	}
	_ = far.Close()
	if hidden {
		extra := []byte{0xfe, 0x0d, 0, 11, 0, 0, 1, 0, 1, 7, 0, 0, 0, 1, 0xff} // an outer hello, as a client without a key of the host makes it up
		at := 4 + 2 + 32                                                       // type and length, version, random
		at += 1 + int(body[at])                                                // session
		at += 2 + int(binary.BigEndian.Uint16(body[at:]))                      // ciphers
		at += 1 + int(body[at])                                                // compression
		binary.BigEndian.PutUint16(body[at:], binary.BigEndian.Uint16(body[at:])+uint16(len(extra)))
		body = append(body, extra...)
		n := len(body) - 4
		body[1], body[2], body[3] = byte(n>>16), byte(n>>8), byte(n)
		binary.BigEndian.PutUint16(record[3:], uint16(len(body)))
	}
	return append(record, body...)
}

// A name that leads elsewhere by the time of the connection gains nothing: it is looked up
// once, and what is dialed is looked at.
func TestRebinding(t *testing.T) {
	site := workspacetest.NewSite(t)
	names := map[string][]string{"rebind.example": {"203.0.113.1", "127.0.0.1", "::1"}}
	p, err := egress.New(egress.Config{Hosts: []string{"rebind.example:" + site.Plain}, Resolver: workspacetest.Names(t, names)})
	if err != nil {
		t.Fatal(err)
	}
	a := workspacetest.Attempt{Send: "GET http://rebind.example:" + site.Plain + "/ HTTP/1.1\r\n\r\n"}
	if got, err := a.Try(t.Context(), dial(t, p)); err == nil || site.Asked.Load() != 0 {
		t.Errorf("%q, %v", got, err)
	}
}

func TestConfig(t *testing.T) {
	for _, cfg := range []egress.Config{
		{Hosts: []string{"http://x"}}, {Hosts: []string{"10.0.0.1"}}, {Inside: map[string]string{"x.example": "y.example"}}, {Inside: map[string]string{"10.0.0.1": "10.0.0.1"}}, {Inside: map[string]string{"x.example": "0.0.0.0/0"}},
	} {
		if _, err := egress.New(cfg); err == nil {
			t.Errorf("%+v is taken", cfg)
		}
	}
}

// What an operator allows by mistake still leads to no credentials of a cloud.
func TestMetadata(t *testing.T) {
	p, err := egress.New(egress.Config{Hosts: []string{"meta.example"}, Inside: map[string]string{"meta.example": "169.254.169.254"}})
	if err != nil {
		t.Fatal(err)
	}
	_, _ = workspacetest.Attempt{Send: "GET http://meta.example/ HTTP/1.1\r\n\r\n"}.Try(t.Context(), dial(t, p))
	if got := p.Refused(); len(got) != 1 || got[0] != "refused meta.example:80, because its address is inside a network" {
		t.Errorf("%q", got)
	}
}
