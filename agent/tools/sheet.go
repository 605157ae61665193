package tools

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"sort"
	"strings"

	"github.com/handrail-bot/handrail/agent/llm"
)

// kind is the form of an argument.
type kind int

const (
	text   kind = iota
	number      // a whole number
	flag        // true or false
	words       // a list of strings
	free        // several forms; the tool reads the raw JSON
)

// param is one argument of a tool.
type param struct {
	name     string
	aliases  []string // further names; case, "_" and "-" never matter
	kind     kind
	required bool
	doc      string
	enum     []string
	schema   string // JSON schema without description, for free ones
}

// pathParam is the path argument that file tools share.
func pathParam(doc string, required bool) param {
	return param{name: "path", required: required, doc: doc,
		aliases: []string{"file", "filePath", "file_path", "filename", "target_file", "absolute_path", "relative_path", "uri"}}
}

// sheet says what a tool is called, what it is for and what it takes.
type sheet struct {
	name    string
	doc     string
	params  []param
	example string // arguments of a correct call, JSON
	spec    llm.ToolSpec
	lookup  map[string]string // folded spelling → name
}

// ready derives what follows from the sheet.
func (t *tool) ready() *tool {
	t.lookup = map[string]string{}
	props := make([]string, 0, len(t.params))
	required := []string{}
	for _, p := range t.params {
		t.lookup[foldKey(p.name)] = p.name
		for _, a := range p.aliases {
			t.lookup[foldKey(a)] = p.name
		}
		props = append(props, quote(p.name)+":"+p.schemaText())
		if p.required {
			required = append(required, quote(p.name))
		}
	}
	schema := `{"type":"object","properties":{` + strings.Join(props, ",") + `},"required":[` + strings.Join(required, ",") + `]}`
	t.spec = llm.ToolSpec{Name: t.name, Description: strings.TrimSpace(t.doc), Parameters: json.RawMessage(schema)}
	return t
}

func (p param) schemaText() string {
	base := p.schema
	switch {
	case base != "":
	case p.kind == number:
		base = `{"type":"integer"}`
	case p.kind == flag:
		base = `{"type":"boolean"}`
	case p.kind == words:
		base = `{"type":"array","items":{"type":"string"}}`
	default:
		base = `{"type":"string"}`
	}
	extra := `"description":` + quote(p.doc)
	if len(p.enum) > 0 {
		list := make([]string, len(p.enum))
		for i, e := range p.enum {
			list[i] = quote(e)
		}
		extra += `,"enum":[` + strings.Join(list, ",") + `]`
	}
	return strings.TrimSuffix(base, "}") + "," + extra + "}"
}

// quote writes s as JSON without escaping <, > and &.
func quote(s string) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil {
		return `""` // a string always encodes
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// foldKey evens out filePath, file_path, FilePath and file-path.
func foldKey(s string) string {
	return strings.ToLower(strings.NewReplacer("_", "", "-", "", " ", "").Replace(s))
}

// ignored are arguments that models add of their own accord to say why they
// call; nothing is lost without them.
func ignored(folded string) bool {
	switch folded {
	case "explanation", "reason", "reasoning", "thought", "thoughts", "rationale", "requiresapproval", "taskprogress", "purpose", "summary":
		return true
	}
	return false
}

// parse reads the arguments of a call.
func (s *sheet) parse(raw json.RawMessage) (args, error) {
	fields, err := s.object(raw)
	if err != nil {
		return args{}, err
	}
	a := args{sheet: s, values: map[string]json.RawMessage{}, as: map[string]string{}}
	keys := make([]string, 0, len(fields))
	for key := range fields {
		keys = append(keys, key)
	}
	sort.Strings(keys)
	for _, key := range keys {
		value := bytes.TrimSpace(fields[key])
		name, ok := s.lookup[foldKey(key)]
		if !ok {
			if ignored(foldKey(key)) {
				continue
			}
			return args{}, s.wrong("unknown argument %q; the arguments are %s", key, s.names())
		}
		if len(value) == 0 || bytes.Equal(value, []byte("null")) {
			continue
		}
		if old, twice := a.values[name]; twice && !bytes.Equal(old, value) {
			return args{}, s.wrong("argument %q is given twice, as %q and as %q, with different values", name, a.as[name], key)
		}
		a.values[name], a.as[name] = value, key
	}
	for _, p := range s.params {
		if _, ok := a.values[p.name]; p.required && !ok {
			return args{}, s.wrong("missing argument %q", p.name)
		}
	}
	return a, nil
}

// object finds the object of arguments, which some models wrap once more or
// write as a string.
func (s *sheet) object(raw json.RawMessage) (map[string]json.RawMessage, error) {
	for range 4 {
		raw = bytes.TrimSpace(raw)
		if len(raw) == 0 || bytes.Equal(raw, []byte("null")) || bytes.Equal(raw, []byte(`""`)) {
			return map[string]json.RawMessage{}, nil
		}
		var inner string
		if raw[0] == '"' && json.Unmarshal(raw, &inner) == nil {
			raw = json.RawMessage(inner)
			continue
		}
		var fields map[string]json.RawMessage
		if err := json.Unmarshal(raw, &fields); err != nil {
			return nil, s.wrong("the arguments are not a JSON object (%v)", err)
		}
		in, ok := s.wrapped(fields)
		if !ok {
			return fields, nil
		}
		raw = in
	}
	return nil, s.wrong("the arguments are nested too deeply")
}

// wrapped returns what stands inside {"arguments": …} and its like.
func (s *sheet) wrapped(fields map[string]json.RawMessage) (json.RawMessage, bool) {
	if len(fields) != 1 {
		return nil, false
	}
	for key, value := range fields {
		if _, mine := s.lookup[foldKey(key)]; mine {
			return nil, false
		}
		switch foldKey(key) {
		case "arguments", "args", "params", "parameters", "input", "kwargs":
			if _, ok := s.lookup["path"]; ok && (bytes.HasPrefix(value, []byte(`"<`)) || bytes.HasPrefix(value, []byte(`"\u003c`))) {
				return json.RawMessage(`{"path":` + string(value) + `}`), true // <file> elements
			}
			if v := bytes.TrimSpace(value); len(v) > 0 && (v[0] == '{' || v[0] == '"' && bytes.Contains(v, []byte("{"))) {
				return value, true
			}
		}
	}
	return nil, false
}

// wrong is an error about the call, with a correct one to copy.
func (s *sheet) wrong(format string, values ...any) error {
	return errors.New(s.name + ": " + fmt.Sprintf(format, values...) +
		".\nA correct call: {\"name\":" + quote(s.name) + ",\"arguments\":" + s.example + "}")
}

func (s *sheet) names() string {
	var out []string
	for _, p := range s.params {
		out = append(out, p.name)
	}
	if len(out) == 0 {
		return "none"
	}
	return strings.Join(out, ", ")
}
