package builtin

import (
	"context"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/handrail-bot/handrail/agent/mcp"
	"github.com/handrail-bot/handrail/agent/tools"
	"github.com/handrail-bot/handrail/agent/workspace"
	"github.com/handrail-bot/handrail/agent/workspace/local"
)

var realServers = flag.String("mcp.servers", "", "directory with the node_modules and the gopls that make mcp installs")

// realCall is a call of a real server. In arguments, ROOT is the workspace's root.
type realCall struct{ tool, arguments, says string }

// TestRealServers lists and calls servers of others, started by the tool host of a
// workspace. make mcp installs them.
func TestRealServers(t *testing.T) {
	if *realServers == "" {
		t.Skip("NEEDS MCP SERVERS: run make mcp")
	}
	src := t.TempDir()
	for name, text := range map[string]string{"go.mod": "module example.org/m\n\ngo 1.24\n", "m.go": "package m\n\n// Hub is one.\ntype Hub struct{}\n\nvar x int = \"text\"\n"} {
		if err := os.WriteFile(filepath.Join(src, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	engine, err := local.New(local.Config{Env: os.Environ()})
	if err != nil {
		t.Fatal(err)
	}
	ws, err := engine.Open(t.Context(), workspace.Spec{Session: "real", Source: src, State: filepath.Join(t.TempDir(), "state")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := ws.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	node := func(name string, more ...string) []string {
		return append([]string{"node", filepath.Join(*realServers, "node_modules/@modelcontextprotocol", name, "dist/index.js")}, more...)
	}
	for _, c := range []struct {
		name  string
		argv  []string
		calls []realCall
	}{
		{"everything", append(node("server-everything"), "stdio"), []realCall{
			{"echo", `{"message":"hello"}`, "hello"}, {"get-sum", `{"a":2,"b":40}`, "42"}, {"get-tiny-image", `{}`, "image/png"},
			{"trigger-long-running-operation", `{"duration":1,"steps":2}`, "completed"}, {"get-structured-content", `{"location":"Chicago"}`, "temperature"},
		}},
		{"filesystem", node("server-filesystem", ws.Root()), []realCall{
			{"read_text_file", `{"path":"ROOT/m.go"}`, "type Hub struct"}, {"list_directory", `{"path":"ROOT"}`, "go.mod"},
			{"write_file", `{"path":"ROOT/new.txt","content":"new"}`, "wrote"},
		}},
		{"gopls", []string{filepath.Join(*realServers, "gopls"), "mcp"}, []realCall{
			{"go_workspace", `{}`, "example.org/m"}, {"go_search", `{"query":"Hub"}`, "m.go"}, {"go_diagnostics", `{"files":["ROOT/m.go"]}`, "cannot use"},
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			start := func(ctx context.Context) (io.ReadWriteCloser, error) {
				return ws.Start(ctx, workspace.Program{Argv: c.argv})
			}
			hub := mcp.New([]mcp.Server{{Name: c.name, Where: "here", Start: start, Patience: time.Minute}}, nil)
			t.Cleanup(hub.Close)
			list := hub.List(t.Context())
			if len(list) != 1 || list[0].Down != "" {
				t.Fatalf("listed %+v", list)
			}
			size := 0
			for _, one := range list[0].Tools {
				size += len(one.Name) + len(one.Description) + len(one.Schema)
			}
			t.Logf("%d tools, %d resources, %d bytes of definitions", len(list[0].Tools), len(list[0].Resources), size)
			r, err := tools.NewRegistry(servedTools(tools.NewKit(tools.Config{Servers: hub, Nonce: nonce}))...)
			if err != nil {
				t.Fatal(err)
			}
			for _, call := range c.calls {
				name, args := c.name+"__"+call.tool, strings.ReplaceAll(call.arguments, "ROOT", ws.Root())
				if _, err := intent(t, r, name, args); err != nil {
					t.Errorf("%s: %v", name, err)
					continue
				}
				res, err := answer(t, r, name, args)
				if err != nil || !strings.Contains(res.Content, call.says) {
					t.Errorf("%s %s: %q, %v, want %q", name, args, res.Content, err, call.says)
				}
			}
		})
	}
}
