// Package graphql answers GraphQL queries about the hub. It supports the fields of
// GitHub's schema that the product queries. Like GitHub, it refuses a query with an
// unknown field.
package graphql

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/handrail-bot/handrail/policy/pattern"
)

// object is a GraphQL object: its fields and __typename. A field with arguments is a
// [resolver].
type object = map[string]any

type resolver func(args object) (any, error)

// problem is the error of a field without a value.
type problem struct{ kind, words string }

func (p problem) Error() string { return p.words }

type selection struct {
	alias, name string
	args        map[string]string // raw JSON, or a variable with its $
	set         []selection
	fragment    bool
}

var tokenRE = pattern.Lazy(`#[^\n]*|"(?:[^"\\\n]|\\.)*"|\.\.\.|[$]?\w+|[^\s,]`)

var enumRE = pattern.Lazy(`^[A-Z][A-Z_]*$`)

// parser reads the tokens of a query. A syntax error is a panic with a problem, which
// [run] recovers.
type parser struct{ tokens []string }

func (p *parser) next() string {
	if len(p.tokens) == 0 {
		panic(problem{"", "Expected more, but the document ended"})
	}
	t := p.tokens[0]
	p.tokens = p.tokens[1:]
	return t
}

func (p *parser) peek(t string) bool { return len(p.tokens) > 0 && p.tokens[0] == t }

func (p *parser) expect(want string) {
	if got := p.next(); got != want {
		panic(problem{"", fmt.Sprintf("Expected %q, actual: %q", want, got)})
	}
}

// document is one operation with its fragments.
type document struct {
	kind            string
	required, known []string // names of variables
	set             []selection
	fragments       map[string][]selection
}

func (p *parser) document() document {
	d := document{fragments: map[string][]selection{}}
	for len(p.tokens) > 0 {
		switch kind := p.next(); kind {
		case "query", "mutation":
			p.next()
			d.kind = kind
			d.variables(p)
			d.set = p.set()
		case "fragment":
			name := p.next()
			p.expect("on")
			p.next()
			d.fragments[name] = p.set()
		default:
			panic(problem{"", "only queries and mutations are answered here, not " + kind})
		}
	}
	return d
}

func (d *document) variables(p *parser) {
	if !p.peek("(") {
		return
	}
	for p.next(); !p.peek(")"); {
		name := p.next()
		p.expect(":")
		p.next()
		d.known = append(d.known, name)
		if p.peek("!") {
			p.next()
			d.required = append(d.required, name)
		}
	}
	p.next()
}

func (p *parser) set() (out []selection) {
	for p.expect("{"); !p.peek("}"); {
		if p.peek("...") {
			p.next()
			out = append(out, selection{name: p.next(), fragment: true})
			continue
		}
		s := selection{name: p.next(), args: map[string]string{}}
		s.alias = s.name
		if p.peek(":") {
			p.next()
			s.name = p.next()
		}
		if p.peek("(") {
			for p.next(); !p.peek(")"); {
				name := p.next()
				p.expect(":")
				s.args[name] = p.next()
			}
			p.next()
		}
		if p.peek("{") {
			s.set = p.set()
		}
		out = append(out, s)
	}
	p.next()
	return out
}

// evaluation is the state of one query's evaluation.
type evaluation struct {
	document
	vars   object
	faults []object
}

// run evaluates a query or mutation from the root object of its kind.
func run(source string, vars object, roots map[string]object) (data any, faults []object) {
	defer func() {
		if p, ok := recover().(problem); ok {
			data, faults = nil, []object{{"message": p.words}}
		}
	}()
	tokens := slices.DeleteFunc(tokenRE().FindAllString(source, -1), func(t string) bool { return t[0] == '#' })
	e := &evaluation{document: (&parser{tokens}).document(), vars: vars}
	for _, name := range e.required {
		if vars[name[1:]] == nil {
			panic(problem{"", "Variable " + name + " was provided invalid value"})
		}
	}
	return e.object(roots[e.kind], e.set, nil), e.faults
}

func (e *evaluation) object(o object, set []selection, path []any) object {
	out := object{}
	for _, s := range set {
		if s.fragment {
			part, ok := e.fragments[s.name]
			if !ok {
				panic(problem{"", "Fragment " + s.name + " was used, but not defined"})
			}
			for k, v := range e.object(o, part, path) {
				out[k] = v
			}
			continue
		}
		v, ok := o[s.name]
		if !ok {
			panic(problem{"", fmt.Sprintf("Field '%s' doesn't exist on type '%s'", s.name, o["__typename"])})
		}
		out[s.alias] = e.value(v, s, append(slices.Clone(path), s.alias))
	}
	return out
}

func (e *evaluation) value(v any, s selection, path []any) any {
	switch v := v.(type) {
	case resolver:
		got, err := v(e.arguments(s))
		if err != nil {
			fault := object{"message": err.Error(), "path": path}
			var p problem
			if errors.As(err, &p) && p.kind != "" {
				fault["type"] = p.kind
			}
			e.faults = append(e.faults, fault)
			return nil
		}
		return e.value(got, s, path)
	case object:
		if s.set == nil {
			panic(problem{"", fmt.Sprintf("Field must have selections (field '%s' returns %s but has no selections)", s.name, v["__typename"])})
		}
		return e.object(v, s.set, path)
	case []object:
		out := []any{}
		for i, o := range v {
			out = append(out, e.value(o, s, append(slices.Clone(path), i)))
		}
		return out
	}
	if v != nil && s.set != nil {
		panic(problem{"", fmt.Sprintf("Selections can't be made on scalars (field '%s')", s.name)})
	}
	return v
}

func (e *evaluation) arguments(s selection) object {
	out := object{}
	for name, raw := range s.args {
		if strings.HasPrefix(raw, "$") {
			if !slices.Contains(e.known, raw) {
				panic(problem{"", "Variable " + raw + " is used but not declared"})
			}
			out[name] = e.vars[raw[1:]]
			continue
		}
		var v any
		if enumRE().MatchString(raw) {
			v = raw
		} else if err := json.Unmarshal([]byte(raw), &v); err != nil {
			panic(problem{"", "Argument '" + name + "' has an invalid value"})
		}
		out[name] = v
	}
	return out
}
