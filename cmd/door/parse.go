package door

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/handrail-bot/handrail/agent/llm"
	"github.com/handrail-bot/handrail/agent/speech"
	"github.com/handrail-bot/handrail/agent/tools"
)

type toolsParseCmd struct {
	JSON  bool   `name:"json" help:"Print one JSON object."`
	Tools string `type:"path" placeholder:"FILE" help:"File with the callable tools, in the form of 'tools list --json' or of a request to a model; the built-in ones otherwise."`
}

// Run parses standard input. Text without a call is not an error.
func (c *toolsParseCmd) Run(w *Console) error {
	all, err := BuiltinTools(nil)
	if err != nil {
		return err
	}
	specs, err := c.specs(all)
	if err != nil {
		return err
	}
	text, err := io.ReadAll(w.In)
	if err != nil {
		return fmt.Errorf("read standard input: %w", err)
	}
	p := speech.Parse(specs, all.Canonical, strings.ToValidUTF8(string(text), "\uFFFD"))
	called := make([]string, len(p.Calls))
	for i, call := range p.Calls {
		called[i] = call.Name
	}
	p.Errors = append(p.Errors, unknownTools(specs, called)...)
	if c.JSON {
		return JSONLine(w.Out, p)
	}
	for _, call := range p.Calls {
		fmt.Fprintf(w.Out, "%s %s\n", call.Name, call.Arguments)
	}
	for _, e := range p.Errors {
		fmt.Fprintf(w.Out, "error: %s\n", e)
	}
	if p.Text != "" {
		fmt.Fprintf(w.Out, "text: %s\n", p.Text)
	}
	return nil
}

// unknownTools returns the session's message to the model for each unknown tool name. The
// calls stay in the result: their markup shows that they are calls.
func unknownTools(specs []llm.ToolSpec, called []string) []string {
	known := map[string]bool{}
	names := make([]string, 0, len(specs))
	for _, s := range specs {
		known[s.Name] = true
		names = append(names, s.Name)
	}
	var out []string
	for _, name := range called {
		if !known[name] {
			known[name] = true // report each name once
			out = append(out, fmt.Sprintf("There is no tool %q. The tools are: %s.", name, strings.Join(names, ", ")))
		}
	}
	return out
}

func (c *toolsParseCmd) specs(all *tools.Registry) ([]llm.ToolSpec, error) {
	if c.Tools == "" {
		return tools.ForModel(all.Specs()), nil
	}
	data, err := os.ReadFile(c.Tools)
	if err != nil {
		return nil, Usage("read tools: %w", err)
	}
	specs, err := llm.ReadTools(data)
	if err != nil {
		return nil, Usage("read tools from %s: %w", c.Tools, err)
	}
	return specs, nil
}
