package toolcall

import (
	"slices"
	"strings"

	"github.com/handrail-bot/handrail/agent/llm/mend"
)

// ByArguments returns the call that is meant by a text that holds just one object, bare or
// in a code fence, which fits the arguments of exactly one of the tools named in offered:
// it has all that are required, and no other. An object without any argument fits none.
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
	return Call{Name: found, Arguments: mend.Object(fields), Repaired: in.Mended, Truncated: in.Open > 0}, true
}

// onlyObject reads the one object of a text: the text itself, or all of one code fence
// with at most a sentence around it.
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
	if !strings.HasPrefix(s, "{") {
		return mend.Value{}, false
	}
	in := mend.Read(s, 0, nil)
	return in, in.OK && strings.TrimSpace(s[in.Next:]) == ""
}
