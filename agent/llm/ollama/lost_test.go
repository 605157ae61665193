package ollama_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/handrail-bot/handrail/agent/llm"
	"github.com/handrail-bot/handrail/agent/llm/llmcheck"
	"github.com/handrail-bot/handrail/agent/llm/llmtest"
	"github.com/handrail-bot/handrail/agent/llm/ollama"
	"github.com/handrail-bot/handrail/policy/longtest"
)

// lines serves an answer of these lines, and the request that it answered.
func lines(t *testing.T, show string, status int, text ...string) (*ollama.Model, func() map[string]any) {
	t.Helper()
	var body map[string]any
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/version", func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, `{"version":"0.17.4"}`) })
	mux.HandleFunc("POST /api/show", func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, show) })
	mux.HandleFunc("POST /api/chat", func(w http.ResponseWriter, r *http.Request) {
		body = nil
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			t.Error(err)
		}
		w.WriteHeader(status)
		io.WriteString(w, strings.Join(text, "\n")+"\n")
	})
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return open(t, s.URL), func() map[string]any { return body }
}

const plainShow = `{"capabilities":["completion","tools","thinking"],"model_info":{},"parameters":"num_ctx 8192\nstop \"x\""}`

// A call that the server left out is seen by the tokens that it counted; prose in any
// script, code and figures is not taken for one.
func TestDroppedCall(t *testing.T) {
	for _, c := range []struct {
		name, content, thinking string
		tokens                  int
		want                    bool
	}{
		{"nothing came of a call", "", "", 21, true},
		{"an announcement, and a call to list files", "Let me look.", "", 26, true},
		{"after thinking", "", "I should write the file now.", 300, true},
		{"an empty answer", "", "", 1, false},
		{"empty thinking", "", "", 5, false},
		{"English", "The tests pass now, and nothing else had to change.", "", 12, false},
		{"Finnish in small tokens", "Ohjelmistokehitysympäristössä käännösvirhe korjattiin.", "", 27, false},
		{"Chinese", "我已经修复了这个错误，现在所有的测试都通过了。", "", 30, false},
		{"figures, one token each", "3.14159265358979323846 271828182845904523536", "", 48, false},
		{"emoji", "👩‍👩‍👧 ✅✅✅", "", 24, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			chunk, err := json.Marshal(map[string]any{"message": map[string]any{"content": c.content, "thinking": c.thinking}})
			if err != nil {
				t.Fatal(err)
			}
			end, err := json.Marshal(map[string]any{"message": map[string]any{}, "done": true, "done_reason": "stop", "eval_count": c.tokens})
			if err != nil {
				t.Fatal(err)
			}
			m, _ := lines(t, plainShow, http.StatusOK, string(chunk), string(end))
			var last llm.Part
			for p, err := range m.Stream(t.Context(), llmcheck.Ask("hi")) {
				if err != nil {
					t.Fatal(err)
				}
				last = p
			}
			if last.Dropped != c.want {
				t.Errorf("dropped: %t, want %t", last.Dropped, c.want)
			}
		})
	}
}

// In what real servers said nothing was dropped.
func TestNothingDroppedInRecordings(t *testing.T) {
	names, err := filepath.Glob("testdata/*/chat*.txt")
	if err != nil || len(names) < 10 {
		t.Fatal(names, err)
	}
	heard := 0
	for _, name := range names {
		version, chat, _ := strings.Cut(strings.TrimPrefix(name, "testdata/"), "/")
		for p := range replay(t, version, map[string]string{"0.17.4": "show-scripted.txt"}[version]+map[bool]string{true: "show.txt"}[version != "0.17.4"], chat).Stream(t.Context(), llmcheck.Ask("hi")) {
			if p.Done {
				heard++
			}
			if p.Dropped {
				t.Errorf("%s: %+v", name, p)
			}
		}
	}
	if heard < 5 {
		t.Errorf("only %d whole answers", heard)
	}
}

// The words of a parser that met the end of a call are not those of a runner that died.
func TestGarbledIsNotDead(t *testing.T) {
	for text, want := range map[string]llm.Kind{
		"XML syntax error on line 4: unexpected EOF":                            llm.Garbled,
		"XML syntax error on line 1: element <parameter> closed by </function>": llm.Garbled,
		"unexpected end of JSON input":                                          llm.Garbled,
		`Post "http://127.0.0.1:40123/completion": unexpected EOF`:              llm.Cut,
		"an error was encountered while running the model: unexpected EOF":      llm.Cut,
	} {
		line, err := json.Marshal(map[string]string{"error": text})
		if err != nil {
			t.Fatal(err)
		}
		for _, status := range []int{http.StatusOK, http.StatusInternalServerError} {
			m, _ := lines(t, plainShow, status, string(line))
			if _, err := llmcheck.Collect(t.Context(), m, llmcheck.Ask("hi")); llm.KindOf(err) != want {
				t.Errorf("%d %s: %v", status, text, err)
			}
		}
	}
}

// An answer has a limit, and a model for work is not left at the server's warmth.
func TestAnswersAreBounded(t *testing.T) {
	warm := 0.9
	for _, c := range []struct {
		name, show  string
		req         llm.Request
		predict     float64
		temperature any
	}{
		{"nobody says", plainShow, llm.Request{Context: 32768}, 8192, 0.2},
		{"a small window", plainShow, llm.Request{Context: 8192}, 4096, 0.2},
		{"asked for", plainShow, llm.Request{Context: 8192, MaxTokens: 99, Temperature: &warm}, 99, 0.9},
		{"the Modelfile says", `{"capabilities":["completion"],"model_info":{},"parameters":"temperature                    0.6"}`, llm.Request{Context: 32768}, 8192, nil},
	} {
		c.req.Messages = llmcheck.Ask("hi").Messages
		m, body := lines(t, c.show, http.StatusOK, `{"message":{"content":"ok"},"done":true,"done_reason":"stop"}`)
		if _, err := llmcheck.Collect(t.Context(), m, c.req); err != nil {
			t.Fatal(err)
		}
		if o := body()["options"].(map[string]any); o["num_predict"] != c.predict || o["temperature"] != c.temperature {
			t.Errorf("%s: %v", c.name, o)
		}
	}
}

// A level of thinking goes to the model; one that knows none thinks all the same.
func TestThinkLevels(t *testing.T) {
	spec := llmcheck.FullModel()
	req := llmcheck.Ask("hi")
	req.Think = true
	if got := sent(t, spec, func(cfg *ollama.Config) { cfg.Effort = "low" }, req)["think"]; got != "low" {
		t.Errorf("sent think %v", got)
	}
	req.Think = false
	if got := sent(t, spec, func(cfg *ollama.Config) { cfg.Effort = "low" }, req)["think"]; got != false {
		t.Errorf("not to think: sent %v", got)
	}
	req.Think = true
	s := llmcheck.Serve(t, llmtest.Script{Model: spec, Turns: []llmtest.Turn{
		{Misdo: llmtest.Misdeed{Status: http.StatusBadRequest, Error: `think value "low" is not supported for this model`}},
		{Think: "hm", Say: "ok"}, {Say: "ok"},
	}})
	m := openWith(t, s.URL(), func(cfg *ollama.Config) { cfg.Effort = "low" })
	for range 2 {
		if _, err := llmcheck.Collect(t.Context(), m, req); err != nil {
			t.Fatal(err)
		}
	}
	var all []string
	for _, r := range s.Requests() {
		var body struct{ Think any }
		if err := json.Unmarshal(r.Body, &body); err != nil {
			t.Fatal(err)
		}
		b, err := json.Marshal(body.Think)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, string(b))
	}
	if got := strings.Join(all, " "); got != `"low" true true` {
		t.Errorf("sent %s", got)
	}
}

// hanging is a server whose first answer hangs as soon as others have asked, and whose
// answers to these go on slowly. The one after them comes.
type hanging struct {
	others int
	mu     sync.Mutex
	asked  []string
}

func (h *hanging) count() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.asked)
}

func (h *hanging) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Messages []any
		Keep     any `json:"keep_alive"`
	}
	if json.NewDecoder(r.Body).Decode(&in) != nil || len(in.Messages) == 0 && in.Keep != 0.0 {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	h.mu.Lock()
	kind := map[bool]string{true: "free", false: "chat"}[len(in.Messages) == 0]
	number := len(h.asked)
	h.asked = append(h.asked, kind)
	h.mu.Unlock()
	if kind == "free" || number > h.others {
		io.WriteString(w, `{"message":{"content":"ok"},"done":true,"done_reason":"stop"}`+"\n")
		return
	}
	for r.Context().Err() == nil {
		if number > 0 || h.count() <= h.others {
			io.WriteString(w, "\n")
			w.(http.Flusher).Flush()
		}
		select {
		case <-r.Context().Done():
		case <-time.After(30 * time.Millisecond):
		}
	}
}

// A server that fell silent is told to end the runner before it is asked again, unless
// another session uses the model.
func TestHungRunnerIsFreed(t *testing.T) {
	longtest.Leave(t)
	for name, c := range map[string]struct {
		others int
		want   string
	}{"alone": {0, "chat free chat"}, "another session": {1, "chat chat chat"}} {
		t.Run(name, func(t *testing.T) {
			server := &hanging{others: c.others}
			mux := http.NewServeMux()
			mux.HandleFunc("GET /api/version", func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, `{"version":"0.17.4"}`) })
			mux.HandleFunc("POST /api/show", func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, plainShow) })
			mux.Handle("POST /api/chat", server)
			s := httptest.NewServer(mux)
			t.Cleanup(s.Close)
			m := openWith(t, s.URL, func(cfg *ollama.Config) { cfg.Idle = 3 * time.Second })
			ctx, leave := context.WithCancel(t.Context())
			var busy sync.WaitGroup
			for range c.others {
				busy.Go(func() {
					for server.count() == 0 {
						<-time.After(time.Millisecond)
					}
					_, _ = llmcheck.Collect(ctx, m, llmcheck.Ask("other"))
				})
			}
			if _, err := llmcheck.Collect(t.Context(), m, llmcheck.Ask("hi")); llm.KindOf(err) != llm.Cut {
				t.Fatal(err)
			}
			if _, err := llmcheck.Collect(t.Context(), m, llmcheck.Ask("hi")); err != nil {
				t.Fatal(err)
			}
			leave()
			busy.Wait()
			if got := strings.Join(server.asked, " "); got != c.want {
				t.Errorf("the server was asked %s, want %s", got, c.want)
			}
		})
	}
}
