package workspacetest

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/handrail-bot/handrail/agent/workspace"
)

// others checks that another repository can be read, searched if asked for, and not
// changed, and that nothing of it is a change of the workspace.
func others(t *testing.T, s Subject) {
	source, lib := t.TempDir(), t.TempDir()
	Tree{"a.txt": "needle of our own\n", ".agentignore": "*.secret\n"}.write(t, source)
	Tree{"src/lib.txt": "needle of the other\n", "go.mod": "module lib\n", "run.sh": "echo ran\n"}.write(t, lib)
	for _, dir := range []string{source, lib} {
		if err := errors.Join(os.Chmod(dir, 0o755), workspace.Give(t.Context(), dir)); err != nil {
			t.Fatal(err)
		}
	}
	ctx := t.Context()
	other := workspace.Other{Name: "team/lib", Source: lib}
	ws := OpenSpec(t, s, workspace.Spec{Source: source, Others: []workspace.Other{other}})
	at := other.Path()
	f, err := ws.Read(ctx, at+"/src/lib.txt")
	if err != nil || len(f.Chunks) != 1 || f.Chunks[0].Lines[0] != "needle of the other" {
		t.Errorf("read: %+v, %v", f, err)
	}
	if out := mustRun(t, ws, "cat "+at+"/src/lib.txt; sh "+at+"/run.sh"); out != "needle of the other\nran\n" {
		t.Errorf("a command reads %q", out)
	}
	for where, want := range map[string][]string{"": {"a.txt"}, at: {at + "/src/lib.txt"}} {
		m, err := ws.Search(ctx, workspace.Query{Pattern: "needle", Path: where})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, f := range m.Files {
			got = append(got, f.Path)
		}
		if !slices.Equal(got, want) {
			t.Errorf("a search in %q finds %q, want %q", where, got, want)
		}
	}
	all, err := ws.List(ctx, ".", true, 0)
	within := func(e workspace.Entry) bool { return strings.Contains(e.Path, "go.mod") }
	if err != nil || slices.ContainsFunc(all.Entries, within) {
		t.Errorf("the list has files of the other repository: %+v, %v", all, err)
	}
	if out := mustRun(t, ws, "stat -c %A "+at+"/src/lib.txt"); !s.Wall && out != "-r--r--r--\n" {
		t.Errorf("without a wall the mode is %q", out)
	}
	mustRun(t, ws, "ln -s "+at+"/src linked")
	for _, name := range []string{at + "/src/lib.txt", at + "/new.txt", "linked/lib.txt", workspace.OthersDir + "/x"} {
		if err := ws.Write(ctx, name, []byte("x")); !errors.Is(err, workspace.ErrOther) {
			t.Errorf("write %s: %v, want ErrOther", name, err)
		}
	}
	if err := ws.Remove(ctx, "linked/lib.txt"); !errors.Is(err, workspace.ErrOther) {
		t.Errorf("remove: %v, want ErrOther", err)
	}
	res := run(t, ws, "rm linked; echo x >"+at+"/src/lib.txt; rm -f "+at+"/go.mod; touch "+at+"/new")
	want := "needle of the other\ngo.mod\nrun.sh\nsrc\n"
	if out := mustRun(t, ws, "cat "+at+"/src/lib.txt; ls "+at); s.Wall && out != want {
		t.Errorf("commands change the other repository: %q, %s", out, res.Output)
	}
	run(t, ws, "echo x >"+workspace.OthersDir+"/x")
	changes, err := ws.Changes(ctx)
	if err != nil || len(changes) > 0 {
		t.Errorf("the other repository is a change: %+v, %v", changes, err)
	}
	text, err := os.ReadFile(lib + "/src/lib.txt")
	if err != nil || string(text) != "needle of the other\n" {
		t.Errorf("the files for all sessions were changed: %q, %v", text, err)
	}
}
