package gitops

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/format/pktline"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/sideband"
)

// Push says what to push where.
type Push struct {
	Commit string // full id; "" deletes the ref, which needs Old
	Ref    string // full name, see [CheckRef]
	// Old is where the ref must be on the remote: a full id, "" for wherever
	// it is, or a ref that does not exist yet.
	Old string
	// Create: the ref must not exist on the remote.
	Create bool
	// Force: Commit need not descend from where the ref is. Needs Old.
	Force bool
}

// Push sends a commit, with every object that the remote does not have, and
// moves one ref of the remote. Pushing what is there already succeeds. A ref
// that moved, or a commit that does not descend from it, is [ErrRejected];
// [RemoteError] has what the remote said.
func (m *Mirror) Push(ctx context.Context, p Push) error {
	if err := p.check(); err != nil {
		return fmt.Errorf("push: %w", err)
	}
	if _, err := m.push(ctx, p); err != nil {
		return fmt.Errorf("push %s to %s: %w", p.Ref, m.url, err)
	}
	return nil
}

func (p Push) check() error {
	if err := CheckRef(p.Ref); err != nil {
		return err
	}
	if p.Commit != "" && !isID(p.Commit) || p.Old != "" && !isID(p.Old) {
		return fmt.Errorf("want full commit ids, got %q and %q", p.Commit, p.Old)
	}
	if (p.Force || p.Commit == "") && p.Old == "" {
		return fmt.Errorf("a forced push and a deletion need Old, the commit that the ref is at")
	}
	return nil
}

// push is Push. It tells whether it made the ref.
func (m *Mirror) push(ctx context.Context, p Push) (made bool, err error) {
	if m.url == "" {
		return false, ErrNoRemote
	}
	start := time.Now()
	s, err := m.wire.dial(ctx, m.url, "git-receive-pack")
	if err != nil {
		return false, err
	}
	now, exists := s.adv.References[p.Ref]
	if exists && p.Commit == now.String() || !exists && p.Commit == "" {
		return false, nil
	}
	err = m.use(func(o *odb) error { return o.fastForward(ctx, p, now) })
	if err != nil {
		return false, err
	}
	n, err := m.send(ctx, s, p, now)
	if err != nil {
		return false, err
	}
	m.log.LogAttrs(ctx, slog.LevelInfo, "pushed", slog.String("url", m.url), slog.String("ref", p.Ref),
		slog.String("commit", p.Commit), slog.Int64("bytes", n), slog.Duration("took", time.Since(start)))
	return !exists, m.pushed(ctx, p)
}

// fastForward tells whether the push may be tried, given where the ref is.
func (o *odb) fastForward(ctx context.Context, p Push, now plumbing.Hash) error {
	stale := func(why string) error { return &RemoteError{Kind: ErrRejected, Reason: why} }
	switch {
	case p.Create && !now.IsZero():
		return stale("the ref exists on the remote, at " + now.String())
	case p.Old != "" && now.String() != p.Old:
		return stale(fmt.Sprintf("the ref is at %s on the remote, expected %s", now, p.Old))
	case now.IsZero() || p.Force || p.Commit == "":
		return nil
	}
	ok, err := o.descends(ctx, plumbing.NewHash(p.Commit), now)
	if err == nil && !ok {
		return stale("non-fast-forward: the ref has commits that are not in what is pushed, it is at " + now.String())
	}
	return err
}

// descends tells whether old is in the history of h.
func (o *odb) descends(ctx context.Context, h, old plumbing.Hash) (bool, error) {
	if !o.has(old) {
		return false, nil
	}
	limit, err := object.GetCommit(o, old)
	if err != nil {
		return false, nil // a tag or the like
	}
	floor := limit.Committer.When.Add(-24 * time.Hour) // clocks are off at times
	seen, todo := map[plumbing.Hash]bool{h: true}, []plumbing.Hash{h}
	for len(todo) > 0 {
		if err := ctx.Err(); err != nil {
			return false, err
		}
		at := todo[0]
		todo = todo[1:]
		if at == old {
			return true, nil
		}
		c, err := o.commit(at.String())
		if err != nil {
			return false, err
		}
		if c.Committer.When.Before(floor) {
			continue
		}
		for _, p := range c.ParentHashes {
			if !seen[p] {
				seen[p] = true
				todo = append(todo, p)
			}
		}
	}
	return false, nil
}

// send packs what is missing and posts it.
func (m *Mirror) send(ctx context.Context, s *service, p Push, now plumbing.Hash) (int64, error) {
	var buf bytes.Buffer
	caps := "report-status"
	if s.adv.Capabilities.Supports(capability.Sideband64k) {
		caps += " side-band-64k"
	}
	commit := plumbing.NewHash(p.Commit)
	e := pktline.NewEncoder(&buf)
	if err := e.Encodef("%s %s %s\x00 %s", now, commit, p.Ref, caps); err != nil {
		return 0, err
	}
	if err := e.Flush(); err != nil {
		return 0, err
	}
	if commit.IsZero() {
		return 0, m.deliver(ctx, s, &buf, int64(buf.Len()))
	}
	f, err := os.CreateTemp(m.dir, "tmp_push_*")
	if err != nil {
		return 0, err
	}
	defer drop(f.Name())
	defer f.Close()
	err = m.use(func(o *odb) error {
		list, err := o.missing(ctx, commit, s.adv.References)
		if err != nil {
			return err
		}
		if err := rewind(f); err != nil {
			return err
		}
		return o.writePack(ctx, f, list)
	})
	if err != nil {
		return 0, err
	}
	size, err := f.Seek(0, io.SeekCurrent)
	if err != nil {
		return 0, err
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return 0, err
	}
	total := int64(buf.Len()) + size
	return total, m.deliver(ctx, s, io.MultiReader(&buf, f), total)
}

func rewind(f *os.File) error {
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return err
	}
	return f.Truncate(0)
}

// deliver posts a push and reads how it went.
func (m *Mirror) deliver(ctx context.Context, s *service, body io.Reader, size int64) error {
	res, err := s.post(ctx, body, size)
	if err != nil {
		return err
	}
	defer res.Close()
	var r io.Reader = res
	var said output
	if s.adv.Capabilities.Supports(capability.Sideband64k) {
		demux := sideband.NewDemuxer(sideband.Sideband64k, res)
		demux.Progress = &said
		r = demux
	}
	report := packp.NewReportStatus()
	if err := report.Decode(r); err != nil {
		if cause := context.Cause(ctx); cause != nil {
			return cause
		}
		return fmt.Errorf("read report: %w", err)
	}
	if report.UnpackStatus != "ok" {
		return classify("unpack: "+oneLine(report.UnpackStatus), said.String())
	}
	for _, c := range report.CommandStatuses {
		if c.Status != "ok" {
			return classify(oneLine(c.Status), said.String())
		}
	}
	return nil
}

// output keeps the first 4 KiB of what hooks print.
type output struct{ strings.Builder }

func (o *output) Write(p []byte) (int, error) {
	if room := 4096 - o.Len(); room > 0 {
		o.WriteString(cleanText(string(p[:min(len(p), room)])))
	}
	return len(p), nil
}

// pushed notes in the mirror where the remote's branch is now.
func (m *Mirror) pushed(ctx context.Context, p Push) error {
	if !strings.HasPrefix(p.Ref, "refs/heads/") && !strings.HasPrefix(p.Ref, "refs/tags/") {
		return nil
	}
	unlock, err := m.lock(ctx) // not under a fetch that saw the branch before the push
	if err != nil {
		return nil //nolint:nilerr // the push is done; the next fetch will tell
	}
	defer unlock()
	return m.packRefs(ctx, func(list []packedRef) []packedRef {
		kept := list[:0]
		for _, r := range list {
			if r.name != p.Ref {
				kept = append(kept, r)
			}
		}
		if p.Commit != "" {
			kept = append(kept, packedRef{name: p.Ref, id: p.Commit})
		}
		return kept
	})
}

// missing lists the objects of a commit's history that the remote does not
// have, found by comparing trees with those of parents.
func (o *odb) missing(ctx context.Context, head plumbing.Hash, remote map[string]plumbing.Hash) ([]sendObject, error) {
	commits, err := o.between(ctx, head, o.stops(ctx, remote))
	if err != nil {
		return nil, err
	}
	c := &collector{o: o, seen: map[plumbing.Hash]bool{}}
	for _, commit := range commits {
		c.add(plumbing.CommitObject, commit.Hash)
		var old []plumbing.Hash
		for _, p := range commit.ParentHashes {
			parent, err := o.commit(p.String())
			if err != nil {
				return nil, err
			}
			old = append(old, parent.TreeHash)
		}
		if err := c.tree(ctx, commit.TreeHash, old); err != nil {
			return nil, err
		}
	}
	return c.list, nil
}

// collector gathers objects that are in a tree and in none of its parents'.
type collector struct {
	o    *odb
	seen map[plumbing.Hash]bool
	list []sendObject
}

func (c *collector) add(t plumbing.ObjectType, h plumbing.Hash) bool {
	if c.seen[h] {
		return false
	}
	c.seen[h] = true
	c.list = append(c.list, sendObject{t, h})
	return true
}

func (c *collector) tree(ctx context.Context, h plumbing.Hash, old []plumbing.Hash) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	for _, p := range old {
		if p == h {
			return nil
		}
	}
	if !c.add(plumbing.TreeObject, h) {
		return nil
	}
	was := map[string][]plumbing.Hash{}
	for _, p := range old {
		list, err := c.o.tree(p)
		if err != nil {
			return err
		}
		for _, e := range list {
			was[e.name] = append(was[e.name], e.hash)
		}
	}
	list, err := c.o.tree(h)
	if err != nil {
		return err
	}
	for _, e := range list {
		if err := c.entry(ctx, e, was[e.name]); err != nil {
			return err
		}
	}
	return nil
}

func (c *collector) entry(ctx context.Context, e entry, was []plumbing.Hash) error {
	for _, h := range was {
		if h == e.hash {
			return nil
		}
	}
	switch e.mode {
	case filemode.Submodule:
		return nil
	case filemode.Dir:
		trees := was[:0:0]
		for _, h := range was {
			if _, err := c.o.tree(h); err == nil {
				trees = append(trees, h)
			} else if !errors.Is(err, plumbing.ErrObjectNotFound) {
				return err
			}
		}
		return c.tree(ctx, e.hash, trees)
	}
	c.add(plumbing.BlobObject, e.hash)
	return nil
}
