package doctor

import (
	"context"
	"strings"
	"time"

	"github.com/handrail-bot/handrail/bot/store"
	"github.com/handrail-bot/handrail/cmd/records"
)

// embedding tries the model that finds code by its meaning. Sessions work without it.
func (c *Config) embedding(ctx context.Context) []Finding {
	const name = "embedding"
	if c.Server.Model.Embedding == "" || c.Embedder == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	m, err := c.Embedder()
	var vectors [][]float32
	if err == nil {
		vectors, err = m.Embed(ctx, []string{"func main() {}"})
	}
	if err != nil {
		f := wrong(name, "Until then codebase_search finds text.", "%s makes no vectors: %v", c.Server.Model.Embedding, err)
		f.Needed = false
		return []Finding{f}
	}
	return []Finding{passed(name, "%s makes vectors of %d numbers", m.Name(), len(vectors[0]))}
}

// indexed reports the progress of the index, as a running server stored it.
func (c *Config) indexed(ctx context.Context, meta store.Meta) []Finding {
	if c.Server.Model.Embedding == "" {
		return nil
	}
	list, err := (&records.Indexed{Meta: meta}).List(ctx)
	if err != nil {
		f := wrong("index", "", "%v", err)
		f.Needed = false
		return []Finding{f}
	}
	if len(list) == 0 {
		return []Finding{passed("index", "a repository is read when its first session begins")}
	}
	out := passed("index", "")
	parts := make([]string, 0, len(list))
	for _, p := range list {
		parts = append(parts, p.String())
		if p.Trouble != "" {
			out.OK, out.Remedy = false, "The server goes on by itself when the model answers."
		}
	}
	out.Detail = strings.Join(parts, "; ")
	return []Finding{out}
}
