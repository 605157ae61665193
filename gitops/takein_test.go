package gitops

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/handrail-bot/handrail/policy/longtest"
)

// forked makes two commits on top of a mirror's head, and one more on theirs.
func forked(t *testing.T, s *session, ours, theirs []Change) (head, base string) {
	t.Helper()
	start := s.head
	s.commit(theirs)
	base, s.head = s.head, start
	s.save(ours...)
	return s.head, base
}

func (s *session) takeIn(base string) (Commit, []string, error) {
	return TakeIn{Head: s.head, Names: [2]string{"agent/1", "main"}, Meta: Meta{Message: "Merge", Merges: base, Trailers: ofSession.Trailers}}.Merge(s.t.Context(), s.m)
}

// What both sides changed apart is in the merge as git would make it, with both as
// parents; what both changed at the same place is marked, and is so in git as well.
func TestTakeInIsAsGitMerges(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	s := newSession(t, map[string]string{"a": numbered(12), "b": numbered(12), "c": numbered(12), "d/e": "1\n"})
	start := s.head
	r := rand.New(rand.NewPCG(11, 7))
	clean, marked := 0, 0
	for i := range 60 {
		s.head = start
		head, base := forked(t, s, random(r, "ours"), random(r, "theirs"))
		c, conflicts, err := s.takeIn(base)
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(t.Context(), "git", "-C", s.m.dir, "-c", "merge.renames=false", "merge-tree", "--write-tree", "--name-only", "--no-messages", head, base)
		out, err := cmd.Output()
		said := strings.Split(strings.TrimSpace(string(out)), "\n")
		if len(conflicts) == 0 {
			clean++
			if err != nil || said[0] != c.Tree {
				t.Errorf("case %d is clean here, and in git: %v\n%s", i, err, out)
			}
		}
		if err != nil {
			marked++
			for _, path := range said[1:] {
				if !slices.Contains(conflicts, path) {
					t.Errorf("case %d: git has a conflict in %s, here they are %q", i, path, conflicts)
				}
			}
		}
		if got := git(t, s.m.dir, "log", "-1", "--format=%P", c.ID); got != head+" "+base {
			t.Errorf("case %d: parents %s", i, got)
		}
		open, err := Unsettled(t.Context(), s.m, c.ID, conflicts, head, base)
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range open {
			if text := git(t, s.m.dir, "cat-file", "blob", c.ID+":"+path); !strings.Contains(text, "<<<<<<< agent/1") || !strings.Contains(text, ">>>>>>> main") {
				t.Errorf("case %d: %s is not marked:\n%s", i, path, text)
			}
		}
	}
	if clean < 10 || marked < 10 {
		t.Errorf("%d cases were clean, %d had conflicts", clean, marked)
	}
	fsck(t, s.m.dir)
}

func numbered(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintln(&b, i)
	}
	return b.String()
}

// random changes some files at random lines, deletes some and makes some.
func random(r *rand.Rand, who string) (out []Change) {
	for _, path := range []string{"a", "b", "c"} {
		switch r.IntN(8) {
		case 0:
			out = append(out, Change{Path: path, Delete: true})
		case 1, 2, 3:
			lines := strings.SplitAfter(numbered(12), "\n")
			i := r.IntN(11)
			lines[i] = who + "\n"
			if r.IntN(3) == 0 {
				lines = slices.Insert(lines, r.IntN(11), "more of "+who+"\n")
			}
			out = append(out, put(path, strings.Join(lines, "")))
		}
	}
	if r.IntN(6) == 0 {
		out = append(out, put("new", "by "+who+"\n"))
	}
	return append(out, put("of-"+who, fmt.Sprint(r.IntN(1000), "\n")))
}

func TestTakeInTwice(t *testing.T) {
	t.Parallel()
	s := newSession(t, map[string]string{"a": numbered(9)})
	_, base := forked(t, s, []Change{put("mine", "1\n")}, []Change{put("theirs", "1\n")})
	c, _, err := s.takeIn(base)
	if err != nil {
		t.Fatal(err)
	}
	s.head = c.ID
	if _, _, err := s.takeIn(base); !errors.Is(err, ErrNothing) {
		t.Errorf("a second time: %v", err)
	}
	merged := s.head
	s.head = base
	s.commit([]Change{put("theirs", "2\n")})
	base, s.head = s.head, merged
	if c, _, err = s.takeIn(base); err != nil {
		t.Fatal(err)
	}
	s.head = c.ID
	s.files(map[string]string{"a": strings.TrimSpace(numbered(9)), "mine": "1", "theirs": "2"})

	// An undo leaves what came from the base branch, and goes past it.
	if err := s.undo(1); !errors.Is(err, ErrMerge) {
		t.Errorf("undo of a merge: %v", err)
	}
	if err := s.undo(3); err != nil {
		t.Fatal(err)
	}
	s.files(map[string]string{"a": strings.TrimSpace(numbered(9)), "theirs": "2"})
	if err := s.redo(1); err != nil {
		t.Fatal(err)
	}
	s.files(map[string]string{"a": strings.TrimSpace(numbered(9)), "mine": "1", "theirs": "2"})
}

// A text that one side has with such marks of its own is no open conflict.
func TestUnsettled(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	s := newSession(t, map[string]string{"a": "one\n"})
	theirs := "<<<<<<< how a conflict looks\n=======\n>>>>>>> its end\n"
	head, base := forked(t, s, []Change{put("a", "two\n")}, []Change{put("a", theirs)})
	for text, want := range map[string]bool{
		theirs: false, "two\n" + theirs: false, "three\n": false, "=======\n": false, "<<<<<<<<<\n": false, ">>>>>>>text\n": false,
		theirs + ">>>>>>> main\n": true, "<<<<<<< agent/1\r\n": true, "x\n>>>>>>>\n": true,
	} {
		s.head = head
		s.save(put("a", text))
		open, err := Unsettled(t.Context(), s.m, s.head, []string{"a"}, head, base)
		if err != nil || (len(open) > 0) != want {
			t.Errorf("%q: open %q, %v", text, open, err)
		}
	}
}

// A merge that somebody's push came before is made anew as a merge, without what the
// branch has by now; what may not be pushed of it is not left out: nothing is pushed.
func TestPushOfAMerge(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	const ref = "refs/heads/agent/1-x"
	setup := func(t *testing.T, theirs string) (m *Mirror, push SafePush, bare, work, base string) {
		m, head, bare, work := seeded(t, map[string]string{"a": numbered(9)})
		commitFiles(t, work, "base", map[string]string{theirs: "on: push\n"})
		git(t, work, "push", "-q", "origin", "HEAD:refs/heads/base")
		must(0, m.Fetch(t.Context()))(t)
		base = must(m.Resolve(t.Context(), "refs/heads/base"))(t)
		first := must(m.Checkpoint(t.Context(), Checkpoint{Parent: head, Changes: []Change{put("mine", "1\n")}, Meta: ofSession}))(t)
		must(0, m.Push(t.Context(), Push{Commit: first.ID, Ref: ref}))(t)
		in := TakeIn{Head: first.ID, Meta: Meta{Message: "Merge", Merges: base, Trailers: ofSession.Trailers}}
		c, _, err := in.Merge(t.Context(), m)
		if err != nil {
			t.Fatal(err)
		}
		return m, SafePush{Commit: c.ID, Base: first.ID, Ref: ref, Origin: head, Session: "s1", Merges: true}, bare, work, base
	}
	t.Run("a push before it", func(t *testing.T) {
		m, push, bare, work, base := setup(t, "b")
		git(t, work, "fetch", "-q", "origin", ref)
		git(t, work, "reset", "-q", "--hard", "FETCH_HEAD")
		commitFiles(t, work, "theirs", map[string]string{"t": "t\n"})
		git(t, work, "push", "-q", "origin", "HEAD:"+ref)
		onto := git(t, work, "rev-parse", "HEAD")
		got, err := m.PushSafe(t.Context(), push)
		if err != nil || got.How != howRebased {
			t.Fatalf("%+v, %v", got, err)
		}
		if parents := git(t, bare, "log", "-1", "--format=%P", ref); parents != onto+" "+base {
			t.Errorf("parents %s, want %s and %s", parents, onto, base)
		}
		if files := git(t, bare, "ls-tree", "--name-only", ref); files != "a\nb\nmine\nt" {
			t.Errorf("files %q", files)
		}
	})
	t.Run("the same merge before it", func(t *testing.T) {
		m, push, bare, work, base := setup(t, "b")
		git(t, work, "fetch", "-q", "origin", ref)
		git(t, work, "reset", "-q", "--hard", "FETCH_HEAD")
		git(t, work, "merge", "-q", "-m", "by hand", base)
		git(t, work, "push", "-q", "origin", "HEAD:"+ref)
		onto := git(t, work, "rev-parse", "HEAD")
		if got, err := m.PushSafe(t.Context(), push); err != nil || git(t, bare, "rev-parse", ref) != onto {
			t.Fatalf("%+v, %v", got, err)
		}
	})
	t.Run("workflows", func(t *testing.T) {
		m, push, bare, _, _ := setup(t, ".github/workflows/ci.yml")
		hookText(t, bare, "pre-receive", workflowHook)
		before := git(t, bare, "for-each-ref")
		got, err := m.PushSafe(t.Context(), push)
		var said *RemoteError
		if err != nil || got.How != HowPatch || !errors.As(got.Causes[0], &said) || !strings.Contains(said.Output, "create or update workflow") {
			t.Fatalf("%+v, %v", got, err)
		}
		if after := git(t, bare, "for-each-ref"); after != before {
			t.Errorf("refs\n%s\nwere\n%s", after, before)
		}
	})
}
