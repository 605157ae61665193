package tools

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"sort"
	"strings"

	"github.com/handrail-bot/handrail/agent/llm"
	"github.com/handrail-bot/handrail/policy"
	"github.com/handrail-bot/handrail/policy/typo"
)

// Form is the form of an argument.
type Form int

// The forms of arguments. The zero value is a string.
const (
	text   Form = iota
	Number      // a whole number
	Flag        // true or false
	words       // a list of strings
	Free        // several forms; the tool parses the raw JSON
)

// Param is one argument of a tool.
type Param struct {
	Name     string
	Aliases  []string // other names; case, "_" and "-" are ignored
	Form     Form
	Required bool
	Asked    bool   // announced as required, although the tool accepts substitutes
	Doc      string // "" accepts the argument without announcing it to models
	Few      bool   // included in the short description although optional
	Edits    bool   // relevant only if files may be changed
	Enum     []string
	Schema   string // JSON schema without description, for Free
}

// PathParam returns the path argument shared by the file tools.
func PathParam(doc string, required bool) Param {
	return Param{Name: "path", Required: required, Doc: doc,
		Aliases: []string{
			"file", "filePath", "file_path", "filename", "target_file", "absolute_path", "relative_path", "uri",
		}}
}

// Sheet describes a tool: its name, purpose and arguments.
type Sheet struct {
	Name      string
	Aliases   []string // see [Spec]
	Kind      policy.Kind
	Repeats   int
	Essential bool
	Small     bool
	Edits     bool
	Outer     bool
	Modes     []string
	Beside    Beside
	Untold    bool
	Served    Served
	Doing     string
	Doc       string
	Few       string // short form of Doc; "" means Doc
	Reads     string // replaces both if no file may be changed; "" means neither
	Params    []Param
	Example   string // arguments of a correct call, in JSON
	Tests     string // of a tool that runs commands: the project's test command; "" if unknown
	spec      Spec
	lookup    map[string]string // folded spelling → name
}

// ready returns the sheet with its derived fields set.
func (s Sheet) ready() Sheet {
	s.lookup = map[string]string{}
	for _, p := range s.Params {
		s.lookup[FoldKey(p.Name)] = p.Name
		for _, a := range p.Aliases {
			s.lookup[FoldKey(a)] = p.Name
		}
	}
	s.spec = Spec{
		ToolSpec: s.modelSpec(false, false),
		told: [4]llm.ToolSpec{
			s.modelSpec(false, false),
			s.modelSpec(true, false),
			s.modelSpec(false, true),
			s.modelSpec(true, true),
		},
		Aliases:   s.Aliases,
		Kind:      s.Kind,
		Repeats:   s.Repeats,
		Essential: s.Essential,
		Small:     s.Small,
		Edits:     s.Edits,
		Outer:     s.Outer,
		Modes:     s.Modes,
		Beside:    s.Beside,
		Untold:    s.Untold,
		Served:    s.Served,
		Doing:     s.Doing,
	}
	return s
}

// advisedError returns the description for a model, in short form or without file changes.
func (s Sheet) modelSpec(few, reads bool) llm.ToolSpec {
	var props, required []string
	for _, p := range s.Params {
		needed := p.Required || p.Asked
		if p.Doc != "" && (needed || !few || p.Few) && (!reads || !p.Edits) {
			props = append(props, quote(p.Name)+":"+p.schemaText())
		}
		if needed {
			required = append(required, quote(p.Name))
		}
	}
	doc := s.Doc
	if few {
		doc = cmp.Or(s.Few, doc)
	}
	if reads {
		doc = cmp.Or(s.Reads, doc)
	}
	schema := `{"type":"object","properties":{` + strings.Join(props, ",") + `},"required":[` + strings.Join(required, ",") + `]}`
	return llm.ToolSpec{Name: s.Name, Description: strings.TrimSpace(doc), Parameters: json.RawMessage(schema)}
}

func (p Param) schemaText() string {
	base := p.Schema
	switch {
	case base != "":
	case p.Form == Number:
		base = `{"type":"integer"}`
	case p.Form == Flag:
		base = `{"type":"boolean"}`
	case p.Form == words:
		base = `{"type":"array","items":{"type":"string"}}`
	default:
		base = `{"type":"string"}`
	}
	extra := `"description":` + quote(p.Doc)
	if len(p.Enum) > 0 {
		list := make([]string, len(p.Enum))
		for i, e := range p.Enum {
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

// FoldKey returns the same key for filePath, file_path, FilePath and file-path.
func FoldKey(s string) string {
	return strings.ToLower(strings.Map(func(r rune) rune {
		if r == '_' || r == '-' || r == ' ' {
			return -1
		}
		return r
	}, s))
}

// ignored reports whether an argument is one that models add to explain a call. It
// can be dropped.
func ignored(folded string) bool {
	switch folded {
	case "explanation",
		"reason", "reasoning", "thought", "thoughts", "rationale", "requiresapproval", "taskprogress", "purpose",
		"summary":
		return true
	}
	return false
}

// isZero reports whether a value is empty or zero, so that an unknown argument with it
// can be dropped.
func isZero(value []byte) bool {
	switch string(value) {
	case "", "null", "false", `""`, "0", "[]", "{}":
		return true
	}
	return false
}

// suggestion returns a question that suggests the argument meant by an unknown one, or "".
func (s *Sheet) suggestion(unknown string, given map[string]json.RawMessage) string {
	best, least := "", 1+len(unknown)/3
	for _, p := range s.Params {
		for _, spelled := range append([]string{p.Name}, p.Aliases...) {
			if n := typo.Errors(FoldKey(unknown), FoldKey(spelled)); n <= least && given[p.Name] == nil {
				best, least = p.Name, n-1
			}
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf(" (did you mean %q?)", best)
}

// parse reads the arguments of a call.
func (s *Sheet) parse(raw json.RawMessage) (Args, error) {
	fields, err := s.object(raw)
	if err != nil {
		return Args{}, err
	}
	a := Args{sheet: s, Values: map[string]json.RawMessage{}, as: map[string]string{}}
	keys := make([]string, 0, len(fields))
	for key := range fields {
		keys = append(keys, key)
	}
	sort.Strings(keys)
	unknown := ""
	for _, key := range keys {
		value := bytes.TrimSpace(fields[key])
		name, ok := s.lookup[FoldKey(key)]
		if !ok {
			if ignored(FoldKey(key)) || isZero(value) {
				continue
			}
			unknown = cmp.Or(unknown, key)
			continue
		}
		if len(value) == 0 || bytes.Equal(value, []byte("null")) {
			continue
		}
		if old, twice := a.Values[name]; twice && !bytes.Equal(old, value) {
			return Args{}, s.wrong(
				a.Values,
				"argument %q is given twice, as %q and as %q, with different values",
				name,
				a.as[name],
				key,
			)
		}
		a.Values[name], a.as[name] = value, key
	}
	if unknown != "" {
		return Args{}, s.wrong(
			a.Values,
			"unknown argument %q%s; the arguments are %s",
			unknown,
			s.suggestion(unknown, a.Values),
			s.names(),
		)
	}
	for _, p := range s.Params {
		if _, ok := a.Values[p.Name]; p.Required && !ok {
			return Args{}, s.wrong(a.Values, "missing argument %q", p.Name)
		}
	}
	return a, nil
}

// object returns the object with the arguments. Some models wrap it again, or write
// it as a string.
func (s *Sheet) object(raw json.RawMessage) (map[string]json.RawMessage, error) {
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
			return nil, s.wrong(nil, "the arguments are not a JSON object (%v)", err)
		}
		in, ok := s.wrapped(fields)
		if !ok {
			return fields, nil
		}
		raw = in
	}
	return nil, s.wrong(nil, "the arguments are nested too deeply")
}

// wrapped returns the value inside {"arguments": …} and similar wrappers.
func (s *Sheet) wrapped(fields map[string]json.RawMessage) (json.RawMessage, bool) {
	if len(fields) != 1 {
		return nil, false
	}
	for key, value := range fields {
		if _, mine := s.lookup[FoldKey(key)]; mine {
			return nil, false
		}
		switch FoldKey(key) {
		case "arguments", "args", "params", "parameters", "input", "kwargs":
			if _, ok := s.lookup["path"]; ok &&
				(bytes.HasPrefix(value, []byte(`"<`)) || bytes.HasPrefix(value, []byte(`"\u003c`))) {
				return json.RawMessage(`{"path":` + string(value) + `}`), true // <file> elements
			}
			if v := bytes.TrimSpace(value); len(v) > 0 && (v[0] == '{' || v[0] == '"' && bytes.Contains(v, []byte("{"))) {
				return value, true
			}
		}
	}
	return nil, false
}

// wrong returns an error about a call with these arguments, with a correct call to
// copy.
func (s *Sheet) wrong(given map[string]json.RawMessage, format string, values ...any) error {
	say := fmt.Sprintf(format, values...)
	return wrongCall(s.Name + ": " + say + ".\nA correct call: {\"name\":" + quote(s.Name) + ",\"arguments\":" + s.template(given, say) + "}")
}

// wrongCall is an error of the arguments of a call.
type wrongCall string

func (e wrongCall) Error() string { return string(e) }

func (s *Sheet) names() string {
	var out []string
	for _, p := range s.Params {
		if p.Doc != "" {
			out = append(out, p.Name)
		}
	}
	if len(out) == 0 {
		return "none"
	}
	return strings.Join(out, ", ")
}
