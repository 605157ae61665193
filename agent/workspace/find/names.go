package find

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/handrail-bot/handrail/policy/typo"
)

// Fit is the quality of a match.
type Fit int

// Qualities of a match, best first.
const (
	Exactly Fit = iota // the whole path, or a glob as written
	Name               // the name, in another directory
	Folded             // one of these ignoring case, or a glob at any depth
	Stem               // the name with another extension
	Begin              // a prefix of the name
	Part               // a part of the name
	Path               // a part of the path
	Nearly             // a few typing errors away
	Not
)

// maxCompared is the maximum length in bytes of a path to compare for typing errors.
const maxCompared = 128

// Finder rates how well paths match a query.
type Finder struct {
	asked, folded string // without leading "./" and trailing "/"
	name, stem    string // parts of folded
	dirs          bool   // only directories
	glob          bool
	below         string // directory to search
}

// Names returns a finder for paths below a directory; "." means all. A glob without "/"
// matches names at any depth. A pattern that ends in "/" matches directories.
func Names(pattern, below string) (Finder, error) {
	f := Finder{below: below, dirs: strings.HasSuffix(pattern, "/")}
	f.asked = strings.Trim(strings.TrimPrefix(strings.TrimSpace(pattern), "./"), "/")
	if f.asked == "" {
		return f, errors.New("find: the name is empty")
	}
	f.folded = strings.ToLower(f.asked)
	f.name = path.Base(f.folded)
	f.stem = strings.TrimSuffix(f.name, path.Ext(f.name))
	if f.glob = strings.ContainsAny(f.asked, "*?[{"); f.glob && !doublestar.ValidatePattern(f.asked) {
		return f, fmt.Errorf("find: %q is not a valid glob", f.asked)
	}
	return f, nil
}

// Fit rates a path. Like below, it is relative to the root.
func (f Finder) Fit(p string, dir bool) Fit {
	if f.dirs && !dir {
		return Not
	}
	rel := p
	if f.below != "." {
		rel = strings.TrimPrefix(p, f.below+"/")
	}
	if f.glob {
		return f.fitGlob(rel, dir)
	}
	base, folded := path.Base(rel), strings.ToLower(rel)
	name := path.Base(folded)
	switch {
	case rel == f.asked || p == f.asked:
		return Exactly
	case base == path.Base(f.asked):
		return Name
	case name == f.name:
		return Folded
	case !dir && strings.TrimSuffix(name, path.Ext(name)) == f.stem:
		return Stem
	case strings.HasPrefix(name, f.folded):
		return Begin
	case strings.Contains(name, f.folded):
		return Part
	case strings.Contains(f.folded, "/") && strings.Contains(folded, f.folded): // otherwise the directory itself matches
		return Path
	case isNear(name, f.name):
		return Nearly
	}
	return Not
}

// fitGlob is Fit for a glob. A glob without a directory is matched against names.
func (f Finder) fitGlob(rel string, dir bool) Fit {
	of := rel
	if !strings.Contains(f.asked, "/") {
		of = path.Base(rel)
	}
	switch {
	case dir && !f.dirs:
	case doublestar.MatchUnvalidated(f.asked, of):
		return Exactly
	case doublestar.MatchUnvalidated("**/"+f.folded, strings.ToLower(rel)):
		return Folded
	}
	return Not
}

// isNear reports whether a name is a few typing errors away.
func isNear(name, asked string) bool {
	few := min(3, 1+len(asked)/6)
	if len(asked) < 3 || max(len(name), len(asked)) > maxCompared || len(name)-len(asked) > few ||
		len(asked)-len(name) > few {
		return false
	}
	return typo.Errors(name, asked) <= few
}

// Sort puts the paths nearest to the query first.
func (f Finder) Sort(list []string) {
	if f.glob || len(list) < 2 {
		return
	}
	far := make(map[string]int, len(list))
	for _, p := range list {
		far[p] = maxCompared
		if low := strings.ToLower(p); len(low) <= maxCompared && len(f.folded) <= maxCompared {
			far[p] = typo.Errors(low, f.folded)
		}
	}
	slices.SortStableFunc(list, func(a, b string) int { return far[a] - far[b] })
}
