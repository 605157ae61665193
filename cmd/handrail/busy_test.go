package main

import (
	"flag"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/handrail-bot/handrail/policy/longtest"
)

var busyProcesses = flag.Int("load.busy", 20, "processes that use the processors in TestBusyMachine")

// keepBusy has n processes use all of the processors that they get, until the test ends. A
// limit of processor time ends those of a test that was killed.
func keepBusy(t *testing.T, n int) {
	t.Helper()
	for range n {
		cmd := exec.CommandContext(t.Context(), "sh", "-c", "ulimit -t 900; while :; do :; done")
		must(t, cmd.Start())
		t.Cleanup(func() {
			_ = cmd.Process.Kill() // it may be gone
			_ = cmd.Wait()
		})
	}
}

// TestBusyMachine: on a machine that is as busy as beside a model, sessions that are asked for at
// once are all answered. None fails because a lease of two seconds was not renewed in time.
func TestBusyMachine(t *testing.T) {
	longtest.Leave(t)
	w, _ := busyWorldWith(t, "local", oneRead, 2*time.Second)
	keepBusy(t, *busyProcesses)
	refs, _ := w.askAll(t, *manySessions, "ask what does it do?")
	w.said(t, refs, "It greets.")
	w.said(t, refs, "**answered**")
	for _, ref := range refs {
		for _, c := range w.gh.Thread(ref).Comments {
			if strings.Contains(c.Body, "**failed**") || strings.Contains(c.Body, "died") {
				t.Errorf("%s: %s", ref.Key(), c.Body)
			}
		}
	}
	if log := w.log.String(); strings.Contains(log, "the server died") {
		t.Errorf("a living server counts as dead:\n%s", log)
	}
}
