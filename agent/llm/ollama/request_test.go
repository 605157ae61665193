package ollama_test

import (
	"encoding/json"
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
	"github.com/handrail-bot/handrail/agent/llm/ollama"
)

// sent is the body that a request makes, read without the adapter's types.
func sent(t *testing.T, spec llmtest.ModelSpec, change func(*ollama.Config), req llm.Request) map[string]any {
	t.Helper()
	s := llmcheck.Serve(t, llmtest.Script{Model: spec, Turns: []llmtest.Turn{{Say: "ok"}}})
	u, err := url.Parse(s.URL())
	if err != nil {
		t.Fatal(err)
	}
	cfg := ollama.Config{URL: u, Model: "scripted"}
	if change != nil {
		change(&cfg)
	}
	m, err := ollama.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := llmcheck.Collect(t.Context(), m, req); err != nil {
		t.Fatal(err)
	}
	var body map[string]any
	if err := json.Unmarshal(s.Requests()[0].Body, &body); err != nil {
		t.Fatal(err)
	}
	return body
}

func TestContextIsAlwaysSent(t *testing.T) {
	for _, c := range []struct {
		name           string
		ask, made, set int
		want           float64
	}{
		{"as asked", 8192, 32768, 0, 8192},
		{"bounded by the model", 131072, 32768, 0, 32768},
		{"operator's, when not asked", 0, 32768, 4096, 4096},
		{"asked before the operator's", 20000, 32768, 4096, 20000},
		{"operator's is bounded, too", 0, 32768, 65536, 32768},
		{"default, when nobody says", 0, 131072, 0, 16384},
		{"default is bounded, too", 0, 2048, 0, 2048},
		{"negative is not asked", -1, 32768, 0, 16384},
	} {
		t.Run(c.name, func(t *testing.T) {
			spec := llmcheck.FullModel()
			spec.Context, spec.ContextSet = c.made, c.set
			req := llmcheck.Ask("hi")
			req.Context = c.ask
			options := sent(t, spec, nil, req)["options"].(map[string]any)
			if options["num_ctx"] != c.want {
				t.Errorf("sent num_ctx %v, want %v", options["num_ctx"], c.want)
			}
		})
	}
}

func TestNothingIsCutSilently(t *testing.T) {
	body := sent(t, llmcheck.FullModel(), nil, llmcheck.Ask("hi"))
	if body["truncate"] != false || body["shift"] != false {
		t.Errorf("want truncate and shift false, sent %v and %v", body["truncate"], body["shift"])
	}
}

func TestThinkOnlyWhereOffered(t *testing.T) {
	for _, c := range []struct {
		name    string
		thinks  bool
		ask     bool
		want    any
		present bool
	}{
		{"wanted", true, true, true, true},
		{"not wanted", true, false, false, true},
		{"wanted, not offered", false, true, nil, false},
		{"neither", false, false, nil, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			spec := llmcheck.FullModel()
			spec.Thinking = c.thinks
			req := llmcheck.Ask("hi")
			req.Think = c.ask
			got, present := sent(t, spec, nil, req)["think"]
			if got != c.want || present != c.present {
				t.Errorf("sent think %v (%t), want %v (%t)", got, present, c.want, c.present)
			}
		})
	}
}

func TestKeepAlive(t *testing.T) {
	for _, c := range []struct {
		name string
		keep int
		want any
	}{{"server's", 0, nil}, {"for ever", -1, -1.0}, {"ten minutes", 10 * 60e9, "10m0s"}} {
		t.Run(c.name, func(t *testing.T) {
			body := sent(t, llmcheck.FullModel(), func(cfg *ollama.Config) { cfg.KeepAlive = time.Duration(c.keep) }, llmcheck.Ask("hi"))
			if body["keep_alive"] != c.want {
				t.Errorf("sent %v, want %v", body["keep_alive"], c.want)
			}
		})
	}
}

// A history in which a model wrote nonsense must not end the conversation: the
// server takes nothing but objects.
func TestArgumentsInHistory(t *testing.T) {
	for _, c := range []struct{ name, wrote, want string }{
		{"object", `{"b":1,"a":9007199254740993}`, `{"b":1,"a":9007199254740993}`},
		{"nothing", ``, `{}`},
		{"spaces", "  ", `{}`},
		{"object in quotes", `"{\"path\": \"x\"}"`, `{"path":"x"}`},
		{"text", `"just do it"`, `{"arguments":"just do it"}`},
		{"cut off", `{"path": "x`, `{"arguments":"{\"path\": \"x"}`},
		{"list", `["a"]`, `{"arguments":"[\"a\"]"}`},
		{"two objects", `{"a":1}{"b":2}`, `{"arguments":"{\"a\":1}{\"b\":2}"}`},
		{"null", `null`, `{"arguments":"null"}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := llmcheck.Serve(t, llmtest.Script{Model: llmcheck.FullModel(), Turns: []llmtest.Turn{{Say: "ok"}}})
			req := llmcheck.Ask("hi")
			req.Messages = append(req.Messages,
				llm.Message{Role: llm.RoleAssistant, Calls: []llm.ToolCall{{Name: "run", Arguments: json.RawMessage(c.wrote)}}},
				llm.Message{Role: llm.RoleTool, ToolName: "run", Content: "no"})
			if _, err := llmcheck.Collect(t.Context(), open(t, s.URL()), req); err != nil {
				t.Fatal(err)
			}
			if got := string(s.Requests()[0].Messages[1].Calls[0].Arguments); got != c.want {
				t.Errorf("sent %s, want %s", got, c.want)
			}
		})
	}
}

// The server refuses a request when the schema of one tool does not fit its
// types.
func TestSchemasThatServersRefuse(t *testing.T) {
	for _, c := range []struct{ name, schema, want string }{
		{"plain", `{"type":"object","properties":{"p":{"type":"string","description":"d","enum":["a"]}},"required":["p"]}`,
			`{"type":"object","required":["p"],"properties":{"p":{"type":"string","description":"d","enum":["a"]}}}`},
		{"none", ``, `{"type":"object","properties":{}}`},
		{"no properties", `{"type":"object"}`, `{"type":"object","properties":{}}`},
		{"null properties", `{"type":"object","properties":null}`, `{"type":"object","properties":{}}`},
		{"property true", `{"type":"object","properties":{"p":true,"q":{"type":"integer"}}}`, `{"type":"object","properties":{"p":{},"q":{"type":"integer"}}}`},
		{"required in property", `{"type":"object","properties":{"p":{"type":"string","required":true,"description":"d"}}}`,
			`{"type":"object","properties":{"p":{"description":"d"}}}`},
		{"required true", `{"type":"object","required":true,"properties":{"p":{"type":"string"}}}`, `{"type":"object","properties":{"p":{"type":"string"}}}`},
		{"type list", `{"type":["object"],"properties":{"p":{"type":["string","null"]}}}`, `{"type":"object","properties":{"p":{"type":["string","null"]}}}`},
		{"not a schema", `[1]`, `{"type":"object","properties":{}}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			body := sent(t, llmcheck.FullModel(), nil, llmcheck.Ask("hi", llm.ToolSpec{Name: "x", Parameters: json.RawMessage(c.schema)}))
			fn := body["tools"].([]any)[0].(map[string]any)["function"].(map[string]any)
			var want any
			if err := json.Unmarshal([]byte(c.want), &want); err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(want, fn["parameters"]); d != "" {
				t.Error(d)
			}
		})
	}
}

// Before 0.12.6 the server cuts a long prompt without a word.
func TestOldServersAreNotSentTooMuch(t *testing.T) {
	for _, c := range []struct {
		version string
		refused bool
	}{
		{"0.11.10", true}, {"0.6.5", true}, {"0.12.5", true}, {"v0.12.5-rc1", true}, {"", true}, {"dev", true},
		{"0.12.6", false}, {"0.17.4", false}, {"1.0.0", false}, {"0.13.0-rc0", false}, {"0.0.0", false},
	} {
		t.Run("version "+c.version, func(t *testing.T) {
			mux := http.NewServeMux()
			mux.HandleFunc("POST /api/show", record(t, "0.17.4/show-scripted.txt").serve)
			mux.HandleFunc("POST /api/chat", record(t, "0.17.4/chat-nostream.txt").serve)
			mux.HandleFunc("GET /api/version", func(w http.ResponseWriter, _ *http.Request) {
				if c.version == "" {
					http.NotFound(w, nil)
					return
				}
				_, _ = w.Write([]byte(`{"version":"` + c.version + `"}`))
			})
			s := httptest.NewServer(mux)
			defer s.Close()
			req := llmcheck.Ask(strings.Repeat("word ", 1000))
			req.Context = 1024
			_, err := llmcheck.Collect(t.Context(), open(t, s.URL), req)
			if got := llm.KindOf(err) == llm.TooLong; got != c.refused {
				t.Errorf("refused %t, want %t: %v", got, c.refused, err)
			}
		})
	}
}

func TestImagesNeedVision(t *testing.T) {
	spec := llmcheck.FullModel()
	spec.Vision = false
	s := llmcheck.Serve(t, llmtest.Script{Model: spec, Turns: []llmtest.Turn{{Say: "ok", Optional: true}}})
	req := llmcheck.Ask("hi")
	req.Messages[0].Images = [][]byte{{1}}
	_, err := llmcheck.Collect(t.Context(), open(t, s.URL()), req)
	if llm.KindOf(err) != llm.Unsupported || len(s.Requests()) != 0 {
		t.Errorf("want Unsupported and nothing sent, got %v after %d requests", err, len(s.Requests()))
	}
}

// Each request offers its own tools, also if an earlier one of the model offered others.
func TestToolsOfEachRequest(t *testing.T) {
	s := llmcheck.Serve(t, llmtest.Script{
		Model: llmtest.ModelSpec{Tools: true}, Turns: []llmtest.Turn{{Say: "ok", Repeat: true}},
	})
	u, err := url.Parse(s.URL())
	if err != nil {
		t.Fatal(err)
	}
	m, err := ollama.New(ollama.Config{URL: u, Model: "scripted"})
	if err != nil {
		t.Fatal(err)
	}
	for i, names := range []string{"a b", "a b", "b", "", "a b"} {
		req := llm.Request{Messages: []llm.Message{{Role: llm.RoleUser, Content: "x"}}}
		for name := range strings.FieldsSeq(names) {
			req.Tools = append(req.Tools, llm.ToolSpec{Name: name, Parameters: json.RawMessage(`{"type":"object"}`)})
		}
		if _, err := llmcheck.Collect(t.Context(), m, req); err != nil {
			t.Fatal(err)
		}
		var body struct {
			Tools []struct{ Function struct{ Name string } }
		}
		if err := json.Unmarshal(s.Requests()[i].Body, &body); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, tool := range body.Tools {
			got = append(got, tool.Function.Name)
		}
		if strings.Join(got, " ") != names {
			t.Errorf("request %d offers %q, want %q", i, got, names)
		}
	}
}
