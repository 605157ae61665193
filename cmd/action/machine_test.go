package action_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/handrail-bot/handrail/cmd/action"
)

// Workspaces see the tool cache, and what variables say of it. What holds the
// runner's own directories is no tool cache, however it is spelled.
func TestMachine(t *testing.T) {
	t.Parallel()
	runner := t.TempDir()
	dir := func(names ...string) string {
		at := filepath.Join(append([]string{runner}, names...)...)
		if err := os.MkdirAll(at, 0o755); err != nil {
			t.Fatal(err)
		}
		return at
	}
	temp, tree, tools, java := dir("_work", "_temp"), dir("_work", "app", "app"), dir("_work", "_tool"), dir("_work", "_tool", "java", "17")
	events := dir("_work", "_temp", "_github_workflow")
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(runner, link); err != nil {
		t.Fatal(err)
	}
	base := []string{
		"RUNNER_TEMP=" + temp, "GITHUB_WORKSPACE=" + tree, "GITHUB_EVENT_PATH=" + events + "/event.json", "HOME=" + runner,
		"PATH=" + java + "/bin:" + java + ":" + temp + ":/usr/bin:relative", "JAVA_HOME=" + java, "GITHUB_JAVA=" + java, "SECRET=word", "MIXED=" + java + ":" + temp,
	}
	m := action.Machine(append(base, "RUNNER_TOOL_CACHE="+tools))
	if !slices.Contains(m.Dirs, tools) {
		t.Errorf("the tool cache is not shown: %q", m.Dirs)
	}
	want := map[string]string{"PATH": java + ":/usr/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "JAVA_HOME": java}
	if len(m.Env) != len(want) || m.Env["PATH"] != want["PATH"] || m.Env["JAVA_HOME"] != java {
		t.Errorf("variables are %q, want %q", m.Env, want)
	}
	for _, bad := range []string{"", "/", "/etc", "/proc", "/root/..", "relative", runner, temp, dir("_work"), link, link + "/_work/", filepath.Dir(runner), tree, events} {
		m := action.Machine(append(base, "RUNNER_TOOL_CACHE="+bad))
		for _, shown := range m.Dirs {
			if shown != "/opt" {
				t.Errorf("%q is shown as a tool cache", bad)
			}
		}
		if strings.Contains(m.Env["PATH"], runner) {
			t.Errorf("with the tool cache %q the PATH is %s", bad, m.Env["PATH"])
		}
	}
}

// A runner that lives in what workspaces see is hidden there, with others beside it.
func TestRunnerIsHidden(t *testing.T) {
	t.Parallel()
	tools := t.TempDir()
	inside := filepath.Join(tools, "runner", "_work", "_temp")
	if err := os.MkdirAll(inside, 0o755); err != nil {
		t.Fatal(err)
	}
	m := action.Machine([]string{"HOME=/usr/share", "RUNNER_TEMP=" + inside})
	if !slices.Contains(m.Hidden, "/usr/share") {
		t.Errorf("hidden is %q: a home in /usr is shown", m.Hidden)
	}
	if m := action.Machine([]string{"HOME=/opt"}); slices.Contains(m.Dirs, "/opt") {
		t.Error("a home is shown because it is /opt")
	}
}
