package openai_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/handrail-bot/handrail/agent/llm"
	"github.com/handrail-bot/handrail/agent/llm/llmcheck"
	"github.com/handrail-bot/handrail/agent/llm/llmtest"
	"github.com/handrail-bot/handrail/agent/llm/openai"
)

func TestErrorsByStatus(t *testing.T) {
	for _, c := range []struct {
		name   string
		status int
		header string // Retry-After
		body   string
		want   llm.Kind
		wait   time.Duration
	}{
		{"key", 401, "", `{"error":{"message":"Incorrect API key provided: sk-…","type":"invalid_request_error","code":"invalid_api_key"}}`, llm.Refused, 0},
		{"forbidden", 403, "", `no`, llm.Refused, 0},
		{"unpaid", 402, "", `{"error":{"message":"Insufficient credits","code":402}}`, llm.Refused, 0},
		{"quota", 429, "20", `{"error":{"message":"You exceeded your current quota","type":"insufficient_quota","code":"insufficient_quota"}}`, llm.Refused, 20 * time.Second},
		{"rate", 429, "20", `{"error":{"message":"Rate limit reached for requests","code":"rate_limit_exceeded"}}`, llm.Busy, 20 * time.Second},
		{"rate, as a date", 429, "Fri, 01 Jan 2100 00:00:00 GMT", `{}`, llm.Busy, time.Hour},
		{"rate, past date", 429, "Fri, 01 Jan 2010 00:00:00 GMT", `{}`, llm.Busy, 0},
		{"rate, nonsense", 429, "soon", `{}`, llm.Busy, 0},
		{"overloaded", 529, "", `{"error":{"type":"overloaded_error","message":"Overloaded"}}`, llm.Busy, 0},
		{"loading", 503, "", `{"error":{"code":503,"message":"Loading model","type":"unavailable_error"}}`, llm.Unreachable, 0},
		{"gateway page", 502, "", "<html>Bad gateway</html>", llm.Unreachable, 0},
		{"broken", 500, "", `{"error":{"message":"The server had an error","type":"server_error"}}`, llm.Cut, 0},
		{"too long", 400, "", `{"error":{"message":"This model's maximum context length is 4096 tokens.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}`, llm.TooLong, 0},
		{"too long, llama.cpp", 400, "", `{"error":{"code":400,"message":"the request exceeds the available context size","type":"exceed_context_size_error","n_ctx":4096}}`, llm.TooLong, 0},
		{"too large", 413, "", ``, llm.TooLong, 0},
		{"tools, vLLM", 400, "", `{"object":"error","message":"\"auto\" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set","type":"BadRequestError","param":null,"code":400}`, llm.Unsupported, 0},
		{"tools, llama.cpp", 500, "", `{"error":{"code":500,"message":"tools param requires --jinja flag","type":"server_error"}}`, llm.Unsupported, 0},
		{"tools, router", 404, "", `{"error":{"message":"No endpoints found that support tool use.","code":404}}`, llm.Unsupported, 0},
		{"images", 400, "", `{"error":{"message":"image input is not supported by this model"}}`, llm.Unsupported, 0},
		{"model", 404, "", `{"error":{"message":"The model 'x' does not exist","type":"invalid_request_error","code":"model_not_found"}}`, llm.NotFound, 0},
		{"wrong path", 404, "", `404 page not found`, llm.Invalid, 0},
		{"bad field", 422, "", `{"detail":[{"loc":["body","messages"],"msg":"field required"}]}`, llm.Invalid, 0},
		{"text", 400, "", `nope`, llm.Invalid, 0},
		{"list of messages", 400, "", `{"error":{"message":["a","b"]}}`, llm.Invalid, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				if c.header != "" {
					w.Header().Set("Retry-After", c.header)
				}
				w.WriteHeader(c.status)
				_, _ = io.WriteString(w, c.body)
			}))
			defer s.Close()
			_, err := llmcheck.Collect(t.Context(), open(t, s.URL, nil), llmcheck.Ask("hi"))
			var e *llm.Error
			if !errors.As(err, &e) || e.Kind != c.want || e.RetryAfter != c.wait {
				t.Fatalf("want kind %d after %s, got %#v", c.want, c.wait, err)
			}
			if strings.Contains(e.Public, "sk-") || e.Public == "" || e.Err == nil {
				t.Errorf("public %q, detail %v", e.Public, e.Err)
			}
		})
	}
}

// picky answers 400 as long as the request has one of the parameters.
func picky(t *testing.T, refuse map[string]string) (*openai.Model, *[]map[string]any) {
	t.Helper()
	m, seen, _ := pickyAt(t, refuse)
	return m, seen
}

// pickyAt is picky with the server's address.
func pickyAt(t *testing.T, refuse map[string]string) (*openai.Model, *[]map[string]any, string) {
	t.Helper()
	var seen []map[string]any
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		var body map[string]any
		if err := json.Unmarshal(b, &body); err != nil {
			t.Error(err)
		}
		seen = append(seen, body)
		for param, text := range refuse {
			if strings.Contains(string(b), `"`+param+`":`) {
				w.WriteHeader(http.StatusBadRequest)
				_, _ = fmt.Fprintf(w, `{"error":{"message":%q}}`, text)
				return
			}
		}
		_, _ = io.WriteString(w, events(content("hi"), "[DONE]"))
	}))
	t.Cleanup(s.Close)
	half := 0.5
	return open(t, s.URL, func(c *openai.Config) { c.MaxTokens, c.Temperature, c.Effort = 100, &half, "low" }), &seen, s.URL
}

func TestLearnsADialect(t *testing.T) {
	m, seen := picky(t, map[string]string{
		"stream_options":    "Unrecognized request argument supplied: stream_options",
		"max_tokens":        "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.",
		"temperature":       "Unsupported value: 'temperature' is fixed",
		"reasoning_content": "property 'messages.1.reasoning_content' is wrong",
	})
	req := llmcheck.Ask("hi")
	req.Messages = append(req.Messages, llm.Message{Role: llm.RoleAssistant, Content: "a", Thinking: "hm"}, llm.Message{Role: llm.RoleUser, Content: "b"})
	for range 2 {
		if a, err := llmcheck.Collect(t.Context(), m, req); err != nil || a.Content != "hi" {
			t.Fatalf("got %+v, %v", a, err)
		}
	}
	if n := len(*seen); n != 6 {
		t.Errorf("asked %d times, want four refusals and two answers", n)
	}
	last := (*seen)[len(*seen)-1]
	if last["max_completion_tokens"] != 100.0 || last["reasoning_effort"] != "low" || last["temperature"] != nil {
		t.Errorf("sent %v", last)
	}
}

func TestDoesNotLearnFromOtherRefusals(t *testing.T) {
	m, seen := picky(t, map[string]string{"messages": "messages are empty"})
	if _, err := llmcheck.Collect(t.Context(), m, llmcheck.Ask("hi")); llm.KindOf(err) != llm.Invalid || len(*seen) != 1 {
		t.Errorf("asked %d times, got %v", len(*seen), err)
	}
}

func TestReasoningGoesBackAsItCame(t *testing.T) {
	s := llmcheck.Serve(t, llmtest.Script{Model: llmcheck.FullModel(), Turns: []llmtest.Turn{{Think: "hm", Say: "a"}, {Say: "b"}}})
	m := open(t, s.URL(), nil)
	a, err := llmcheck.Collect(t.Context(), m, llmcheck.Ask("hi"))
	if err != nil {
		t.Fatal(err)
	}
	req := llmcheck.Ask("hi")
	req.Messages = append(req.Messages, llm.Message{Role: llm.RoleAssistant, Content: a.Content, Thinking: a.Thinking})
	if _, err := llmcheck.Collect(t.Context(), m, req); err != nil {
		t.Fatal(err)
	}
	if got := string(s.Requests()[1].Body); !strings.Contains(got, `"reasoning":"hm"`) || strings.Contains(got, "reasoning_content") {
		t.Errorf("sent %s", got)
	}
}

// Calls without ids, as older Ollama servers made them, must still be answered.
func TestIDsForCallsWithout(t *testing.T) {
	s := llmcheck.Serve(t, llmtest.Script{Model: llmcheck.FullModel(), Turns: []llmtest.Turn{{Say: "ok"}}})
	req := llmcheck.Ask("hi")
	two := []llm.ToolCall{{Name: "a", Arguments: json.RawMessage(`{}`)}, {Name: "b", Arguments: json.RawMessage(`"{\"p\": oops"`)}}
	req.Messages = append(req.Messages,
		llm.Message{Role: llm.RoleAssistant, Calls: two}, llm.Message{Role: llm.RoleTool, Content: "1"}, llm.Message{Role: llm.RoleTool, Content: "2"},
		llm.Message{Role: llm.RoleAssistant, Calls: two[:1]}, llm.Message{Role: llm.RoleTool, Content: "3"})
	if _, err := llmcheck.Collect(t.Context(), open(t, s.URL(), nil), req); err != nil {
		t.Fatal(err)
	}
	got := s.Requests()[0].Messages
	ids := []string{got[1].Calls[0].ID, got[1].Calls[1].ID, got[4].Calls[0].ID}
	if d := cmp.Diff(ids, []string{got[2].ToolCallID, got[3].ToolCallID, got[5].ToolCallID}); d != "" || ids[0] == "" || ids[0] == ids[1] || ids[0] == ids[2] {
		t.Errorf("ids %q: %s", ids, d)
	}
	if args := string(got[1].Calls[1].Arguments); args != `{"arguments":"{\"p\": oops"}` {
		t.Errorf("arguments sent as %s", args)
	}
}

func TestCapabilities(t *testing.T) {
	for _, c := range []struct {
		name, list string
		status     int
		tools      bool // what the probe finds
		want       llm.Capabilities
		probes     int
	}{
		{"vLLM", `{"data":[{"id":"scripted","max_model_len":40960}]}`, 200, true, llm.Capabilities{Tools: true, ContextLength: 40960}, 1},
		{"vLLM without tools", `{"data":[{"id":"scripted","max_model_len":40960}]}`, 200, false, llm.Capabilities{ContextLength: 40960}, 1},
		{"OpenRouter", `{"data":[{"id":"scripted","context_length":131072,"supported_parameters":["tools"],"architecture":{"input_modalities":["text","image"]}}]}`,
			200, true, llm.Capabilities{Tools: true, Vision: true, ContextLength: 131072}, 0},
		{"OpenRouter without tools", `{"data":[{"id":"scripted","context_length":4096,"supported_parameters":["temperature"]}]}`, 200, true, llm.Capabilities{ContextLength: 4096}, 0},
		{"llama.cpp", `{"data":[{"id":"scripted","meta":{"n_ctx_train":32768}}]}`, 200, true, llm.Capabilities{Tools: true, ContextLength: 32768}, 1},
		{"not in the list", `{"data":[{"id":"other","max_model_len":1}]}`, 200, true, llm.Capabilities{Tools: true}, 1},
		{"no list", `not found`, 404, true, llm.Capabilities{Tools: true}, 1},
		{"odd list", `[]`, 200, true, llm.Capabilities{Tools: true}, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			probes := 0
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/v1/models" {
					w.WriteHeader(c.status)
					_, _ = io.WriteString(w, c.list)
					return
				}
				if probes++; !c.tools {
					w.WriteHeader(http.StatusBadRequest)
					_, _ = io.WriteString(w, `{"error":{"message":"scripted does not support tools"}}`)
					return
				}
				_, _ = io.WriteString(w, events(content("ok"), "[DONE]"))
			}))
			defer s.Close()
			m := open(t, s.URL, func(cfg *openai.Config) { cfg.Capabilities = nil })
			for range 2 {
				got, err := m.Capabilities(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				if d := cmp.Diff(c.want, got); d != "" {
					t.Error(d)
				}
			}
			if probes != c.probes {
				t.Errorf("probed %d times, want %d", probes, c.probes)
			}
		})
	}
}

func TestCapabilitiesOfScriptedServer(t *testing.T) {
	spec := llmcheck.FullModel()
	s := llmcheck.Serve(t, llmtest.Script{Model: spec, Turns: []llmtest.Turn{{Say: "ok"}}})
	m := open(t, s.URL(), func(cfg *openai.Config) { cfg.Capabilities = nil })
	if c, err := m.Capabilities(t.Context()); err != nil || !c.Tools {
		t.Errorf("got %+v, %v", c, err)
	}
	if a, err := llmcheck.Collect(t.Context(), m, llmcheck.Ask("hi")); err != nil || a.Content != "ok" {
		t.Errorf("the probe took a turn: %+v, %v", a, err)
	}
	wrong := open(t, s.URL(), func(cfg *openai.Config) { cfg.Capabilities, cfg.Key = nil, "wrong" })
	if _, err := wrong.Capabilities(t.Context()); llm.KindOf(err) != llm.Refused {
		t.Errorf("want Refused, got %v", err)
	}
}

func TestStatedCapabilities(t *testing.T) {
	m := open(t, "http://192.0.2.1", func(cfg *openai.Config) { cfg.Capabilities = &llm.Capabilities{ContextLength: 7} })
	if c, err := m.Capabilities(t.Context()); err != nil || c.ContextLength != 7 {
		t.Errorf("got %+v, %v", c, err)
	}
	req := llmcheck.Ask("hi")
	req.Messages[0].Images = [][]byte{{1}}
	var known *llm.Error
	if _, err := llmcheck.Collect(t.Context(), m, req); !errors.As(err, &known) || known.Kind != llm.Unsupported || known.Lacks != llm.SeeImages {
		t.Errorf("image for a model without vision: got %v", err)
	}
}

// The key goes to the server and nowhere else.
func TestKeyStays(t *testing.T) {
	stolen := ""
	thief := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { stolen += r.Header.Get("Authorization") + "called" }))
	defer thief.Close()
	s := httptest.NewServer(http.RedirectHandler(thief.URL+"/v1/chat/completions", http.StatusPermanentRedirect))
	defer s.Close()
	var log strings.Builder
	key := openai.Key("sesame")
	slog.New(slog.NewTextHandler(&log, nil)).Info("key", "key", key)
	m := open(t, s.URL, nil)
	_, err := llmcheck.Collect(t.Context(), m, llmcheck.Ask("hi"))
	if stolen != "" || llm.KindOf(err) != llm.Invalid {
		t.Errorf("the other host got %q; %v", stolen, err)
	}
	if _, err := m.Capabilities(t.Context()); err != nil {
		t.Error(err)
	}
	if printed := fmt.Sprintf("%v %+v %#v %s %s", key, openai.Config{Key: key}, key, log.String(), err); strings.Contains(printed, "sesame") {
		t.Errorf("the key is printed: %s", printed)
	}
}

func TestNewRefuses(t *testing.T) {
	good := &url.URL{Scheme: "http", Host: "127.0.0.1", Path: "/v1"}
	for _, c := range []struct {
		name, want string
		cfg        openai.Config
	}{
		{"no address", "no server address", openai.Config{Model: "m"}},
		{"no host", "want https://host/v1", openai.Config{Model: "m", URL: &url.URL{Path: "x"}}},
		{"no model", "no model name", openai.Config{URL: good}},
		{"key of two lines", "line break", openai.Config{URL: good, Model: "m", Key: "a\nb"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := openai.New(c.cfg); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

// Ollama leaves calls out on this API too, and says by its fingerprint who it is. Another
// server that counts more than it sends has hidden its thinking.
func TestDroppedCall(t *testing.T) {
	for fingerprint, want := range map[string]bool{"fp_ollama": true, "fp_44709d6fcb": false} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprintf(w, "data: {\"system_fingerprint\":%q,\"choices\":[{\"delta\":{\"content\":\"I look.\"},\"finish_reason\":\"stop\"}]}\n\n", fingerprint)
			fmt.Fprintf(w, "data: {\"system_fingerprint\":%q,\"choices\":[],\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":60}}\n\ndata: [DONE]\n\n", fingerprint)
		}))
		t.Cleanup(s.Close)
		var last llm.Part
		for p, err := range open(t, s.URL, nil).Stream(t.Context(), llmcheck.Ask("hi")) {
			if err != nil {
				t.Fatal(err)
			}
			last = p
		}
		if last.Dropped != want || last.AnswerTokens != 60 {
			t.Errorf("%s: %+v", fingerprint, last)
		}
	}
}
