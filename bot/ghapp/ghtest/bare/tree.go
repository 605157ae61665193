package bare

import (
	"fmt"
	"strings"
)

// Exact returns the object of a full ref or revision expression, or "" if there is
// none.
func (d Dir) Exact(ref string) string {
	if sha := d.inFile(ref); sha != "" {
		return sha
	}
	sha, err := d.Line("rev-parse", "--verify", "--quiet", "--end-of-options", ref)
	if err != nil {
		return ""
	}
	return sha
}

// WriteTree writes nested trees from flat paths.
func (d Dir) WriteTree(files map[string]Entry) (string, error) {
	var lines strings.Builder
	below := map[string]map[string]Entry{}
	for name, e := range files {
		dir, rest, nested := strings.Cut(name, "/")
		if !nested {
			fmt.Fprintf(&lines, "%s %s %s\t%s\x00", e.Mode, e.Kind, e.SHA, name)
			continue
		}
		if below[dir] == nil {
			below[dir] = map[string]Entry{}
		}
		below[dir][rest] = e
	}
	for dir, sub := range below {
		sha, err := d.WriteTree(sub)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&lines, "040000 tree %s\t%s\x00", sha, dir)
	}
	out, err := d.Run([]byte(lines.String()), "mktree", "-z")
	return strings.TrimSpace(out), err
}

// Entry is one entry of a tree; Kind is blob, tree or commit.
type Entry struct{ Mode, Kind, SHA, Name string }

// Tree lists one level of a tree. p names a file or a directory.
func (d Dir) Tree(sha, p string) ([]Entry, error) {
	args := []string{"ls-tree", "-z", sha}
	if p != "" {
		args = append(args, "--", p)
	}
	out, err := d.Run(nil, args...)
	if err != nil {
		return nil, err
	}
	return entries(out), nil
}

// entries parses the output of ls-tree -z.
func entries(out string) []Entry {
	var list []Entry
	for l := range strings.SplitSeq(strings.TrimRight(out, "\x00"), "\x00") {
		meta, name, ok := strings.Cut(l, "\t")
		if f := strings.Fields(meta); ok && len(f) == 3 {
			list = append(list, Entry{f[0], f[1], f[2], name})
		}
	}
	return list
}

// Flat returns all files of a tree by path. An empty tree id means no files.
func (d Dir) Flat(tree string) (map[string]Entry, error) {
	files := map[string]Entry{}
	if tree == "" {
		return files, nil
	}
	out, err := d.Run(nil, "ls-tree", "-r", "-z", "--end-of-options", tree)
	if err != nil {
		return nil, err
	}
	for _, e := range entries(out) {
		files[e.Name] = e
	}
	return files, nil
}
