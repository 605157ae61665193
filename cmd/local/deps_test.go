package local

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/handrail-bot/handrail/agent/deps"
)

// TestPackagesOf: a clone has packages if they are installed; a cache alone is none of a
// manager that installs into the clone, nor is a virtual environment of a Python elsewhere.
func TestPackagesOf(t *testing.T) {
	home, clone := t.TempDir(), t.TempDir()
	t.Setenv("HOME", home)
	for _, name := range []string{"GOMODCACHE", "GOPATH", "CARGO_HOME"} {
		t.Setenv(name, "")
	}
	for _, dir := range []string{
		home + "/.npm/_cacache", home + "/.cache/pip", home + "/go/pkg/mod", clone + "/.venv/bin",
	} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	python := filepath.Join(home, "python3")
	if err := errors.Join(os.WriteFile(python, nil, 0o755), os.Symlink(python, clone+"/.venv/bin/python")); err != nil {
		t.Fatal(err)
	}
	files := map[string]string{
		"package.json": `{"dependencies": {"a": "1"}}`, "requirements.txt": "flask", "go.mod": "require a v1",
	}
	need := deps.Needed([]string{"package.json", "requirements.txt", "go.mod"}, func(name string) string { return files[name] })
	names := func() string { return strings.Join(namesOf(packagesOf(clone, "bwrap", need)), " ") }
	if got := names(); got != "~/go/pkg/mod" {
		t.Errorf("caches alone: %q", got)
	}
	if err := os.Mkdir(clone+"/node_modules", 0o755); err != nil {
		t.Fatal(err)
	}
	if got := names(); got != "~/go/pkg/mod ~/.npm/_cacache node_modules" {
		t.Errorf("with packages of npm: %q", got)
	}
}
