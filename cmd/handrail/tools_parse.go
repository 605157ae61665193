package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/handrail-bot/handrail/agent/llm"
	"github.com/handrail-bot/handrail/agent/llm/toolcall"
	"github.com/handrail-bot/handrail/agent/tools"
)

type toolsParseCmd struct {
	JSON  bool   `name:"json" help:"Print one JSON object."`
	Tools string `type:"path" help:"File with the tools that can be called, as 'tools list --json' prints them or as a request to a model holds them; the built-in ones otherwise."`
}

// Run parses standard input. Finding no call is no failure.
func (c *toolsParseCmd) Run(w *world) error {
	all, err := builtinTools(nil)
	if err != nil {
		return err
	}
	specs, err := c.specs(all)
	if err != nil {
		return err
	}
	text, err := io.ReadAll(w.in)
	if err != nil {
		return fmt.Errorf("read standard input: %w", err)
	}
	p := toolcall.New(specs, all.Canonical).Parse(strings.ToValidUTF8(string(text), "\uFFFD"))
	p.Errors = append(p.Errors, unknownTools(specs, p.Calls)...)
	if c.JSON {
		return jsonLine(w.out, newParseResult(p))
	}
	for _, call := range p.Calls {
		fmt.Fprintf(w.out, "%s %s\n", call.Name, call.Arguments)
	}
	for _, e := range p.Errors {
		fmt.Fprintf(w.out, "error: %s\n", e)
	}
	if p.Text != "" {
		fmt.Fprintf(w.out, "text: %s\n", p.Text)
	}
	return nil
}

// unknownTools says of each name that no tool has what a session would tell
// the model; the calls stay, since markup makes it clear that they are calls.
func unknownTools(specs []llm.ToolSpec, calls []toolcall.Call) []string {
	known := map[string]bool{}
	names := make([]string, 0, len(specs))
	for _, s := range specs {
		known[s.Name] = true
		names = append(names, s.Name)
	}
	var out []string
	for _, c := range calls {
		if !known[c.Name] {
			known[c.Name] = true // said once
			out = append(out, fmt.Sprintf("There is no tool %q. The tools are: %s.", c.Name, strings.Join(names, ", ")))
		}
	}
	return out
}

// parseResult is the contract of `handrail tools parse --json`: its three
// fields are always there.
type parseResult struct {
	Calls  []toolcall.Call `json:"calls"`
	Text   string          `json:"text"`
	Errors []string        `json:"errors"`
}

func newParseResult(p toolcall.Parsed) parseResult {
	return parseResult{Calls: append([]toolcall.Call{}, p.Calls...), Text: p.Text, Errors: append([]string{}, p.Errors...)}
}

func (c *toolsParseCmd) specs(all *tools.Registry) ([]llm.ToolSpec, error) {
	if c.Tools == "" {
		return tools.ForModel(all.Specs()), nil
	}
	data, err := os.ReadFile(c.Tools)
	if err != nil {
		return nil, usage("read tools: %w", err)
	}
	specs, err := toolSpecs(data)
	if err != nil {
		return nil, usage("read tools from %s: %w", c.Tools, err)
	}
	return specs, nil
}

// toolShapes says what a file with tools may hold.
const toolShapes = `expected an array of names, of {"name","description","parameters"}, of {"type":"function","function":{…}} as in a request to a model, or of {"name","inputSchema"} as a server of tools lists them; or an object with such an array as "tools"`

// specEntry is a tool as it is written for models, servers and libraries.
type specEntry struct {
	toolEntry
	Function    *specEntry      `json:"function"`
	InputSchema json.RawMessage `json:"inputSchema"`
	Snake       json.RawMessage `json:"input_schema"`
}

// toolSpecs reads the tools of a file in any of the forms of toolShapes.
func toolSpecs(data []byte) ([]llm.ToolSpec, error) {
	data = bytes.TrimSpace(bytes.TrimPrefix(data, []byte("\ufeff")))
	if len(data) > 0 && data[0] == '{' {
		var around struct {
			Tools     json.RawMessage `json:"tools"`
			Functions json.RawMessage `json:"functions"`
			Result    struct {
				Tools json.RawMessage `json:"tools"`
			} `json:"result"` // an answer to tools/list
		}
		if err := json.Unmarshal(data, &around); err != nil {
			return nil, fmt.Errorf("%w (%s)", err, toolShapes)
		}
		data = nil
		for _, list := range []json.RawMessage{around.Tools, around.Functions, around.Result.Tools} {
			if data == nil {
				data = list
			}
		}
		if data == nil {
			return nil, fmt.Errorf("the object has no \"tools\" (%s)", toolShapes)
		}
	}
	var list []json.RawMessage
	if err := json.Unmarshal(data, &list); err != nil {
		return nil, fmt.Errorf("%w (%s)", err, toolShapes)
	}
	specs := make([]llm.ToolSpec, 0, len(list))
	seen := map[string]bool{}
	for i, raw := range list {
		spec, err := toolSpec(raw)
		if err != nil {
			return nil, fmt.Errorf("tool %d: %w (%s)", i+1, err, toolShapes)
		}
		if seen[spec.Name] {
			return nil, fmt.Errorf("tool %d: %q is there twice", i+1, spec.Name)
		}
		seen[spec.Name] = true
		specs = append(specs, spec)
	}
	return specs, nil
}

func toolSpec(raw json.RawMessage) (llm.ToolSpec, error) {
	var name string
	if json.Unmarshal(raw, &name) == nil && name != "" {
		return llm.ToolSpec{Name: name}, nil
	}
	var e specEntry
	if err := json.Unmarshal(raw, &e); err != nil {
		return llm.ToolSpec{}, err
	}
	if e.Function != nil {
		e = *e.Function
	}
	if e.Name == "" {
		return llm.ToolSpec{}, fmt.Errorf("a tool has no name: %.60s", raw)
	}
	schema := e.Parameters
	for _, s := range []json.RawMessage{e.InputSchema, e.Snake} {
		if schema == nil {
			schema = s
		}
	}
	return llm.ToolSpec{Name: e.Name, Description: e.Description, Parameters: schema}, nil
}
