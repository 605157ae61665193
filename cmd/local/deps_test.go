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

// TestRelocate: scripts and editable packages of a virtual environment name the workspace; the
// clone's own files, to which the layer has links, do not change.
func TestRelocate(t *testing.T) {
	clone, layer := t.TempDir(), t.TempDir()
	texts := map[string]string{
		"bin/pytest":                               "#!" + clone + "/.venv/bin/python\nimport pytest\n",
		"bin/black":                                "#!/usr/bin/env python\n",
		"lib/python3.13/site-packages/own.pth":     clone + "/src\n",
		"lib/python3.13/site-packages/pytest/a.py": "# " + clone + "\n",
	}
	for name, text := range texts {
		for _, dir := range []string{clone, layer} {
			if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		err := os.WriteFile(filepath.Join(clone, name), []byte(text), 0o755)
		if err = errors.Join(err, os.Link(filepath.Join(clone, name), filepath.Join(layer, name))); err != nil {
			t.Fatal(err)
		}
	}
	if err := relocate(layer, clone); err != nil {
		t.Fatal(err)
	}
	for name, text := range texts {
		want := text
		if !strings.HasSuffix(name, "a.py") {
			want = strings.ReplaceAll(text, clone, "/workspace")
		}
		own, err := os.ReadFile(filepath.Join(clone, name))
		got, wrong := os.ReadFile(filepath.Join(layer, name))
		if errors.Join(err, wrong) != nil || string(own) != text || string(got) != want {
			t.Errorf("%s: the clone has %q, the layer %q", name, own, got)
		}
	}
}
