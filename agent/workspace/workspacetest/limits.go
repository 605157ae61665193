package workspacetest

import (
	"strings"
	"testing"

	"github.com/handrail-bot/handrail/agent/workspace"
)

// limits checks that a bomb inside ends its own command and not the workspace.
func limits(t *testing.T, s Subject) {
	if !s.Wall {
		return
	}
	if raceDetector && s.Engine.Name() == "bwrap" {
		t.Skip("NEEDS A BUILD WITHOUT -race: the detector's own memory is more than the limit; .ci/test runs this without")
	}
	ws := OpenSpec(t, s, workspace.Spec{Limits: workspace.Limits{Pids: 60, MemoryBytes: 512 << 20}})
	res := run(
		t,
		ws,
		"sh -c 'n=0; while [ $n -lt 200 ]; do sleep 98765 & n=$((n+1)); done; echo started $n'; exit 0",
	) // bash itself would retry for 15 s
	if strings.Contains(res.Output, "started 200\n") {
		t.Errorf("200 processes with a limit of 60: exit %d, %.200q", res.Exit, res.Output)
	}
	if out := mustRun(t, ws, "echo alive"); out != "alive\n" {
		t.Errorf("after too many processes: %q", out)
	}
	res = run(t, ws, "head -c 800000000 /dev/zero | tail -c 700000000 | wc -c")
	if strings.HasSuffix(res.Output, "700000000\n") { // the shell may print the killed command first
		t.Errorf("700 MB in memory with a limit of 512 MiB: %+v", res)
	}
	if out := mustRun(t, ws, "echo alive"); out != "alive\n" {
		t.Errorf("after too much memory: %q", out)
	}
	fullPlaces(t, ws)
}

// fullPlaces checks that a full file system is reported with its size and a remedy: once,
// and again whenever a command fails because of it.
func fullPlaces(t *testing.T, ws *workspace.Workspace) {
	const words = "/dev/shm is full: it holds 64.0 MiB. Delete unneeded files there, or write to another directory. The operator of this server can make it larger with workspace.memory"
	for _, step := range []struct {
		line string
		want string // part of the output; empty if there is no message
	}{
		{"true", ""},
		{"head -c 100000000 /dev/zero >/dev/shm/x 2>/dev/null; true", words},
		{"cat /dev/shm/x | wc -c >/dev/null", ""},
		{"echo more >/dev/shm/y", words},
		{"head -c 40000000 /dev/zero >/var/tmp/x 2>/dev/null; echo more >/dev/shm/y; true", "/var/tmp is full: it holds 16.0 MiB"},
		{"rm /dev/shm/x /var/tmp/x; echo No space left on device; false", "/dev/shm has 64.0 MiB of 64.0 MiB left"},
		{"echo No space left on device", ""},
		{"echo more >/dev/shm/y", ""},
	} {
		res := run(t, ws, step.line)
		if !strings.Contains(res.Output, step.want) || step.want == "" && strings.Contains(res.Output, "[") {
			t.Errorf("%s: %q, want %q", step.line, res.Output, step.want)
		}
	}
}

// tampering checks that commands cannot reach into the tool host or end it,
// although they have the same user.
func tampering(t *testing.T, s Subject) {
	if !s.Wall {
		return
	}
	ws := Open(t, s, Tree{"a.txt": "a\n"})
	run(t, ws, "kill -9 1; kill -TERM 1; true")
	for _, line := range []string{"echo x > /proc/1/fd/1", "cat /proc/1/environ", "cat /proc/1/mem", "ls /proc/1/fd/"} {
		if res := run(t, ws, line+" 2>/dev/null"); res.Exit == 0 {
			t.Errorf("%s worked: %.100q", line, res.Output)
		}
	}
	if _, err := ws.Read(t.Context(), "a.txt"); err != nil {
		t.Errorf("read after tampering: %v", err)
	}
}
