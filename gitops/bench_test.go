package gitops

import (
	"fmt"
	"io/fs"
	mathrand "math/rand/v2"
	"path/filepath"
	"strings"
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

// BenchmarkPartial makes a mirror of a repository of 1,000 files, each changed 20 times, and
// reads one: whole, without contents, and as git clones it. "KB" is what is on the disk then.
func BenchmarkPartial(b *testing.B) {
	r := newRemote(b)
	url, bare, _ := r.repo("one", map[string]string{"a": "1\n"})
	git(b, bare, "config", "uploadpack.allowFilter", "true")
	noise, in, text := mathrand.NewChaCha8([32]byte{}), strings.Builder{}, make([]byte, 1_000)
	for i := range 400 {
		fmt.Fprintf(&in, "commit refs/heads/main\ncommitter Ann <ann@example.com> %d +0000\ndata 1\nc\n", 1_700_000_001+i)
		if i == 0 {
			in.WriteString("from refs/heads/main^0\n")
		}
		for j := range 50 {
			_, _ = noise.Read(text)
			fmt.Fprintf(&in, "M 100644 inline d%02d/f%02d.txt\ndata 2000\n%x\n", i%20, j, text)
		}
	}
	gitIn(b, bare, in.String(), "fast-import", "--quiet")
	git(b, bare, "gc", "-q")
	from, n := strings.Replace(url, "://", "://"+testUser+":"+testToken+"@", 1), 0
	mirror := func(partial bool) func() (string, error) {
		return func() (string, error) {
			m, err := newStore(b, func(c *Config) { c.Partial = partial }).Mirror(b.Context(), url)
			if err != nil {
				return "", err
			}
			_, err = m.ReadFile(b.Context(), "main", "d00/f00.txt", 0)
			return m.dir, err
		}
	}
	clone := func(options ...string) func() (string, error) {
		return func() (string, error) {
			n++
			dir := filepath.Join(b.TempDir(), fmt.Sprint(n))
			if _, err := gitTry(b, "", "", append(append([]string{"clone", "-q", "--bare"}, options...), from, dir)...); err != nil {
				return dir, err
			}
			_, err := gitTry(b, dir, "", "show", "main:d00/f00.txt")
			return dir, err
		}
	}
	for name, make := range map[string]func() (string, error){
		"gitops-whole": mirror(false), "gitops-partial": mirror(true), "git-whole": clone(), "git-partial": clone("--filter=blob:none"),
	} {
		b.Run(name, func(b *testing.B) {
			size := int64(0)
			for b.Loop() {
				dir, err := make()
				if err != nil {
					b.Fatal(err)
				}
				size = 0
				_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
					if info, infoErr := d.Info(); err == nil && infoErr == nil {
						size += info.Size()
					}
					return nil
				})
			}
			b.ReportMetric(float64(size)/1024, "KB")
		})
	}
}
