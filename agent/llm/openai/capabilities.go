package openai

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/handrail-bot/handrail/agent/llm"
	"github.com/handrail-bot/handrail/agent/llm/wire"
)

// probed caches the detected capabilities. turn is full while a probe is in progress.
type probed struct {
	turn chan struct{}
	caps atomic.Pointer[llm.Capabilities]
}

// Capabilities implements [llm.Model]. Configured capabilities take precedence. Otherwise
// the server is asked once, in two steps, because this API has no request for
// capabilities. The first is /models, to which many servers add the context length, and
// some the supported parameters. If those are missing, the second is a request that
// offers a tool and asks for an answer of a few tokens.
func (m *Model) Capabilities(ctx context.Context) (llm.Capabilities, error) {
	if m.cfg.Capabilities != nil {
		return *m.cfg.Capabilities, nil
	}
	if c := m.probed.caps.Load(); c != nil {
		return *c, nil
	}
	select {
	case m.probed.turn <- struct{}{}:
	case <-ctx.Done():
		return llm.Capabilities{}, wire.Failure(ctx, ctx.Err())
	}
	defer func() { <-m.probed.turn }()
	if c := m.probed.caps.Load(); c != nil {
		return *c, nil
	}
	caps, settled, err := m.listed(ctx)
	if err == nil && !settled {
		caps.Tools, err = m.callsTools(ctx)
	}
	if err != nil {
		return llm.Capabilities{}, err
	}
	caps.Thinking = m.cfg.Effort != ""
	m.probed.caps.Store(&caps)
	return caps, nil
}

// listing is an entry of /models with the extensions of servers: max_model_len of vLLM;
// context_length, supported_parameters and architecture of OpenRouter; context_window of
// Groq; max_context_length of LM Studio; meta of llama.cpp.
type listing struct {
	ID               string `json:"id"`
	MaxModelLen      int    `json:"max_model_len"`
	ContextLength    int    `json:"context_length"`
	ContextWindow    int    `json:"context_window"`
	MaxContextLength int    `json:"max_context_length"`
	Meta             struct {
		Train int `json:"n_ctx_train"`
	} `json:"meta"`
	Parameters   []string `json:"supported_parameters"`
	Architecture struct {
		Input []string `json:"input_modalities"`
	} `json:"architecture"`
}

func (l *listing) caps() llm.Capabilities {
	c := llm.Capabilities{
		Tools:  slices.Contains(l.Parameters, "tools"),
		Vision: slices.Contains(l.Architecture.Input, "image"),
	}
	for _, n := range []int{l.MaxModelLen, l.ContextLength, l.ContextWindow, l.MaxContextLength, l.Meta.Train} {
		if n > 0 {
			c.ContextLength = n
			break
		}
	}
	return c
}

// maxListing is the maximum size of a list of models in bytes. The largest one seen has
// half a megabyte.
const maxListing = 16 << 20

// listed asks /models. settled reports whether the list reveals if the model calls tools.
// A missing list, or a list without the model, is not an error.
func (m *Model) listed(ctx context.Context) (caps llm.Capabilities, settled bool, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, m.cfg.URL.JoinPath("models").String(), nil)
	if err != nil {
		return caps, false, m.invalidRequest(err)
	}
	req.Header = m.header("application/json")
	resp, err := m.end.HTTP.Do(req)
	if err != nil {
		return caps, false, wire.Failure(ctx, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		err := m.statusError(resp)
		if k := llm.KindOf(err); k == llm.Invalid || k == llm.NotFound {
			return caps, false, nil
		}
		return caps, false, err
	}
	var list struct {
		Data []listing `json:"data"`
	}
	if err := json.NewDecoder(io.LimitReader(resp.Body, maxListing)).Decode(&list); err != nil {
		m.end.Log.WarnContext(ctx, "model server's list of models cannot be read", "model", m.end.Model, "err", err)
		return caps, false, nil
	}
	for _, l := range list.Data {
		if l.ID == m.end.Model || strings.TrimSuffix(l.ID, ":latest") == m.end.Model {
			return l.caps(), len(l.Parameters) > 0, nil
		}
	}
	return caps, false, nil
}

// Reach checks the server by listing its models, without running one.
func (m *Model) Reach(ctx context.Context) error {
	_, _, err := m.listed(ctx)
	return err
}

// probeTool is the name of the tool in a probe for tool support.
const probeTool = "noop"

func (m *Model) callsTools(ctx context.Context) (bool, error) {
	zero := 0.0
	req := llm.Request{
		Messages: []llm.Message{{Role: llm.RoleUser, Content: "Answer with the word ok."}},
		Tools: []llm.ToolSpec{
			{Name: probeTool, Description: "Does nothing.", Parameters: json.RawMessage(`{"type":"object","properties":{}}`)},
		},
		MaxTokens:   16,
		Temperature: &zero,
	}
	for p, err := range m.Stream(ctx, req) {
		if llm.KindOf(err) == llm.Unsupported {
			return false, nil
		}
		if err != nil {
			return false, fmt.Errorf("probe tools: %w", err)
		}
		if p.Done {
			return true, nil
		}
	}
	return false, m.end.Died(errors.New("probe tools: no answer"))
}
