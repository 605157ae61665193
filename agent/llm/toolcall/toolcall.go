// Package toolcall finds tool calls in what a model wrote as text. It knows
// the markup of many families of models (see the table of dialects), mends
// JSON as small models write it, and tells calls from prose, quotations and
// examples.
//
// Everything is read once, from left to right, by scanners: time is linear in
// the text, nesting is bounded, and no input makes it panic.
package toolcall

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"

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
	tools     map[string]*tool
	folded    map[string]string // names without case and separators
	canonical func(string) string
	marks     marks
}

// New returns a parser for the given tools. canonical maps spellings and
// aliases of names to the names in specs; nil stands for identity.
func New(specs []llm.ToolSpec, canonical func(string) string) *Parser {
	if canonical == nil {
		canonical = func(s string) string { return s }
	}
	p := &Parser{tools: map[string]*tool{}, folded: map[string]string{}, canonical: canonical, marks: newMarks()}
	for _, s := range specs {
		p.tools[s.Name] = newTool(s.Name, s.Parameters)
		p.folded[fold(s.Name)] = s.Name
	}
	return p
}

// Parse takes a complete text apart. A text without calls comes back as it
// is. Otherwise white space around removed markup is evened out: none is left
// at the ends of the text, and between two pieces of prose stays the white
// space from before or after the markup, whichever has more lines.
func (p *Parser) Parse(text string) Parsed {
	s := &scanner{p: p, t: text}
	s.scan()
	return s.result()
}

// Partial returns the offset at which call markup, complete or still
// growing, begins in text that is still being streamed, or len(text). What
// stands before it can be shown. Prose that looks like the beginning of a
// call is held back only until it is clear that it is none.
func (p *Parser) Partial(text string) int {
	s := &scanner{p: p, t: text, grow: true, hold: -1}
	s.scan()
	return s.partial()
}

// Object turns what a server passed on as the arguments of a native call (an
// object, a JSON string that holds one, or JSON as small models write it)
// into a JSON object.
func (p *Parser) Object(raw json.RawMessage) (args json.RawMessage, repaired bool, err error) {
	raw = bytes.TrimSpace(raw)
	for range 3 {
		if isNull(raw) {
			return emptyObject, repaired, nil
		}
		in := readJSON(string(raw), 0, nil)
		if !in.ok || len(bytes.TrimSpace(raw[in.next:])) > 0 {
			break
		}
		repaired = repaired || in.repaired
		switch in.json[0] {
		case '{':
			list, _ := fields(in.json)
			return object(list), repaired, nil
		case '"':
			s, _ := text(in.json)
			raw = json.RawMessage(strings.TrimSpace(s))
			continue
		case 'n':
			return emptyObject, repaired, nil
		case '[':
			list := elements(in.json)
			if len(list) == 0 {
				return emptyObject, true, nil
			}
			if len(list) == 1 && list[0][0] == '{' {
				raw, repaired = list[0], true
				continue
			}
		}
		break
	}
	return nil, false, errors.New(`the arguments are not a JSON object; send an object with the arguments by name, such as {"path": "README.md"}, or {} when there are none`)
}

// namePrefixes are what some models put before the name of a tool.
var namePrefixes = [...]string{"functions.", "function.", "functions:", "default_api.", "default_api:", "tools.", "tool.", "tool:", "namespace.", "call:", "multi_tool_use.", "api."}

// Canonical returns the name of a known tool for any spelling of it, and
// whether there is such a tool.
func (p *Parser) Canonical(name string) (string, bool) {
	name = strings.Trim(name, " \t\r\n`<>\"'*")
	if _, ok := p.tools[name]; ok {
		return name, true
	}
	bare := strings.TrimSuffix(name, "()")
	for _, prefix := range namePrefixes {
		if rest, ok := strings.CutPrefix(bare, prefix); ok && rest != "" {
			bare = rest
			break
		}
	}
	bare = cutNumber(bare)
	for _, n := range [...]string{bare, p.canonical(bare), p.canonical(name), p.folded[fold(bare)]} {
		if _, ok := p.tools[n]; ok {
			return n, true
		}
	}
	if n := p.qualified(bare); n != "" {
		return n, true
	}
	return p.canonical(bare), false
}

// qualified returns the tool that stands after the prefix of a server or a
// name space: repo.read_file, mcp__server__read_file, tools:read_file. "" when
// there is none. Aliases do not count here: git.read is not read_file.
func (p *Parser) qualified(name string) string {
	i := strings.LastIndexAny(name, ".:/") + 1
	if at := strings.LastIndex(name, "__"); at >= 0 {
		i = max(i, at+2)
	}
	if i == 0 {
		return ""
	}
	if _, ok := p.tools[name[i:]]; ok {
		return name[i:]
	}
	return p.folded[fold(name[i:])]
}

// cutNumber drops the index that Kimi appends: read_file:0.
func cutNumber(name string) string {
	i := strings.LastIndexByte(name, ':')
	if i <= 0 || i+1 == len(name) || strings.Trim(name[i+1:], "0123456789") != "" {
		return name
	}
	return name[:i]
}

// fold evens out case and separators.
func fold(name string) string {
	out := make([]byte, 0, 64)
	for i := range len(name) {
		if c := name[i]; c != '_' && c != '-' && c != ' ' && c != '.' {
			out = append(out, c|lowerBit(c))
		}
	}
	return string(out)
}
