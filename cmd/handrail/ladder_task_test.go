package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"github.com/handrail-bot/handrail/policy/longtest"
)

// A climb is a task of the ladder: a small repository, a request of one sentence, and tests of which
// a model sees about half. testdata/ladder/README.md says how it is written.
type climb struct {
	Name     string
	Request  string
	Rung     string // line, function or files
	Side     string // tune or decide
	Language string
	Test     string   // runs the visible tests; empty without any
	Check    string   // runs the hidden ones
	May      []string // files that another good solution changes

	repo, hidden, solution map[string]string
	walled                 bool // tests run behind a wall
	quick                  bool // tests in Go run without vet and debug information; the code is the task's own
}

var rungs = []string{"line", "function", "files"}

// testCommands run all tests of a repository.
var testCommands = map[string]string{
	"go":         "go test -count=1 ./...",
	"python":     "python3 -B -m unittest",
	"javascript": "node --test",
	"ruby":       `for f in test/*_test.rb; do ruby "$f" || exit 1; done`,
}

// testFile matches the files of tests: they are judged as the task has them, not as a model left them.
var testFile = regexp.MustCompile(`(^|/)tests?/|_test\.(go|rb)$|(^|/)test_[^/]*\.py$|\.test\.js$|^check\.sh$`)

// settingsFile matches the files that say how tests are run.
var settingsFile = regexp.MustCompile(`^(go\.mod|package\.json|Rakefile)$`)

// ladderTasks are the tasks of testdata/ladder.
func ladderTasks(t *testing.T) []*climb {
	t.Helper()
	names, err := filepath.Glob("../../testdata/ladder/*.txtar")
	must(t, err)
	var all []*climb
	for _, name := range names {
		s, err := readTask(name)
		must(t, err)
		all = append(all, s)
	}
	return all
}

func readTask(name string) (*climb, error) {
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	a := txtar.Parse(data)
	s := &climb{Name: strings.TrimSuffix(filepath.Base(name), ".txtar")}
	s.repo, s.hidden, s.solution = map[string]string{}, map[string]string{}, map[string]string{}
	into := map[string]*string{
		"request": &s.Request, "rung": &s.Rung, "side": &s.Side, "language": &s.Language, "test": &s.Test, "check": &s.Check,
	}
	for line := range strings.Lines(string(a.Comment)) {
		key, value, ok := strings.Cut(strings.TrimSpace(line), ": ")
		switch field := into[key]; {
		case ok && key == "may":
			s.May = strings.Fields(value)
		case ok && field != nil && *field == "":
			*field = value
		default:
			return nil, fmt.Errorf("%s: %q is no line of a header", s.Name, line)
		}
	}
	parts := map[string]map[string]string{"repo": s.repo, "hidden": s.hidden, "solution": s.solution}
	for _, f := range a.Files {
		part, p, ok := strings.Cut(f.Name, "/")
		if _, again := parts[part][p]; !ok || parts[part] == nil || again {
			return nil, fmt.Errorf("%s: %s is not one file of the repository, the hidden tests or the solution", s.Name, f.Name)
		}
		parts[part][p] = string(f.Data)
	}
	if cmd := testCommands[s.Language]; cmd != "" {
		if s.Check == "" {
			s.Check = cmd
		}
		if s.Test == "" && slices.ContainsFunc(slices.Collect(maps.Keys(s.repo)), testFile.MatchString) {
			s.Test = cmd
		}
	}
	if s.Check == "" {
		s.Check = "sh check.sh"
	}
	return s, nil
}

// inScope reports whether the task may change a file.
func (c *climb) inScope(p string) bool {
	_, ok := c.solution[p]
	return ok || slices.Contains(c.May, p)
}

// solved is the repository with the reference solution.
func (c *climb) solved() map[string]string {
	out := maps.Clone(c.repo)
	maps.Copy(out, c.solution)
	return out
}

// ladderVerdict is the result of the tests of a repository.
type ladderVerdict struct {
	Visible, Hidden bool   // they pass, or there are none
	Said            string // the output of those that fail
}

// judge runs the tests on the files that a model left. Tests and their settings
// are the task's own, so that changing them wins nothing.
func (c *climb) judge(ctx context.Context, dir string, left map[string]string) (ladderVerdict, error) {
	v := ladderVerdict{Visible: true}
	var err error
	if c.Test != "" {
		if v.Visible, v.Said, err = c.try(ctx, filepath.Join(dir, "visible"), left, nil); err != nil {
			return v, err
		}
	}
	var said string
	v.Hidden, said, err = c.try(ctx, filepath.Join(dir, "hidden"), left, c.hidden)
	v.Said += said
	return v, err
}

// try runs the visible tests, or only the hidden ones if there are any.
func (c *climb) try(ctx context.Context, dir string, left, hidden map[string]string) (ok bool, said string, err error) {
	files, command := map[string]string{}, c.Test
	for p, text := range left {
		if !testFile.MatchString(p) && !settingsFile.MatchString(p) {
			files[p] = text
		}
	}
	for p, text := range c.repo {
		if settingsFile.MatchString(p) || testFile.MatchString(p) && (hidden == nil || strings.HasSuffix(p, "__init__.py")) {
			files[p] = text
		}
	}
	if hidden != nil {
		command = c.Check
		maps.Copy(files, hidden)
	}
	if c.quick {
		command = strings.Replace(command, "go test ", "go test -vet=off -ldflags=-w ", 1)
	}
	for p, text := range files {
		if err := writeAt(dir, p, text); err != nil {
			return false, "", err
		}
	}
	return runTests(ctx, dir, command, c.walled)
}

// runTests runs a command of tests, at most ten minutes. Behind a wall it writes in dir
// only and has no network, since a model wrote the code.
func runTests(ctx context.Context, dir, command string, walled bool) (ok bool, said string, err error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Minute)
	defer cancel()
	args := []string{"sh", "-c", command}
	if walled {
		built := filepath.Join(fetched(), "go-build")
		if err := os.MkdirAll(built, 0o755); err != nil {
			return false, "", err
		}
		args = append([]string{
			"bwrap", "--unshare-all", "--die-with-parent", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc",
			"--tmpfs", "/tmp", "--bind", dir, dir, "--bind", built, built, "--setenv", "GOCACHE", built, "--chdir", dir,
		}, args...)
	}
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Dir, cmd.WaitDelay = dir, time.Second
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) } // a loop may never end
	cmd.Env = append(os.Environ(), "GOFLAGS="+strings.TrimSpace(os.Getenv("GOFLAGS")+" -mod=mod"), "GOPROXY=off", "GOWORK=off", "GOTOOLCHAIN=local",
		"PYTHONDONTWRITEBYTECODE=1")
	out, err := cmd.CombinedOutput()
	var failed *exec.ExitError
	if err != nil && !errors.As(err, &failed) {
		return false, "", err
	}
	if err == nil {
		return true, "", nil
	}
	return false, string(out), nil
}

// Each task of the ladder can be solved, and its hidden tests see if it was not.
func TestLadder(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	all := ladderTasks(t)
	perRung, sides := map[string]int{}, map[string]int{}
	for i, s := range all {
		perRung[s.Rung]++
		side, ok := map[string]int{"tune": 1, "decide": -1}[s.Side]
		if sides[s.Rung+" "+s.Language] += side; !ok || !slices.Contains(rungs, s.Rung) {
			t.Errorf("%s: side %q, rung %q", s.Name, s.Side, s.Rung)
		}
		if !strings.HasPrefix(s.Name, fmt.Sprintf("%02d-", i+1)) {
			t.Errorf("%s is number %d", s.Name, i+1)
		}
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			s.mustAdd(t)
			needInterpreter(t, s.Language)
			s.quick = true
			v, err := s.judge(t.Context(), t.TempDir(), s.solved())
			must(t, err)
			if !v.Visible || !v.Hidden {
				t.Fatalf("with the solution: visible tests pass %t, hidden ones %t:\n%s", v.Visible, v.Hidden, v.Said)
			}
			passes, _, err := s.try(t.Context(), t.TempDir(), s.repo, s.hidden)
			must(t, err)
			if passes {
				t.Error("the hidden tests pass without the solution")
			}
		})
	}
	for _, r := range rungs {
		if perRung[r] != 12 {
			t.Errorf("%d tasks of the rung %s, want 12", perRung[r], r)
		}
	}
	for of, n := range sides {
		if n != 0 {
			t.Errorf("%s: the sides differ by %d", of, n)
		}
	}
}

// mustAdd fails the test for a task that is not written like the others.
func (c *climb) mustAdd(t *testing.T) {
	t.Helper()
	if len(c.repo) == 0 || len(c.hidden) == 0 || len(c.solution) == 0 {
		t.Fatal("repository, hidden tests or solution are missing")
	}
	if regexp.MustCompile(`[.!?] +[A-Z]`).MatchString(c.Request) || !strings.HasSuffix(c.Request, ".") {
		t.Errorf("not one sentence: %s", c.Request)
	}
	if want := map[string]int{"line": 1, "function": 1, "files": 2}[c.Rung]; len(c.solution) != want {
		t.Errorf("the solution changes %d files, want %d", len(c.solution), want)
	}
	for p := range c.repo {
		if named := strings.Contains(c.Request, path.Base(p)); named && c.Rung == "files" {
			t.Errorf("the request names %s", p)
		}
	}
	for p, text := range c.solution {
		if c.repo[p] == text || c.repo[p] == "" {
			t.Errorf("the solution does not change %s", p)
		}
		if c.Rung != "files" && !strings.Contains(c.Request, path.Base(p)) {
			t.Errorf("the request does not name %s", p)
		}
	}
}

// interpreters are the programs that the languages of the ladder need; .ci/setup installs them.
var interpreters = map[string]string{
	"go": "go", "python": "python3", "javascript": "node", "ruby": "ruby", "text": "python3",
}

func needInterpreter(t *testing.T, language string) {
	t.Helper()
	program, ok := interpreters[language]
	if !ok {
		t.Fatalf("nothing runs %q", language)
	}
	if _, err := exec.LookPath(program); err != nil {
		if strings.Contains(os.Getenv("HANDRAIL_REQUIRE_ENGINES"), "interpreters") {
			t.Fatalf("%s is not installed", program)
		}
		t.Skipf("SKIPPED: %s is not installed", program)
	}
}
