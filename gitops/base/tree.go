package base

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"sync/atomic"
	"syscall"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"golang.org/x/sync/errgroup"

	"github.com/handrail-bot/handrail/gitops/objects"
)

// maxBytes is the maximum size of a base.
const maxBytes = 16 << 30

// item is one entry of a tree to be made.
type item struct {
	path string
	mode filemode.FileMode
	hash plumbing.Hash
	nth  int  // counts equal items of a tree: each has its own inode
	own  bool // not shared
}

func (it item) isDir() bool { return it.mode == filemode.Dir || it.mode == filemode.Submodule }

func (it item) perm() uint32 {
	if it.mode == filemode.Executable {
		return 0o755
	}
	return 0o644
}

// content identifies files that can share an inode.
type content struct {
	hash plumbing.Hash
	mode filemode.FileMode
}

// plan is the list of entries of a tree or a layer.
type plan struct {
	dirs  []string // parents first
	items []item   // all but directories
	same  map[content]int
	limit int
}

// add adds the entries of a tree, recursively. Submodules become empty directories, and
// names of git directories are left out.
func (p *plan) add(ctx context.Context, r reader, h plumbing.Hash, at string) error {
	if h.IsZero() {
		return nil
	}
	list, err := r.tree(h)
	if err = errors.Join(err, ctx.Err()); err != nil {
		return err
	}
	for _, e := range list {
		if err := p.entry(ctx, r, e, at+e.Name); err != nil {
			return err
		}
	}
	return nil
}

func (p *plan) entry(ctx context.Context, r reader, e objects.Entry, name string) error {
	if r.refused(e.Name) {
		return nil
	}
	if len(p.dirs)+len(p.items) >= p.limit {
		return fmt.Errorf("%w: there are more than %d files and directories", objects.ErrTooLarge, p.limit)
	}
	it := item{path: name, mode: e.Mode, hash: e.Hash}
	if it.isDir() {
		p.dirs = append(p.dirs, name)
		if e.IsDir() {
			return p.add(ctx, r, e.Hash, name+"/")
		}
		return nil
	}
	if it.mode != filemode.Symlink && it.mode != filemode.Executable {
		it.mode = filemode.Regular
	}
	if it.own = p.same == nil; !it.own {
		c := content{it.hash, it.mode}
		it.nth = p.same[c]
		p.same[c] = it.nth + 1
	}
	p.items = append(p.items, it)
	return nil
}

// makeTree makes a whole tree.
func (s *Store) makeTree(ctx context.Context, repo Repo, v view) error {
	p := &plan{}
	err := s.read(ctx, repo, func(r reader) error {
		*p = plan{same: map[content]int{}, limit: s.cfg.MaxFiles}
		return p.add(ctx, r, v.Tree, "")
	})
	if err != nil {
		return err
	}
	if err := s.share(ctx); err != nil {
		return err
	}
	kept, err := os.ReadDir(s.at("pool"))
	if err != nil {
		return err
	}
	m := &maker{s: s, repo: repo, poolEmpty: len(kept) == 0, fresh: make([]bool, len(p.items))}
	return m.make(ctx, p, "t-"+v.id(), about{Tree: v.Tree.String(), Key: v.key})
}

// maker writes a plan to the disk.
type maker struct {
	s         *Store
	repo      Repo
	dir       string
	root      bool // change the owner of files
	stamps    []stamp
	bytes     atomic.Int64
	poolEmpty bool     // the pool is empty
	fresh     []bool   // per item of a tree: its content was not in the pool
	gone      []string // deleted paths of a layer
}

func (m *maker) make(ctx context.Context, p *plan, key string, a about) (err error) {
	temp, err := m.s.Temp(m.s.at("making"), "making")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.RemoveAll(temp) // the next Open removes the rest
		}
	}()
	m.dir, m.root = filepath.Join(temp, "tree")+"/", os.Geteuid() == 0
	if err := errors.Join(os.Chmod(temp, 0o755), m.mkdir(m.dir)); err != nil {
		return err
	}
	for _, name := range p.dirs {
		if err := m.mkdir(m.dir + name); err != nil {
			return err
		}
	}
	m.stamps = make([]stamp, len(p.items), len(p.items)+len(p.dirs)+len(m.gone)+1)
	err = m.prefetch(ctx, p.items)
	if err == nil {
		err = m.files(ctx, p.items)
	}
	if err != nil {
		return err
	}
	for _, name := range m.gone {
		if err := m.whiteout(m.dir + name); err != nil {
			return err
		}
	}
	for _, name := range append(append(p.dirs, m.gone...), ".") {
		st, err := stampOf(m.dir+name, name)
		if err != nil {
			return err
		}
		m.stamps = append(m.stamps, st)
	}
	dirs := m.stamps[len(p.items):]
	if a.On != "" {
		a.Bytes = m.bytes.Load()
	} else if a.Bytes, err = m.writeAlone(filepath.Join(temp, alone), p.items); err != nil {
		return err
	}
	if err := errors.Join(writeStamps(filepath.Join(temp, "list"), m.stamps), writeStamps(filepath.Join(temp, "dirs"), dirs)); err != nil {
		return err
	}
	a.Files, a.Dirs = len(p.items), len(dirs)
	return m.s.finish(temp, key, a)
}

// prefetch fetches the missing contents of the items for a partial mirror in one request.
func (m *maker) prefetch(ctx context.Context, items []item) error {
	if !m.repo.Objects().Partial() {
		return nil
	}
	return m.repo.Objects().Use(ctx, func(o *objects.DB) error {
		var ids []plumbing.Hash
		for _, it := range items {
			if o.Has(it.hash) {
				continue
			}
			if _, err := os.Lstat(m.s.at(poolPath(it))); err != nil || it.own || it.mode == filemode.Symlink {
				ids = append(ids, it.hash)
			}
		}
		return o.Prefetch(ids)
	})
}

// files writes all entries but directories, several at a time.
func (m *maker) files(ctx context.Context, items []item) error {
	group, ctx := errgroup.WithContext(ctx)
	var next atomic.Int64
	const some = 64 // items per step: files of a directory are close in a pack
	for range runtime.GOMAXPROCS(0) + 1 {
		group.Go(func() error {
			i, end, buffer := 0, 0, make([]byte, 32<<10)
			return m.repo.Objects().Use(ctx, func(o *objects.DB) error { // a second run continues at i
				for {
					for ; i < end; i++ {
						if err := ctx.Err(); err != nil {
							return context.Cause(ctx)
						}
						st, err := m.item(source{o, buffer}, items[i], i)
						if err != nil {
							return fmt.Errorf("write %q: %w", items[i].path, err)
						}
						m.stamps[i] = st
					}
					if i = int(next.Add(some)) - some; i >= len(items) {
						return nil
					}
					end = min(i+some, len(items))
				}
			})
		})
	}
	return group.Wait()
}

// source has the contents of files. It is not safe for concurrent use.
type source struct {
	*objects.DB

	buffer []byte
}

// item writes one entry, the i-th of the plan. It follows no symlinks: this process alone
// writes there, directories are made first, and a duplicate name is an error.
func (m *maker) item(o source, it item, i int) (stamp, error) {
	to := m.dir + it.path
	if it.mode == filemode.Symlink {
		return m.symlink(o, it, to)
	}
	if it.own {
		return m.write(o, it, to)
	}
	err, kept := fs.ErrNotExist, ""
	if !m.poolEmpty {
		kept = m.s.at(poolPath(it))
		err = m.s.checkPooled(kept, it, o.buffer)
	}
	if err == nil {
		err = m.s.link(kept, to)
	}
	if err == nil {
		st, err := stampOf(to, it.path)
		return st, errors.Join(err, m.count(st.size))
	}
	st, wrote := m.write(o, it, to)
	if wrote != nil {
		return st, wrote
	}
	if m.fresh[i] = !errors.Is(err, syscall.EMLINK); m.fresh[i] {
		return st, nil
	}
	if temp := m.s.at("making/pooled-" + random()); os.Link(to, temp) == nil {
		_ = os.Rename(temp, kept) // its link limit is reached; replace it with a new file
	}
	return st, nil
}

// checkPooled returns an error unless a file in the pool is intact. It removes a damaged one.
func (s *Store) checkPooled(kept string, it item, buffer []byte) error {
	f, err := os.OpenFile(kept, os.O_RDONLY|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	var info syscall.Stat_t
	if err := syscall.Fstat(int(f.Fd()), &info); err != nil {
		return err
	}
	sum := plumbing.NewHasher(plumbing.BlobObject, info.Size)
	if _, err := io.CopyBuffer(sum, struct{ io.Reader }{f}, buffer); err != nil { // a file would make its own
		return err
	}
	if st := newStamp(&info, ""); sum.Sum() != it.hash || st.perm() != it.perm() || int(st.uid) != s.cfg.UID { //control:pooled-is-sound
		return errors.Join(errDamaged, os.Remove(kept))
	}
	return nil
}

func (m *maker) count(n int64) error {
	if m.bytes.Add(n) > maxBytes {
		return fmt.Errorf("%w: there are more than %d bytes", objects.ErrTooLarge, int64(maxBytes))
	}
	return nil
}

// poolPath returns the path of a content in the pool.
func poolPath(it item) string {
	h := it.hash.String()
	return "pool/" + h[:2] + "/" + h + "-" + strconv.FormatUint(uint64(it.perm()), 8) + "-" + strconv.Itoa(it.nth)
}

func (m *maker) symlink(o source, it item, to string) (st stamp, err error) {
	target, err := o.Read(plumbing.BlobObject, it.hash, 4096)
	if errors.Is(err, objects.ErrTooLarge) || err == nil && !validTarget(target) {
		return stamp{}, nil // no file system can store it
	}
	if err == nil {
		err = os.Symlink(string(target), to)
	}
	if err == nil {
		err = m.chown(to)
	}
	if err != nil {
		return st, err
	}
	return stampOf(to, it.path)
}

func validTarget(target []byte) bool {
	for _, c := range target {
		if c == 0 {
			return false
		}
	}
	return len(target) > 0
}

// write writes a file. It makes system calls directly, for speed with 50,000 files.
func (m *maker) write(o source, it item, to string) (st stamp, err error) {
	r, size, err := o.Open(plumbing.BlobObject, it.hash)
	if err != nil {
		return st, err
	}
	defer func() { _ = r.Close() }()
	if err := m.count(size); err != nil {
		return st, err
	}
	fd, err := syscall.Open(
		to,
		syscall.O_WRONLY|syscall.O_CREAT|syscall.O_EXCL|syscall.O_CLOEXEC|syscall.O_NOFOLLOW,
		it.perm(),
	)
	if err != nil {
		return st, &fs.PathError{Op: "open", Path: to, Err: err}
	}
	defer func() { err = errors.Join(err, syscall.Close(fd)) }()
	if _, err = io.CopyBuffer(descriptor(fd), r, o.buffer); err != nil {
		return st, errors.Join(err, os.Remove(to)) // a second run may create it again
	}
	if m.root {
		if err := syscall.Fchown(fd, m.s.cfg.UID, m.s.cfg.GID); err != nil {
			return st, err
		}
	}
	var info syscall.Stat_t
	if err := syscall.Fstat(fd, &info); err != nil {
		return st, err
	}
	if info.Size != size {
		return st, io.ErrUnexpectedEOF
	}
	return newStamp(&info, it.path), nil
}

// descriptor is the descriptor of an open file.
type descriptor int

// Write writes all of b.
func (d descriptor) Write(b []byte) (int, error) {
	done := 0
	for done < len(b) {
		n, err := syscall.Write(int(d), b[done:])
		if errors.Is(err, syscall.EINTR) {
			continue
		}
		if err != nil {
			return done, err
		}
		done += n
	}
	return done, nil
}

func (m *maker) mkdir(dir string) error { return errors.Join(os.Mkdir(dir, 0o755), m.chown(dir)) }

func (m *maker) chown(name string) error {
	if !m.root {
		return nil
	}
	return os.Lchown(name, m.s.cfg.UID, m.s.cfg.GID)
}

// whiteout makes the overlay's marker for a deleted path.
func (m *maker) whiteout(name string) error {
	if err := syscall.Mknod(name, syscall.S_IFCHR, 0); err != nil {
		return fmt.Errorf("%w: %w", errNoLayer, err)
	}
	return m.chown(name)
}
