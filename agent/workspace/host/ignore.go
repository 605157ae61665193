package host

import (
	"io"
	"os"
	"path"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/bmatcuk/doublestar/v4"
)

// rule is one line of an ignore file.
type rule struct {
	pattern  string // doublestar, against the name or the path below the file's directory
	literal  bool   // compare, do not match
	suffix   bool   // pattern was "*…": compare the end
	begin    string // what matches begins with this and
	end      string // ends with this, which is quicker to see
	negate   bool
	dirOnly  bool
	nameOnly bool
}

// parseIgnore reads the lines of an ignore file as gitignore(5) says.
func parseIgnore(text string) []rule {
	var rules []rule
	for line := range strings.Lines(strings.TrimPrefix(text, "\uFEFF")) {
		if r, ok := parseRule(strings.TrimRight(line, "\r\n")); ok {
			rules = append(rules, r)
		}
	}
	return rules
}

func parseRule(line string) (rule, bool) {
	if strings.HasPrefix(line, "#") {
		return rule{}, false
	}
	for strings.HasSuffix(line, " ") && !strings.HasSuffix(line, `\ `) {
		line = line[:len(line)-1]
	}
	var r rule
	if strings.HasPrefix(line, "!") {
		r.negate, line = true, line[1:]
	}
	if strings.HasSuffix(line, "/") {
		r.dirOnly = true
		line = strings.TrimRight(line, "/")
	}
	if line == "" {
		return rule{}, false
	}
	r.nameOnly = !strings.Contains(line, "/")
	line = strings.TrimPrefix(line, "/")
	if inner, ok := strings.CutSuffix(line, "/**"); ok {
		line = inner + "/**/*" // what is in it, not it
	}
	line = strings.NewReplacer("{", `\{`, "}", `\}`).Replace(line)
	rest, star := strings.CutPrefix(line, "*")
	switch {
	case !strings.ContainsAny(line, `*?[\`):
		r.literal = true
	case r.nameOnly && star && !strings.ContainsAny(rest, `*?[\`):
		r.suffix, line = true, rest
	case !doublestar.ValidatePattern(line):
		return rule{}, false
	}
	r.pattern = line
	if !r.literal && !r.suffix {
		r.begin, r.end = fixed(line)
	}
	return r, true
}

// fixed returns how every name that a pattern matches begins and ends. A
// slash beside a ** may match nothing, so neither goes up to one.
func fixed(pattern string) (begin, end string) {
	const special = `*?[]\`
	begin = pattern[:strings.IndexAny(pattern, special)]
	begin = begin[:max(0, strings.LastIndexByte(begin, '/'))]
	if strings.ContainsAny(pattern, `[\`) { // a class may hold anything
		return begin, ""
	}
	return begin, pattern[strings.LastIndexAny(pattern, special+"/")+1:]
}

// match reports whether the rule is about rel, whose last element is name.
func (r *rule) match(rel, name string, dir bool) bool {
	if r.dirOnly && !dir {
		return false
	}
	if r.nameOnly {
		rel = name
	}
	switch {
	case r.literal:
		return r.pattern == rel
	case r.suffix:
		return strings.HasSuffix(rel, r.pattern)
	case !strings.HasPrefix(rel, r.begin) || !strings.HasSuffix(rel, r.end):
		return false
	}
	return doublestar.MatchUnvalidated(r.pattern, rel)
}

// decide returns what the last matching rule says. decided is false when no rule
// matches.
func decide(rules []rule, rel string, dir bool) (ignored, decided bool) {
	name := path.Base(rel)
	for i := len(rules) - 1; i >= 0; i-- {
		if rules[i].match(rel, name, dir) {
			return !rules[i].negate, true
		}
	}
	return false, false
}

// maxIgnoreFile is how much of an ignore file is read.
const maxIgnoreFile = 1 << 20

// ignores answers for all ignore files of one name in a tree. It reads a file when
// it is first needed, and again when it has changed, unless it is frozen.
type ignores struct {
	root   *os.Root
	name   string
	frozen bool

	mu     sync.RWMutex
	sealed bool // all there are have been read
	dirs   map[string]ruleFile
}

type ruleFile struct {
	rules []rule
	mtime time.Time
	size  int64
}

func newIgnores(root *os.Root, name string, frozen bool) *ignores {
	return &ignores{root: root, name: name, frozen: frozen, dirs: map[string]ruleFile{}}
}

// match reports whether rel, or a directory it lies in, is excluded.
func (ig *ignores) match(rel string, dir bool) bool {
	if rel == "." {
		return false
	}
	for end := 0; end < len(rel); end++ {
		if rel[end] == '/' && ig.matchOne(rel[:end], true) {
			return true
		}
	}
	return ig.matchOne(rel, dir)
}

// matchOne reports whether rel itself is excluded. Its parents must be known not
// to be.
func (ig *ignores) matchOne(rel string, dir bool) bool {
	for at := path.Dir(rel); ; at = path.Dir(at) {
		below := rel
		if at != "." {
			below = rel[len(at)+1:]
		}
		if rules := ig.rules(at); len(rules) > 0 {
			if ignored, decided := decide(rules, below, dir); decided {
				return ignored
			}
		}
		if at == "." {
			return false
		}
	}
}

func (ig *ignores) rules(dir string) []rule {
	ig.mu.RLock()
	known, ok := ig.dirs[dir]
	sealed := ig.sealed
	ig.mu.RUnlock()
	if ok || sealed {
		return known.rules
	}
	return ig.load(dir)
}

// load returns the rules of the ignore file of dir, if there is one. It reads the
// file the first time, and when it has changed.
func (ig *ignores) load(dir string) []rule {
	ig.mu.RLock()
	known, ok := ig.dirs[dir]
	ig.mu.RUnlock()
	if ok && ig.frozen {
		return known.rules
	}
	next := ig.readFile(path.Join(dir, ig.name), known)
	ig.mu.Lock()
	defer ig.mu.Unlock()
	if now, ok := ig.dirs[dir]; ok && ig.frozen {
		return now.rules // the first reading counts
	}
	ig.dirs[dir] = next
	return next.rules
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
	return ruleFile{rules: parseIgnore(string(text)), mtime: info.ModTime(), size: info.Size()}
}

// seal marks that every ignore file has been read. Directories that are not known
// then have none.
func (ig *ignores) seal() {
	ig.mu.Lock()
	ig.sealed = true
	ig.mu.Unlock()
}

// refresh makes load read ignore files again that may have changed.
func (ig *ignores) refresh() {
	ig.mu.Lock()
	defer ig.mu.Unlock()
	if !ig.frozen {
		clear(ig.dirs)
	}
}
