package mcp

import (
	"context"
	"flag"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

var suite = flag.String("mcp.suite", "", "directory with the node_modules that make mcp installs")

// clientOf is the variable that makes this program the client of one scenario.
const clientOf = "HANDRAIL_CONFORMANCE_CLIENT"

// TestConformance runs the protocol's own suite against a hub. The scenarios of logins are
// left out, since a server gets a configured token and nothing else. So are those of a stream
// that is taken up again, since a call is never sent twice. The suite needs node 22.
func TestConformance(t *testing.T) {
	if at := os.Getenv(clientOf); at != "" {
		client(t, flag.Arg(flag.NArg()-1))
		return
	}
	if *suite == "" {
		t.Skip("NEEDS MCP SERVERS: run make mcp")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, scenario := range []string{"initialize", "tools_call", "elicitation-sep1034-client-defaults"} {
		t.Run(scenario, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), "node", filepath.Join(*suite, "node_modules/@modelcontextprotocol/conformance/dist/index.js"), //nolint:gosec // the suite
				"client", "--scenario", scenario, "--command", self+" -test.run=^TestConformance$", "--output-dir", t.TempDir())
			cmd.Env = append(os.Environ(), clientOf+"="+scenario)
			out, err := cmd.CombinedOutput()
			if err != nil || !strings.Contains(string(out), "0 failed") {
				t.Errorf("%v\n%s", err, out)
			}
			t.Logf("%s was checked", scenario) // make shows lines of tests alone, and fails without one
		})
	}
}

// client calls each tool of the server at a URL.
func client(t *testing.T, url string) {
	h := New([]Server{{Name: "suite", URL: url, HTTP: http.DefaultTransport}}, nil)
	defer h.Close()
	for _, s := range h.List(t.Context()) {
		if s.Down != "" {
			t.Errorf("%s: %s", url, s.Down)
		}
		for _, tool := range s.Tools {
			args := "{}"
			if tool.Name == "add_numbers" {
				args = `{"a":2,"b":3}`
			}
			_, err := h.Call(context.WithoutCancel(t.Context()), Call{Server: "suite", Tool: tool.Name, Arguments: []byte(args), Answer: func(string) (string, bool) { return "-", true }})
			if err != nil {
				t.Errorf("%s: %v", tool.Name, err)
			}
		}
	}
}
