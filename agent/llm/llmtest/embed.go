package llmtest

import (
	"context"
	"encoding/json"
	"hash/fnv"
	"net/http"
	"strings"
	"unicode"

	"github.com/handrail-bot/handrail/agent/llm"
)

// vectorSize is the length of a vector.
const vectorSize = 64

// vector returns the direction of a text, the same each time: texts with common words are
// near each other, whatever their case, and so are a few words of one meaning: car and
// vehicle, retry and backoff, hello and welcome.
func vector(text string) []float32 {
	out := make([]float32, vectorSize)
	out[0] = 0.1 // a text without words has a direction, too
	for _, w := range strings.FieldsFunc(text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		h := fnv.New64a()
		_, _ = h.Write([]byte(meaning(strings.ToLower(w)))) // never fails
		n := h.Sum64()
		sign := float32(1)
		if n>>32&1 == 1 {
			sign = -1
		}
		out[1+n%(vectorSize-1)] += sign
	}
	return out
}

// meaning returns the word that stands for all of one meaning.
func meaning(word string) string {
	for _, same := range [][]string{
		{"car", "automobile", "vehicle"},
		{"retry", "backoff", "again"},
		{"greeting", "hello", "welcome"},
	} {
		for _, w := range same {
			if w == word {
				return same[0]
			}
		}
	}
	return word
}

// Embedder is a model whose vectors are those of the words of a text. Fail, if not nil, returns the
// error of a text. It keeps no state; Asked, if not nil, receives the texts of each
// request.
type Embedder struct {
	Fail  func(text string) error
	Asked func(texts []string)
}

// Name implements [llm.Embedder].
func (Embedder) Name() string { return "scripted-embed" }

// Embedding implements [llm.Embedder].
func (Embedder) Embedding(context.Context) (llm.Embedding, error) {
	return llm.Embedding{Digest: "scripted-embed", Tokens: 2048}, nil
}

// Embed implements [llm.Embedder].
func (e Embedder) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	if e.Asked != nil {
		e.Asked(texts)
	}
	out := make([][]float32, len(texts))
	for i, text := range texts {
		if e.Fail != nil {
			if err := e.Fail(text); err != nil {
				return nil, err
			}
		}
		out[i] = vector(text)
	}
	return out, ctx.Err()
}

// ollamaEmbed answers /api/embed for any model.
func (s *Server) ollamaEmbed(w http.ResponseWriter, r *http.Request) {
	var req struct {
		Model string   `json:"model"`
		Input []string `json:"input"`
	}
	if err := json.NewDecoder(r.Body).Decode(&req); err != nil || len(req.Input) == 0 {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	vectors := make([][]float32, len(req.Input))
	for i, text := range req.Input {
		vectors[i] = vector(text)
	}
	WriteJSON(w, http.StatusOK, map[string]any{"model": req.Model, "embeddings": vectors})
}
