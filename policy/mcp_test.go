package policy

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func serversOf(t *testing.T, text string) Config {
	t.Helper()
	c, err := ParseConfig("agent.yml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestServersAreChecked: a fault names its key, and never the value of a header.
func TestServersAreChecked(t *testing.T) {
	for text, says := range map[string]string{
		"mcp: {servers: {a__b: {command: x}}}":                                           "cannot be the name of a server",
		"mcp: {servers: {a: {}}}":                                                        "mcp.servers.a.command: a command or a url is needed",
		"mcp: {servers: {a: {command: x, url: 'https://a.example/mcp'}}}":                "two servers",
		"mcp: {servers: {a: {url: 'ftp://a.example'}}}":                                  "mcp.servers.a.url",
		"mcp: {servers: {a: {url: 'https://10.0.0.1/mcp'}}}":                             "by its name",
		"mcp: {servers: {a: {url: 'https://u:p@a.example/mcp'}}}":                        "without a user",
		"mcp: {servers: {a: {url: 'https://a.example/mcp', args: [x]}}}":                 "belong to a command",
		"mcp: {servers: {a: {command: x, headers: {A: B}}}}":                             "belong to a url",
		"mcp: {servers: {a: {url: 'https://a.example', headers: {A: 'Bearer tok-en'}}}}": "name of a variable",
		"mcp: {servers: {a: {command: x, cwd: ../b}}}":                                   "from the root",
		"mcp: {servers: {a: {command: x, env: {'A B': c}}}}":                             "name of a variable",
		"mcp: {servers: {a: {command: x, tools: {approve: {t: always}}}}}":               "not one of ask, auto",
		"mcp: {servers: {a: {command: x, tools: {deny: ['']}}}}":                         "matches nothing",
		"mcp: {servers: {a: {command: x, timeout: 2h}}}":                                 "at most 1h",
		"mcp: {servers: {a: {command: x, tool: {}}}}":                                    `did you mean "tools"`,
		"mcp: {hosts: [10.0.0.1]}":                                                       "mcp.hosts",
	} {
		_, err := ParseConfig("agent.yml", []byte(text))
		if err == nil || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "tok-en") {
			t.Errorf("%s: %v, want %q", text, err, says)
		}
	}
	many, file := "mcp: {servers: {", `{"mcpServers": {`
	for i := range 21 {
		many += fmt.Sprintf("s%02d: {command: x}, ", i)
		file += fmt.Sprintf(`"s%02d": {"command": "x"},`, i)
	}
	if _, err := ParseConfig("agent.yml", []byte(many+"}}")); err == nil || !strings.Contains(err.Error(), "at most 20 servers") {
		t.Errorf("21 servers: %v", err)
	}
	if c := (Config{}).Proposing([]byte(strings.TrimSuffix(file, ",") + "}}")); len(c.MCP.Servers) != 20 || len(c.MCP.Unfit) != 1 {
		t.Errorf("21 servers of a .mcp.json: %d, %q", len(c.MCP.Servers), c.MCP.Unfit)
	}
	mine := serversOf(t, "mcp: {hosts: [a.example], servers: {a: {url: 'https://a.example/mcp', headers: {Authorization: TOKEN}, tools: {approve: {x: auto}}}}}")
	err := mine.CheckRepository()
	for _, key := range []string{"mcp.hosts", "mcp.servers.a.headers", "mcp.servers.a.tools.approve"} {
		if err == nil || !strings.Contains(err.Error(), key) {
			t.Errorf("a repository may not say %s: %v", key, err)
		}
	}
}

// TestServersOfARepository are proposals. They change nothing about the operator's, and
// take no secret and no variable of the server.
func TestServersOfARepository(t *testing.T) {
	operator := serversOf(t, "mcp: {hosts: ['*.example'], servers: {mine: {command: a, tools: {approve: {'get*': auto, get_all: ask}}}}}")
	repo := serversOf(t, "mcp: {servers: {mine: {command: evil}, own: {command: c, tools: {approve: {'*': auto}}}}}").Proposing([]byte(`{"mcpServers": {
		"own": {"command": "other"},
		"docs": {"type": "stdio", "command": "node", "args": ["${SERVER:-server.js}"], "env": {"LEVEL": "${LEVEL:-3}"}, "future": 1},
		"web": {"type": "http", "url": "https://docs.example/mcp"},
		"far": {"type": "http", "url": "https://docs.example.org/mcp"},
		"leak": {"command": "node", "env": {"KEY": "${HANDRAIL_API_KEY}"}},
		"head": {"url": "https://docs.example/mcp", "headers": {"Authorization": "Bearer x"}},
		"old": {"type": "sse", "url": "https://docs.example/sse"},
		"a b": {"command": "x"},
		"odd": 7}}`))
	all := Merge(operator, repo)
	want := map[string]bool{"mine": false, "own": true, "docs": true, "web": true, "far": true}
	got := map[string]bool{}
	for name, s := range all.MCP.Servers {
		got[name] = s.Proposed
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if s := all.MCP.Servers; s["mine"].Command != "a" || s["own"].Command != "c" || s["docs"].Args[0] != "server.js" || s["docs"].Env["LEVEL"] != "3" {
		t.Errorf("servers %+v", s)
	}
	if s := all.MCP.Servers; !all.Reaches(s["web"]) || all.Reaches(s["far"]) {
		t.Error("a proposed URL is called only at a host of the operator's list")
	}
	if none := Merge(Config{}, repo); none.Reaches(none.MCP.Servers["web"]) {
		t.Error("without a list, no proposed URL is called")
	}
	said := strings.Join(all.MCP.Unfit, "\n")
	for _, part := range []string{`"mine" of this repository is not used`, "leak of .mcp.json is not used: it needs the variable HANDRAIL_API_KEY", "only the server's file gives headers", "older than streamable", "a b of .mcp.json", "odd of .mcp.json"} {
		if !strings.Contains(said, part) {
			t.Errorf("%q is missing in\n%s", part, said)
		}
	}
	if broken := (Config{}).Proposing([]byte("{")); len(broken.MCP.Unfit) != 1 || broken.MCP.Servers != nil {
		t.Errorf("a broken file: %+v", broken.MCP)
	}
}

// TestCallsOfServers: each asks, except for those that the operator approves; a denied
// tool stays denied, and always_ask wins.
func TestCallsOfServers(t *testing.T) {
	operator := serversOf(t, "mcp: {servers: {mine: {command: a, tools: {deny: ['*delete*'], approve: {'get*': auto, get_all: ask, 'resource:docs:*': auto}}}, narrow: {command: b, tools: {allow: [one]}}}}")
	repo := serversOf(t, "mcp: {servers: {own: {command: c, tools: {approve: {'*': auto}}}}}").Proposing(nil)
	p, err := New(Merge(operator, repo))
	if err != nil {
		t.Fatal(err)
	}
	code, plan := modeNamed(t, "code"), modeNamed(t, "plan")
	check := func(m Mode, server, remote string) Decision {
		return p.Check(m, Action{Kind: MCP, Server: server, Remote: remote, Display: "{}"})
	}
	for _, c := range []struct {
		server, remote string
		want           Verdict
	}{
		{"mine", "get_one", Allow}, {"mine", "get_all", Ask}, {"mine", "set", Ask}, {"mine", "delete_it", Deny},
		{"mine", "resource:docs:a", Allow}, {"mine", "resource:file:a", Ask},
		{"narrow", "one", Ask}, {"narrow", "two", Deny}, {"own", "anything", Ask}, {"none", "x", Deny},
	} {
		if d := check(code, c.server, c.remote); d.Verdict != c.want {
			t.Errorf("%s %s: %v (%s), want %v", c.server, c.remote, d.Verdict, d.Rule, c.want)
		}
	}
	if d := check(plan, "mine", "get_one"); d.Verdict != Deny {
		t.Errorf("in plan mode: %v", d.Verdict)
	}
	one := Action{Kind: MCP, Server: "mine", Remote: "set", Display: "{}"}
	other := one
	other.Remote = "set2"
	if one.Digest() == other.Digest() {
		t.Error("the digest does not cover the tool")
	}
	if d := p.Check(code, Action{Kind: MCP, Server: "mine", Remote: "get_one"}); d.Verdict != Deny {
		t.Error("a call without a text to show is allowed")
	}
	operator.AlwaysAsk = []string{"mcp"}
	strict, err := New(operator)
	if err != nil {
		t.Fatal(err)
	}
	if d := strict.Check(code, Action{Kind: MCP, Server: "mine", Remote: "get_one", Display: "{}"}); d.Verdict != Ask {
		t.Errorf("always_ask: %v", d.Verdict)
	}
}

func modeNamed(t *testing.T, name string) Mode {
	t.Helper()
	m, err := ParseMode(name)
	if err != nil {
		t.Fatal(err)
	}
	return m
}
