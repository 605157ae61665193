// Package base stores the files of commits as directories, which workspaces use as lower
// layers of overlays. Processes in a workspace cannot write to them.
//
// Each content is stored once, in pool/, and trees have hard links to it. The new
// contents of a tree move there when the next tree is made. A commit that is close to an
// existing tree becomes a layer: a small directory with the differences, to lay over that
// tree. The caller decides which files are hidden: no tree or layer contains them. Two
// sets of rules share contents but no trees.
//
// Several processes may use one directory. An entry gets its name when it is complete;
// locks (locks/) end with their process.
//
//	base.go   open, take, drop; start reading here
//	view.go   a tree with its hidden files removed, and files by name
//	tree.go   makes a whole tree
//	share.go  moves contents of a tree to the pool
//	layer.go  makes a layer with the differences from another tree
//	past.go   the git history in a workspace, made in pastmake.go
//	check.go  detects damaged bases
//	lock.go   locks
//	sweep.go  removes unused bases
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

// Config configures a [Store]: its location, limits and lifetime of bases.
type Config struct {
	Dir      string
	UID, GID int           // owner of the files; used only if running as root
	MaxBytes int64         // of all contents; 0 means 20 GiB
	MaxAge   time.Duration // since the last use; 0 means 14 days
	MaxFiles int           // files and directories of a commit; 0 means 1,000,000
	// Refused reports whether a name from a tree must not be created as a file.
	Refused func(name string) bool
}

// Repo is a repository.
type Repo interface {
	Resolve(ctx context.Context, name string) (commit string, err error)
	Objects() *objects.Pool
}

// Store stores bases. It is safe for concurrent use, also by several processes.
type Store struct {
	cfg   Config
	own   *objects.Pool // filtered trees, which the repositories do not have
	alive *os.File      // locked as long as this process runs
	boot  string
	link  func(from, to string) error
}

// version is the version of the layout.
const version = "v1"

// Open opens the store in a directory, and creates the directory if missing.
func Open(cfg Config) (*Store, error) {
	cfg.MaxBytes, cfg.MaxAge = cmp.Or(cfg.MaxBytes, 20<<30), cmp.Or(cfg.MaxAge, 14*24*time.Hour)
	cfg.MaxFiles = cmp.Or(cfg.MaxFiles, 1_000_000)
	if os.Geteuid() != 0 {
		cfg.UID, cfg.GID = os.Geteuid(), os.Getegid()
	}
	cfg.Dir = filepath.Join(cfg.Dir, fmt.Sprintf("%s-%d", version, cfg.UID)) // files of another user cannot be trusted
	s := &Store{cfg: cfg, own: objects.NewPool(filepath.Join(cfg.Dir, "git")), boot: bootID(), link: os.Link}
	for _, dir := range []string{"bases", "locks", "making", "views", "names", "pool", "git/objects/pack", "git/objects/info", "git/refs"} {
		if err := os.MkdirAll(s.at(dir), 0o755); err != nil {
			return nil, fmt.Errorf("open bases: %w", err)
		}
	}
	if err := errors.Join(s.holdAlive(), s.clear()); err != nil {
		return nil, fmt.Errorf("open bases: %w", err)
	}
	return s, nil
}

func (s *Store) at(name string) string { return filepath.Join(s.cfg.Dir, name) }

// Want selects the files of a base.
type Want struct {
	Commit string // empty means an empty base
	Rules  Rules
	Layers bool // the caller supports layers
}

// Rules select the hidden files. The zero value hides none.
type Rules struct {
	Hides func(name string) bool // reports hidden paths; those of directories end in a slash
	Key   string                 // identifies Hides: equal keys mean equal results
	// Outside reports paths that are left out because they are not needed. They are missing
	// like hidden ones, but not secret. OutsideKey identifies Outside.
	Outside    func(name string) bool
	OutsideKey string
	// Name is the name of the files with the rules. If From is set, the base has these files
	// of the commit From in place of its own.
	Name, From string
}

// Base is a directory with the files of a commit.
type Base struct {
	Source string   // the directory
	Over   string   // a layer over it, with 0/0 devices for deleted paths; empty if there is none
	Gone   []string // hidden paths, which are missing; those of directories end in a slash

	store *Store
	locks []*os.File
}

// errDamaged means that a base was changed after it was made.
var errDamaged = errors.New("damaged")

// Take returns the files of a commit, for reading only. The caller must call Drop.
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

// markUsed records the time of the last use of a base.
func markUsed(lock *os.File) { _ = os.Chtimes(lock.Name(), time.Time{}, time.Now()) }

func (b *Base) failed(err error) error {
	if err == nil {
		return nil
	}
	b.unlock()
	return fmt.Errorf("take base: %w", err)
}

// take locks an existing base. It reports false if the base is missing, or damaged and
// therefore discarded.
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
	if err != nil { // in any case the base can be made again
		b.unlock()
		s.discard(key)
		return false, nil //nolint:nilerr // as above
	}
	markUsed(lock)
	if about.On != "" {
		b.Over = s.at("bases/" + key + "/tree")
	} else {
		b.Source = s.at("bases/" + key + "/tree")
	}
	return true, nil
}

// make makes a missing base: a layer if wanted and small, otherwise a tree.
func (b *Base) make(ctx context.Context, repo Repo, v view, layers bool) error {
	s := b.store
	key := "t-" + v.id()
	// Concurrent callers make a base only once.
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
		if ok, err := b.take(ctx, key); ok || err != nil { // another caller made it meanwhile
			return err
		}
		if err := s.makeTree(ctx, repo, v); err != nil {
			return err
		}
	}
	return errDamaged
}

// Drop releases a base.
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

// about is the description of a base.
type about struct {
	On    string `json:"on,omitempty"`  // of a layer: the tree below it
	Tree  string `json:"tree"`          // id of the tree object
	Key   string `json:"key,omitempty"` // of the rules
	Files int    `json:"files"`
	Dirs  int    `json:"dirs"`
	Bytes int64  `json:"bytes,omitempty"` // of contents that no other base has
}

func (s *Store) about(key string) (a about, err error) {
	data, err := os.ReadFile(s.at("bases/" + key + "/about"))
	if err == nil {
		err = json.Unmarshal(data, &a)
	}
	return a, err
}

// finish publishes a complete base under its name.
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
		return os.RemoveAll(dir) // another process made it meanwhile
	}
	return err
}

// discard renames a damaged base. Its current users keep their files.
func (s *Store) discard(key string) {
	_ = os.Rename(s.at("bases/"+key), s.at("bases/"+key+".bad-"+random()))
}
