package openai

import (
	"crypto/rand"
	"encoding/json"
	"strings"

	"github.com/handrail-bot/handrail/agent/llm"
)

// callDelta is a piece of a call.
type callDelta struct {
	Index    *int     `json:"index"`
	ID       string   `json:"id"`
	Function function `json:"function"`
}

type function struct {
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"` // a string, or an object from some servers
}

func (d *callDelta) text() string {
	var s string
	if json.Unmarshal(d.Function.Arguments, &s) == nil {
		return s
	}
	if string(d.Function.Arguments) == "null" {
		return ""
	}
	return string(d.Function.Arguments)
}

type call struct {
	index    int
	id, name string
	args     strings.Builder
}

// complete reports whether the arguments are a complete JSON object.
func (c *call) complete() bool {
	s := strings.TrimSpace(c.args.String())
	return strings.HasSuffix(s, "}") && json.Valid([]byte(s))
}

// arguments returns the arguments as JSON; text that is not JSON becomes a string.
func (c *call) arguments() json.RawMessage {
	s := strings.TrimSpace(c.args.String())
	if s == "" {
		return json.RawMessage("{}")
	}
	if json.Valid([]byte(s)) {
		return json.RawMessage(s)
	}
	quoted, err := json.Marshal(s)
	if err != nil { // cannot happen for a string
		return json.RawMessage("{}")
	}
	return quoted
}

// calls assembles calls from their pieces.
type calls struct{ list []*call }

func (cs *calls) add(d callDelta) {
	args := d.text()
	c := cs.find(d, args)
	if c == nil {
		c = &call{index: -1}
		if d.Index != nil {
			c.index = *d.Index
		}
		cs.list = append(cs.list, c)
	}
	if c.id == "" {
		c.id = d.ID
	}
	switch name := d.Function.Name; {
	case c.args.Len() > 0:
	case strings.HasPrefix(name, c.name):
		c.name = name
	default:
		c.name += name //control:name-in-pieces
	}
	c.args.WriteString(args)
}

// find returns the call that a piece belongs to, or nil if the piece begins a new one.
func (cs *calls) find(d callDelta, args string) *call {
	for i := len(cs.list) - 1; i >= 0; i-- {
		c := cs.list[i]
		switch {
		case d.Index != nil && *d.Index != c.index:
			continue
		case d.ID != "" && c.id != "" && d.ID != c.id:
			if d.Index == nil {
				continue
			}
			return cs.byID(d.ID) // one index for all calls, distinguished by id
		case d.ID == "" || c.id == "":
			// Without ids, a name after complete arguments begins another call.
			if d.Function.Name != "" && c.complete() && (args != "" || d.Function.Name != c.name) {
				return nil
			}
		}
		return c
	}
	return nil
}

func (cs *calls) byID(id string) *call {
	for _, c := range cs.list {
		if c.id == id {
			return c
		}
	}
	return nil
}

// all returns the calls in the order of their beginnings, without those that have no
// name. Missing and duplicate ids are replaced by generated ones.
func (cs *calls) all() []llm.ToolCall {
	var out []llm.ToolCall
	taken := map[string]bool{}
	for _, c := range cs.list {
		if c.name == "" {
			continue
		}
		if c.id == "" || taken[c.id] {
			c.id = "call_" + strings.ToLower(rand.Text()[:12])
		}
		taken[c.id] = true
		out = append(out, llm.ToolCall{ID: c.id, Name: c.name, Arguments: c.arguments()})
	}
	return out
}
