//go:build unix

package gitops

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/packfile"
	"github.com/go-git/go-git/v5/storage/memory"

	"github.com/handrail-bot/handrail/gitops/objects"
	"github.com/handrail-bot/handrail/policy/longtest"
)

// aged is a mirror that can be made old.
type aged struct {
	t    testing.TB
	m    *Mirror
	bare string
	head string // of main on the remote
	n    int
}

func newAged(t testing.TB, files int) *aged {
	t.Helper()
	r := newRemote(t)
	url, bare, _ := r.repo("one", nil)
	bulk(t, bare, many(files))
	a := &aged{t: t, m: mirrorOf(t, url), bare: bare}
	var err error
	if a.head, err = a.m.Resolve(context.Background(), "main"); err != nil {
		t.Fatal(err)
	}
	return a
}

// sessions makes checkpoints, each of a session of its own.
func (a *aged) sessions(n int) {
	a.t.Helper()
	for range n {
		a.n++
		c, err := a.m.Checkpoint(context.Background(), Checkpoint{Parent: a.head, Changes: []Change{put("d00/e00/new.txt", fmt.Sprint(a.n))}})
		if err == nil {
			err = a.m.SetRef(context.Background(), fmt.Sprintf("refs/handrail/sessions/s%d", a.n), c.ID, "")
		}
		if err != nil {
			a.t.Fatal(err)
		}
	}
}

// packs adds packs of one commit each, as fetches bring them.
func (a *aged) packs(n int) (commits []string) {
	a.t.Helper()
	from := a.head
	for range n {
		a.n++
		blob := plumbing.ComputeHash(plumbing.BlobObject, fmt.Append(nil, "pack ", a.n))
		tree := fmt.Appendf(nil, "100644 f\x00%s", blob[:])
		commit := fmt.Appendf(nil, "tree %s\nparent %s\nauthor A <a@b.c> 1700000000 +0000\ncommitter A <a@b.c> 1700000000 +0000\n\npack %d\n",
			plumbing.ComputeHash(plumbing.TreeObject, tree), from, a.n)
		mem := &memoryPack{Storage: *memory.NewStorage()}
		mem.add(plumbing.BlobObject, fmt.Append(nil, "pack ", a.n))
		mem.add(plumbing.TreeObject, tree)
		mem.add(plumbing.CommitObject, commit)
		if _, err := a.m.packs.Install(context.Background(), bytes.NewReader(mem.pack(a.t))); err != nil {
			a.t.Fatal(err)
		}
		from = plumbing.ComputeHash(plumbing.CommitObject, commit).String()
		commits = append(commits, from)
	}
	a.m.pool.Renew()
	return commits
}

// news commits on the remote.
func (a *aged) news() {
	a.t.Helper()
	a.n++
	cmd := exec.CommandContext(context.Background(), "git", "fast-import", "--quiet", "--force")
	cmd.Dir = a.bare
	cmd.Stdin = strings.NewReader(fmt.Sprintf("commit refs/heads/main\ncommitter Ann <ann@example.com> 1700000000 +0000\ndata 1\nn\nfrom %s\nM 100644 inline news\ndata <<E\n%d\nE\n", a.head, a.n))
	if out, err := cmd.CombinedOutput(); err != nil {
		a.t.Fatalf("git fast-import: %v\n%s", err, out)
	}
	a.head = git(a.t, a.bare, "rev-parse", "refs/heads/main")
}

func (a *aged) files(pattern string) int {
	list, _ := filepath.Glob(filepath.Join(a.m.dir, pattern))
	return len(list)
}

// cpu reports the processor time that a benchmark takes for each turn, which
// a busy machine changes less than the clock.
func cpu(b *testing.B) func() {
	used := func() time.Duration {
		var u syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
			b.Fatal(err)
		}
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	from := used()
	return func() { b.ReportMetric(float64((used()-from).Microseconds())/1000/float64(b.N), "cpu-ms/op") }
}

// BenchmarkOldMirror measures a mirror when it is new and when it has served
// many sessions and fetches.
func BenchmarkOldMirror(b *testing.B) {
	a := newAged(b, 2000)
	stage := func(name string) {
		b.Run(name+"/fetch", func(b *testing.B) {
			defer cpu(b)()
			for b.Loop() {
				b.StopTimer()
				a.news()
				b.StartTimer()
				if err := a.m.Fetch(b.Context()); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(a.files("objects/pack/*.pack")), "packs")
			b.ReportMetric(float64(a.files("objects/[0-9a-f][0-9a-f]/*")), "loose")
		})
		b.Run(name+"/checkpoint", func(b *testing.B) {
			defer cpu(b)()
			for b.Loop() {
				a.n++
				if _, err := a.m.Checkpoint(b.Context(), Checkpoint{Parent: a.head, Changes: tenChanges(fmt.Sprint(a.n))}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	stage("new")
	a.sessions(2000)
	stage("2000 sessions")
	a.packs(500)
	stage("and 500 packs")
}

// memoryPack makes a pack out of texts.
type memoryPack struct {
	memory.Storage
	ids []plumbing.Hash
}

func (p *memoryPack) add(t plumbing.ObjectType, text []byte) {
	e := p.NewEncodedObject()
	e.SetType(t)
	w, _ := e.Writer()
	_, _ = w.Write(text)
	h, _ := p.SetEncodedObject(e)
	p.ids = append(p.ids, h)
}

func (p *memoryPack) pack(t testing.TB) []byte {
	t.Helper()
	var buf bytes.Buffer
	if _, err := packfile.NewEncoder(&buf, p, false).Encode(p.ids, 0); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// TestTidyWithinView: packs are joined between two reads of one view, as during a
// checkpoint, which reads each new content once and cannot begin again.
func TestTidyWithinView(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	a := newAged(t, 10)
	commits := a.packs(maxPacks + 8)
	other := newMirror(a.m.dir, a.m.dir) // as another process has it open
	err := other.pool.Do(t.Context(), func(o *objects.DB) error {
		for i, id := range commits {
			if _, err := o.Commit(id); err != nil {
				return fmt.Errorf("commit %d: %w", i, err)
			}
			if i > 0 {
				continue
			}
			if err := a.m.packs.Tidy(t.Context(), objects.Limits{Packs: maxPacks, Loose: 1 << 20}); err != nil {
				return err
			}
			if n := a.files("objects/pack/*.pack"); n > 4 {
				return fmt.Errorf("%d packs are left", n)
			}
		}
		late := a.packs(1)[0]
		if !o.Has(plumbing.NewHash(late)) {
			return fmt.Errorf("a new pack is not seen")
		}
		_, err := o.Short(late[:8])
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// TestTidy: small packs are joined and loose objects packed while others
// read, and every object is still there.
func TestTidy(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	a := newAged(t, 200)
	commits := a.packs(maxPacks + 8)
	a.sessions(20)
	base, stop, ended := a.head, make(chan struct{}), make(chan error, 1)
	go func() { // a session that works meanwhile
		for {
			select {
			case <-stop:
				ended <- nil
				return
			default:
			}
			for _, id := range commits {
				if _, err := history(a.m, base, id); err != nil {
					ended <- err
					return
				}
			}
			if _, err := a.m.Checkpoint(context.Background(), Checkpoint{Parent: commits[3], Changes: []Change{put("g", "g")}}); err != nil {
				ended <- err
				return
			}
		}
	}()
	other := newMirror(a.m.dir, a.m.dir) // as another process has it open
	for _, id := range commits {
		if _, err := other.Resolve(t.Context(), id); err != nil {
			t.Fatal(err)
		}
	}
	a.news()
	must(0, a.m.Fetch(t.Context()))(t)
	must(0, a.m.packs.Tidy(t.Context(), objects.Limits{Packs: maxPacks, Loose: -1, Age: -time.Hour}))(t)
	close(stop)
	if err := <-ended; err != nil {
		t.Errorf("while the mirror was tidied: %v", err)
	}
	if n := a.files("objects/pack/*.pack"); n > 4 || n != a.files("objects/pack/*.idx") {
		t.Errorf("%d packs are left with %d indexes", n, a.files("objects/pack/*.idx"))
	}
	for _, m := range []*Mirror{a.m, other} {
		for i, id := range commits {
			if text, err := m.ReadFile(t.Context(), id, "f", 100); err != nil || !strings.HasPrefix(string(text), "pack ") {
				t.Errorf("commit %d: %q, %v", i, text, err)
			}
		}
		for i := range 20 {
			if _, err := m.Resolve(t.Context(), fmt.Sprintf("refs/handrail/sessions/s%d", maxPacks+9+i)); err != nil {
				t.Error(err)
			}
		}
	}
	fsck(t, a.m.dir)
	for _, p := range must(filepath.Glob(filepath.Join(a.m.dir, "objects/pack/*.idx")))(t) {
		git(t, a.m.dir, "verify-pack", p)
	}
}
