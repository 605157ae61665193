package strict

import (
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/handrail-bot/handrail/policy/pattern"
	"github.com/handrail-bot/handrail/policy/typo"
)

// maxFile is the maximum size of a file, in bytes.
const maxFile = 128 << 10

// Read decodes one YAML document into the struct that into points to. An unknown key, a
// value of the wrong type, a tag, a merge key or a second document is a fault; the error
// contains all of them, as [Faults]. In that case into holds the readable values, and the
// document still provides locations. An empty document changes nothing.
func Read(data []byte, into any) (*Document, error) {
	if len(data) > maxFile {
		return &Document{}, Faults{{Text: fmt.Sprintf("the file has %d bytes, at most %d are read", len(data), maxFile)}}
	}
	root, err := Single(data)
	if err != nil || root == nil || root.Kind == yaml.ScalarNode && root.Tag == "!!null" {
		return &Document{}, err
	}
	if root.Kind != yaml.MappingNode {
		return &Document{}, Faults{on(root, nil, "expected keys and values, such as `model: qwen3:8b`")}
	}
	var found reader
	found.node(root, reflect.TypeOf(into).Elem(), nil)
	doc := &Document{root: root}
	if found.deep {
		return &Document{}, found.faults
	}
	err = found.faults.Err()
	options := []yaml.Option{yaml.WithKnownFields()}
	if err != nil { // unknown keys are reported already
		options = nil
	}
	return doc, Both(err, doc.paths(plain(yaml.Load(data, into, options...)), reflect.TypeOf(into)))
}

// Single returns the root of the only document, or nil if there is none.
func Single(data []byte) (*yaml.Node, error) {
	loader, err := yaml.NewLoader(strings.NewReader(string(data)))
	if err != nil {
		return nil, fmt.Errorf("read yaml: %w", err)
	}
	var doc, second yaml.Node
	if err := loader.Load(&doc); errors.Is(err, io.EOF) {
		return nil, nil
	} else if err != nil {
		return nil, adviseOn(err, data)
	}
	if err := loader.Load(&second); !errors.Is(err, io.EOF) {
		if err != nil {
			return nil, adviseOn(err, data)
		}
		return nil, Faults{on(&second, nil, "a second document begins; put everything into one")}
	}
	if len(doc.Content) == 0 {
		return nil, nil
	}
	return doc.Content[0], nil
}

func on(n *yaml.Node, path []any, format string, args ...any) Fault {
	return Fault{Path: path, Line: n.Line, Column: n.Column, Text: fmt.Sprintf(format, args...)}
}

// plain rewords a decoder error for the author of the file.
func plain(err error) error {
	var many *yaml.LoadErrors
	if errors.As(err, &many) && len(many.Errors) > 0 {
		var out Faults
		for _, e := range many.Errors {
			out = append(out, Fault{Line: e.Mark.Line, Column: e.Mark.Column, Text: plainType(e.Message)})
		}
		return out
	}
	var one *yaml.LoadError
	if errors.As(err, &one) {
		return Faults{{Line: one.Mark.Line, Column: one.Mark.Column, Text: one.Message}}
	}
	return err
}

// startless is the decoder's message about a character that cannot begin a token.
const startless = "found character that cannot start any token"

// adviseOn adds advice to syntax errors about the character at their location.
func adviseOn(err error, data []byte) error {
	err = plain(err)
	var all Faults
	if !errors.As(err, &all) {
		return err
	}
	lines := strings.Split(string(data), "\n")
	for i, f := range all {
		at := ""
		if f.Line > 0 && f.Line <= len(lines) && f.Column > 0 && f.Column <= len(lines[f.Line-1]) {
			at = lines[f.Line-1][f.Column-1:]
		}
		switch {
		case strings.Contains(f.Text, "tab character"), f.Text == startless && strings.HasPrefix(at, "\t"):
			all[i].Text = "a tab stands where the line begins: use spaces"
		case f.Text == startless && at != "":
			all[i].Text = fmt.Sprintf("a text that begins with %.1s must be in quotes", at)
		}
	}
	return all
}

// quoted matches the decoder's message about a quoted number or boolean, which YAML reads
// as text.
var quoted = pattern.Lazy("!!str (`(?:-?[0-9.]+|true|false)`) into (?:u?int|float|bool)")

func plainType(message string) string {
	if m := quoted().FindStringSubmatch(message); m != nil {
		return m[1] + " stands in quotes, which makes a text of it: write it without them"
	}
	return strings.NewReplacer(
		"cannot construct ", "cannot use ", " into int64", " as a whole number", " into int", " as a whole number",
		" into bool", " as true or false", " into float64", " as a number", " into string", " as text",
		" into []string", " as a list of texts", " into []int", " as a list of whole numbers", " into []",
		" as a list of ", "!!float ", "", "!!bool ", "", "!!str ", "", "!!int ", "", "!!seq", "a list", "!!map",
		"a mapping", "policy.", "",
	).Replace(plainStruct(message))
}

var structName = pattern.Lazy(`into (\[\])?\*?[a-z]+\.[A-Z]?[a-zA-Z]+$`)

// plainStruct removes the name of a struct from a decoder message, because it is
// meaningless to the author of a configuration.
func plainStruct(message string) string {
	return structName().ReplaceAllStringFunc(message, func(m string) string {
		if strings.HasPrefix(m, "into []") {
			return "as a list of keys and values"
		}
		return "as keys and values"
	})
}

// paths adds the paths of the faulty nodes to a decoder error. If keys are expected, it
// shows the form of the value.
func (d *Document) paths(err error, t reflect.Type) error {
	if err == nil {
		return nil
	}
	out := Of(err)
	for i := range out {
		out[i].Path = pathTo(d.root, out[i].Line, out[i].Column)
		if form := formOf(typeAt(t, out[i].Path)); form != "" && strings.HasSuffix(out[i].Text, "keys and values") {
			out[i].Text += ": write " + form
		}
	}
	return out
}

func pathTo(n *yaml.Node, line, column int) []any {
	if n.Line == line && n.Column == column && n.Kind != yaml.MappingNode {
		return []any{}
	}
	for i, c := range n.Content {
		var step any = i
		if n.Kind == yaml.MappingNode {
			if i%2 == 0 {
				continue
			}
			step = n.Content[i-1].Value
		}
		if p := pathTo(c, line, column); p != nil {
			return append([]any{step}, p...)
		}
	}
	return nil
}

// reader walks a document in parallel with the type that it is read into. It does not
// follow aliases, so an alias bomb costs nothing here; the decoder counts them.
type reader struct {
	faults Faults
	deep   bool                  // nested too deeply to be read
	listed map[reflect.Type]bool // types with keys that were already listed
}

// node checks for unknown keys, tags and excessive nesting.
func (r *reader) node(n *yaml.Node, t reflect.Type, path []any) {
	if len(path) > 20 {
		r.deep = true
		r.faults = append(r.faults, on(n, path, "nested too deeply"))
		return
	}
	if n.Style&yaml.TaggedStyle != 0 {
		r.faults = append(r.faults, on(n, path, "tag %s is not used here; write the plain value", n.Tag))
		return
	}
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case n.Kind == yaml.SequenceNode && t.Kind() == reflect.Slice:
		for i, item := range n.Content {
			r.node(item, t.Elem(), append(path[:len(path):len(path)], i))
		}
	case n.Kind == yaml.MappingNode && t.Kind() == reflect.Struct:
		r.mapping(n, t, path)
	case n.Kind == yaml.MappingNode && t.Kind() == reflect.Map:
		for i := 0; i+1 < len(n.Content); i += 2 {
			r.node(n.Content[i+1], t.Elem(), append(path[:len(path):len(path)], n.Content[i].Value))
		}
	}
}

func (r *reader) mapping(n *yaml.Node, t reflect.Type, path []any) {
	fields := map[string]reflect.Type{}
	for _, k := range Keys(t) {
		f, _ := t.FieldByName(k.Field)
		fields[k.Name] = f.Type
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, below := n.Content[i], append(path[:len(path):len(path)], n.Content[i].Value)
		field, ok := fields[key.Value]
		switch {
		case key.Value == "<<":
			r.faults = append(r.faults, on(key, below, "merge keys (<<) are not supported; write the keys out"))
		case !ok:
			r.faults = append(r.faults, on(key, below, "unknown key %q%s", key.Value, r.suggestion(key.Value, t)))
		default:
			r.node(n.Content[i+1], field, below)
		}
	}
}

// Key is a key of a configuration struct and the name of its field.
type Key struct{ Name, Field string }

// Keys lists the keys of a configuration struct in their declared order.
func Keys(t reflect.Type) []Key {
	var out []Key
	for _, f := range reflect.VisibleFields(t) {
		if name, _, _ := strings.Cut(f.Tag.Get("yaml"), ","); name != "" && name != "-" {
			out = append(out, Key{name, f.Name})
		}
	}
	return out
}

// renamed are the names of keys in other programs, with hints.
var renamed = map[string]string{
	"sensitivefilepatterns": `did you mean "sensitive_files"? Its entries are {pattern, approve: auto|required}`,
}

// suggestion returns a suggestion for an unknown key.
func (r *reader) suggestion(word string, t reflect.Type) string {
	var names []string
	for _, k := range Keys(t) {
		names = append(names, k.Name)
	}
	if near := typo.Nearest(strings.ReplaceAll(strings.ToLower(word), "-", "_"), names); near != "" {
		return fmt.Sprintf(", did you mean %q?", near)
	}
	if hint := renamed[strings.ToLower(word)]; hint != "" {
		return ", " + hint
	}
	if r.listed[t] {
		return ""
	}
	if r.listed == nil {
		r.listed = map[reflect.Type]bool{}
	}
	r.listed[t] = true
	return fmt.Sprintf("; known keys here: %s", strings.Join(names, ", "))
}
