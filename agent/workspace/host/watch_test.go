package host

import (
	"context"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// one watches until processes are ended, or nothing happened for so long, and
// returns why.
func one(t *testing.T, c watchConfig, within time.Duration) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	c.Kill = cancel
	w := newWatch(ctx, c)
	w.Run(ctx)
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.note
}

func TestProcesses(t *testing.T) {
	self := func(bool) []int { return []int{os.Getpid()} }
	for name, tt := range map[string]struct {
		c    watchConfig
		want string
	}{
		"memory":        {watchConfig{List: self, Memory: 1 << 20}, "all processes together used "},
		"enough memory": {watchConfig{List: self, Memory: 64 << 30}, ""},
		"threads":       {watchConfig{List: self, Threads: 1}, "processes and threads; 1 are allowed"},
		"few threads":   {watchConfig{List: self, Threads: 100_000}, ""},
		"not watched":   {watchConfig{List: self}, ""},
	} {
		within := time.Second
		if tt.want != "" {
			within = 10 * time.Minute
		}
		if why := one(t, tt.c, within); !strings.Contains(why, tt.want) || (why == "") != (tt.want == "") {
			t.Errorf("%s: %q", name, why)
		}
	}
}

// What a command or a program left is measured before anything else may write,
// also where that takes long and the file system says nothing, since others
// delete as much.
func TestWhatEndedIsMeasured(t *testing.T) {
	for name, took := range map[string]time.Duration{"few files": 0, "many files": time.Hour} {
		dir := t.TempDir()
		killed := false
		w := newWatch(t.Context(), watchConfig{Disk: 1 << 20, Dirs: []string{dir}, List: func(bool) []int { return nil }, Kill: func() { killed = true }})
		hide := func() {
			w.disk.scanTime = took
			w.disk.used[0] = math.MaxInt64
		}
		if note, full := w.Note(t.Context()), w.Full(t.Context()); note+full != "" {
			t.Errorf("%s: at first: %q, %q", name, note, full)
		}
		hide()
		write(t, filepath.Join(dir, "big"), 3<<20)
		note := w.Note(t.Context())
		if told := strings.Contains(note, "take 3 MiB"); told != (took == 0) || killed != told {
			t.Errorf("%s: a command that has ended: %q, all killed %t", name, note, killed)
		}
		if full := w.Full(t.Context()); !strings.Contains(full, "delete what is not needed") {
			t.Errorf("%s: after a command: %q", name, full)
		}
		must(0, os.Remove(filepath.Join(dir, "big")))(t)
		if full := w.Full(t.Context()); full != "" {
			t.Errorf("%s: after it was deleted: %q", name, full)
		}
		hide()
		write(t, filepath.Join(dir, "big"), 3<<20)
		w.Ended()
		if full := w.Full(t.Context()); !strings.Contains(full, "delete what is not needed") {
			t.Errorf("%s: after a program: %q", name, full)
		}
		must(0, os.Remove(filepath.Join(dir, "big")))(t)
		if full := w.Full(t.Context()); full != "" {
			t.Errorf("%s: after that was deleted: %q", name, full)
		}
		for i := range 3 {
			hide()
			write(t, filepath.Join(dir, "small"+itoa(i)), 500<<10)
			w.Wrote(500 << 10)
			if full := w.Full(t.Context()); (full != "") != (i == 2) {
				t.Errorf("%s: after %d files of 500 KiB: %q", name, i+1, full)
			}
		}
	}
}

func write(t *testing.T, name string, bytes int) {
	t.Helper()
	must(0, os.WriteFile(name, make([]byte, bytes), 0o600))(t)
}

// What is in a directory that its owner closed counts, and it is closed again.
func TestClosedDoors(t *testing.T) {
	dir := t.TempDir()
	if os.Geteuid() == 0 { // for whom no door is closed
		asAnother(t, dir)
		return
	}
	if env := os.Getenv("WATCH_TEST_DIR"); env != "" {
		dir = env
	}
	modes := []os.FileMode{0, 0o100, 0o300, 0o400, 0o600, 0o2000 | 0o200}
	for i, mode := range modes {
		sub := filepath.Join(dir, itoa(i))
		must(0, os.MkdirAll(filepath.Join(sub, "in", "in"), 0o700))(t)
		write(t, filepath.Join(sub, "in", "in", "x"), 1<<20)
		must(0, os.Chmod(filepath.Join(sub, "in"), mode))(t)
		must(0, os.Chmod(sub, mode))(t)
	}
	must(0, os.Chmod(dir, 0))(t)
	for _, d := range []*doors{nil, {}} {
		sum := tally{ctx: t.Context(), seen: map[fileID]bool{}, doors: d}
		sum.add(dir)
		if want := int64(len(modes)) << 20; d != nil && (sum.bytes < want || sum.blind) || d == nil && (sum.bytes > want/2 || !sum.blind) {
			t.Errorf("opened %t: %d bytes of %d, blind %t", d != nil, sum.bytes, want, sum.blind)
		}
	}
	if info := must(os.Stat(dir))(t); info.Mode().Perm() != 0 {
		t.Errorf("left open: %s", info.Mode())
	}
	must(0, os.Chmod(dir, 0o700))(t)
	for i, mode := range modes {
		sub := filepath.Join(dir, itoa(i))
		if info := must(os.Stat(sub))(t); info.Mode().Perm() != mode.Perm() {
			t.Errorf("left open: %s, not %s", info.Mode(), mode)
		}
		must(0, os.Chmod(sub, 0o700))(t)
		if info := must(os.Stat(filepath.Join(sub, "in")))(t); info.Mode().Perm() != mode.Perm() {
			t.Errorf("left open: %s, not %s", info.Mode(), mode)
		}
		must(0, os.Chmod(filepath.Join(sub, "in"), 0o700))(t)
	}
	w := newWatch(t.Context(), watchConfig{Disk: 1 << 20, Dirs: []string{dir}, List: func(bool) []int { return nil }, Kill: func() {}})
	must(0, os.MkdirAll(filepath.Join(dir, "later"), 0o700))(t)
	write(t, filepath.Join(dir, "later", "x"), 3<<20)
	must(0, os.Chmod(filepath.Join(dir, "later"), 0))(t)
	w.disk.first[0] = math.MaxInt64 // others delete
	if note := w.Note(t.Context()); !strings.Contains(note, "take 3 MiB") {
		t.Errorf("behind a closed door: %q", note)
	}
	if full := w.Full(t.Context()); full == "" {
		t.Error("behind a closed door: more may be written")
	}
	must(0, os.Chmod(filepath.Join(dir, "later"), 0o700))(t)
}

// asAnother runs the test once more, as a user for whom doors can be closed.
func asAnother(t *testing.T, dir string) {
	t.Helper()
	const nobody = 65534
	program := filepath.Join(dir, "test")
	data := must(os.ReadFile(must(os.Executable())(t)))(t)
	must(0, os.WriteFile(program, data, 0o700))(t)
	own := filepath.Join(dir, "own")
	must(0, os.Mkdir(own, 0o700))(t)
	for at := dir; strings.HasPrefix(at, os.TempDir()+"/"); at = filepath.Dir(at) {
		must(0, os.Chmod(at, 0o755))(t)
	}
	must(0, os.Chmod(program, 0o755))(t)
	must(0, os.Chown(own, nobody, nobody))(t)
	cmd := exec.CommandContext(t.Context(), program, "-test.run", "^TestClosedDoors$")
	cmd.Dir, cmd.Env = own, append(os.Environ(), "TMPDIR="+own, "WATCH_TEST_DIR="+filepath.Join(own, "tree"))
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	must(0, os.Mkdir(filepath.Join(own, "tree"), 0o700))(t)
	must(0, os.Chown(filepath.Join(own, "tree"), nobody, nobody))(t)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("as another user: %v\n%s", err, out)
	}
}

// Pages that processes share count once: a program that forks is not taken for
// several.
func TestSharedPages(t *testing.T) {
	const script = `my $x = "x" x (64 << 20); for (1 .. 5) { fork or last } print "ready\n"; sleep 20`
	if _, err := exec.LookPath("perl"); err != nil {
		t.Skip("NEEDS PERL, for a program that forks")
	}
	cmd := exec.CommandContext(t.Context(), "perl", "-e", "$|=1; setpgrp;"+script)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = exec.Command("kill", "-9", "--", "-"+strings.TrimSpace(itoa(cmd.Process.Pid))).Run()
		_ = cmd.Wait()
	})
	buf := make([]byte, 6*len("ready\n"))
	for n := 0; n < len(buf); {
		k, err := out.Read(buf[n:])
		if err != nil {
			t.Fatal(err)
		}
		n += k
	}
	var pids []int
	for _, dir := range must(filepath.Glob("/proc/[0-9]*/stat"))(t) {
		stat, err := os.ReadFile(dir)
		if f := strings.Fields(string(stat)); err == nil && len(f) > 4 && f[4] == itoa(cmd.Process.Pid) {
			pids = append(pids, atoi(f[0]))
		}
	}
	u := measure(pids)
	apart := u.memory
	u.share()
	if len(pids) != 6 || apart < 6*64<<20 || u.memory > 3*64<<20 || u.memory < 64<<20 {
		t.Errorf("%d processes: %d MiB each for itself, %d MiB together", len(pids), apart>>20, u.memory>>20)
	}
}

// What a tree takes is counted as du counts it.
func TestTally(t *testing.T) {
	dir := t.TempDir()
	for _, line := range []string{
		"head -c 3000000 /dev/zero >a; ln a b; ln -s a c; truncate -s 1T hole; mkfifo f",
		`d=$(printf 'd/%.0s' $(seq 300)); mkdir -p $d; head -c 1000000 /dev/zero >${d}x`,
	} {
		cmd := exec.CommandContext(t.Context(), "sh", "-c", line)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	sum := tally{ctx: t.Context(), seen: map[fileID]bool{}}
	sum.add(dir)
	out, err := exec.CommandContext(t.Context(), "du", "-s", "-B1", dir).Output()
	if err != nil {
		t.Fatal(err)
	}
	du := int64(atoi(strings.Fields(string(out))[0]))
	// A file system in memory gives directories no blocks; each counts for one here.
	if diff := sum.bytes - du; diff < -8<<10 || diff > 32<<10+302*4096 || sum.blind {
		t.Errorf("%d bytes, du says %d", sum.bytes, du)
	}
}

func itoa(n int) string { return strconv.Itoa(n) }

func atoi(s string) int {
	n, _ := strconv.Atoi(s) // 0 is noticed
	return n
}

func must[T any](v T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}
