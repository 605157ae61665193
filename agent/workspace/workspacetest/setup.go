package workspacetest

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/handrail-bot/handrail/agent/workspace"
)

// setUp checks that the kept result of one workspace can be layered below others: they
// see it, can change it for themselves, and it does not count as their change.
func setUp(t *testing.T, s Subject) {
	if !s.Wall {
		t.Skip("only walled workspaces are set up")
	}
	source, layer := t.TempDir(), t.TempDir()
	base := Tree{
		"kept.txt":   "kept\n",
		"both.txt":   "of the base\n",
		"dir/a":      "a\n",
		"file":       "of the base\n",
		".gitignore": "ignored/\n",
	}
	base.write(t, source)
	for _, dir := range []string{source, layer} {
		if err := errors.Join(os.Chmod(dir, 0o755), workspace.Give(t.Context(), dir)); err != nil {
			t.Fatal(err)
		}
	}
	checkKept(t, s, source, "state")
	checkKept(
		t,
		s,
		source,
		strings.Repeat(strings.Repeat("d", 200)+"/", 10)+"state",
	) // too long for the mount options of an overlay
	made := Tree{
		"tree/mods/a/index.js": "a\n", "tree/mods/b.js": "b\n", "tree/mods/c.js": "c\n", "tree/mods/l": "-> b.js", "tree/ignored/x": "x\n", "tree/dir/made": "made\n",
		"tree/both.txt": "of the set-up\n", "tree/file/inside": "hidden by a file\n", "cache/home/.tool/config": "cached\n", "cache/go/mod/m": "mod\n",
	}
	made.write(t, layer)
	if err := workspace.Give(t.Context(), layer); err != nil {
		t.Fatal(err)
	}
	ws := OpenSpec(t, s, workspace.Spec{Source: source, Layer: layer})
	got := mustRun(t, ws, "cat mods/a/index.js mods/l dir/made both.txt file ~/.tool/config /cache/go/mod/m")
	if want := "a\nb\nmade\nof the base\nof the base\ncached\nmod\n"; got != want {
		t.Errorf("inside is\n%s\nwant\n%s", got, want)
	}
	told := func() (out []string) {
		t.Helper()
		cs, err := ws.Changes(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range cs {
			out = append(out, string(c.Kind)+" "+c.Path)
		}
		return out
	}
	mustRun(
		t,
		ws,
		"touch mods/a/index.js; echo a >mods/a/index.js; echo more >>ignored/x; rm mods/c.js; echo more >>~/.tool/config; rm /cache/go/mod/m",
	)
	if cs := told(); len(cs) > 0 {
		t.Errorf("what lies in the layer is a change: %q", cs)
	}
	mustRun(t, ws, "echo more >>mods/b.js; echo new >mods/new.js; rm dir/a; rm -r mods/a; echo z >kept.txt")
	if cs, want := told(), []string{"delete dir/a", "modify kept.txt", "create mods/b.js", "create mods/new.js"}; !slices.Equal(cs, want) {
		t.Errorf("changes are %q, want %q", cs, want)
	}
	if out := run(t, ws, "echo x >"+workspace.LayerInside+"/mods/b.js"); out.Exit == 0 {
		t.Error("the layer can be written to")
	}
	for name, want := range made {
		if data, err := os.ReadFile(filepath.Join(layer, name)); name != "tree/mods/l" &&
			(err != nil || string(data) != want) {
			t.Errorf("the layer was written to: %s is %q, %v", name, data, err)
		}
	}
}

// checkKept checks that the result of a workspace can be kept.
func checkKept(t *testing.T, s Subject, source, at string) {
	t.Helper()
	state := filepath.Join(t.TempDir(), at)
	ws, err := s.Engine.Open(
		t.Context(),
		workspace.Spec{Session: "kept", Source: source, State: state, Keep: true, Image: s.Image},
	)
	if err != nil {
		t.Fatal(err)
	}
	mustRun(t, ws, "echo made >made.txt; echo cached >~/.cached")
	if err := ws.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	tree := filepath.Join(state, workspace.KeptUpper)
	if _, err := os.Lstat(tree); err != nil {
		tree = filepath.Join(state, workspace.KeptTree)
	}
	for name, want := range map[string]string{filepath.Join(tree, "made.txt"): "made\n", filepath.Join(state, workspace.KeptCache, "home", ".cached"): "cached\n"} {
		if data, err := os.ReadFile(name); err != nil || string(data) != want {
			t.Errorf("kept of %s is %q, %v", name, data, err)
		}
	}
	if err := workspace.RemoveTree(state); err != nil {
		t.Error(err)
	}
}

// installed checks that the installed language servers are inside, and cannot be changed there.
func installed(t *testing.T, s Subject) {
	if !s.Wall {
		t.Skip("without a wall they are in their own place")
	}
	source, dir := t.TempDir(), t.TempDir()
	Tree{"fake/bin/fake": "a server\n"}.write(t, dir)
	for _, at := range []string{source, dir, filepath.Join(dir, "fake")} {
		if err := os.Chmod(at, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := workspace.Give(t.Context(), dir); err != nil { // the user inside may write it but for the mount
		t.Fatal(err)
	}
	ws := OpenSpec(t, s, workspace.Spec{Source: source, LSP: dir})
	at := workspace.LSPInside + "/fake/bin/"
	if got := mustRun(t, ws, "cat "+at+"fake"); got != "a server\n" {
		t.Errorf("the server is %q", got)
	}
	for _, line := range []string{"echo x >" + at + "fake", "echo x >" + at + "other", "rm -f " + at + "fake"} {
		if out := run(t, ws, line); out.Exit == 0 {
			t.Errorf("%s was done: %q", line, out.Output)
		}
	}
}
