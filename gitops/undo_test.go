package gitops

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/handrail-bot/handrail/gitops/objects"
	"github.com/handrail-bot/handrail/policy/longtest"
)

// session makes checkpoints on a mirror and undoes them.
type session struct {
	t    *testing.T
	m    *Mirror
	head string
	base string
	turn int
}

func newSession(t *testing.T, files map[string]string) *session {
	m, head, _, _ := seeded(t, files)
	return &session{t: t, m: m, head: head, base: head}
}

func (s *session) save(changes ...Change) {
	s.t.Helper()
	s.turn++
	s.commit(changes, Trailer{TrailerSession, "s1"}, Trailer{TrailerTurn, fmt.Sprint(s.turn)})
}

func (s *session) commit(changes []Change, trailers ...Trailer) {
	s.t.Helper()
	c, err := s.m.Checkpoint(s.t.Context(), Checkpoint{Parent: s.head, Changes: changes, Meta: Meta{Message: "turn", Trailers: trailers}})
	if err != nil {
		s.t.Fatal(err)
	}
	s.head = c.ID
}

var ofSession = Meta{Trailers: []Trailer{{TrailerSession, "s1"}}}

func (s *session) undo(n int, paths ...string) error {
	c, err := s.m.Undo(s.t.Context(), Undo{Head: s.head, N: n, Session: "s1", Base: s.base, Paths: paths, Meta: ofSession})
	if err == nil {
		s.head = c.ID
	}
	return err
}

func (s *session) redo(n int) error {
	c, err := s.m.Undo(s.t.Context(), Undo{Redo: true, Head: s.head, N: n, Session: "s1", Base: s.base, Meta: ofSession})
	if err == nil {
		s.head = c.ID
	}
	return err
}

func (s *session) files(want map[string]string) {
	s.t.Helper()
	got := lsTree(s.t, s.m.dir, s.head)
	for k, v := range got {
		got[k] = v[len("100644 "):]
	}
	if diff := cmp.Diff(want, got); diff != "" {
		s.t.Errorf("files (-want +got):\n%s", diff)
	}
}

func TestUndoAndRedo(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	s := newSession(t, map[string]string{"a": "0\n"})
	s.save(put("a", "1\n"))
	s.save(put("a", "2\n"), put("b", "2\n"))
	s.save(put("a", "3\n"), Change{Path: "b", Delete: true})
	newest := s.head
	steps := []struct {
		do   func() error
		err  error
		want map[string]string
	}{
		{func() error { return s.undo(1) }, nil, map[string]string{"a": "2", "b": "2"}},
		{func() error { return s.undo(0) }, nil, map[string]string{"a": "1"}},
		{func() error { return s.undo(2) }, ErrNothing, map[string]string{"a": "1"}},
		{func() error { return s.redo(1) }, nil, map[string]string{"a": "2", "b": "2"}},
		{func() error { return s.redo(1) }, nil, map[string]string{"a": "3"}},
		{func() error { return s.redo(1) }, ErrNothing, map[string]string{"a": "3"}},
		{func() error { return s.undo(3) }, nil, map[string]string{"a": "0"}},
		{func() error { return s.undo(1) }, ErrNothing, map[string]string{"a": "0"}},
		{func() error { return s.redo(1) }, nil, map[string]string{"a": "3"}},
		{func() error { return s.undo(2) }, nil, map[string]string{"a": "1"}},
		{func() error { s.save(put("c", "4\n")); return nil }, nil, map[string]string{"a": "1", "c": "4"}},
		{func() error { return s.undo(1) }, nil, map[string]string{"a": "1"}},
		{func() error { return s.undo(1) }, nil, map[string]string{"a": "0"}},
	}
	for i, step := range steps {
		if err := step.do(); !errors.Is(err, step.err) {
			t.Fatalf("step %d: %v, want %v", i, err, step.err)
		}
		s.files(step.want)
	}
	if git(t, s.m.dir, "merge-base", newest, s.head) != newest {
		t.Error("the undone state is not in the history")
	}
	if log := git(t, s.m.dir, "log", "-1", "--format=%B", s.head); !strings.Contains(log, trailerUndoes+": ") || !strings.Contains(log, "Session: s1") {
		t.Errorf("message of an undo: %q", log)
	}
	fsck(t, s.m.dir)
}

func TestUndoKeepsOtherPeoplesCommits(t *testing.T) {
	t.Parallel()
	s := newSession(t, map[string]string{"a": "1\n2\n3\n4\n5\n6\n7\n", "p": "0\n"})
	s.save(put("a", "ONE\n2\n3\n4\n5\n6\n7\n"))
	s.commit([]Change{put("p", "person\n")})
	s.save(put("b", "2\n"))
	s.commit([]Change{put("a", "ONE\n2\n3\n4\n5\n6\nSEVEN\n")})
	s.commit([]Change{put("other", "o\n")}, Trailer{TrailerSession, "another"})
	if err := s.undo(2); err != nil {
		t.Fatal(err)
	}
	s.files(map[string]string{"a": "1\n2\n3\n4\n5\n6\nSEVEN", "p": "person", "other": "o"})
	if err := s.redo(1); err != nil {
		t.Fatal(err)
	}
	s.files(map[string]string{"a": "ONE\n2\n3\n4\n5\n6\nSEVEN", "b": "2", "p": "person", "other": "o"})

	s.save(put("a", "x\n"))
	s.commit([]Change{put("a", "y\n")})
	before := s.head
	var conflict *conflict
	if err := s.undo(1); !errors.As(err, &conflict) || !slices.Equal(conflict.Paths, []string{"a"}) || !errors.Is(err, ErrConflict) {
		t.Errorf("undo below a change of the same line: %v", err)
	}
	if s.head != before {
		t.Error("a conflict made a commit")
	}
}

func TestUndoOfSomeFiles(t *testing.T) {
	t.Parallel()
	s := newSession(t, map[string]string{"a": "0\n", "dir/b": "0\n", "c": "0\n"})
	s.save(put("a", "1\n"), put("dir/b", "1\n"), put("dir/new", "1\n"), put("c", "1\n"))
	if err := s.undo(1, "dir", "a"); err != nil {
		t.Fatal(err)
	}
	s.files(map[string]string{"a": "0", "dir/b": "0", "c": "1"})
	if err := s.redo(1); err != nil {
		t.Fatal(err)
	}
	s.files(map[string]string{"a": "1", "dir/b": "1", "dir/new": "1", "c": "1"})
	if err := s.undo(1, "c"); err != nil {
		t.Fatal(err)
	}
	if err := s.undo(1); err != nil { // the rest
		t.Fatal(err)
	}
	s.files(map[string]string{"a": "0", "dir/b": "0", "c": "0"})
}

// A number counts what a person calls a step: of a redo, the checkpoints that were taken
// back, in however many undos; of an undo of a file, those that changed it.
func TestStepsOfAPerson(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	s := newSession(t, map[string]string{"a": "0\n", "b": "0\n"})
	s.save(put("a", "1\n"))
	s.save(put("a", "2\n"))
	s.save(put("b", "3\n"))
	steps := []struct {
		do    func() error
		there int // where there are too few
		a, b  string
	}{
		{func() error { return s.undo(2) }, -1, "1", "0"},
		{func() error { return s.redo(3) }, 2, "1", "0"},
		{func() error { return s.redo(2) }, -1, "2", "3"},
		{func() error { return s.undo(4) }, 3, "2", "3"},
		{func() error { return s.undo(1) }, -1, "2", "0"},
		{func() error { return s.undo(1) }, -1, "1", "0"},
		{func() error { return s.redo(2) }, -1, "2", "3"},
		{func() error { return s.redo(0) }, 0, "2", "3"},
		{func() error { return s.undo(1, "a") }, -1, "1", "3"},
		{func() error { return s.undo(1, "a") }, -1, "0", "3"},
		{func() error { return s.undo(1, "a") }, 0, "0", "3"},
		{func() error { return s.redo(0) }, -1, "1", "3"},
		{func() error { return s.undo(1, "none") }, 0, "1", "3"},
		{func() error { return s.undo(2, "b") }, 1, "1", "3"},
	}
	for i, step := range steps {
		err := step.do()
		few := TooFew(-1)
		if errors.As(err, &few); int(few) != step.there || err != nil && step.there < 0 {
			t.Fatalf("step %d: %v, there are %d, want %d", i, err, few, step.there)
		}
		s.files(map[string]string{"a": step.a, "b": step.b})
	}
}

func rebased(t *testing.T, m *Mirror, r rebase) (c Commit, err error) {
	err = m.pool.Use(t.Context(), func(o *objects.DB) (err error) {
		c, err = r.run(t.Context(), o)
		return err
	})
	return c, err
}

func TestRebase(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	base := map[string]string{"a": "1\n2\n3\n4\n5\n", "b": "b\n", "dir/c": "c\n"}
	exec := put("b", "b\n")
	exec.Exec = true
	tests := []struct {
		name         string
		ours, theirs []Change
		want         map[string]string // on top of the base
		conflict     []string
	}{
		{"different files", []Change{put("x", "x\n")}, []Change{put("y", "y\n")}, map[string]string{"x": "x", "y": "y"}, nil},
		{"different lines", []Change{put("a", "1\n2\n3\n4\nV\n")}, []Change{put("a", "I\n2\n3\n4\n5\n")}, map[string]string{"a": "I\n2\n3\n4\nV"}, nil},
		{"same change", []Change{put("a", "same\n")}, []Change{put("a", "same\n")}, map[string]string{"a": "same"}, nil},
		{"mode and content", []Change{exec}, []Change{put("b", "B\n")}, map[string]string{"b": "B"}, nil},
		{"same lines", []Change{put("a", "ours\n")}, []Change{put("a", "theirs\n")}, nil, []string{"a"}},
		{"delete and modify", []Change{{Path: "b", Delete: true}, put("a", "x\n")}, []Change{put("b", "B\n"), put("a", "y\n")}, nil, []string{"a", "b"}},
		{"both delete", []Change{{Path: "b", Delete: true}, put("x", "x\n")}, []Change{{Path: "b", Delete: true}}, map[string]string{"b": "", "x": "x"}, nil},
		{"delete the directory that the other changed", []Change{{Path: "dir", Delete: true}}, []Change{put("dir/c", "C\n")}, nil, []string{"dir/c"}},
		{"file against directory", []Change{put("n", "n\n")}, []Change{put("n/m", "m\n")}, nil, []string{"n"}},
		{"both add", []Change{put("n", "1\n")}, []Change{put("n", "2\n")}, nil, []string{"n"}},
		{"binary", []Change{put("a", "\x00")}, []Change{put("a", "z\n")}, nil, []string{"a"}},
	}
	m, head, _, _ := seeded(t, base)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			meta := Meta{Message: "ours", Author: Signature{"Bot", "bot@example.com"}, Trailers: []Trailer{{TrailerSession, "s"}}}
			ours := must(m.Checkpoint(t.Context(), Checkpoint{Parent: head, Changes: tt.ours, Meta: meta}))(t)
			onto := must(m.Checkpoint(t.Context(), Checkpoint{Parent: head, Changes: tt.theirs, Meta: Meta{Message: "theirs"}}))(t)
			got, err := rebased(t, m, rebase{onto: onto.ID, base: head, head: ours.ID})
			var conflict *conflict
			if tt.conflict != nil {
				if !errors.As(err, &conflict) || !slices.Equal(conflict.Paths, tt.conflict) {
					t.Errorf("got %v, want a conflict in %q", err, tt.conflict)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			want := map[string]string{"a": "1\n2\n3\n4\n5", "b": "b", "dir/c": "c"}
			for p, text := range tt.want {
				if want[p] = text; text == "" {
					delete(want, p)
				}
			}
			s := &session{t: t, m: m, head: got.ID}
			s.files(want)
			if got.Empty != (got.ID == onto.ID) {
				t.Errorf("empty is %v for %s on %s", got.Empty, got.ID, onto.ID)
			}
			if !got.Empty && git(t, m.dir, "log", "-1", "--format=%an %s %ad", got.ID) != git(t, m.dir, "log", "-1", "--format=%an %s %ad", ours.ID) {
				t.Error("author, subject or date changed")
			}
		})
	}
	if _, err := rebased(t, m, rebase{onto: head, base: strings.Repeat("1", 40), head: head}); err == nil {
		t.Error("a base that is not in the history was accepted")
	}
	fsck(t, m.dir)
}

// Files that are kept stay; what the workspace has and the branch has not stays too.
func TestUndoKeepsFiles(t *testing.T) {
	t.Parallel()
	s := newSession(t, map[string]string{"a": "0\n", "dir/b": "0\n"})
	s.save(put("a", "1\n"), put("dir/b", "1\n"))
	saved, err := s.m.Checkpoint(t.Context(), Checkpoint{Parent: s.head, Changes: []Change{put("c", "half\n")}, Meta: Meta{Message: "saved"}})
	if err != nil {
		t.Fatal(err)
	}
	c, err := s.m.Undo(t.Context(), Undo{Head: s.head, From: saved.ID, Session: "s1", Base: s.base, Keep: []string{"dir"}, Meta: ofSession})
	if err != nil || c.Parent != s.head {
		t.Fatal(c, err)
	}
	meta, err := s.m.MetaOf(t.Context(), c.ID)
	if err != nil || !strings.HasPrefix(meta.Message, "Undo 1\n\n- ") || strings.Contains(meta.Message, "Session") || len(meta.Trailers) != 2 || meta.Trailers[1].Key != trailerPart {
		t.Errorf("the commit says %+v, %v", meta, err)
	}
	subjects, err := s.m.Subjects(t.Context(), c.ID, 2)
	if err != nil || len(subjects) != 2 || subjects[0] != "Undo 1" {
		t.Errorf("subjects %q, %v", subjects, err)
	}
	if all, err := s.m.Subjects(t.Context(), c.ID, 99); err != nil || len(all) < 3 || len(all) == 99 {
		t.Errorf("all subjects %q, %v", all, err)
	}
	s.head = c.ID
	s.files(map[string]string{"a": "0", "dir/b": "1", "c": "half"})
}
