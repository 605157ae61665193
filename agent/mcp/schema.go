package mcp

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// draft7 is the older draft of JSON Schema that is read as such. A schema of another draft
// is read as one of 2020-12.
const draft7 = "http://json-schema.org/draft-07/schema#"

// compile compiles a schema. References outside of it fail, and so does a schema that a
// value could not be checked against in the end.
func compile(schema json.RawMessage) (*jsonschema.Resolved, error) {
	var doc any
	if err := json.Unmarshal(schema, &doc); err != nil {
		return nil, err
	}
	c := &chains{root: doc, open: map[string]bool{}, done: map[string]bool{}}
	if err := c.walk(doc, 0); err != nil {
		return nil, err
	}
	var s jsonschema.Schema
	if err := json.Unmarshal(schema, &s); err != nil {
		return nil, err
	}
	if strings.HasSuffix(strings.TrimSuffix(s.Schema, "#"), "://json-schema.org/draft-07/schema") {
		s.Schema = draft7
	} else {
		s.Schema = ""
	}
	return s.Resolve(&jsonschema.ResolveOptions{Loader: func(*url.URL) (*jsonschema.Schema, error) {
		return nil, errors.New("a schema may refer only to itself") //control:mcp-local-references
	}})
}

// maxNesting is the maximum depth of a schema.
const maxNesting = 64

// chains follows the references of a schema that lead to other schemas for the same value.
// A chain that comes back to its beginning never reaches a part of the value.
type chains struct {
	root       any
	open, done map[string]bool // references by whether they are being followed, or were
}

// walk checks the chains that begin anywhere in v.
func (c *chains) walk(v any, depth int) error {
	if depth > maxNesting {
		return errors.New("the schema is nested too deeply")
	}
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			if err := c.walk(e, depth+1); err != nil {
				return err
			}
		}
	case map[string]any:
		if err := c.follow(v); err != nil {
			return err
		}
		if _, inner := v["$id"].(string); inner && depth > 0 {
			return errors.New("the schema holds another one with an address of its own")
		}
		for _, e := range v {
			if err := c.walk(e, depth+1); err != nil {
				return err
			}
		}
	}
	return nil
}

// follow checks the chains that begin at the schema v.
func (c *chains) follow(v any) error {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			if err := c.follow(e); err != nil {
				return err
			}
		}
	case map[string]any:
		if v["$dynamicRef"] != nil || v["$recursiveRef"] != nil {
			return errors.New("the schema has references that depend on the value")
		}
		if ref, ok := v["$ref"].(string); ok && strings.HasPrefix(ref, "#") && !c.done[ref] {
			if c.open[ref] {
				return fmt.Errorf("the reference %s leads to itself", ref) //control:mcp-endless-references
			}
			c.open[ref] = true
			if err := c.follow(c.target(ref)); err != nil {
				return err
			}
			c.done[ref] = true
		}
		for _, key := range [...]string{"allOf", "anyOf", "oneOf", "not", "if", "then", "else"} {
			if err := c.follow(v[key]); err != nil {
				return err
			}
		}
		for _, key := range [...]string{"dependentSchemas", "dependencies"} {
			by, _ := v[key].(map[string]any)
			for _, e := range by {
				if err := c.follow(e); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// target returns the part of the schema that a JSON pointer names, or nil.
func (c *chains) target(ref string) any {
	u, err := url.Parse(ref)
	if err != nil {
		return nil
	}
	v := c.root
	for _, key := range strings.Split(u.Fragment, "/")[1:] {
		switch in := v.(type) {
		case map[string]any:
			v = in[strings.NewReplacer("~1", "/", "~0", "~").Replace(key)]
		case []any:
			n, err := strconv.Atoi(key)
			if err != nil || n < 0 || n >= len(in) {
				return nil
			}
			v = in[n]
		default:
			return nil
		}
	}
	return v
}

// CheckArguments returns the first fault of a tool's arguments in words for the model, or
// "".
func CheckArguments(schema, arguments json.RawMessage) string {
	s, err := compile(schema)
	if err != nil {
		return "the schema of this tool cannot be used"
	}
	var v any
	if err := json.Unmarshal(arguments, &v); err != nil {
		return "the arguments are not JSON"
	}
	if err := s.Validate(v); err != nil {
		return fault(err.Error())
	}
	return ""
}

// maxFault is the maximum length of a fault: it can quote the arguments.
const maxFault = 600

// fault puts the name of the argument in place of the way through the schema.
func fault(text string) string {
	name := ""
	for {
		way, rest, ok := strings.Cut(strings.TrimPrefix(text, "validating "), ": ")
		if !ok || !strings.HasPrefix(text, "validating ") {
			break
		}
		if i := strings.Index(way, "/properties/"); i >= 0 {
			name = strings.ReplaceAll(way[i+len("/properties/"):], "/properties/", ".") + ": "
		}
		text = rest
	}
	return strings.ToValidUTF8(name+text[:min(len(text), maxFault)], "")
}

// Sample returns arguments with the required members of a schema, to copy.
func Sample(schema json.RawMessage) string {
	var s struct {
		Properties map[string]struct {
			Type    any
			Enum    []any
			Default any
		}
		Required []string
	}
	if json.Unmarshal(schema, &s) != nil {
		return "{}"
	}
	slices.Sort(s.Required)
	out := map[string]any{}
	for _, name := range s.Required {
		p := s.Properties[name]
		switch t, _ := p.Type.(string); {
		case p.Default != nil:
			out[name] = p.Default
		case len(p.Enum) > 0:
			out[name] = p.Enum[0]
		case t == "integer", t == "number":
			out[name] = 1
		case t == "boolean":
			out[name] = true
		case t == "array":
			out[name] = []any{}
		case t == "object":
			out[name] = map[string]any{}
		default:
			out[name] = "TEXT"
		}
	}
	data, err := json.Marshal(out)
	if err != nil {
		return "{}"
	}
	return cmp.Or(string(data), "{}")
}
