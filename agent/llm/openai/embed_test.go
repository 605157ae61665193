package openai_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/handrail-bot/handrail/agent/llm"
	"github.com/handrail-bot/handrail/agent/llm/openai"
)

// embedder returns a model whose server answers /v1/embeddings so. It keeps the last request.
func embedder(t *testing.T, status int, answer string) (*openai.Model, *map[string]any) {
	t.Helper()
	asked := new(map[string]any)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v1/embeddings" || r.Header.Get("Authorization") != "Bearer k" {
			t.Errorf("asked %s with %q", r.URL.Path, r.Header.Get("Authorization"))
		}
		if err := json.NewDecoder(r.Body).Decode(asked); err != nil {
			t.Error(err)
		}
		w.WriteHeader(status)
		if _, err := w.Write([]byte(answer)); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(s.Close)
	at, err := url.Parse(s.URL + "/v1")
	if err != nil {
		t.Fatal(err)
	}
	m, err := openai.New(openai.Config{URL: at, Model: "text-embedding-3-small", Key: "k"})
	if err != nil {
		t.Fatal(err)
	}
	return m, asked
}

// Vectors come with an index, in any order.
func TestEmbed(t *testing.T) {
	m, asked := embedder(t, 200, `{"object":"list","data":[{"object":"embedding","index":1,"embedding":[0,2]},
		{"object":"embedding","index":0,"embedding":[0.5,-1]}],"model":"text-embedding-3-small","usage":{"prompt_tokens":8,"total_tokens":8}}`)
	got, err := m.Embed(t.Context(), []string{"a", "b"})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([][]float32{{0.5, -1}, {0, 2}}, got); diff != "" {
		t.Error(diff)
	}
	want := map[string]any{"model": "text-embedding-3-small", "input": []any{"a", "b"}, "encoding_format": "float"}
	if diff := cmp.Diff(want, *asked); diff != "" {
		t.Error(diff)
	}
	about, err := m.Embedding(t.Context())
	if err != nil || about.Digest != "text-embedding-3-small" {
		t.Errorf("%+v, %v", about, err)
	}
}

func TestBadVectors(t *testing.T) {
	for _, c := range []struct {
		name   string
		status int
		answer string
		want   llm.Kind
	}{
		{"nothing", 200, ``, llm.Invalid},
		{"no vectors", 200, `{"data":[]}`, llm.Invalid},
		{"null", 200, `{"data":[{"index":0,"embedding":null},{"index":1,"embedding":[1]}]}`, llm.Invalid},
		{"the same twice", 200, `{"data":[{"index":0,"embedding":[1]},{"index":0,"embedding":[1]}]}`, llm.Invalid},
		{"another index", 200, `{"data":[{"index":0,"embedding":[1]},{"index":7,"embedding":[1]}]}`, llm.Invalid},
		{"other lengths", 200, `{"data":[{"index":0,"embedding":[1]},{"index":1,"embedding":[1,2]}]}`, llm.Invalid},
		{"cut", 200, `{"data":[{"index":0,"embedding":[1`, llm.Invalid},
		{"500", 500, `{"error":{"message":"The server had an error","type":"server_error"}}`, llm.Cut},
		{"too long", 400, `{"error":{"message":"This model's maximum context length is 8192 tokens","code":"context_length_exceeded"}}`, llm.TooLong},
		{"no such model", 404, `{"error":{"message":"The model does not exist","code":"model_not_found"}}`, llm.NotFound},
		{"no such path", 404, `404 page not found`, llm.Invalid},
	} {
		m, _ := embedder(t, c.status, c.answer)
		got, err := m.Embed(t.Context(), []string{"a", "b"})
		if got != nil || llm.KindOf(err) != c.want {
			t.Errorf("%s: %v, kind %d: %v", c.name, got, llm.KindOf(err), err)
		}
	}
}
