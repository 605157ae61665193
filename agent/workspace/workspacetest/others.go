package workspacetest

import (
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/handrail-bot/handrail/agent/workspace"
)

// others checks that another repository can be read, searched if asked for, and not
// changed, and that nothing of it is a change of the workspace.
func others(t *testing.T, s Subject) {
	t.Run("writable", func(t *testing.T) { writableOthers(t, s) })
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

// writableOthers checks that another repository can be changed in the workspace alone, that its
// changes are listed apart, and that those beside it stay as they are.
func writableOthers(t *testing.T, s Subject) {
	source, lib, kept := t.TempDir(), t.TempDir(), t.TempDir()
	Tree{"a.txt": "own\n"}.write(t, source)
	Tree{"src/lib.txt": "lib\n", "gone.txt": "gone\n", ".gitignore": "*.o\n"}.write(t, lib)
	Tree{"kept.txt": "kept\n"}.write(t, kept)
	for _, dir := range []string{source, lib, kept} {
		if err := errors.Join(os.Chmod(dir, 0o755), workspace.Give(t.Context(), dir)); err != nil {
			t.Fatal(err)
		}
	}
	ctx := t.Context()
	there := workspace.Other{Name: "team/lib", Source: lib, Write: true}
	beside := workspace.Other{Name: "team/kept", Source: kept}
	ws := OpenSpec(t, s, workspace.Spec{Source: source, Others: []workspace.Other{beside, there}})
	at := there.Path()
	if changes, err := ws.OtherChanges(ctx, there.Name); err != nil || len(changes) > 0 {
		t.Errorf("before any change: %+v, %v", changes, err)
	}
	mustRun(t, ws, "cd "+at+" && echo more >>src/lib.txt && rm gone.txt && echo x >lib.o && "+
		"ln -s ../../team/kept/kept.txt link && ln -s / root && mkdir -p .git/hooks .GIT && echo x >.git/hooks/post-commit && echo x >.GIT/config")
	if err := ws.Write(ctx, at+"/new/file.txt", []byte("new\n")); err != nil {
		t.Error(err)
	}
	for name, want := range map[string]error{
		at + "/link": workspace.ErrOther, beside.Path() + "/kept.txt": workspace.ErrOther, beside.Path() + "/new": workspace.ErrOther,
		at: workspace.ErrOther, at + "/../x": workspace.ErrOther, workspace.OthersDir + "/Team/Lib/x": workspace.ErrOther,
	} {
		if err := ws.Write(ctx, name, []byte("x")); !errors.Is(err, want) {
			t.Errorf("write %s: %v, want %v", name, err, want)
		}
	}
	if err := ws.Write(ctx, at+"/root/tmp/x", []byte("x")); err == nil {
		t.Error("a link out of the workspace was followed")
	}
	changes, err := ws.OtherChanges(ctx, there.Name)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range changes {
		got = append(got, string(c.Kind)+" "+c.Path)
	}
	want := []string{
		"create .GIT/config", "delete gone.txt", "create link", "create new/file.txt", "create root", "modify src/lib.txt",
	}
	if !slices.Equal(got, want) {
		t.Errorf("the changes are %q, want %q", got, want)
	}
	if r, err := ws.Content(ctx, at+"/new/file.txt"); err != nil {
		t.Error(err)
	} else if data, err := io.ReadAll(r); err != nil || string(data) != "new\n" {
		t.Errorf("the content is %q, %v", data, err)
	}
	if _, err := ws.OtherChanges(ctx, beside.Name); err == nil {
		t.Error("one that is only read has changes")
	}
	if changes, err := ws.Changes(ctx); err != nil || len(changes) > 0 {
		t.Errorf("the other repository is a change: %+v, %v", changes, err)
	}
	for file, want := range map[string]string{lib + "/src/lib.txt": "lib\n", lib + "/gone.txt": "gone\n", kept + "/kept.txt": "kept\n"} {
		if text, err := os.ReadFile(file); err != nil || string(text) != want {
			t.Errorf("the files for all sessions were changed: %q, %v", text, err)
		}
	}
}
