package docker

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/handrail-bot/handrail/agent/workspace"
)

// TestBuildFiles: a build gets files of the repository alone, wherever links of it lead, and the
// approved Dockerfile.
func TestBuildFiles(t *testing.T) {
	t.Parallel()
	host := t.TempDir()
	if err := os.WriteFile(filepath.Join(host, "key"), []byte("CANARY"), 0o600); err != nil {
		t.Fatal(err)
	}
	repo := t.TempDir()
	if err := os.MkdirAll(filepath.Join(repo, "sub", dockerfileInside), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, to := range map[string]string{
		"out": host, "up": "..", "sub/out": host, "sub/key": filepath.Join(host, "key"), "within": "sub",
	} {
		if err := os.Symlink(to, filepath.Join(repo, name)); err != nil {
			t.Fatal(err)
		}
	}
	for _, dir := range []string{"out", "up", "sub/out", "sub/../../", "..", host, "missing"} {
		if _, err := openFiles(workspace.Build{Files: repo, Dir: dir}); err == nil {
			t.Errorf("%s is open", dir)
		}
		if err := new(Engine).Build(t.Context(), workspace.Build{Files: repo, Dir: dir}); !errors.Is(err, workspace.ErrBuild) {
			t.Errorf("%s: %v", dir, err)
		}
	}
	for _, dir := range []string{".", "sub", "within"} {
		root, err := openFiles(workspace.Build{Files: repo, Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		if err := errors.Join(pack(&b, root, "FROM scratch\n"), root.Close()); err != nil {
			t.Fatal(err)
		}
		last := ""
		for r := tar.NewReader(&b); ; {
			h, err := r.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			text, err := io.ReadAll(r)
			if err != nil || strings.Contains(string(text), "CANARY") {
				t.Errorf("%s: %s is %q, %v", dir, h.Name, text, err)
			}
			last = h.Name + " " + string(text)
		}
		if last != dockerfileInside+" FROM scratch\n" {
			t.Errorf("%s: the last is %q", dir, last)
		}
	}
}

// TestBuildIgnores: files that the .dockerignore of a build's directory names do not come along, but its
// exceptions do.
func TestBuildIgnores(t *testing.T) {
	t.Parallel()
	repo := t.TempDir()
	for name, text := range map[string]string{
		".dockerignore": "# not for images\nnode_modules\n**/*.log\n/data/*\n!data/seed.sql\n",
		"app.js":        "", "node_modules/pad/index.js": "", "src/a.log": "", "src/a.js": "", "data/seed.sql": "", "data/big.bin": "",
	} {
		file := filepath.Join(repo, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("app.js", filepath.Join(repo, "src", "link")); err != nil {
		t.Fatal(err)
	}
	if got, want := packed(t, repo), ".dockerignore app.js data/seed.sql src/a.js src/link "+dockerfileInside; got != want {
		t.Errorf("packed %s, want %s", got, want)
	}
	for name, text := range map[string]string{"pattern": "[a-\n", "size": strings.Repeat("#", maxIgnoreFile+1)} {
		if err := os.WriteFile(filepath.Join(repo, ".dockerignore"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := unignored(os.DirFS(repo)); !errors.Is(err, workspace.ErrBuild) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// packed returns the names of the files that a build of a directory gets.
func packed(t *testing.T, dir string) string {
	t.Helper()
	root, err := openFiles(workspace.Build{Files: dir, Dir: "."})
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := errors.Join(pack(&b, root, "FROM scratch\n"), root.Close()); err != nil {
		t.Fatal(err)
	}
	var names []string
	for r := tar.NewReader(&b); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return strings.Join(names, " ")
		}
		if err != nil {
			t.Fatal(err)
		}
		if h.Typeflag != tar.TypeDir {
			names = append(names, h.Name)
		}
	}
}
