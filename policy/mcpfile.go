package policy

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/handrail-bot/handrail/policy/untrusted"
)

// foreignServer is an entry of a .mcp.json, which other programs define.
type foreignServer struct {
	Type    string            `json:"type"`
	Command string            `json:"command"`
	Args    []string          `json:"args"`
	Env     map[string]string `json:"env"`
	Cwd     string            `json:"cwd"`
	URL     string            `json:"url"`
	Headers map[string]string `json:"headers"`
}

// parseServers reads a .mcp.json. unfit has a line for each entry that cannot be used
// here: the file belongs to other programs too, so that none of its faults is an error.
func parseServers(data []byte) (out map[string]Server, unfit []string) {
	if len(data) == 0 {
		return nil, nil
	}
	var file struct {
		Servers map[string]json.RawMessage `json:"mcpServers"`
	}
	if err := json.Unmarshal(data, &file); err != nil {
		return nil, []string{"The MCP servers of .mcp.json are not used: the file is not valid JSON."}
	}
	out = map[string]Server{}
	for _, name := range slices.Sorted(maps.Keys(file.Servers)) {
		var f foreignServer
		err := json.Unmarshal(file.Servers[name], &f)
		var s Server
		if err == nil {
			s, err = f.server()
		}
		if err == nil && len(out) == maxServers {
			err = fmt.Errorf("at most %d servers of one file are used", maxServers)
		}
		if err == nil {
			var p problems
			Config{MCP: Servers{Servers: map[string]Server{name: s}}}.checkServers(&p)
			err = p.all.Err()
		}
		if err != nil {
			unfit = append(
				unfit,
				fmt.Sprintf(
					"The MCP server %s of .mcp.json is not used: %s.",
					untrusted.EscapeLine(name),
					untrusted.EscapeLine(err.Error()),
				),
			)
			continue
		}
		out[name] = s
	}
	return out, unfit
}

// server returns the entry in the terms of the configuration.
func (f foreignServer) server() (Server, error) {
	s := Server{Command: f.Command, Args: slices.Clone(f.Args), Env: maps.Clone(f.Env), Cwd: f.Cwd, URL: f.URL}
	switch {
	case f.Type == "sse":
		return s, fmt.Errorf("the transport sse is older than streamable HTTP, which alone is spoken here")
	case len(f.Headers) > 0: //control:mcp-repository-headers
		return s, fmt.Errorf("only the server's file gives headers")
	}
	texts := []*string{&s.Command, &s.Cwd, &s.URL}
	for i := range s.Args {
		texts = append(texts, &s.Args[i])
	}
	for _, t := range texts {
		var err error
		if *t, err = withDefaults(*t); err != nil {
			return s, err
		}
	}
	for name, value := range s.Env {
		var err error
		if s.Env[name], err = withDefaults(value); err != nil {
			return s, err
		}
	}
	return s, nil
}

// withDefaults replaces ${NAME:-default} by the default. Variables of the environment are
// never filled in: they would take the server's secrets into a workspace.
func withDefaults(s string) (string, error) {
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(s, "${")
		b.WriteString(before)
		if !found {
			return b.String(), nil
		}
		word, after, closed := strings.Cut(rest, "}")
		name, value, has := strings.Cut(word, ":-")
		if !closed || !has { //control:mcp-no-environment
			return "", fmt.Errorf(
				"it needs the variable %s of the environment, and none reaches a workspace",
				untrusted.EscapeLine(name),
			)
		}
		b.WriteString(value)
		s = after
	}
}
