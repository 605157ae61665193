package work

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/handrail-bot/handrail/agent"
	"github.com/handrail-bot/handrail/agent/project"
	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/agent/workspace"
	"github.com/handrail-bot/handrail/agent/workspace/local"
	"github.com/handrail-bot/handrail/policy/secret"
)

// beside is a workspace with another repository that may be changed.
type beside struct {
	*testing.T
	e     *Engine
	j     Job
	ws    *workspace.Workspace
	saves *checkpoints
}

func newBeside(t *testing.T) *beside {
	files := map[string]string{"words.txt": "Good day\n", ".agentignore": "keys/\n", "keys/secret.txt": "CANARY\n"}
	repo, base := linkedRepo(t, files, nil)
	hidden, err := project.HiddenBy(t.Context(), FilesAt(repo, base))
	if err != nil {
		t.Fatal(err)
	}
	lib := t.TempDir()
	for _, name := range []string{"words.txt", ".agentignore"} {
		if err := os.WriteFile(filepath.Join(lib, name), []byte(files[name]), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	engine, err := local.New(local.Config{})
	if err != nil {
		t.Fatal(err)
	}
	ws, err := engine.Open(t.Context(), workspace.Spec{
		Session: "s1", Source: t.TempDir(), State: t.TempDir(),
		Others: []workspace.Other{{Name: "team/lib", Source: lib, Write: true}},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ws.Close(context.WithoutCancel(t.Context())) })
	key, err := secret.DeriveKey(secret.Value("of this test"), "log contents")
	if err != nil {
		t.Fatal(err)
	}
	b := &beside{T: t, ws: ws, e: New(Config{
		Log: slog.New(slog.DiscardHandler), Secrets: Secrets{Redactor: secret.NewRedactor(), Contents: key},
	})}
	b.j = Job{
		Task:   session.Task{Session: "s1", Requester: "kim"},
		Others: []Other{{Name: "team/lib", ID: "7", Ref: "main", Commit: base, Repo: repo, Write: true}},
	}
	b.saves = b.e.neighbors(place{Workspace: ws, others: []place{{rules: hidden}}}, b.j)[0]
	return b
}

// run runs a command in the directory of the other repository.
func (b *beside) run(line string) {
	b.Helper()
	res, err := b.ws.Run(b.Context(), workspace.Command{Line: "(cd .handrail-repositories/team/lib && " + line + ")"}, nil)
	if err != nil || res.Exit != 0 {
		b.Fatalf("%s: %+v, %v", line, res, err)
	}
}

func (b *beside) save(keep bool) (out agent.Saved) {
	b.Helper()
	if err := b.saves.saveNeighbor(b.Context(), 1, keep, &out); err != nil {
		b.Fatal(err)
	}
	return out
}

// TestNeighbor: a change of another repository is saved apart, without hidden files and those
// of git, and in a mode that only reads it is put back.
func TestNeighbor(t *testing.T) {
	b := newBeside(t)
	if got := b.save(true); len(got.Neighbors) > 0 {
		t.Errorf("without a change there is one: %+v", got)
	}
	b.run("echo x >words.txt; echo y >new.txt")
	if got := b.save(false); len(got.Neighbors) > 0 {
		t.Errorf("a mode that only reads has a change: %+v", got)
	}
	b.run(`test "$(cat words.txt)" = "Good day" && ! test -e new.txt`)
	b.run("echo Good night >words.txt; mkdir -p keys .git/hooks .GIT; echo x | tee keys/secret.txt .git/hooks/pre-push .GIT/config")
	got := b.save(true)
	if len(got.Neighbors) != 1 {
		t.Fatalf("the change is %+v", got)
	}
	n := got.Neighbors[0]
	if n.Repository != "team/lib" || n.ID != "7" || n.Base != b.j.Others[0].Commit || len(n.Files) != 1 || n.Files[0].Path != "words.txt" {
		t.Errorf("the change is %+v", n)
	}
	var left []string
	for _, l := range got.LeftOut {
		left = append(left, l.Path)
	}
	slices.Sort(left)
	if at := ".handrail-repositories/team/lib/"; !slices.Equal(left, []string{at + ".GIT/config", at + "keys/secret.txt"}) {
		t.Errorf("left out are %q", left)
	}
	if at, err := b.j.Others[0].Repo.Resolve(t.Context(), privateRef("s1")); err != nil || at != n.Commit {
		t.Errorf("the private ref is at %s, %v", at, err)
	}
	if data := string(n.Content[0].Data); n.Content[0].Sealed == "" || strings.Contains(data, "night") {
		t.Errorf("the log can be read: %q", data)
	}
	if again := b.save(true); len(again.Neighbors) > 0 {
		t.Errorf("without a further change there is one: %+v", again.Neighbors)
	}
	b.run("echo Good day >words.txt; rm -r .GIT keys")
	if undone := b.save(true); len(undone.Neighbors) != 1 || len(undone.Neighbors[0].Files) > 0 {
		t.Errorf("changed back it is %+v", undone.Neighbors)
	}
}

// TestNeighborIsMadeAnew: another machine makes the saved change again from the log, if it has
// the key, and a session that may not change the repository any more does not see it.
func TestNeighborIsMadeAnew(t *testing.T) {
	b := newBeside(t)
	b.run("echo Good night >words.txt")
	n := b.save(true).Neighbors[0]
	there := newBeside(t)
	n.Base = there.j.Others[0].Commit // the same files, made at another time
	at := session.NewState()
	at.Neighbors = []session.Neighbor{n}
	list, err := there.e.resumed(t.Context(), there.j, at)
	if err != nil || len(list) != 1 || list[0].saved == "" || list[0].Commit != n.Base {
		t.Fatalf("it is %+v, %v", list, err)
	}
	if text, err := list[0].Repo.ReadFile(t.Context(), list[0].saved, "words.txt", 100); err != nil || string(text) != "Good night\n" {
		t.Errorf("the file is %q, %v", text, err)
	}
	for id, now := range map[string]string{"7": "8", "": "8"} { // of the log, and of the repository of this name now
		at := session.NewState()
		n, log := n, &session.Memory{}
		n.ID = id
		at.Neighbors = []session.Neighbor{n}
		there.j.Others[0].ID, there.j.Log = now, log
		list, err := there.e.resumed(t.Context(), there.j, at)
		if goes := id == ""; err != nil || (list[0].saved != "") != goes || (len(at.Neighbors[0].Files) > 0) != goes || list[0].Commit != n.Base {
			t.Errorf("the change of %q in %q is %+v, %v", id, now, list, err)
		}
	}
	there.j.Others[0].Write = false
	if list, err = there.e.resumed(t.Context(), there.j, at); err != nil || list[0].saved != "" {
		t.Errorf("without the right it is %+v, %v", list, err)
	}
	third := newBeside(t)
	n.Base = third.j.Others[0].Commit
	key, err := secret.DeriveKey(secret.Value("of another server"), "log contents")
	if err != nil {
		t.Fatal(err)
	}
	third.e.cfg.Secrets.Contents = key
	at = session.NewState()
	at.Neighbors = []session.Neighbor{n}
	log := &session.Memory{}
	third.j.Log = log
	if list, err = third.e.resumed(t.Context(), third.j, at); err != nil || list[0].saved != "" {
		t.Errorf("without the key it is %+v, %v", list, err)
	}
	if events, err := log.Events(t.Context(), 0); err != nil || len(events) != 2 || len(at.Neighbors[0].Files) > 0 {
		t.Errorf("the loss is recorded as %+v, %v", events, err)
	}
}

// TestPartIsHeld: the session of a part holds the change with which it begins, until it is published.
func TestPartIsHeld(t *testing.T) {
	b := newBeside(t)
	b.run("echo Good night >words.txt")
	n := b.save(true).Neighbors[0]
	j := Job{Task: session.Task{Session: "s2", Base: n.Base}, Repo: b.j.Others[0].Repo}
	for _, of := range []string{"", "s1"} {
		at := session.NewState()
		for _, ev := range []*session.Event{
			session.NewEvent(session.TypeOpened, 0, session.Opened{Task: j.Task}),
			session.NewEvent(session.TypeCheckpoint, 1, session.Checkpoint{Commit: n.Commit, Tree: n.Tree, Parent: n.Base, Files: n.Files, Parked: true, Of: of}),
		} {
			if err := at.Apply(*ev); err != nil {
				t.Fatal(err)
			}
		}
		for range 2 {
			if err := b.e.rebuild(t.Context(), j, at); err != nil {
				t.Fatal(err)
			}
		}
		commit, err := j.Repo.Resolve(t.Context(), privateRef("s2"))
		if held := err == nil && commit == n.Commit; held != (of != "") {
			t.Errorf("of %q: the ref is at %q, %v", of, commit, err)
		}
	}
}
