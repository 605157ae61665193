package ollama_test

import (
	"bytes"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/handrail-bot/handrail/agent/llm"
	"github.com/handrail-bot/handrail/agent/llm/llmcheck"
	"github.com/handrail-bot/handrail/agent/llm/ollama"
)

// recording is one recorded answer.
type recording struct {
	status int
	header http.Header
	body   []byte
}

func record(t *testing.T, name string) recording {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	at := bytes.Index(b, []byte("HTTP "))
	head, body, ok := bytes.Cut(b[max(at, 0):], []byte("\n\n\n"))
	if at < 0 || !ok {
		t.Fatalf("%s: not a recording", name)
	}
	r := recording{header: http.Header{}, body: body}
	for i, line := range strings.Split(string(head), "\n") {
		if i == 0 {
			if r.status, err = strconv.Atoi(strings.TrimPrefix(line, "HTTP ")); err != nil {
				t.Fatal(err)
			}
			continue
		}
		k, v, _ := strings.Cut(line, ": ")
		r.header.Set(k, v)
	}
	return r
}

func (r recording) serve(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", r.header.Get("Content-Type"))
	w.WriteHeader(r.status)
	_, _ = w.Write(r.body)
}

// replay serves recordings: what the version says of itself and of the model
// in show, and chat as the answer to every chat.
func replay(t *testing.T, version, show, chat string) *ollama.Model {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/version", record(t, version+"/version.txt").serve)
	mux.HandleFunc("POST /api/show", record(t, version+"/"+show).serve)
	mux.HandleFunc("POST /api/chat", record(t, version+"/"+chat).serve)
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return open(t, s.URL)
}

func TestRecordedCapabilities(t *testing.T) {
	for _, c := range []struct {
		version, show string
		want          llm.Capabilities
	}{
		{"0.17.4", "show-scripted.txt", llm.Capabilities{Tools: true, Thinking: true, ContextLength: 65536, ContextSet: 40960, Parameters: 1391872}},
		{"0.17.4", "show-qwen.txt", llm.Capabilities{Tools: true, ContextLength: 32768, ContextSet: 8192, Parameters: 1278720}},
		{"0.17.4", "show-random-plain.txt", llm.Capabilities{ContextLength: 4096, ContextSet: 2048, Parameters: 115776}},
		{"0.17.4", "show-embed.txt", llm.Capabilities{ContextLength: 4096, Parameters: 115776}},
		{"0.11.10", "show.txt", llm.Capabilities{Tools: true, Thinking: true, ContextLength: 32768, ContextSet: 8192, Parameters: 1278720}},
		{"0.6.5", "show.txt", llm.Capabilities{Tools: true, ContextLength: 32768, ContextSet: 8192, Parameters: 1278720}},
	} {
		t.Run(c.version+"/"+c.show, func(t *testing.T) {
			got, err := replay(t, c.version, c.show, "chat-nostream.txt").Capabilities(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

const (
	thought = "The issue asks for a corrected greeting. I will look at the file first.\n"
	reading = "Let me read the file.\n"
)

func readCall(id string) []llm.ToolCall {
	return []llm.ToolCall{{ID: id, Name: "read_file", Arguments: []byte(`{"path":"greet.go"}`)}}
}

func TestRecordedAnswers(t *testing.T) {
	for _, c := range []struct {
		version, chat     string
		thinking, content string
		calls             []llm.ToolCall
		reason            string
		prompt, answer    int
		parts             int // at least
	}{
		{"0.17.4", "chat-think-true.txt", thought, reading, readCall("call_39blei12"), "stop", 159, 32, 1},
		{"0.17.4", "chat-nostream.txt", "", "I have nothing scripted for this request.", nil, "stop", 6, 8, 1},
		{"0.17.4", "chat-stream-default.txt", "", "I have nothing scripted for this request.", nil, "stop", 6, 8, 8},
		{"0.17.4", "chat-numpredict.txt", "", "I have nothing scr", nil, "length", 6, 3, 1},
		{"0.17.4", "chat-empty-messages-load.txt", "", "", nil, "load", 0, 0, 1},
		{"0.17.4", "toolname-message.txt", "", "I have nothing scripted for this request.", nil, "stop", 7, 8, 1},
		{"0.17.4", "qwen-parser.txt", "", "I list the files.",
			[]llm.ToolCall{{ID: "call_v8jw9h2h", Name: "run", Arguments: []byte(`{"command":"ls -la"}`)}}, "stop", 160, 17, 5},
		{"0.11.10", "chat.txt", "", "<think>\n" + thought + "</think>\n\n" + reading, readCall(""), "stop", 279, 33, 20},
		{"0.11.10", "chat-think-true.txt", thought, reading, readCall(""), "stop", 239, 33, 1},
		{"0.11.10", "chat-loop2.txt", "", "", []llm.ToolCall{{Name: "run", Arguments: []byte(`{"command":"ls -l"}`)}}, "stop", 244, 12, 1},
		{"0.6.5", "chat.txt", "", "", readCall(""), "stop", 279, 33, 2},
		{"0.6.5", "chat-nostream.txt", "", "", readCall(""), "stop", 239, 33, 1},
	} {
		t.Run(c.version+"/"+c.chat, func(t *testing.T) {
			a, err := llmcheck.Collect(t.Context(), replay(t, c.version, showOf(c.version), c.chat), llmcheck.Ask("hi"))
			if err != nil {
				t.Fatal(err)
			}
			want := llmcheck.Answer{Thinking: c.thinking, Content: c.content, Calls: c.calls, Parts: a.Parts, Last: a.Last}
			if d := cmp.Diff(want, a); d != "" {
				t.Error(d)
			}
			got := []any{a.Last.DoneReason, a.Last.PromptTokens, a.Last.AnswerTokens}
			if d := cmp.Diff([]any{c.reason, c.prompt, c.answer}, got); d != "" || a.Parts < c.parts {
				t.Errorf("%d parts, end: %s", a.Parts, d)
			}
		})
	}
}

func showOf(version string) string {
	if version == "0.17.4" {
		return "show-scripted.txt"
	}
	return "show.txt"
}

func TestRecordedErrors(t *testing.T) {
	for _, c := range []struct {
		version, chat string
		kind          llm.Kind
		public        string // part of it
		content       string // before the error
	}{
		{"0.17.4", "chat-missing-model.txt", llm.NotFound, "run `ollama pull scripted`", ""},
		{"0.11.10", "chat-missing.txt", llm.NotFound, "run `ollama pull scripted`", ""},
		{"0.6.5", "chat-missing.txt", llm.NotFound, "run `ollama pull scripted`", ""},
		{"0.17.4", "notfound.txt", llm.Invalid, "not Ollama", ""},
		{"0.17.4", "chat-tools-unsupported.txt", llm.Unsupported, "call tools", ""},
		{"0.11.10", "chat-tools-unsupported.txt", llm.Unsupported, "call tools", ""},
		{"0.6.5", "chat-tools-unsupported.txt", llm.Unsupported, "call tools", ""},
		{"0.17.4", "chat-think-unsupported.txt", llm.Unsupported, "think", ""},
		{"0.17.4", "chat-embed-model.txt", llm.Unsupported, "chat", ""},
		{"0.17.4", "ctx-overflow-truncate-false.txt", llm.TooLong, "longer than", ""},
		{"0.17.4", "queue-2.txt", llm.Busy, "busy", ""},
		{"0.17.4", "chat-bad-option.txt", llm.Cut, `option "num_ctx" must be of type integer`, ""},
		{"0.17.4", "chat-bad-keepalive.txt", llm.Invalid, "did not accept", ""},
		{"0.17.4", "chat-wrong-type.txt", llm.Invalid, "did not accept", ""},
		{"0.17.4", "chat-tool-args-string.txt", llm.Invalid, "did not accept", ""},
		{"0.6.5", "chat-loop2.txt", llm.Cut, "the model server failed: status 500: template: ", ""},
		{"0.17.4", "kill-runner-midstream.txt", llm.Cut, "stopped in the middle",
			"This answer goes on and on, and then it goes on some more; This answer goes on and "},
		{"0.17.4", "qwen-parser-error.txt", llm.Garbled, "could not read the model's tool call",
			"<think>\nThe issue asks for a corrected greeting. I will look at the file first.\n</think>\n\nLet me read the file."},
		{"0.17.4", "repeat-limit-stream-True.txt", llm.Cut, "stopped in the middle", strings.Repeat("haha, ", 31)},
	} {
		t.Run(c.version+"/"+c.chat, func(t *testing.T) {
			a, err := llmcheck.Collect(t.Context(), replay(t, c.version, showOf(c.version), c.chat), llmcheck.Ask("hi"))
			if llm.KindOf(err) != c.kind || !strings.Contains(err.Error(), c.public) {
				t.Errorf("got kind %d, want %d with %q: %v", llm.KindOf(err), c.kind, c.public, err)
			}
			var known *llm.Error
			if errors.As(err, &known) && c.kind == llm.Unsupported && string(known.Lacks) != c.public {
				t.Errorf("the model is said to lack %q, want %q", known.Lacks, c.public)
			}
			if a.Content != c.content {
				t.Errorf("before the error: %q, want %q", a.Content, c.content)
			}
		})
	}
}

// A server that ignores truncate:false fills the context with what is left of
// the prompt and says so only in the count.
func TestRecordedSilentTruncation(t *testing.T) {
	for _, c := range []struct{ version, show, chat string }{
		{"0.11.10", "show.txt", "trunc-false.txt"},
		{"0.6.5", "show.txt", "trunc-false.txt"},
		{"0.17.4", "show-random-plain.txt", "ctx-overflow-last-message.txt"},
	} {
		t.Run(c.version, func(t *testing.T) {
			req := llmcheck.Ask("short")
			req.Context = 1024
			_, err := llmcheck.Collect(t.Context(), replay(t, c.version, c.show, c.chat), req)
			if llm.KindOf(err) != llm.TooLong {
				t.Errorf("want TooLong, got %v", err)
			}
		})
	}
}

func TestNewRefuses(t *testing.T) {
	for _, c := range []struct{ name, url, model, want string }{
		{"no address", "", "m", "no server address"},
		{"no scheme", "localhost:11434", "m", "want http://host:port"},
		{"no model", "http://localhost:11434", " ", "no model name"},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg := ollama.Config{Model: c.model}
			if c.url != "" {
				u, err := url.Parse(c.url)
				if err != nil {
					t.Fatal(err)
				}
				cfg.URL = u
			}
			if _, err := ollama.New(cfg); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

// The size of a model is told by a count or by a label, and its weights have a name.
func TestSizeAndDigest(t *testing.T) {
	for _, tt := range []struct {
		details, info string
		want          int64
	}{
		{`{"parameter_size":"1.8B"}`, `{"general.parameter_count":1777088000}`, 1_777_088_000},
		{`{"parameter_size":"7.6B"}`, `{}`, 7_600_000_000},
		{`{"parameter_size":"268.10M"}`, `{}`, 268_100_000},
		{`{"parameter_size":"0"}`, `{}`, 0},
		{`{"parameter_size":"large"}`, `{"general.parameter_count":0}`, 0},
		{`{}`, `{}`, 0},
	} {
		mux := http.NewServeMux()
		mux.HandleFunc("POST /api/show", func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte(`{"details":` + tt.details + `,"model_info":` + tt.info + `,"parameters":"num_ctx 8192"}`))
		})
		mux.HandleFunc("GET /api/tags", func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte(`{"models":[{"name":"other:1b","digest":"aa"},{"name":"scripted:latest","model":"scripted:latest","digest":"bb"}]}`))
		})
		s := httptest.NewServer(mux)
		t.Cleanup(s.Close)
		caps, err := open(t, s.URL).Capabilities(t.Context())
		if err != nil || caps.Parameters != tt.want || caps.Digest != "bb" {
			t.Errorf("%s %s: %d parameters, digest %q (%v), want %d", tt.details, tt.info, caps.Parameters, caps.Digest, err, tt.want)
		}
	}
}
