package wire

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/handrail-bot/handrail/agent/llm"
)

// piped answers every request with a body that the test writes. A read ends
// when the request is given up, as in net/http.
type piped struct{ body *io.PipeReader }

func (p piped) RoundTrip(r *http.Request) (*http.Response, error) {
	context.AfterFunc(r.Context(), func() { _ = p.body.CloseWithError(r.Context().Err()) })
	return &http.Response{StatusCode: http.StatusOK, Body: p.body, Request: r}, nil
}

// get returns the body of an answer; the test's end closes it.
func get(t *testing.T, client *http.Client) io.Reader {
	t.Helper()
	resp, err := Post(t.Context(), client, "http://server/", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = resp.Body.Close() })
	return resp.Body
}

func TestSilenceEndsARead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, w := io.Pipe()
		client := newHTTP(&http.Client{Transport: piped{r}}, time.Minute)
		body := get(t, client)
		go func() { _, _ = w.Write([]byte("one")) }()
		buf := make([]byte, 10)
		if n, err := body.Read(buf); err != nil || n != 3 {
			t.Fatal(n, err)
		}
		start := time.Now()
		_, err := body.Read(buf)
		if !errors.Is(err, errIdle) || time.Since(start) != time.Minute {
			t.Errorf("after %s got %v", time.Since(start), err)
		}
		if err := Failure(t.Context(), err); llm.KindOf(err) != llm.Cut {
			t.Errorf("want Cut, got %v", err)
		}
	})
}

// A reader that takes its time, because a tool runs or a person is asked, is
// not a silent server, and neither is one that sends a byte now and then.
func TestSlowReaderIsNoSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, w := io.Pipe()
		client := newHTTP(&http.Client{Transport: piped{r}}, time.Minute)
		body := get(t, client)
		go func() {
			defer func() { _ = w.Close() }()
			for range 5 {
				timer := time.NewTimer(50 * time.Second)
				<-timer.C
				if _, err := w.Write([]byte("x")); err != nil {
					t.Error(err)
				}
			}
		}()
		buf := make([]byte, 1)
		for i := range 5 {
			if _, err := body.Read(buf); err != nil {
				t.Fatalf("byte %d: %v", i, err)
			}
			if i == 2 {
				timer := time.NewTimer(time.Hour)
				<-timer.C
			}
		}
		if _, err := body.Read(buf); !errors.Is(err, io.EOF) {
			t.Errorf("at the end: %v", err)
		}
	})
}

func TestRedirects(t *testing.T) {
	var got []string
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got = append(got, "other "+r.URL.Path) }))
	defer other.Close()
	mux := http.NewServeMux()
	mux.HandleFunc("/end", func(_ http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		got = append(got, r.Method+" "+string(b))
	})
	mux.Handle("/same", http.RedirectHandler("/end", http.StatusTemporaryRedirect))
	mux.Handle("/see-other", http.RedirectHandler("/end", http.StatusSeeOther))
	mux.Handle("/loop", http.RedirectHandler("/loop", http.StatusPermanentRedirect))
	mux.Handle("/other", http.RedirectHandler(other.URL, http.StatusTemporaryRedirect))
	s := httptest.NewServer(mux)
	defer s.Close()
	mux.Handle("/tls", http.RedirectHandler(strings.Replace(s.URL, "http:", "https:", 1), http.StatusTemporaryRedirect))
	for _, c := range []struct {
		path string
		want string // empty when it must be refused
	}{{"/same", "POST body"}, {"/end", "POST body"}, {"/see-other", ""}, {"/loop", ""}, {"/other", ""}, {"/tls", ""}} {
		t.Run(c.path, func(t *testing.T) {
			got = nil
			resp, err := Post(t.Context(), newHTTP(nil, 0), s.URL+c.path, nil, []byte("body"))
			if err == nil {
				_ = resp.Body.Close()
			}
			if c.want == "" {
				if !errors.Is(err, errRedirect) || len(got) > 0 || llm.KindOf(Failure(t.Context(), err)) != llm.Invalid {
					t.Errorf("reached %q, %v", got, err)
				}
				return
			}
			if err != nil || strings.Join(got, "") != c.want {
				t.Errorf("reached %q, %v", got, err)
			}
		})
	}
}

func TestFailureKinds(t *testing.T) {
	plain := httptest.NewServer(http.NotFoundHandler())
	defer plain.Close()
	secure := httptest.NewUnstartedServer(http.NotFoundHandler())
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	secure.StartTLS()
	defer secure.Close()
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	drop := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }))
	defer drop.Close()
	for _, c := range []struct {
		name, url string
		want      llm.Kind
	}{
		{"nobody listens", gone.URL, llm.Unreachable},
		{"no such host", "http://no-such-host.invalid/", llm.Unreachable},
		{"unknown certificate", secure.URL, llm.Invalid},
		{"no TLS there", strings.Replace(plain.URL, "http:", "https:", 1), llm.Invalid},
		{"odd scheme", "ftp://127.0.0.1/", llm.Invalid},
		{"no URL", "http://[::1/", llm.Invalid},
		{"connection dropped", drop.URL, llm.Cut},
	} {
		t.Run(c.name, func(t *testing.T) {
			resp, err := Post(t.Context(), newHTTP(nil, 0), c.url, nil, nil)
			if err == nil {
				_ = resp.Body.Close()
			}
			if got := Failure(t.Context(), err); llm.KindOf(got) != c.want {
				t.Errorf("got kind %d, want %d: %v", llm.KindOf(got), c.want, got)
			}
		})
	}
}

func TestFailureOfAStoppedContext(t *testing.T) {
	reason := errors.New("a person said stop")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(reason)
	err := Failure(ctx, errors.New("read: connection reset"))
	if !errors.Is(err, reason) || llm.KindOf(err).Temporary() {
		t.Errorf("got %v", err)
	}
	if Failure(ctx, nil) != nil {
		t.Error("nil is an error")
	}
	known := fmt.Errorf("probe: %w", &llm.Error{Kind: llm.Busy})
	if got := Failure(ctx, known); got.Error() != known.Error() {
		t.Errorf("got %v", got)
	}
}

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		value string
		want  time.Duration
	}{
		{"", 0}, {"7", 7 * time.Second}, {" 1.5 ", 1500 * time.Millisecond}, {"-3", 0}, {"99999999999999999999", time.Hour}, {"NaN", 0}, {"Inf", time.Hour},
		{"Thu, 01 Jan 2026 00:00:30 GMT", 30 * time.Second}, {"Wed, 31 Dec 2025 00:00:00 GMT", 0}, {"soon", 0},
	} {
		t.Run(c.value, func(t *testing.T) {
			if got := RetryAfter(http.Header{"Retry-After": {c.value}}, now); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

func TestLines(t *testing.T) {
	long := strings.Repeat("y", 100_000)
	l := NewLines(strings.NewReader("a\n\n \r\n b \r\n" + long + "\nlast"))
	for _, want := range []struct {
		line  string
		whole bool
	}{{"a", true}, {"b", true}, {long, true}, {"last", false}} {
		line, whole, err := l.Next()
		if string(line) != want.line || whole != want.whole || err != nil {
			t.Errorf("got %.20q, %t, %v, want %.20q", line, whole, err, want.line)
		}
	}
	for range 2 {
		if _, _, err := l.Next(); !errors.Is(err, io.EOF) {
			t.Errorf("at the end: %v", err)
		}
	}
	l = NewLines(io.MultiReader(strings.NewReader("x"), brokenReader{}))
	if line, whole, err := l.Next(); string(line) != "x" || whole || err != nil {
		t.Errorf("got %q, %t, %v", line, whole, err)
	}
	if _, _, err := l.Next(); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("got %v", err)
	}
}

type brokenReader struct{}

func (brokenReader) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

func TestExcerptIsBounded(t *testing.T) {
	if got := Excerpt(strings.NewReader(strings.Repeat("z", 1<<20))); len(got) != 4<<10 {
		t.Errorf("%d bytes", len(got))
	}
	if got := Excerpt(strings.NewReader(" a\xff ")); got != "a\uFFFD" {
		t.Errorf("%q", got)
	}
}
