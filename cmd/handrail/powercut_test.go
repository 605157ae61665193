package main

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot/ghapp/ghtest/ghcheck"
	"github.com/handrail-bot/handrail/bot/store"
	"github.com/handrail-bot/handrail/cmd/config"
	"github.com/handrail-bot/handrail/cmd/records"
	"github.com/handrail-bot/handrail/policy/longtest"
)

// needRecordings says when nothing can be recorded here.
func needRecordings(t *testing.T) {
	t.Helper()
	needProcesses(t)
	if err := exec.CommandContext(t.Context(), "strace", "-ff", "-o", filepath.Join(t.TempDir(), "try"), "--seccomp-bpf", "true").Run(); err != nil {
		if strings.Contains(os.Getenv("HANDRAIL_REQUIRE_ENGINES"), "powercut") {
			t.Fatalf("nothing can be recorded here: %v", err)
		}
		t.Skipf("NOT TESTED: a power cut needs strace, and the right to use it: %v", err)
	}
}

// TestPowerCut records all that a server tells the file system during a story,
// and cuts the power at every point at which its database came to the disk: what
// the log on that disk names as saved is on that disk, whole, by git's own
// reading.
func TestPowerCut(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	needRecordings(t)
	stage := newCrashStage(t)
	w := stage.world(t, ghcheck.Faults{})
	w.child.Record, w.child.TTL, w.brief = filepath.Join(w.dir, "calls"), time.Minute, true
	w.start(t, 0)
	w.tell(t, func() { t.Fatalf("the server died:\n%s", w.log.String()) })
	w.quit(t)
	calls, err := readStrace(w.child.Record)
	must(t, err)
	d := newDisk(w.child.Data)
	named, checked, r := "", 0, rand.New(rand.NewPCG(1, 2))
	for i, c := range calls {
		d.does(c)
		if len(d.odd) > 0 {
			t.Fatalf("a call that this disk does not know: %v", d.odd)
		}
		if rel, ok := d.fd(c.args[0]); !ok || !strings.Contains(c.name, "sync") || !strings.HasPrefix(filepath.Base(rel), "handrail.db") {
			continue
		}
		now := strings.Join(savedNames(d), " ")
		if now == named && (!longtest.Long() || i%5 != 0) {
			continue
		}
		named = now
		for _, c := range cuts(r) {
			checked++
			w.judgeCut(t, d, c, i)
		}
	}
	t.Logf("%d calls, %d syncs; the power was cut %d times; %d names of commits in the log", len(calls), d.syncs, checked, len(strings.Fields(named)))
	if checked < 12 || d.syncs < 50 || len(strings.Fields(named)) < 3 {
		t.Errorf("the recording is too small to show anything")
	}
}

var commitName = regexp.MustCompile(`"commit":"[0-9a-f]{40}"`)

// savedNames returns the commits that are named in what the disk has of the
// database.
func savedNames(d *disk) []string {
	seen := map[string]bool{}
	var out []string
	for name, n := range d.top.kids {
		if !strings.HasPrefix(name, "handrail.db") {
			continue
		}
		for _, m := range commitName.FindAll(n.disk, -1) {
			if !seen[string(m)] {
				seen[string(m)] = true
				out = append(out, string(m))
			}
		}
	}
	return out
}

// judgeCut compares the log with the mirror on what a power cut leaves.
func (w *crashWorld) judgeCut(t *testing.T, d *disk, c cut, at int) {
	t.Helper()
	dir := filepath.Join(w.dir, "after")
	must(t, os.RemoveAll(dir))
	must(t, d.leaves(c, dir))
	for _, state := range loggedStates(t, dir) {
		mirror := onlyMirror(t, dir)
		commits := map[string]string{state.Saved: "the saved state", state.Published: "the last checkpoint"}
		for _, cp := range state.Checkpoints {
			commits[cp.Commit] = "a checkpoint"
		}
		for commit, what := range commits {
			if commit == "" || commit == state.Task.Base && len(state.Checkpoints) == 0 {
				continue // GitHub has it, and it is fetched again: [TestServerAfterPowerCut]
			}
			if out, err := gitIn(t, mirror, "archive", "--format=tar", commit); err != nil {
				t.Errorf("call %d, %s: the log names %s as %s, and git says %v: %.300s", at, c.name, commit, what, err, out)
			}
		}
		if state.Newest == nil || !state.Newest.Parked {
			continue
		}
		ref := "refs/handrail/sessions/" + state.Task.Session
		if out, err := gitIn(t, mirror, "rev-parse", "--verify", ref+"^{commit}"); err != nil {
			t.Errorf("call %d, %s: the ref of the saved state is lost: %v: %.300s", at, c.name, err, out)
		}
	}
}

// loggedStates returns what the logs in a directory say.
func loggedStates(t *testing.T, dir string) []*session.State {
	t.Helper()
	cfg := config.Server{Data: dir}
	if _, err := os.Stat(config.SQLitePath(cfg)); err != nil {
		return nil
	}
	s, err := records.Open(t.Context(), cfg, logger(os.Stderr, "error"))
	must(t, err)
	defer func() { must(t, s.Close()) }()
	heads, err := s.Logs.Heads(t.Context())
	must(t, err)
	var out []*session.State
	for _, h := range heads {
		events, err := s.Logs.Log(store.Fence{Key: h.Session}).Events(t.Context(), 0)
		must(t, err)
		must(t, session.Verify(events))
		state, err := session.Fold(events)
		must(t, err)
		out = append(out, state)
	}
	return out
}

// onlyMirror returns the mirror below a directory, or "".
func onlyMirror(t *testing.T, dir string) string {
	t.Helper()
	found := ""
	err := filepath.WalkDir(filepath.Join(dir, "mirrors"), func(path string, e os.DirEntry, err error) error {
		if err == nil && e.IsDir() && e.Name() == "objects" {
			found = filepath.Dir(path)
			return filepath.SkipAll
		}
		return err
	})
	if !errors.Is(err, os.ErrNotExist) {
		must(t, err)
	}
	return found
}

func gitIn(t *testing.T, mirror string, args ...string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", append([]string{"-c", "safe.directory=*", "--git-dir=" + mirror}, args...)...)
	cmd.Stdout = nil
	var said strings.Builder
	cmd.Stderr = &said
	err := cmd.Run()
	return said.String(), err
}

// quit ends a server that is recorded: strace ends with it.
func (w *crashWorld) quit(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	must(t, w.settled(ctx))
	pipes, err := filepath.Glob(filepath.Join(w.child.Steps, "*.pipe"))
	must(t, err)
	for _, p := range pipes {
		pid, err := strconv.Atoi(strings.TrimSuffix(filepath.Base(p), ".pipe"))
		must(t, err)
		must(t, syscall.Kill(pid, syscall.SIGTERM))
	}
	<-w.exited
	w.cmd = nil
}
