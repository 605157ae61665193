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
	Arguments json.RawMessage `json:"arguments"` // a string, or from some servers an object
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

// complete reports whether the arguments are a whole JSON object.
func (c *call) complete() bool {
	s := strings.TrimSpace(c.args.String())
	return strings.HasSuffix(s, "}") && json.Valid([]byte(s))
}

// arguments returns the arguments as JSON. What is not JSON becomes a string.
func (c *call) arguments() json.RawMessage {
	s := strings.TrimSpace(c.args.String())
	if s == "" {
		return json.RawMessage("{}")
	}
	if json.Valid([]byte(s)) {
		return json.RawMessage(s)
	}
	quoted, err := json.Marshal(s)
	if err != nil { // a string always renders
		return json.RawMessage("{}")
	}
	return quoted
}

// calls puts the pieces together.
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

// find returns the call that a piece belongs to, or nil when it begins one.
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
			return cs.byID(d.ID) // one index for all calls, told apart by id
		case d.ID == "" || c.id == "":
			// Without ids a name after complete arguments begins another call.
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

// all returns the calls in the order in which they began. A call without a name is
// left out. Ids that are missing or given twice are made up.
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
