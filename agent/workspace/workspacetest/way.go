package workspacetest

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/handrail-bot/handrail/agent/workspace"
	"github.com/handrail-bot/handrail/agent/workspace/egress"
)

// Marker is in every page of a [Site]. An attempt that gets it has reached the site.
const Marker = "reached-the-site"

// Site is a test server on this machine, with and without TLS. /away redirects to
// evil.example.
type Site struct {
	TLS, Plain string // ports
	Asked      atomic.Int64
}

// NewSite starts a site.
func NewSite(t testing.TB) *Site {
	t.Helper()
	s := &Site{}
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.Asked.Add(1)
		if r.URL.Path == "/away" {
			http.Redirect(w, r, "http://evil.example/", http.StatusFound)
			return
		}
		body, _ := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%s %s %s %d", Marker, r.Method, r.Host, len(body))
	})
	plain, secure := httptest.NewServer(h), httptest.NewTLSServer(h)
	t.Cleanup(plain.Close)
	t.Cleanup(secure.Close)
	secure.Config.ErrorLog = nil
	s.Plain, s.TLS = portOf(t, plain.Listener.Addr()), portOf(t, secure.Listener.Addr())
	return s
}

func portOf(t testing.TB, a net.Addr) string {
	t.Helper()
	_, port, err := net.SplitHostPort(a.String())
	if err != nil {
		t.Fatal(err)
	}
	return port
}

// Names returns a resolver that knows only these names.
func Names(t testing.TB, names map[string][]string) *net.Resolver {
	t.Helper()
	pc, err := new(net.ListenConfig).ListenPacket(t.Context(), "udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	t.Cleanup(func() { _ = pc.Close(); <-done })
	go func() {
		defer close(done)
		buf := make([]byte, 1500)
		for {
			n, from, err := pc.ReadFrom(buf)
			if err != nil {
				return
			}
			_, _ = pc.WriteTo(reply(buf[:n], names), from)
		}
	}()
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "udp", pc.LocalAddr().String())
	}}
}

// reply answers a DNS query.
func reply(question []byte, names map[string][]string) []byte {
	var labels []string
	end := 12
	for question[end] != 0 {
		n := int(question[end])
		labels = append(labels, string(question[end+1:end+1+n]))
		end += n + 1
	}
	end += 5
	kind := question[end-3]
	out := append([]byte(nil), question[:end]...)
	out[2], out[3] = 0x81, 0x80
	copy(out[6:12], make([]byte, 6))
	known, ok := names[strings.ToLower(strings.Join(labels, "."))]
	if !ok {
		out[3] = 0x83 // no such name
	}
	for _, text := range known {
		a := netip.MustParseAddr(text)
		if a.Is4() && kind != 1 || !a.Is4() && kind != 28 {
			continue
		}
		out[7]++
		out = append(out, 0xc0, 12, 0, kind, 0, 1, 0, 0, 0, 0, 0, byte(a.BitLen()/8))
		out = append(out, a.AsSlice()...)
	}
	return out
}

// Attempt is one attempt to reach a target from the place that runs [Attempt.Try].
type Attempt struct {
	Name string
	Dial string // "tcp ADDRESS": without the proxy; empty means with it
	Get  string // URL, fetched as any program does
	Send string // raw bytes for the proxy
	Then string // after the answer to Send: "tls NAME", or raw bytes
}

// outcome is the result of an attempt.
type outcome struct{ Got, Err string }

// Attempts are escapes that a program inside may try if it knows the proxy of a site.
// None may reach a target.
func Attempts(s *Site, hostSocket string) []Attempt {
	connect := func(at string) string { return "CONNECT " + at + " HTTP/1.1\r\nHost: " + at + "\r\n\r\n" }
	get := func(at string) string { return "GET http://" + at + "/ HTTP/1.1\r\nHost: " + at + "\r\n\r\n" }
	good, plain := "allowed.example:"+s.TLS, "plain.example:"+s.Plain
	out := []Attempt{
		{Name: "straight to an address", Dial: "tcp 127.0.0.1:" + s.Plain},
		{Name: "straight to an address of version 6", Dial: "tcp [::ffff:127.0.0.1]:" + s.Plain},
		{Name: "straight to the internet", Dial: "tcp 1.1.1.1:443"},
		{Name: "name by UDP", Dial: "dns 1.1.1.1:53"},
		{Name: "name by TCP", Dial: "tcp 1.1.1.1:53"},
		{Name: "straight to a name", Dial: "tcp allowed.example:443"},
		{Name: "abstract socket of the host", Dial: "unix " + hostSocket},
		{Name: "redirect away", Get: "http://" + plain + "/away"},
		{Name: "another host", Get: "https://evil.example/"},
		{Name: "another host, plain", Get: "http://evil.example/"},
		{Name: "the Host line of another", Send: "GET http://" + plain + "/ HTTP/1.1\r\nHost: evil.example\r\n\r\n"},
		{Name: "the Host line of another port", Send: "GET http://" + plain + "/ HTTP/1.1\r\nHost: plain.example\r\n\r\n"},
		{
			Name: "two Host lines",
			Send: "GET http://" + plain + "/ HTTP/1.1\r\nHost: " + plain + "\r\nHost: evil.example\r\n\r\n",
		},
		{
			Name: "the Host line folded",
			Send: "GET http://" + plain + "/ HTTP/1.1\r\nHost: " + plain + "\r\n evil.example\r\n\r\n",
		},
		{
			Name: "the Host line of another in CONNECT",
			Send: "CONNECT " + good + " HTTP/1.1\r\nHost: evil.example:443\r\n\r\n",
		},
		{Name: "a line break in CONNECT", Send: "CONNECT " + good + "\r\nX: HTTP/1.1\r\n\r\n"},
		{Name: "half a line break in CONNECT", Send: "CONNECT evil.example:443\nX:" + good + " HTTP/1.1\r\n\r\n"},
		{Name: "a return in CONNECT", Send: "CONNECT evil.example:443\rX:" + good + " HTTP/1.1\r\n\r\n"},
		{Name: "a null in CONNECT", Send: "CONNECT evil.example\x00." + good + " HTTP/1.1\r\n\r\n"},
		{
			Name: "a body of two lengths",
			Send: "POST http://" + plain + "/ HTTP/1.1\r\nHost: " + plain + "\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /smuggled HTTP/1.1\r\n\r\n",
		},
		{Name: "a body with CONNECT", Send: "CONNECT " + good + " HTTP/1.1\r\nContent-Length: 9\r\n\r\nGET / HTT"},
		{Name: "TRACE", Send: "TRACE http://" + plain + "/ HTTP/1.1\r\nHost: " + plain + "\r\n\r\n"},
		{Name: "no host at all", Send: "GET / HTTP/1.1\r\nHost: " + plain + "\r\n\r\n"},
		{Name: "another scheme", Send: "GET ftp://" + plain + "/ HTTP/1.1\r\nHost: " + plain + "\r\n\r\n"},
		{Name: "version 2", Send: "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"},
		{Name: "TLS for another name", Send: connect(good), Then: "tls evil.example"},
		{Name: "TLS for no name", Send: connect(good), Then: "tls "},
		{Name: "no TLS", Send: connect(good), Then: "GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n"},
		{Name: "another protocol", Send: connect(good), Then: "SSH-2.0-OpenSSH_9.2\r\n"},
		{Name: "plain by CONNECT", Send: connect(plain), Then: "GET / HTTP/1.1\r\nHost: " + plain + "\r\n\r\n"},
		{Name: "a name in front of an at", Send: get("allowed.example:" + s.Plain + "@127.0.0.1:" + s.Plain)},
	}
	for _, at := range []string{
		"127.0.0.1:" + s.TLS, "2130706433:" + s.TLS, "0x7f000001:" + s.TLS, "0177.0.0.1:" + s.TLS, "127.1:" + s.TLS, "[::1]:" + s.TLS, "[::ffff:127.0.0.1]:" + s.TLS,
		"localhost:" + s.TLS, "169.254.169.254:80", workspace.ProxyAddress, "localhost:3128", // the proxy itself
		"evil.example:443", "allowed.example.evil.example:" + s.TLS, "allowed.example@evil.example:" + s.TLS, "evil.example@allowed.example:" + s.TLS, "allowed.example.:" + s.TLS,
		"allowed.example%2eevil.example:" + s.TLS, "evil.example/allowed.example:" + s.TLS, "evil.example#allowed.example:" + s.TLS, "evil.example:443:" + s.TLS, "x.allowed.example:" + s.TLS,
		"allowed.example:22", "allowed.example:" + s.Plain, "allowed.example", "allowed.example:0" + s.TLS, "allowed.example:443",
		"loop.example:443", "mapped.example:443", "metadata.example:80", "metadata.example:443", "private.example:443", "nat64.example:443", "shared.example:443", "both.example:443",
		"credentials.example:80",
	} {
		out = append(
			out,
			Attempt{Name: "CONNECT " + at, Send: connect(at), Then: "tls allowed.example"},
			Attempt{Name: "GET " + at, Send: get(at)},
		)
	}
	return out
}

// Proxy returns the proxy of a site. It allows allowed.example with TLS and plain.example
// without; its other names lead to forbidden addresses.
func Proxy(t testing.TB, s *Site) *egress.Proxy {
	t.Helper()
	cfg := egress.Config{
		Hosts: []string{
			"allowed.example:" + s.TLS,
			"plain.example:" + s.Plain,
			"loop.example", "mapped.example", "metadata.example", "private.example", "nat64.example", "shared.example",
			"both.example", "credentials.example",
		},
		// The last one is a plausible mistake of an operator.
		Inside: map[string]string{
			"allowed.example":     "127.0.0.1",
			"plain.example":       "127.0.0.0/8",
			"credentials.example": "169.254.0.0/16",
		},
		Resolver: Names(t, map[string][]string{
			"plain.example": {
				"127.0.0.1",
			}, "loop.example": {"127.0.0.1"}, "mapped.example": {"::ffff:127.0.0.1"}, "metadata.example": {"169.254.169.254"}, "private.example": {"10.0.0.1"},
			"nat64.example": {
				"64:ff9b::7f00:1",
			}, "shared.example": {"100.64.0.1"}, "both.example": {"127.0.0.1", "10.0.0.1"}, "credentials.example": {"169.254.169.254"},
		}),
	}
	p, err := egress.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// Egress tests the network access of a workspace with a list of allowed hosts.
func Egress(t *testing.T, s Subject) {
	site := NewSite(t)
	proxy := Proxy(t, site)
	if !s.Wall {
		ws, err := s.Engine.Open(t.Context(), workspace.Spec{Session: "way", State: t.TempDir() + "/state", Egress: proxy})
		if err == nil || !strings.Contains(err.Error(), "no wall") {
			t.Errorf("opened %v (%v); want to be refused, since nothing holds commands to the list", ws, err)
		}
		return
	}
	ws := OpenSpec(t, s, workspace.Spec{Egress: proxy})
	socket := "@handrail-way-" + site.Plain
	listen(t, "unix", socket)
	try := func(all []Attempt) (results []outcome, res workspace.CommandResult) {
		data, err := json.Marshal(all)
		if err == nil {
			err = ws.Write(t.Context(), "attempts.json", data)
		}
		if err != nil {
			t.Fatal(err)
		}
		res = run(t, ws, "/handrail/handrail try attempts.json")
		if err := json.Unmarshal([]byte(res.Output), &results); err != nil || len(results) != len(all) {
			t.Fatalf("%v: %s", err, res.Output)
		}
		return results, res
	}
	good := []Attempt{
		{Name: "TLS", Send: "CONNECT ALLOWED.example:" + site.TLS + " HTTP/1.1\r\n\r\n", Then: "tls allowed.example"},
		{Name: "plain", Get: "http://plain.example:" + site.Plain + "/"},
	}
	results, res := try(good)
	for i, r := range results {
		if !strings.Contains(r.Got, Marker) {
			t.Errorf("%s: %+v; want to be let through", good[i].Name, r)
		}
	}
	if site.Asked.Load() != int64(len(good)) || len(res.Refused) > 0 {
		t.Errorf("the site was asked %d times, refused: %v", site.Asked.Load(), res.Refused)
	}
	bad := Attempts(site, socket)
	results, res = try(bad)
	for i, r := range results {
		if strings.Contains(r.Got, Marker) || r.Err == "" {
			t.Errorf("%s: %+v; want to be refused", bad[i].Name, r)
		}
	}
	if got := site.Asked.Load(); got != int64(len(good))+1 { // plus the redirect
		t.Errorf("the site was asked %d times", got)
	}
	if !strings.Contains(strings.Join(res.Refused, "\n"), "refused evil.example:443, not on workspace.hosts") {
		t.Errorf("told the model %q", res.Refused)
	}
	if res := run(t, ws, "true"); len(res.Refused) > 0 {
		t.Errorf("told it again: %q", res.Refused)
	}
	if out := mustRun(t, ws, "env | grep -i proxy= | sort | head -3"); !strings.HasPrefix(out, "ALL_PROXY=http://"+workspace.ProxyAddress+"\n") {
		t.Errorf("programs are told %q", out)
	}
}

// tryAll makes the attempts in a file and prints the results.
func tryAll(ctx context.Context, file string) error {
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var all []Attempt
	if err := json.Unmarshal(data, &all); err != nil {
		return err
	}
	out := make([]outcome, 0, len(all))
	for _, a := range all {
		got, err := a.Try(ctx, func(ctx context.Context) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "tcp", workspace.ProxyAddress)
		})
		r := outcome{Got: got}
		if err != nil {
			r.Err = err.Error()
		}
		out = append(out, r)
	}
	return json.NewEncoder(os.Stdout).Encode(out)
}
