package gitops

import (
	"fmt"
	"testing"
)

// benchMirror is a mirror of a repository with n files, packed.
func benchMirror(b *testing.B, n int) (*Mirror, string) {
	b.Helper()
	r := newRemote(b)
	url, bare, _ := r.repo("one", nil)
	bulk(b, bare, many(n))
	m := mirrorOf(b, url)
	head, err := m.Resolve(b.Context(), "main")
	if err != nil {
		b.Fatal(err)
	}
	return m, head
}

func BenchmarkCheckpoint(b *testing.B) {
	for _, n := range []int{500, 5_000, 50_000} {
		b.Run(fmt.Sprintf("10of%d", n), func(b *testing.B) {
			m, head := benchMirror(b, n)
			i := 0
			for b.Loop() {
				i++
				if _, err := m.Checkpoint(b.Context(), Checkpoint{Parent: head, Changes: tenChanges(fmt.Sprint(i))}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkFilesOf(b *testing.B) {
	m, head := benchMirror(b, 6_600)
	for b.Loop() {
		if _, err := filesOf(b, m, head); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkPush(b *testing.B) {
	m, head := benchMirror(b, 6_600)
	i := 0
	for b.Loop() {
		i++
		c, err := m.Checkpoint(b.Context(), Checkpoint{Parent: head, Changes: tenChanges(fmt.Sprint(i))})
		if err != nil {
			b.Fatal(err)
		}
		if err := m.Push(b.Context(), Push{Commit: c.ID, Ref: "refs/heads/bench"}); err != nil {
			b.Fatal(err)
		}
		head = c.ID
	}
}

// BenchmarkSave is a checkpoint of ten files that is on the disk, with the ref
// of its session, as it is before it is recorded.
func BenchmarkSave(b *testing.B) {
	m, head := benchMirror(b, 5_000)
	i, old := 0, ""
	for b.Loop() {
		i++
		c, err := m.Checkpoint(b.Context(), Checkpoint{Parent: head, Changes: tenChanges(fmt.Sprint(i))})
		if err == nil {
			err = m.SetRef(b.Context(), "refs/handrail/sessions/s", c.ID, old)
		}
		if err != nil {
			b.Fatal(err)
		}
		old = c.ID
	}
}
