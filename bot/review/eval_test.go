package review

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/handrail-bot/handrail/agent/session"
)

var (
	evalModel = flag.String("eval.model", "", "make review-eval: the model that reviews")
	evalCases = flag.Int("eval.cases", 0, "make review-eval: how many pull requests of each kind; 0 for all")
)

// near is how many lines a finding may be off the planted one.
const near = 2

// tally is how a model did in a language.
type tally struct{ faults, found, false, unsure, failed int }

// TestReviewEval has a real model review the corpus, and prints what it found, what it
// reported that nobody planted, and what its second look was not sure of.
func TestReviewEval(t *testing.T) {
	if *evalModel == "" {
		t.Skip("make review-eval MODEL=… asks a real model server")
	}
	program := filepath.Join(t.TempDir(), "handrail")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, "../../cmd/handrail").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	faulty, clean := corpus(t)
	if n := *evalCases; n > 0 {
		faulty, clean = some(faulty, n), some(clean, n)
	}
	all := map[string]*tally{}
	for _, c := range append(faulty, clean...) {
		lang := filepath.Ext(c.file)
		if all[lang] == nil {
			all[lang] = &tally{}
		}
		of, list, err := all[lang], []session.Reported(nil), error(nil)
		if list, err = reviewed(t, program, c); err != nil {
			of.failed++
			t.Logf("%s: %v", c.file, err)
			continue
		}
		if c.line > 0 {
			of.faults++
		}
		hit := false
		for _, f := range list {
			there := c.line > 0 && f.Line <= c.line+near && f.Last() >= c.line-near
			switch {
			case f.Refuted != "":
				continue
			case f.Unsure != "":
				of.unsure++
			case !there:
				of.false++
			}
			hit = hit || there
			t.Logf("%s (planted: %d) %s: %s", c.file, c.line, f.Where(), f.Claim)
		}
		if hit {
			of.found++
		}
	}
	t.Logf("%s with %s", "language  faults  found  false  unsure  failed", *evalModel)
	for lang, of := range all {
		t.Logf("%-9s %6d %6d %6d %7d %7d", lang, of.faults, of.found, of.false, of.unsure, of.failed)
	}
}

// some are n of a list, from all parts of it.
func some(list []pull, n int) (out []pull) {
	for i := range min(n, len(list)) {
		out = append(out, list[i*len(list)/min(n, len(list))])
	}
	return out
}

// reviewed is what the program finds in a pull request.
func reviewed(t *testing.T, program string, c pull) ([]session.Reported, error) {
	t.Helper()
	dir := t.TempDir()
	repo := filepath.Join(dir, "repo")
	git := func(args ...string) string {
		cmd := exec.CommandContext(t.Context(), "git", append([]string{"-C", repo, "-c", "user.name=kim", "-c", "user.email=kim@example.com"}, args...)...)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
		}
		return string(out)
	}
	write := func(text string) {
		if err := os.WriteFile(filepath.Join(repo, c.file), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll(repo, 0o755); err != nil {
		t.Fatal(err)
	}
	git("init", "-q", "-b", "main")
	write(c.good)
	git("add", "-A")
	git("commit", "-qm", "start")
	write(c.bad)
	git("commit", "-qam", "change")
	ctx, cancel := context.WithTimeout(t.Context(), 15*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, "run", "--repo", repo, "--workspace", "auto", "--mode", "review", "--task", "Review this change.\n\nDiff of "+c.file+":\n"+git("diff", "HEAD~1"))
	cmd.Env = append(os.Environ(), "XDG_STATE_HOME="+dir, "HANDRAIL_MODEL="+*evalModel)
	cmd.Cancel, cmd.WaitDelay = func() error { return cmd.Process.Signal(os.Interrupt) }, 10*time.Second
	said, failed := cmd.CombinedOutput()
	logs, err := filepath.Glob(filepath.Join(dir, "handrail", "sessions", "*.jsonl"))
	if err != nil || len(logs) != 1 {
		return nil, fmt.Errorf("no log: %w\n%s", failed, said)
	}
	log, err := session.OpenFile(logs[0])
	if err != nil {
		return nil, err
	}
	events, err := log.Events(t.Context(), 0)
	if err := errors.Join(err, log.Close()); err != nil {
		return nil, err
	}
	v, err := session.Fold(events)
	if err != nil {
		return nil, err
	}
	if !v.Finished() {
		return v.Findings, fmt.Errorf("it did not end: %w", failed)
	}
	return v.Findings, nil
}
