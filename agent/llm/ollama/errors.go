package ollama

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/handrail-bot/handrail/agent/llm"
	"github.com/handrail-bot/handrail/agent/llm/wire"
)

func sortedKeys(m map[string]json.RawMessage) []string { return slices.Sorted(maps.Keys(m)) }

// statusError returns the error for a response with a status other than 200.
func (m *Model) statusError(resp *http.Response) error {
	body := wire.Excerpt(resp.Body)
	var obj struct {
		Error json.RawMessage `json:"error"`
	}
	text := body
	if json.Unmarshal([]byte(body), &obj) == nil && len(obj.Error) > 0 {
		text = errorText(obj.Error)
	}
	err := wire.Quote(m.classify(resp.StatusCode, text), text)
	err.RetryAfter = wire.RetryAfter(resp.Header, time.Now())
	return err
}

// errorText returns the text of an error, which is a string or an object with a message.
func errorText(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	var o struct {
		Message string `json:"message"`
	}
	if json.Unmarshal(raw, &o) == nil && o.Message != "" {
		return o.Message
	}
	return string(raw)
}

func (m *Model) classify(status int, text string) *llm.Error {
	detail := fmt.Errorf("status %d: %s", status, text)
	if e := wire.Garbled(text); e != nil && status >= http.StatusInternalServerError {
		return e
	}
	if e := m.known(text, detail); e != nil {
		return e
	}
	if status == http.StatusNotFound {
		return m.notOllama(detail)
	}
	return wire.StatusFailure(status, detail)
}

// textError returns the error for an error text within a stream, which has no status. An
// unknown text means a dead runner. The text of a call parser is checked first, because
// it can look like that of a dead runner: "unexpected EOF".
func (m *Model) textError(text string) error {
	detail := fmt.Errorf("error in the stream: %s", text)
	if e := wire.Garbled(text); e != nil { //control:garbled-before-dead
		return e
	}
	e := m.known(text, detail)
	if e == nil {
		e = m.end.Died(detail)
	}
	return wire.Quote(e, text)
}

// known returns the error for a known text of the server, or nil. The texts are from
// recordings and from the server's sources (server/routes.go, server/sched.go,
// llm/server.go).
func (m *Model) known(text string, detail error) *llm.Error {
	has := func(parts ...string) bool {
		return slices.ContainsFunc(parts, func(p string) bool { return strings.Contains(strings.ToLower(text), p) })
	}
	switch {
	case has("does not support tools"):
		return m.end.Unsupported(llm.CallTools, detail)
	case has("does not support thinking", "think value"):
		return m.end.Unsupported(llm.Think, detail)
	case has("does not support chat", "does not support generate"):
		return m.end.Unsupported(llm.Chat, detail)
	case has("does not support embed"):
		return m.end.Unsupported(llm.Embed, detail)
	case has("does not support image", "image input is not supported", "missing data required for image input"):
		return m.end.Unsupported(llm.SeeImages, detail)
	case has("exceeds the context length", "exceeds maximum context length", "exceed_context_size", "exceeds the available context size", "input length exceeds"):
		return m.end.TooLong(detail)
	case has("model '", "model \"") && has("not found", "try pulling it"):
		return m.notFound(detail)
	case has("server busy", "maximum pending requests"):
		return wire.Busy(detail)
	case has("requires more system memory", "requires more memory"):
		return &llm.Error{Kind: llm.Invalid, Err: fmt.Errorf("%w: %w", errMemory, detail),
			Public: fmt.Sprintf("the model server has too little memory for model %s; take a smaller model or a smaller context", m.end.Model)}
	case has("timed out waiting for", "server loading model"):
		return wire.Loading(detail)
	case has("encountered while running the model", "runner process", "runner has", "unexpected eof",
		"connection reset", "connection refused", "model failed to load", "error loading model"):
		return m.end.Died(detail)
	}
	return nil
}

func (m *Model) notFound(err error) *llm.Error {
	return &llm.Error{Kind: llm.NotFound, Err: err,
		Public: fmt.Sprintf("model %s is not on the server; run `ollama pull %s`", m.end.Model, m.end.Model)}
}

func (m *Model) notOllama(err error) *llm.Error {
	return &llm.Error{Kind: llm.Invalid, Err: err,
		Public: "the server at the model's address is not Ollama; the operator must check the address"}
}

// endError returns the error for a stream that ends before done:true.
func (m *Model) endError(ctx context.Context, err error) error {
	switch {
	case errors.Is(err, io.EOF):
		return m.end.Died(errors.New("the stream ended without done"))
	case errors.Is(err, wire.ErrLongLine):
		return m.notOllama(err)
	}
	return wire.Failure(ctx, err)
}

// lineError returns the error for a line that is not JSON: the stream was cut off in the
// line, the line is an error in plain text, or the server is not Ollama.
func (m *Model) lineError(line []byte, whole bool) error {
	detail := fmt.Errorf("line in the stream: %.200q", line)
	var text string
	if json.Unmarshal(line, &text) != nil {
		text = string(line)
	}
	if e := m.known(text, detail); e != nil {
		return e
	}
	if !whole && !wire.IsPage(line) {
		return m.end.Died(detail)
	}
	return m.notOllama(detail)
}

func isJSONError(err error) bool {
	var syntax *json.SyntaxError
	var typ *json.UnmarshalTypeError
	return errors.As(err, &syntax) || errors.As(err, &typ)
}
