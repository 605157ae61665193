package llmtest

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"
	"unicode/utf8"

	"github.com/handrail-bot/handrail/agent/llm"
)

// Encoder encodes one answer for a wire protocol. Its methods return the bytes of one
// message of the stream.
type Encoder interface {
	ContentType() string
	Piece(p llm.Part) []byte
	End(p llm.Part) []byte
	Failure(text string) []byte
	Status(code int, text string) []byte
}

// reply is one answer in progress.
type reply struct {
	s    *Server
	t    *Turn
	req  *Request
	enc  Encoder
	w    http.ResponseWriter
	ctx  func() context.Context
	sent int
}

// run serves the turn, including its scripted failure.
func (r *reply) run() {
	m := r.t.Misdo
	switch {
	case m.Drop:
		panic(http.ErrAbortHandler)
	case m.Redirect != "":
		r.w.Header().Set("Location", m.Redirect)
		r.w.WriteHeader(http.StatusTemporaryRedirect)
		return
	case m.TooLong:
		r.writeStatus(http.StatusBadRequest, TooLongText)
		return
	case m.Status != 0:
		if m.RetryAfter > 0 {
			r.w.Header().Set("Retry-After", fmt.Sprint(m.RetryAfter))
		}
		r.writeStatus(m.Status, m.statusText())
		return
	}
	r.w.Header().Set("Content-Type", r.enc.ContentType())
	parts, last := r.parts()
	if !r.sendAll(parts) {
		return
	}
	switch {
	case m.Error != "":
		r.send(r.enc.Failure(m.Error))
	case m.WrongJSON:
		r.send([]byte("{\"message\": {\"content\": oops\n"))
	case !m.NoDone:
		r.send(r.enc.End(last))
	}
}

// bytesPerToken is the assumed length of a token.
const bytesPerToken = 4

// TooLongText is the server's error for a request that exceeds the context.
const TooLongText = "the input length exceeds the context length"

func (m Misdeed) statusText() string {
	switch {
	case m.Error != "":
		return m.Error
	case m.Status == http.StatusServiceUnavailable:
		return "server busy, please try again.  maximum pending requests exceeded"
	}
	return http.StatusText(m.Status)
}

func (r *reply) writeStatus(code int, text string) {
	r.w.Header().Set("Content-Type", "application/json; charset=utf-8")
	r.w.WriteHeader(code)
	r.send(r.enc.Status(code, text))
}

// sendAll sends the parts and reports whether the answer should be ended normally.
func (r *reply) sendAll(parts []llm.Part) bool {
	delay := time.Duration(orElse(r.t.Delay, r.s.script.Delay)) * time.Millisecond
	for {
		for i, p := range parts {
			if r.t.Misdo.Stall && i == (len(parts)+1)/2 && !r.stall() {
				return false
			}
			if !r.wait(delay) {
				return false
			}
			r.send(r.enc.Piece(p))
		}
		if r.t.Misdo.Stall && len(parts) < 2 && !r.stall() {
			return false
		}
		if !r.t.Misdo.Loop {
			return true
		}
	}
}

func (r *reply) stall() bool {
	select {
	case r.s.stalled <- struct{}{}:
	default:
	}
	select {
	case <-r.s.release:
		return true
	case <-r.s.closing:
	case <-r.ctx().Done():
	}
	return false
}

// wait waits for the delay and reports whether the client is still connected.
func (r *reply) wait(delay time.Duration) bool {
	if delay > 0 {
		timer := time.NewTimer(delay)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-r.ctx().Done():
		case <-r.s.closing:
		}
	}
	select {
	case <-r.s.closing:
		return false
	default:
		return r.ctx().Err() == nil
	}
}

// send writes and flushes b, or aborts the connection at the scripted offset.
func (r *reply) send(b []byte) {
	limit := r.t.Misdo.DieAfter
	die := limit > 0 && r.sent+len(b) >= limit
	if die {
		b = b[:limit-r.sent]
	}
	n, err := r.w.Write(b)
	r.sent += n
	if f, ok := r.w.(http.Flusher); ok && (r.req.Stream || die) {
		f.Flush()
	}
	if err != nil || die {
		panic(http.ErrAbortHandler)
	}
}

// parts returns the pieces of the answer and its last message.
func (r *reply) parts() ([]llm.Part, llm.Part) {
	think, content, calls := r.turnParts()
	size := orElse(r.t.Chunk, r.s.script.Chunk)
	var parts []llm.Part
	for _, piece := range Pieces(think, size) {
		parts = append(parts, llm.Part{Thinking: piece})
	}
	for _, piece := range Pieces(content, size) {
		parts = append(parts, llm.Part{Content: piece})
	}
	counted := len(think) + len(content)
	for _, c := range calls {
		counted += len(c.Name) + len(c.Arguments)
		if !r.t.Misdo.DropCalls {
			parts = append(parts, llm.Part{Calls: []llm.ToolCall{c}})
		}
	}
	if r.t.Misdo.DropCalls {
		calls = nil
	}
	last := llm.Part{
		Done:         true,
		DoneReason:   r.t.Reason,
		PromptTokens: orElse(r.t.Tokens.Prompt, max(1, len(r.req.Body)/bytesPerToken)),
		AnswerTokens: orElse(r.t.Tokens.Answer, max(1, counted/bytesPerToken)),
	}
	if !r.req.Stream {
		parts = []llm.Part{{Thinking: think, Content: content, Calls: calls}}
	}
	return parts, last
}

// turnParts returns the content of the turn for this request. Thinking is included only if the
// model supports it and the request did not disable it.
func (r *reply) turnParts() (think, content string, calls []llm.ToolCall) {
	if r.s.script.Model.Thinking && (r.req.Think == nil || *r.req.Think) {
		think = r.t.Think
	}
	content = r.t.Say + r.t.Text
	for i, c := range r.t.Calls {
		args, err := c.text()
		if err != nil { // checked when the script was read
			args = "{}"
		}
		if r.t.Print {
			content += fmt.Sprintf("\n<tool_call>\n{\"name\": %q, \"arguments\": %s}\n</tool_call>", c.Name, args)
			continue
		}
		id := c.ID
		if id == "" {
			id = fmt.Sprintf("call_%d_%d", r.req.number, i)
		}
		calls = append(calls, llm.ToolCall{ID: id, Name: c.Name, Arguments: json.RawMessage(args)})
	}
	return think, content, calls
}

// Pieces cuts text into pieces of size characters, or leaves it whole.
func Pieces(text string, size int) []string {
	var out []string
	for size > 0 && utf8.RuneCountInString(text) > size {
		end := 0
		for range size {
			_, n := utf8.DecodeRuneInString(text[end:])
			end += n
		}
		out = append(out, text[:end])
		text = text[end:]
	}
	if text != "" {
		out = append(out, text)
	}
	return out
}

func orElse(n, other int) int {
	if n != 0 {
		return n
	}
	return other
}
