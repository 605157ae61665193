package ollama_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/handrail-bot/handrail/agent/llm"
	"github.com/handrail-bot/handrail/agent/llm/llmcheck"
	"github.com/handrail-bot/handrail/agent/llm/ollama"
)

// canned answers by path, without a network.
type canned map[string]string

func (c canned) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{},
		Body: io.NopCloser(strings.NewReader(c[r.URL.Path])), Request: r}, nil
}

// Whatever a server sends, the answer ends with Done or with one *llm.Error,
// and the arguments of calls are JSON.
func FuzzStream(f *testing.F) {
	f.Add(`{"capabilities":["tools"],"model_info":{"general.architecture":"a","a.context_length":4096}}`,
		`{"message":{"content":"a","tool_calls":[{"function":{"name":"x","arguments":{"a":1}}}]}}`+"\n"+`{"done":true}`)
	f.Add(`{"template":"{{ .Tools }}","model_info":{"general.architecture":7,"x.context_length":-1},"parameters":"num_ctx x\nnum_ctx 99999999999999999999"}`, `{"error":{"x":1}}`)
	f.Add(`[]`, `null`)
	f.Add(`{}`, `{"message":null,"done":true,"prompt_eval_count":-5}`)
	f.Fuzz(func(t *testing.T, show, chat string) {
		m, err := ollama.New(ollama.Config{URL: &url.URL{Scheme: "http", Host: "server"}, Model: "scripted",
			HTTP: &http.Client{Transport: canned{"/api/show": show, "/api/version": `{"version":"0.17.4"}`, "/api/chat": chat}}})
		if err != nil {
			t.Fatal(err)
		}
		a, err := llmcheck.Collect(t.Context(), m, llmcheck.Ask("hi"))
		var e *llm.Error
		if err != nil && (!errors.As(err, &e) || e.Public == "") {
			t.Errorf("not a model's error: %v", err)
		}
		for _, c := range a.Calls {
			if !json.Valid(c.Arguments) {
				t.Errorf("arguments %s", c.Arguments)
			}
		}
	})
}
