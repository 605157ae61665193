package gitops

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/handrail-bot/handrail/policy/longtest"
)

// A part of a state by itself: the paths as they are there, with their modes,
// and nothing else of it.
func TestCommitPathsOf(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	m, head, _, _ := seeded(t, map[string]string{"a": "a\n", "d/b": "b\n", "d/c": "c\n", "f": "f\n", "gone": "x\n", "kept": "k\n"})
	exec, link := put("d/new", "n\n"), put("link", "a")
	exec.Exec, link.Symlink = true, true
	meta := Meta{Message: "m", Author: Signature{Name: "n", Email: "e@x"}, When: time.Unix(1, 0)}
	saved, err := m.Checkpoint(t.Context(), Checkpoint{Parent: head, Meta: meta, Changes: []Change{
		put("a", "A\n"), put("d/b", "B\n"), exec, link, {Path: "gone", Delete: true}, {Path: "f", Delete: true}, put("f/x", "x\n"),
	}})
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		paths []string
		want  map[string]string
	}{
		"one":             {[]string{"d/b"}, map[string]string{"d/b": "100644 B"}},
		"modes":           {[]string{"d/new", "link"}, map[string]string{"d/new": "100755 n", "link": "120000 a"}},
		"gone":            {[]string{"gone"}, map[string]string{"gone": ""}},
		"now a directory": {[]string{"f"}, map[string]string{"f": ""}},
		"and what is in":  {[]string{"f", "f/x"}, map[string]string{"f": "", "f/x": "100644 x"}},
		"as it was":       {[]string{"kept"}, nil},
		"in neither":      {[]string{"no/such"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := m.CommitPathsOf(t.Context(), saved.ID, head, tt.paths, meta)
			if err != nil {
				t.Fatal(err)
			}
			want := lsTree(t, m.dir, head)
			for p, text := range tt.want {
				if want[p] = text; text == "" {
					delete(want, p)
				}
			}
			if diff := cmp.Diff(want, lsTree(t, m.dir, got.ID)); diff != "" {
				t.Errorf("tree (-want +got):\n%s", diff)
			}
			if got.Empty != (tt.want == nil) || !got.Empty && got.Parent != head {
				t.Errorf("commit %+v", got)
			}
		})
	}
	if _, err := m.CommitPathsOf(t.Context(), saved.ID, head, []string{"../x"}, meta); err == nil {
		t.Error("a path that climbs is taken")
	}
}
