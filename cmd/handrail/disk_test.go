package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/bot/ghapp/ghtest/ghcheck"
	"github.com/handrail-bot/handrail/policy/longtest"
)

var diskPoints = flag.Int("disk.points", form(3, 6), "at how many fillings of the disk a story is told")

// diskCommand waits for space, as a careful script would: what a command does
// on a full disk is its own affair.
const diskCommand = "sh step.sh before && rm -rf build && until echo ran > ran.txt; do sleep 0.1; done && sh step.sh after"

// diskSize is the file system of one server: database, mirrors, workspaces.
const diskSize = 64 << 20

// TestDiskFull gives the real server a disk of its own with so little room
// that one write of a story after the other finds it full, from the first to
// the last. The server says what to do, refuses what it cannot store so that
// it comes again, and with room again everything ends right. The long form is
// `make disk`.
func TestDiskFull(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	needProcesses(t)
	needMount(t)
	used := diskStory(t, newScriptedStage(t, diskModel()), -1, &diskTally{})
	t.Logf("a story needs %d KiB", used>>10)
	tally := &diskTally{}
	var next atomic.Int64
	t.Run("points", func(t *testing.T) {
		for range crashWorlds {
			t.Run("world", func(t *testing.T) {
				t.Parallel()
				stage := newScriptedStage(t, diskModel())
				for !t.Failed() {
					n := next.Add(1) - 1
					if n >= int64(*diskPoints) {
						return
					}
					diskStory(t, stage, used*n/int64(*diskPoints), tally)
				}
			})
		}
	})
	t.Logf("disk: full at %d of %d points, %d deliveries refused and sent again, lost %d, duplicates %d",
		tally.full.Load(), *diskPoints, tally.refused.Load(), tally.lost, tally.duplicates)
	if tally.full.Load() < int64(*diskPoints)/2 {
		t.Error("the disk was full too seldom for a test")
	}
}

func diskModel() string { return strings.ReplaceAll(crashModel, crashCommand, diskCommand) }

type diskTally struct {
	crashTally
	full, refused atomic.Int64
}

// needMount says loudly when file systems cannot be mounted here.
func needMount(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=1m")
	if err == nil {
		must(t, unix.Unmount(dir, 0))
		return
	}
	missing(t, "tmpfs", "a file system of a given size (%v): run as root, with the right to mount", err)
}

// diskStory tells a story on a disk that has room for so many bytes, until
// the server complains; -1 for all it wants. It returns what was written.
func diskStory(t *testing.T, stage *crashStage, room int64, tally *diskTally) int64 {
	t.Helper()
	w := stage.world(t, ghcheck.Faults{})
	disk := w.child.Data
	must(t, os.Mkdir(disk, 0o700))
	must(t, unix.Mount("tmpfs", disk, "tmpfs", 0, fmt.Sprintf("size=%d", diskSize)))
	mounted := true
	defer func() {
		if mounted { // the story failed
			if w.cmd != nil {
				w.kill()
			}
			_ = unix.Unmount(disk, unix.MNT_DETACH)
		}
	}()
	earlier := len(w.gh.Deliveries())
	w.start(t, 0)
	before := freeBytes(t, disk)
	ctx, cancel := context.WithCancel(t.Context())
	freed := make(chan bool)
	go func() { freed <- w.fill(ctx, disk, room) }()
	w.tell(t, func() { w.kills++; w.start(t, 0) })
	used := before - freeBytes(t, disk)
	cancel()
	if <-freed {
		tally.full.Add(1)
	}
	w.judgeDisk(t, earlier, tally)
	w.keep = true
	w.finish(t, &tally.crashTally)
	if w.kills > 0 {
		t.Errorf("the server ended %d times on a full disk", w.kills)
	}
	must(t, unix.Unmount(disk, unix.MNT_DETACH)) // the system may need a moment to let go of a process
	mounted = false
	must(t, os.RemoveAll(w.dir))
	return used
}

func freeBytes(t *testing.T, dir string) int64 {
	t.Helper()
	var s unix.Statfs_t
	must(t, unix.Statfs(dir, &s))
	return int64(s.Bavail) * s.Bsize
}

// fill leaves only so much room on the disk until the server complains and a
// while more, and reports whether it did.
func (w *crashWorld) fill(ctx context.Context, disk string, room int64) bool {
	if room < 0 {
		return false
	}
	ballast := filepath.Join(disk, "ballast")
	defer func() { _ = os.Remove(ballast) }()
	f, err := os.Create(ballast)
	if err != nil {
		_, _ = fmt.Fprintln(&w.log, "fill disk:", err)
		return false
	}
	defer func() { _ = f.Close() }()
	for range 100 { // the server takes some room meanwhile
		var s unix.Statfs_t
		if err = unix.Statfs(disk, &s); err == nil {
			err = unix.Fallocate(int(f.Fd()), 0, 0, max(4096, int64(s.Bavail)*s.Bsize-room))
		}
		if !errors.Is(err, unix.ENOSPC) {
			break
		}
	}
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !strings.Contains(w.log.String(), "no space left") {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return false
		}
	}
	for range 25 { // other writes find it full, too
		<-tick.C
	}
	return true
}

// judgeDisk looks at the answers to deliveries and at what the operator was
// told.
func (w *crashWorld) judgeDisk(t *testing.T, earlier int, tally *diskTally) {
	t.Helper()
	for _, d := range w.gh.Deliveries()[earlier:] {
		switch {
		case !ghapp.Hears(d.Event) || d.Status/100 == 2 || d.Status == 0:
		case d.Status == http.StatusServiceUnavailable:
			tally.refused.Add(1)
		default:
			t.Errorf("a delivery was answered %d", d.Status)
		}
	}
	for line := range strings.Lines(w.log.String()) {
		if strings.Contains(line, "no space left") && !strings.Contains(line, "free disk space") {
			t.Errorf("the operator is not told what to do: %s", line)
		}
	}
}
