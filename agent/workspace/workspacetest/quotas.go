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
)

// What a bomb may take: its own size is far above, and below what would harm
// the machine that runs the tests.
const (
	quota    = 32 << 20
	mostMore = 96 << 20
	bombTime = 5 * time.Second
)

// slowly writes 200 MB in about two seconds.
const slowly = "for i in $(seq 40); do head -c 5000000 /dev/zero; sleep 0.04; done "

// quotas sets off bombs on the disk. Each is ended with words that say why,
// soon, and the session goes on.
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
	ws := OpenSpec(t, s, workspace.Spec{Source: source, State: state, Limits: workspace.Limits{DiskBytes: quota}})
	cache, inCache := "/cache", "/cache/c"
	if !s.Wall {
		cache, inCache = `"$TMPDIR"`, "../tmp/c" // beside the tree
	}
	bombs := map[string]string{
		"at once":              "head -c 220000000 /dev/zero >big",
		"one file":             slowly + ">big",
		"many pieces":          "for i in 1 2 3 4 5 6 7 8 9 10 11; do head -c 10000000 /dev/zero >p$i; sleep 0.1; done",
		"empty files":          "mkdir e; cd e; i=0; while [ $i -lt 30000 ]; do : >$i; i=$((i+1)); done; sleep 3",
		"a cache":              "mkdir " + cache + "/c; " + slowly + ">" + cache + "/c/x",
		"a file without name":  "exec 9>gone; rm gone; " + slowly + ">&9",
		"behind a closed door": "mkdir d; for i in 1 2 3 4 5 6 7; do head -c 12000000 /dev/zero >d/$i; chmod 0 d; sleep 0.1; chmod 700 d; done; chmod 0 d; sleep 0.5",
		"in the background":    "setsid sh -c '" + slowly + ">big' & sleep 2",
		"very deep":            `d=$(printf 'd/%.0s' $(seq 900)); mkdir -p $d && cd $d && mkdir -p $d && cd $d && ` + slowly + ">x",
	}
	if os.Getenv("HANDRAIL_LONG") == "" {
		for _, name := range []string{"at once", "many pieces", "a cache", "in the background", "very deep"} {
			delete(bombs, name)
		}
	}
	for name, line := range bombs {
		began := time.Now()
		res := run(t, ws, line)
		took, size := time.Since(began), taken(t, state)
		if !strings.Contains(res.Output, "files of this session take") || took > bombTime || size > quota+mostMore && name != "at once" {
			t.Errorf("%s: after %s, %d MiB on the disk: %.300q", name, took, size>>20, res.Output)
		}
		refused(t, ws, name)
		run(t, ws, "chmod 700 d d/e")
		mustRun(t, ws, "rm -rf big gone e d p1 p2 p3 p4 p5 p6 p7 p8 p9 p10 p11 "+inCache)
		if res := run(t, ws, "cat a.txt"); res.Output != "a\n" {
			t.Errorf("%s: afterwards: %+v", name, res)
		}
	}
	harmless(t, ws)
	if res := run(t, ws, "fallocate -l 200M all 2>&1; ls -s all | cut -d' ' -f1"); s.Wall && strings.HasSuffix(res.Output, "00\n") {
		t.Errorf("200 MB at once: %q", res.Output)
	}
}

// refused checks that nothing writes more while there is too much.
func refused(t *testing.T, ws *workspace.Workspace, name string) {
	if name == "a file without name" {
		return // it is gone with its process
	}
	if res, err := ws.Run(t.Context(), workspace.Command{Line: "cd; echo more >more"}, nil); err == nil || !strings.Contains(err.Error(), "delete what is not needed") {
		t.Errorf("%s: a command while there is too much on the disk: %+v, %v", name, res, err)
	}
	if err := ws.Write(t.Context(), "more", []byte("more")); err == nil || !strings.Contains(err.Error(), "delete what is not needed") {
		t.Errorf("%s: a write while there is too much on the disk: %v", name, err)
	}
}

// harmless does what looks like a bomb and takes little room.
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

// taken returns what a tree takes on the disk, as du says it.
func taken(t *testing.T, dir string) int64 {
	t.Helper()
	out, _ := exec.CommandContext(t.Context(), "du", "-sk", dir).Output() // it fails on what goes away meanwhile
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
	bombs := map[string]string{
		"processes":         "for i in 1 2 3 4 5 6; do { { head -c 65000000 /dev/zero; sleep 1; } | tail -c 60000000 >/dev/null && echo finished; } & done; wait",
		"of other sessions": "for i in 1 2 3 4 5 6; do setsid sh -c '{ head -c 65000000 /dev/zero; sleep 1; } | env -i tail -c 60000000 >/dev/null && echo finished' & done; wait",
		"scratch":           "for d in /tmp /dev/shm /var/tmp; do head -c 300000000 /dev/zero >$d/x; done 2>/dev/null; { head -c 130000000 /dev/zero; sleep 1; } | tail -c 120000000 >/dev/null && echo finishedfinishedfinishedfinishedfinishedfinished",
	}
	if os.Getenv("HANDRAIL_LONG") == "" {
		delete(bombs, "of other sessions")
	}
	for name, line := range bombs {
		began := time.Now()
		res := run(t, ws, line)
		if n := strings.Count(res.Output, "finished"); n > 3 || time.Since(began) > bombTime+3*time.Second {
			t.Errorf("%s: %d of 6 with 60 MB each finished within 192 MiB, after %s: %.300q", name, n, time.Since(began), res.Output)
		}
		if out := mustRun(t, ws, "rm -f /tmp/x /dev/shm/x /var/tmp/x; echo alive"); out != "alive\n" {
			t.Errorf("%s: afterwards: %q", name, out)
		}
	}
	segments(t, ws)
	res := run(t, ws, "TIMEFORMAT='%U %S'; time (for i in 1 2 3; do timeout 0.7 sh -c 'while :; do :; done' & done; wait)")
	var user, sys float64
	if _, err := fmt.Sscanf(res.Output[strings.LastIndex(strings.TrimSpace(res.Output), "\n")+1:], "%f %f", &user, &sys); err != nil || user+sys > 0.7*1.5 {
		t.Errorf("three busy programs on one processor for 0.7 s: %v, %q", err, res.Output)
	}
	if out := run(t, ws, "cd /tmp; seq 1 120000 | xargs touch 2>/dev/null; ls | wc -l; rm -rf /tmp/*; true").Output; strings.Contains(out, "120000") {
		t.Errorf("files in /tmp without end: %q", out)
	}
}

// segments fills shared memory that outlives its processes.
func segments(t *testing.T, ws *workspace.Workspace) {
	res := run(t, ws, `perl -e 'for (1 .. 6) { my $id = shmget(0, 60 << 20, 0600 | 01000) // die "none\n"; shmwrite($id, "x" x (60 << 20), 0, 60 << 20) } sleep 2; print "finished\n"'`)
	if res.Exit == 0 {
		t.Errorf("360 MB of shared memory within 192 MiB: %+v", res)
	}
	if out := mustRun(t, ws, `perl -e '$x = "x" x (60 << 20); print "alive\n"'`); out != "alive\n" {
		t.Errorf("after shared memory: %q", out)
	}
}
