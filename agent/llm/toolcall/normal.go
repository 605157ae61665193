package toolcall

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// How models name the parts of a call, the usual name first.
var (
	nameFields  = [...]string{"name", "tool_name", "tool", "function", "function_name", "toolName", "functionName", "recipient_name", "action", "command_name"}
	argFields   = [...]string{"arguments", "args", "params", "parameters", "input", "tool_input", "action_input", "tool_args", "tool_arguments", "kwargs", "toolInput", "function_args", "inputs"}
	metaFields  = [...]string{"id", "type", "index", "call_id", "tool_call_id", "callId", "tool_use_id"}
	wrapFields  = [...]string{"tool_calls", "tool_call", "function_call", "function", "calls", "tool_uses", "tool_use", "toolCall", "functionCall", "function_calls", "actions", "tool", "command", "invoke"}
	emptyObject = json.RawMessage("{}")
)

// found is what one value means: calls, or why it is none.
type found struct {
	calls  []Call
	err    string
	strict bool // every call names a known tool and has its arguments in a field of their own

	definition bool // describes tools and calls none
}

// source says where a JSON value stood and how it was read.
type source struct {
	explicit bool // inside call markup
	repaired bool
	open     int  // containers of the value that the text's end left open
	cutText  bool // ended inside a string
}

// calls finds the calls that a valid JSON value stands for.
func (p *Parser) calls(v []byte, src source) found {
	return p.callsIn(bytes.TrimSpace(v), src, 0)
}

func (p *Parser) callsIn(v []byte, src source, depth int) found {
	if depth > 4 || len(v) == 0 {
		return found{err: "it is not an object with \"name\" and \"arguments\""}
	}
	switch v[0] {
	case '[':
		return p.callList(elements(v), src, depth)
	case '{':
		list, _ := fields(v)
		return p.callObject(list, src, depth)
	case '"':
		s, _ := text(v)
		if in := readJSON(s, 0, nil); in.ok && src.explicit && strings.TrimSpace(s[in.next:]) == "" && !src.cutText {
			src.repaired = src.repaired || in.repaired
			return p.callsIn(in.json, src, depth+1)
		}
	}
	return found{err: "it is not an object with \"name\" and \"arguments\""}
}

func (p *Parser) callList(list []json.RawMessage, src source, depth int) found {
	out := found{strict: true}
	if len(list) == 0 {
		return found{err: "it holds no call"}
	}
	for i, e := range list {
		in := src
		in.open, in.cutText = 0, false
		if i == len(list)-1 {
			in.open, in.cutText = max(src.open-1, 0), src.cutText
		}
		f := p.callsIn(e, in, depth+1)
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

func (p *Parser) callObject(list []field, src source, depth int) found {
	lowerFields(list)
	for _, w := range wrapFields {
		i, ok := find(list, w)
		if !ok {
			continue
		}
		v := list[i].value
		if v[0] != '{' && v[0] != '[' || v[0] == '{' && w == "function" && hasOther(list, nameFields[:3]) {
			continue
		}
		in := src
		in.open, in.cutText = 0, false
		if i == len(list)-1 {
			in.open, in.cutText = max(src.open-1, 0), src.cutText
		}
		if f := p.callsIn(v, in, depth+1); len(f.calls) > 0 || f.definition || f.err != "" && v[0] == '[' {
			return f
		}
	}
	at := p.nameField(list)
	if at < 0 {
		return p.keyed(list, src)
	}
	if src.cutText && src.open > 0 && at == len(list)-1 {
		return found{err: "the answer was cut off inside the name of a tool"}
	}
	name, _ := text(list[at].value)
	return p.call(name, at, list, src)
}

// find returns the index of a member.
func find(list []field, key string) (int, bool) {
	for i, f := range list {
		if f.key == key {
			return i, true
		}
	}
	return 0, false
}

func hasOther(list []field, keys []string) bool {
	for _, k := range keys {
		if _, ok := find(list, k); ok {
			return true
		}
	}
	return false
}

// nameField returns the index of the member that names the tool: the first
// that names a known one, else the first that could be a name at all.
func (p *Parser) nameField(list []field) int {
	best := -1
	for _, key := range nameFields {
		i, ok := find(list, key)
		if !ok {
			continue
		}
		s, isText := text(list[i].value)
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

// maxName bounds the name of a tool.
const maxName = 128

// isName says whether s can be the name of a tool.
func isName(s string) bool {
	s = strings.TrimSpace(s)
	if s == "" || len(s) > maxName {
		return false
	}
	letter := false
	for i := range len(s) {
		c := s[i]
		if !isWord(c) && strings.IndexByte(".:-/ ()", c) < 0 && c < 0x80 {
			return false
		}
		letter = letter || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
	}
	return letter
}

// keyed reads {"read_file": {"path": …}}, which counts only in markup.
func (p *Parser) keyed(list []field, src source) found {
	var out found
	for i, f := range list {
		name, known := p.Canonical(f.key)
		if !src.explicit || !known || f.value[0] != '{' && !isNull(f.value) {
			out.calls = nil
			break
		}
		args, _ := fields(orEmpty(f.value))
		out.calls = append(out.calls, Call{Name: name, Arguments: object(args), Repaired: src.repaired,
			Truncated: i == len(list)-1 && src.open > 0})
	}
	if len(out.calls) > 0 {
		return out
	}
	if src.open > 0 {
		return found{err: "the answer was cut off before the call named a tool"}
	}
	return found{err: `it has no "name" that says which tool to call`}
}

func orEmpty(v json.RawMessage) json.RawMessage {
	if isNull(v) {
		return emptyObject
	}
	return v
}

// call builds the call whose name stands in member at.
func (p *Parser) call(written string, at int, list []field, src source) found {
	name, known := p.Canonical(written)
	t := p.tools[name]
	c := Call{Name: name, Repaired: src.repaired, Truncated: src.open > 0}
	in, inAt, rest := argumentField(list, at, t)
	if inAt < 0 {
		c.Arguments = object(topLevel(rest, t))
		return found{calls: []Call{c}, strict: false}
	}
	if !src.explicit && (in[0] == '[' || in[0] == '"' && src.open == 0 && !callText(in)) {
		return found{err: fmt.Sprintf("in the call to %s its arguments are not a JSON object", name)}
	}
	args, repaired, err := p.arguments(in, t, src.cutText && inAt == len(list)-1)
	if err != nil {
		return found{err: fmt.Sprintf("in the call to %s %v", name, err)}
	}
	switch inner, kind := schemaOf(args, t); kind {
	case definition:
		return found{definition: true}
	case filledIn:
		args, repaired = inner, true
	}
	for _, f := range rest {
		if _, there := find(args, f.key); !there && t.has(f.key) && !contains(metaFields[:], f.key) {
			args = append(args, f)
		}
	}
	c.Arguments, c.Repaired = object(args), c.Repaired || repaired
	return found{calls: []Call{c}, strict: known}
}

// argumentField finds the member that holds the arguments, -1 when they stand
// beside the name, and what else is in the object.
func argumentField(list []field, at int, t *tool) (json.RawMessage, int, []field) {
	inAt := -1
	for _, key := range argFields {
		i, ok := find(list, key)
		if !ok || i == at {
			continue
		}
		own := t.has(key) && list[i].value[0] != '{'
		if !own {
			inAt = i
			break
		}
	}
	var rest []field
	for i, f := range list {
		if i != at && i != inAt {
			rest = append(rest, f)
		}
	}
	if inAt < 0 {
		return nil, -1, rest
	}
	return list[inAt].value, inAt, rest
}

// topLevel drops what describes the call and is no argument of it.
func topLevel(rest []field, t *tool) []field {
	out := rest[:0:0]
	for _, f := range rest {
		if contains(metaFields[:], f.key) && !t.has(f.key) {
			continue
		}
		if f.key == "function" && f.value[0] == '{' {
			continue
		}
		out = append(out, f)
	}
	return out
}

// arguments reads the value of an arguments field.
func (p *Parser) arguments(v json.RawMessage, t *tool, cut bool) ([]field, bool, error) {
	repaired := false
	for range 3 {
		v = bytes.TrimSpace(v)
		if isNull(v) {
			return nil, repaired, nil
		}
		switch v[0] {
		case '{':
			list, _ := fields(v)
			return list, repaired, nil
		case '[':
			list := elements(v)
			if len(list) == 0 {
				return nil, true, nil
			}
			if named, ok := pairsOf(list); ok {
				return named, true, nil
			}
			if len(list) > 1 || list[0][0] != '{' {
				return nil, false, errors.New("its arguments are a list, not an object")
			}
			v, repaired = list[0], true
			continue
		case '"':
			s, _ := text(v)
			trimmed := strings.TrimSpace(s)
			if trimmed == "" {
				return nil, repaired, nil
			}
			if in := readJSON(trimmed, 0, nil); in.ok && (strings.TrimSpace(trimmed[in.next:]) == "" || cut) && strings.IndexByte("{[\"n", trimmed[0]) >= 0 {
				v, repaired = in.json, repaired || in.repaired
				continue
			}
			if only, ok := t.only(); ok {
				return []field{{key: only, value: quoted(s)}}, true, nil
			}
		}
		break
	}
	return nil, false, errors.New("its arguments are not a JSON object")
}
