// Package gitops saves what an agent did in git: mirrors of repositories,
// checkpoint commits, diffs, merges, undo and pushes.
//
// Nothing here runs git, and nothing here looks at a work tree, an index, a
// hook, a filter or an attribute. Trees and blobs are read and written as
// objects, so whatever a hostile tool leaves in a workspace is data. Tokens
// travel in one request header and are written nowhere.
//
// The files, from a remote to a commit and back:
//
//   - gitops.go: [Store], a [Mirror] for each remote; mirror.go, local.go: one
//     repository, ours or a clone that a person has ([OpenLocal]).
//   - gitops/wire: git's protocol. fetch.go, push.go: what to ask for, what to
//     send; promised.go: contents that a partial mirror asks for later. safe.go:
//     [Mirror.PushSafe], which loses no work.
//   - gitops/objects: blobs, trees, commits and packs on the disk; what one
//     history has that another lacks.
//   - refs.go, reffiles.go: refs, and the files that hold them. remoterefs.go:
//     refs of the remote that hold a few files.
//   - checkpoint.go, commit.go, replay.go, undo.go: commits whose cost grows with
//     the change; gitops/merge joins trees. read.go: what is in a commit;
//     gitops/base, bases.go: its files as a directory.
//   - diff.go, treediff.go, patch.go, gitops/lines: what differs between two
//     trees and two files, and a text that git apply takes.
//   - names.go, errors.go: names of refs and paths that are let in, and what
//     callers branch on.
//
// What go-git does (it reads objects, refs, configuration and packs, and writes
// objects) and what is done here is by measure, see docs/performance.md.
package gitops

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/handrail-bot/handrail/gitops/objects"
	"github.com/handrail-bot/handrail/gitops/wire"
)

// Access is what credentials are for.
type Access = wire.Access

// What credentials are for.
const (
	AccessRead      = wire.Read
	AccessPush      = wire.Push
	AccessWorkflows = wire.Workflows
)

// Config says where mirrors lie and how remotes are reached.
type Config struct {
	// Dir is where the mirrors lie. It belongs to the bot and must not be inside
	// anything that a workspace can write.
	Dir string
	// Auth returns the credentials for a repository's URL, asked for each time
	// they are needed; nil, or an empty token, means none. The token goes into
	// an Authorization header only. An empty user means "x-access-token".
	Auth func(ctx context.Context, url string, a Access) (user, token string, err error)
	// HTTP carries the requests; nil means [http.DefaultTransport].
	HTTP http.RoundTripper
	// Partial has new mirrors lack contents until they are needed, where the remote is
	// able to give them later.
	Partial bool
	// MaxPack limits the bytes of one fetch; 0 means 8 GiB.
	MaxPack int64
	// Log is told of clones, fetches and pushes; nil means silence.
	Log *slog.Logger
}

// Store has the mirrors of remote repositories, one per repository. It is safe
// for concurrent use, also by several processes on the same directory.
type Store struct {
	cfg  Config
	wire *wire.Wire

	mu      sync.Mutex
	mirrors map[string]*Mirror
}

// New returns a store over cfg.Dir, which is created when missing.
func New(cfg Config) (*Store, error) {
	if cfg.Dir == "" {
		return nil, fmt.Errorf("open mirrors: no directory given")
	}
	dir, err := filepath.Abs(cfg.Dir)
	if err != nil {
		return nil, fmt.Errorf("open mirrors: %w", err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("open mirrors: %w", err)
	}
	cfg.Dir = dir
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.MaxPack <= 0 {
		cfg.MaxPack = 8 << 30
	}
	return &Store{cfg: cfg, wire: &wire.Wire{HTTP: cfg.HTTP, Auth: cfg.Auth}, mirrors: map[string]*Mirror{}}, nil
}

// Close releases the files that mirrors hold open. Mirrors given out before
// must not be used afterwards.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range s.mirrors {
		m.pool.Renew()
	}
	s.mirrors = map[string]*Mirror{}
	return nil
}

// Mirror returns the mirror of the repository at remote, an https URL (plain
// http is accepted for loopback addresses), without credentials in it. On
// first use its heads and tags are cloned; later calls return what is there
// without asking the remote, so call [Mirror.Fetch] for news. A repository
// without commits has a mirror too, whose [Mirror.Default] is an error.
func (s *Store) Mirror(ctx context.Context, remote string) (*Mirror, error) {
	clean, name, err := cleanURL(remote)
	if err != nil {
		return nil, fmt.Errorf("open mirror: %w", err)
	}
	m := s.mirror(clean, name)
	if cloned(m.dir) {
		return m, nil
	}
	if err := m.fetch(ctx, nil, true); err != nil {
		return nil, fmt.Errorf("clone %s: %w", clean, err)
	}
	return m, nil
}

func (s *Store) mirror(remote, name string) *Mirror {
	s.mu.Lock()
	defer s.mu.Unlock()
	if m, ok := s.mirrors[remote]; ok {
		return m
	}
	dir := filepath.Join(s.cfg.Dir, name)
	m := newMirror(dir, dir)
	m.url, m.wire, m.log, m.refs.own = remote, s.wire, s.cfg.Log.With(slog.String("url", remote)), true
	m.partial = s.cfg.Partial
	m.pool.Bring = func(ctx context.Context, ids []plumbing.Hash) error { return bring(ctx, m, ids) }
	m.packs = &objects.Packs{Dir: dir, Pool: m.pool, Max: s.cfg.MaxPack, Log: m.log}
	s.mirrors[remote] = m
	return m
}

// Bare returns the mirror of the repository at remote, see [Store.Mirror],
// without cloning anything: for refs that hold a few files, which need no
// branches. Nothing is asked of the remote yet.
func (s *Store) Bare(ctx context.Context, remote string) (*Mirror, error) {
	clean, name, err := cleanURL(remote)
	if err != nil {
		return nil, fmt.Errorf("open mirror: %w", err)
	}
	m := s.mirror(clean, name)
	if err := os.MkdirAll(filepath.Dir(m.dir), 0o700); err != nil {
		return nil, fmt.Errorf("open mirror: %w", err)
	}
	unlock, err := m.lock(ctx)
	if err != nil {
		return nil, fmt.Errorf("open mirror: %w", err)
	}
	defer unlock()
	return m, m.skeleton()
}

// cleanURL checks a repository address and names the mirror's directory.
func cleanURL(remote string) (clean, name string, err error) {
	u, err := url.Parse(remote)
	if err != nil {
		return "", "", fmt.Errorf("repository address is not a URL") // err would repeat what may hold a token
	}
	if u.User != nil {
		return "", "", fmt.Errorf("repository address for %s has credentials in it: pass them by Config.Auth", u.Host)
	}
	if u.Scheme != "https" && (u.Scheme != "http" || !loopback(u.Hostname())) {
		return "", "", fmt.Errorf("repository address %q: use https (http only for loopback)", u.Redacted())
	}
	if u.Host == "" || u.RawQuery != "" || u.Fragment != "" {
		return "", "", fmt.Errorf("repository address %q: want https://host/owner/name", u.Redacted())
	}
	path := strings.TrimSuffix(strings.Trim(u.Path, "/"), ".git")
	if path == "" || !fs.ValidPath(path) {
		return "", "", fmt.Errorf("repository address %q: want https://host/owner/name", u.Redacted())
	}
	u.Host = strings.ToLower(u.Host)
	u.Path, u.RawPath = "/"+strings.Trim(u.Path, "/"), ""
	clean = u.String()
	key := sha256.Sum256([]byte(u.Scheme + "://" + u.Host + "/" + strings.ToLower(path)))
	return clean, slug(u.Host+"-"+path) + "-" + hex.EncodeToString(key[:6]) + ".git", nil
}

const longestSlug = 80 // bytes of a remote's address in the name of its mirror

func slug(s string) string {
	s = strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '.' || r == '_' {
			return r
		}
		return '-'
	}, s)
	if len(s) > longestSlug {
		s = s[:longestSlug]
	}
	return strings.TrimLeft(s, ".-")
}

func loopback(host string) bool { return host == "localhost" || host == "127.0.0.1" || host == "::1" }
