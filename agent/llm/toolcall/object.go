package toolcall

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/handrail-bot/handrail/agent/llm/mend"
)

// Names of the parts of a call, the usual one first; case and separators are ignored.
var (
	nameFields = [...]string{
		"name", "toolname", "tool", "function", "functionname", "recipientname", "action", "commandname",
	}
	argFields = [...]string{
		"arguments", "args", "params", "parameters", "input", "toolinput", "actioninput", "toolargs",
		"toolarguments", "kwargs", "functionargs", "inputs",
	}
	metaFields = [...]string{"id", "type", "index", "callid", "toolcallid", "tooluseid"}
	wrapFields = [...]string{
		"toolcalls", "toolcall", "functioncall", "function", "calls", "tooluses", "tooluse", "functioncalls",
		"actions", "tool", "command", "invoke",
	}
	talkFields  = [...]string{"content", "role", "thought", "thoughts", "reasoning"}
	emptyObject = json.RawMessage("{}")
)

// valueCalls is the meaning of a value: calls, or the reason that it is not a call.
type valueCalls struct {
	calls  []Call
	err    string
	strict bool // every call names a known tool and has its arguments in a separate member

	definition bool // a description of tools, not a call
}

// source describes the origin of a JSON value and how it was read.
type source struct {
	mend.Reading
	explicit bool // inside call markup
}

// within returns the source of a part of the value; only the last part can be cut off.
func (s source) within(last bool) source {
	if s.Open = max(s.Open-1, 0); !last {
		s.Open, s.CutText = 0, false
	}
	return s
}

// calls finds the calls in a valid JSON value.
func (p *Parser) calls(in mend.Value, explicit bool) valueCalls {
	return p.callsIn(in.JSON, source{in.Reading, explicit}, 0)
}

func (p *Parser) callsIn(v []byte, src source, depth int) valueCalls {
	none := valueCalls{err: "it is not an object with \"name\" and \"arguments\""}
	if depth > 4 || len(v) == 0 {
		return none
	}
	switch v[0] {
	case '[':
		return p.callList(mend.Elements(v), src, depth)
	case '{':
		list, _ := mend.Fields(v)
		return p.callObject(list, src, depth)
	case '"':
		s, _ := mend.Text(v)
		if in := mend.Read(s, 0, nil); in.OK && src.explicit && strings.TrimSpace(s[in.Next:]) == "" && !src.CutText {
			src.Mended = src.Mended || in.Mended
			return p.callsIn(in.JSON, src, depth+1)
		}
	}
	return none
}

func (p *Parser) callList(list []json.RawMessage, src source, depth int) valueCalls {
	out := valueCalls{strict: true}
	if len(list) == 0 {
		return valueCalls{err: "it holds no call"}
	}
	for i, e := range list {
		f := p.callsIn(e, src.within(i == len(list)-1), depth+1)
		if f.definition {
			return f
		}
		if f.err != "" && out.err == "" {
			out.err = f.err
		}
		out.strict = out.strict && f.strict
		out.calls = append(out.calls, f.calls...)
	}
	return out
}

func (p *Parser) callObject(list []mend.Field, src source, depth int) valueCalls {
	for _, w := range wrapFields {
		i := part(list, w)
		if i < 0 {
			continue
		}
		v := list[i].Value
		if v[0] != '{' && v[0] != '[' ||
			v[0] == '{' && w == "function" && hasAny(list, []string{"name", "tool_name", "tool"}) {
			continue
		}
		if f := p.callsIn(v, src.within(i == len(list)-1), depth+1); len(f.calls) > 0 || f.definition ||
			f.err != "" && v[0] == '[' {
			return f
		}
	}
	at := p.nameField(list)
	if at < 0 {
		return p.keyed(list, src)
	}
	if src.CutText && src.Open > 0 && at == len(list)-1 {
		return valueCalls{err: "the answer was cut off inside the name of a tool"}
	}
	name, _ := mend.Text(list[at].Value)
	return p.call(name, at, list, src)
}

func hasAny(list []mend.Field, keys []string) bool {
	return slices.ContainsFunc(keys, func(k string) bool { return mend.Find(list, k) >= 0 })
}

// named reports whether a key is among the names of a part of a call.
func named(key string, names []string) bool {
	return slices.ContainsFunc(names, func(name string) bool { return sameFolded(key, name) })
}

// part returns the index of the member with that folded name, or -1.
func part(list []mend.Field, name string) int {
	return slices.IndexFunc(list, func(f mend.Field) bool { return sameFolded(f.Key, name) })
}

// nameField returns the index of the member that names the tool: the first one with a
// known tool, or else the first one with a possible name, or -1.
func (p *Parser) nameField(list []mend.Field) int {
	best := -1
	for _, key := range nameFields {
		i := part(list, key)
		if i < 0 {
			continue
		}
		s, isText := mend.Text(list[i].Value)
		if !isText || len(s) > maxName {
			continue
		}
		if _, known := p.Canonical(s); known {
			return i
		}
		if best < 0 && isName(s) {
			best = i
		}
	}
	return best
}

// maxName is the maximum length of a tool's name.
const maxName = 128

// isName reports whether s can be the name of a tool.
func isName(s string) bool {
	s = strings.TrimSpace(cutTokens(s))
	if s == "" || len(s) > maxName {
		return false
	}
	letters := false
	for i := range len(s) {
		c := s[i]
		if !isWord(c) && strings.IndexByte(".:-/ ()", c) < 0 && c < 0x80 {
			return false
		}
		letters = letters || letter(c) && c != '_' || c >= 0x80
	}
	return letters
}

// keyed reads {"read_file": {"path": …}}, which counts only in markup.
func (p *Parser) keyed(list []mend.Field, src source) valueCalls {
	var out valueCalls
	for i, f := range list {
		name, known := p.Canonical(f.Key)
		if !src.explicit || !known || f.Value[0] != '{' && !mend.IsNull(f.Value) {
			out.calls = nil
			break
		}
		args, _ := mend.Fields(f.Value)
		out.calls = append(
			out.calls,
			Call{Name: name, Arguments: mend.Object(args), Repaired: src.Mended, Truncated: i == len(list)-1 && src.Open > 0},
		)
	}
	switch {
	case len(out.calls) > 0:
	case src.Open > 0:
		out.err = "the answer was cut off before the call named a tool"
	default:
		out.err = `it has no "name" that says which tool to call`
	}
	return out
}

// call builds the call with its name in member at.
func (p *Parser) call(written string, at int, list []mend.Field, src source) valueCalls {
	name, known := p.Canonical(written)
	t := p.tools[name]
	c := Call{Name: name, Repaired: src.Mended, Truncated: src.Open > 0}
	inAt, rest := argumentField(list, at, t)
	if inAt < 0 {
		c.Arguments = mend.Object(topLevel(rest, t))
		return valueCalls{calls: []Call{c}}
	}
	in := list[inAt].Value
	if !src.explicit && (in[0] == '[' || in[0] == '"' && src.Open == 0 && !callText(in)) {
		return valueCalls{err: fmt.Sprintf("in the call to %s its arguments are not a JSON object", name)}
	}
	args, mended, err := arguments(in, t, src.CutText && inAt == len(list)-1)
	if err != nil {
		return valueCalls{err: fmt.Sprintf("in the call to %s %v", name, err)}
	}
	inner, kind := schemaOf(args, t)
	switch kind {
	case definition:
		return valueCalls{definition: true}
	case filledIn:
		args, mended = inner, true
	}
	for _, f := range rest {
		if mend.Find(args, f.Key) < 0 && t.has(f.Key) && !named(f.Key, metaFields[:]) {
			args = append(args, f)
		}
	}
	c.Arguments, c.Repaired = mend.Object(args), c.Repaired || mended
	return valueCalls{calls: []Call{c}, strict: known}
}

// callText reports whether a JSON string may contain arguments, or is empty.
func callText(v []byte) bool {
	s, _ := mend.Text(v)
	s = strings.TrimSpace(s)
	return s == "" || strings.IndexByte("{[\"", s[0]) >= 0
}

// argumentField finds the member with the arguments, or -1 if they are beside the name,
// and returns the other members.
func argumentField(list []mend.Field, at int, t *tool) (int, []mend.Field) {
	inAt := -1
	for _, key := range argFields {
		if i := part(list, key); i >= 0 && i != at && (!t.has(list[i].Key) || list[i].Value[0] == '{') {
			inAt = i
			break
		}
	}
	var rest []mend.Field
	for i, f := range list {
		if i != at && i != inAt {
			rest = append(rest, f)
		}
	}
	return inAt, rest
}

// topLevel drops the members that describe the call and are not arguments.
func topLevel(rest []mend.Field, t *tool) []mend.Field {
	return slices.DeleteFunc(rest, func(f mend.Field) bool {
		return named(f.Key, metaFields[:]) && !t.has(f.Key) || f.Key == "function" && f.Value[0] == '{'
	})
}

// arguments reads the value of an arguments member.
func arguments(v json.RawMessage, t *tool, cut bool) (args []mend.Field, mended bool, err error) {
	for range 3 {
		if v = bytes.TrimSpace(v); mend.IsNull(v) {
			return nil, mended, nil
		}
		switch v[0] {
		case '{':
			list, _ := mend.Fields(v)
			return list, mended, nil
		case '[':
			list := mend.Elements(v)
			if len(list) == 0 {
				return nil, true, nil
			}
			if named, ok := pairsOf(list); ok {
				return named, true, nil
			}
			if len(list) > 1 || list[0][0] != '{' {
				return nil, false, errors.New("its arguments are a list, not an object")
			}
			v, mended = list[0], true
			continue
		case '"':
			s, _ := mend.Text(v)
			trimmed := strings.TrimSpace(s)
			if trimmed == "" {
				return nil, mended, nil
			}
			if in := mend.Read(trimmed, 0, nil); in.OK && (strings.TrimSpace(trimmed[in.Next:]) == "" || cut) &&
				strings.IndexByte("{[\"n", trimmed[0]) >= 0 {
				v, mended = in.JSON, mended || in.Mended
				continue
			}
			if only, ok := t.only(); ok {
				return []mend.Field{{Key: only, Value: mend.Quote(s)}}, true, nil
			}
		}
		break
	}
	return nil, false, errors.New("its arguments are not a JSON object")
}

// pairsOf reads arguments written as a list of {"name": …, "value": …}.
func pairsOf(list []json.RawMessage) ([]mend.Field, bool) {
	var out []mend.Field
	for _, e := range list {
		in, _ := mend.Fields(e)
		named, valued := max(mend.Find(in, "name"), mend.Find(in, "key")), mend.Find(in, "value")
		if len(in) != 2 || named < 0 || valued < 0 {
			return nil, false
		}
		key, ok := mend.Text(in[named].Value)
		if !ok {
			return nil, false
		}
		out = append(out, mend.Field{Key: key, Value: in[valued].Value})
	}
	return out, true
}

// schema classifies arguments that may repeat the schema of a tool.
type schema int

const (
	noSchema   schema = iota
	definition        // the schema itself: the model repeats the tool's definition
	filledIn          // the schema with values in place of types
)

// schemaOf distinguishes arguments from the tool's schema, which models repeat when they
// explain their tools. Small models also write their arguments in place of the types
// inside "properties"; in that case schemaOf returns them.
func schemaOf(args []mend.Field, t *tool) ([]mend.Field, schema) {
	i := mend.Find(args, "properties")
	if i < 0 || t.has("properties") || args[i].Value[0] != '{' {
		return nil, noSchema
	}
	words := []string{"type", "properties", "required", "additionalProperties", "$schema", "title", "description"}
	if slices.ContainsFunc(args, func(f mend.Field) bool { return !slices.Contains(words, f.Key) }) {
		return nil, noSchema
	}
	inner, _ := mend.Fields(args[i].Value)
	for _, f := range inner {
		if list, ok := mend.Fields(f.Value); !ok || !hasAny(list, []string{"type", "description", "anyOf", "enum", "$ref"}) {
			return inner, filledIn
		}
	}
	return nil, definition
}

// allKnown reports whether calls is not empty and contains only known tools.
func (p *Parser) allKnown(calls []Call) bool {
	for _, c := range calls {
		if p.tools[c.Name] == nil {
			return false
		}
	}
	return len(calls) > 0
}
