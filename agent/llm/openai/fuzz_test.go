package openai_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/handrail-bot/handrail/agent/llm"
	"github.com/handrail-bot/handrail/agent/llm/llmcheck"
	"github.com/handrail-bot/handrail/agent/llm/openai"
)

// canned answers every request with this, without a network.
type canned struct{ contentType, body string }

func (c canned) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {c.contentType}},
		Body: io.NopCloser(strings.NewReader(c.body)), Request: r}, nil
}

// Whatever a server sends, the answer ends with Done or with one *llm.Error,
// and every call has a name, an id of its own and arguments in JSON.
func FuzzStream(f *testing.F) {
	f.Add(true, events(content("hi"), toolDelta(`{"index":0,"id":"a","function":{"name":"x","arguments":"{}"}}`), "[DONE]"))
	f.Add(true, events(`{"error":{"message":["a"],"code":{}}}`))
	f.Add(true, events(toolDelta(`{"index":-1,"function":{"name":"x","arguments":[1]}},{"function":{"name":"y"}}`), finish("stop")))
	f.Add(false, `{"choices":[{"message":{"content":[{"text":"a"}],"tool_calls":[{"function":{"name":"x","arguments":"{"}}]}}]}`)
	f.Fuzz(func(t *testing.T, stream bool, body string) {
		contentType := "application/json"
		if stream {
			contentType = "text/event-stream"
		}
		m := open(t, "http://server", func(c *openai.Config) { c.HTTP = &http.Client{Transport: canned{contentType, body}} })
		a, err := llmcheck.Collect(t.Context(), m, llmcheck.Ask("hi"))
		var e *llm.Error
		if err != nil && (!errors.As(err, &e) || e.Public == "") {
			t.Errorf("not a model's error: %v", err)
		}
		ids := map[string]bool{}
		for _, c := range a.Calls {
			if c.Name == "" || c.ID == "" || ids[c.ID] || !json.Valid(c.Arguments) {
				t.Errorf("call %q %q %s", c.ID, c.Name, c.Arguments)
			}
			ids[c.ID] = true
		}
	})
}
