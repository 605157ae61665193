package local_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/agent/workspace"
	"github.com/handrail-bot/handrail/bot/live"
	"github.com/handrail-bot/handrail/cmd/local"
	"github.com/handrail-bot/handrail/gitops"
	"github.com/handrail-bot/handrail/policy"
)

// repository is a clone with files, and one without any of them that is like them.
func repository(t *testing.T, files map[string]string) *gitops.Mirror {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"add", "-A"}, {"-c", "user.name=k", "-c", "user.email=k@example.com", "commit", "-q", "-m", "start"}} {
		cmd := exec.Command("git", args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	m, err := gitops.OpenLocal(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.Close() })
	return m
}

// TestImage: what commands of a new session run in, and why.
func TestImage(t *testing.T) {
	t.Parallel()
	goes := map[string]string{"go.mod": "module a\n\ngo 1.26\n"}
	for name, c := range map[string]struct {
		files map[string]string
		in    policy.Workspace
		want  session.Image
	}{
		"no images":   {goes, policy.Workspace{Engine: "bwrap", Image: "acme/dev:1"}, session.Image{}},
		"configured":  {goes, policy.Workspace{Engine: "docker", Image: "acme/dev:1"}, session.Image{}},
		"by manifest": {goes, policy.Workspace{Engine: "docker"}, session.Image{Name: "golang:1.26", Why: "go.mod says Go 1.26", Guess: true}},
		"no manifest": {map[string]string{"a.txt": ""}, policy.Workspace{Engine: "docker"}, session.Image{Name: workspace.DefaultImage, Why: "the repository asks for no other image"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := repository(t, c.files)
			of := local.Clone{Mirror: func(context.Context, live.Thread) (*gitops.Mirror, error) { return m, nil }}
			got, err := of.Image(t.Context(), live.Thread{}, policy.Config{Workspace: c.in}.WithDefaults())
			if diff := cmp.Diff(c.want, got); diff != "" || err != nil {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
		})
	}
}
