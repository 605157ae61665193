package gitops

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/pktline"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/sideband"

	"github.com/handrail-bot/handrail/gitops/objects"
)

// Fetch updates heads and tags: moved, forced and deleted branches included. refs are
// fetched as well: full commit ids, pull heads (see [PullRef]), or branches and tags,
// which must then exist. Existing objects are not downloaded again.
func (m *Mirror) Fetch(ctx context.Context, refs ...string) error {
	if m.url == "" {
		return fmt.Errorf("fetch: %w", errNoRemote)
	}
	if err := m.fetch(ctx, refs, false); err != nil {
		return fmt.Errorf("fetch %s: %w", m.url, err)
	}
	return nil
}

// fetchGoal is the goal of a fetch.
type fetchGoal struct {
	refs  map[string]plumbing.Hash // new values of heads, tags and pull heads
	peels map[string]plumbing.Hash
	ids   []plumbing.Hash // commits requested by id
	head  string
	whole bool // with all contents, even in a partial mirror
}

// Limits at which a mirror is tidied.
const (
	maxPacks = 32        // packs before the small ones are combined
	maxLoose = 4000      // loose objects before they are packed
	staleAge = time.Hour // age at which a file cannot be in use
)

func (m *Mirror) fetch(ctx context.Context, refs []string, first bool) error {
	return askAgain(ctx, func() error { return m.fetchOnce(ctx, refs, first) })
}

// Pauses before the repetitions of a request that changes nothing at the remote.
const (
	firstPause = 100 * time.Millisecond
	maxPause   = time.Second
)

// askAgain calls f up to three times while the remote does not answer: broken answers come
// alone more often than not.
func askAgain(ctx context.Context, f func() error) error {
	for pause := firstPause; ; pause *= 4 {
		err := f()
		if !errors.Is(err, ErrUnavailable) || pause > maxPause { //control:git-asks-again
			return err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return err
		}
	}
}

// dial lists the refs of the remote.
func (m *Mirror) dial(ctx context.Context, service string, a Access) (s *service, err error) {
	err = askAgain(ctx, func() error {
		s, err = m.wire.dial(ctx, m.url, service, a)
		return err
	})
	return s, err
}

func (m *Mirror) fetchOnce(ctx context.Context, refs []string, first bool) error {
	if err := os.MkdirAll(filepath.Dir(m.dir), 0o700); err != nil {
		return err
	}
	unlock, err := m.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	if first && cloned(m.dir) {
		return nil // another caller cloned it meanwhile
	}
	if err := m.skeleton(); err != nil {
		return err
	}
	m.packs.Sweep(staleAge)
	m.pool.Renew() // another process may have fetched during the wait
	start := time.Now()
	s, err := m.wire.dial(ctx, m.url, "git-upload-pack", AccessRead)
	if err != nil {
		return err
	}
	if s.Empty {
		if err := m.unlessEmptied(); err != nil {
			return err
		}
	}
	want, err := choose(s, refs)
	if err == nil && first && m.partial {
		err = promise(ctx, m, s)
	}
	if err != nil {
		return err
	}
	n, err := m.download(ctx, s, want)
	if err != nil {
		return err
	}
	if err := m.follow(ctx, want); err != nil {
		return err
	}
	if first {
		if err := syncUp(m.dir); err != nil {
			return err
		}
	}
	tidy(ctx, m)
	m.log.LogAttrs(
		ctx,
		slog.LevelInfo,
		"fetched",
		slog.Int64("bytes", n),
		slog.Int("refs", len(want.refs)),
		slog.Bool("partial", m.pool.Partial()),
		slog.Duration("took", time.Since(start)),
	)
	return nil
}

// unlessEmptied returns an error if the mirror knows refs of a remote that now lists none.
// No GitHub lets a default branch be deleted.
func (m *Mirror) unlessEmptied() error {
	known, err := m.refs.lastRemoteTips()
	if err == nil && len(known) > 0 { //control:emptied-is-an-outage
		err = fmt.Errorf("%w: its answer lists no refs, and there were some", ErrUnavailable)
	}
	return err
}

// tidy keeps the mirror fast. After a failure the next fetch tries again.
func tidy(ctx context.Context, m *Mirror) {
	if err := m.packs.Tidy(ctx, objects.Limits{Packs: maxPacks, Loose: maxLoose, Age: staleAge}); err != nil {
		m.log.LogAttrs(ctx, slog.LevelWarn, "mirror not tidied", slog.Any("err", err))
	}
}

// choose selects refs and commits from the remote's advertisement.
func choose(s *service, refs []string) (fetchGoal, error) {
	w := fetchGoal{refs: map[string]plumbing.Hash{}, peels: map[string]plumbing.Hash{}, head: noDefault}
	if s.Empty {
		if len(refs) > 0 {
			return w, ErrEmpty
		}
		return w, nil
	}
	for name, h := range s.Adv.References {
		if followsRemote(name) {
			w.refs[name] = h
			if p, ok := s.Adv.Peeled[name]; ok {
				w.peels[name] = p
			}
		}
	}
	for _, sym := range s.Adv.Capabilities.Get(capability.SymRef) {
		if target, ok := strings.CutPrefix(sym, "HEAD:"); ok && checkRef(target) == nil {
			w.head = target
		}
	}
	for _, ref := range refs {
		switch {
		case objects.IsID(ref):
			w.ids = append(w.ids, plumbing.NewHash(ref))
		case isPullRef(ref):
			h, ok := s.Adv.References[ref]
			if !ok {
				return w, fmt.Errorf("pull request head %s: %w", ref, ErrNotFound)
			}
			w.refs[ref] = h
		case !w.has(ref):
			return w, fmt.Errorf("branch or tag %q: %w", ref, ErrNotFound)
		}
	}
	return w, nil
}

func (w fetchGoal) has(ref string) bool {
	return slices.ContainsFunc([]string{"", "refs/heads/", "refs/tags/"}, func(kind string) bool {
		_, ok := w.refs[kind+ref]
		return ok
	})
}

// download fetches the missing objects and returns the number of bytes read.
func (m *Mirror) download(ctx context.Context, s *service, want fetchGoal) (int64, error) {
	need, err := m.missing(ctx, want)
	if err != nil || len(need) == 0 {
		return 0, err
	}
	known, err := m.refs.lastRemoteTips()
	if err != nil {
		return 0, err
	}
	var haves []plumbing.Hash
	err = m.pool.Use(ctx, func(o *objects.DB) error {
		haves = common(o, known, want.refs)
		return ctx.Err()
	})
	if err != nil {
		return 0, err
	}
	body, err := uploadRequest(s, need, haves, m.pool.Partial() && !want.whole)
	if err != nil {
		return 0, err
	}
	res, err := s.Post(ctx, bytes.NewReader(body), int64(len(body)))
	if err != nil {
		return 0, err
	}
	defer res.Close()
	r := bufio.NewReaderSize(res, 64<<10)
	var n int64
	if err = new(packp.ServerResponse).Decode(r, false); err == nil {
		n, err = m.packs.Install(ctx, sideband.NewDemuxer(sideband.Sideband64k, r))
	}
	if err != nil {
		if cause := context.Cause(ctx); cause != nil {
			return n, fmt.Errorf("download: %w", cause)
		}
		if err = unreadableAnswer(err); len(want.refs) > 0 {
			err = lagging(err)
		}
		return n, fmt.Errorf("download: %w", err)
	}
	if need, err = m.missing(ctx, want); err == nil && len(need) > 0 { //control:refs-of-what-came
		err = fmt.Errorf("download: %w: its answer lacks %d of the commits that were asked for", ErrUnavailable, len(need))
	}
	return n, err
}

// lagging returns the error of a download of what the remote has just listed. If the remote denies
// that it has this, one of its replicas lags behind another, and a later attempt can succeed.
func lagging(err error) error {
	var said *pktline.ErrorLine
	if errors.As(err, &said) && strings.Contains(said.Text, "not our ref") {
		return fmt.Errorf("%w: it lists a ref that it does not have yet: %w", ErrUnavailable, err)
	}
	return err
}

// missing returns the objects of want that the mirror lacks. It repeats the search on a
// fresh view: a view made during another process's write can lack a whole pack, which
// would then be downloaded again.
func (m *Mirror) missing(ctx context.Context, want fetchGoal) (map[plumbing.Hash]bool, error) {
	var need map[plumbing.Hash]bool
	err := m.pool.Use(ctx, func(o *objects.DB) error {
		need = map[plumbing.Hash]bool{}
		for _, h := range slices.Concat(slices.Collect(maps.Values(want.refs)), want.ids) {
			if !need[h] && !o.Has(h) {
				need[h] = true
			}
		}
		if len(need) > 0 {
			return plumbing.ErrObjectNotFound
		}
		return nil
	})
	if errors.Is(err, ErrNotFound) {
		err = nil
	}
	return need, err
}

func uploadRequest(s *service, need map[plumbing.Hash]bool, haves []plumbing.Hash, partial bool) ([]byte, error) {
	req := packp.NewUploadRequest()
	offers := []capability.Capability{capability.Sideband64k, capability.OFSDelta, capability.NoProgress}
	if partial && s.Adv.Capabilities.Supports(capability.Filter) {
		req.Filter, offers = packp.FilterBlobNone(), append(offers, capability.Filter)
	}
	for _, c := range offers {
		if s.Adv.Capabilities.Supports(c) {
			if err := req.Capabilities.Set(c); err != nil {
				return nil, err
			}
		}
	}
	if !req.Capabilities.Supports(capability.Sideband64k) {
		return nil, fmt.Errorf("the server does not offer side-band-64k")
	}
	for h := range need {
		req.Wants = append(req.Wants, h)
	}
	var buf bytes.Buffer
	if err := req.Encode(&buf); err != nil {
		return nil, fmt.Errorf("write request: %w", err)
	}
	up := packp.UploadHaves{Haves: haves}
	if err := up.Encode(&buf, false); err != nil {
		return nil, fmt.Errorf("write request: %w", err)
	}
	buf.WriteString("0009done\n")
	return buf.Bytes(), nil
}

const (
	maxTips  = 1024 // refs offered as common
	maxBack  = 64   // ancestors offered of a tip that the remote lacks
	maxHaves = 4096
)

// common lists commits that the remote may have: the last known refs and, for refs that
// the remote has moved, some of their ancestors.
func common(o *objects.DB, known []plumbing.Hash, remote map[string]plumbing.Hash) []plumbing.Hash {
	there, seen := map[plumbing.Hash]bool{}, map[plumbing.Hash]bool{}
	for _, h := range remote {
		there[h] = true
	}
	var now, before []plumbing.Hash
	for _, h := range known {
		switch {
		case seen[h] || !o.Has(h):
		case there[h]:
			now = append(now, h)
		default:
			before = append(before, h)
		}
		seen[h] = true
	}
	tips := append(now, before...)
	list := slices.Clone(tips[:min(len(tips), maxTips)])
	for _, h := range list[min(len(now), len(list)):] {
		for back := 0; back < maxBack && len(list) < maxHaves; back++ {
			c, err := object.GetCommit(o, h)
			if err != nil || len(c.ParentHashes) == 0 || seen[c.ParentHashes[0]] {
				break
			}
			h = c.ParentHashes[0]
			seen[h] = true
			if list = append(list, h); there[h] {
				break
			}
		}
	}
	return list
}

// follow sets refs/heads and refs/tags to the remote's in one step, and then sets the
// pull heads and HEAD.
func (m *Mirror) follow(ctx context.Context, want fetchGoal) error {
	err := m.refs.pack(ctx, func([]packedRef) []packedRef {
		var list []packedRef
		for name, h := range want.refs {
			if isPullRef(name) {
				continue
			}
			r := packedRef{name: name, id: h.String()}
			if p, ok := want.peels[name]; ok {
				r.peeled = p.String()
			}
			list = append(list, r)
		}
		return list
	})
	for name, h := range want.refs {
		if err == nil && isPullRef(name) {
			err = m.refs.write(name, h.String()+"\n")
		}
	}
	if err != nil {
		return err
	}
	return m.refs.write("HEAD", "ref: "+want.head+"\n")
}
