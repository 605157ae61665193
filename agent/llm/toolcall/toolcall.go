// Package toolcall finds tool calls in the text of a model. It knows the markup of many
// families of models (see the table of dialects), mends JSON as small models write it,
// and distinguishes calls from prose, quotations and examples.
//
// A text is scanned once from left to right (scan.go). At a possible beginning of a call
// the corresponding dialect reads on. Its result is a segment; the text outside of
// segments is prose. The time is linear in the length of the text, nesting is bounded,
// and no input causes a panic.
package toolcall

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"

	"github.com/handrail-bot/handrail/agent/llm"

	"github.com/handrail-bot/handrail/agent/llm/mend"
)

// Call is one call found in text. Name is canonical. Arguments is a JSON object.
// Truncated means that the text ended inside the call, Repaired that the JSON had to be
// mended; Dialect then names its format, see [dialects].
type Call struct {
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
	Truncated bool            `json:"truncated,omitempty"`
	Repaired  bool            `json:"repaired,omitempty"`
	Dialect   string          `json:"dialect,omitempty"`
}

// Parsed is a parsed text: its calls in order, the text without their markup, and errors
// for supposed calls that could not be read.
type Parsed struct {
	Calls  []Call   `json:"calls"`
	Text   string   `json:"text"`
	Errors []string `json:"errors"`
}

// Parser finds calls of known tools. It is immutable and safe for concurrent use.
type Parser struct {
	tools     map[string]*tool
	folded    map[string]string // names by their folded form, without case and separators
	canonical func(string) string
	marks     marks
	readers   map[string]reader // by opening mark
	lines     [256][]reader     // by the first byte of a line
	forms     forms
}

// New returns a parser for the given tools. canonical maps spellings and aliases to the
// names in specs; nil is the identity.
func New(specs []llm.ToolSpec, canonical func(string) string) *Parser {
	if canonical == nil {
		canonical = func(s string) string { return s }
	}
	p := &Parser{
		tools:     map[string]*tool{},
		folded:    map[string]string{},
		canonical: canonical,
		marks:     marks{},
		readers:   map[string]reader{},
	}
	for _, s := range specs {
		p.tools[s.Name] = newTool(s.Parameters)
		p.folded[fold(s.Name)] = s.Name
	}
	for _, d := range dialects() {
		for _, name := range d.opens {
			n := 1 + strings.Count(name, "|")/2
			p.marks[name], p.marks[name[:n]+"/"+name[n:]], p.readers[name] = opens, closes, d.reader()
		}
		for _, name := range d.closes {
			p.marks[name] = closes
		}
		for _, name := range d.inside {
			p.marks[name] = inside
		}
		for _, c := range []byte(d.line) {
			p.lines[c] = append(p.lines[c], d.reader())
		}
	}
	return p
}

// Parse parses a complete text. A text without calls is returned unchanged. Otherwise the
// white space around removed markup is normalized: it is removed at the ends of the text,
// and between two pieces of prose the part with more lines, before or after the markup,
// is kept.
func (p *Parser) Parse(text string) Parsed {
	s := newScanner(p, text, false)
	s.scan()
	return s.result()
}

// Partial returns the offset of the first call markup, complete or still growing, in a
// text that is being streamed, or len(text). The text before it can be shown. Prose that
// looks like the beginning of a call is held back only until it is clear that it is not
// one.
func (p *Parser) Partial(text string) int {
	s := newScanner(p, text, true)
	s.scan()
	return s.partial()
}

// Object converts the arguments of a native call to a JSON object. The server may have
// passed on an object, a JSON string that contains one, or JSON as small models write it.
func (p *Parser) Object(raw json.RawMessage) (args json.RawMessage, repaired bool, err error) {
	if len(bytes.TrimSpace(raw)) == 0 {
		return emptyObject, false, nil
	}
	in := mend.Read(string(raw), 0, nil)
	if in.OK && len(bytes.TrimSpace(raw[in.Next:])) == 0 {
		if list, mended, err := arguments(in.JSON, nil, false); err == nil {
			return mend.Object(list), in.Mended || mended, nil
		}
	}
	return nil, false, errors.New(
		`the arguments are not a JSON object; send an object with the arguments by name, such as {"path": "PATH"}, or {} when there are none`,
	)
}

// namePrefixes are prefixes that some models add to the name of a tool.
var namePrefixes = [...]string{
	"functions.", "function.", "functions:", "default_api.", "default_api:", "tools.", "tool.", "tool:",
	"namespace.", "call:", "multi_tool_use.", "api.",
}

// Canonical returns the name of a known tool for any of its spellings, and reports
// whether there is such a tool.
func (p *Parser) Canonical(name string) (string, bool) {
	if _, ok := p.tools[name]; ok || name == "" {
		return name, ok
	}
	name = strings.Trim(cutTokens(name), " \t\r\n`<>\"'*")
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
	if i := strings.LastIndexByte(bare, ':'); i > 0 && i+1 < len(bare) && strings.Trim(bare[i+1:], "0123456789") == "" {
		bare = bare[:i] // Kimi appends an index: read_file:0
	}
	for _, n := range [...]string{bare, p.canonical(bare), p.canonical(name), p.folded[fold(bare)], p.qualified(bare)} {
		if _, ok := p.tools[n]; ok {
			return n, true
		}
	}
	return p.canonical(bare), false
}

// IsTag reports whether a tag is named like a tool or one of its arguments and may be
// part of a call. A nil parser has no tools.
func (p *Parser) IsTag(name string) bool {
	if p == nil {
		return false
	}
	if _, ok := p.Canonical(name); ok {
		return true
	}
	for _, t := range p.tools {
		if t.has(name) {
			return true
		}
	}
	return false
}

// tokenStarts are the beginnings of control tokens, in their original and in their
// neutralized form.
var tokenStarts = [...]string{"<|", "<｜", "<¦", "</", "[TOOL_", "[ARGS]", "[CALL_ID]", "[¦"}

// cutTokens removes the control tokens that a model wrote before or after the name of a
// tool, such as read_file<|channel|>commentary.
func cutTokens(name string) string {
	for {
		at := -1
		for _, start := range tokenStarts {
			if i := strings.Index(name, start); i >= 0 && (at < 0 || i < at) {
				at = i
			}
		}
		if at < 0 {
			return name
		}
		if before := strings.TrimSpace(name[:at]); before != "" && before != "assistant" {
			return before
		}
		rest := name[at:]
		if to := recipient(rest); to != "" { // <|channel|>commentary to=functions.read_file
			return cutTokens(to)
		}
		end := strings.IndexAny(rest, ">]")
		if end < 0 || end+1 == len(rest) {
			return name
		}
		name = rest[end+1:]
	}
}

// qualified returns the tool after the prefix of a server or a name space, or "":
// repo.read_file, mcp__server__read_file, tools:read_file. Aliases do not count here:
// git.read is not read_file.
func (p *Parser) qualified(name string) string {
	i := strings.LastIndexAny(name, ".:/") + 1
	if at := strings.LastIndex(name, "__"); at >= 0 {
		i = max(i, at+2)
	}
	if i == 0 {
		return ""
	}
	return p.folded[fold(name[i:])]
}

// fold normalizes case and separators.
func fold(name string) string {
	out := make([]byte, 0, 64)
	for i := range len(name) {
		if c := name[i]; !isSeparator(c) {
			out = append(out, lower(c))
		}
	}
	return string(out)
}

// sameFolded reports whether two names are equal after [fold].
func sameFolded(a, b string) bool {
	i, j := 0, 0
	for {
		for i < len(a) && isSeparator(a[i]) {
			i++
		}
		for j < len(b) && isSeparator(b[j]) {
			j++
		}
		if i == len(a) || j == len(b) {
			return i == len(a) && j == len(b)
		}
		if lower(a[i]) != lower(b[j]) {
			return false
		}
		i, j = i+1, j+1
	}
}

func isSeparator(c byte) bool { return c == '_' || c == '-' || c == ' ' || c == '.' }

func lower(c byte) byte {
	if c >= 'A' && c <= 'Z' {
		c += 'a' - 'A'
	}
	return c
}
