package workspacetest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/handrail-bot/handrail/agent/workspace"
	"github.com/handrail-bot/handrail/policy/longtest"
)

// Disk usage allowed for a bomb. The bombs are much larger, but too small to harm the
// machine that runs the tests.
const (
	quota     = 32 << 20
	maxExcess = 96 << 20
)

// A bomb that is not ended runs into the time limit of its command.
const (
	until  = "; sleep 600; echo finished"
	slowly = "for i in $(seq 40); do head -c 5000000 /dev/zero; [ $i -lt 10 ] || sleep 1; done "
)

// quotas sets off bombs on the disk. Each must be ended soon with a reason, and the
// session must go on.
func quotas(t *testing.T, s Subject) {
	state := filepath.Join(t.TempDir(), "state")
	source := t.TempDir()
	if err := os.Chmod(source, 0o755); err != nil {
		t.Fatal(err)
	}
	Tree{"a.txt": "a\n"}.write(t, source)
	if err := workspace.Give(t.Context(), source); err != nil {
		t.Fatal(err)
	}
	others := filepath.Join(filepath.Dir(state), "others")
	if out, err := exec.CommandContext(t.Context(), "fallocate", "-l", "400M", others).CombinedOutput(); err != nil {
		t.Logf("others delete nothing: %s", out)
	}
	ws := OpenSpec(t, s, workspace.Spec{Source: source, State: state, Limits: workspace.Limits{DiskBytes: quota}})
	mustRun(t, ws, "true")
	_ = os.Remove(others) // hides the session's growth from the file system's figures
	cache, inCache := "/cache", "/cache/c"
	if !s.Wall {
		cache, inCache = `"$TMPDIR"`, "../tmp/c" // outside of the tree
	}
	bombs := map[string]string{
		"at once":              "head -c 220000000 /dev/zero >big",
		"one file":             slowly + ">big" + until,
		"many pieces":          "for i in 1 2 3 4 5 6 7 8 9 10 11; do head -c 10000000 /dev/zero >p$i; [ $i -lt 6 ] || sleep 1; done" + until,
		"empty files":          "mkdir e; cd e; i=0; while [ $i -lt 12000 ]; do : >$i; i=$((i+1)); done" + until,
		"a cache":              "mkdir " + cache + "/c; " + slowly + ">" + cache + "/c/x" + until,
		"a file without name":  "exec 9>gone; rm gone; " + slowly + ">&9" + until,
		"behind a closed door": "mkdir d; chmod 300 d; head -c 84000000 /dev/zero >d/x; chmod 0 d",
		"closed for long":      "mkdir d; chmod 300 d; " + slowly + ">d/x" + until,
		"names without more":   "mkdir d; head -c 84000000 /dev/zero >d/x; chmod 400 d",
		"in the background":    "setsid sh -c '" + slowly + ">big' & wait" + until,
		"very deep":            `d=$(printf 'd/%.0s' $(seq 900)); mkdir -p $d && cd $d && mkdir -p $d && cd $d && ` + slowly + ">x" + until,
	}
	if !longtest.Long() {
		for _, name := range []string{"many pieces", "closed for long", "a cache", "in the background", "very deep"} {
			delete(bombs, name)
		}
	}
	for name, line := range bombs {
		res, err := ws.Run(t.Context(), workspace.Command{Line: line, Timeout: 10 * time.Minute}, nil)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		size, most := diskUsage(t, state), int64(quota+maxExcess)
		if name == "at once" { // detected only after it has ended
			most *= 2
		}
		if !strings.Contains(res.Ended, "files of this session take") || strings.Contains(res.Output, "finished") ||
			size > most {
			t.Fatalf("%s: %d MiB on the disk: %+v", name, size>>20, res)
		}
		checkRefused(t, ws, name)
		run(t, ws, "chmod 700 d d/e")
		mustRun(t, ws, "rm -rf big gone e d p1 p2 p3 p4 p5 p6 p7 p8 p9 p10 p11 "+inCache)
		if res := run(t, ws, "cat a.txt"); res.Output != "a\n" {
			t.Errorf("%s: afterwards: %+v", name, res)
		}
	}
	harmless(t, ws)
	if res := run(t, ws, "fallocate -l 200M all 2>&1; ls -s all | cut -d' ' -f1"); s.Wall &&
		strings.HasSuffix(res.Output, "00\n") {
		t.Errorf("200 MB at once: %q", res.Output)
	}
}

// checkRefused checks that writes are refused while the session takes too much.
func checkRefused(t *testing.T, ws *workspace.Workspace, name string) {
	if name == "a file without name" {
		return // the file is gone with its process
	}
	res, err := ws.Run(t.Context(), workspace.Command{Line: "cd; echo more >more"}, nil)
	said := res.Ended // if the look at the disk took longer than the command
	if err != nil {
		said = err.Error()
	}
	if !strings.Contains(said, "delete what is not needed") {
		t.Errorf("%s: a command while there is too much on the disk: %+v, %v", name, res, err)
	}
	if err := ws.Write(t.Context(), "more", []byte("more")); err == nil ||
		!strings.Contains(err.Error(), "delete what is not needed") {
		t.Errorf("%s: a write while there is too much on the disk: %v", name, err)
	}
}

// harmless runs commands that look like bombs and take little space.
func harmless(t *testing.T, ws *workspace.Workspace) {
	for name, line := range map[string]string{
		"hole":        "truncate -s 1T hole",
		"many names":  "head -c 9000000 /dev/zero >n; for i in 1 2 3 4 5 6 7 8 9; do ln n n$i; done",
		"come and go": "for i in 1 2 3 4 5 6 7 8; do head -c 9000000 /dev/zero >g && rm g; done",
	} {
		res := run(t, ws, line+"; sleep 0.5; echo finished")
		if res.Output != "finished\n" {
			t.Errorf("%s: %+v", name, res)
		}
	}
}

// diskUsage returns the disk usage of a tree as reported by du.
func diskUsage(t *testing.T, dir string) int64 {
	t.Helper()
	out, _ := exec.CommandContext(t.Context(), "du", "-sk", dir).Output() // fails on files that vanish meanwhile
	n, _, _ := strings.Cut(string(out), "\t")
	kilos, err := strconv.ParseInt(n, 10, 64)
	if err != nil {
		t.Logf("du %s: %q", dir, out)
	}
	return kilos << 10
}

// together checks the limits of all processes of a session together.
func together(t *testing.T, s Subject) {
	if !s.Wall {
		return
	}
	if raceDetector && s.Engine.Name() == "bwrap" {
		t.Skip("NEEDS A BUILD WITHOUT -race: the detector's own memory is more than the limit; .ci/test runs this without")
	}
	ws := OpenSpec(t, s, workspace.Spec{Limits: workspace.Limits{Pids: 100, MemoryBytes: 192 << 20, CPUs: 1}})
	// Each holds its memory for long enough to meet the others, also where they are slow.
	bombs := map[string]string{
		"processes":         "for i in 1 2 3 4 5 6; do { { head -c 65000000 /dev/zero; sleep 5; } | tail -c 60000000 >/dev/null && echo finished; } & done; wait",
		"of other sessions": "for i in 1 2 3 4 5 6; do setsid sh -c '{ head -c 65000000 /dev/zero; sleep 5; } | env -i tail -c 60000000 >/dev/null && echo finished' & done; wait",
		"scratch":           "for d in /tmp /dev/shm /var/tmp; do head -c 300000000 /dev/zero >$d/x; done 2>/dev/null; { head -c 130000000 /dev/zero; sleep 5; } | tail -c 120000000 >/dev/null && echo finishedfinishedfinishedfinishedfinishedfinished",
	}
	if !longtest.Long() {
		delete(bombs, "of other sessions")
	}
	for name, line := range bombs {
		res := run(t, ws, line)
		if n := strings.Count(res.Output, "finished"); n > 3 || res.TimedOut {
			t.Errorf("%s: %d of 6 with 60 MB each finished within 192 MiB: %+v", name, n, res)
		}
		if out := mustRun(t, ws, "rm -f /tmp/x /dev/shm/x /var/tmp/x; echo alive"); out != "alive\n" {
			t.Errorf("%s: afterwards: %q", name, out)
		}
	}
	segments(t, ws)
	res := run(
		t,
		ws,
		"TIMEFORMAT='%R %U %S'; time (for i in 1 2 3; do timeout 0.7 sh -c 'while :; do :; done' & done; wait)",
	)
	var took, user, sys float64 // a busy machine takes longer than 0.7 s
	if _, err := fmt.Sscanf(res.Output[strings.LastIndex(strings.TrimSpace(res.Output), "\n")+1:], "%f %f %f", &took, &user, &sys); err != nil ||
		user+sys > took*1.5 {
		t.Errorf("three busy programs on one processor: %v, %q", err, res.Output)
	}
	if out := run(t, ws, "cd /tmp; seq 1 120000 | xargs touch 2>/dev/null; ls | wc -l; rm -rf /tmp/*; true").Output; strings.Contains(out, "120000") {
		t.Errorf("files in /tmp without end: %q", out)
	}
}

// segments fills shared memory that outlives its processes.
func segments(t *testing.T, ws *workspace.Workspace) {
	res := run(
		t,
		ws,
		`perl -e 'for (1 .. 6) { my $id = shmget(0, 60 << 20, 0600 | 01000) // die "none\n"; shmwrite($id, "x" x (60 << 20), 0, 60 << 20) } sleep 2; print "finished\n"'`,
	)
	if res.Exit == 0 {
		t.Errorf("360 MB of shared memory within 192 MiB: %+v", res)
	}
	if out := mustRun(t, ws, `perl -e '$x = "x" x (60 << 20); print "alive\n"'`); out != "alive\n" {
		t.Errorf("after shared memory: %q", out)
	}
}
