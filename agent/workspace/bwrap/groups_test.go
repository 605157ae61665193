package bwrap_test

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/handrail-bot/handrail/agent/workspace"
	"github.com/handrail-bot/handrail/agent/workspace/bwrap"
	"github.com/handrail-bot/handrail/agent/workspace/workspacetest"
	"github.com/handrail-bot/handrail/policy/longtest"
)

// groups makes a stand-in for control groups of version 2.
func groups(t *testing.T, files map[string]string) bwrap.Groups {
	t.Helper()
	s := bwrap.Groups{Mount: t.TempDir(), UID: os.Geteuid()}
	s.Self, s.Runtime = filepath.Join(s.Mount, "self"), s.Mount
	files["self"], files["cgroup.controllers"] = "0::/service\n", "cpu memory pids\n"
	for name, text := range files {
		file := filepath.Join(s.Mount, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// The sandbox enters its group before anything runs in it.
func TestDelegatedGroup(t *testing.T) {
	longtest.Leave(t)
	s := groups(t, map[string]string{"service/cgroup.controllers": "cpu memory pids\n", "service/cgroup.procs": ""})
	e := engine(t, bwrap.Config{Groups: s})
	if b := e.Bounds(t.Context()); !strings.HasPrefix(b.How, "control groups") || len(b.Missing) > 0 {
		t.Errorf("%+v", b)
	}
	state := filepath.Join(t.TempDir(), "state")
	ws, err := e.Open(t.Context(), workspace.Spec{Session: "a", State: state, Limits: workspace.Limits{MemoryBytes: 1 << 30}})
	if err != nil {
		t.Fatal(err)
	}
	found, err := filepath.Glob(filepath.Join(s.Mount, "service", "handrail-a-*"))
	if err != nil || len(found) != 1 {
		t.Fatalf("groups: %v, %v", found, err)
	}
	pid, err := os.ReadFile(filepath.Join(found[0], "cgroup.procs"))
	if n, bad := strconv.Atoi(strings.TrimSpace(string(pid))); err != nil || bad != nil || n < 2 {
		t.Errorf("entered: %q, %v", pid, err)
	}
	if most, err := os.ReadFile(filepath.Join(found[0], "memory.max")); err != nil || string(most) != "1073741824" {
		t.Errorf("memory: %q, %v", most, err)
	}
	for _, f := range []string{"cgroup.procs", "memory.max", "memory.swap.max", "pids.max", "cpu.max"} { // the kernel's own files go with their directory
		if err := os.Remove(filepath.Join(found[0], f)); err != nil {
			t.Error(err)
		}
	}
	if err := ws.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(found[0]); err == nil {
		t.Error("the group is still there")
	}
}

// A sandbox that cannot enter its group does not start.
func TestGroupIsEntered(t *testing.T) {
	longtest.Leave(t)
	s := groups(t, map[string]string{"service/cgroup.controllers": "cpu memory pids\n", "service/cgroup.procs": ""})
	e := engine(t, bwrap.Config{Groups: s, Copy: true})
	spec := workspace.Spec{Session: "a", State: filepath.Join(t.TempDir(), "state")}
	at := sha256.Sum256([]byte(spec.State))
	name := fmt.Sprintf("handrail-a-%x", at[:6])
	if err := os.MkdirAll(filepath.Join(s.Mount, "service", name, "cgroup.procs"), 0o755); err != nil {
		t.Fatal(err)
	}
	if ws, err := e.Open(t.Context(), spec); err == nil {
		t.Errorf("it started outside of its group: %v", ws.Close(t.Context()))
	}
}

// An ordinary user's systemd makes a scope of each session.
func TestScope(t *testing.T) {
	uid := strconv.Itoa(os.Geteuid())
	s := groups(t, map[string]string{
		"service/cgroup.controllers": "pids\n",
		"user.slice/user-" + uid + ".slice/user@" + uid + ".service/cgroup.controllers": "cpu memory pids\n",
		"bin/systemd-run": "#!/bin/sh\necho \"$@\" >>\"$XDG_RUNTIME_DIR/ran\"\nwhile [ \"$1\" != -- ]; do shift; done; shift\nexec \"$@\"\n",
	})
	if os.Geteuid() == 0 {
		t.Skip("NEEDS ANOTHER USER THAN ROOT: TestOrdinaryUser runs this as one")
	}
	t.Setenv("PATH", filepath.Join(s.Mount, "bin")+":"+os.Getenv("PATH"))
	ws := workspacetest.Open(t, workspacetest.Subject{Engine: engine(t, bwrap.Config{Groups: s}), Wall: true}, workspacetest.Tree{"a.txt": "a"})
	res, err := ws.Run(t.Context(), workspace.Command{Line: "cat a.txt; id -u"}, nil)
	if err != nil || res.Output != "a"+uid+"\n" {
		t.Errorf("%v, %+v", err, res)
	}
	ran, err := os.ReadFile(filepath.Join(s.Mount, "ran"))
	if err != nil || !strings.Contains(string(ran), "-p MemoryMax=4294967296 -p MemorySwapMax=0 -p TasksMax=576 -p CPUQuota=200% -- ") {
		t.Errorf("%v: %s", err, ran)
	}
}
