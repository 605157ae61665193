// Package toolcall finds tool calls in what a model wrote as text.
package toolcall

import (
	"encoding/json"

	"github.com/handrail-bot/handrail/agent/llm"
)

// Call is one call found in text. Name is canonical. Arguments is a JSON
// object. Truncated means that the text ended inside the call, Repaired that
// its JSON had to be mended.
type Call struct {
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
	Truncated bool            `json:"truncated,omitempty"`
	Repaired  bool            `json:"repaired,omitempty"`
}

// Parsed is a text taken apart: its calls in order, the text without their
// markup, and what looked like a call and could not be understood.
type Parsed struct {
	Calls  []Call   `json:"calls"`
	Text   string   `json:"text"`
	Errors []string `json:"errors"`
}

// Parser knows the tools that can be called. It is immutable and safe for
// concurrent use.
type Parser struct {
	specs     []llm.ToolSpec
	canonical func(string) string
}

// New returns a parser for the given tools. canonical maps spellings and
// aliases of names to the names in specs; nil stands for identity.
func New(specs []llm.ToolSpec, canonical func(string) string) *Parser {
	return &Parser{specs: specs, canonical: canonical}
}

// Parse takes a complete text apart.
func (p *Parser) Parse(text string) Parsed { return Parsed{Text: text} }

// Object turns what a server passed on as the arguments of a native call (an
// object, a JSON string that holds one, or JSON as small models write it)
// into a JSON object.
func (p *Parser) Object(raw json.RawMessage) (args json.RawMessage, repaired bool, err error) {
	return raw, false, nil
}

// Partial returns the offset at which call markup, complete or still
// growing, begins in text that is still being streamed, or len(text). What
// stands before it can be shown.
func (p *Parser) Partial(text string) int { return len(text) }

// Canonical returns the name of a known tool for any spelling of it, and
// whether there is such a tool.
func (p *Parser) Canonical(name string) (string, bool) { return name, true }
