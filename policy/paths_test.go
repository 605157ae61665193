package policy

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestOutside has git say what is in a sparse checkout in cone mode.
func TestOutside(t *testing.T) {
	t.Parallel()
	files := []string{
		"a.txt", "services/b.txt", "services/api/c.txt", "services/api/d/e.txt", "services/apis/f.txt", "services/web/g.txt", "api/h.txt",
		"libs/i.txt", "libs/common/j.txt", "libs/common/k/l/m.txt", "other/n.txt", "other/services/api/o.txt", "libs.txt", "services/api.txt", "deep/er/still/p.txt", "deep/q.txt", "deep/er/r.txt",
	}
	dir := t.TempDir()
	git := func(args ...string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "git", append([]string{"-C", dir, "-c", "user.name=kim", "-c", "user.email=kim@example.com"}, args...)...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %q: %v\n%s", args, err, out)
		}
	}
	git("init", "-q")
	for _, f := range files {
		name := filepath.Join(dir, f)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(f), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	git("add", "-A")
	git("commit", "-q", "-m", "all")
	for _, paths := range [][]string{{"services/api"}, {"services"}, {"services/api", "libs/common"}, {"libs/common/k/l", "deep/er"}, {"nowhere/at/all"}, {"libs", "libs/common"}} {
		git(append([]string{"sparse-checkout", "set", "--cone"}, paths...)...)
		w := Workspace{Paths: paths}
		for _, f := range files {
			_, err := os.Stat(filepath.Join(dir, f))
			if got := w.Outside(f); got != os.IsNotExist(err) {
				t.Errorf("%v: %s is outside: %v, and git says %v", paths, f, got, err)
			}
			if d := filepath.Dir(f); d != "." {
				_, err := os.Stat(filepath.Join(dir, d))
				if got := w.Outside(d + "/"); got != os.IsNotExist(err) {
					t.Errorf("%v: %s/ is outside: %v, and git says %v", paths, d, got, err)
				}
			}
		}
	}
	if (Workspace{}).Outside("services/api/c.txt") {
		t.Error("without paths something is outside")
	}
}

func TestPaths(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		"services/api": "", "a b/ü": "", ".github": "", "...": "",
		"": "all of the repository", ".": "all of the repository", "/srv": "begins with a slash", "../x": "leads upwards", "a/../b": "leads upwards",
		"libs/*": "is a pattern", "a?": "is a pattern", "!a": "is a pattern", "a\\b": "is a pattern", "a/": `shorter as "a"`, "./a": `shorter as "a"`, "a//b": `shorter as "a/b"`,
		".git/hooks": "git's own", ".GIT": "git's own", "a\nb": "cannot be read", strings.Repeat("a", 5000): "cannot be read",
	} {
		err := Config{Workspace: Workspace{Paths: []string{path}}}.Validate()
		switch want = strings.Replace(want, "cannot be read", "not a readable path", 1); {
		case want == "" && err != nil:
			t.Errorf("%.20q: %v", path, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "workspace.paths[0]")):
			t.Errorf("%.20q: %v, want %q", path, err, want)
		}
	}
	if err := (Config{Workspace: Workspace{Paths: slices.Repeat([]string{"a"}, maxWorkspacePaths+1)}}).Validate(); err == nil || !strings.Contains(err.Error(), "at most 100") {
		t.Errorf("too many: %v", err)
	}
	server, repo := Config{Workspace: Workspace{Paths: []string{"a"}}}, Config{Workspace: Workspace{Paths: []string{"b"}}}
	if got := Merge(server, repo).Workspace.Paths; !slices.Equal(got, []string{"b"}) {
		t.Errorf("the repository's paths are %q", got)
	}
	if got := Merge(server, Config{}).Workspace.Paths; !slices.Equal(got, []string{"a"}) {
		t.Errorf("the server's paths are %q", got)
	}
}
