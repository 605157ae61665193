package ollama_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/handrail-bot/handrail/agent/llm"
)

// embedding serves /api/embed with an answer, and what else is asked of a model with
// vectors. It keeps the last request.
func embedding(t *testing.T, status int, answer string) (url string, asked *map[string]any) {
	t.Helper()
	asked = new(map[string]any)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		text := answer
		switch r.URL.Path {
		case "/api/show":
			text = `{"capabilities":["embedding"],"model_info":{"general.architecture":"bert","bert.context_length":512}}`
		case "/api/version":
			text = `{"version":"0.17.4"}`
		case "/api/tags":
			text = `{"models":[{"name":"scripted:latest","model":"scripted:latest","digest":"abc"}]}`
		case "/api/embed":
			if err := json.NewDecoder(r.Body).Decode(asked); err != nil {
				t.Error(err)
			}
			w.WriteHeader(status)
		default:
			text = `{}`
		}
		if _, err := w.Write([]byte(text)); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(s.Close)
	return s.URL, asked
}

func TestEmbed(t *testing.T) {
	url, asked := embedding(t, 200, `{"model":"m","embeddings":[[0.5,-1],[0,2]],"total_duration":14143917,"load_duration":1019500,"prompt_eval_count":8}`)
	m := open(t, url)
	got, err := m.Embed(t.Context(), []string{"a", "b"})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([][]float32{{0.5, -1}, {0, 2}}, got); diff != "" {
		t.Error(diff)
	}
	if in := *asked; in["truncate"] != true || !cmp.Equal(in["input"], []any{"a", "b"}) || in["model"] != m.Name() {
		t.Errorf("asked %v", in)
	}
	about, err := m.Embedding(t.Context())
	if want := (llm.Embedding{Digest: "abc", Tokens: 512}); err != nil || about != want {
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
		{"no vectors", 200, `{"embeddings":[]}`, llm.Invalid},
		{"no field", 200, `{}`, llm.Invalid},
		{"null", 200, `{"embeddings":[null,null]}`, llm.Invalid},
		{"one too few", 200, `{"embeddings":[[1]]}`, llm.Invalid},
		{"other lengths", 200, `{"embeddings":[[1],[1,2]]}`, llm.Invalid},
		{"no direction", 200, `{"embeddings":[[0,0],[1,2]]}`, llm.Invalid},
		{"not a number", 200, `{"embeddings":[[NaN],[1]]}`, llm.Invalid},
		{"a text", 200, `{"embeddings":["x",[1]]}`, llm.Invalid},
		{"cut", 200, `{"embeddings":[[1,2],[1`, llm.Cut},
		{"a page", 200, `<html>`, llm.Invalid},
		{"500", 500, `{"error":"do embedding request: unexpected EOF"}`, llm.Cut},
		{"not a number, its server", 500, `{"error":"failed to encode response: json: unsupported value: NaN"}`, llm.Cut},
		{"too long", 400, `{"error":"the input length exceeds the context length"}`, llm.TooLong},
		{"no such model", 404, `{"error":"model \"m\" not found, try pulling it first"}`, llm.NotFound},
		{"a model for chats", 501, `{"error":"this model does not support embeddings"}`, llm.Unsupported},
	} {
		url, _ := embedding(t, c.status, c.answer)
		got, err := open(t, url).Embed(t.Context(), []string{"a", "b"})
		if got != nil || llm.KindOf(err) != c.want {
			t.Errorf("%s: %v, kind %d: %v", c.name, got, llm.KindOf(err), err)
		}
	}
	url, _ := embedding(t, 200, `{"embeddings":[[1e30],[`+strings.Repeat("9", 50)+`]]}`)
	if _, err := open(t, url).Embed(t.Context(), []string{"a", "b"}); err == nil {
		t.Error("a number beyond a float32 was taken")
	}
}
