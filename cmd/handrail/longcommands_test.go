package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/handrail-bot/handrail/agent/llm"
	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/agent/tools"
	"github.com/handrail-bot/handrail/agent/work"
	"github.com/handrail-bot/handrail/agent/workspace"
	"github.com/handrail-bot/handrail/agent/workspace/host"
	"github.com/handrail-bot/handrail/policy"
)

// heard is a connection that keeps what is written to it.
type heard struct {
	net.Conn
	mu   sync.Mutex
	said bytes.Buffer
}

func (h *heard) Write(p []byte) (int, error) {
	h.mu.Lock()
	h.said.Write(p)
	h.mu.Unlock()
	return h.Conn.Write(p)
}

func (h *heard) has(text string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return bytes.Contains(h.said.Bytes(), []byte(text))
}

// Commands that the configuration of the server or of the repository names may run past
// the ordinary limit; those that are built in may where neither names any.
func TestLongRunningCommands(t *testing.T) {
	t.Parallel()
	const ordinary, longest = 2 * time.Minute, 10 * time.Minute
	for name, tt := range map[string]struct {
		server, repo []string
		want         map[string]time.Duration
	}{
		"built in":   {want: map[string]time.Duration{"make --version": longest, "true; sh ./gradlew test": longest, "sh -c true": ordinary, "echo all": ordinary, "ls": ordinary}},
		"repository": {repo: []string{"echo "}, want: map[string]time.Duration{"echo all": longest, "ls; echo all": longest, "echoes || true": ordinary, "make --version": ordinary}},
		"both":       {server: []string{"make"}, repo: []string{"echo "}, want: map[string]time.Duration{"echo all": longest, "make --version": longest, "ls": ordinary}},
	} {
		t.Run(name, func(t *testing.T) {
			here, there := net.Pipe()
			wire := &heard{Conn: here}
			served := make(chan error, 1)
			go func() {
				served <- host.Serve(t.Context(), there, host.Config{Root: t.TempDir(), Env: os.Environ(), Log: slog.New(slog.DiscardHandler)})
			}()
			ws, err := workspace.Connect(t.Context(), workspace.Config{Engine: "test", Conn: wire})
			if err != nil {
				t.Fatal(err)
			}
			rules := policy.Merge(policy.Config{Running: policy.Running{LongRunningCommands: tt.server}}, policy.Config{Running: policy.Running{LongRunningCommands: tt.repo}})
			got, err := engineParts{model: func(string) (llm.Model, error) { return nil, nil }}.agent(work.Need{Workspace: ws, Rules: rules})
			if err != nil {
				t.Fatal(err)
			}
			run := got.Tools[slices.IndexFunc(got.Tools, func(t tools.Tool) bool { return t.Spec().Name == "run_terminal_command" })]
			for line, want := range tt.want {
				args, err := json.Marshal(map[string]string{"command": line})
				if err != nil {
					t.Fatal(err)
				}
				if _, err := run.Run(t.Context(), session.Call{Name: "run_terminal_command", Arguments: args}, func(string) {}); err != nil {
					t.Errorf("%q: %v", line, err)
				}
				if text := fmt.Sprintf(`"line":%q,"cwd":".","timeout":%d`, line, want); !wire.has(text) {
					t.Errorf("%q may not run for %s: %s", line, want, wire.said.String())
				}
			}
			if err := ws.Close(t.Context()); err != nil {
				t.Error(err)
			}
			<-served
		})
	}
}
