// Package llm describes how an agent speaks with a language model: messages, tool
// specifications, tool calls, the stream of parts that is an answer, and the model
// itself. Adapters live in the packages below it
// (ollama, openai); llmtest is a scripted server that speaks their wire.
package llm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"time"
)

// Role says who speaks in a message.
type Role string

// The roles of a conversation.
const (
	RoleSystem    Role = "system"
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
	RoleTool      Role = "tool" // result of one call, native mode only
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
	Ours       bool     // the program's own words, such as how a call is sent
}

// ToolCall is a call as the server reported it. Arguments is what the model wrote,
// as valid JSON: an object, unless the server let something else through. What was
// not JSON comes as a JSON string.
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

// Capabilities is what a server says of a model.
type Capabilities struct {
	Tools         bool // native tool calls
	Thinking      bool // separate thinking, switched by Request.Think
	Vision        bool
	ContextLength int // tokens the model was made for, 0 when unknown
	ContextSet    int // tokens its operator set for it (num_ctx), or it is loaded with; 0 when neither is known

	Parameters int64  // size of the model, 0 when unknown
	Digest     string // names exactly these weights on their server, "" when unknown
}

// FirstWindow is the window, in tokens, that a session begins with where the model's
// operator chose none: one that a laptop can afford.
const FirstWindow = 32768

// Window returns the window that a session begins with.
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
	Context     int // tokens of context to ask the server for; adapters never send 0 to a server whose default is small
	MaxTokens   int // limit of the answer, 0 for the server's
	Temperature *float64
}

// Part is one piece of an answer. Only what arrived is set. The last part has
// Done set; a stream that ends without it was cut and yields an error.
type Part struct {
	Thinking     string
	Content      string
	Calls        []ToolCall // complete calls
	Done         bool
	DoneReason   string // "stop", "length", "tool_calls"
	PromptTokens int    // with Done, 0 when the server does not count
	AnswerTokens int
	Dropped      bool // with Done: the model wrote more than came; the server has left out a call
}

// Model is one model behind one server. Stream yields the parts of one answer
// and stops after the first error; breaking off the loop cancels the request.
// Errors are *[Error]. Implementations are safe for concurrent use.
type Model interface {
	Name() string
	Capabilities(ctx context.Context) (Capabilities, error)
	Stream(ctx context.Context, req Request) iter.Seq2[Part, error]
}

// Kind says what can be done about an error.
type Kind int

// The kinds of errors. The zero value is Unknown, which is not retried.
const (
	Unknown     Kind = iota
	Unreachable      // no connection, or the server is starting: retry later
	Busy             // queue full or rate limited: retry later
	Cut              // the stream ended early or the runner died: retry the turn
	NotFound         // the server does not have the model: a person must act
	Unsupported      // the model lacks a capability that was asked for
	TooLong          // the prompt exceeds the context: compact and retry
	Refused          // key missing or wrong
	Invalid          // the server did not like the request, or answered what nobody understands
	Garbled          // the server could not read the call in the model's answer: tell the model
)

// Temporary reports whether the same request may succeed later.
func (k Kind) Temporary() bool { return k == Unreachable || k == Busy || k == Cut }

// Capability is what a request may ask of a model and not every model has, in
// the words that end the sentence "The model cannot …".
type Capability string

// What a model can lack.
const (
	CallTools Capability = "call tools"
	Think     Capability = "think"
	SeeImages Capability = "see images"
	Chat      Capability = "chat"
)

// Error is what a [Model] fails with. Public is a sentence for the person in
// the thread: what happened and what to do; it names no address. Err is the
// operator's detail. RetryAfter is the wait the server asked for, 0 when it did
// not. Lacks is set when Kind is [Unsupported].
type Error struct {
	Kind       Kind
	Public     string
	Err        error
	RetryAfter time.Duration
	Lacks      Capability
}

// Error implements error.
func (e *Error) Error() string {
	if e.Err == nil {
		return e.Public
	}
	return fmt.Sprintf("%s: %v", e.Public, e.Err)
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
