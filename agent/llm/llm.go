// Package llm defines the interface to a language model: messages, tool specifications,
// tool calls, the parts of a streamed answer, and the model itself. The adapters are in
// the packages below it (ollama, openai); llmtest is a scripted server for tests of both.
package llm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"
)

// Role is the sender of a message.
type Role string

// The roles of a conversation.
const (
	RoleSystem    Role = "system"
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
	RoleTool      Role = "tool" // result of one call, only with native calls
)

// Message is one entry of a conversation. Assistant messages carry Thinking,
// Content and Calls together; a tool result carries ToolName and ToolCallID.
type Message struct {
	Role       Role
	Content    string
	Thinking   string
	Calls      []ToolCall
	ToolName   string
	ToolCallID string
	Images     [][]byte // decoded picture bytes, vision models only
	Ours       bool     // the program's own words, such as the format of a call
}

// ToolCall is a call as reported by the server. Arguments is valid JSON: the model's
// object if the server passed it on correctly. Text that is not JSON is stored as a JSON
// string.
type ToolCall struct {
	ID        string
	Name      string
	Arguments json.RawMessage
}

// ToolSpec describes a tool to the model. Parameters is a JSON schema of type
// object.
type ToolSpec struct {
	Name        string
	Description string
	Parameters  json.RawMessage
}

// Capabilities describes a model according to its server.
type Capabilities struct {
	Tools         bool // native tool calls
	Thinking      bool // separate thinking, switched by Request.Think
	Vision        bool
	ContextLength int // maximum context in tokens, 0 if unknown
	ContextSet    int // tokens set by the operator (num_ctx) or currently loaded; 0 if unknown

	Parameters int64  // number of parameters, 0 if unknown
	Digest     string // identifies the weights on their server, "" if unknown
}

// FirstWindow is the context in tokens that a session begins with unless the operator
// chose one. A laptop can afford it.
const FirstWindow = 32768

// Window returns the context in tokens that a session begins with.
func (c Capabilities) Window() int {
	n := FirstWindow
	if c.ContextSet > 0 {
		n = c.ContextSet
	}
	if c.ContextLength > 0 {
		n = min(n, c.ContextLength)
	}
	return n
}

// Request asks for one answer.
type Request struct {
	Messages    []Message
	Tools       []ToolSpec // empty in text mode
	Think       bool
	Context     int // context size in tokens; adapters never send 0 to a server with a small default
	MaxTokens   int // limit of the answer, 0 for the server's limit
	Temperature *float64

	// Of an external agent: the number of answers that its own model may give, and the time at
	// which its answer has to end; the zero value means no limit of time.
	Turns int
	Until time.Time
}

// Part is one piece of an answer, with only the received fields set. The last part has
// Done set; a stream that ends without it was cut off and yields an error.
type Part struct {
	Thinking     string
	Content      string
	Calls        []ToolCall // complete calls
	Done         bool
	DoneReason   string // "stop", "length", "tool_calls"
	PromptTokens int    // with Done, 0 if the server does not count
	AnswerTokens int
	Inner        int  // with Done: an external agent's turns in this answer after the first, or -1
	CachedTokens int  // of PromptTokens, those that the server had computed before; 0 if it does not tell
	Dropped      bool // with Done: the server counted more than it passed on, and may have left out a call
}

// Model is one model on one server. Stream yields the parts of one answer and stops after
// the first error; leaving the loop cancels the request. Errors are *[Error].
// Implementations are safe for concurrent use.
type Model interface {
	Name() string
	Capabilities(ctx context.Context) (Capabilities, error)
	Stream(ctx context.Context, req Request) iter.Seq2[Part, error]
}

// Embedder is a model that turns texts into vectors: texts of a similar meaning have
// similar directions. Name is as of a [Model].
//
// Embed returns one vector for each text, in their order. All vectors of a model have one
// length, and finite numbers that are not all zero; an answer without these is an error of
// kind [Invalid]. It is safe for concurrent use.
type Embedder interface {
	Name() string
	Embedding(ctx context.Context) (Embedding, error)
	Embed(ctx context.Context, texts []string) ([][]float32, error)
}

// Embedding describes the vectors of an [Embedder]. Digest identifies the weights; it is
// the model's name if the server does not tell. Tokens is the maximum length of a text, 0
// if unknown: a longer one may lose its end.
type Embedding struct {
	Digest string
	Tokens int
}

// Kind classifies errors by the possible reaction.
type Kind int

// The kinds of errors. The zero value is Unknown, which is not retried.
const (
	Unknown     Kind = iota
	Unreachable      // no connection, or the server is starting: retry later
	Busy             // queue full or rate limited: retry later
	Cut              // the stream ended early or the runner died: retry the turn
	NotFound         // the server does not have the model: the operator must act
	Unsupported      // the model lacks a requested capability
	TooLong          // the prompt exceeds the context: compact and retry
	Refused          // key missing or wrong
	Invalid          // the server rejected the request, or its answer is incomprehensible
	Garbled          // the server could not read the call in the model's answer: tell the model
)

// Temporary reports whether the same request may succeed later.
func (k Kind) Temporary() bool { return k == Unreachable || k == Busy || k == Cut }

// Capability is an optional ability of models. Its text completes the sentence "The model
// cannot …".
type Capability string

// The capabilities.
const (
	CallTools Capability = "call tools"
	Think     Capability = "think"
	SeeImages Capability = "see images"
	Chat      Capability = "chat"
	Embed     Capability = "embed texts"
)

// Error is the error of a [Model]. Public is a sentence for the user: the failure and the
// remedy, without addresses. Err is the detail for the operator. RetryAfter is the wait
// that the server asked for, or 0. Lacks is set if Kind is [Unsupported].
type Error struct {
	Kind       Kind
	Public     string
	Quote      string // the end of Public that has the server's own words; Err has them, too
	Err        error
	RetryAfter time.Duration
	Lacks      Capability
}

// Error implements error.
func (e *Error) Error() string {
	if e.Err == nil {
		return e.Public
	}
	return fmt.Sprintf("%s: %v", strings.TrimSuffix(e.Public, e.Quote), e.Err)
}

// Unwrap returns the operator's detail.
func (e *Error) Unwrap() error { return e.Err }

// KindOf returns the kind of the first [Error] in err's chain.
func KindOf(err error) Kind {
	var e *Error
	if errors.As(err, &e) {
		return e.Kind
	}
	return Unknown
}
