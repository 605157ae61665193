package ollama_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/url"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/ollama/ollama/api"

	"github.com/handrail-bot/handrail/agent/llm"
	"github.com/handrail-bot/handrail/agent/llm/llmcheck"
	"github.com/handrail-bot/handrail/agent/llm/llmtest"
)

// The scripted server is understood by Ollama's own client.
func TestScriptedServerSpeaksToTheRealClient(t *testing.T) {
	spec := llmcheck.FullModel()
	spec.ContextSet = 4096
	s := llmcheck.Serve(t, llmtest.Script{Model: spec, Chunk: 2, Turns: []llmtest.Turn{{Think: "hm", Say: "hello", Calls: []llmtest.Call{{Name: "x", Arguments: map[string]any{"a": 1}}}}}})
	u, err := url.Parse(s.URL())
	if err != nil {
		t.Fatal(err)
	}
	c := api.NewClient(u, http.DefaultClient)
	if err := c.Heartbeat(t.Context()); err != nil {
		t.Error(err)
	}
	list, err := c.List(t.Context())
	if err != nil || len(list.Models) != 1 || list.Models[0].Name != "scripted:latest" {
		t.Errorf("list: %+v, %v", list, err)
	}
	running, err := c.ListRunning(t.Context())
	if err != nil || len(running.Models) != 1 || running.Models[0].ContextLength != 32768 {
		t.Errorf("running: %+v, %v", running, err)
	}
	show, err := c.Show(t.Context(), &api.ShowRequest{Model: "scripted"})
	if err != nil || len(show.Capabilities) != 4 || show.ModelInfo["scripted.context_length"] != 32768.0 {
		t.Errorf("show: %+v, %v", show, err)
	}
	var content, thinking string
	var calls []api.ToolCall
	var last api.ChatResponse
	err = c.Chat(t.Context(), &api.ChatRequest{Model: "scripted"}, func(r api.ChatResponse) error {
		content, thinking, calls, last = content+r.Message.Content, thinking+r.Message.Thinking, append(calls, r.Message.ToolCalls...), r
		return nil
	})
	if err != nil || content != "hello" || thinking != "hm" || len(calls) != 1 || calls[0].Function.Arguments.String() != `{"a":1}` || !last.Done || last.EvalCount == 0 {
		t.Errorf("chat: %q, %q, %v, %+v, %v", content, thinking, calls, last, err)
	}
}

// keys are the names of the fields in a JSON object, with those of message.
func keys(t *testing.T, line []byte) map[string]bool {
	t.Helper()
	var obj map[string]any
	if err := json.Unmarshal(line, &obj); err != nil {
		t.Fatalf("%v: %s", err, line)
	}
	out := map[string]bool{}
	for k, v := range obj {
		out[k] = true
		if inner, ok := v.(map[string]any); ok && k == "message" {
			for k := range inner {
				out["message."+k] = true
			}
		}
	}
	return out
}

// Each line that the scripted server sends has the fields of the line that a
// real server sent in its place. Durations are the real one's own.
func TestScriptedServerLooksLikeTheRecording(t *testing.T) {
	s := llmcheck.Serve(t, llmtest.Script{Model: llmcheck.FullModel(), Turns: []llmtest.Turn{{Think: "hm", Say: "hello", Calls: []llmtest.Call{{Name: "x"}}}}})
	resp, err := http.Post(s.URL()+"/api/chat", "application/json", bytes.NewReader([]byte(`{"model":"scripted"}`)))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var got bytes.Buffer
	if _, err := got.ReadFrom(resp.Body); err != nil {
		t.Fatal(err)
	}
	recorded := bytes.Split(bytes.TrimSpace(record(t, "0.17.4/qwen-parser.txt").body), []byte("\n"))
	lines := bytes.Split(bytes.TrimSpace(got.Bytes()), []byte("\n"))
	if len(lines) != 4 {
		t.Fatalf("want thinking, content, calls, end: %s", got.Bytes())
	}
	for _, c := range []struct {
		name      string
		got, want []byte
	}{{"content", lines[1], recorded[0]}, {"call", lines[2], recorded[3]}, {"end", lines[3], recorded[4]}} {
		want := keys(t, c.want)
		for _, k := range []string{"load_duration", "prompt_eval_duration", "eval_duration"} {
			delete(want, k)
		}
		if d := cmp.Diff(want, keys(t, c.got)); d != "" {
			t.Errorf("%s: %s", c.name, d)
		}
	}
	if ct := resp.Header.Get("Content-Type"); ct != "application/x-ndjson" {
		t.Errorf("content type %s", ct)
	}
}

// An instant model answers a turn in well under a millisecond.
func BenchmarkTurn(b *testing.B) {
	s, err := llmtest.Start(llmtest.Script{Model: llmcheck.FullModel(), Forget: true,
		Turns: []llmtest.Turn{{Say: "ok", Calls: []llmtest.Call{{Name: "read_file", Arguments: `{"path":"a"}`}}, Repeat: true}}})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	u, err := url.Parse(s.URL())
	if err != nil {
		b.Fatal(err)
	}
	m, err := newModel(u)
	if err != nil {
		b.Fatal(err)
	}
	req := llmcheck.Ask("hi", llm.ToolSpec{Name: "read_file", Parameters: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"}}}`)})
	b.ReportAllocs()
	for b.Loop() {
		if _, err := llmcheck.Collect(b.Context(), m, req); err != nil {
			b.Fatal(err)
		}
	}
}
