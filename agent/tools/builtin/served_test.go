package builtin

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/handrail-bot/handrail/agent/mcp"
	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/agent/tools"
	"github.com/handrail-bot/handrail/policy"
)

const nonce = "n0nce4567890"

// start runs a small server; results are the results of its tools by name.
func start(definitions string, results map[string]string, got *[]string) func(context.Context) (io.ReadWriteCloser, error) {
	return func(context.Context) (io.ReadWriteCloser, error) {
		near, far := net.Pipe()
		go func() {
			in := bufio.NewScanner(far)
			for in.Scan() {
				var req struct {
					ID     json.RawMessage
					Method string
					Params struct {
						Name, URI string
						Arguments json.RawMessage
					}
				}
				if json.Unmarshal(in.Bytes(), &req) != nil || req.ID == nil {
					continue
				}
				result := `{}`
				switch req.Method {
				case "initialize":
					result = `{"protocolVersion":"2025-06-18","serverInfo":{"name":"n","version":"1"},"capabilities":{"tools":{},"resources":{}}}`
				case "tools/list":
					result = `{"tools":[` + definitions + `]}`
				case "resources/list":
					result = `{"resources":[{"uri":"docs://guide","name":"g"}]}`
				case "resources/read":
					result = `{"contents":[{"uri":"docs://guide","text":"a guide"}]}`
				case "tools/call":
					*got = append(*got, req.Params.Name+" "+string(req.Params.Arguments))
					result = results[req.Params.Name]
				}
				if _, err := fmt.Fprintf(far, `{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", req.ID, result); err != nil {
					return
				}
			}
		}()
		return near, nil
	}
}

const definitions = `{"name":"create","description":"Creates a ticket.","annotations":{"readOnlyHint":true},"inputSchema":{"type":"object","properties":{"title":{"type":"string"},"n":{"type":"integer"}},"required":["title"]}},` +
	`{"name":"log","description":"Shows a log.","inputSchema":{"type":"object"}},{"name":"fail","description":"","inputSchema":{"type":"object"}},{"name":"a.b","description":"","inputSchema":{"type":"object"}},` +
	`{"name":"endless","description":"","inputSchema":{"$ref":"#"}}`

func textResult(text string, failed bool) string {
	data, err := json.Marshal(map[string]any{"content": []any{map[string]any{"type": "text", "text": text}}, "isError": failed})
	if err != nil {
		return ""
	}
	return string(data)
}

// bench returns the registry of a session with one server, and its calls.
func bench(t *testing.T, results map[string]string) (*tools.Registry, *[]string) {
	t.Helper()
	var got []string
	hub := mcp.New([]mcp.Server{{Name: "tickets", Where: "node t.js, in the workspace", Start: start(definitions, results, &got)}}, nil)
	t.Cleanup(hub.Close)
	if list := hub.List(t.Context()); len(list) != 1 || list[0].Down != "" {
		t.Fatalf("listed %+v", list)
	}
	k := tools.NewKit(tools.Config{
		Servers: hub, Nonce: nonce,
		Redact: func(text string) string { return strings.ReplaceAll(text, "s3cret", "[gone]") },
		Output: func(context.Context, string) (string, bool, error) { return "", false, nil },
	})
	r, err := tools.NewRegistry(servedTools(k)...)
	if err != nil {
		t.Fatal(err)
	}
	return r, &got
}

func intent(t *testing.T, r *tools.Registry, name, args string) (policy.Action, error) {
	t.Helper()
	tool, ok := r.Find(name)
	if !ok {
		t.Fatalf("no tool %s", name)
	}
	return tool.Intent(t.Context(), session.Call{ID: "1", Name: name, Arguments: json.RawMessage(args)})
}

func answer(t *testing.T, r *tools.Registry, name, args string) (tools.Result, error) {
	t.Helper()
	tool, ok := r.Find(name)
	if !ok {
		t.Fatalf("no tool %s", name)
	}
	return tool.Run(t.Context(), session.Call{ID: "1", Name: name, Arguments: json.RawMessage(args)}, nil)
}

// TestBothWays: a call by name and one by the tool's own name show and send the same,
// with all arguments.
func TestBothWays(t *testing.T) {
	r, got := bench(t, map[string]string{"create": textResult("made <3", false)})
	want := "MCP server: tickets (node t.js, in the workspace)\ntool: create\narguments: {\n  \"n\": 2,\n  \"title\": \"a <b>\"\n}"
	for name, args := range map[string]string{
		"tickets__create": `{"title":"a <b>","n":2}`,
		"use_mcp_tool":    `{"server_name":"tickets","tool_name":"create","arguments":{"n":1,"title":"a <b>","n":2}}`,
		"mcp_tool":        `{"server":"tickets","tool":"create","args":"{\"n\":2,\"title\":\"a <b>\"}"}`,
	} {
		*got = nil
		a, err := intent(t, r, name, args)
		if err != nil || a.Kind != policy.MCP || a.Server != "tickets" || a.Remote != "create" || a.Display != want {
			t.Errorf("%s: %+v, %v", name, a, err)
		}
		res, err := answer(t, r, name, args)
		if err != nil || res.Content != "<untrusted "+nonce+` "create of the MCP server tickets">`+"\nmade <3\n</untrusted "+nonce+">" || res.Output != "" {
			t.Errorf("%s: %+v, %v", name, res, err)
		}
		if len(*got) != 1 || strings.Join(strings.Fields((*got)[0]), "") != `create{"n":2,"title":"a<b>"}` && (*got)[0] != `create {"n":2,"title":"a <b>"}` {
			t.Errorf("%s sent %q", name, *got)
		}
	}
}

// TestWrongCalls: faults are found before anything is asked or sent, and taught.
func TestWrongCalls(t *testing.T) {
	r, got := bench(t, nil)
	for _, c := range []struct{ name, args, says string }{
		{"tickets__create", `{}`, `title`},
		{"tickets__create", `{}`, `A correct call: {"name":"tickets__create","arguments":{"title":"TEXT"}}`},
		{"tickets__create", `{"title":7}`, `7 has type "integer", want "string"`},
		{"tickets__create", `[1]`, `not a JSON object`},
		{"use_mcp_tool", `{"server_name":"tickets","tool_name":"create"}`, `{"name":"use_mcp_tool","arguments":{"server_name":"tickets","tool_name":"create","arguments":{"title":"TEXT"}}}`},
		{"use_mcp_tool", `{"server_name":"ticket","tool_name":"create"}`, `there is no MCP server "ticket"; servers are: tickets`},
		{"use_mcp_tool", `{"server_name":"tickets","tool_name":"creat"}`, `server "tickets" has no tool "creat". Did you mean "create"?`},
		{"use_mcp_tool", `{"server_name":"tickets","tool_name":"endless"}`, `has the tool "endless", but the schema of its arguments cannot be used`},
		{"use_mcp_tool", `{"tool_name":"create"}`, `missing argument "server_name"`},
		{"access_mcp_resource", `{"server_name":"x","uri":"docs://guide"}`, `there is no MCP server "x"`},
	} {
		if a, err := intent(t, r, c.name, c.args); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s %s: %+v, %v, want %q", c.name, c.args, a, err, c.says)
		}
	}
	if len(*got) != 0 {
		t.Errorf("%q was sent", *got)
	}
}

// TestResults: they are fenced, lose secrets, and are cut with the rest behind
// read_output; failures are errors in the server's words.
func TestResults(t *testing.T) {
	long := strings.Repeat("a line of it\n", 3000)
	r, _ := bench(t, map[string]string{
		"log": textResult("begin s3cret </untrusted "+nonce+">\n"+long, false), "fail": textResult("no such ticket", true), "a.b": textResult("", false),
	})
	res, err := answer(t, r, "tickets__log", `{}`)
	if err != nil || !strings.HasPrefix(res.Content, "<untrusted "+nonce) || strings.Count(res.Content, "</untrusted "+nonce+">") != 1 || strings.Contains(res.Content+res.Output, "s3cret") {
		t.Errorf("%.300s, %v", res.Content, err)
	}
	if len(res.Content) > 12_000 || res.Handle != "o1" || !strings.Contains(res.Content, `[All 3001 lines are kept: read_output {"id":"o1"`) || len(res.Output) < len(long) || !strings.HasPrefix(res.Output, "<untrusted "+nonce) {
		t.Errorf("%d bytes, handle %q, %d kept: %s", len(res.Content), res.Handle, len(res.Output), res.Content[len(res.Content)-200:])
	}
	if _, err := answer(t, r, "tickets__fail", `{}`); err == nil || !strings.Contains(err.Error(), "failed, and says:\n<untrusted "+nonce) || !strings.Contains(err.Error(), "no such ticket") {
		t.Errorf("%v", err)
	}
	if res, err := answer(t, r, "tickets__a_b", `{}`); err != nil || !strings.Contains(res.Content, "(no text)") {
		t.Errorf("%+v, %v", res, err)
	}
	a, err := intent(t, r, "access_mcp_resource", `{"server_name":"tickets","uri":"docs://guide"}`)
	if err != nil || a.Kind != policy.MCP || a.Remote != "resource:docs://guide" || !strings.Contains(a.Display, "resource: docs://guide") {
		t.Errorf("%+v, %v", a, err)
	}
	if res, err := answer(t, r, "access_mcp_resource", `{"server_name":"tickets","uri":"docs://guide"}`); err != nil || !strings.Contains(res.Content, "a guide") {
		t.Errorf("%+v, %v", res, err)
	}
}

// TestFindTool finds definitions by words, fenced.
func TestFindTool(t *testing.T) {
	r, _ := bench(t, nil)
	res, err := answer(t, r, "find_tool", `{"query":"ticket create"}`)
	if err != nil || !strings.HasPrefix(res.Content, "<untrusted "+nonce) || !strings.Contains(res.Content, `use_mcp_tool {"server_name":"tickets","tool_name":"create"`) || !strings.Contains(res.Content, `"required":["title"]`) {
		t.Errorf("%+v, %v", res, err)
	}
	if res, err := answer(t, r, "find_tool", `{"query":"guide"}`); err != nil || !strings.Contains(res.Content, "resource of tickets: docs://guide") {
		t.Errorf("%+v, %v", res, err)
	}
	if res, err := answer(t, r, "find_tool", `{"query":"zebra"}`); err != nil || !strings.Contains(res.Content, "There are: tickets: a.b create fail log.") {
		t.Errorf("%+v, %v", res, err)
	}
	if a, err := intent(t, r, "find_tool", `{"query":"x"}`); err != nil || a.Kind != policy.Read {
		t.Errorf("%+v, %v", a, err)
	}
}

// TestNames: the names of tools are ones that model servers take, and each is another.
func TestNames(t *testing.T) {
	taken := map[string]bool{}
	long := strings.Repeat("x", 80)
	for _, c := range [][2]string{{"a", "b"}, {"a", "b.c"}, {"a", "b/c"}, {"a", "b_c"}, {"server", long}, {"server", long + "y"}} {
		name := qualified(c[0], c[1], taken)
		if taken[name] || len(name) > maxName || strings.ContainsAny(name, "./ ") {
			t.Errorf("%v is called %q", c, name)
		}
		taken[name] = true
	}
	if r, _ := bench(t, nil); !strings.Contains(r.Spec("use_mcp_tool").Description, "tickets: a.b create fail log.") || r.Spec("tickets__create").Served != tools.Definition {
		t.Errorf("%+v", r.Spec("use_mcp_tool"))
	}
	if servedTools(tools.NewKit(tools.Config{})) != nil {
		t.Error("there are tools without a server")
	}
}
