package toolcall

import (
	"slices"
	"strings"

	"github.com/handrail-bot/handrail/agent/llm/mend"
)

// ByArguments returns the call meant by a text that consists of one object, bare or in a
// code fence. The object must match exactly one of the offered tools: it has all required
// arguments and no unknown ones. An empty object does not match.
func (p *Parser) ByArguments(text string, offered []string) (Call, bool) {
	in, ok := onlyObject(text)
	if !ok {
		return Call{}, false
	}
	fields, ok := mend.Fields(in.JSON)
	if !ok || len(fields) == 0 {
		return Call{}, false
	}
	found := ""
	for _, name := range offered {
		t := p.tools[name]
		if t == nil || t.lacks(fields) || slices.ContainsFunc(fields, func(f mend.Field) bool { return !t.has(f.Key) }) {
			continue
		}
		if found != "" {
			return Call{}, false
		}
		found = name
	}
	if found == "" {
		return Call{}, false
	}
	c := Call{Name: found, Arguments: mend.Object(fields), Repaired: in.Mended, Truncated: in.Open > 0}
	if c.Repaired {
		c.Dialect = "arguments alone"
	}
	return c, true
}

// onlyObject reads the only object of a text: the whole text, or the content of its only
// code fence.
func onlyObject(text string) (mend.Value, bool) {
	s := strings.TrimSpace(text)
	if i := strings.Index(s, "```"); i >= 0 && strings.Count(s, "```") <= 2 {
		s = s[i+3:]
		if _, body, ok := strings.Cut(s, "\n"); ok {
			s = body
		}
		s, _, _ = strings.Cut(s, "```")
		s = strings.TrimSpace(s)
	}
	if !strings.HasPrefix(s, "{") || len(s) > maxCall {
		return mend.Value{}, false
	}
	in := mend.Read(s, 0, nil)
	return in, in.OK && strings.TrimSpace(s[in.Next:]) == ""
}
