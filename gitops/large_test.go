package gitops

import (
	"fmt"
	"strings"
	"testing"
)

// BenchmarkBranches works in a repository with many branches, each with a commit of its own: the
// first mirror, the look-up of a branch, the fetch of one new commit, the push of ten files to a
// new branch.
func BenchmarkBranches(b *testing.B) {
	for _, n := range []int{200, 2_000, 20_000} {
		r := newRemote(b)
		url, bare, _ := r.repo("one", nil)
		bulk(b, bare, many(1_000))
		in := strings.Builder{}
		for i := range n {
			fmt.Fprintf(&in, "commit refs/heads/team/b%05d\ncommitter Ann <ann@example.com> %d +0000\ndata 1\nc\n", i, 1_700_000_001+i)
			fmt.Fprintf(&in, "from refs/heads/main^0\nM 100644 inline new.txt\ndata 5\n%05d\n", i)
		}
		gitIn(b, bare, in.String(), "fast-import", "--quiet")
		git(b, bare, "gc", "-q")
		head := git(b, bare, "rev-parse", "main")
		run := func(name string, fn func(i int) error) {
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) {
				i := 0
				for b.Loop() {
					if err := fn(i); err != nil {
						b.Fatal(err)
					}
					i++
				}
			})
		}
		run("first", func(int) error {
			_, err := newStore(b, nil).Mirror(b.Context(), url)
			return err
		})
		m := mirrorOf(b, url)
		run("look-up", func(i int) error {
			_, err := m.Resolve(b.Context(), fmt.Sprintf("refs/heads/team/b%05d", i%n))
			return err
		})
		run("fetch", func(i int) error {
			gitIn(b, bare, fmt.Sprintf("commit refs/heads/main\ncommitter Ann <ann@example.com> %d +0000\ndata 1\nc\n"+
				"from refs/heads/main^0\nM 100644 inline news.txt\ndata 5\n%05d\n", 1_800_000_000+i, i), "fast-import", "--quiet")
			return m.Fetch(b.Context())
		})
		run("push", func(i int) error {
			c, err := m.Checkpoint(b.Context(), Checkpoint{Parent: head, Changes: tenChanges(fmt.Sprint(i))})
			if err != nil {
				return err
			}
			return m.Push(b.Context(), Push{Commit: c.ID, Ref: "refs/heads/new/" + c.ID})
		})
	}
}

// BenchmarkChangedFiles compares two commits with many changed files, as those of a pull request.
func BenchmarkChangedFiles(b *testing.B) {
	for _, n := range []int{300, 1_000, 3_000} {
		r := newRemote(b)
		url, bare, _ := r.repo("one", nil)
		bulk(b, bare, many(3_000))
		in := strings.Builder{}
		fmt.Fprintf(&in, "commit refs/heads/main\ncommitter Ann <ann@example.com> 1700000001 +0000\ndata 1\nc\nfrom refs/heads/main^0\n")
		for i := range n {
			name, text := fmt.Sprintf("d%02d/e%02d/f%05d.txt", i%20, i/20%20, i), strings.Repeat(fmt.Sprintf("line of %d\n", i), 20)
			if i%10 == 0 { // a move with a change
				fmt.Fprintf(&in, "R %s moved/%s\n", name, name)
				name = "moved/" + name
			}
			fmt.Fprintf(&in, "M 100644 inline %s\ndata %d\n%s\n", name, len(text), text)
		}
		gitIn(b, bare, in.String(), "fast-import", "--quiet")
		m, before, after := mirrorOf(b, url), git(b, bare, "rev-parse", "main~1"), git(b, bare, "rev-parse", "main")
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				_, stats, err := m.Diff(b.Context(), before, after, DiffOptions{})
				if err != nil || len(stats) < n {
					b.Fatalf("%d files: %v", len(stats), err)
				}
			}
		})
	}
}
