package wire

import (
	"fmt"
	"slices"
	"strings"

	"github.com/handrail-bot/handrail/agent/llm"
)

// badCalls are the beginnings of error texts about an unreadable call: those of Ollama's
// parsers (model/parsers and harmony in its sources), llama.cpp, vLLM and Groq. Some
// servers pass on the raw error of their parser.
var badCalls = []string{
	"xml syntax error", "error parsing tool call", "failed to parse", "failed to call a function", "incomplete glm tool call",
	"unexpected end of json input", "invalid character", "invalid function call", "invalid argument format", "invalid argument: ",
	"invalid tool call", "invalid format", "empty function name", "mismatched arg_key", "malformed atem", "missing atem",
	"no tool call", "unterminated string", "expected 'call:'", "expected '{' in tool call", "repair failed to produce",
	"tool_use_failed", "tool call validation failed", "invalid tool call arguments",
}

// Garbled returns the error for a server that could not read the model's call, or nil if
// text does not mean that. A retry would usually fail the same way; telling the model
// helps.
func Garbled(text string) *llm.Error {
	said := strings.ToLower(strings.TrimSpace(text))
	undeclared := strings.HasPrefix(said, "tool '") && strings.HasSuffix(said, "' not found") ||
		strings.HasSuffix(said, "is not declared") || strings.HasPrefix(said, "undeclared ")
	if said != "eof" && !undeclared &&
		!slices.ContainsFunc(badCalls, func(b string) bool { return strings.HasPrefix(said, b) }) {
		return nil
	}
	return &llm.Error{
		Kind:   llm.Garbled,
		Public: "the model server could not read the model's tool call",
		Err:    fmt.Errorf("%.300s", text),
	}
}
