package openai

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	goopenai "github.com/sashabaranov/go-openai"

	"github.com/handrail-bot/handrail/agent/llm"
	"github.com/handrail-bot/handrail/agent/llm/wire"
)

// maxEmbedded is the maximum size of an answer with vectors in bytes.
const maxEmbedded = 64 << 20

// Embedding implements [llm.Embedder]. These servers tell neither weights nor limits.
func (m *Model) Embedding(context.Context) (llm.Embedding, error) {
	return llm.Embedding{Digest: m.end.Model}, nil
}

// Embed implements [llm.Embedder].
func (m *Model) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	body, err := m.marshal(goopenai.EmbeddingRequest{
		Input: texts, Model: goopenai.EmbeddingModel(m.end.Model), EncodingFormat: goopenai.EmbeddingEncodingFormatFloat,
	})
	if err != nil {
		return nil, err
	}
	at := m.cfg.URL.JoinPath("embeddings").String()
	resp, err := wire.Post(ctx, m.end.HTTP, at, m.header("application/json"), body)
	if err != nil {
		return nil, wire.Failure(ctx, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, m.statusError(resp)
	}
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxEmbedded))
	if err != nil {
		return nil, wire.Failure(ctx, err)
	}
	var got goopenai.EmbeddingResponse
	if err := json.Unmarshal(data, &got); err != nil {
		return nil, m.notCompatible(fmt.Errorf("read vectors: %w", err))
	}
	out := make([][]float32, len(texts))
	for _, e := range got.Data {
		if e.Index < 0 || e.Index >= len(out) || out[e.Index] != nil {
			return nil, m.notCompatible(fmt.Errorf("a vector has the index %d of %d texts", e.Index, len(texts)))
		}
		out[e.Index] = e.Embedding
	}
	if err := wire.Vectors(len(texts), out); err != nil {
		return nil, err
	}
	return out, nil
}
