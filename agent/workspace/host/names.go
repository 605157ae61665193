package host

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/handrail-bot/handrail/policy/typo"
)

// nameFit is the quality of a match.
type nameFit int

// Qualities of a match, best first.
const (
	fitExactly nameFit = iota // the whole path, or a glob as written
	fitName                   // the name, in another directory
	fitFolded                 // one of these ignoring case, or a glob at any depth
	stem                      // the name with another extension
	begin                     // a prefix of the name
	fitPart                   // a part of the name
	fitPath                   // a part of the path
	nearly                    // a few typing errors away
	not
)

// maxNames is the maximum length in bytes of a path to compare for typing errors.
const maxNames = 128

// finder rates how well paths match a query.
type finder struct {
	asked, folded string // without leading "./" and trailing "/"
	name, stem    string // parts of folded
	dirs          bool   // only directories
	glob          bool
	below         string // directory to search
}

// nameFinder returns a finder for paths below a directory; "." means all. A glob without "/"
// matches names at any depth. A pattern that ends in "/" matches directories.
func nameFinder(pattern, below string) (finder, error) {
	f := finder{below: below, dirs: strings.HasSuffix(pattern, "/")}
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

// nameFit rates a path. Like below, it is relative to the root.
func (f finder) Fit(p string, dir bool) nameFit {
	if f.dirs && !dir {
		return not
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
		return fitExactly
	case base == path.Base(f.asked):
		return fitName
	case name == f.name:
		return fitFolded
	case !dir && strings.TrimSuffix(name, path.Ext(name)) == f.stem:
		return stem
	case strings.HasPrefix(name, f.folded):
		return begin
	case strings.Contains(name, f.folded):
		return fitPart
	case strings.Contains(f.folded, "/") && strings.Contains(folded, f.folded): // otherwise the directory itself matches
		return fitPath
	case isNear(name, f.name):
		return nearly
	}
	return not
}

// fitGlob is Fit for a glob. A glob without a directory is matched against names.
func (f finder) fitGlob(rel string, dir bool) nameFit {
	of := rel
	if !strings.Contains(f.asked, "/") {
		of = path.Base(rel)
	}
	switch {
	case dir && !f.dirs:
	case doublestar.MatchUnvalidated(f.asked, of):
		return fitExactly
	case doublestar.MatchUnvalidated("**/"+f.folded, strings.ToLower(rel)):
		return fitFolded
	}
	return not
}

// isNear reports whether a name is a few typing errors away.
func isNear(name, asked string) bool {
	few := min(3, 1+len(asked)/6)
	if len(asked) < 3 || max(len(name), len(asked)) > maxNames || len(name)-len(asked) > few ||
		len(asked)-len(name) > few {
		return false
	}
	return typo.Errors(name, asked) <= few
}

// Sort puts the paths nearest to the query first.
func (f finder) Sort(list []string) {
	if f.glob || len(list) < 2 {
		return
	}
	far := make(map[string]int, len(list))
	for _, p := range list {
		far[p] = maxNames
		if low := strings.ToLower(p); len(low) <= maxNames && len(f.folded) <= maxNames {
			far[p] = typo.Errors(low, f.folded)
		}
	}
	slices.SortStableFunc(list, func(a, b string) int { return far[a] - far[b] })
}
