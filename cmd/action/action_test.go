package action_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/handrail-bot/handrail/cmd/action"
)

// environment is what a runner sets.
func environment(t *testing.T, event, payload string) map[string]string {
	t.Helper()
	dir := t.TempDir()
	name := filepath.Join(dir, "event.json")
	if err := os.WriteFile(name, []byte(payload), 0o600); err != nil {
		t.Fatal(err)
	}
	return map[string]string{
		"GITHUB_EVENT_NAME": event, "GITHUB_EVENT_PATH": name, "GITHUB_API_URL": "https://github.example/api/v3", "GITHUB_SERVER_URL": "https://github.example",
		"GITHUB_REPOSITORY": "team/app", "GITHUB_RUN_ID": "12", "GITHUB_RUN_ATTEMPT": "3", "GITHUB_OUTPUT": filepath.Join(dir, "out"), "INPUT_TOKEN": "t",
	}
}

func read(t *testing.T, env map[string]string) action.Run {
	t.Helper()
	r, err := action.Read(func(name string) string { return env[name] })
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestRead(t *testing.T) {
	t.Parallel()
	env := environment(t, "issues", `{}`)
	env["INPUT_BASE-URL"], env["INPUT_STATE_KEY"] = " https://models.example/v1 ", "k"
	r := read(t, env)
	if r.API != "https://github.example/api/v3/" || r.CloneURL() != "https://github.example/team/app.git" || r.Inputs.BaseURL != "https://models.example/v1" || r.Inputs.StateKey != "k" {
		t.Errorf("read %+v", r)
	}
	id, attempt, ok := action.ParseOwner(r.Owner())
	if id != 12 || attempt != 3 || !ok {
		t.Errorf("%s is run %d, attempt %d, %v", r.Owner(), id, attempt, ok)
	}
	for _, bad := range []string{"", "bot-7", "run-12", "run-12-3x", "run-12-3-4", "run-+1-2"} {
		if _, _, ok := action.ParseOwner(bad); ok {
			t.Errorf("%q is the name of a run", bad)
		}
	}
	env["INPUT_KEEP_DAYS"] = "999999"
	if n := read(t, env).KeepDays; time.Duration(n)*24*time.Hour < 90*24*time.Hour {
		t.Errorf("999999 days are %d, which is no length of time", n)
	}
	_, err := action.Read(func(string) string { return "" })
	for _, name := range []string{"GITHUB_EVENT_NAME", "GITHUB_REPOSITORY", "GITHUB_RUN_ID", "INPUT_TOKEN"} {
		if err == nil || strings.Count(err.Error(), name) != 1 || strings.Contains(err.Error(), "\n") {
			t.Errorf("without an environment the error does not name %s, once and in one line: %v", name, err)
		}
	}
	delete(env, "INPUT_TOKEN")
	env["GITHUB_RUN_ID"] = "first"
	_, err = action.Read(func(name string) string { return env[name] })
	if err == nil || !strings.Contains(err.Error(), "no token") || !strings.Contains(err.Error(), "GITHUB_RUN_ID is not a number") {
		t.Errorf("with a token missing and a wrong number it says %v", err)
	}
}

// Whatever a value holds, the runner reads it back, and no other.
func TestOutputs(t *testing.T) {
	t.Parallel()
	env := environment(t, "issues", `{}`)
	r := read(t, env)
	text := "done\nstate<<x\nfailed\nx\nEOF\n::set-output name=state::failed"
	if err := r.Write(action.Outputs{Session: "s1", State: "done", Summary: text, Approvals: []string{"a", "b"}}); err != nil {
		t.Fatal(err)
	}
	got := outputs(t, env["GITHUB_OUTPUT"])
	for name, want := range map[string]string{"session-id": "s1", "state": "done", "summary": text, "approval-ids": "a b", "branch": ""} {
		if got[name] != want {
			t.Errorf("%s is %q, want %q", name, got[name], want)
		}
	}
	if len(got) != 6 {
		t.Errorf("outputs are %q", got)
	}
}

// outputs reads a file of outputs as the runner does.
func outputs(t *testing.T, name string) map[string]string {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	lines := strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
	for len(lines) > 0 {
		if key, value, ok := strings.Cut(lines[0], "="); ok && !strings.Contains(key, "<<") {
			got[key], lines = value, lines[1:]
			continue
		}
		key, end, ok := strings.Cut(lines[0], "<<")
		if !ok {
			t.Fatalf("the runner does not understand %q", lines[0])
		}
		n := 1
		for n < len(lines) && lines[n] != end {
			n++
		}
		got[key] = strings.Join(lines[1:n], "\n")
		lines = lines[min(n+1, len(lines)):]
	}
	return got
}

// An error is one annotation, and no other command of a runner.
func TestAnnotations(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	action.Fault.Print(&b, "read configuration a,b: c%.yml: line 12: one\n::set-env name=X::y\r100%")
	if want := "::error file=a%2Cb%3A c%25.yml,line=12::read configuration a,b: c%25.yml: line 12: one%0A::set-env name=X::y%0D100%25\n"; b.String() != want {
		t.Errorf("printed %q, want %q", b.String(), want)
	}
	b.Reset()
	action.Fault.Print(&b, "parse config a.yml: line 2, column 5: x\nline 3, column 1: y")
	if want := "::error file=a.yml,line=2,col=5::parse config a.yml: line 2, column 5: x%0Aline 3, column 1: y\n"; b.String() != want {
		t.Errorf("%q", b.String())
	}
	b.Reset()
	action.Notice.Print(&b, "a file: parse config x: line 1: y")
	if want := "::notice::a file: parse config x: line 1: y\n"; b.String() != want {
		t.Errorf("printed %q, want %q", b.String(), want)
	}
	b.Reset()
	action.Mask(&b, "ab\nsecret one\n\nsecret%two")
	if want := "::add-mask::secret one\n::add-mask::secret%25two\n"; b.String() != want {
		t.Errorf("masked %q, want %q", b.String(), want)
	}
}

func TestLocalIsForPrivateRepositories(t *testing.T) {
	t.Parallel()
	for private, ok := range map[bool]bool{true: true, false: false} {
		env := environment(t, "issues", fmt.Sprintf(`{"repository": {"private": %v}}`, private))
		env["INPUT_WORKSPACE"] = "local"
		if err := read(t, env).CheckIsolation(); (err == nil) != ok {
			t.Errorf("private %v: %v", private, err)
		}
	}
	env := environment(t, "issues", `{}`)
	env["INPUT_WORKSPACE"] = "local"
	if err := read(t, env).CheckIsolation(); err == nil {
		t.Error("a repository that nothing is known of counts as private")
	}
}

// An event with the base's rights is worked on only where nothing but the base is
// checked out.
func TestBaseTreeOnly(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "path", "of-checkout")
	if err := os.MkdirAll(filepath.Join(dir, "module"), 0o700); err != nil {
		t.Fatal(err)
	}
	git := func(args ...string) string {
		out, err := exec.CommandContext(t.Context(), "git", append([]string{"-C", dir, "-c", "user.name=Test", "-c", "user.email=test@example.invalid"}, args...)...).Output()
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(string(out))
	}
	git("init", "-q")
	git("commit", "-q", "--allow-empty", "-m", "start")
	head := git("rev-parse", "HEAD")
	if err := os.WriteFile(filepath.Join(dir, "module", ".git"), []byte("gitdir: ../.git/modules/module"), 0o600); err != nil {
		t.Fatal(err)
	}
	broken := t.TempDir()
	if err := os.WriteFile(filepath.Join(broken, ".git"), []byte("gitdir: /nowhere"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		event, dir, sha, as string
	}{
		{"pull_request_target", dir, head, "pull_request"},
		{"pull_request_target", dir, strings.Repeat("a", 40), ""},
		{"pull_request_target", t.TempDir(), "x", "pull_request"},
		{"pull_request_target", "", "x", "pull_request"},
		{"pull_request_target", broken, "x", ""},
		{"workflow_run", dir, "x", ""},
		{"pull_request_target", filepath.Dir(filepath.Dir(dir)), "x", ""},
		{"pull_request_target", filepath.Dir(filepath.Dir(dir)), head, "pull_request"},
		{"issue_comment", dir, "x", "issue_comment"},
	} {
		as, err := read(t, environment(t, tt.event, `{}`)).Webhook(t.Context(), func(name string) string {
			return map[string]string{"GITHUB_WORKSPACE": tt.dir, "GITHUB_SHA": tt.sha}[name]
		})
		if as != tt.as || (err == nil) != (tt.as != "") {
			t.Errorf("%s in %q at %s: worked on as %q: %v", tt.event, tt.dir, tt.sha, as, err)
		}
	}
}

// A run that failed before it had a session says so to later steps; what was said before
// stays.
func TestEnded(t *testing.T) {
	t.Parallel()
	read := func(r action.Run) string {
		text, err := os.ReadFile(r.Output)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		return string(text)
	}
	r := action.Run{Output: filepath.Join(t.TempDir(), "output")}
	if err := r.Ended(nil); err != nil || read(r) != "" {
		t.Errorf("a run that did not fail: %v, %s", err, read(r))
	}
	if err := r.Ended(errors.New("no such image")); err != nil || !regexp.MustCompile(`(?s)state<<handrail-\w+\nfailed\n.*summary<<handrail-\w+\nno such image\n`).MatchString(read(r)) {
		t.Errorf("a run that failed: %v, %s", err, read(r))
	}
	told := action.Run{Output: filepath.Join(t.TempDir(), "output")}
	if err := errors.Join(told.Write(action.Outputs{Session: "s1", State: "done"}), told.Ended(errors.New("late"))); err != nil || strings.Contains(read(told), "failed") {
		t.Errorf("a run that told: %v, %s", err, read(told))
	}
	if err := (action.Run{}).Ended(errors.New("x")); err != nil {
		t.Error(err)
	}
}
