package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
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

	"go.yaml.in/yaml/v4"

	"github.com/handrail-bot/handrail/agent/project"
	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/agent/workspace"
	"github.com/handrail-bot/handrail/policy/longtest"
)

// An exercise is real open code with one mistake in it, and the code's own tests, which
// see it. Nothing of the code is kept here: it is taken from where this machine has
// it, a module of go.mod, Python's own library, or a package of npm.
type exercise struct {
	Name    string `yaml:"name"`
	Go      string `yaml:"go"` // module, a package of it with Package
	Package string `yaml:"package"`
	Python  string `yaml:"python"` // module of the standard library; its tests are Debian's
	NPM     string `yaml:"npm"`    // name@version
	File    string `yaml:"file"`
	Right   string `yaml:"right"` // a text that File has once
	Wrong   string `yaml:"wrong"` // what stands there with the fault
	Issue   string `yaml:"issue"` // what a user writes: title, empty line, text
	Short   bool   `yaml:"short"` // also in the short form
}

// exercises are those of testdata/success/faults.yaml.
func exercises(t *testing.T) []exercise {
	t.Helper()
	data, err := os.ReadFile("testdata/success/faults.yaml")
	must(t, err)
	var all []exercise
	must(t, yaml.Load(data, &all, yaml.WithKnownFields()))
	return all
}

// lib is what code is made ready to be worked on: its files, and how its tests run.
type lib struct {
	files map[string]string
	test  string         // as people run it
	judge string         // the same, naming each test
	tests *regexp.Regexp // a file that only tests use
	ran   *regexp.Regexp // in what judge prints: tests that passed
}

var errNotHere = errors.New("is not on this machine")

// lib reads the code without the fault.
func (f *exercise) lib(ctx context.Context) (lib, error) {
	switch {
	case f.Go != "":
		return f.goLib(ctx)
	case f.Python != "":
		return f.pythonLib(ctx)
	default:
		return f.npmLib()
	}
}

func (f *exercise) goLib(ctx context.Context) (lib, error) {
	cmd := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", f.Go)
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOPROXY=off")
	out, err := cmd.Output()
	dir := strings.TrimSpace(string(out))
	if err != nil || dir == "" {
		return lib{}, fmt.Errorf("module %s %w", f.Go, errNotHere)
	}
	name := path.Base(path.Join(f.Go, f.Package))
	l := lib{
		files: map[string]string{}, test: "go test ./...", judge: "go test -count=1 -v ./...",
		tests: regexp.MustCompile(`_test\.go$|^testdata/|^go\.mod$`), ran: regexp.MustCompile(`(?m)^ *--- PASS`),
	}
	err = l.add(filepath.Join(dir, filepath.FromSlash(f.Package)), func(p string) bool {
		return !strings.Contains(p, "/") && p != "go.sum" || strings.HasPrefix(p, "testdata/")
	})
	l.files["go.mod"] = "module example.com/" + name + "\n\ngo 1.25\n"
	return l, err
}

// debianTests is where Debian's package of Python's own tests puts them.
func debianTests() string {
	found, _ := filepath.Glob("/usr/lib/python3.*/test/test_textwrap.py")
	kept, _ := filepath.Glob(filepath.Join(fetched(), "python", "usr/lib/python3.*/test/test_textwrap.py"))
	for _, p := range append(found, kept...) {
		return filepath.Dir(p)
	}
	return ""
}

// fetched is where what tests need is kept once it was fetched.
func fetched() string {
	dir, err := os.UserCacheDir()
	if err != nil {
		return os.TempDir()
	}
	return filepath.Join(dir, "handrail", "success")
}

func (f *exercise) pythonLib(ctx context.Context) (lib, error) {
	out, err := exec.CommandContext(ctx, "python3", "-c", "import sysconfig; print(sysconfig.get_paths()['stdlib'])").Output()
	tests := debianTests()
	if err != nil || tests == "" {
		return lib{}, fmt.Errorf("python3 with its own tests %w", errNotHere)
	}
	l := lib{
		files: map[string]string{}, test: "python3 -m unittest test_" + f.Python, judge: "python3 -B -m unittest -v test_" + f.Python,
		tests: regexp.MustCompile(`^test_`), ran: regexp.MustCompile(`(?m)\.\.\. ok$`),
	}
	own, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(out)), f.Python+".py"))
	if err != nil {
		return lib{}, fmt.Errorf("%s.py: %w", f.Python, errNotHere)
	}
	theirs, err := os.ReadFile(filepath.Join(tests, "test_"+f.Python+".py"))
	if err != nil {
		return lib{}, fmt.Errorf("test_%s.py: %w", f.Python, errNotHere)
	}
	l.files[f.Python+".py"], l.files["test_"+f.Python+".py"] = string(own), string(theirs)
	return l, nil
}

// tape runs the tests of many packages of npm.
const tape = "tape@2.14.1"

func (f *exercise) npmLib() (lib, error) {
	dir := filepath.Join(fetched(), "npm", f.NPM, "node_modules")
	name, _, _ := strings.Cut(f.NPM, "@")
	run := "node node_modules/tape/bin/tape test/*.js"
	if _, err := os.Stat(filepath.Join(dir, name, "test.js")); err == nil {
		run = "node node_modules/tape/bin/tape test.js"
	}
	l := lib{
		files: map[string]string{}, test: run, judge: run,
		tests: regexp.MustCompile(`^test|^node_modules/|^package\.json$`), ran: regexp.MustCompile(`(?m)^ok \d`),
	}
	err := l.add(filepath.Join(dir, name), func(p string) bool {
		return !strings.HasPrefix(p, "node_modules/") && !strings.HasPrefix(p, ".") && !strings.HasPrefix(p, "dist/")
	})
	if err != nil {
		return l, fmt.Errorf("%s: %w", f.NPM, errNotHere)
	}
	with := lib{files: map[string]string{}}
	err = with.add(filepath.Join(fetched(), "npm", tape, "node_modules"), func(p string) bool {
		return strings.HasSuffix(p, ".js") && !strings.Contains(p, "/test/") && !strings.Contains(p, "/example") || path.Base(p) == "package.json" || path.Base(p) == "tape"
	})
	if err != nil {
		return l, fmt.Errorf("%s: %w", tape, errNotHere)
	}
	for p, text := range with.files {
		l.files["node_modules/"+p] = text
	}
	return l, nil
}

// add reads the files below dir that are wanted.
func (l *lib) add(dir string, want func(path string) bool) error {
	return filepath.WalkDir(dir, func(p string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		rel, err := filepath.Rel(dir, p)
		if rel = filepath.ToSlash(rel); err != nil || !want(rel) {
			return err
		}
		data, err := os.ReadFile(p)
		l.files[rel] = string(data)
		return err
	})
}

// plant returns the files with the fault.
func (f *exercise) plant(l lib) (map[string]string, error) {
	if strings.Count(l.files[f.File], f.Right) != 1 {
		return nil, fmt.Errorf("%s does not have %q once", f.File, f.Right)
	}
	if text := strings.Replace(l.files[f.File], f.Right, f.Wrong, 1); f.Wrong == "" || strings.Count(text, f.Wrong) != 1 {
		return nil, fmt.Errorf("%s would not have %q once", f.File, f.Wrong)
	}
	out := map[string]string{".github/agent.yml": fmt.Sprintf("test: [%q]\n", l.test)}
	for p, text := range l.files {
		out[p] = text
	}
	out[f.File] = strings.Replace(l.files[f.File], f.Right, f.Wrong, 1)
	return out, nil
}

// verdict runs the tests on program files as somebody left them. Everything else is
// as it was: whoever changed a test or added a file has won nothing by it.
func (l *lib) verdict(ctx context.Context, dir string, left func(path string) (string, bool)) (passed int, ok bool, said string, err error) {
	for p, text := range l.files {
		if !l.tests.MatchString(p) {
			var there bool
			if text, there = left(p); !there {
				continue
			}
		}
		if err := writeAt(dir, p, text); err != nil {
			return 0, false, "", err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, 3*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-c", l.judge)
	cmd.Dir, cmd.WaitDelay = dir, time.Second
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) } // a fault may never end
	cmd.Env = append(os.Environ(), "GOFLAGS="+strings.TrimSpace(os.Getenv("GOFLAGS")+" -mod=mod"), "GOPROXY=off", "GOWORK=off")
	out, err := cmd.CombinedOutput()
	var failed *exec.ExitError
	if err != nil && !errors.As(err, &failed) {
		return 0, false, "", err
	}
	return len(l.ran.FindAllIndex(out, -1)), err == nil, string(out), nil
}

func writeAt(dir, name, text string) error {
	p := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
		return err
	}
	return os.WriteFile(p, []byte(text), 0o644)
}

// from returns files as verdict asks for them.
func from(files map[string]string) func(string) (string, bool) {
	return func(p string) (string, bool) {
		text, ok := files[p]
		return text, ok
	}
}

// Each fault is seen by the tests of its code, which pass without it, and its issue
// reads like one that a user wrote.
func TestFaults(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	all := exercises(t)
	seen, kinds := map[string]bool{}, map[string]int{}
	for _, f := range all {
		if seen[f.Name] {
			t.Errorf("two faults are called %s", f.Name)
		}
		seen[f.Name] = true
		kinds[map[bool]string{f.Go != "": "go", f.Python != "": "python", f.NPM != "": "npm"}[true]]++
		if title, text, ok := strings.Cut(f.Issue, "\n\n"); !ok || strings.Contains(title, "\n") || strings.TrimSpace(text) == "" {
			t.Errorf("%s: the issue is not a title, an empty line and a text", f.Name)
		}
		if regexp.MustCompile(`(?i)\bline \d`).MatchString(f.Issue) || strings.Contains(f.Issue, strings.TrimSpace(f.Right)) {
			t.Errorf("%s: the issue says where the fault is", f.Name)
		}
		if !longtest.Long() && !f.Short {
			continue
		}
		t.Run(f.Name, func(t *testing.T) {
			l, err := f.lib(t.Context())
			if errors.Is(err, errNotHere) {
				t.Skip(err)
			}
			must(t, err)
			planted, err := f.plant(l)
			must(t, err)
			passed, ok, said, err := l.verdict(t.Context(), t.TempDir(), from(l.files))
			must(t, err)
			if !ok || passed == 0 {
				t.Fatalf("%d tests pass without the fault:\n%s", passed, said)
			}
			if _, ok, _, err := l.verdict(t.Context(), t.TempDir(), from(planted)); ok || err != nil {
				t.Errorf("no test sees the fault (%v)", err)
			}
		})
	}
	if len(all) < 40 || kinds["go"] < 10 || kinds["python"] < 10 || kinds["npm"] < 8 {
		t.Errorf("%d faults: %v", len(all), kinds)
	}
}

// files are the files of a project by path, as [project.View] reads them.
type files map[string]string

func (f files) ReadAll(_ context.Context, name string, _ int64) ([]byte, fs.FileMode, error) {
	text, ok := f[name]
	if !ok {
		return nil, 0, fs.ErrNotExist
	}
	return []byte(text), 0o644, nil
}

func (f files) List(context.Context, string, bool, int) (workspace.Listing, error) {
	var l workspace.Listing
	for _, name := range slices.Sorted(maps.Keys(f)) {
		l.Entries = append(l.Entries, workspace.Entry{Path: name, Size: int64(len(f[name]))})
	}
	return l, nil
}

// A model that calls no tools sees the line with the fault at first, although no issue names a file.
func TestFaultsInView(t *testing.T) {
	t.Parallel()
	all, seen := 0, 0
	for _, f := range exercises(t) {
		l, err := f.lib(t.Context())
		if errors.Is(err, errNotHere) {
			continue
		}
		must(t, err)
		planted, err := f.plant(l)
		must(t, err)
		all++
		view := project.View(t.Context(), f.Issue, files(planted), nil)
		if slices.ContainsFunc(view, func(it session.Item) bool { return strings.Contains(it.Text, f.Wrong) }) {
			seen++
			continue
		}
		t.Logf("%s: not in view", f.Name)
	}
	t.Logf("%d of %d faults are in view", seen, all)
	if all < 10 || 100*seen < 90*all {
		t.Errorf("%d of %d faults are in view", seen, all)
	}
}
