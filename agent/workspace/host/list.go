package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"

	"github.com/handrail-bot/handrail/agent/workspace"
)

const (
	defaultEntries = 1000
	maxEntries     = 20_000
	maxWalked      = 2_000_000 // maximum number of entries visited to find a name
	defaultFound   = 100
	maxKept        = 2000 // paths kept per rank of match
)

var errWalked = errors.New("walked far enough")

// list lists a directory. Each directory comes before its entries.
func (h *host) list(ctx context.Context, p workspace.PathParams) (workspace.Listing, error) {
	rel, err := h.dir(string(p.Path))
	if err != nil {
		return workspace.Listing{}, err
	}
	limit := p.Max
	if limit <= 0 {
		limit = defaultEntries
	}
	limit = min(limit, maxEntries)
	out := workspace.Listing{Base: rel, Entries: []workspace.Entry{}}
	w := h.visible(func(n *node) (bool, error) {
		if len(out.Entries) == limit {
			if out.Left++; out.Left == workspace.MaxLeft {
				return false, errWalked
			}
			return p.Recursive, nil
		}
		e := workspace.Entry{Path: validName(n.path), Size: n.stat.Size}
		if n.isDir() {
			e.Path, e.Size = e.Path+"/", 0
		}
		out.Entries = append(out.Entries, e)
		return p.Recursive, nil
	})
	if err := w.walk(ctx, rel); err != nil && !errors.Is(err, errWalked) {
		return workspace.Listing{}, fmt.Errorf("list %s: %w", rel, err)
	}
	return out, nil
}

// find finds files by name: the best matches first, and equal ones by their distance from
// the given path.
func (h *host) find(ctx context.Context, q workspace.NameQuery) (workspace.Names, error) {
	out := workspace.Names{Paths: []string{}}
	rel, err := h.dir(q.Path)
	if err != nil {
		return out, err
	}
	f, err := nameFinder(q.Pattern, rel)
	if err != nil {
		return out, err
	}
	var fits [not][]string
	var count [not]int
	walked := 0
	w := h.visible(func(n *node) (bool, error) {
		if walked++; walked > maxWalked {
			return false, errWalked
		}
		p := validName(n.path)
		if at := f.Fit(p, n.isDir()); at < not {
			if count[at]++; len(fits[at]) < maxKept {
				if n.isDir() {
					p += "/"
				}
				fits[at] = append(fits[at], p)
			}
		}
		return true, nil
	})
	if err := w.walk(ctx, rel); err != nil && !errors.Is(err, errWalked) {
		return out, fmt.Errorf("find in %s: %w", rel, err)
	}
	most := min(cmp.Or(max(q.Max, 0), defaultFound), maxEntries)
	for at, list := range fits {
		if at == int(nearly) {
			if len(out.Paths) > 0 {
				break
			}
			out.Near = len(list) > 0
		}
		f.Sort(list)
		take := min(len(list), most-len(out.Paths))
		out.Paths = append(out.Paths, list[:take]...)
		out.Left += count[at] - take
	}
	return out, nil
}

// dir resolves a directory for listing and searching.
func (h *host) dir(p string) (string, error) {
	if p == "" {
		p = "."
	}
	rel, err := h.clean(p)
	if err != nil {
		return "", err
	}
	f, info, err := h.open(rel)
	if err != nil {
		return "", err
	}
	defer f.Close()
	if !info.IsDir() {
		return "", fmt.Errorf("list %s: it is a file, not a directory", rel)
	}
	return h.inside(f, rel), nil
}

// visible returns a walker over the files shown by listings and searches. It leaves out
// git's own directories and ignored paths, and enters the other repositories only if it
// begins in them.
func (h *host) visible(visit func(n *node) (bool, error)) *walker {
	h.git.refresh()
	git := known{ig: h.git, has: map[string]bool{}}
	agent := known{ig: h.agent}
	return &walker{
		root:  h.root,
		enter: func(dir string, names []string) { git.has[dir] = slices.Contains(names, h.git.name) },
		visit: func(n *node) (bool, error) {
			dir := n.isDir()
			if path.Base(n.path) == ".git" || agent.match(n.path, dir) || git.match(n.path, dir) {
				return false, nil
			}
			into, err := visit(n)
			return into && n.path != workspace.OthersDir, err //control:other-repository-apart
		},
	}
}

// isReadable matches the entries of a walk against ignore files. The walk never enters
// excluded directories, so parents need no check. Directories known to have no ignore
// file are skipped without opening one.
type known struct {
	ig  *ignores
	has map[string]bool
}

func (k known) match(rel string, dir bool) bool {
	for at := path.Dir(rel); ; at = path.Dir(at) {
		if has, seen := k.has[at]; !seen || has {
			below := rel
			if at != "." {
				below = rel[len(at)+1:]
			}
			if ignored, decided := k.ig.rules(at).Decide(below, dir); decided {
				return ignored
			}
		}
		if at == "." {
			return false
		}
	}
}
