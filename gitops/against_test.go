//go:build unix

package gitops

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/packfile"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/sideband"
	"github.com/go-git/go-git/v5/plumbing/revlist"

	"github.com/handrail-bot/handrail/gitops/objects"
)

// against is one repository as git, go-git and this package hold it.
type against struct {
	*aged
	git, libDir string        // git's mirror
	work        string        // git's checkout
	url         string        // with the token
	lib         *objects.Pool // go-git's mirror
}

// newAgainst makes a repository of 6,600 files and 3,000 commits.
func newAgainst(b *testing.B) *against {
	b.Helper()
	r := newRemote(b)
	url, bare, _ := r.repo("one", nil)
	bulk(b, bare, many(6_600))
	in := strings.Builder{}
	for i := range 3_000 {
		fmt.Fprintf(&in, "commit refs/heads/main\ncommitter Ann <ann@example.com> %d +0000\ndata 1\nc\n", 1_700_000_001+i)
		if i == 0 {
			in.WriteString("from refs/heads/main^0\n")
		}
		fmt.Fprintf(&in, "M 100644 inline d%02d/e%02d/f%05d.txt\ndata 5\n%05d\n", i%20, i/20%20, i, i)
	}
	gitIn(b, bare, in.String(), "fast-import", "--quiet")
	git(b, bare, "gc", "-q")
	a := &against{aged: &aged{t: b, m: mirrorOf(b, url), bare: bare, head: git(b, bare, "rev-parse", "main")},
		url: strings.Replace(url, "://", "://"+testUser+":"+testToken+"@", 1)}
	a.git, a.work = filepath.Join(b.TempDir(), "git"), filepath.Join(b.TempDir(), "work")
	git(b, bare, "clone", "-q", "--mirror", a.url, a.git)
	git(b, bare, "clone", "-q", bare, a.work)
	a.libDir = filepath.Join(b.TempDir(), "lib")
	git(b, bare, "clone", "-q", "--mirror", a.url, a.libDir)
	a.lib = objects.NewPool(a.libDir)
	return a
}

// libFetch is what go-git's Fetch does for one new commit, over our transport.
func (a *against) libFetch(ctx context.Context, o *objects.DB) error {
	s, err := a.m.wire.dial(ctx, a.m.url, "git-upload-pack", AccessRead)
	if err != nil {
		return err
	}
	const main = "refs/heads/main"
	old, err := o.Reference(main)
	if err != nil {
		return err
	}
	head := s.Adv.References[main]
	body, err := uploadRequest(s, map[plumbing.Hash]bool{head: true}, []plumbing.Hash{old.Hash()}, false)
	if err != nil {
		return err
	}
	res, err := s.Post(ctx, bytes.NewReader(body), int64(len(body)))
	if err != nil {
		return err
	}
	defer res.Close()
	r := bufio.NewReader(res)
	if err := new(packp.ServerResponse).Decode(r, false); err != nil {
		return err
	}
	if err := packfile.UpdateObjectStorage(o, sideband.NewDemuxer(sideband.Sideband64k, r)); err != nil {
		return err
	}
	return o.SetReference(plumbing.NewHashReference(main, head))
}

// libPush is what go-git's Push does for a new branch before it sends.
func (a *against) libPush(ctx context.Context, o *objects.DB, commit string) error {
	s, err := a.m.wire.dial(ctx, a.m.url, "git-receive-pack", AccessPush)
	if err != nil {
		return err
	}
	var there []plumbing.Hash
	for _, h := range s.Adv.References {
		there = append(there, h)
	}
	list, err := revlist.ObjectsWithStorageForIgnores(o, o, []plumbing.Hash{plumbing.NewHash(commit)}, there)
	if err == nil {
		_, err = packfile.NewEncoder(new(bytes.Buffer), o, false).Encode(list, 10)
	}
	return err
}

func libDiff(ctx context.Context, o *objects.DB, from, to string) error {
	var trees [2]*object.Tree
	for i, id := range []string{from, to} {
		c, err := object.GetCommit(o, plumbing.NewHash(id))
		if err != nil {
			return err
		}
		if trees[i], err = c.Tree(); err != nil {
			return err
		}
	}
	p, err := trees[0].PatchContext(ctx, trees[1])
	if err == nil {
		_ = p.String()
	}
	return err
}

// BenchmarkAgainst compares with git, and with how go-git does the same.
func BenchmarkAgainst(b *testing.B) {
	a := newAgainst(b)
	old := git(b, a.bare, "rev-parse", "main~1000")
	run := func(args ...string) error { _, err := gitTry(b, a.git, "", args...); return err }
	var commit, ref string
	for _, row := range []struct {
		name             string
		prepare          func()
		git, lib, gitops func() error
	}{
		{"push",
			func() { // a commit of ten files that all three have
				a.n++
				c, err := a.m.Checkpoint(b.Context(), Checkpoint{Parent: a.head, Changes: tenChanges(fmt.Sprint(a.n))})
				if err != nil {
					b.Fatal(err)
				}
				commit, ref = c.ID, "refs/heads/b"+c.ID
				for _, dir := range []string{a.git, a.libDir} {
					git(b, dir, "fetch", "-q", "--no-write-fetch-head", a.m.dir, commit)
				}
				a.lib.Renew()
			},
			func() error { return run("push", "-q", a.url, commit+":"+ref) },
			func() error {
				return a.lib.Do(b.Context(), func(o *objects.DB) error { return a.libPush(b.Context(), o, commit) })
			},
			func() error { return a.m.Push(b.Context(), Push{Commit: commit, Ref: ref}) }},
		{"diff", func() {},
			func() error { return run("diff", "-M", old, a.head) },
			func() error {
				return a.lib.Do(b.Context(), func(o *objects.DB) error { return libDiff(b.Context(), o, old, a.head) })
			},
			func() error { _, _, err := a.m.Diff(b.Context(), old, a.head, DiffOptions{}); return err }},
		{"checkpoint",
			func() {
				a.n++
				for i := range 10 {
					if err := os.WriteFile(filepath.Join(a.work, fmt.Sprintf("d%02d/new", i)), fmt.Append(nil, a.n), 0o600); err != nil {
						b.Fatal(err)
					}
				}
			},
			func() error { return run("-C", a.work, "-c", "alias.save=!git add -A && git commit -qm c", "save") },
			nil, // go-git commits from an index and a work tree only
			func() error {
				_, err := a.m.Checkpoint(b.Context(), Checkpoint{Parent: a.head, Changes: tenChanges(fmt.Sprint(a.n))})
				return err
			}},
		{"fetch", a.news,
			func() error { return run("fetch", "-q", "origin") },
			func() error {
				return a.lib.Do(b.Context(), func(o *objects.DB) error { return a.libFetch(b.Context(), o) })
			},
			func() error { return a.m.Fetch(b.Context()) }},
	} {
		for who, fn := range map[string]func() error{"git": row.git, "go-git": row.lib, "gitops": row.gitops} {
			if fn == nil {
				continue
			}
			b.Run(row.name+"/"+who, func(b *testing.B) {
				for b.Loop() {
					b.StopTimer()
					row.prepare()
					b.StartTimer()
					if err := fn(); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
