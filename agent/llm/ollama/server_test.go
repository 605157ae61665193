package ollama_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/handrail-bot/handrail/agent/llm"
	"github.com/handrail-bot/handrail/agent/llm/llmcheck"
	"github.com/handrail-bot/handrail/agent/llm/llmtest"
	"github.com/handrail-bot/handrail/agent/llm/ollama"
)

// counting serves the script's wire and counts the times the model was shown.
func counting(t *testing.T, script llmtest.Script) (*httptest.Server, *atomic.Int32) {
	t.Helper()
	inner, err := llmtest.New(script)
	if err != nil {
		t.Fatal(err)
	}
	var shows atomic.Int32
	h := inner.Handler()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/api/show" {
			shows.Add(1)
		}
		h.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	return s, &shows
}

func TestShownOnce(t *testing.T) {
	s, shows := counting(t, llmtest.Script{Model: llmcheck.FullModel(), Turns: []llmtest.Turn{{Say: "ok", Repeat: true}}})
	m := open(t, s.URL)
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			if _, err := llmcheck.Collect(t.Context(), m, llmcheck.Ask("hi")); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if n := shows.Load(); n != 1 {
		t.Errorf("asked /api/show %d times, want once", n)
	}
}

// After these errors another server or another model may be behind the name.
func TestShownAgain(t *testing.T) {
	for _, c := range []struct {
		name  string
		misdo llmtest.Misdeed
		want  int32
	}{
		{"restarted", llmtest.Misdeed{Drop: true}, 2},
		{"gone", llmtest.Misdeed{Status: 404, Error: "model 'scripted' not found"}, 2},
		{"other model", llmtest.Misdeed{Status: 400, Error: "scripted does not support tools"}, 2},
		{"busy", llmtest.Misdeed{Status: 503}, 1},
		{"too long", llmtest.Misdeed{TooLong: true}, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, shows := counting(t, llmtest.Script{Model: llmcheck.FullModel(), Turns: []llmtest.Turn{{Misdo: c.misdo}, {Say: "ok"}}})
			m := open(t, s.URL)
			if _, err := llmcheck.Collect(t.Context(), m, llmcheck.Ask("hi")); err == nil {
				t.Fatal("want an error")
			}
			if _, err := llmcheck.Collect(t.Context(), m, llmcheck.Ask("hi")); err != nil {
				t.Fatal(err)
			}
			if n := shows.Load(); n != c.want {
				t.Errorf("asked /api/show %d times, want %d", n, c.want)
			}
		})
	}
}

func TestModelMissing(t *testing.T) {
	spec := llmcheck.FullModel()
	spec.Name = "other:7b"
	s, _ := counting(t, llmtest.Script{Model: spec, Turns: []llmtest.Turn{{Say: "ok"}}})
	_, err := open(t, s.URL).Capabilities(t.Context())
	if llm.KindOf(err) != llm.NotFound || !strings.Contains(err.Error(), "model scripted is not on the server; run `ollama pull scripted`") {
		t.Errorf("got %v", err)
	}
}

// body answers every chat with this after a good /api/show.
func body(t *testing.T, serve http.HandlerFunc) *httptest.Server {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("POST /api/show", record(t, "0.17.4/show-scripted.txt").serve)
	mux.HandleFunc("GET /api/version", record(t, "0.17.4/version.txt").serve)
	mux.HandleFunc("POST /api/chat", func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // only then does the server notice that a client left
		serve(w, r)
	})
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s
}

func TestOddStreams(t *testing.T) {
	const hello = `{"message":{"role":"assistant","content":"hello"},"done":false}` + "\n"
	const end = `{"message":{"role":"assistant","content":""},"done":true,"done_reason":"stop"}`
	big := strings.Repeat("x", 9<<20)
	for _, c := range []struct {
		name, stream string
		want         llm.Kind // 0 for none
		content      string
	}{
		{"no line end at the end", hello + end, 0, "hello"},
		{"blank lines and spaces", "\n\r\n " + hello + "\r\n\n" + end + "\r\n", 0, "hello"},
		{"error as text", hello + "runner process has terminated\n", llm.Cut, "hello"},
		{"error as JSON text", hello + `"the input length exceeds the context length"` + "\n", llm.TooLong, "hello"},
		{"error as object", hello + `{"error":{"message":"server busy, please try again"}}` + "\n", llm.Busy, "hello"},
		{"error beside content", `{"error":"CUDA error: out of memory","message":{"content":"no"}}` + "\n", llm.Cut, ""},
		{"empty error", `{"error":null,"message":{"content":"hello"}}` + "\n" + end, 0, "hello"},
		{"half a line", hello + `{"message":{"content":"wor`, llm.Cut, "hello"},
		{"nothing", "", llm.Cut, ""},
		{"a page", "<!doctype html>\n<title>Welcome</title>\n", llm.Invalid, ""},
		{"a page in one line", "<!doctype html><title>Welcome</title>", llm.Invalid, ""},
		{"a byte order mark", "\ufeff" + hello + end, 0, "hello"},
		{"after done", hello + end + "\n" + hello, 0, "hello"},
		{"nine megabytes in a line", `{"message":{"content":"` + big + `"}}` + "\n" + end, 0, big},
		{"a line without end", strings.Repeat("x", 17<<20), llm.Invalid, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := body(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprint(w, c.stream) })
			a, err := llmcheck.Collect(t.Context(), open(t, s.URL), llmcheck.Ask("hi"))
			if (err != nil) != (c.want != 0) || llm.KindOf(err) != c.want {
				t.Errorf("got kind %d, want %d: %v", llm.KindOf(err), c.want, err)
			}
			if a.Content != c.content {
				t.Errorf("content of %d bytes, want %d", len(a.Content), len(c.content))
			}
		})
	}
}

func TestArgumentsPassedOn(t *testing.T) {
	for _, c := range []struct{ name, wire, want string }{
		{"object", `{"n":9007199254740993}`, `{"n":9007199254740993}`},
		{"text", `"{\"a\":1}"`, `"{\"a\":1}"`},
		{"null", `null`, `{}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := body(t, func(w http.ResponseWriter, _ *http.Request) {
				_, _ = fmt.Fprintf(w, `{"message":{"tool_calls":[{"function":{"name":"x","arguments":%s}}]},"done":true}`, c.wire)
			})
			a, err := llmcheck.Collect(t.Context(), open(t, s.URL), llmcheck.Ask("hi"))
			if err != nil || len(a.Calls) != 1 || string(a.Calls[0].Arguments) != c.want {
				t.Errorf("got %s, %v, want %s", a.Calls, err, c.want)
			}
		})
	}
}

// A server that falls silent, before or within an answer, is given up.
func TestSilence(t *testing.T) {
	for _, before := range []bool{true, false} {
		t.Run(fmt.Sprintf("before the answer %t", before), func(t *testing.T) {
			s := body(t, func(w http.ResponseWriter, r *http.Request) {
				if !before {
					_, _ = fmt.Fprintln(w, `{"message":{"content":"and"}}`)
					w.(http.Flusher).Flush()
				}
				<-r.Context().Done()
			})
			u, err := url.Parse(s.URL)
			if err != nil {
				t.Fatal(err)
			}
			m, err := ollama.New(ollama.Config{URL: u, Model: "scripted", Idle: 50 * time.Millisecond})
			if err != nil {
				t.Fatal(err)
			}
			_, err = llmcheck.Collect(t.Context(), m, llmcheck.Ask("hi"))
			if llm.KindOf(err) != llm.Cut || !strings.Contains(err.Error(), "fell silent") {
				t.Errorf("want Cut for silence, got %v", err)
			}
		})
	}
}

func TestServerRestarts(t *testing.T) {
	script := llmtest.Script{Model: llmcheck.FullModel(), Turns: []llmtest.Turn{{Say: "ok", Repeat: true}}}
	first, _ := counting(t, script)
	m := open(t, first.URL)
	if _, err := llmcheck.Collect(t.Context(), m, llmcheck.Ask("hi")); err != nil {
		t.Fatal(err)
	}
	address := first.Listener.Addr().String()
	first.Close()
	if _, err := llmcheck.Collect(t.Context(), m, llmcheck.Ask("hi")); llm.KindOf(err) != llm.Unreachable {
		t.Fatalf("want Unreachable, got %v", err)
	}
	inner, err := llmtest.New(script)
	if err != nil {
		t.Fatal(err)
	}
	var lc net.ListenConfig
	ln, err := lc.Listen(t.Context(), "tcp", address)
	if err != nil {
		t.Skipf("the port was taken by another process: %v", err)
	}
	second := httptest.Server{Listener: ln, Config: &http.Server{Handler: inner.Handler()}}
	second.Start()
	defer second.Close()
	if a, err := llmcheck.Collect(t.Context(), m, llmcheck.Ask("hi")); err != nil || a.Content != "ok" {
		t.Errorf("after the restart got %+v, %v", a, err)
	}
}
