package main

import (
	"flag"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/handrail-bot/handrail/agent/workspace"
	"github.com/handrail-bot/handrail/gitops"
	"github.com/handrail-bot/handrail/policy"
)

var basesFiles = flag.Int("bases.files", 50_000, "files of the repository in BenchmarkOpen")

// BenchmarkOpen makes a place to work in: a workspace on a commit that is there already,
// on a new one with ten changed files, and on the first one ever, against what git does.
// Nothing is removed before the end: a file system makes files slowly where many
// were removed just now.
func BenchmarkOpen(b *testing.B) {
	repo, p := manyFiles(b, *basesFiles), build(b)
	m, err := gitops.OpenLocal(repo)
	fatal(b, err)
	b.Cleanup(func() { fatal(b, m.Close()) })
	head, err := m.Resolve(b.Context(), "HEAD")
	fatal(b, err)
	o := &openBench{repo: m, dir: repo, commit: head, places: b.TempDir()}
	// In turns, and each is the first in one of two: what one writes is still on its way to
	// the disk when the next one begins.
	b.Run("first", func(b *testing.B) {
		took := map[string]time.Duration{}
		turn := func(name string, args ...string) {
			start := time.Now()
			benchGit(b, repo, append(args, o.place())...)
			took[name] += time.Since(start)
		}
		for i := 0; b.Loop(); i++ {
			b.StopTimer()
			o.open(b)
			if i%2 == 1 {
				turn("git-worktree-add", "worktree", "add", "-q", "-f", "--detach")
			}
			b.StartTimer()
			o.take(b, o.commit).Drop()
			b.StopTimer()
			if i%2 == 0 {
				turn("git-worktree-add", "worktree", "add", "-q", "-f", "--detach")
			}
			turn("git-clone-depth1", "clone", "-q", "--depth", "1", "file://"+repo)
			b.StartTimer()
		}
		for name, d := range took {
			b.ReportMetric(float64(d.Nanoseconds())/float64(b.N), name+"-ns/op")
		}
	})
	engines, err := workspaceEngines(b.Context(), &console{}, p.bin, policy.Workspace{})
	fatal(b, err)
	for _, e := range engines {
		if e.Name() == "local" {
			continue
		}
		b.Run("known-"+e.Name(), func(b *testing.B) {
			o.needs(b, e)
			for b.Loop() {
				o.openOn(b, e, o.commit)
			}
		})
		b.Run("new-"+e.Name(), func(b *testing.B) {
			o.needs(b, e)
			for b.Loop() {
				b.StopTimer()
				next := o.tenChanged(b)
				b.StartTimer()
				o.openOn(b, e, next)
			}
		})
	}
	b.Run("docker-run", func(b *testing.B) {
		if exec.CommandContext(b.Context(), "docker", "image", "inspect", benchImage).Run() != nil {
			b.Skip("NEEDS DOCKER: with the image " + benchImage)
		}
		for b.Loop() {
			out, err := exec.CommandContext(b.Context(), "docker", "run", "--rm", "--network", "none", benchImage, "true").CombinedOutput()
			if err != nil {
				b.Fatalf("%v: %s", err, out)
			}
		}
	})
}

func fatal(b *testing.B, err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

// benchImage is what .ci/workspace-image makes.
const benchImage = "handrail-workspace:local"

// openBench has a repository and the bases of its commits.
type openBench struct {
	repo   *gitops.Mirror
	dir    string
	commit string
	bases  *gitops.Bases
	places string // that stay to the end
	made   int
}

// place is a new directory's name.
func (o *openBench) place() string {
	o.made++
	return filepath.Join(o.places, strconv.Itoa(o.made))
}

func (o *openBench) open(b *testing.B) {
	b.Helper()
	uid, gid := workspace.Owner()
	var err error
	o.bases, err = gitops.OpenBases(gitops.BasesConfig{Dir: o.place(), UID: uid, GID: gid})
	fatal(b, err)
}

func (o *openBench) take(b *testing.B, commit string) *gitops.Base {
	b.Helper()
	got, err := o.bases.Take(b.Context(), o.repo, gitops.BaseWant{Commit: commit, Layers: true})
	fatal(b, err)
	return got
}

// needs skips what cannot be measured here.
func (o *openBench) needs(b *testing.B, e workspace.Engine) {
	b.Helper()
	if err := e.Check(b.Context()); err != nil {
		b.Skipf("NEEDS %s: %v", strings.ToUpper(e.Name()), err)
	}
	if o.bases == nil {
		o.open(b)
	}
	o.take(b, o.commit).Drop()
}

func (o *openBench) openOn(b *testing.B, e workspace.Engine, commit string) {
	b.Helper()
	base := o.take(b, commit)
	ws, err := e.Open(b.Context(), workspace.Spec{Session: "bench", Image: imageFor(e), Source: base.Source, Over: base.Over, State: filepath.Join(b.TempDir(), "state")})
	fatal(b, err)
	b.StopTimer()
	fatal(b, ws.Close(b.Context()))
	base.Drop()
	b.StartTimer()
}

func imageFor(e workspace.Engine) string {
	if e.Name() == "docker" {
		return benchImage
	}
	return ""
}

// tenChanged makes a commit on the first one.
func (o *openBench) tenChanged(b *testing.B) string {
	b.Helper()
	o.made++
	point := gitops.Checkpoint{Parent: o.commit, Meta: gitops.Meta{Message: "bench", Author: gitops.Signature{Name: "Handrail", Email: "handrail@localhost"}}}
	for i := range 10 {
		point.Changes = append(point.Changes, gitops.Change{
			Path: fmt.Sprintf("d%02d/e00/f%d.go", i, i),
			Open: func() (io.ReadCloser, error) {
				return io.NopCloser(strings.NewReader(fmt.Sprint("const n = ", o.made))), nil
			},
		})
	}
	c, err := o.repo.Checkpoint(b.Context(), point)
	fatal(b, err)
	return c.ID
}
