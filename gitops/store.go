// Package gitops keeps what an agent did in git: mirrors of repositories,
// checkpoint commits, undo, diffs, rebases and pushes.
//
// Nothing here runs git, and nothing here looks at a work tree, an index, a
// hook, a filter or an attribute. Trees and blobs are read and written as
// objects, so whatever a hostile tool leaves in a workspace is data. Tokens
// travel in one request header and are written nowhere.
//
//   - [Store.Mirror] gives a bare mirror of a remote repository,
//     [OpenLocal] a clone that a person already has.
//   - [Mirror.Fetch], [Mirror.Resolve], [Mirror.Export] bring a base.
//   - [Mirror.Checkpoint], [Mirror.Undo], [Mirror.Redo], [Mirror.Rebase] make
//     commits whose cost grows with the change.
//   - [Mirror.Push] and [Mirror.PushSafe] send them.
//   - [Mirror.Diff], [Mirror.Log], [Mirror.ReadFile], [Mirror.List] look.
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
)

// Config says where mirrors lie and how remotes are reached.
type Config struct {
	// Dir holds the mirrors. It belongs to the bot and must not be inside
	// anything that a workspace can write.
	Dir string
	// Auth gives the credentials for a repository's URL, asked for each time
	// they are needed; nil, or an empty token, means none. The token goes into
	// an Authorization header only. An empty user means "x-access-token".
	Auth func(ctx context.Context, url string) (user, token string, err error)
	// HTTP carries the requests; nil means [http.DefaultTransport].
	HTTP http.RoundTripper
	// MaxPack bounds the bytes of one fetch; 0 means 8 GiB.
	MaxPack int64
	// Log is told of clones, fetches and pushes; nil means silence.
	Log *slog.Logger
}

// Store holds mirrors of remote repositories, one per repository. It is safe
// for concurrent use, also by several processes on the same directory.
type Store struct {
	cfg  Config
	wire *wire

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
	return &Store{cfg: cfg, wire: newWire(cfg), mirrors: map[string]*Mirror{}}, nil
}

// Close releases the files that mirrors hold open. Mirrors given out before
// must not be used afterwards.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range s.mirrors {
		m.pool.drain()
	}
	s.mirrors = map[string]*Mirror{}
	return nil
}

// Mirror returns the mirror of the repository at remote, an https URL (plain
// http is accepted for loopback addresses), without credentials in it. On
// first use its heads and tags are cloned; later calls return what is there
// without asking the remote, so call [Mirror.Fetch] for news. A repository
// without commits gives a mirror, whose [Mirror.Default] is [ErrEmpty].
func (s *Store) Mirror(ctx context.Context, remote string) (*Mirror, error) {
	clean, name, err := cleanURL(remote)
	if err != nil {
		return nil, fmt.Errorf("open mirror: %w", err)
	}
	m := s.mirror(clean, name)
	if m.cloned() {
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
	m.url, m.wire, m.log, m.maxPack = remote, s.wire, s.cfg.Log, s.cfg.MaxPack
	s.mirrors[remote] = m
	return m
}

// Mirror is one repository: a bare mirror of a remote one, or a person's
// clone. Its methods are safe for concurrent use.
type Mirror struct {
	dir     string // objects and refs
	gitDir  string // HEAD; differs from dir in a linked work tree
	url     string // "" for a local clone
	wire    *wire
	log     *slog.Logger
	maxPack int64

	fetching chan struct{} // holds one token; taken while refs from the remote change
	pool     *pool
}

func newMirror(dir, gitDir string) *Mirror {
	m := &Mirror{dir: dir, gitDir: gitDir, log: slog.New(slog.DiscardHandler), fetching: make(chan struct{}, 1)}
	m.pool = &pool{dir: dir}
	return m
}

// URL is the remote's address, empty for a local clone.
func (m *Mirror) URL() string { return m.url }

// Close releases the files that the mirror holds open; it can be used again.
func (m *Mirror) Close() error {
	m.pool.drain()
	return nil
}

// cloned tells whether the first fetch has been completed.
func (m *Mirror) cloned() bool {
	_, err := os.Stat(filepath.Join(m.dir, "packed-refs"))
	return err == nil
}

// skeleton makes an empty bare repository at m.dir. It may be called again.
func (m *Mirror) skeleton() error {
	for _, d := range []string{"objects/pack", "objects/info", "refs/heads", "refs/tags"} {
		if err := os.MkdirAll(filepath.Join(m.dir, d), 0o700); err != nil {
			return err
		}
	}
	files := map[string]string{
		"config": "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = true\n[gc]\n\tauto = 0\n",
		"HEAD":   "ref: " + noDefault + "\n",
	}
	for name, text := range files {
		if _, err := os.Stat(filepath.Join(m.dir, name)); err == nil {
			continue
		}
		if err := m.writeFile(name, text); err != nil {
			return err
		}
	}
	return nil
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

func slug(s string) string {
	s = strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '.' || r == '_' {
			return r
		}
		return '-'
	}, s)
	if len(s) > 80 {
		s = s[:80]
	}
	return strings.TrimLeft(s, ".-")
}

func loopback(host string) bool {
	return host == "localhost" || host == "127.0.0.1" || host == "::1"
}
