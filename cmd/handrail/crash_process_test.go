package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// steadyPorts are for servers that are started again and again. They lie below
// those that systems give away, so none is taken while its server is dead.
var steadyPorts atomic.Int64

func steadyAddress(t testing.TB) string {
	t.Helper()
	for range 2000 {
		n := (int64(os.Getpid())*37 + steadyPorts.Add(1)) % 20000
		addr := fmt.Sprintf("127.0.0.1:%d", 11000+n)
		if l, err := net.Listen("tcp", addr); err == nil && l.Close() == nil {
			return addr
		}
	}
	t.Fatal("no port is free")
	return ""
}

// start starts the server; it kills itself at a step, or never.
func (w *crashWorld) start(t *testing.T, killAt int64) {
	t.Helper()
	must(t, w.launch(killAt))
}

// lease is how long leases live: short, so that what a killed server held is
// soon free, and longer where the machine is so busy that live servers lose
// theirs.
func (w *crashWorld) lease() time.Duration {
	return crashLease << min(4, strings.Count(w.log.String(), "lost lease")/2)
}

// launch starts the server and returns when it is ready or was killed.
func (w *crashWorld) launch(killAt int64) error {
	w.child.KillAt, w.child.TTL = killAt, w.lease()
	text, err := json.Marshal(w.child)
	if err != nil {
		return err
	}
	file := filepath.Join(w.dir, "child.json")
	self, err := os.Executable()
	if err = errors.Join(err, os.WriteFile(file, text, 0o600)); err != nil {
		return err
	}
	cmd := &exec.Cmd{Path: self, Args: []string{"handrail-crash", file}, Stderr: &w.log, Env: os.Environ()}
	if w.child.Record != "" {
		named := []string{"bash", "-c", `exec -a handrail-crash "$0" "$1"`, self, file}
		cmd = exec.Command("strace", append(straceArgs(w.child.Record), named...)...)
		cmd.Stderr = &w.log
	}
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return err
	}
	ready, exited := make(chan struct{}), make(chan struct{})
	w.cmd, w.exited = cmd, exited
	go func() {
		defer close(exited)
		lines := bufio.NewScanner(out)
		said := false
		for lines.Scan() {
			if lines.Text() == "ready" && !said {
				said = true
				close(ready)
			}
		}
		_ = cmd.Wait() // killed, as a rule
	}()
	select {
	case <-ready:
	case <-exited:
		if cmd.ProcessState.Exited() { // by itself, not killed
			return fmt.Errorf("the server does not start:\n%s", w.log.String())
		}
	}
	return nil
}

// kill ends the server at once.
func (w *crashWorld) kill() {
	_ = w.cmd.Process.Kill() // it may have died by itself
	<-w.exited
}

// stop lets the server drain, and says whether it came to its end.
func (w *crashWorld) stop(t *testing.T) bool {
	t.Helper()
	if err := w.cmd.Process.Signal(syscall.SIGTERM); !errors.Is(err, os.ErrProcessDone) {
		must(t, err)
	}
	<-w.exited
	return w.cmd.ProcessState.Success()
}

// needProcesses says when servers cannot be killed and started here.
func needProcesses(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("SHORT: processes are killed and started for seconds")
	}
	needLeases(t)
}

// needLeases says when leases that are short would run out by themselves.
func needLeases(t *testing.T) {
	t.Helper()
	if raceDetector {
		t.Skip("NEEDS A BUILD WITHOUT -race: short leases run out while the detector works; .ci/test runs this without")
	}
}

// memoryDir is a directory that goes with the test, in memory where there is
// room for it: stories make and remove thousands of small files, and what a
// killed process wrote stays there just the same.
func memoryDir(t *testing.T) string {
	t.Helper()
	const memory, room = "/dev/shm", 2 << 30
	dir, err := os.MkdirTemp(memory, "handrail-crash-") //nolint:usetesting // t.TempDir is on the disk
	if err != nil {
		return t.TempDir()
	}
	if bytesLeft(dir) < room {
		must(t, os.Remove(dir))
		return t.TempDir()
	}
	t.Cleanup(func() {
		if !t.Failed() {
			must(t, os.RemoveAll(dir))
		}
	})
	return dir
}
