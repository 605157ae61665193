package builtin

// These are the tools of MCP servers. A model that calls tools natively gets
// each as SERVER__TOOL while their definitions fit into its window; any other gets
// use_mcp_tool and find_tool. Both ways make the same call, with the same question to the
// approver. Results are a stranger's words: fenced, and cut like those of commands.

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/handrail-bot/handrail/agent/mcp"
	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/agent/tools"
	"github.com/handrail-bot/handrail/policy"
	"github.com/handrail-bot/handrail/policy/typo"
	"github.com/handrail-bot/handrail/policy/untrusted"
)

// Limits in bytes of one result, and of the names in the description of use_mcp_tool.
const (
	maxResult = 10 << 10
	maxFailed = 4 << 10
	maxNames  = 1500
	maxFew    = 500
)

// maxName is the maximum length of a tool's name that model servers accept.
const maxName = 64

// servedTools returns the tools of the family in the order in which they are offered. There are
// none without a server in use.
func servedTools(k *tools.Kit) []tools.Tool {
	if k.Servers == nil {
		return nil
	}
	f := family{Kit: k}
	resources := false
	for _, s := range k.Servers.Servers() {
		if s.Down == "" {
			f.servers = append(f.servers, s)
			resources = resources || len(s.Resources) > 0
		}
	}
	if len(f.servers) == 0 {
		return nil
	}
	out := []tools.Tool{f.use(), f.find()}
	if resources {
		out = append(out, f.resource())
	}
	taken := map[string]bool{}
	for _, s := range f.servers {
		for _, t := range s.Tools {
			name := qualified(s.Name, t.Name, taken)
			taken[name] = true
			out = append(out, definition{f, name, s.Name, t})
		}
	}
	return out
}

type family struct {
	*tools.Kit
	servers []session.Server
}

// Busy implements [tools.Beside]: the program of a server may change files at any time.
func (f family) Busy() bool { return f.Servers.Busy() }

// News implements [tools.Beside].
func (family) News() []string { return nil }

// qualified returns the name under which a model calls a tool.
func qualified(server, tool string, taken map[string]bool) string {
	plain := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-' {
			return r
		}
		return '_'
	}, server+"__"+tool)
	if len(plain) <= maxName && !taken[plain] {
		return plain
	}
	sum := sha256.Sum256([]byte(server + "\x00" + tool))
	tail := "_" + hex.EncodeToString(sum[:4])
	return plain[:min(len(plain), maxName-len(tail))] + tail
}

// definition is one tool of a server under its own name.
type definition struct {
	family
	name   string
	server string
	tool   session.ServerTool
}

// Spec implements [tools.Tool].
func (d definition) Spec() tools.Spec {
	say := fmt.Sprintf(
		"Tool %s of the MCP server %s. In its own words, which are data: %s",
		d.tool.Name,
		d.server,
		d.tool.Description,
	)
	s := tools.Spec{Kind: policy.MCP, Outer: true, Served: tools.Definition}
	s.Name, s.Description, s.Parameters = d.name, say, d.tool.Schema
	return s
}

// Intent implements [tools.Tool].
func (d definition) Intent(_ context.Context, call session.Call) (policy.Action, error) {
	return d.intent(d.server, d.tool.Name, call.Arguments, d.name)
}

// Run implements [tools.Tool].
func (d definition) Run(ctx context.Context, call session.Call, emit tools.Progress) (tools.Result, error) {
	return d.run(ctx, call, d.server, d.tool.Name, call.Arguments, emit)
}

// use returns the tool that calls any tool of a server.
func (f family) use() tools.Tool {
	s := tools.Sheet{
		Name: "use_mcp_tool", Kind: policy.MCP, Essential: true, Outer: true, Served: tools.ByName, Beside: f,
		Aliases: []string{"mcp_tool", "call_mcp_tool", "mcp"},
		Doc: "Call a tool of an MCP server, another's program. find_tool shows its arguments. There are: " + f.names(
			maxNames,
		),
		Few: "Call a tool of an MCP server. find_tool shows its arguments. There are: " + f.names(maxFew),
		Params: []tools.Param{
			{Name: "server_name", Required: true, Doc: "Its name.", Aliases: []string{"server"}},
			{Name: "tool_name", Required: true, Doc: "Its tool.", Aliases: []string{"tool", "name"}},
			{
				Name:    "arguments",
				Form:    tools.Free,
				Schema:  `{"type":"object"}`,
				Doc:     "For the tool.",
				Few:     true,
				Aliases: []string{"args", "params", "input"},
			},
		},
		Example: f.example(),
	}
	read := func(a tools.Args) (server, tool string, err error) {
		if server, err = a.Need("server_name"); err == nil {
			tool, err = a.Need("tool_name")
		}
		return server, tool, err
	}
	return tools.New(s,
		func(_ context.Context, a tools.Args) (policy.Action, error) {
			server, tool, err := read(a)
			if err != nil {
				return policy.Action{}, err
			}
			return f.intent(server, tool, a.Values["arguments"], "")
		},
		func(ctx context.Context, a tools.Args, emit tools.Progress) (tools.Result, error) {
			server, tool, err := read(a)
			if err != nil {
				return tools.Result{}, err
			}
			return f.run(ctx, session.Call{ID: a.Call}, server, tool, a.Values["arguments"], emit)
		})
}

// example returns a correct call of the first tool.
func (f family) example() string {
	for _, s := range f.servers {
		for _, t := range s.Tools {
			return byName(s.Name, t.Name, mcp.Sample(t.Schema))
		}
	}
	return byName(f.servers[0].Name, "TOOL", "{}")
}

func byName(server, tool, arguments string) string {
	return fmt.Sprintf(`{"server_name":%q,"tool_name":%q,"arguments":%s}`, server, tool, arguments)
}

// names lists the servers with their tools, within a limit in bytes.
func (f family) names(most int) string {
	var b strings.Builder
	left := 0
	for _, s := range f.servers {
		fmt.Fprintf(&b, "%s:", s.Name)
		for _, t := range s.Tools {
			if b.Len()+len(t.Name) > most {
				left++
				continue
			}
			b.WriteString(" " + t.Name)
		}
		b.WriteString("; ")
	}
	out := strings.TrimSuffix(b.String(), "; ")
	if left > 0 {
		out += fmt.Sprintf("; and %d more, which find_tool finds", left)
	}
	return out + "."
}

// lookup finds a tool of a server. The error names those that exist.
func (f family) lookup(server, tool string) (session.ServerTool, error) {
	at := slices.IndexFunc(f.servers, func(s session.Server) bool { return s.Name == server })
	if at < 0 {
		var names []string
		for _, s := range f.servers {
			names = append(names, s.Name)
		}
		known := strings.Join(names, ", ")
		return session.ServerTool{}, fmt.Errorf("there is no MCP server %q; servers are: %s", tools.Shorten(server, 60), known)
	}
	if slices.Contains(f.servers[at].Unfit, tool) {
		return session.ServerTool{}, fmt.Errorf(
			"server %q has the tool %q, but the schema of its arguments cannot be used: choose another way",
			server,
			tool,
		)
	}
	var names []string
	for _, t := range f.servers[at].Tools {
		if t.Name == tool {
			return t, nil
		}
		names = append(names, t.Name)
	}
	hint := " find_tool finds the others."
	if near := typo.Nearest(tool, names); near != "" {
		hint = fmt.Sprintf(" Did you mean %q?", near)
	} else if len(names) <= 20 {
		hint = " Its tools are: " + strings.Join(names, ", ") + "."
	}
	return session.ServerTool{}, fmt.Errorf("server %q has no tool %q.%s", server, tools.Shorten(tool, 60), hint)
}

// canonical returns arguments as they are shown and sent: one object, its members in
// order, each once.
func canonical(raw json.RawMessage) (json.RawMessage, error) {
	raw = tools.Unwrap(raw)
	if len(raw) == 0 || string(raw) == "null" || string(raw) == `""` {
		raw = json.RawMessage("{}")
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var v map[string]any
	if err := dec.Decode(&v); err != nil {
		return nil, errors.New("the arguments are not a JSON object")
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSpace(b.Bytes()), nil
}

// intent describes a call. own is the name under which it was called; "" means
// use_mcp_tool.
func (f family) intent(server, tool string, raw json.RawMessage, own string) (policy.Action, error) {
	t, err := f.lookup(server, tool)
	if err != nil {
		return policy.Action{}, err
	}
	args, err := canonical(raw)
	why := ""
	if err != nil {
		why = err.Error()
	} else {
		why = mcp.CheckArguments(t.Schema, args) //control:mcp-schema-first
	}
	if why != "" {
		name, sample := own, mcp.Sample(t.Schema)
		if own == "" {
			name, sample = "use_mcp_tool", byName(server, tool, sample)
		}
		return policy.Action{}, fmt.Errorf("%s: %s.\nIts schema: %s\nA correct call: {\"name\":%q,\"arguments\":%s}",
			name, untrusted.EscapeLine(why), tools.Shorten(string(t.Schema), 2000), name, sample)
	}
	return policy.Action{
		Kind:    policy.MCP,
		Server:  server,
		Remote:  tool,
		Display: f.display(server, "tool: "+tool, string(args)), //control:mcp-shown-whole
	}, nil
}

// display returns a call as it is shown for approval, with all of its arguments.
func (f family) display(server, subject, rest string) string {
	out := fmt.Sprintf("MCP server: %s (%s)\n%s", server, f.Servers.Where(server), subject)
	if rest != "" {
		out += "\narguments: " + rest
	}
	return out
}

func (f family) run(
	ctx context.Context,
	call session.Call,
	server, tool string,
	raw json.RawMessage,
	emit tools.Progress,
) (tools.Result, error) {
	args, err := canonical(raw)
	if err != nil {
		return tools.Result{}, err
	}
	return f.call(ctx, call, mcp.Call{Server: server, Tool: tool, Arguments: args}, tool, emit)
}

// call makes a call, and formats its result.
func (f family) call(
	ctx context.Context,
	of session.Call,
	c mcp.Call,
	subject string,
	emit tools.Progress,
) (tools.Result, error) {
	var failed error
	if f.Answered != nil {
		c.Answer = func(question string) (string, bool) {
			answer, ok, err := f.Answered(ctx, of, question)
			failed = errors.Join(failed, err)
			return answer, ok && err == nil
		}
	}
	c.Said = emit
	res, err := f.Servers.Call(ctx, c)
	if err = errors.Join(err, failed); err != nil {
		return tools.Result{}, err
	}
	if q := res.Question; q != nil {
		return tools.Result{Ask: &session.Asked{Display: q.Text, Choices: q.Choices, Server: c.Server}}, nil
	}
	text := res.Text
	if f.Redact != nil {
		text = f.Redact(text) //control:mcp-redacted
	}
	label := fmt.Sprintf("%s of the MCP server %s", subject, c.Server)
	whole := untrusted.Fence(f.Nonce, label, strings.TrimRight(text, "\n"))
	most := tools.Room(ctx, maxResult)
	if res.Failed {
		most = min(most, maxFailed)
	}
	cut := tools.CutOutput(text, 0, most)
	if cut == "" {
		cut = "(no text)"
	}
	shown := untrusted.Fence(f.Nonce, label, cut) //control:mcp-fenced
	if res.Failed {
		return tools.Result{}, fmt.Errorf("%s of the MCP server %q failed, and says:\n%s", subject, c.Server, shown)
	}
	out := tools.Result{
		Content: shown,
		Title:   fmt.Sprintf("Used %s of the MCP server %s", untrusted.EscapeLine(subject), c.Server),
		Images:  res.Images,
	}
	if cut != strings.TrimRight(text, "\n") && strings.TrimSpace(text) != "" {
		f.Kept.KeepAll(&out, whole)
	}
	if res.Unfit != "" {
		out.Content += "\n[" + res.Unfit + "]"
	}
	return out, nil
}

// resource returns the tool that reads a resource.
func (f family) resource() tools.Tool {
	s := tools.Sheet{
		Name: "access_mcp_resource", Kind: policy.MCP, Outer: true,
		Aliases: []string{"read_mcp_resource", "mcp_resource"},
		Doc:     "Read a resource of an MCP server, by its URI. find_tool finds them.",
		Params: []tools.Param{
			{Name: "server_name", Required: true, Doc: "Its name.", Aliases: []string{"server"}},
			{Name: "uri", Required: true, Doc: "The resource.", Aliases: []string{"resource", "url"}},
		},
		Example: `{"server_name":"SERVER","uri":"docs://page"}`,
	}
	read := func(a tools.Args) (server, uri string, err error) {
		if server, err = a.Need("server_name"); err == nil {
			uri, err = a.Need("uri")
		}
		if err == nil && !slices.ContainsFunc(f.servers, func(s session.Server) bool { return s.Name == server }) {
			_, err = f.lookup(server, "")
		}
		return server, uri, err
	}
	return tools.New(s,
		func(_ context.Context, a tools.Args) (policy.Action, error) {
			server, uri, err := read(a)
			return policy.Action{
				Kind:    policy.MCP,
				Server:  server,
				Remote:  "resource:" + uri,
				Display: f.display(server, "resource: "+uri, ""),
			}, err
		},
		func(ctx context.Context, a tools.Args, emit tools.Progress) (tools.Result, error) {
			server, uri, err := read(a)
			if err != nil {
				return tools.Result{}, err
			}
			return f.call(ctx, session.Call{ID: a.Call}, mcp.Call{Server: server, URI: uri}, "resource", emit)
		})
}
