package beside_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/handrail-bot/handrail/agent/workspace"
	"github.com/handrail-bot/handrail/agent/workspace/beside"
	"github.com/handrail-bot/handrail/agent/workspace/bwrap"
	"github.com/handrail-bot/handrail/agent/workspace/workspacetest"
	"github.com/handrail-bot/handrail/policy/longtest"
)

func TestMain(m *testing.M) {
	if workspacetest.Toolhost(os.Environ()) {
		return
	}
	goleak.VerifyTestMain(m)
}

// serve starts the other process, here in this one. It returns its socket and a
// function that ends it.
func serve(t *testing.T, dir string) (socket string, stop func()) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	e, err := bwrap.New(t.Context(), bwrap.Config{Binary: self})
	if err != nil {
		t.Fatal(err)
	}
	workspacetest.Need(t, e, os.Getenv("HANDRAIL_REQUIRE_ENGINES"))
	socket = filepath.Join(t.TempDir(), "s")
	l, err := new(net.ListenConfig).Listen(t.Context(), "unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- beside.Serve(ctx, l, e, dir, slog.New(slog.DiscardHandler)) }()
	ended := false
	stop = func() {
		cancel()
		if ended {
			return
		}
		ended = true
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(stop)
	return socket, stop
}

func TestConformance(t *testing.T) {
	if !longtest.Long() {
		t.Skip("NEEDS HANDRAIL_LONG=1: what is behind the socket passes the suite in its own package")
	}
	socket, _ := serve(t, os.TempDir())
	workspacetest.Run(t, workspacetest.Subject{Engine: beside.New(socket, nil), Wall: true})
}

// What gets out is decided by who asked for the workspace, not by who makes it.
func TestEgress(t *testing.T) {
	socket, _ := serve(t, os.TempDir())
	workspacetest.Egress(t, workspacetest.Subject{Engine: beside.New(socket, nil), Wall: true})
}

func TestWorkspaceOfAnotherProcess(t *testing.T) {
	dir := t.TempDir()
	socket, stop := serve(t, dir)
	e := beside.New(socket, nil)
	if err := e.Check(t.Context()); err != nil || e.Name() != "bwrap" {
		t.Fatalf("%s: %v", e.Name(), err)
	}
	if b := e.Bounds(t.Context()); b.How == "" || len(b.Missing) > 0 {
		t.Errorf("%+v", b)
	}
	open := func(name string) (*workspace.Workspace, string) {
		state := filepath.Join(dir, name)
		ws, err := e.Open(t.Context(), workspace.Spec{Session: "a", State: state})
		if err != nil {
			t.Fatal(err)
		}
		if err := ws.Write(t.Context(), "a.txt", []byte("one\n")); err != nil {
			t.Error(err)
		}
		if res, err := ws.Run(t.Context(), workspace.Command{Line: "cat a.txt; sleep 1000 & echo two"}, nil); err != nil || res.Output != "one\ntwo\n" {
			t.Errorf("%v, %+v", err, res)
		}
		return ws, state
	}
	ws, state := open("closed")
	if err := ws.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(state); err == nil {
		t.Error("the state directory is still there")
	}
	ws, state = open("cut off")
	stop() // as when the other container ends
	if _, err := ws.Read(t.Context(), "a.txt"); !errors.Is(err, workspace.ErrGone) {
		t.Errorf("read without the other process: %v", err)
	}
	if err := ws.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(state); err == nil {
		t.Error("the state directory is still there")
	}
	if err := e.Check(t.Context()); err == nil || !strings.Contains(err.Error(), "handrail workspaces") {
		t.Errorf("without the other process: %v", err)
	}
	if b := e.Bounds(t.Context()); len(b.Missing) == 0 {
		t.Error("the limits of nobody are kept")
	}
}

// Whoever reaches the socket can have no other directory shown inside.
func TestOnlySharedDirectories(t *testing.T) {
	dir, other := t.TempDir(), t.TempDir()
	socket, _ := serve(t, dir)
	e := beside.New(socket, nil)
	for _, spec := range []workspace.Spec{
		{Session: "a", State: filepath.Join(dir, "s"), Source: other},
		{Session: "a", State: filepath.Join(dir, "s"), Source: dir + "/../" + filepath.Base(other)},
		{Session: "a", State: filepath.Join(dir, "s"), LSP: other},
		{Session: "a", State: filepath.Join(other, "s")},
		{Session: "a", State: dir + "-else"},
	} {
		ws, err := e.Open(t.Context(), spec)
		if err == nil {
			t.Errorf("%+v was opened: %v", spec, ws.Close(t.Context()))
			continue
		}
		if !strings.Contains(err.Error(), "shares with the server") {
			t.Errorf("%+v: %v", spec, err)
		}
	}
}

// Strange first lines end their connection and nothing else.
func TestStrangers(t *testing.T) {
	socket, _ := serve(t, t.TempDir())
	for line, want := range map[string]string{
		`{"version":1}`: "run the same handrail", "GET / HTTP/1.1": "", strings.Repeat("x", 2<<20): "", "": "",
	} {
		c, err := new(net.Dialer).DialContext(t.Context(), "unix", socket)
		if err != nil {
			t.Fatal(err)
		}
		_ = c.SetDeadline(time.Now().Add(10 * time.Minute))
		_, _ = c.Write([]byte(line + "\n"))
		var answer struct{ Error string }
		err = json.NewDecoder(c).Decode(&answer)
		if !strings.Contains(answer.Error, want) || want == "" && err == nil {
			t.Errorf("%.20q: %v, %+v", line, err, answer)
		}
		_ = c.Close()
	}
	if err := beside.New(socket, nil).Check(t.Context()); err != nil {
		t.Error(err)
	}
}
