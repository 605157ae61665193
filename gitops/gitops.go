// Package gitops saves the work of an agent in git: mirrors of repositories, checkpoint
// commits, diffs, merges, undo and pushes.
//
// It never runs git, and ignores work trees, indexes, hooks and filters.
// Trees and blobs are read and written as objects, so anything that a hostile tool leaves
// in a workspace is only data. Tokens are sent in one request header and never written.
//
// The files, from a remote to a commit and back:
//
//   - gitops.go: [Store], a [Mirror] for each remote; mirror.go, local.go: a repository,
//     which is a mirror or a user's clone ([OpenLocal]).
//   - wire.go: git's protocol. fetch.go, push.go: the requests and their objects;
//     promised.go: contents that a partial mirror fetches on demand. safe.go:
//     [Mirror.PushSafe], which loses no work.
//   - gitops/objects: blobs, trees, commits and packs on the disk; the difference between
//     two histories.
//   - refs.go, reffiles.go: refs, and their files. remoterefs.go: refs of the remote that
//     hold a few files.
//   - checkpoint.go, commit.go, replay.go, undo.go: commits with a cost that grows with
//     the change; merge.go merges trees. read.go: the content of a commit;
//     gitops/base, bases.go: its files as a directory.
//   - convert.go: contents as .gitattributes asks for them; attributes.go reads that.
//   - diff.go, treediff.go, patch.go, gitops/lines: the differences between two trees and
//     two files, and patches for git apply.
//   - names.go, errors.go: the allowed names of refs and paths, and the errors that
//     callers test for.
//
// go-git reads objects, refs, configuration and packs, and writes objects. The rest is
// done here for measured speed, see docs/performance.md.
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
)

// Config configures a [Store]: the location of mirrors, and the access to remotes.
type Config struct {
	// Dir is the directory of the mirrors. It belongs to the bot, and workspaces must not be
	// able to write to it.
	Dir string
	// Auth returns the credentials for a repository's URL. It is called each time they are
	// needed; nil, or an empty token, means none. The token is sent only in an Authorization
	// header. An empty user means "x-access-token".
	Auth func(ctx context.Context, url string, a Access) (user, token string, err error)
	// HTTP carries the requests; nil means [http.DefaultTransport].
	HTTP http.RoundTripper
	// Partial makes new mirrors fetch contents on demand, if the remote supports it.
	Partial bool
	// MaxPack limits the bytes of one fetch; 0 means 8 GiB.
	MaxPack int64
	// Log receives clones, fetches and pushes; nil disables logging.
	Log *slog.Logger
}

// Store manages the mirrors of remote repositories, one per repository. It is safe for
// concurrent use, also by several processes on the same directory.
type Store struct {
	cfg  Config
	wire *wire

	mu      sync.Mutex
	mirrors map[string]*Mirror
}

// New returns a store on cfg.Dir, and creates the directory if missing.
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
	return &Store{cfg: cfg, wire: &wire{HTTP: cfg.HTTP, Auth: cfg.Auth}, mirrors: map[string]*Mirror{}}, nil
}

// Close closes the files of all mirrors. Existing mirrors must not be used afterwards.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range s.mirrors {
		m.pool.Renew()
	}
	s.mirrors = map[string]*Mirror{}
	return nil
}

// Mirror returns the mirror of the repository at remote, an https URL without credentials
// (plain http is accepted for loopback addresses). The first call clones its heads and
// tags; later calls do not contact the remote, so call [Mirror.Fetch] for news. An empty
// repository has a mirror too, but its [Mirror.Default] is an error.
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
	m.pool.Bring = func(ctx context.Context, ids []plumbing.Hash) error { return fetchMissing(ctx, m, ids) }
	m.packs = &objects.Packs{Dir: dir, Pool: m.pool, Max: s.cfg.MaxPack, Log: m.log}
	s.mirrors[remote] = m
	return m
}

// Bare returns the mirror of the repository at remote, see [Store.Mirror], without a
// clone: for refs that hold a few files, which need no branches. It does not contact the
// remote.
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

// cleanURL checks a repository address, and returns the name of the mirror's directory.
func cleanURL(remote string) (clean, name string, err error) {
	u, err := url.Parse(remote)
	if err != nil {
		return "", "", fmt.Errorf("repository address is not a URL") // err would repeat the address, which may hold a token
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

const maxSlug = 80 // maximum bytes of a remote's address in its mirror's name

func slug(s string) string {
	s = strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '.' || r == '_' {
			return r
		}
		return '-'
	}, s)
	if len(s) > maxSlug {
		s = s[:maxSlug]
	}
	return strings.TrimLeft(s, ".-")
}

func loopback(host string) bool { return host == "localhost" || host == "127.0.0.1" || host == "::1" }
