package openai

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/handrail-bot/handrail/agent/llm"
	"github.com/handrail-bot/handrail/agent/llm/wire"
)

// problem is an error object in any of its formats.
type problem struct {
	status int
	text   string // message
	code   string // code and type, in addition to the message
}

func (p problem) err() error {
	return fmt.Errorf("status %d: %s (%s)", p.status, p.text, strings.TrimSpace(p.code))
}

// readProblem reads {"error": …}, {"message": …}, or a text.
func readProblem(status int, body []byte) problem {
	p := problem{status: status, text: strings.TrimSpace(string(body))}
	var outer struct {
		Error json.RawMessage `json:"error"`
	}
	if json.Unmarshal(body, &outer) == nil && isError(outer.Error) {
		body = outer.Error
	}
	var s string
	if json.Unmarshal(body, &s) == nil {
		p.text = s
		return p
	}
	var o struct {
		Message json.RawMessage `json:"message"`
		Detail  json.RawMessage `json:"detail"`
		Code    any             `json:"code"`
		Type    any             `json:"type"`
	}
	if json.Unmarshal(body, &o) != nil {
		return p
	}
	for _, raw := range []json.RawMessage{o.Message, o.Detail} {
		if len(raw) > 0 {
			if p.text = string(raw); json.Unmarshal(raw, &s) == nil {
				p.text = s
			}
			break
		}
	}
	for _, v := range []any{o.Code, o.Type} {
		switch v := v.(type) {
		case string:
			p.code += " " + v
		case float64:
			if p.status < http.StatusBadRequest {
				p.status = int(v)
			}
		}
	}
	if n, err := strconv.Atoi(strings.TrimSpace(p.code)); err == nil && p.status < http.StatusBadRequest {
		p.status = n
	}
	return p
}

func (m *Model) statusError(resp *http.Response) error {
	p := readProblem(resp.StatusCode, []byte(wire.Excerpt(resp.Body)))
	err := wire.Quote(m.classify(p), p.text)
	err.RetryAfter = wire.RetryAfter(resp.Header, time.Now())
	return err
}

// streamError returns the error for an error object within a stream. An unknown one means
// that the server failed.
func (m *Model) streamError(raw []byte) error {
	p := readProblem(http.StatusOK, raw)
	if p.status >= http.StatusBadRequest {
		return wire.Quote(m.classify(p), p.text)
	}
	e := m.known(p)
	if e == nil {
		e = wire.Garbled(p.text)
	}
	if e == nil {
		e = m.end.Died(fmt.Errorf("error in the stream: %w", p.err()))
	}
	return wire.Quote(e, p.text)
}

func (m *Model) classify(p problem) *llm.Error {
	if e := m.known(p); e != nil {
		return e
	}
	if e := wire.Garbled(p.text); e != nil && (p.status >= http.StatusInternalServerError || p.code == "tool_use_failed") {
		return e
	}
	switch p.status {
	case http.StatusPaymentRequired:
		return &llm.Error{
			Kind:   llm.Refused,
			Public: "the model server requires a payment; the operator must check the account",
			Err:    p.err(),
		}
	case http.StatusNotFound:
		return m.notCompatible(p.err())
	case http.StatusRequestEntityTooLarge:
		return m.end.TooLong(p.err())
	}
	return wire.StatusFailure(p.status, p.err())
}

// known returns the error for a known text of the server, or nil.
func (m *Model) known(p problem) *llm.Error {
	all := strings.ToLower(p.text + " " + p.code)
	has := func(parts ...string) bool {
		return slices.ContainsFunc(parts, func(part string) bool { return strings.Contains(all, part) })
	}
	switch {
	case has("insufficient_quota", "exceeded your current quota", "insufficient balance", "insufficient credits"):
		return &llm.Error{
			Kind:   llm.Refused,
			Public: "the account at the model server is used up; the operator must check it",
			Err:    p.err(),
		}
	case has("invalid_api_key", "incorrect api key"):
		return wire.StatusFailure(http.StatusUnauthorized, p.err())
	case has("context_length_exceeded", "maximum context length", "exceed_context_size", "exceeds the available context size",
		"context size has been exceeded", "exceeds the context length", "exceeds the context window", "prompt is too long",
		"input is too long", "prompt too long", "when context the overflows", "exceeds the maximum number of tokens"):
		return m.end.TooLong(p.err())
	case has("tool", "function") && has("not support", "unsupported", "--enable-auto-tool-choice", "--jinja", "unrecognized request argument", "unknown field", "no endpoints found"):
		return m.end.Unsupported(llm.CallTools, p.err())
	case has("image", "vision", "multimodal") && has("not support", "unsupported", "no endpoints found", "not a multimodal"):
		return m.end.Unsupported(llm.SeeImages, p.err())
	case has("model_not_found", "model not found"),
		has("model") && has("does not exist", "not found") && p.status == http.StatusNotFound:
		return m.notFound(p.err())
	case has("overloaded", "rate_limit", "rate limit", "too many requests"):
		return wire.Busy(p.err())
	case has("loading model", "model is loading", "still loading"):
		return wire.Loading(p.err())
	}
	return nil
}

func (m *Model) notFound(err error) *llm.Error {
	return &llm.Error{Kind: llm.NotFound, Err: err,
		Public: fmt.Sprintf("model %s is not on the server; the operator must check its name", m.end.Model)}
}

func (m *Model) notCompatible(err error) *llm.Error {
	return &llm.Error{Kind: llm.Invalid, Err: err,
		Public: "the server at the model's address does not speak the expected API; the operator must check the address"}
}

// endError returns the error for a stream that ends before its answer is complete.
func (m *Model) endError(ctx context.Context, err error) error {
	switch {
	case errors.Is(err, io.EOF):
		return m.end.Died(errors.New("the stream ended without finish_reason and without [DONE]"))
	case errors.Is(err, wire.ErrLongLine):
		return m.notCompatible(err)
	}
	return wire.Failure(ctx, err)
}

// lineError returns the error for an unreadable line: the stream was cut off in the line,
// or the server uses another protocol.
func (m *Model) lineError(line []byte, whole bool) error {
	detail := fmt.Errorf("line in the stream: %.200q", line)
	if e := m.known(problem{status: http.StatusOK, text: string(line)}); e != nil {
		return e
	}
	if !whole && !wire.IsPage(line) {
		return m.end.Died(detail)
	}
	return m.notCompatible(detail)
}
