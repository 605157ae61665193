// Package workspacetest is the conformance suite of workspace engines: the guarantees
// that callers rely on with any engine.
package workspacetest

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/handrail-bot/handrail/agent/workspace"
	"github.com/handrail-bot/handrail/policy/longtest"
)

// Subject is an engine under test and its properties.
type Subject struct {
	Engine workspace.Engine
	Image  string // for engines that need an image
	Wall   bool   // the engine keeps commands away from the host
	Copied bool   // the tree is a copy, and another subject of the same engine has an overlay
}

// guarantee is a part of the suite.
type guarantee struct {
	name string
	test func(t *testing.T, s Subject)
}

// Run tests an engine against all guarantees of workspaces: those that fill the machine or set
// its environment first, and then the others beside each other, since they mostly wait. Those for processes
// are the same whatever the tree is made of, and wait for half a minute: with a copied tree they are
// tested if HANDRAIL_LONG is set.
func Run(t *testing.T, s Subject) {
	t.Helper()
	for _, g := range []guarantee{{"limits", limits}, {"quotas", quotas}, {"secrets", secrets}} {
		t.Run(g.name, func(t *testing.T) { g.test(t, s) })
	}
	for _, g := range []guarantee{
		{"files", files}, {"paths", paths}, {"ignore", ignore}, {"list", list}, {"find", find}, {"outline", outline},
		{"search", search}, {"bombs", bombs}, {"shell", shell}, {"kill", kill}, {"programs", programs}, {"changes", changes},
		{"written", written}, {"layers", layers}, {"set up", setUp}, {"installed", installed}, {"caches", caches},
		{"git", git}, {"others", others}, {"closing", closing}, {"together", together}, {"tampering", tampering}, {"way", Egress},
	} {
		if (g.name == "kill" || g.name == "together") && s.Copied && !longtest.Long() {
			continue
		}
		t.Run(g.name, func(t *testing.T) {
			t.Parallel()
			if g.name == "kill" || g.name == "together" {
				longtest.Leave(t) // loops that use a processor, and waits for their ends
			}
			g.test(t, s)
		})
	}
}

// Tree is the content of a base by file name. The content "-> a" makes a symlink to a.
type Tree map[string]string

// write writes the tree below dir.
func (tr Tree) write(t testing.TB, dir string) {
	t.Helper()
	for name, content := range tr {
		at := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		var err error
		if len(content) > 3 && content[:3] == "-> " {
			err = os.Symlink(content[3:], at)
		} else {
			err = os.WriteFile(at, []byte(content), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// Open opens a workspace on tree and closes it when the test ends.
func Open(t testing.TB, s Subject, tree Tree) *workspace.Workspace {
	t.Helper()
	source := t.TempDir()
	if err := os.Chmod(source, 0o755); err != nil { // readable for the user inside
		t.Fatal(err)
	}
	tree.write(t, source)
	if err := workspace.Give(t.Context(), source); err != nil {
		t.Fatal(err)
	}
	return OpenSpec(t, s, workspace.Spec{Source: source})
}

// OpenSpec opens a workspace and closes it when the test ends. It fills in the
// session, the state directory and the image.
func OpenSpec(t testing.TB, s Subject, spec workspace.Spec) *workspace.Workspace {
	t.Helper()
	if spec.State == "" {
		spec.State = filepath.Join(t.TempDir(), "state")
	}
	if spec.Session == "" {
		spec.Session = "test"
	}
	if spec.Image == "" {
		spec.Image = s.Image
	}
	ws, err := s.Engine.Open(t.Context(), spec)
	if err != nil {
		t.Fatalf("open workspace: %v", err)
	}
	if l, ok := s.Engine.(workspace.Layered); ok && l.Layers() && spec.Over != "" {
		if _, err := os.Lstat(filepath.Join(spec.State, "tree")); err == nil {
			t.Error("the workspace is a copy, where an overlay would do")
		}
	}
	t.Cleanup(func() {
		if err := ws.Close(t.Context()); err != nil {
			t.Errorf("close workspace: %v", err)
		}
		if _, err := os.Lstat(spec.State); err == nil {
			t.Errorf("state directory %s is still there after Close", spec.State)
		}
	})
	return ws
}

// run runs one command and fails the test if it cannot be run.
func run(t testing.TB, ws *workspace.Workspace, line string) workspace.CommandResult {
	t.Helper()
	res, err := ws.Run(t.Context(), workspace.Command{Line: line}, nil)
	if err != nil {
		t.Fatalf("run %q: %v", line, err)
	}
	return res
}

// mustRun runs a command that must succeed, and returns its output.
func mustRun(t testing.TB, ws *workspace.Workspace, line string) string {
	t.Helper()
	res := run(t, ws, line)
	if res.Exit != 0 || res.TimedOut || res.Restart {
		t.Fatalf(
			"run %q: exit %d, timed out %t, restart %t, output:\n%s",
			line,
			res.Exit,
			res.TimedOut,
			res.Restart,
			res.Output,
		)
	}
	return res.Output
}

// long returns text of n bytes.
func long(n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte('a' + i%26)
	}
	return string(b)
}
