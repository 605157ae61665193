package openai_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/handrail-bot/handrail/agent/llm"
	"github.com/handrail-bot/handrail/agent/llm/llmcheck"
)

// answering serves every chat with status 200 and this body.
func answering(t *testing.T, contentType, body string) llm.Model {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", contentType)
		_, _ = io.WriteString(w, body)
	}))
	t.Cleanup(s.Close)
	return open(t, s.URL, nil)
}

// recorded is the body of a recording.
func recorded(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	_, body, ok := bytes.Cut(b, []byte("\n\n\n"))
	if !ok {
		t.Fatalf("%s: not a recording", name)
	}
	return string(body)
}

func TestRecordedAnswers(t *testing.T) {
	const thought = "The issue asks for a corrected greeting. I will look at the file first.\n"
	const reading = "Let me read the file.\n"
	call := func(id, name, args string) []llm.ToolCall {
		return []llm.ToolCall{{ID: id, Name: name, Arguments: json.RawMessage(args)}}
	}
	for _, c := range []struct {
		name, contentType string
		want              llmcheck.Answer
		prompt, answer    int
	}{
		{"v1-chat-stream.txt", "text/event-stream", llmcheck.Answer{Thinking: thought, Content: reading, Calls: call("call_7xyyqmm2", "read_file", `{"path":"greet.go"}`)}, 159, 32},
		{"v1-chat-stream2.txt", "text/event-stream", llmcheck.Answer{Calls: call("call_8fnaksby", "run", `{"command":"ls"}`)}, 0, 0},
		{"v1-chat.txt", "application/json", llmcheck.Answer{Thinking: thought, Content: reading, Calls: call("call_qemk58us", "read_file", `{"path":"greet.go"}`)}, 159, 32},
		{"v1-chat-0.11.10.txt", "application/json", llmcheck.Answer{Content: "<think>\n" + thought + "</think>\n\n" + reading, Calls: call("call_5v2w9hqh", "read_file", `{"path":"greet.go"}`)}, 239, 33},
	} {
		t.Run(c.name, func(t *testing.T) {
			a, err := llmcheck.Collect(t.Context(), answering(t, c.contentType, recorded(t, c.name)), llmcheck.Ask("hi"))
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(c.want, a, cmpopts.IgnoreFields(llmcheck.Answer{}, "Parts", "Last")); d != "" {
				t.Error(d)
			}
			if l := a.Last; l.DoneReason != "tool_calls" || l.PromptTokens != c.prompt || l.AnswerTokens != c.answer {
				t.Errorf("ended with %+v", l)
			}
		})
	}
}

// events joins data into a stream of server-sent events.
func events(data ...string) string {
	var b strings.Builder
	for _, d := range data {
		fmt.Fprintf(&b, "data: %s\n\n", d)
	}
	return b.String()
}

func content(s string) string {
	return fmt.Sprintf(`{"choices":[{"index":0,"delta":{"content":%q},"finish_reason":null}]}`, s)
}

func finish(reason string) string {
	return fmt.Sprintf(`{"choices":[{"index":0,"delta":{},"finish_reason":%q}]}`, reason)
}

func toolDelta(s string) string {
	return `{"choices":[{"index":0,"delta":{"tool_calls":[` + s + `]}}]}`
}

func TestStreams(t *testing.T) {
	const done = "[DONE]"
	for _, c := range []struct {
		name, stream string
		want         llm.Kind
		thinking     string
		content      string
		reason       string
	}{
		{"finish and done", events(content("hi"), finish("stop"), done), 0, "", "hi", "stop"},
		{"no finish_reason", events(content("hi"), done), 0, "", "hi", "stop"},
		{"finish_reason, no done", events(content("hi"), finish("length")), 0, "", "hi", "length"},
		{"neither", events(content("hi")), llm.Cut, "", "hi", ""},
		{"nothing", "", llm.Cut, "", "", ""},
		{"half an event", events(content("hi")) + `data: {"choices":[{"ind`, llm.Cut, "", "hi", ""},
		{"half a word", events(content("hi")) + `dat`, llm.Cut, "", "hi", ""},
		{"empty answer", events(finish("stop"), done), 0, "", "", "stop"},
		{"no space, carriage returns", "data:" + content("hi") + "\r\n\r\ndata:[DONE]\r\n\r\n", 0, "", "hi", "stop"},
		{"comments, ids, names of events", ": ping\n\n" + strings.Repeat(": waiting\n\n", 1000) + "id: 1\nevent: message\nretry: 5\n" + events(content("hi"), done), 0, "", "hi", "stop"},
		{"reasoning_content", events(`{"choices":[{"delta":{"reasoning_content":"hm"}}]}`, content("hi"), done), 0, "hm", "hi", "stop"},
		{"reasoning", events(`{"choices":[{"delta":{"reasoning":"hm"}}]}`, content("hi"), done), 0, "hm", "hi", "stop"},
		{"both, equal", events(`{"choices":[{"delta":{"reasoning":"hm","reasoning_content":"hm"}}]}`, done), 0, "hm", "", "stop"},
		{"null content", events(`{"choices":[{"delta":{"content":null,"role":"assistant"}}]}`, content("hi"), done), 0, "", "hi", "stop"},
		{"content in parts", events(`{"choices":[{"delta":{"content":[{"type":"text","text":"hi"}]}}]}`, done), 0, "", "hi", "stop"},
		{"second choice is not mixed in", events(content("hi"), `{"choices":[{"index":1,"delta":{"content":"no"}}]}`, done), 0, "", "hi", "stop"},
		{"a whole message in an event", events(`{"choices":[{"index":0,"message":{"content":"hi"},"finish_reason":"stop"}]}`), 0, "", "hi", "stop"},
		{"error object", events(content("hi"), `{"error":{"message":"boom","type":"server_error"}}`), llm.Cut, "", "hi", ""},
		{"error object after comments", ": ping\n\n" + events(content("hi"), `{"id":"1","error":{"message":"boom","code":500}}`), llm.Cut, "", "hi", ""},
		{"error with a status", events(content("hi"), `{"error":{"message":"slow down","code":429}}`), llm.Busy, "", "hi", ""},
		{"error with a status in text", events(`{"error":{"message":"slow down","code":"503"}}`), llm.Busy, "", "", ""},
		{"error text", events(content("hi"), `{"error":"maximum context length is 4096"}`), llm.TooLong, "", "hi", ""},
		{"named error", events(content("hi")) + "event: error\n" + events(`{"message":"Context size has been exceeded."}`), llm.TooLong, "", "hi", ""},
		{"error as finish", events(content("hi"), `{"error":{"code":502,"message":"provider down"},"choices":[{"delta":{"content":""},"finish_reason":"error"}]}`), llm.Unreachable, "", "hi", ""},
		{"null error", events(`{"error":null,"choices":[{"delta":{"content":"hi"}}]}`, done), 0, "", "hi", "stop"},
		{"not JSON", events(content("hi"), `{oops}`, done), llm.Invalid, "", "hi", ""},
		{"a page", "<html>\n<body>login</body>\n", llm.Invalid, "", "", ""},
		{"a page in one line", "<!DOCTYPE html><html><body>login</body></html>", llm.Invalid, "", "", ""},
		{"a filter", events(content("I ca"), finish("content_filter"), done), llm.Invalid, "", "I ca", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			a, err := llmcheck.Collect(t.Context(), answering(t, "text/event-stream", c.stream), llmcheck.Ask("hi"))
			if llm.KindOf(err) != c.want || (err != nil) != (c.want != 0) {
				t.Fatalf("got kind %d, want %d: %v", llm.KindOf(err), c.want, err)
			}
			if a.Content != c.content || a.Thinking != c.thinking || a.Last.DoneReason != c.reason {
				t.Errorf("got %+v", a)
			}
		})
	}
}

func TestCallDeltas(t *testing.T) {
	for _, c := range []struct {
		name   string
		deltas []string
		want   [][3]string // id ("*" for any), name, arguments
	}{
		{"in pieces", []string{`{"index":0,"id":"a","function":{"name":"x","arguments":""}}`, `{"index":0,"function":{"arguments":"{\"p\""}}`, `{"index":0,"function":{"arguments":":1}"}}`},
			[][3]string{{"a", "x", `{"p":1}`}}},
		{"two, interleaved", []string{`{"index":0,"id":"a","function":{"name":"x","arguments":"{"}},{"index":1,"id":"b","function":{"name":"y","arguments":"{\"q\""}}`,
			`{"index":0,"function":{"arguments":"}"}}`, `{"index":1,"function":{"arguments":":2}"}}`},
			[][3]string{{"a", "x", `{}`}, {"b", "y", `{"q":2}`}}},
		{"whole, without index", []string{`{"id":"a","function":{"name":"x","arguments":"{}"}}`, `{"id":"b","function":{"name":"x","arguments":"{}"}}`},
			[][3]string{{"a", "x", `{}`}, {"b", "x", `{}`}}},
		{"pieces without index", []string{`{"id":"a","function":{"name":"x","arguments":"{\"p\":"}}`, `{"function":{"arguments":"1}"}}`},
			[][3]string{{"a", "x", `{"p":1}`}}},
		{"one index for all, told apart by id", []string{`{"index":0,"id":"a","function":{"name":"x","arguments":"{}"}}`, `{"index":0,"id":"b","function":{"name":"x","arguments":"{}"}}`},
			[][3]string{{"a", "x", `{}`}, {"b", "x", `{}`}}},
		{"one index, no id", []string{`{"index":0,"function":{"name":"x","arguments":"{}"}}`, `{"index":0,"function":{"name":"x","arguments":"{}"}}`},
			[][3]string{{"*", "x", `{}`}, {"*", "x", `{}`}}},
		{"one index, no id, in pieces", []string{`{"index":0,"function":{"name":"x","arguments":"{}"}}`, `{"index":0,"function":{"name":"y","arguments":""}}`, `{"index":0,"function":{"arguments":"{\"q\":2}"}}`},
			[][3]string{{"*", "x", `{}`}, {"*", "y", `{"q":2}`}}},
		{"id and name in every piece", []string{`{"index":0,"id":"a","function":{"name":"x","arguments":"{\"p\":"}}`, `{"index":0,"id":"a","function":{"name":"x","arguments":"1}"}}`, `{"index":0,"id":"a","function":{"name":"x","arguments":""}}`},
			[][3]string{{"a", "x", `{"p":1}`}}},
		{"arguments as an object", []string{`{"index":0,"id":"a","function":{"name":"x","arguments":{"p":9007199254740993}}}`},
			[][3]string{{"a", "x", `{"p":9007199254740993}`}}},
		{"no arguments", []string{`{"index":0,"id":"a","function":{"name":"x"}}`, `{"index":1,"id":"b","function":{"name":"y","arguments":null}}`},
			[][3]string{{"a", "x", `{}`}, {"b", "y", `{}`}}},
		{"broken arguments", []string{`{"index":0,"id":"a","function":{"name":"x","arguments":"{\"p\": oops"}}`},
			[][3]string{{"a", "x", `"{\"p\": oops"`}}},
		{"one id for two", []string{`{"index":0,"id":"a","function":{"name":"x"}},{"index":1,"id":"a","function":{"name":"y"}}`},
			[][3]string{{"a", "x", `{}`}, {"*", "y", `{}`}}},
		{"nameless", []string{`{"index":0,"id":"a","function":{"arguments":"{}"}}`}, nil},
		{"a name in pieces", []string{`{"index":0,"id":"a","function":{"name":"x_","arguments":""}}`, `{"index":0,"function":{"name":"y"}}`, `{"index":0,"function":{"arguments":"{}"}}`},
			[][3]string{{"a", "x_y", `{}`}}},
		{"a name that grows", []string{`{"index":0,"id":"a","function":{"name":"x_"}}`, `{"index":0,"id":"a","function":{"name":"x_y","arguments":"{}"}}`},
			[][3]string{{"a", "x_y", `{}`}}},
		{"braces within a text", []string{`{"index":0,"function":{"name":"x","arguments":"{\"p\":\"{}"}}`, `{"index":0,"function":{"name":"x","arguments":"\"}"}}`},
			[][3]string{{"*", "x", `{"p":"{}"}`}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var all []string
			for _, d := range c.deltas {
				all = append(all, toolDelta(d))
			}
			a, err := llmcheck.Collect(t.Context(), answering(t, "text/event-stream", events(append(all, "[DONE]")...)), llmcheck.Ask("hi"))
			if err != nil {
				t.Fatal(err)
			}
			var got [][3]string
			ids := map[string]bool{}
			for i, call := range a.Calls {
				id := call.ID
				if i < len(c.want) && c.want[i][0] == "*" && id != "" {
					id = "*"
				}
				got = append(got, [3]string{id, call.Name, string(call.Arguments)})
				if ids[call.ID] || !json.Valid(call.Arguments) {
					t.Errorf("id %q twice, or arguments not JSON: %s", call.ID, call.Arguments)
				}
				ids[call.ID] = true
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

// Older servers have one call in a field of its own.
func TestOlderCalls(t *testing.T) {
	for name, deltas := range map[string][]string{
		"whole":     {`{"function_call":{"name":"x","arguments":"{\"p\":1}"}}`},
		"in pieces": {`{"function_call":{"name":"x"}}`, `{"function_call":{"arguments":"{\"p\":"}}`, `{"function_call":{"arguments":"1}"}}`},
	} {
		var all []string
		for _, d := range deltas {
			all = append(all, `{"choices":[{"delta":`+d+`}]}`)
		}
		a, err := llmcheck.Collect(t.Context(), answering(t, "text/event-stream", events(append(all, finish("function_call"), "[DONE]")...)), llmcheck.Ask("hi"))
		if err != nil || len(a.Calls) != 1 || a.Calls[0].Name != "x" || string(a.Calls[0].Arguments) != `{"p":1}` {
			t.Errorf("%s: %+v, %v", name, a.Calls, err)
		}
	}
}
