package ollama_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/handrail-bot/handrail/agent/llm"
	"github.com/handrail-bot/handrail/agent/llm/llmcheck"
	"github.com/handrail-bot/handrail/agent/llm/ollama"
)

// memoryServer is an Ollama that loads a model anew for each other window, and has
// memory for so many tokens beside the models that others loaded.
type memoryServer struct {
	set, made int // num_ctx of the Modelfile and of the model itself
	own       int // OLLAMA_CONTEXT_LENGTH, 0 for the server's default

	mu     sync.Mutex
	window int      // the model is loaded with, 0 when it is not
	loads  []int    // windows that it was loaded with
	memory int      // tokens, 0 for any
	others []string // models that are loaded too
}

func (s *memoryServer) open(t *testing.T) *ollama.Model {
	t.Helper()
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	return open(t, server.URL)
}

func (s *memoryServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch r.URL.Path {
	case "/api/version":
		_, _ = io.WriteString(w, `{"version":"0.17.4"}`)
	case "/api/tags":
		_, _ = io.WriteString(w, `{"models":[]}`)
	case "/api/show":
		parameters := ""
		if s.set > 0 {
			parameters = fmt.Sprintf("stop x\nnum_ctx %d", s.set)
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"parameters": parameters, "capabilities": []string{"completion", "tools"},
			"model_info": map[string]any{"general.architecture": "a", "a.context_length": s.made}})
	case "/api/ps":
		models := []map[string]any{}
		for _, name := range s.others {
			models = append(models, map[string]any{"name": name, "model": name, "context_length": 4096})
		}
		if s.window > 0 {
			models = append(models, map[string]any{"name": "scripted:latest", "model": "scripted:latest", "context_length": s.window})
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"models": models})
	default:
		var in struct {
			Options struct {
				NumCtx int `json:"num_ctx"`
			}
		}
		_ = json.NewDecoder(r.Body).Decode(&in)
		n := cmp.Or(in.Options.NumCtx, s.set, s.own, 4096)
		if s.memory > 0 && n > s.memory {
			w.WriteHeader(http.StatusInternalServerError)
			_, _ = io.WriteString(w, `{"error":"model requires more system memory (19.3 GiB) than is available (7.4 GiB)"}`)
			return
		}
		if s.window != n {
			s.window, s.loads = n, append(s.loads, n)
		}
		_, _ = io.WriteString(w, `{"message":{"content":"ok"},"done":true,"done_reason":"stop","prompt_eval_count":5,"eval_count":1}`+"\n")
	}
}

// askWith asks with a window of so many tokens.
func askWith(t *testing.T, m llm.Model, tokens int) error {
	t.Helper()
	req := llmcheck.Ask("hi")
	req.Context = tokens
	_, err := llmcheck.Collect(t.Context(), m, req)
	return err
}

// Sessions that need windows of their own do not load the model anew at each request:
// it gets the largest, and who comes later begins with that.
func TestOneWindowForAll(t *testing.T) {
	s := &memoryServer{made: 131072}
	m := s.open(t)
	for n := range 26 {
		if err := askWith(t, m, []int{32768, 65536, 0}[n%3]); err != nil {
			t.Fatal(err)
		}
	}
	if fmt.Sprint(s.loads) != "[4096 32768 65536]" { // the first to see what the server chooses
		t.Errorf("the model was loaded with %v", s.loads)
	}
	if caps, err := m.Capabilities(t.Context()); err != nil || caps.Window() != 65536 || caps.ContextLength != 131072 {
		t.Errorf("the next session begins with %d tokens: %+v, %v", caps.Window(), caps, err)
	}
}

// A window that somebody gave to the model is learned: from its Modelfile, or from what
// the server has loaded.
func TestWindowIsLearned(t *testing.T) {
	for _, c := range []struct {
		name              string
		set, loaded, made int // loaded is what the server would load it with where it is negative
		want              int
	}{
		{"nobody chose one", 0, 0, 131072, 32768},
		{"the Modelfile's", 8192, 0, 131072, 8192},
		{"a larger one of the Modelfile", 65536, 0, 131072, 65536},
		{"OLLAMA_CONTEXT_LENGTH, as loaded", 0, 16384, 131072, 16384},
		{"OLLAMA_CONTEXT_LENGTH, before it is loaded", 0, -8192, 131072, 8192},
		{"a larger OLLAMA_CONTEXT_LENGTH, before it is loaded", 0, -65536, 131072, 65536},
		{"the Modelfile's before OLLAMA_CONTEXT_LENGTH", 16384, -8192, 131072, 16384},
		{"a larger one, as loaded", 0, 65536, 131072, 65536},
		{"the Modelfile's, whatever is loaded", 8192, 65536, 131072, 8192},
		{"the server's own default", 0, 4096, 131072, 32768},
		{"all that the model was made for", 0, 131072, 131072, 32768},
		{"a small model", 0, 4096, 4096, 4096},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := &memoryServer{set: c.set, made: c.made, window: max(c.loaded, 0), own: max(-c.loaded, 0)}
			m := s.open(t)
			hurried, cancel := context.WithTimeout(t.Context(), 55*time.Second)
			defer cancel()
			if _, err := m.Capabilities(hurried); err != nil || len(s.loads) > 0 {
				t.Errorf("who has no time has the model loaded with %v: %v", s.loads, err)
			}
			caps, err := m.Capabilities(t.Context())
			if err != nil || caps.Window() != c.want {
				t.Errorf("a session begins with %d tokens, want %d: %+v, %v", caps.Window(), c.want, caps, err)
			}
		})
	}
}

// Memory that other models have may become free; without any, words say what to set. A
// window that outgrew the memory goes back to the last one that fitted.
func TestTooLittleMemory(t *testing.T) {
	s := &memoryServer{made: 131072, memory: 16384, others: []string{"qwen3:32b", "nomic:latest"}}
	m := s.open(t)
	err := askWith(t, m, 32768)
	if llm.KindOf(err) != llm.Busy || !strings.Contains(err.Error(), "qwen3:32b, nomic:latest") {
		t.Errorf("beside other models: %v", err)
	}
	s.others, s.window = nil, 4096 // itself
	err = askWith(t, m, 32768)
	for _, want := range []string{"32768 tokens", "model.context", "num_ctx", "smaller model"} {
		if llm.KindOf(err) != llm.Invalid || !strings.Contains(err.Error(), want) {
			t.Errorf("alone: %v; want %q", err, want)
		}
	}
	s.memory = 40000
	m = s.open(t)
	if err := askWith(t, m, 32768); err != nil {
		t.Fatal(err)
	}
	if err := askWith(t, m, 65536); llm.KindOf(err) != llm.TooLong {
		t.Errorf("a window that grew too much: %v", err)
	}
	if err := askWith(t, m, 65536); err != nil {
		t.Errorf("with the window that fitted: %v", err)
	}
	if caps, err := m.Capabilities(t.Context()); err != nil || caps.ContextLength != 32768 || fmt.Sprint(s.loads) != "[4096 32768]" {
		t.Errorf("%+v, %v, loaded with %v", caps, err, s.loads)
	}
}
