package host

import (
	"bytes"
	"crypto/sha1"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/handrail-bot/handrail/agent/workspace"
)

// Limits of a search for strays: refs, and named files.
const (
	maxRefs  = 200
	maxNamed = 5
)

// trackedFiles returns the names of the files in the index of the workspace's repository. It
// reads the versions of the index that git writes unless its configuration asks for another.
func trackedFiles(root *os.Root) map[string]bool {
	out := map[string]bool{}
	data := (&objects{root: root}).read(".git/index")
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

// isWorkTree reports whether a directory is a further work tree of the workspace's repository,
// as `git worktree add` makes them.
func isWorkTree(root *os.Root, dir string) bool {
	link := string((&objects{root: root}).read(path.Join(dir, ".git")))
	return strings.HasPrefix(link, "gitdir: ") && strings.Contains(link, "/.git/worktrees/")
}

// seenDirectories is the memory of a workspace's searches for strays. The zero value is empty.
type seenDirectories struct {
	kinds   map[string]kind
	commits map[string]*commit
	found   map[string]bool // commits of which all contents were in the files once
	told    map[string]bool // commits that were told by their ref
}

// strays returns the commits in the workspace's repository that HEAD does not have, with
// contents that are neither in the files nor in HEAD: by the ref that leads to them, else by
// the id. It sees only objects that were made in the workspace: those of the base are in a
// directory of their own. A commit is told once. One without a ref is not told if
// another replaced it, or if it was told by a ref that was dropped.
func strays(root *os.Root, seen *seenDirectories) []workspace.Stray {
	if seen.commits == nil {
		*seen = seenDirectories{map[string]kind{}, map[string]*commit{}, map[string]bool{}, map[string]bool{}}
	}
	s := &search{objects: newObjects(root), seenDirectories: seen, ours: map[string]bool{}}
	defer s.close()
	refs := s.refs()
	if s.head = s.made(s.headOf(refs), nil); len(s.read(".git/HEAD")) == 0 {
		return nil
	}
	s.known(s.head)
	loose := s.loose(refs)
	for _, name := range slices.Sorted(maps.Keys(refs)) {
		s.tell(name, refs[name])
	}
	for _, id := range loose {
		s.tell(workspace.StrayCommit+id, id)
	}
	return s.out
}

// search is one search for strays.
type search struct {
	*objects
	*seenDirectories

	head []commit        // commits made in the workspace that HEAD contains
	kept map[string]bool // their contents; nil until they are needed
	ours map[string]bool // commits of HEAD, and those that were told
	out  []workspace.Stray
}

// commit is a commit that was made in the workspace.
type commit struct {
	id, tree string
	parents  []string
}

// tell adds a commit to the result, with those that it contains, unless they are known.
func (s *search) tell(name, id string) {
	commits := s.made(id, s.ours)
	if len(commits) == 0 || s.found[id] {
		return
	}
	if s.kept == nil {
		s.kept = s.contents(s.head)
	}
	out, files := workspace.Stray{Ref: name, Commits: len(commits)}, 0
	for _, c := range tips(commits) {
		s.files(c.tree, "", func(name, id string) {
			files++
			if !s.kept[id] && s.blobOf(name) != id && !slices.Contains(out.Paths, name) {
				out.Paths = append(out.Paths, name)
			}
		})
	}
	if len(out.Paths) == 0 && (files > 0 || s.kept[commits[0].tree]) { //control:stray-in-the-files
		s.found[id] = true
		return
	}
	out.More = max(0, len(out.Paths)-maxNamed)
	out.Paths = out.Paths[:len(out.Paths)-out.More]
	s.out = append(s.out, out)
	s.known(commits)
	if !strings.HasPrefix(name, workspace.StrayCommit) {
		s.told[id] = true
	}
}

func (s *search) known(commits []commit) {
	for _, c := range commits {
		s.ours[c.id] = true
	}
}

// tips returns the first of commits, and those of its parents that have none: a stash has
// untracked files in such a one.
func tips(commits []commit) []commit {
	out, first := commits[:1:1], commits[0]
	for _, c := range commits[1:] {
		if len(first.parents) > 1 && len(c.parents) == 0 && slices.Contains(first.parents, c.id) { //control:stash-of-untracked
			out = append(out, c)
		}
	}
	return out
}

// contents returns the ids of the files and root directories of commits.
func (s *search) contents(commits []commit) map[string]bool {
	ids := map[string]bool{}
	for _, c := range commits {
		ids[c.tree] = true
		s.files(c.tree, "", func(_, id string) { ids[id] = true })
	}
	return ids
}

// loose returns the commits, sorted, that HEAD, the refs, and other commits do not contain.
func (s *search) loose(refs map[string]string) (out []string) {
	reached, inner := map[string]bool{}, map[string]bool{} // inner are in other commits
	reach := func(commits []commit) {
		for _, c := range commits {
			reached[c.id] = true
		}
	}
	reach(s.head)
	for _, id := range refs {
		reach(s.made(id, reached))
	}
	for id := range s.told {
		reach(s.made(id, reached))
	}
	for _, id := range s.replaced() { //control:replaced-is-no-stray
		reach(s.made(id, reached))
	}
	for _, id := range s.commitIDs(s.kinds) {
		if c, ok := s.commit(id); ok && !reached[id] {
			out = append(out, id)
			for _, p := range c.parents {
				inner[p] = true
			}
		}
	}
	if s.left < 0 {
		return nil // too many to know all that the refs contain
	}
	out = slices.DeleteFunc(out, func(id string) bool { return inner[id] })
	slices.Sort(out)
	return out
}

// replaced returns the commits that an amended or a rebased one replaced, as far as git
// noted it.
func (s *search) replaced() (out []string) {
	for line := range strings.Lines(string(s.read(".git/logs/HEAD"))) {
		ids, how, _ := strings.Cut(line, "\t")
		old, _, _ := strings.Cut(ids, " ")
		how, _, _ = strings.Cut(how, ":")
		for _, end := range []string{"(amend)", "(start)", "(squash)", "(fixup)"} {
			if strings.HasSuffix(how, end) {
				out = append(out, old)
			}
		}
	}
	return out
}

// refs returns the commits of the refs, by their full names.
func (s *search) refs() map[string]string {
	refs := map[string]string{}
	add := func(name, id string) {
		if strings.HasPrefix(name, "refs/") && isID(id) && len(refs) < maxRefs {
			refs[name] = id
		}
	}
	for line := range strings.Lines(string(s.read(".git/packed-refs"))) {
		id, name, _ := strings.Cut(strings.TrimSpace(line), " ")
		add(name, id)
	}
	seen := 0
	_ = fs.WalkDir(s.root.FS(), ".git/refs", func(name string, d fs.DirEntry, err error) error { // no directory: no refs
		if seen++; err != nil || seen > 10*maxRefs {
			return fs.SkipAll
		}
		if d.Type().IsRegular() {
			add(strings.TrimPrefix(name, ".git/"), strings.TrimSpace(string(s.read(name))))
		}
		return nil
	})
	for name, id := range refs {
		for range 10 { // a tag may be of a tag
			tag, ok := s.object(id, kindTag)
			if !ok {
				break
			}
			first, _, _ := strings.Cut(string(tag), "\n")
			id = strings.TrimPrefix(first, "object ")
		}
		refs[name] = id
	}
	return refs
}

// headOf returns the commit of HEAD.
func (s *search) headOf(refs map[string]string) string {
	text := strings.TrimSpace(string(s.read(".git/HEAD")))
	name, ok := strings.CutPrefix(text, "ref: ")
	switch {
	case !ok:
		return text
	case refs[name] == "": // it may be one of too many
		return strings.TrimSpace(string(s.read(path.Join(".git", name))))
	}
	return refs[name]
}

// made returns the commits made in the workspace that id contains, itself first, except
// those in without.
func (s *search) made(id string, without map[string]bool) (list []commit) {
	known := map[string]bool{}
	for next := []string{id}; len(next) > 0; next = next[1:] {
		if known[next[0]] || without[next[0]] {
			continue
		}
		known[next[0]] = true
		if c, ok := s.commit(next[0]); ok {
			list, next = append(list, c), append(next, c.parents...)
		}
	}
	return list
}

// commit returns a commit that was made in the workspace.
func (s *search) commit(id string) (commit, bool) {
	if c := s.commits[id]; c != nil {
		return *c, true
	}
	data, ok := s.object(id, kindCommit)
	if !ok {
		return commit{}, false
	}
	header, _, _ := strings.Cut(string(data), "\n\n")
	c := &commit{id: id}
	for line := range strings.Lines(header) {
		key, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		switch {
		case key == "tree" && isID(value):
			c.tree = value
		case key == "parent" && isID(value):
			c.parents = append(c.parents, value)
		}
	}
	if c.tree == "" {
		return commit{}, false
	}
	s.commits[id] = c
	return *c, true
}

// files calls f for each file of a tree that was made in the workspace.
func (s *search) files(tree, at string, f func(name, id string)) {
	data, _ := s.object(tree, kindTree)
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
			s.files(id, at+string(name)+"/", f)
		case "160000":
		default:
			if s.has(id) {
				f(at+string(name), id)
			}
		}
	}
}

// blobOf returns the id that git gives to a file of the tree; "" if there is none.
func (s *search) blobOf(name string) string {
	data := s.read(name)
	if target, err := s.root.Readlink(name); err == nil {
		data = []byte(target)
	} else if _, err := s.root.Lstat(name); errors.Is(err, fs.ErrNotExist) {
		return ""
	}
	sum := sha1.Sum(append(fmt.Appendf(nil, "blob %d\x00", len(data)), data...))
	return hex.EncodeToString(sum[:])
}
