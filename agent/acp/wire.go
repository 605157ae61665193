package acp

import (
	"bytes"
	"encoding/json"
)

// Reasons of the end of a turn, besides that the agent has done.
const (
	StopTokens    = "max_tokens"
	StopRequests  = "max_turn_requests"
	StopRefusal   = "refusal"
	StopCancelled = "cancelled"
)

// Kinds of the options of a [Permission]. There are more, which answer later requests, too.
const (
	AllowOnce  = "allow_once"
	RejectOnce = "reject_once"
)

// Kinds of updates that clients act on. There are more.
const (
	MessageChunk   = "agent_message_chunk"
	ThoughtChunk   = "agent_thought_chunk"
	ToolCallBegun  = "tool_call"
	ToolCallUpdate = "tool_call_update"
	ModeChanged    = "current_mode_update"
)

// About is the answer of an agent to the greeting.
type About struct {
	Version int `json:"protocolVersion"`
	Info    struct {
		Name    string `json:"name"`
		Version string `json:"version"`
	} `json:"agentInfo"`
}

// Server is an MCP server that the agent starts, with its standard input and output.
type Server struct {
	Name    string     `json:"name"`
	Command string     `json:"command"`
	Args    []string   `json:"args"`
	Env     []Variable `json:"env"`
}

// Variable is a variable of a program's environment.
type Variable struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Session is a new session. Modes is nil if the agent has none; newer agents have an option
// of category "mode" in its place.
type Session struct {
	ID      string   `json:"sessionId"`
	Modes   *Modes   `json:"modes"`
	Options []Option `json:"configOptions"`
}

// Modes are the modes of an agent.
type Modes struct {
	Current string `json:"currentModeId"`
	All     []struct {
		ID   string `json:"id"`
		Name string `json:"name"`
	} `json:"availableModes"`
}

// IDs returns the ids of all modes.
func (m *Modes) IDs() []string {
	var out []string
	for _, one := range m.All {
		out = append(out, one.ID)
	}
	return out
}

// Option is an option of a session. Values are unset for kinds other than a choice.
type Option struct {
	ID       string          `json:"id"`
	Name     string          `json:"name"`
	Category string          `json:"category"`
	Current  json.RawMessage `json:"currentValue"`
	Values   json.RawMessage `json:"options"` // flat, or in groups
}

// Value returns the current value of a choice, or "".
func (o Option) Value() string {
	var s string
	_ = json.Unmarshal(o.Current, &s) // a switch has true or false
	return s
}

// Choices returns the values of a choice.
func (o Option) Choices() []string {
	type choice struct {
		Value   string   `json:"value"`
		Options []choice `json:"options"`
	}
	var list []choice
	_ = json.Unmarshal(o.Values, &list) // another form has no choices
	var out []string
	for _, c := range list {
		if c.Value != "" {
			out = append(out, c.Value)
		}
		for _, in := range c.Options {
			out = append(out, in.Value)
		}
	}
	return out
}

// Update is a message of the running session. Kind says which fields are set.
type Update struct {
	Kind    string          `json:"sessionUpdate"`
	Content json.RawMessage `json:"content"` // of a chunk: one Content; of a tool call: a list
	Mode    string          `json:"currentModeId"`
	Options []Option        `json:"configOptions"`
	Call
}

// Text returns the text of a chunk.
func (u Update) Text() string {
	var c Content
	_ = json.Unmarshal(u.Content, &c) // pictures have no text
	return c.Text
}

// UnmarshalJSON reads an update. Its content belongs to the tool call if it has one.
func (u *Update) UnmarshalJSON(data []byte) error {
	type plain Update
	var in struct {
		plain
		Content json.RawMessage `json:"content"`
	}
	if err := json.Unmarshal(data, &in); err != nil {
		return err
	}
	*u = Update(in.plain)
	u.Content, u.Call.Content = in.Content, nil
	if u.Kind == ToolCallBegun || u.Kind == ToolCallUpdate {
		_ = json.Unmarshal(in.Content, &u.Call.Content) // a form from later is left out
	}
	return nil
}

// Content is a part of a message.
type Content struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

// Call is an action of the agent with its own tools. Later updates and a request for
// permission may have only the fields that changed: see [Call.Merge].
type Call struct {
	ID        string          `json:"toolCallId"`
	Title     string          `json:"title"`
	Kind      string          `json:"kind"` // read, edit, delete, move, search, execute, think, fetch, switch_mode, other
	Status    string          `json:"status"`
	Input     json.RawMessage `json:"rawInput"`
	Locations []Location      `json:"locations"`
	Content   []Part          `json:"content"`
}

// Location is a place in a file, by its absolute path.
type Location struct {
	Path string `json:"path"`
	Line int    `json:"line,omitempty"`
}

// Part is a part of a call's content: words, or the difference of a file. Old is nil for a
// new file.
type Part struct {
	Type    string  `json:"type"`
	Path    string  `json:"path"`
	Old     *string `json:"oldText"`
	New     string  `json:"newText"`
	Content Content `json:"content"`
}

// Merge returns the call with the fields of a later message.
func (c Call) Merge(later Call) Call {
	set := func(at *string, s string) {
		if s != "" {
			*at = s
		}
	}
	set(&c.ID, later.ID)
	set(&c.Title, later.Title)
	set(&c.Kind, later.Kind)
	set(&c.Status, later.Status)
	if in := bytes.TrimSpace(later.Input); len(in) > 0 && !bytes.Equal(in, []byte("null")) {
		c.Input = later.Input
	}
	if later.Locations != nil {
		c.Locations = later.Locations
	}
	if later.Content != nil {
		c.Content = later.Content
	}
	return c
}

// Permission is a request for permission to make a call.
type Permission struct {
	SessionID string       `json:"sessionId"`
	Call      Call         `json:"toolCall"`
	Options   []PermOption `json:"options"`
}

// PermOption is one answer to a request for permission.
type PermOption struct {
	ID   string `json:"optionId"`
	Name string `json:"name"`
	Kind string `json:"kind"`
}

// Only returns the id of the one option of a kind. ok is false if there is none, or more
// than one: then nothing tells them apart.
func (p Permission) Only(kind string) (id string, ok bool) {
	for _, o := range p.Options {
		if o.Kind != kind { //control:acp-by-kind
			continue
		}
		if ok {
			return "", false
		}
		id, ok = o.ID, true
	}
	return id, ok
}
