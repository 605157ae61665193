package policy

import (
	"path"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// PathVerdict says whether edits of a file need a person, and the pattern
// that decided it; an empty pattern means that none matched.
type PathVerdict struct {
	Sensitive bool
	Pattern   string
}

// pathRule is one ordered rule; the last one that matches decides.
type pathRule struct {
	pattern   string // as written
	folded    string // as matched
	sensitive bool
}

func sensitiveRules(extra []SensitiveFile) []pathRule {
	out := make([]pathRule, 0, len(defaultSensitive)+len(extra))
	for _, p := range defaultSensitive {
		pattern, auto := strings.CutPrefix(p, "!")
		out = append(out, pathRule{pattern: pattern, folded: foldPath(pattern), sensitive: !auto})
	}
	for _, s := range extra {
		out = append(out, pathRule{pattern: s.Pattern, folded: foldPath(s.Pattern), sensitive: s.Approve != "auto"})
	}
	return out
}

// Sensitive reports whether edits of the file at name, relative to the root
// of the repository, need a person. Spelling does not matter: letter case,
// Unicode forms, invisible characters, "./", "a/../" and trailing dots and
// spaces are evened out first, the way the most forgiving file system would.
func (p *Policy) Sensitive(name string) PathVerdict {
	if p == nil || !p.ready {
		return PathVerdict{Sensitive: true, Pattern: "**"}
	}
	return p.lookUp(foldPath(name))
}

func (p *Policy) lookUp(folded string) PathVerdict {
	for i := len(p.sensitive) - 1; i >= 0; i-- {
		r := p.sensitive[i]
		if ok, err := doublestar.Match(r.folded, folded); err != nil || ok {
			return PathVerdict{Sensitive: r.sensitive, Pattern: r.pattern}
		}
	}
	return PathVerdict{}
}

// touches is Sensitive for paths as commands name them: they may be absolute,
// and they may be a directory that holds sensitive files.
func (p *Policy) touches(name string) PathVerdict {
	folded := foldPath(name)
	for rest := strings.TrimPrefix(folded, "/"); ; {
		if v := p.lookUp(rest); v.Sensitive {
			return v
		}
		if v := p.holds(rest); v.Sensitive {
			return v
		}
		_, after, more := strings.Cut(rest, "/")
		if !more || !strings.HasPrefix(folded, "/") {
			return PathVerdict{}
		}
		rest = after
	}
}

// holds reports whether dir is above files that a pattern with a fixed
// beginning makes sensitive.
func (p *Policy) holds(dir string) PathVerdict {
	for _, r := range p.sensitive {
		base, _ := doublestar.SplitPattern(r.folded)
		if r.sensitive && base != "." && (base == dir || strings.HasPrefix(base, dir+"/")) {
			return PathVerdict{Sensitive: true, Pattern: r.pattern}
		}
	}
	return PathVerdict{}
}

// foldPath maps every spelling of a path to one.
func foldPath(name string) string {
	s := strings.ReplaceAll(stripInvisible(name), `\`, "/")
	s = cases.Fold().String(norm.NFKC.String(s))
	s = stripInvisible(norm.NFKC.String(s))
	parts := strings.Split(s, "/")
	for i, part := range parts {
		if part != "." && part != ".." {
			parts[i] = strings.TrimRight(part, ". ")
		}
	}
	return path.Clean(strings.Join(parts, "/"))
}
