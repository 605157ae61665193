package policy

import (
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"

	"go.yaml.in/yaml/v4"
)

// maxConfig is the largest configuration that is read, in bytes.
const maxConfig = 128 << 10

// ParseConfig reads one configuration document, strictly: an unknown key, a
// value of the wrong type, a second document or an alias bomb is an error
// that names the file and the line and, for a slip of the keyboard, what was
// probably meant. name is the file's name, for errors only. An empty document
// is the zero Config.
func ParseConfig(name string, data []byte) (Config, error) {
	c, err := parseConfig(data)
	if err != nil {
		return Config{}, fmt.Errorf("parse config %s: %w", name, err)
	}
	return c, nil
}

func parseConfig(data []byte) (Config, error) {
	var c Config
	doc, err := LoadStrict(data, &c)
	if err != nil {
		return Config{}, err
	}
	if err := c.Validate(); err != nil {
		return Config{}, doc.Locate(err)
	}
	return c, nil
}

// singleDocument returns the root node of the only document, or nil when
// there is none.
func singleDocument(data []byte) (*yaml.Node, error) {
	loader, err := yaml.NewLoader(strings.NewReader(string(data)))
	if err != nil {
		return nil, fmt.Errorf("read yaml: %w", err)
	}
	var doc, second yaml.Node
	if err := loader.Load(&doc); errors.Is(err, io.EOF) {
		return nil, nil
	} else if err != nil {
		return nil, plainYAML(err)
	}
	if err := loader.Load(&second); !errors.Is(err, io.EOF) {
		if err != nil {
			return nil, plainYAML(err)
		}
		return nil, fmt.Errorf("line %d: a second document begins; put everything into one", second.Line)
	}
	if len(doc.Content) == 0 {
		return nil, nil
	}
	return doc.Content[0], nil
}

// plainYAML returns an error of the decoder in the words of a person who wrote the
// file.
func plainYAML(err error) error {
	var many *yaml.LoadErrors
	if errors.As(err, &many) && len(many.Errors) > 0 {
		parts := make([]string, len(many.Errors))
		for i, e := range many.Errors {
			parts[i] = fmt.Sprintf("line %d: %s", e.Mark.Line, plainType(e.Message))
		}
		return errors.New(strings.Join(parts, "; "))
	}
	var one *yaml.LoadError
	if errors.As(err, &one) {
		return fmt.Errorf("line %d: %s", one.Mark.Line, one.Message)
	}
	return err
}

func plainType(message string) string {
	return strings.NewReplacer(
		"cannot construct ", "cannot use ", " into int", " as a whole number", " into bool", " as true or false",
		" into float64", " as a number", " into string", " as text", " into []", " as a list of ",
		"!!float ", "", "!!bool ", "", "!!str ", "", "!!int ", "", "!!seq", "a list", "!!map", "a mapping", "policy.", "",
	).Replace(plainStruct(message))
}

// checkNode checks a node against the type it will be read into: its keys must be
// known, its tags YAML's own. It does not follow aliases, so a bomb of them costs
// nothing here. The decoder counts them.
func checkNode(n *yaml.Node, t reflect.Type, depth int) error {
	if depth > 20 {
		return fmt.Errorf("line %d: nested too deeply", n.Line)
	}
	if n.Style&yaml.TaggedStyle != 0 {
		return fmt.Errorf("line %d: tag %s is not used here; write the plain value", n.Line, n.Tag)
	}
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case n.Kind == yaml.SequenceNode && t.Kind() == reflect.Slice:
		for _, item := range n.Content {
			if err := checkNode(item, t.Elem(), depth+1); err != nil {
				return err
			}
		}
	case n.Kind == yaml.MappingNode && t.Kind() == reflect.Struct:
		return checkMapping(n, t, depth)
	}
	return nil
}

func checkMapping(n *yaml.Node, t reflect.Type, depth int) error {
	fields := fieldsByKey(t)
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		if key.Value == "<<" {
			return fmt.Errorf("line %d: merge keys (<<) are not supported; write the keys out", key.Line)
		}
		field, ok := fields[key.Value]
		if !ok {
			return fmt.Errorf("line %d: unknown key %q%s", key.Line, key.Value, keyHint(key.Value, t))
		}
		if err := checkNode(n.Content[i+1], field, depth+1); err != nil {
			return err
		}
	}
	return nil
}

func fieldsByKey(t reflect.Type) map[string]reflect.Type {
	out := make(map[string]reflect.Type, t.NumField())
	for _, k := range keysOf(t) {
		f, _ := t.FieldByName(k.field)
		out[k.key] = f.Type
	}
	return out
}

type configKey struct{ key, field string }

// keysOf lists the keys of a configuration struct in their declared order.
func keysOf(t reflect.Type) []configKey {
	var out []configKey
	for _, f := range reflect.VisibleFields(t) {
		key, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		if key != "" && key != "-" {
			out = append(out, configKey{key: key, field: f.Name})
		}
	}
	return out
}

func keyHint(word string, t reflect.Type) string {
	var names []string
	for _, k := range keysOf(t) {
		names = append(names, k.key)
	}
	plain := strings.ReplaceAll(strings.ToLower(word), "-", "_")
	if near := Nearest(plain, names); near != "" {
		return fmt.Sprintf(", did you mean %q?", near)
	}
	if t == reflect.TypeFor[Config]() && strings.EqualFold(word, "sensitiveFilePatterns") {
		return `, did you mean "sensitive_files"? Its entries are {pattern, approve: auto|required}`
	}
	return fmt.Sprintf("; known keys here: %s", strings.Join(names, ", "))
}

// withLine returns a validation error with the line of its key in front.
func withLine(root *yaml.Node, err error) error {
	var ke *keyError
	if !errors.As(err, &ke) {
		return err
	}
	n := root
	for _, step := range ke.path {
		next := child(n, step)
		if next == nil {
			break
		}
		n = next
	}
	return fmt.Errorf("line %d: %w", n.Line, err)
}

func child(n *yaml.Node, step any) *yaml.Node {
	switch s := step.(type) {
	case int:
		if n.Kind == yaml.SequenceNode && s < len(n.Content) {
			return n.Content[s]
		}
	case string:
		for i := 0; n.Kind == yaml.MappingNode && i+1 < len(n.Content); i += 2 {
			if n.Content[i].Value == s {
				return n.Content[i+1]
			}
		}
	}
	return nil
}
