package gitops

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/sideband"
)

// Fetch brings heads and tags up to date: moved, forced and deleted branches
// included. refs are wanted besides: full commit ids, pull heads
// ("refs/pull/7/head", see [PullRef]), or branches and tags, which must then
// exist. What is already here is not downloaded again.
func (m *Mirror) Fetch(ctx context.Context, refs ...string) error {
	if m.url == "" {
		return fmt.Errorf("fetch: %w", ErrNoRemote)
	}
	if err := m.fetch(ctx, refs, false); err != nil {
		return fmt.Errorf("fetch %s: %w", m.url, err)
	}
	return nil
}

// wanted is what a fetch is after.
type wanted struct {
	refs  map[string]plumbing.Hash // heads, tags and pull heads as they are to be
	peels map[string]plumbing.Hash
	ids   []plumbing.Hash // commits asked for by id
	head  string
}

func (m *Mirror) fetch(ctx context.Context, refs []string, first bool) error {
	if err := os.MkdirAll(filepath.Dir(m.dir), 0o700); err != nil {
		return err
	}
	unlock, err := m.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	if first && m.cloned() {
		return nil // somebody else was faster
	}
	if err := m.skeleton(); err != nil {
		return err
	}
	m.sweep()
	m.pool.renew() // another process may have fetched while this one waited
	start := time.Now()
	s, err := m.wire.dial(ctx, m.url, "git-upload-pack")
	if err != nil {
		return err
	}
	want, err := choose(s, refs)
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
	if err := m.tidy(ctx); err != nil { // the fetch is done; the next one tries again
		m.log.LogAttrs(ctx, slog.LevelWarn, "mirror not tidied", slog.String("url", m.url), slog.Any("err", err))
	}
	m.log.LogAttrs(ctx, slog.LevelInfo, "fetched", slog.String("url", m.url),
		slog.Int64("bytes", n), slog.Int("refs", len(want.refs)), slog.Duration("took", time.Since(start)))
	return nil
}

// sweep removes what a killed process left behind. The mirror is locked, so
// no other fetch is under way; objects and packs for pushes that others write
// at this moment are younger than staleAge.
func (m *Mirror) sweep() {
	for _, pattern := range []string{"objects/pack/tmp_*", "tmp_*"} {
		left, _ := filepath.Glob(filepath.Join(m.dir, filepath.FromSlash(pattern)))
		for _, f := range left {
			mine := strings.HasPrefix(filepath.Base(f), "tmp_pack_") || strings.HasPrefix(filepath.Base(f), "tmp_idx_")
			if mine || older(f, staleAge) {
				_ = os.Remove(f)
			}
		}
	}
}

// staleAge is how old a file must be to be known as left behind.
const staleAge = time.Hour

func older(file string, age time.Duration) bool {
	info, err := os.Stat(file)
	return err == nil && time.Since(info.ModTime()) > age
}

// choose picks from what the remote has.
func choose(s *service, refs []string) (wanted, error) {
	w := wanted{refs: map[string]plumbing.Hash{}, peels: map[string]plumbing.Hash{}, head: noDefault}
	if s.empty {
		if len(refs) > 0 {
			return w, ErrEmpty
		}
		return w, nil
	}
	for name, h := range s.adv.References {
		if strings.HasPrefix(name, "refs/heads/") || strings.HasPrefix(name, "refs/tags/") {
			w.refs[name] = h
			if p, ok := s.adv.Peeled[name]; ok {
				w.peels[name] = p
			}
		}
	}
	for _, sym := range s.adv.Capabilities.Get(capability.SymRef) {
		if target, ok := strings.CutPrefix(sym, "HEAD:"); ok && CheckRef(target) == nil {
			w.head = target
		}
	}
	for _, ref := range refs {
		switch {
		case isID(ref):
			w.ids = append(w.ids, plumbing.NewHash(ref))
		case isPullRef(ref):
			h, ok := s.adv.References[ref]
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

func (w wanted) has(ref string) bool {
	for _, name := range []string{ref, "refs/heads/" + ref, "refs/tags/" + ref} {
		if _, ok := w.refs[name]; ok {
			return true
		}
	}
	return false
}

// download brings the objects that are missing and gives the bytes read.
func (m *Mirror) download(ctx context.Context, s *service, want wanted) (int64, error) {
	need, err := m.lacks(want)
	if err != nil || len(need) == 0 {
		return 0, err
	}
	o := m.pool.get()
	defer m.pool.put(o)
	haves, err := m.haves(ctx, o, want.refs)
	if err != nil {
		return 0, err
	}
	body, err := uploadRequest(s, need, haves)
	if err != nil {
		return 0, err
	}
	res, err := s.post(ctx, bytes.NewReader(body), int64(len(body)))
	if err != nil {
		return 0, err
	}
	defer res.Close()
	n, err := m.receive(ctx, res)
	if err != nil {
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		return n, fmt.Errorf("download: %w", err)
	}
	m.pool.renew()
	return n, nil
}

// lacks says what of want is not here. What is missed is looked for on a fresh
// view before that is believed: one that is made while others write can lack
// a whole pack, and all of it would be downloaded again.
func (m *Mirror) lacks(want wanted) (map[plumbing.Hash]bool, error) {
	var need map[plumbing.Hash]bool
	err := m.use(func(o *odb) error {
		need = map[plumbing.Hash]bool{}
		for _, h := range want.refs {
			if !need[h] && !o.has(h) {
				need[h] = true
			}
		}
		for _, h := range want.ids {
			if !o.has(h) {
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

func uploadRequest(s *service, need map[plumbing.Hash]bool, haves []plumbing.Hash) ([]byte, error) {
	req := packp.NewUploadRequest()
	for _, c := range []capability.Capability{capability.Sideband64k, capability.OFSDelta, capability.NoProgress} {
		if s.adv.Capabilities.Supports(c) {
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
	maxBack  = 64   // commits offered behind a tip that the remote does not have
	maxHaves = 4096
)

// haves lists commits that the remote may have in common: the tips of its
// branches, tags and pull requests as they were, and behind tips that it has
// moved away from, some history. Saved states of sessions are no news to it
// and there are many; their bases are on branches.
func (m *Mirror) haves(ctx context.Context, o *odb, remote map[string]plumbing.Hash) ([]plumbing.Hash, error) {
	there := map[plumbing.Hash]bool{}
	for _, h := range remote {
		there[h] = true
	}
	known, err := m.knownRefs()
	if err != nil {
		return nil, err
	}
	var tips []plumbing.Hash
	seen := map[plumbing.Hash]bool{}
	for _, h := range known {
		if !seen[h] && o.has(h) {
			seen[h] = true
			tips = append(tips, h)
		}
	}
	slices.SortFunc(tips, func(a, b plumbing.Hash) int { // what the remote has comes first
		return boolInt(there[b]) - boolInt(there[a])
	})
	tips = tips[:min(len(tips), maxTips)]
	list := slices.Clone(tips)
	for _, tip := range tips {
		for h, back := tip, 0; !there[h] && back < maxBack && len(list) < maxHaves; back++ {
			c, err := object.GetCommit(o, h)
			if err != nil || len(c.ParentHashes) == 0 || seen[c.ParentHashes[0]] {
				break
			}
			h = c.ParentHashes[0]
			seen[h] = true
			list = append(list, h)
		}
	}
	return list, ctx.Err()
}

// knownRefs gives what the remote's refs were at the last fetch.
func (m *Mirror) knownRefs() ([]plumbing.Hash, error) {
	data, err := os.ReadFile(filepath.Join(m.dir, "packed-refs"))
	if err != nil && !os.IsNotExist(err) {
		return nil, err
	}
	var list []plumbing.Hash
	for _, r := range parsePacked(string(data)) {
		list = append(list, plumbing.NewHash(r.id))
	}
	pulls, err := filepath.Glob(filepath.Join(m.dir, "refs", "pull", "*", "head"))
	if err != nil {
		return nil, err
	}
	for _, p := range pulls {
		if data, err := os.ReadFile(p); err == nil && isID(strings.TrimSpace(string(data))) {
			list = append(list, plumbing.NewHash(strings.TrimSpace(string(data))))
		}
	}
	return list, nil
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// receive reads the answer of upload-pack and installs its pack.
func (m *Mirror) receive(ctx context.Context, body io.Reader) (int64, error) {
	r := bufio.NewReaderSize(body, 64<<10)
	var answer packp.ServerResponse
	if err := answer.Decode(r, false); err != nil {
		return 0, err
	}
	demux := sideband.NewDemuxer(sideband.Sideband64k, r)
	return m.installPack(ctx, demux)
}

// follow makes refs/heads and refs/tags what the remote has, at once, and
// then sets the pull heads and HEAD.
func (m *Mirror) follow(ctx context.Context, want wanted) error {
	err := m.packRefs(ctx, func([]packedRef) []packedRef {
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
	if err != nil {
		return err
	}
	for name, h := range want.refs {
		if isPullRef(name) {
			if err := m.writeFile(name, h.String()+"\n"); err != nil {
				return err
			}
		}
	}
	return m.writeFile("HEAD", "ref: "+want.head+"\n")
}

// writeFile replaces a file of the mirror in one step.
func (m *Mirror) writeFile(name, text string) error {
	path := filepath.Join(m.dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(m.dir, "tmp_*")
	if err != nil {
		return err
	}
	defer drop(f.Name()) // gone after the rename
	defer f.Close()
	if _, err := f.WriteString(text); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
