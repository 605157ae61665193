package base

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/handrail-bot/handrail/policy/longtest"
)

// childVar holds, in a process of a test, the store, the repository and the commits.
const childVar = "HANDRAIL_BASES_CHILD"

func TestMain(m *testing.M) {
	if args := os.Getenv(childVar); args != "" {
		if err := child(strings.Fields(args)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// child takes each commit, as layers and whole.
func child(args []string) error {
	s, err := Open(Config{Dir: args[0], UID: 65532, GID: 65532, Refused: refused})
	if err != nil {
		return err
	}
	for i, commit := range args[2:] {
		b, err := s.Take(context.Background(), openClone(args[1]), Want{Commit: commit, Layers: i%3 > 0})
		if err != nil {
			return err
		}
		if i%2 == 0 {
			b.Drop()
		}
		if _, err := s.Temp(args[0], "ws-some-session"); err != nil {
			return err
		}
	}
	return nil
}

func (r *repo) child(dir string, commits []string) *exec.Cmd {
	r.t.Helper()
	bin, err := os.Executable()
	must(r.t, err)
	cmd := exec.CommandContext(r.t.Context(), bin)
	cmd.Env = append(os.Environ(), childVar+"="+strings.Join(append([]string{dir, r.dir}, commits...), " "))
	return cmd
}

// history returns some commits of 60 files each, near each other.
func (r *repo) history(n int) (commits []string, files []tree) {
	now := tree{}
	for i := range 60 {
		now[fmt.Sprintf("d%d/f%d", i%7, i)] = strings.Repeat(fmt.Sprintln("line of", i), 20)
	}
	for i := range n {
		now = now.with(tree{fmt.Sprintf("d%d/new%d", i%7, i): fmt.Sprintln("new", i), fmt.Sprintf("d%d/f%d", i%7, i): fmt.Sprintln("changed", i)})
		commits, files = append(commits, r.commit(now)), append(files, now)
	}
	return commits, files
}

// Several processes make and take the same bases at once, while another sweeps.
func TestProcesses(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	dir := t.TempDir()
	commits, files := r.history(4)
	var wait sync.WaitGroup
	for range 4 {
		wait.Go(func() {
			if out, err := r.child(dir, commits).CombinedOutput(); err != nil {
				t.Errorf("a process: %v\n%s", err, out)
			}
		})
	}
	s := openStore(t, dir)
	s.cfg.MaxBytes = 1 // whatever nobody uses goes
	for range 20 {
		must(t, s.sweep(s.cfg.MaxAge))
	}
	wait.Wait()
	for i, commit := range commits {
		wantSeen(t, r.take(s, Want{Commit: commit, Layers: true}), files[i])
	}
}

// A process that is killed at any moment leaves nothing that is taken for whole, and
// what it was making goes.
func TestKilled(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	r := newRepo(t)
	commits, files := r.history(3)
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 1))
	for range 12 {
		dir := t.TempDir()
		cmd := r.child(dir, commits)
		must(t, cmd.Start())
		// From before it begins to after it has ended.
		timer := time.AfterFunc(time.Duration(random.IntN(60))*time.Millisecond, func() { _ = cmd.Process.Kill() })
		_ = cmd.Wait()
		timer.Stop()
		s := openStore(t, dir)
		if left, err := os.ReadDir(s.at("making")); err != nil || len(left) > 0 && !strings.HasPrefix(left[0].Name(), "known-") {
			t.Errorf("left behind: %v, %v", left, err)
		}
		if locks, err := filepath.Glob(s.at("locks/alive-*")); err != nil || len(locks) != 1 || locks[0] != s.alive.Name() {
			t.Errorf("locks of processes are %q, %v; want only %q", locks, err, s.alive.Name())
		}
		left, err := s.Leftovers(dir, "ws")
		must(t, err)
		if all, err := filepath.Glob(filepath.Join(dir, "ws-*")); err != nil || len(all) != len(left) {
			t.Errorf("of %q, %q are found to be left", all, left)
		}
		mine, err := s.Temp(dir, "ws-some-session")
		must(t, err)
		if left, err := openStore(t, dir).Leftovers(dir, "ws"); err != nil || strings.Contains(strings.Join(left, " "), mine) {
			t.Errorf("what a process uses that runs is taken for left: %q, %v", left, err)
		}
		for i, commit := range commits {
			b := r.take(s, Want{Commit: commit, Layers: i%2 == 0})
			wantSeen(t, b, files[i])
			b.Drop()
		}
	}
}
