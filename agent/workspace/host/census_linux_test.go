package host

import (
	"bufio"
	"crypto/rand"
	"errors"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A process that left its family is counted by a census, and later without one; it is
// killed with the family.
func TestStrays(t *testing.T) {
	t.Parallel()
	ps, mark := &processes{}, rand.Text()
	cmd := exec.Command("sh", "-c", "sleep 1000 & near=$!; stray=$(setsid sleep 1000 >/dev/null & echo $!); echo $near $stray; read end")
	cmd.Env = append(cmd.Environ(), markEnv+"="+mark)
	cmd.SysProcAttr = newSession()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := ps.start(cmd, mark); err != nil {
		t.Fatal(err)
	}
	fam := family{leader: cmd.Process.Pid, mark: mark}
	t.Cleanup(func() {
		ps.killAll(fam)
		_ = cmd.Wait() // it was killed
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	var pids []int
	for _, word := range strings.Fields(line) {
		pid, err := strconv.Atoi(word)
		if err != nil {
			t.Fatal(err)
		}
		pids = append(pids, pid)
	}
	near, stray := pids[0], pids[1]
	has := func(brief bool, pid int) bool { return slices.Contains(ps.list(brief), pid) }
	if !has(true, near) || !has(true, fam.leader) {
		t.Error("a child is not found at once")
	}
	if !has(false, stray) {
		t.Error("a census does not find a process that left its family")
	}
	if !has(true, stray) {
		t.Error("a stray process is forgotten after the census")
	}
	fd, err := unix.PidfdOpen(stray, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := unix.Close(fd); err != nil {
			t.Error(err)
		}
	}()
	ps.killAll(fam)
	ended := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	n, err := unix.Poll(ended, int((10 * time.Minute).Milliseconds()))
	for errors.Is(err, unix.EINTR) {
		n, err = unix.Poll(ended, int((10 * time.Minute).Milliseconds()))
	}
	if err != nil || n != 1 {
		t.Errorf("a stray process outlives its family: %v", err)
	}
}
