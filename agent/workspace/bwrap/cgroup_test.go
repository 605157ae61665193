package bwrap

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/handrail-bot/handrail/agent/workspace"
)

// tree makes a tree of control groups of version 2 as the kernel shows it, with
// this process in /service.
func tree(t *testing.T, controllers string) Groups {
	t.Helper()
	s := Groups{Mount: t.TempDir(), Runtime: "/run/user/1000", UID: 1000}
	s.Self = filepath.Join(s.Mount, "self")
	for name, text := range map[string]string{
		"self": "1:name=systemd:/x\n0::/service\n", "cgroup.controllers": "cpu io memory pids\n",
		"service/cgroup.controllers": controllers, "service/cgroup.procs": strconv.Itoa(os.Getpid()) + "\n",
	} {
		put(t, filepath.Join(s.Mount, name), text)
	}
	return s
}

func put(t *testing.T, file, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
}

func get(t *testing.T, file string) string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Error(err)
	}
	return strings.TrimSpace(string(data))
}

func TestDelegated(t *testing.T) {
	s := tree(t, "cpu memory pids")
	p, err := findGroup(t.Context(), s)
	if err != nil || !p.OK() {
		t.Fatalf("%v, %+v", err, p)
	}
	own := filepath.Join(s.Mount, "service")
	if got := get(t, filepath.Join(own, "cgroup.subtree_control")); got != "+memory +pids +cpu" {
		t.Errorf("enabled %q", got)
	}
	g, err := p.Make("handrail-a", workspace.Limits{MemoryBytes: 1 << 30, Pids: 100, CPUs: 1.5})
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(own, "handrail-a")
	for file, want := range map[string]string{"memory.max": "1073741824", "memory.swap.max": "0", "pids.max": "164", "cpu.max": "150000 100000"} {
		if got := get(t, filepath.Join(dir, file)); got != want {
			t.Errorf("%s: %q, want %q", file, got, want)
		}
		if err := os.Remove(filepath.Join(dir, file)); err != nil { // the kernel's own files go with their directory
			t.Error(err)
		}
	}
	if got := g.Enter(); len(got) != 1 || got[0] != filepath.Join(dir, "cgroup.procs") {
		t.Errorf("enter by %q", got)
	}
	if err := g.Remove(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(dir); err == nil {
		t.Error("the group is still there")
	}
}

// A service's own group has the server in it, and must have no processes before
// it can have groups below.
func TestServerMovesDown(t *testing.T) {
	s := tree(t, "cpu memory pids")
	own := filepath.Join(s.Mount, "service")
	// As in the kernel, it cannot be written to at first.
	if err := os.Symlink("server/enabled", filepath.Join(own, "cgroup.subtree_control")); err != nil {
		t.Fatal(err)
	}
	if _, err := findGroup(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	if got := get(t, filepath.Join(own, "server/cgroup.procs")); got != strconv.Itoa(os.Getpid()) {
		t.Errorf("moved %q", got)
	}
	if got := get(t, filepath.Join(own, "server/enabled")); got == "" {
		t.Error("nothing was enabled after the move")
	}
}

func TestNoPlace(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	shared := tree(t, "cpu memory pids")
	own := filepath.Join(shared.Mount, "service")
	put(t, filepath.Join(own, "cgroup.procs"), strconv.Itoa(os.Getpid())+"\n1\n")
	if err := os.Symlink("server/enabled", filepath.Join(own, "cgroup.subtree_control")); err != nil {
		t.Fatal(err)
	}
	lost := tree(t, "cpu memory pids")
	put(t, lost.Self, "4:memory:/x\n")
	for name, tt := range map[string]struct {
		s    Groups
		want string
	}{
		"shared":      {shared, "is shared with other programs, such as process 1;"},
		"no memory":   {tree(t, "cpu pids"), `has no "memory"`},
		"other trees": {lost, "names none of version 2"},
		"no groups":   {Groups{Mount: t.TempDir(), UID: 1000}, "no control groups can be made"},
	} {
		if p, err := findGroup(t.Context(), tt.s); err == nil || p.OK() || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, %+v; want %q", name, err, p, tt.want)
		}
	}
}

// Where the user's own systemd has the controllers, each session gets a scope
// of it. The stand-in runs what it is given.
func TestScope(t *testing.T) {
	s := tree(t, "pids")
	user := filepath.Join(s.Mount, "user.slice/user-1000.slice/user@1000.service/cgroup.controllers")
	put(t, user, "cpu memory pids")
	bin := t.TempDir()
	put(t, filepath.Join(bin, "systemd-run"), "#!/bin/sh\n[ \"$XDG_RUNTIME_DIR\" = /run/user/1000 ] || exit 1\nwhile [ \"$1\" != -- ]; do shift; done; shift\nexec \"$@\"\n")
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	p, err := findGroup(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	g, err := p.Make("x", workspace.Limits{MemoryBytes: 1 << 30, Pids: 100, CPUs: 1.5})
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(g.Wrap(), " "); !strings.HasSuffix(got, "/systemd-run --user --scope --quiet --collect -p MemoryMax=1073741824 -p MemorySwapMax=0 -p TasksMax=164 -p CPUQuota=150% --") {
		t.Errorf("wrapped in %q", got)
	}
	put(t, user, "memory pids") // systemd would not limit processors, and not say so
	if p, err := findGroup(t.Context(), s); err == nil {
		t.Errorf("without processors: %+v", p)
	}
	put(t, user, "cpu memory pids")
	put(t, filepath.Join(bin, "systemd-run"), "#!/bin/sh\nexit 1\n") // it does not run
	if p, err := findGroup(t.Context(), s); err == nil {
		t.Errorf("without systemd: %+v", p)
	}
}

// TestSweep: the groups of killed processes go when the next one starts; those in use, which
// are not empty here, and young ones stay.
func TestSweep(t *testing.T) {
	s := tree(t, "cpu memory pids\n")
	old := time.Now().Add(-time.Hour)
	for name, gone := range map[string]bool{"handrail-old-1": true, "handrail-used-1": false, "handrail-young-1": false, "other-old": false} {
		dir := filepath.Join(s.Mount, "service", name)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(name, "used") {
			put(t, filepath.Join(dir, "cgroup.procs"), "1\n")
		}
		if !strings.Contains(name, "young") {
			if err := os.Chtimes(dir, old, old); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := findGroup(t.Context(), s); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(dir); (err != nil) != gone {
			t.Errorf("%s: %v", name, err)
		}
	}
}
