package policy

import (
	"fmt"
	"maps"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/handrail-bot/handrail/policy/reach"
	"github.com/handrail-bot/handrail/policy/strict"
)

// Servers is `mcp:` in a configuration: the MCP servers whose tools a session may use.
// The server's file decides about its own. Those of a repository are proposals: one is
// used only after an approval of all that identifies it.
type Servers struct {
	Servers map[string]Server `yaml:"servers,omitempty" json:"servers,omitempty" jsonschema:"description=MCP servers by name. Those of a repository are proposals\\, each used after one approval."`
	Hosts   []string          `yaml:"hosts,omitempty" json:"hosts,omitempty" jsonschema:"description=Only in the server's configuration: hosts of the URLs that repositories may propose\\, as workspace.hosts has them; empty is none." only:"server"`

	Unfit []string `yaml:"-" json:"-"` // why servers of the repository are not used, one line each
}

// Server is one MCP server: a program inside the workspace, or a URL that Handrail calls.
type Server struct {
	Command string            `yaml:"command,omitempty" json:"command,omitempty" jsonschema:"description=Program to start inside the workspace."`
	Args    []string          `yaml:"args,omitempty" json:"args,omitempty" jsonschema:"description=Arguments of the program."`
	Env     map[string]string `yaml:"env,omitempty" json:"env,omitempty" jsonschema:"description=Variables of the program with their values. No secrets: the workspace sees them."`
	Cwd     string            `yaml:"cwd,omitempty" json:"cwd,omitempty" jsonschema:"description=Directory of the program\\, from the root of the repository."`
	URL     string            `yaml:"url,omitempty" json:"url,omitempty" jsonschema:"description=Address of a server over HTTP (streamable)\\, which Handrail calls in place of the workspace."`
	Headers map[string]string `yaml:"headers,omitempty" json:"headers,omitempty" jsonschema:"description=Only in the server's configuration: headers of each request to url: the name of each\\, and the variable of the environment that holds its value." only:"server"`
	Tools   ServerTools       `yaml:"tools,omitempty" json:"tools,omitzero"`
	Timeout Duration          `yaml:"timeout,omitempty" json:"timeout,omitzero" jsonschema:"description=Time for one call.,default=60s"`

	Proposed bool `yaml:"-" json:"-"` // from a repository: used only after an approval
}

// ServerTools chooses among the tools of a server, by patterns with * for any text.
type ServerTools struct {
	Allow   []string          `yaml:"allow,omitempty" json:"allow,omitempty" jsonschema:"description=Tools that are offered; empty is all."`
	Deny    []string          `yaml:"deny,omitempty" json:"deny,omitempty" jsonschema:"description=Tools that are not offered."`
	Approve map[string]string `yaml:"approve,omitempty" json:"approve,omitempty" jsonschema:"description=Only in the server's configuration: auto for tools whose calls need no approval. A resource is resource:URI. ask wins over auto." only:"server"`
}

// serverTime is the default time for one call.
const serverTime = 60 * time.Second

// maxServerTime is the maximum time for one call.
const maxServerTime = time.Hour

// Wait returns the time for one call.
func (s Server) Wait() time.Duration {
	if s.Timeout == 0 {
		return serverTime
	}
	return time.Duration(s.Timeout)
}

// Offers reports whether a tool of the server is offered.
func (s Server) Offers(tool string) bool {
	return (len(s.Tools.Allow) == 0 || matches(s.Tools.Allow, tool)) && !matches(s.Tools.Deny, tool)
}

// isAuto reports whether calls of a tool, or of a resource, need no approval.
func (s Server) isAuto(remote string) bool {
	auto := false
	for pattern, word := range s.Tools.Approve {
		if !wildcard(pattern, remote) {
			continue
		}
		if word != "auto" {
			return false
		}
		auto = true
	}
	return auto && !s.Proposed //control:mcp-auto-is-the-operators
}

func matches(patterns []string, s string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return wildcard(p, s) })
}

// Host returns the host and port of a URL as [reach.Check] takes them, or "".
func (s Server) Host() string {
	u, err := url.Parse(s.URL)
	if err != nil {
		return ""
	}
	name, ok := reach.Name(u.Hostname())
	port := u.Port()
	if port == "" {
		port = map[string]string{"https": "443", "http": "80"}[u.Scheme]
	}
	if !ok || port == "" {
		return ""
	}
	return name + ":" + port
}

// Reaches reports whether the server's file lets a URL be called: it names the URL
// itself, or lists the host.
func (c Config) Reaches(s Server) bool {
	if !s.Proposed {
		return true
	}
	name, port, _ := strings.Cut(s.Host(), ":")
	n, err := strconv.Atoi(port)
	return err == nil && reach.Allowed(c.top().MCP.Hosts, name, n) //control:mcp-hosts
}

// mcpStep decides about calls of MCP servers. Each needs an approval, unless the server's
// file approves the tool.
func (p *Policy) mcpStep(f facts, d *Decision) bool {
	if f.act.Kind != MCP {
		return false
	}
	s, ok := p.config.MCP.Servers[f.act.Server]
	tool, isResource := f.act.Remote, strings.HasPrefix(f.act.Remote, "resource:")
	switch {
	case !ok:
		*d = d.settle(Deny, "mcp.servers", fmt.Sprintf("the configuration has no MCP server %q", f.act.Server))
	case !isResource && !s.Offers(tool): //control:mcp-tools-deny
		*d = d.settle(
			Deny,
			"mcp.tools",
			fmt.Sprintf("the configuration does not offer the tool %q of the MCP server %q", tool, f.act.Server),
		)
	case s.isAuto(tool):
		d.Auto = true
		*d = d.settle(Allow, "mcp.approve", "the server's configuration approves calls of this tool")
	default:
		*d = d.settle(Ask, "mcp.ask", "calls of MCP servers need approval")
	}
	return true
}

// mergeServers adds the repository's proposals to the servers of the server's file. A
// repository cannot change one of those.
func mergeServers(server, repo Servers) Servers {
	out := Servers{
		Servers: maps.Clone(server.Servers),
		Hosts:   slices.Clone(server.Hosts),
		Unfit:   slices.Clone(repo.Unfit),
	}
	for _, name := range slices.Sorted(maps.Keys(repo.Servers)) {
		s := repo.Servers[name]
		if _, taken := server.Servers[name]; taken { //control:mcp-name-is-taken
			out.Unfit = append(
				out.Unfit,
				fmt.Sprintf(
					"The MCP server %q of this repository is not used: the server's configuration has one of this name.",
					name,
				),
			)
			continue
		}
		if out.Servers == nil {
			out.Servers = map[string]Server{}
		}
		s.Proposed = true
		out.Servers[name] = s
	}
	return out
}

// Proposing returns the configuration of a repository with its MCP servers and language servers
// marked as proposals, and the MCP servers of its .mcp.json added. data is that file; nil if there is none.
func (c Config) Proposing(data []byte) Config {
	more, unfit := parseServers(data)
	all := map[string]Server{}
	for name, s := range c.MCP.Servers {
		s.Proposed = true
		all[name] = s
	}
	for name, s := range more {
		if _, taken := all[name]; !taken { // agent.yml is the more specific one
			s.Proposed = true
			all[name] = s
		}
	}
	c.MCP.Unfit = append(slices.Clone(c.MCP.Unfit), unfit...)
	c.MCP.Hosts = nil // the operator's alone
	c.LanguageServers = slices.Clone(c.LanguageServers)
	for i := range c.LanguageServers {
		c.LanguageServers[i].Proposed = true
	}
	if c.MCP.Servers = all; len(all) == 0 {
		c.MCP.Servers = nil
	}
	return c
}

// serverName limits the names of servers, since they are part of the names of tools.
const serverName = `^[A-Za-z0-9]([A-Za-z0-9_.-]{0,30}[A-Za-z0-9])?$`

// maxServers is the maximum number of servers in one file: each may cost an approval.
const maxServers = 20

func (c Config) checkServers(p *problems) {
	if len(c.MCP.Servers) > maxServers {
		p.add(fmt.Sprintf("at most %d servers", maxServers), "mcp", "servers")
	}
	for i, h := range c.MCP.Hosts {
		if err := reach.Check(h); err != nil {
			p.add(err.Error(), "mcp", "hosts", i)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.MCP.Servers)) {
		if !regexp.MustCompile(serverName).MatchString(name) || strings.Contains(name, "__") {
			p.add(
				fmt.Sprintf(
					"%q cannot be the name of a server: use up to 32 letters, digits and single \"_\", \"-\" or \".\"",
					name,
				),
				"mcp",
				"servers",
				name,
			)
			continue
		}
		for _, f := range c.MCP.Servers[name].faults() {
			f.Path = append([]any{"mcp", "servers", name}, f.Path...)
			f.Key = strict.Join(f.Path)
			p.all = append(p.all, f)
		}
	}
}

// faults returns the invalid values of a server.
func (s Server) faults() strict.Faults {
	var p problems
	switch {
	case s.Command == "" && s.URL == "":
		p.add("a command or a url is needed", "command")
	case s.Command != "" && s.URL != "":
		p.add("a command and a url are two servers; keep one", "url")
	case s.URL != "":
		s.checkURL(&p)
	default:
		s.checkProgram(&p)
	}
	for i, pattern := range s.Tools.Allow {
		checkToolPattern(&p, pattern, "tools", "allow", i)
	}
	for i, pattern := range s.Tools.Deny {
		checkToolPattern(&p, pattern, "tools", "deny", i)
	}
	for _, pattern := range slices.Sorted(maps.Keys(s.Tools.Approve)) {
		checkToolPattern(&p, pattern, "tools", "approve", pattern)
		p.requiredOneOf(s.Tools.Approve[pattern], []string{"ask", "auto"}, "tools", "approve", pattern)
	}
	if s.Timeout < 0 || time.Duration(s.Timeout) > maxServerTime {
		p.add("at most 1h for one call", "timeout")
	}
	return p.all
}

func checkToolPattern(p *problems, pattern string, path ...any) {
	if strings.TrimSpace(pattern) == "" {
		p.add("an empty pattern matches nothing; write the name of a tool, or a part of one with *", path...)
	}
}

func (s Server) checkURL(p *problems) {
	u, err := url.Parse(s.URL)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.User != nil || u.Fragment != "" || s.Host() == "" {
		p.add(
			"write the address of a server by its name, such as https://tools.example.org/mcp, without a user or a fragment",
			"url",
		)
	}
	if len(s.Args)+len(s.Env)+len(s.Cwd) > 0 {
		p.add("args, env and cwd belong to a command", "url")
	}
	for _, name := range slices.Sorted(maps.Keys(s.Headers)) {
		if !regexp.MustCompile(`^[A-Za-z][A-Za-z0-9-]*$`).MatchString(name) {
			p.add("this cannot be the name of a header", "headers", name)
		}
		if !regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`).
			MatchString(s.Headers[name]) { // may be the secret: not repeated
			p.add(
				"write the name of a variable of the environment that holds the value, not the value itself",
				"headers",
				name,
			)
		}
	}
}

func (s Server) checkProgram(p *problems) {
	if len(s.Headers) > 0 {
		p.add("headers belong to a url", "headers")
	}
	if strings.ContainsRune(strings.Join(append([]string{s.Command, s.Cwd}, s.Args...), ""), 0) {
		p.add("the command has a NUL character", "command")
	}
	if c := path.Clean(s.Cwd); s.Cwd != "" && (path.IsAbs(c) || c == ".." || strings.HasPrefix(c, "../")) {
		p.add("write a directory from the root of the repository", "cwd")
	}
	for _, name := range slices.Sorted(maps.Keys(s.Env)) {
		if !regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`).MatchString(name) || strings.ContainsRune(s.Env[name], 0) {
			p.add("this cannot be the name of a variable, or its value has a NUL character", "env", name)
		}
	}
}
