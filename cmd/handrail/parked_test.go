package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/pprof"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/handrail-bot/handrail/policy/longtest"
)

// held lists what of a session is still there: goroutines that work on one,
// processes, containers and directories of workspaces.
func (s *story) held() []string {
	s.t.Helper()
	var out []string
	var stacks bytes.Buffer
	if err := pprof.Lookup("goroutine").WriteTo(&stacks, 2); err != nil {
		s.t.Fatal(err)
	}
	for g := range strings.SplitSeq(stacks.String(), "\n\n") {
		for _, part := range []string{"handrail/agent.", "handrail/agent/workspace", "handrail/bot.(*worker)", "handrail/bot.(*progress)", "(*serveRunner)", "handrail/agent/work."} {
			if strings.Contains(g, part) && !strings.Contains(g, "llmtest") {
				out = append(out, "goroutine in "+part)
				break
			}
		}
	}
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		s.t.Fatal(err)
	}
	for _, name := range stats {
		data, err := os.ReadFile(name)
		if err != nil {
			continue // it ended
		}
		_, rest, _ := strings.Cut(string(data), ") ")
		if f := strings.Fields(rest); len(f) > 1 && f[0] != "Z" && f[1] == fmt.Sprint(os.Getpid()) {
			out = append(out, "process "+string(data[:min(40, len(data))]))
		}
	}
	dirs, err := filepath.Glob(filepath.Join(s.cfg.Data, "*", "ws-*"))
	if err != nil {
		s.t.Fatal(err)
	}
	for _, d := range dirs {
		out = append(out, "directory "+d)
	}
	if s.cfg.Workspace == "docker" {
		row, err := s.srv.store.Sessions.ByThread(s.t.Context(), s.issue.Key())
		if err != nil {
			s.t.Fatal(err)
		}
		list, err := exec.CommandContext(s.t.Context(), "docker", "ps", "-aq", "--filter", "label=handrail.session="+row.ID).Output()
		if err != nil {
			s.t.Fatal(err)
		}
		for id := range strings.FieldsSeq(string(list)) {
			out = append(out, "container "+id)
		}
	}
	return out
}

// While a session waits for a person nothing of it is held: no goroutine, no
// process, no container, no workspace. The same look finds all of them while
// it runs, so that it can see something.
func TestNothingIsHeldWhileItWaits(t *testing.T) {
	longtest.Leave(t)
	for _, engine := range []string{"local", "bwrap", "docker"}[:form(1, 3)] {
		t.Run(engine, func(t *testing.T) {
			if engine != "local" {
				if _, err := exec.LookPath(engine); err != nil {
					missing(t, engine, "%v", err)
				}
			}
			if engine == "docker" && exec.CommandContext(t.Context(), "docker", "image", "inspect", "handrail-workspace:local").Run() != nil {
				missing(t, engine, "there is no image handrail-workspace:local; .ci/workspace-image makes it")
			}
			s := newStory(t, map[string]string{"a.txt": "a\n", "build/out": "1\n"}, `
- calls: [{name: run_terminal_command, arguments: {command: "echo began; sleep 2"}}]
- calls: [{name: run_terminal_command, arguments: {command: rm -rf build}}]
  misbehave: {stall: true}
- say: "Done. [TASK_COMPLETE]"
`)
			s.stop()
			s.cfg.Workspace = engine
			if engine == "docker" {
				s.cfg.Policy.Workspace.Image = "handrail-workspace:local"
			}
			s.start()
			s.say("you", "/agent clean up")
			s.until("**running**")
			looked := []string{"goroutine", "directory"}
			if engine == "docker" {
				looked = append(looked, "container")
			} else {
				looked = append(looked, "process")
			}
			s.seenHeld(looked)
			must(t, s.model.Release(t.Context()))
			id := s.request()
			s.until("**awaiting approval**")
			s.nothingHeld()
			s.say("you", "/agent approve "+id)
			s.done()
			s.nothingHeld()
		})
	}
}

// seenHeld looks until each of the kinds was seen to be held.
func (s *story) seenHeld(kinds []string) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), patience)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		held := strings.Join(s.held(), "\n")
		kinds = slices.DeleteFunc(kinds, func(kind string) bool { return strings.Contains(held, kind) })
		if len(kinds) == 0 {
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			s.t.Fatalf("while it runs, no %s is seen", strings.Join(kinds, ", no "))
		}
	}
}

// nothingHeld waits until nothing is held.
func (s *story) nothingHeld() {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), patience)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for left := s.held(); len(left) > 0; left = s.held() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			s.t.Fatalf("while it waits, there are %q", left)
		}
	}
}
