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
	"github.com/go-git/go-git/v5/plumbing/format/pktline"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/sideband"

	"github.com/handrail-bot/handrail/gitops/objects"
)

// Push describes a push of one ref.
type Push struct {
	Commit string // full id; empty deletes the ref, which needs Old
	Ref    string // full name
	// Old is the required commit of the ref on the remote, a full id. If empty, the ref may
	// be at any commit, or missing.
	Old string
	// Create requires that the ref does not exist on the remote.
	Create bool
	// Force allows a Commit that does not descend from the ref's. It needs Old.
	Force bool
	after string // an existing ref must contain this commit; empty allows any
}

// Push sends a commit, with every object that the remote lacks, and moves one ref of the
// remote. If the ref is at the commit already, it succeeds. If the ref has moved, or the
// commit does not descend from it, the error is [ErrRejected]; [RemoteError] has the
// remote's message.
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
	if err := checkRef(p.Ref); err != nil {
		return err
	}
	if p.Commit != "" && !objects.IsID(p.Commit) || p.Old != "" && !objects.IsID(p.Old) {
		return fmt.Errorf("want full commit ids, got %q and %q", p.Commit, p.Old)
	}
	if (p.Force || p.Commit == "") && p.Old == "" {
		return fmt.Errorf("a forced push and a deletion need Old, the commit that the ref is at")
	}
	return nil
}

// push is Push. It reports whether it created the ref. It asks for credentials for
// workflow files only if the remote requires them.
func (m *Mirror) push(ctx context.Context, p Push) (made bool, err error) {
	if err := m.pool.Sync(); err != nil { // a pushed commit is recorded as saved
		return false, err
	}
	made, err = m.pushWith(ctx, p, AccessPush)
	if errors.Is(err, ErrWorkflowScope) {
		if made, err := m.pushWith(ctx, p, AccessWorkflows); err == nil {
			return made, nil
		}
	}
	return made, err
}

func (m *Mirror) pushWith(ctx context.Context, p Push, a Access) (made bool, err error) {
	if m.url == "" {
		return false, errNoRemote
	}
	start := time.Now()
	s, err := m.dial(ctx, "git-receive-pack", a)
	if err != nil {
		return false, err
	}
	now, exists := s.Adv.References[p.Ref]
	if exists && p.Commit == now.String() || !exists && p.Commit == "" {
		return false, nil
	}
	if at := inTheWay(p.Ref, s.Adv.References); at != "" && !exists { //control:branch-in-the-way
		return false, &RemoteError{Kind: errInTheWay, Reason: "the remote has the branch " + at}
	}
	err = m.pool.Use(ctx, func(o *objects.DB) error { return p.fastForward(ctx, o, now) })
	if err != nil {
		return false, err
	}
	n, err := m.send(ctx, s, p, now)
	if err != nil {
		return false, err
	}
	m.log.LogAttrs(ctx, slog.LevelInfo, "pushed", slog.String("ref", p.Ref),
		slog.String("commit", p.Commit), slog.Int64("bytes", n), slog.Duration("took", time.Since(start)))
	return !exists, m.recordPush(ctx, p)
}

// inTheWay returns the name of the branch beside which git keeps no branch ref: a name is a file or
// a directory. It returns "" if there is none.
func inTheWay[T any](ref string, refs map[string]T) string {
	for at := range refs {
		if strings.HasPrefix(ref, at+"/") || strings.HasPrefix(at, ref+"/") {
			return strings.TrimPrefix(at, "refs/heads/")
		}
	}
	return ""
}

// fastForward returns an error unless the push is allowed with the ref at now.
func (p Push) fastForward(ctx context.Context, o *objects.DB, now plumbing.Hash) error {
	stale := func(why string) error { return &RemoteError{Kind: ErrRejected, Reason: why} }
	switch {
	case p.Create && !now.IsZero():
		return stale("the ref exists on the remote, at " + now.String())
	case p.Old != "" && now.String() != p.Old:
		return stale(fmt.Sprintf("the ref is at %s on the remote, expected %s", now, p.Old))
	case now.IsZero() || p.Force || p.Commit == "":
		return nil
	}
	ok, err := objects.Descends(ctx, o, plumbing.NewHash(p.Commit), now)
	if err == nil && !ok {
		return stale("non-fast-forward: the ref has commits that the push lacks, it is at " + now.String())
	}
	if err == nil && p.after != "" {
		if ok, err = objects.Descends(ctx, o, now, plumbing.NewHash(p.after)); err == nil && !ok {
			return stale("the ref was taken back, it is at " + now.String())
		}
	}
	return err
}

// send packs the missing objects and posts them.
func (m *Mirror) send(ctx context.Context, s *service, p Push, now plumbing.Hash) (int64, error) {
	var buf bytes.Buffer
	caps := "report-status"
	if s.Adv.Capabilities.Supports(capability.Sideband64k) {
		caps += " side-band-64k"
	}
	commit := plumbing.NewHash(p.Commit)
	e := pktline.NewEncoder(&buf)
	if err := errors.Join(e.Encodef("%s %s %s\x00 %s", now, commit, p.Ref, caps), e.Flush()); err != nil {
		return 0, err
	}
	if commit.IsZero() {
		return 0, deliver(ctx, s, &buf, int64(buf.Len()))
	}
	f, err := os.CreateTemp(m.dir, "tmp_push_*")
	if err != nil {
		return 0, err
	}
	defer removeTemp(f.Name())
	defer f.Close()
	err = m.pool.Use(ctx, func(o *objects.DB) error {
		list, err := objects.Unsent(ctx, o, commit, now, s.Adv.References)
		if err != nil {
			return err
		}
		if err := o.Prefetch(objects.Contents(list)); err != nil {
			return err
		}
		if _, err := f.Seek(0, io.SeekStart); err != nil {
			return err
		}
		if err := f.Truncate(0); err != nil {
			return err
		}
		return objects.WritePack(ctx, o, f, list)
	})
	if err != nil {
		return 0, err
	}
	size, err := f.Seek(0, io.SeekCurrent)
	if err != nil {
		return 0, err
	}
	total := int64(buf.Len()) + size
	return total, deliver(ctx, s, io.MultiReader(&buf, io.NewSectionReader(f, 0, size)), total)
}

// deliver posts a push and reads its result.
func deliver(ctx context.Context, s *service, body io.Reader, size int64) error {
	res, err := s.Post(ctx, body, size)
	if err != nil {
		return err
	}
	defer res.Close()
	var r io.Reader = res
	var said output
	if s.Adv.Capabilities.Supports(capability.Sideband64k) {
		demux := sideband.NewDemuxer(sideband.Sideband64k, res)
		demux.Progress = &said
		r = demux
	}
	report := packp.NewReportStatus()
	if err := report.Decode(r); err != nil {
		if cause := context.Cause(ctx); cause != nil {
			return cause
		}
		return fmt.Errorf("read report: %w", unreadableAnswer(err))
	}
	if report.UnpackStatus != "ok" {
		return classify("unpack: "+oneLine(report.UnpackStatus), said.String())
	}
	if len(report.CommandStatuses) == 0 { //control:push-is-confirmed
		return fmt.Errorf("read report: %w: its answer does not name the ref", ErrUnavailable)
	}
	for _, c := range report.CommandStatuses {
		if c.Status != "ok" {
			return classify(oneLine(c.Status), said.String())
		}
	}
	return nil
}

// output keeps the first 4 KiB of the hooks' output.
type output struct{ strings.Builder }

func (o *output) Write(p []byte) (int, error) {
	if room := 4096 - o.Len(); room > 0 {
		o.WriteString(cleanText(string(p[:min(len(p), room)])))
	}
	return len(p), nil
}

// recordPush records the new commit of the remote's branch in the mirror.
func (m *Mirror) recordPush(ctx context.Context, p Push) error {
	if !followsRemote(p.Ref) {
		return nil
	}
	unlock, err := m.lock(ctx) // a fetch may have read the branch before the push
	if err != nil {
		return nil //nolint:nilerr // the push is done; the next fetch will tell
	}
	defer unlock()
	return m.refs.pack(ctx, func(list []packedRef) []packedRef {
		list = without(list, p.Ref)
		if p.Commit != "" {
			list = append(list, packedRef{name: p.Ref, id: p.Commit})
		}
		return list
	})
}
