package gitdir

import (
	"bytes"
	"compress/zlib"
	"crypto/sha1"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"

	"github.com/handrail-bot/handrail/agent/workspace"
)

// Limits of a search for strays: refs, objects and bytes of one, and named files.
const (
	maxRefs    = 200
	maxObjects = 20_000
	maxObject  = 16 << 20
	maxNamed   = 5
)

// Tracked returns the names of the files in the index of the workspace's repository. It
// reads the versions of the index that git writes unless its configuration asks for another.
func Tracked(root *os.Root) map[string]bool {
	out := map[string]bool{}
	data := (&repository{root: root}).read(".git/index")
	if len(data) < head+sha1.Size || string(data[:4]) != "DIRC" || binary.BigEndian.Uint32(data[4:]) > 3 {
		return out
	}
	rest := data[head : len(data)-sha1.Size]
	for range binary.BigEndian.Uint32(data[8:]) {
		if len(rest) < fixed+2 {
			break
		}
		at := fixed
		if rest[fixed-2]&0x40 != 0 { // more flags
			at += 2
		}
		n := bytes.IndexByte(rest[at:], 0)
		entry := (at + n + 8) &^ 7
		if n < 1 || len(rest) < entry {
			break
		}
		out[string(rest[at:at+n])] = true
		rest = rest[entry:]
	}
	return out
}

// IsWorkTree reports whether a directory is a further work tree of the workspace's repository,
// as `git worktree add` makes them.
func IsWorkTree(root *os.Root, dir string) bool {
	link := string((&repository{root: root}).read(path.Join(dir, ".git")))
	return strings.HasPrefix(link, "gitdir: ") && strings.Contains(link, "/.git/worktrees/")
}

// Strays returns the branches and tags of the workspace's repository, its stash, and the
// commits that a checkout left, if they have commits that HEAD does not have, and contents
// that are neither in the files nor in HEAD. It sees only objects that were made in the
// workspace: git stores those one by one, and those of the base are in packs. Commits in
// found had all their contents in the files once; Strays adds to it. A commit is told once.
func Strays(root *os.Root, found map[string]bool) []workspace.Stray {
	r := &repository{root: root, left: maxObjects}
	refs := r.refs()
	if len(refs) == 0 {
		return nil
	}
	head, ours, kept := r.made(r.head(refs), nil), map[string]bool{}, map[string]bool(nil)
	for _, c := range head {
		ours[c.id] = true
	}
	var out []workspace.Stray
	for _, name := range slices.Sorted(maps.Keys(refs)) {
		commits := r.made(refs[name], ours)
		if len(commits) == 0 || found[refs[name]] {
			continue
		}
		if kept == nil {
			kept = r.contents(head)
		}
		s, files := workspace.Stray{Ref: name, Commits: len(commits)}, 0
		r.files(commits[0].tree, "", func(name, id string) {
			files++
			if !kept[id] && r.blobOf(name) != id {
				s.Paths = append(s.Paths, name)
			}
		})
		if len(s.Paths) == 0 && (files > 0 || kept[commits[0].tree]) { //control:stray-in-the-files
			found[refs[name]] = true
			continue
		}
		s.More = max(0, len(s.Paths)-maxNamed)
		s.Paths = s.Paths[:len(s.Paths)-s.More]
		out = append(out, s)
		for _, c := range commits {
			ours[c.id] = true
		}
	}
	return out
}

// contents returns the ids of the files and root directories of commits.
func (r *repository) contents(commits []commit) map[string]bool {
	ids := map[string]bool{}
	for _, c := range commits {
		ids[c.tree] = true
		r.files(c.tree, "", func(_, id string) { ids[id] = true })
	}
	return ids
}

// repository reads a git directory of a workspace. It is untrusted: malformed or oversized
// content counts as missing.
type repository struct {
	root *os.Root
	left int // objects that may still be read
}

// commit is a commit that was made in the workspace.
type commit struct {
	id, tree string
	parents  []string
}

// refs returns the commits of the branches, of the stash, of tags made in the workspace,
// and those that a checkout left, by the names of [workspace.Stray].
func (r *repository) refs() map[string]string {
	refs := map[string]string{}
	add := func(name, id string) {
		if isID(id) && len(refs) < maxRefs {
			refs[name] = id
		}
	}
	for line := range strings.Lines(string(r.read(".git/packed-refs"))) {
		id, name, _ := strings.Cut(strings.TrimSpace(line), " ")
		if strings.HasPrefix(name, "refs/heads/") || name == "refs/stash" {
			add(name, id)
		}
	}
	loose := func(name string) { add(name, strings.TrimSpace(string(r.read(path.Join(".git", name))))) }
	loose("refs/stash")
	for _, dir := range []string{".git/refs/heads", ".git/refs/tags"} {
		seen := 0
		_ = fs.WalkDir(r.root.FS(), dir, func(name string, d fs.DirEntry, err error) error { // no directory: no refs
			if seen++; err != nil || seen > 10*maxRefs {
				return fs.SkipAll
			}
			if d.Type().IsRegular() {
				loose(strings.TrimPrefix(name, ".git/"))
			}
			return nil
		})
	}
	for line := range strings.Lines(string(r.read(".git/logs/HEAD"))) {
		_, from, _ := strings.Cut(line, "\tcheckout: moving from ")
		id, _, _ := strings.Cut(from, " ") // a branch has its name there
		add(workspace.StrayCommit+id, id)
	}
	for name, id := range refs {
		if tag, ok := r.object(id, "tag"); ok && strings.HasPrefix(name, "refs/tags/") {
			first, _, _ := strings.Cut(string(tag), "\n")
			refs[name] = strings.TrimPrefix(first, "object ")
		}
	}
	return refs
}

// head returns the commit of HEAD.
func (r *repository) head(refs map[string]string) string {
	text := strings.TrimSpace(string(r.read(".git/HEAD")))
	if name, ok := strings.CutPrefix(text, "ref: "); ok {
		return refs[name]
	}
	return text
}

// made returns the commits made in the workspace that id contains, itself first, except
// those in without.
func (r *repository) made(id string, without map[string]bool) (list []commit) {
	known := map[string]bool{}
	for next := []string{id}; len(next) > 0; next = next[1:] {
		if known[next[0]] || without[next[0]] {
			continue
		}
		known[next[0]] = true
		if c, ok := r.commit(next[0]); ok {
			list, next = append(list, c), append(next, c.parents...)
		}
	}
	return list
}

func (r *repository) commit(id string) (commit, bool) {
	data, ok := r.object(id, "commit")
	c := commit{id: id}
	for line := range strings.Lines(string(data)) {
		key, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		switch {
		case key == "tree" && isID(value):
			c.tree = value
		case key == "parent" && isID(value):
			c.parents = append(c.parents, value)
		default:
			return c, ok && c.tree != ""
		}
	}
	return c, false
}

// files calls f for each file of a tree that was made in the workspace.
func (r *repository) files(tree, at string, f func(name, id string)) {
	data, _ := r.object(tree, "tree")
	for len(data) > 0 {
		mode, rest, ok := bytes.Cut(data, []byte(" "))
		name, rest, named := bytes.Cut(rest, []byte{0})
		if !ok || !named || len(rest) < sha1.Size {
			return
		}
		id := hex.EncodeToString(rest[:sha1.Size])
		data = rest[sha1.Size:]
		switch string(mode) {
		case "40000":
			r.files(id, at+string(name)+"/", f)
		case "160000":
		default:
			if _, made := r.object(id, "blob"); made {
				f(at+string(name), id)
			}
		}
	}
}

// object returns an object that was made in the workspace, if it has this kind.
func (r *repository) object(id, kind string) ([]byte, bool) {
	if r.left--; r.left < 0 || !isID(id) {
		return nil, false
	}
	packed := r.read(path.Join(".git/objects", id[:2], id[2:]))
	z, err := zlib.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, false
	}
	data, err := io.ReadAll(io.LimitReader(z, maxObject))
	head, content, ok := bytes.Cut(data, []byte{0})
	is, _, _ := strings.Cut(string(head), " ")
	return content, err == nil && ok && is == kind
}

// blobOf returns the id that git gives to a file of the tree; "" if there is none.
func (r *repository) blobOf(name string) string {
	data := r.read(name)
	if target, err := r.root.Readlink(name); err == nil {
		data = []byte(target)
	} else if _, err := r.root.Lstat(name); errors.Is(err, fs.ErrNotExist) {
		return ""
	}
	sum := sha1.Sum(append(fmt.Appendf(nil, "blob %d\x00", len(data)), data...))
	return hex.EncodeToString(sum[:])
}

// read returns the content of a regular file; nil if there is none, or it is too large.
func (r *repository) read(name string) []byte {
	f, err := r.root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil
	}
	defer func() { _ = f.Close() }()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() || info.Size() > maxObject {
		return nil
	}
	data, err := io.ReadAll(io.LimitReader(f, maxObject))
	if err != nil {
		return nil
	}
	return data
}

func isID(s string) bool { return len(s) == 2*sha1.Size && strings.Trim(s, "0123456789abcdef") == "" }
