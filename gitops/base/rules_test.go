package base

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// secretTree has files to hide.
var secretTree = tree{"a.txt": "a\n", "keys/one": "secret one\n", "keys/deep/two": "secret two\n", "d/key": "secret three\n", "d/b": "b\n", "only/key": "secret four\n", ".hide": "keys/\n"}

func hides(names ...string) Rules {
	return Rules{Key: strings.Join(names, " "), Name: ".hide", Hides: func(name string) bool {
		return slices.ContainsFunc(names, func(hidden string) bool { return name == hidden || filepath.Base(name) == hidden })
	}}
}

// noSecret fails when a text is anywhere in the bases, the contents apart that another
// set of rules shows.
func noSecret(t *testing.T, b *Base, text string) {
	t.Helper()
	for _, dir := range []string{b.Source, b.Over} {
		if dir == "" {
			continue
		}
		must(t, filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return err
			}
			data, err := os.ReadFile(name)
			if strings.Contains(string(data), text) {
				t.Errorf("%s has %q", name, data)
			}
			return err
		}))
	}
}

// Two sets of rules share no tree: what one hides is not below a layer of it either.
func TestHidden(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	s := openStore(t, t.TempDir())
	open := r.commit(secretTree)
	r.take(s, Want{Commit: open, Layers: true}).Drop() // shows all of it
	rules := hides("keys/", "key")
	b := r.take(s, Want{Commit: open, Rules: rules, Layers: true})
	wantSeen(t, b, tree{"a.txt": "a\n", "d/b": "b\n", ".hide": "keys/\n"})
	noSecret(t, b, "secret")
	want := []string{"d/key", "keys/", "only/key"}
	if diff := cmp.Diff(want, slices.Sorted(slices.Values(b.Gone))); diff != "" {
		t.Errorf("gone (-want +got):\n%s", diff)
	}
	for name, change := range map[string]tree{
		"elsewhere":       {"a.txt": "b\n"},
		"hidden changes":  {"keys/one": "secret five\n", "d/key": "secret six\n"},
		"hidden comes":    {"new/key": "secret seven\n", "keys/three": "secret\n", "new/b": "b\n"},
		"hidden goes":     {"keys/one": "", "keys/deep/two": "", "d/key": ""},
		"directory shown": {"keys/one": "", "keys/deep/two": "", "keys": "shown as a file\n"},
	} {
		t.Run(name, func(t *testing.T) {
			files := secretTree.with(change)
			commit := r.commit(files)
			shown, gone := tree{}, map[string]bool{}
			for name, text := range files {
				switch {
				case strings.HasPrefix(name, "keys/"):
					gone["keys/"] = true
				case filepath.Base(name) == "key":
					gone[name] = true
				default:
					shown[name] = text
				}
			}
			near := r.take(s, Want{Commit: commit, Rules: rules, Layers: true})
			if near.Over == "" && name != "hidden changes" && name != "hidden goes" { // which nobody sees
				t.Error("it is no layer")
			}
			fresh := r.take(openStore(t, t.TempDir()), Want{Commit: commit, Rules: rules, Layers: true})
			for _, b := range []*Base{near, fresh} {
				wantSeen(t, b, shown)
				noSecret(t, b, "secret")
				if diff := cmp.Diff(slices.Sorted(maps.Keys(gone)), slices.Sorted(slices.Values(b.Gone))); diff != "" {
					t.Errorf("gone (-want +got):\n%s", diff)
				}
			}
		})
	}
	other := r.take(s, Want{Commit: open, Rules: hides("keys/"), Layers: true})
	wantSeen(t, other, tree{"a.txt": "a\n", "d/b": "b\n", "d/key": "secret three\n", "only/key": "secret four\n", ".hide": "keys/\n"})
	noSecret(t, other, "secret one")
}

// With the rules of another commit a base has these in place of its own.
func TestRulesFrom(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	s := openStore(t, t.TempDir())
	ours := r.commit(tree{".hide": "ours\n", "d/.hide": "ours in d\n", "gone/.hide": "ours\n", "link/.hide": "ours\n", "d/x": "x\n"})
	theirs := r.commit(tree{".hide/x": "a directory\n", "d/e/.hide": "theirs\n", "d/x": "X\n", "link": "-> d", "f": "-> .hide"})
	want := tree{".hide": "ours\n", "d/.hide": "ours in d\n", "d/x": "X\n", "link": "-> d", "f": "-> .hide"}
	wantSeen(t, r.take(s, Want{Commit: theirs, Rules: Rules{Name: ".hide", From: ours}, Layers: true}), want)
	more := r.commit(tree{".hide": "theirs\n", "d/e/.hide": "theirs\n", "d/x": "Y\n", "d/e/f": "f\n", "link": "-> d", "f": "-> .hide"})
	wantSeen(t, r.take(s, Want{Commit: more, Rules: Rules{Name: ".hide", From: ours}, Layers: true}), want.with(tree{"d/x": "Y\n", "d/e/f": "f\n"}))
	wantSeen(t, r.take(s, Want{Commit: ours, Layers: true}), tree{".hide": "ours\n", "d/.hide": "ours in d\n", "gone/.hide": "ours\n", "link/.hide": "ours\n", "d/x": "x\n"})
}

// What is known of one commit tells where the files of another are.
func TestFind(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	s := openStore(t, t.TempDir())
	files := start.with(tree{".hide": "x\n", "d/.hide": "y\n", "d/e/.hide": "-> y", "x/.hide/no": "n\n"})
	for _, change := range []tree{{}, {"a.txt": "b\n"}, {"d/e/.hide": ""}, {"x/y/.hide": "new\n", ".hide": ""}, {"d/e/.hide": "back\n"}, {"d/.hide": "", "d/e/.hide": ""}} {
		files = files.with(change)
		commit := r.commit(files)
		var want []string
		for name := range files {
			if filepath.Base(name) == ".hide" {
				want = append(want, name)
			}
		}
		slices.Sort(want)
		for _, s := range []*Store{s, openStore(t, t.TempDir()), s} {
			got, err := s.Find(t.Context(), r.m, commit, ".hide")
			if must(t, err); !slices.Equal(got, want) {
				t.Errorf("after %v: found %q, want %q", change, got, want)
			}
		}
	}
}

// What is outside is not there, as what is hidden is, in bases of its own.
func TestOutside(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	s := openStore(t, t.TempDir())
	files := tree{"a.txt": "a\n", "in/b": "b\n", "in/key": "secret one\n", "out/c": "c\n", "out/in/d": "d\n"}
	commit := r.commit(files)
	r.take(s, Want{Commit: commit, Layers: true}).Drop()
	rules := outside(hides("key"), "out/")
	for _, commit := range []string{commit, r.commit(files.with(tree{"out/c": "changed\n", "out/new": "new\n"}))} {
		b := r.take(s, Want{Commit: commit, Rules: rules, Layers: true})
		wantSeen(t, b, tree{"a.txt": "a\n", "in/b": "b\n"})
		if diff := cmp.Diff([]string{"in/key", "out/"}, slices.Sorted(slices.Values(b.Gone))); diff != "" {
			t.Errorf("gone (-want +got):\n%s", diff)
		}
	}
	wantSeen(t, r.take(s, Want{Commit: commit, Rules: outside(Rules{}, "in/"), Layers: true}), tree{"a.txt": "a\n", "out/c": "c\n", "out/in/d": "d\n"})
	wantSeen(t, r.take(s, Want{Commit: commit, Rules: outside(Rules{}, "out/"), Layers: true}), tree{"a.txt": "a\n", "in/b": "b\n", "in/key": "secret one\n"})
}

// outside adds paths that are left out to rules.
func outside(r Rules, names ...string) Rules {
	r.OutsideKey, r.Outside = strings.Join(names, " "), func(name string) bool { return slices.Contains(names, name) }
	return r
}
