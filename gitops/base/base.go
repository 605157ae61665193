// Package base holds the files of commits as directories that workspaces lay
// overlays over. Nothing that runs in a workspace can write there.
//
// A content is kept once (pool/): a tree links to it. What the newest tree brought is
// put there when another tree is made. A commit near one whose tree is
// there is a layer: a small directory to lay over that tree, with what differs. What
// hidden files are, the caller says: they are in no tree and in no layer, and two
// sets of rules share contents but no trees.
//
// Several processes may use one directory. What is made gets its name when it is
// whole; locks (locks/) end with the process that has them.
//
//	base.go   open, take, give back; start reading here
//	view.go   a tree as workspaces see it, and files by name
//	tree.go   a whole tree is made
//	share.go  what a tree has is kept for others
//	layer.go  what differs from another is made
//	past.go   what git shows of a commit inside of a workspace; made in pastmake.go, packed in pastpack.go
//	check.go  what is there is still as it was made
//	lock.go   who uses what
//	sweep.go  what nobody uses goes
package base

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/handrail-bot/handrail/gitops/flock"
	"github.com/handrail-bot/handrail/gitops/objects"
)

// Config says where bases are kept, and how long.
type Config struct {
	Dir      string
	UID, GID int           // who files belong to; used by root alone
	MaxBytes int64         // of contents; 0 for 20 GiB
	MaxAge   time.Duration // since the last use; 0 for 14 days
	MaxFiles int           // and directories of a commit; 0 for 1,000,000
	// Refused reports whether a name from a tree may not become a file's.
	Refused func(name string) bool
}

// Repo is a repository.
type Repo interface {
	Resolve(ctx context.Context, name string) (commit string, err error)
	Objects() *objects.Pool
}

// Store has the bases. It is safe for concurrent use, also by several processes.
type Store struct {
	cfg   Config
	own   *objects.Pool // trees that differ from those of a repository
	alive *os.File      // locked as long as this process runs
	boot  string
	link  func(from, to string) error
}

// version is that of the layout.
const version = "v1"

// Open opens the store at a directory, which is made where it is missing.
func Open(cfg Config) (*Store, error) {
	cfg.MaxBytes, cfg.MaxAge = cmp.Or(cfg.MaxBytes, 20<<30), cmp.Or(cfg.MaxAge, 14*24*time.Hour)
	cfg.MaxFiles = cmp.Or(cfg.MaxFiles, 1_000_000)
	if os.Geteuid() != 0 {
		cfg.UID, cfg.GID = os.Geteuid(), os.Getegid()
	}
	cfg.Dir = filepath.Join(cfg.Dir, fmt.Sprintf("%s-%d", version, cfg.UID)) // another user's files are no base of ours
	s := &Store{cfg: cfg, own: objects.NewPool(filepath.Join(cfg.Dir, "git")), boot: bootID(), link: os.Link}
	for _, dir := range []string{"bases", "locks", "making", "views", "names", "pool", "git/objects/pack", "git/objects/info", "git/refs"} {
		if err := os.MkdirAll(s.at(dir), 0o755); err != nil {
			return nil, fmt.Errorf("open bases: %w", err)
		}
	}
	if err := errors.Join(s.live(), s.clear()); err != nil {
		return nil, fmt.Errorf("open bases: %w", err)
	}
	return s, nil
}

func (s *Store) at(name string) string { return filepath.Join(s.cfg.Dir, name) }

// Want is what files a caller wants.
type Want struct {
	Commit string // "" for none: the base is empty then
	Rules  Rules
	Layers bool // the caller can lay a directory over another
}

// Rules say which files are hidden. The zero value hides none.
type Rules struct {
	Hides func(name string) bool // of paths; those of directories end in a slash
	Key   string                 // the same for the same Hides
	// Outside are paths that are left out because nobody needs them: they are as gone as
	// hidden ones, and no secret. OutsideKey is the same for the same Outside.
	Outside    func(name string) bool
	OutsideKey string
	// Name is that of the files in which the rules are. With From they are those of
	// another commit, and the base has them in place of its own.
	Name, From string
}

// Base is the files of a commit.
type Base struct {
	Source string   // a directory
	Over   string   // one to lay over it, with devices 0/0 for what is gone; "" for none
	Gone   []string // hidden paths, which are not there; those of directories end in a slash

	store *Store
	locks []*os.File
}

// errDamaged means that a base is not as it was made.
var errDamaged = errors.New("damaged")

// Take returns the files of a commit, for reading. Give them back with Drop.
func (s *Store) Take(ctx context.Context, repo Repo, w Want) (*Base, error) {
	v, err := s.view(ctx, repo, w)
	if err != nil {
		return nil, fmt.Errorf("take base: %w", err)
	}
	b := &Base{Gone: v.Gone, store: s}
	whole, layer := "t-"+v.id(), "l-"+v.id()
	for _, key := range []string{whole, layer} {
		if ok, err := b.take(ctx, key); err != nil || ok {
			return b, b.failed(err)
		}
		if !w.Layers {
			break
		}
	}
	return b, b.failed(b.make(ctx, repo, v, w.Layers))
}

// used notes when a base was used.
func used(lock *os.File) { _ = os.Chtimes(lock.Name(), time.Time{}, time.Now()) }

func (b *Base) failed(err error) error {
	if err == nil {
		return nil
	}
	b.unlock()
	return fmt.Errorf("take base: %w", err)
}

// take takes what is there. It reports false for what is missing, and takes away what
// is damaged.
func (b *Base) take(ctx context.Context, key string) (bool, error) {
	s := b.store
	if _, err := os.Stat(s.at("bases/" + key)); err != nil {
		return false, nil //nolint:nilerr // it is not there
	}
	lock, err := s.lock(ctx, key, false)
	if err != nil {
		return false, err
	}
	b.locks = append(b.locks, lock)
	about, err := s.check(ctx, key)
	if ctx.Err() != nil {
		return false, context.Cause(ctx)
	}
	if err == nil && about.On != "" {
		var ok bool
		if ok, err = b.take(ctx, about.On); err == nil && !ok {
			err = errDamaged
		}
	}
	if err != nil { // whatever it is, it can be made anew
		b.unlock()
		s.discard(key)
		return false, nil //nolint:nilerr // as above
	}
	used(lock)
	if about.On != "" {
		b.Over = s.at("bases/" + key + "/tree")
	} else {
		b.Source = s.at("bases/" + key + "/tree")
	}
	return true, nil
}

// make makes what is not there: a layer where that is wanted and small, else a tree.
func (b *Base) make(ctx context.Context, repo Repo, v view, layers bool) error {
	s := b.store
	key := "t-" + v.id()
	// Two who want the same make it once.
	building, err := s.lock(ctx, key+".build", true)
	if err != nil {
		return err
	}
	defer func() { _ = flock.Release(building) }()
	if layers {
		if ok, err := b.layer(ctx, repo, v); ok || err != nil {
			return err
		}
	}
	for range 3 {
		if ok, err := b.take(ctx, key); ok || err != nil { // another was faster
			return err
		}
		if err := s.makeTree(ctx, repo, v); err != nil {
			return err
		}
	}
	return errDamaged
}

// Drop gives a base back.
func (b *Base) Drop() {
	b.unlock()
	b.store.sweepNowAndThen()
}

func (b *Base) unlock() {
	for _, f := range b.locks {
		_ = flock.Release(f)
	}
	b.locks, b.Source, b.Over = nil, "", ""
}

// about is what a base says of itself.
type about struct {
	On    string `json:"on,omitempty"`  // of a layer: the tree that it goes over
	Tree  string `json:"tree"`          // of objects
	Key   string `json:"key,omitempty"` // of the rules
	Files int    `json:"files"`
	Dirs  int    `json:"dirs"`
	Bytes int64  `json:"bytes,omitempty"` // of contents that it alone has
}

func (s *Store) about(key string) (a about, err error) {
	data, err := os.ReadFile(s.at("bases/" + key + "/about"))
	if err == nil {
		err = json.Unmarshal(data, &a)
	}
	return a, err
}

// finish gives what was made its name.
func (s *Store) finish(dir, key string, a about) error {
	data, err := json.Marshal(a)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "about"), data, 0o644)
	}
	if err == nil {
		err = s.markChecked(filepath.Join(dir, "checked"))
	}
	if err != nil {
		return err
	}
	err = os.Rename(dir, s.at("bases/"+key))
	if errors.Is(err, fs.ErrExist) || errors.Is(err, syscall.ENOTEMPTY) {
		return os.RemoveAll(dir) // another was faster
	}
	return err
}

// discard takes a base away. Who still works on it keeps its files.
func (s *Store) discard(key string) {
	_ = os.Rename(s.at("bases/"+key), s.at("bases/"+key+".bad-"+random()))
}
