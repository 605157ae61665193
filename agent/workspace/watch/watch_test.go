package watch

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// one watches until processes are ended, or nothing happened for a while, and
// returns why.
func one(t *testing.T, c Config) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	c.Kill = cancel
	w := New(ctx, c)
	w.Run(ctx)
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.note
}

func TestProcesses(t *testing.T) {
	self := func() []int { return []int{os.Getpid()} }
	for name, tt := range map[string]struct {
		c    Config
		want string
	}{
		"memory":        {Config{List: self, Memory: 1 << 20}, "all processes together used "},
		"enough memory": {Config{List: self, Memory: 64 << 30}, ""},
		"threads":       {Config{List: self, Threads: 1}, "processes and threads; 1 are allowed"},
		"few threads":   {Config{List: self, Threads: 100_000}, ""},
		"not watched":   {Config{List: self}, ""},
	} {
		if why := one(t, tt.c); !strings.Contains(why, tt.want) || (why == "") != (tt.want == "") {
			t.Errorf("%s: %q", name, why)
		}
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
	sum := tally{ctx: t.Context(), seen: map[inode]bool{}}
	sum.add(dir)
	out, err := exec.CommandContext(t.Context(), "du", "-s", "-B1", dir).Output()
	if err != nil {
		t.Fatal(err)
	}
	du := int64(atoi(strings.Fields(string(out))[0]))
	if diff := sum.bytes - du; diff < -8<<10 || diff > 32<<10 || sum.blind { // what has no blocks counts, too
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
