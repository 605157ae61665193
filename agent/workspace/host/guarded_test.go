package host

import (
	"context"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/handrail-bot/handrail/agent/workspace"
)

// brittleHandler is a log that panics on one message.
type brittleHandler struct{ slog.Handler }

func (brittleHandler) Enabled(context.Context, slog.Level) bool { return true }

func (b brittleHandler) Handle(ctx context.Context, r slog.Record) error {
	if r.Message == "make repository" {
		panic("out of range")
	}
	return b.Handler.Handle(ctx, r)
}

// A panic inside the tool host ends the request that it came from, and the
// workspace serves the next one.
func TestHostThatPanics(t *testing.T) {
	t.Parallel()
	dir, half := t.TempDir(), t.TempDir()
	for path, text := range map[string]string{filepath.Join(dir, "a.txt"): "a\n", filepath.Join(half, workspace.GitReady): ""} {
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	var log strings.Builder
	ours, theirs := net.Pipe()
	served := make(chan error, 1)
	go func() {
		served <- Serve(t.Context(), theirs, Config{Root: dir, Git: half, Env: []string{"PATH=" + os.Getenv("PATH")},
			Log: slog.New(brittleHandler{slog.NewTextHandler(&log, nil)})})
	}()
	ws, err := workspace.Connect(t.Context(), workspace.Config{Engine: "test", Conn: ours})
	if err != nil {
		t.Fatal(err)
	}
	_, err = ws.Run(t.Context(), workspace.Command{Line: "git status"}, nil)
	if err == nil || !strings.Contains(err.Error(), "fault in Handrail itself (out of range)") {
		t.Errorf("the command: %v", err)
	}
	if f, err := ws.Read(t.Context(), "a.txt"); err != nil || f.Lines != 1 {
		t.Errorf("the next request: %+v, %v", f, err)
	}
	if res, err := ws.Run(t.Context(), workspace.Command{Line: "echo on"}, nil); err != nil || res.Output != "on\n" {
		t.Errorf("the next command: %+v, %v", res, err)
	}
	if err := ws.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if err := <-served; err != nil {
		t.Error(err)
	}
	if !strings.Contains(log.String(), "goroutine") {
		t.Errorf("the log has no stack: %s", &log)
	}
}
