package ollama

import (
	"cmp"
	"context"
	"strings"

	"github.com/ollama/ollama/api"

	"github.com/handrail-bot/handrail/agent/llm"
	"github.com/handrail-bot/handrail/agent/llm/wire"
)

// Embedding implements [llm.Embedder].
func (m *Model) Embedding(ctx context.Context) (llm.Embedding, error) {
	info, err := m.info(ctx)
	if err != nil {
		return llm.Embedding{}, err
	}
	tokens := info.caps.ContextLength
	if set := info.caps.ContextSet; set > 0 && (tokens == 0 || set < tokens) {
		tokens = set
	}
	return llm.Embedding{Digest: cmp.Or(info.caps.Digest, m.end.Model), Tokens: tokens}, nil
}

// Embed implements [llm.Embedder]. The server cuts texts that are longer than the model's
// context.
func (m *Model) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	cut := true
	resp, err := m.api.Embed(ctx, &api.EmbedRequest{
		Model: m.end.Model, Input: texts, KeepAlive: m.keepAlive, Truncate: &cut,
	})
	if err != nil && strings.Contains(err.Error(), "unexpected end of JSON") {
		return nil, m.end.Died(err)
	}
	if err != nil {
		return nil, m.showError(ctx, err)
	}
	if err := wire.Vectors(len(texts), resp.Embeddings); err != nil {
		return nil, err
	}
	return resp.Embeddings, nil
}
