package host

import (
	"cmp"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/handrail-bot/handrail/agent/workspace"
	"github.com/handrail-bot/handrail/agent/workspace/outline"
)

// Default limits of an outline in bytes: about 2,000 tokens for a directory, and twice
// that for one file, of which no smaller part can be requested.
const (
	maxDefined = 7000
	maxOfFile  = 14_000
	maxUnknown = 10 // number of extensions
)

// definitions collects the definitions of files. Add may be called concurrently.
type definitions struct {
	base    string // directory or file
	dir     bool
	mu      sync.Mutex
	files   []workspace.FileOutline
	defs    []ranked
	unknown map[string]bool
}

// ranked is a definition with its rank; a lower rank is more important.
type ranked struct {
	file, at, parent int // parent is an index in the same file, or -1
	rank             int
	below            int // number of directories between the base and the file
}

// newDefinitions starts an outline of a directory or a file.
func newDefinitions(base string, dir bool) *definitions {
	return &definitions{base: base, dir: dir, unknown: map[string]bool{}}
}

// isSource reports whether a file has a supported language, by its name.
func isSource(name string) bool { return outline.Language(name) != "" }

// Knows is isSource. It also records the extensions of unsupported files that look like
// source code.
func (d *definitions) Knows(name string) bool {
	if isSource(name) {
		return true
	}
	if ext := path.Ext(name); ext != "" && ext != path.Base(name) && !dataExtensions[strings.ToLower(ext)] &&
		len(d.unknown) < maxUnknown {
		d.unknown[ext] = true
	}
	return false
}

// dataExtensions has the extensions of files without definitions.
var dataExtensions = map[string]bool{
	".md":     true,
	".txt":    true,
	".json":   true,
	".yml":    true,
	".yaml":   true,
	".toml":   true,
	".xml":    true,
	".html":   true,
	".css":    true,
	".scss":   true,
	".svg":    true,
	".png":    true,
	".jpg":    true,
	".gif":    true,
	".ico":    true,
	".lock":   true,
	".sum":    true,
	".mod":    true,
	".csv":    true,
	".golden": true,
	".txtar":  true,
	".pdf":    true,
	".zip":    true,
	".gz":     true,
	".ini":    true,
	".cfg":    true,
	".snap":   true,
	".rst":    true,
}

// Add adds the definitions of a file.
func (d *definitions) Add(name string, text []byte) {
	defs, how, ok := outline.Of(name, text)
	defs = slices.CompactFunc(defs, func(a, b outline.Def) bool { return a.Line == b.Line }) // show each line once
	d.mu.Lock()
	defer d.mu.Unlock()
	if !ok {
		d.unknown[cmp.Or(path.Ext(name), path.Base(name))] = true
		return
	}
	if len(defs) == 0 && d.dir {
		return
	}
	f := workspace.FileOutline{Path: name, How: how, Defs: make([]workspace.Definition, len(defs))}
	below := 0
	if rest := strings.TrimPrefix(name, d.base+"/"); d.dir {
		below = strings.Count(rest, "/")
	}
	var open []int // possible parents of the next definition
	for i, def := range defs {
		f.Defs[i] = workspace.Definition{Line: def.Line, Depth: def.Depth, Text: def.Text}
		open = open[:min(def.Depth, len(open))]
		r := ranked{file: len(d.files), at: i, parent: -1, rank: rank(name, def), below: below}
		if n := len(open); n > 0 {
			r.parent = open[n-1]
			r.rank = max(r.rank, d.defs[len(d.defs)-i+r.parent].rank)
		}
		open = append(open, i)
		d.defs = append(d.defs, r)
	}
	d.files = append(d.files, f)
}

// rank returns the rank of a definition; a lower rank is more important.
func rank(name string, def outline.Def) int {
	r := 0
	switch {
	case def.Exported && def.IsType():
	case def.Exported && def.Depth == 0:
		r = 1
	case def.Exported:
		r = 2
	case def.IsType():
		r = 3
	default:
		r = 4
	}
	if def.Depth > 1 {
		r += 3
	}
	if workspace.IsTest(name) {
		r += 8
	}
	return r
}

// Outline returns the most important definitions that fit into most bytes; 0 means the
// default. unread is the number of files not added.
func (d *definitions) Outline(most, unread int) workspace.Outline {
	if most <= 0 {
		most = maxOfFile
		if d.dir {
			most = maxDefined
		}
	}
	slices.SortStableFunc(d.defs, func(a, b ranked) int {
		return cmp.Or(
			cmp.Compare(min(a.below, 1), min(b.below, 1)),
			cmp.Compare(a.rank, b.rank),
			cmp.Compare(a.below, b.below),
			strings.Compare(d.files[a.file].Path, d.files[b.file].Path),
			cmp.Compare(a.at, b.at),
		)
	})
	keep := make([]map[int]bool, len(d.files))
	full := false
	for _, r := range d.defs {
		f := d.files[r.file]
		size := len(f.Defs[r.at].Text) + len(strconv.Itoa(f.Defs[r.at].Line)) + 4 + 2*f.Defs[r.at].Depth
		if keep[r.file] == nil {
			size += len(f.Path) + 40
		}
		if full = full || size > most; full || r.parent >= 0 && !keep[r.file][r.parent] {
			continue
		}
		if keep[r.file] == nil {
			keep[r.file] = map[int]bool{}
		}
		keep[r.file][r.at] = true
		most -= size
	}
	return d.reduce(keep, unread)
}

// reduce returns the outline reduced to the definitions in keep.
func (d *definitions) reduce(keep []map[int]bool, unread int) workspace.Outline {
	out := workspace.Outline{Files: []workspace.FileOutline{}, Unread: unread}
	for i, f := range d.files {
		if len(keep[i]) == 0 && len(f.Defs) > 0 {
			out.More++
			out.Left += len(f.Defs)
			continue
		}
		all := f.Defs
		f.Defs = make([]workspace.Definition, 0, len(keep[i]))
		for k, def := range all {
			if keep[i][k] {
				f.Defs = append(f.Defs, def)
			}
		}
		f.Left = len(all) - len(f.Defs)
		out.Left += f.Left
		out.Files = append(out.Files, f)
	}
	slices.SortFunc(out.Files, func(a, b workspace.FileOutline) int {
		return cmp.Or(cmp.Compare(strings.Count(a.Path, "/"), strings.Count(b.Path, "/")), strings.Compare(a.Path, b.Path))
	})
	for ext := range d.unknown {
		out.Unknown = append(out.Unknown, ext)
	}
	slices.Sort(out.Unknown)
	return out
}
