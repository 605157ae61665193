package ghapp

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync/atomic"
	"testing"
)

// counting is a server that counts connections, also those that send nothing.
func counting(t *testing.T, h http.Handler) (port string, n *atomic.Int64) {
	t.Helper()
	n = &atomic.Int64{}
	srv := httptest.NewUnstartedServer(h)
	srv.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			n.Add(1)
		}
	}
	srv.Start()
	t.Cleanup(srv.Close)
	_, port, err := net.SplitHostPort(srv.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return port, n
}

// Whatever a name or a number is written like, what is dialed is looked at.
func TestOnlyPublicAddresses(t *testing.T) {
	t.Parallel()
	port, n := counting(t, http.NotFoundHandler())
	c := &http.Client{Transport: publicTransport()}
	hosts := []string{
		"127.0.0.1", "127.1", "0x7f000001", "2130706433", "0177.0.0.1", "localhost", "localhost.", "0.0.0.0", "[::1]", "[::]",
		"[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[0:0:0:0:0:ffff:127.0.0.1]", "[64:ff9b::7f00:1]", "[2002:7f00:1::]", "169.254.169.254",
		"[fd00:ec2::254]", "[fe80::1]", "10.0.0.1", "192.168.0.1", "172.16.0.1", "100.100.100.200",
	}
	for _, h := range hosts {
		for _, scheme := range []string{"http", "https"} {
			resp, err := c.Get(scheme + "://" + h + ":" + port + "/latest/meta-data")
			if err == nil {
				resp.Body.Close()
				t.Errorf("%s was reached", h)
			}
		}
	}
	if got := n.Load(); got != 0 {
		t.Errorf("%d connections, want none", got)
	}
	// The same client without the guard reaches it: the test can fail.
	resp, err := http.Get("http://localhost:" + port)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if n.Load() == 0 {
		t.Error("the counter counts nothing")
	}
}

// A redirect is looked at like the first address: by name, and by number.
func TestRedirects(t *testing.T) {
	t.Parallel()
	port, n := counting(t, http.NotFoundHandler())
	for _, to := range []string{
		"http://127.0.0.1:" + port + "/", "https://127.0.0.1:" + port + "/", "https://localhost:" + port + "/", "http://169.254.169.254/latest/meta-data",
		"https://evil.test/a.png", "http://raw.githubusercontent.com/a.png", "file:///etc/passwd", "https://me@github.com/a",
	} {
		site := httptest.NewServer(http.RedirectHandler(to, http.StatusFound))
		a, err := New(Config{APIURL: site.URL, Token: "ghp_canary"})
		if err != nil {
			t.Fatal(err)
		}
		u, err := url.Parse(site.URL + "/user-attachments/assets/1")
		if err != nil {
			t.Fatal(err)
		}
		asked := &recorder{}
		a.outside = asked
		_, err = a.fetch(t.Context(), u)
		var r *Refused
		if !errors.As(err, &r) || asked.n != 0 {
			t.Errorf("redirect to %s: %v, followed %d times", to, err, asked.n)
		}
		site.Close()
	}
	if got := n.Load(); got != 0 {
		t.Errorf("%d connections, want none", got)
	}
}

// recorder counts what it is asked to send.
type recorder struct{ n int }

// RoundTrip implements http.RoundTripper.
func (r *recorder) RoundTrip(*http.Request) (*http.Response, error) {
	r.n++
	return nil, errors.New("not sent")
}

// Names of GitHub that lead inside a network are not followed there.
func TestRebinding(t *testing.T) {
	t.Parallel()
	port, n := counting(t, http.NotFoundHandler())
	a, err := New(Config{Token: "ghp_canary"})
	if err != nil {
		t.Fatal(err)
	}
	tr := publicTransport()
	tr.DialContext = (&net.Dialer{Control: onlyPublic, Resolver: liar(t)}).DialContext
	a.outside = tr
	u, err := url.Parse("https://private-user-images.githubusercontent.com/1/2.png")
	if err != nil {
		t.Fatal(err)
	}
	var r *Refused
	if _, err := a.fetch(t.Context(), u); !errors.As(err, &r) || r.Reason != "its address is inside a network" {
		t.Errorf("%v, want the refusal of its address", err)
	}
	if got := n.Load(); got != 0 {
		t.Errorf("%d connections to port %s, want none", got, port)
	}
}

// liar is a resolver that says 127.0.0.1 to every question.
func liar(t *testing.T) *net.Resolver {
	t.Helper()
	pc, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	t.Cleanup(func() {
		if err := pc.Close(); err != nil {
			t.Error(err)
		}
		<-done
	})
	go func() {
		defer close(done)
		buf := make([]byte, 1500)
		for {
			k, from, err := pc.ReadFrom(buf)
			if err != nil {
				return
			}
			if _, err := pc.WriteTo(lie(buf[:k]), from); err != nil {
				return
			}
		}
	}()
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "udp", pc.LocalAddr().String())
	}}
}

// lie answers a question of the domain name system: an address for type A,
// nothing for every other.
func lie(question []byte) []byte {
	end := 12
	for question[end] != 0 {
		end += int(question[end]) + 1
	}
	end += 5
	out := append([]byte(nil), question[:end]...)
	out[2], out[3] = 0x81, 0x80
	copy(out[6:12], make([]byte, 6))
	if question[end-4] == 0 && question[end-3] == 1 {
		out[7] = 1
		out = append(out, 0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4, 127, 0, 0, 1)
	}
	return out
}
