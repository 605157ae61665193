package host

import (
	"io"
	"os"
	"path"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/handrail-bot/handrail/policy/ignore"
)

// maxIgnoreFile is the number of bytes to read of an ignore file.
const maxIgnoreFile = 1 << 20

// ignores evaluates all ignore files of one name in a tree. It reads a file on first
// use and, unless frozen, again after a change.
type ignores struct {
	root   *os.Root
	name   string
	frozen bool
	own    ignore.Rules                  // for commits only; of no file in the tree, below those of the top
	folds  bool                          // patterns match in upper and lower case
	at     func(dir string) ignore.Rules // method value of rules

	mu     sync.RWMutex
	sealed bool // all existing files have been read
	dirs   map[string]ruleFile
}

type ruleFile struct {
	rules  ignore.Rules
	commit ignore.Rules // with own at the top
	mtime  time.Time
	size   int64
}

func newIgnores(root *os.Root, name string, frozen bool) *ignores {
	ig := &ignores{root: root, name: name, frozen: frozen, dirs: map[string]ruleFile{}}
	ig.at = ig.rules
	return ig
}

// match reports whether rel, or a directory above it, is excluded.
func (ig *ignores) match(rel string, dir bool) bool { return ignore.Match(rel, dir, ig.at) }

// matchNew reports whether rel, or a directory above it, is excluded from commits as long as
// git does not know it.
func (ig *ignores) matchNew(rel string, dir bool) bool {
	return ignore.Match(rel, dir, func(dir string) ignore.Rules { return ig.file(dir).commit })
}

func (ig *ignores) rules(dir string) ignore.Rules { return ig.file(dir).rules }

func (ig *ignores) file(dir string) ruleFile {
	ig.mu.RLock()
	known, ok := ig.dirs[dir]
	sealed := ig.sealed
	ig.mu.RUnlock()
	if ok || sealed {
		return known
	}
	return ig.load(dir)
}

// load returns the rules of the ignore file in dir, if any. It reads the file on first
// use and, unless frozen, after a change.
func (ig *ignores) load(dir string) ruleFile {
	ig.mu.RLock()
	known, ok := ig.dirs[dir]
	ig.mu.RUnlock()
	if ok && ig.frozen {
		return known
	}
	next := ig.readFile(path.Join(dir, ig.name), known)
	if ig.folds { //control:case-of-ignores
		next.rules = next.rules.Caseless()
	}
	if next.commit = next.rules; dir == "." && len(ig.own) > 0 {
		next.commit = slices.Concat(ig.own, next.rules)
	}
	ig.mu.Lock()
	defer ig.mu.Unlock()
	if now, ok := ig.dirs[dir]; ok && ig.frozen {
		return now // the first read counts
	}
	ig.dirs[dir] = next
	return next
}

func (ig *ignores) readFile(name string, known ruleFile) ruleFile {
	f, err := ig.root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return ruleFile{}
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return ruleFile{}
	}
	if info.ModTime().Equal(known.mtime) && info.Size() == known.size {
		return known
	}
	text, err := io.ReadAll(io.LimitReader(f, maxIgnoreFile))
	if err != nil {
		return ruleFile{}
	}
	return ruleFile{rules: ignore.Parse(string(text)), mtime: info.ModTime(), size: info.Size()}
}

// seal marks that every ignore file has been read. Unknown directories then have no
// rules.
func (ig *ignores) seal() {
	ig.mu.Lock()
	ig.sealed = true
	ig.mu.Unlock()
}

// refresh makes load check ignore files for changes again.
func (ig *ignores) refresh() {
	ig.mu.Lock()
	defer ig.mu.Unlock()
	if !ig.frozen {
		clear(ig.dirs)
	}
}
