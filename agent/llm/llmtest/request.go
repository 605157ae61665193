package llmtest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/handrail-bot/handrail/agent/llm"
)

// Request is a chat request as the server received it, the same for both wires.
type Request struct {
	Wire         string // "ollama" or "openai"
	Conversation string // name in the script, empty for its own turns
	Turn         int    // index of the turn that answered, or -1
	Model        string
	Messages     []llm.Message
	Tools        []llm.ToolSpec
	Think        *bool // nil if unset
	Context      int   // options.num_ctx, 0 if unset
	MaxTokens    int
	Temperature  *float64
	Truncate     *bool
	Stream       bool
	Header       http.Header
	Body         []byte

	number int // counted from 1, for the ids of calls
}

// last returns the last message, or an empty one.
func (r *Request) last() llm.Message {
	if len(r.Messages) == 0 {
		return llm.Message{}
	}
	return r.Messages[len(r.Messages)-1]
}

// Conditions are conditions on a request. All that are set must hold.
type Conditions struct {
	Turn           *int   `yaml:"turn"`                 // number of the model's answers in the conversation so far
	Contains       Texts  `yaml:"contains"`             // each occurs in a message
	Lacks          Texts  `yaml:"lacks"`                // none occurs in any message
	Last           Texts  `yaml:"last_contains"`        // each occurs in the last message
	System         Texts  `yaml:"system_contains"`      // each occurs in a system message
	User           Texts  `yaml:"user_contains"`        // each occurs in a user message
	ToolResult     Texts  `yaml:"tool_result_contains"` // each occurs in the results after the last answer
	HasTool        Texts  `yaml:"has_tool"`             // all are offered
	LacksTool      Texts  `yaml:"lacks_tool"`           // none is offered
	NoTools        bool   `yaml:"no_tools"`             // no tools are offered, as in text mode
	Think          *bool  `yaml:"think"`
	Images         *int   `yaml:"images"` // number of images in all messages
	ContextAtLeast int    `yaml:"context_at_least"`
	Wire           string `yaml:"wire"` // ollama or openai
}

// Texts is one text or a list of them.
type Texts []string

// UnmarshalYAML reads a scalar or a sequence of scalars.
func (t *Texts) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind == yaml.ScalarNode {
		*t = Texts{n.Value}
		return nil
	}
	var many []string
	if err := n.Decode(&many); err != nil {
		return fmt.Errorf("want a text or a list of texts: %w", err)
	}
	*t = many
	return nil
}

func (c *Conditions) check() error {
	if c.NoTools && len(c.HasTool) > 0 {
		return fmt.Errorf("when: no_tools and has_tool exclude each other")
	}
	switch c.Wire {
	case "", wireOllama, WireOpenAI:
		return nil
	}
	return fmt.Errorf("when: wire %q is neither %q nor %q", c.Wire, wireOllama, WireOpenAI)
}

// unmet returns a condition that r does not meet, or "".
func (c *Conditions) unmet(r *Request) string {
	for _, check := range []func(*Request) string{c.unmetText, c.unmetTool, c.unmetNumber} {
		if why := check(r); why != "" {
			return why
		}
	}
	return ""
}

func (c *Conditions) unmetText(r *Request) string {
	anywhere := func(want string) bool {
		return slices.ContainsFunc(r.Messages, func(m llm.Message) bool { return holds(m, want) })
	}
	inRole := func(role llm.Role) func(string) bool {
		return func(want string) bool {
			return slices.ContainsFunc(r.Messages, func(m llm.Message) bool { return m.Role == role && holds(m, want) })
		}
	}
	last := r.last()
	results := resultsAfterLastAnswer(r.Messages)
	for _, t := range []struct {
		name string
		want Texts
		in   func(string) bool
		not  bool
	}{
		{"contains", c.Contains, anywhere, false},
		{"lacks", c.Lacks, anywhere, true},
		{"last_contains", c.Last, func(want string) bool { return holds(last, want) }, false},
		{"system_contains", c.System, inRole(llm.RoleSystem), false},
		{"user_contains", c.User, inRole(llm.RoleUser), false},
		{"tool_result_contains", c.ToolResult, func(want string) bool { return strings.Contains(results, want) }, false},
	} {
		for _, want := range t.want {
			if t.in(want) == t.not {
				return fmt.Sprintf("%s: %q", t.name, want)
			}
		}
	}
	return ""
}

// holds reports whether text occurs in the content, thinking or calls of m.
func holds(m llm.Message, text string) bool {
	if strings.Contains(m.Content, text) || strings.Contains(m.Thinking, text) {
		return true
	}
	return slices.ContainsFunc(m.Calls, func(c llm.ToolCall) bool {
		return c.Name == text || strings.Contains(string(c.Arguments), text)
	})
}

// resultsAfterLastAnswer joins the messages after the model's last answer: tool messages
// in native mode, a user message in text mode.
func resultsAfterLastAnswer(messages []llm.Message) string {
	var b strings.Builder
	seen := false
	for _, m := range messages {
		if m.Role == llm.RoleAssistant {
			b.Reset()
			seen = true
			continue
		}
		if seen && m.Role != llm.RoleSystem {
			b.WriteString(m.Content)
			b.WriteByte('\n')
		}
	}
	return b.String()
}

func (c *Conditions) unmetTool(r *Request) string {
	offered := func(name string) bool {
		return slices.ContainsFunc(r.Tools, func(t llm.ToolSpec) bool { return t.Name == name })
	}
	for _, name := range c.HasTool {
		if !offered(name) {
			return "has_tool: " + name
		}
	}
	for _, name := range c.LacksTool {
		if offered(name) {
			return "lacks_tool: " + name
		}
	}
	if c.NoTools && len(r.Tools) > 0 {
		return "no_tools"
	}
	return ""
}

func (c *Conditions) unmetNumber(r *Request) string {
	answers, images := 0, 0
	for _, m := range r.Messages {
		images += len(m.Images)
		if m.Role == llm.RoleAssistant {
			answers++
		}
	}
	switch {
	case c.Turn != nil && *c.Turn != answers:
		return fmt.Sprintf("turn: %d, but the conversation has %d answers", *c.Turn, answers)
	case c.Images != nil && *c.Images != images:
		return fmt.Sprintf("images: %d, but there are %d", *c.Images, images)
	case c.Think != nil && (r.Think == nil || *c.Think != *r.Think):
		return fmt.Sprintf("think: %t", *c.Think)
	case r.Context < c.ContextAtLeast:
		return fmt.Sprintf("context_at_least: %d, but it is %d", c.ContextAtLeast, r.Context)
	case c.Wire != "" && c.Wire != r.Wire:
		return "wire: " + c.Wire
	}
	return ""
}

// describe summarizes r in one line, to explain why no turn matched.
func (r *Request) describe() string {
	last := r.last()
	tools := make([]string, len(r.Tools))
	for i, t := range r.Tools {
		tools[i] = t.Name
	}
	b, err := json.Marshal(struct {
		Messages int      `json:"messages"`
		Role     llm.Role `json:"last_role"`
		Content  string   `json:"last"`
		Tools    []string `json:"tools"`
	}{len(r.Messages), last.Role, cut(last.Content), tools})
	if err != nil {
		return err.Error()
	}
	return string(b)
}

func cut(s string) string {
	const most = 300
	if len(s) <= most {
		return s
	}
	return s[:most/2] + " … " + s[len(s)-most/2:]
}
