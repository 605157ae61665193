package policy

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode"

	"github.com/bmatcuk/doublestar/v4"
	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"

	"github.com/handrail-bot/handrail/policy/untrusted"
)

// PathVerdict is the decision whether edits of a file need approval, with the deciding
// pattern. The pattern is empty if none matched.
type PathVerdict struct {
	Sensitive bool
	Pattern   string
}

// maxPathBytes is the maximum length of a path in bytes, as in the operating system.
const maxPathBytes = 4096

// pathRule is one ordered rule; the last matching rule decides.
type pathRule struct {
	pattern   string // as written
	folded    string // as matched
	sensitive bool
}

// sensitiveLayers returns the rules of a configuration and of those above it. A file is
// sensitive if any layer says so: a repository cannot free files that the server makes
// sensitive. The built-in rules are the beginning of the topmost layer, so that its own
// entries can free files again.
func sensitiveLayers(c Config) [][]pathRule {
	if c.Above == nil {
		return [][]pathRule{append(builtinRules(), rulesOf(c.SensitiveFiles)...)}
	}
	return append(sensitiveLayers(*c.Above), rulesOf(c.SensitiveFiles))
}

func builtinRules() []pathRule {
	out := make([]pathRule, 0, len(defaultSensitive))
	for _, p := range defaultSensitive {
		pattern, auto := strings.CutPrefix(p, "!")
		out = append(out, pathRule{pattern: pattern, folded: foldPattern(pattern), sensitive: !auto})
	}
	return out
}

func rulesOf(list []SensitiveFile) []pathRule {
	out := make([]pathRule, 0, len(list))
	for _, s := range list {
		out = append(out, pathRule{pattern: s.Pattern, folded: foldPattern(s.Pattern), sensitive: s.Approve != "auto"})
	}
	return out
}

// foldPattern converts a glob to match folded paths. A glob without a slash matches the
// name at any depth. One with a leading slash matches from the root, one with a trailing
// slash matches everything below.
func foldPattern(pattern string) string {
	s := cases.Fold().String(norm.NFKC.String(untrusted.StripInvisible(strings.TrimSpace(pattern))))
	s = strings.TrimPrefix(s, "./")
	rooted := strings.HasPrefix(s, "/")
	if strings.HasSuffix(s, "/") {
		s += "**"
	}
	s = strings.TrimLeft(s, "/")
	if !rooted && !strings.Contains(s, "/") {
		s = "**/" + s
	}
	return s
}

// Sensitive reports whether edits of the file at name, relative to the root of the
// repository, need approval. Spelling does not matter: letter case, Unicode forms,
// invisible characters, backslashes, "./", "a/../", stream suffixes, and trailing dots
// and spaces are normalized first, as the most forgiving file system would. A file is
// sensitive if any reading of its name is.
func (p *Policy) Sensitive(name string) PathVerdict {
	if p == nil || !p.ready || len(name) > maxPathBytes { //control:policy-path-length
		return PathVerdict{Sensitive: true, Pattern: "**"}
	}
	var last PathVerdict
	for _, reading := range readings(name) {
		v := p.lookUp(reading)
		if v.Sensitive {
			return v
		}
		last = v
	}
	return last
}

// Changes is like Sensitive for an effect. A symlink may point to a directory, so it is
// also sensitive if files below its path would be.
func (p *Policy) Changes(e Effect) PathVerdict {
	if v := p.Sensitive(e.Path); v.Sensitive || !strings.HasPrefix(e.Is, symlinkMode) {
		return v
	}
	return p.Touches(e.Path) //control:sensitive-link
}

func (p *Policy) lookUp(folded string) PathVerdict {
	var last PathVerdict
	for _, layer := range p.sensitive {
		v := lookUpIn(layer, folded)
		if v.Sensitive {
			return v
		}
		if v.Pattern != "" {
			last = v
		}
	}
	return last
}

func lookUpIn(layer []pathRule, folded string) PathVerdict {
	for i := len(layer) - 1; i >= 0; i-- {
		r := layer[i]
		if ok, err := doublestar.Match(r.folded, folded); err != nil || ok {
			return PathVerdict{Sensitive: r.sensitive || err != nil, Pattern: r.pattern}
		}
	}
	return PathVerdict{}
}

// Touches is like Sensitive for paths in commands, which may be absolute, globs, or
// directories that contain sensitive files.
func (p *Policy) Touches(name string) PathVerdict {
	if len(name) > maxPathBytes { // cannot exist, and matching it would be slow
		return PathVerdict{Sensitive: true, Pattern: "**"}
	}
	for _, folded := range readings(name) {
		rest := strings.TrimPrefix(folded, "/")
		for {
			if v := p.lookUp(rest); v.Sensitive {
				return v
			}
			if v := p.sensitiveBelow(rest); v.Sensitive {
				return v
			}
			_, after, more := strings.Cut(rest, "/")
			if !more || !strings.HasPrefix(folded, "/") {
				break
			}
			rest = after
		}
	}
	return PathVerdict{}
}

// sensitiveBelow returns the verdict for the files below dir, which may end in a glob. It
// considers only patterns with a fixed directory prefix.
func (p *Policy) sensitiveBelow(dir string) PathVerdict {
	base, rest := doublestar.SplitPattern(dir)
	if rest == "" || !strings.ContainsAny(rest, "*?[{") {
		base = dir
	}
	for _, layer := range p.sensitive {
		for _, r := range layer {
			fixed, _ := doublestar.SplitPattern(r.folded)
			if !r.sensitive || fixed == "." || fixed != base && !strings.HasPrefix(fixed, base+"/") {
				continue
			}
			if v := lookUpIn(layer, example(r.folded)); v.Sensitive {
				return PathVerdict{Sensitive: true, Pattern: r.pattern}
			}
		}
	}
	return PathVerdict{}
}

// example returns a path that the glob matches, at least approximately: close enough to
// find out whether a later rule frees the files that the glob matches.
func example(glob string) string {
	for {
		open := strings.IndexByte(glob, '{')
		end := strings.IndexByte(glob[open+1:], '}')
		if open < 0 || end < 0 {
			break
		}
		first, _, _ := strings.Cut(glob[open+1:open+1+end], ",")
		glob = glob[:open] + first + glob[open+1+end+1:]
	}
	return strings.NewReplacer("**", "x", "*", "x", "?", "x").Replace(glob)
}

// readings returns the folded forms of all ways in which a file system may read name.
func readings(name string) []string {
	out := []string{foldPath(strings.ReplaceAll(name, `\`, "/"))}
	if strings.Contains(name, `\`) {
		out = append(out, foldPath(name), foldPath(strings.ReplaceAll(name, `\`, "")))
	}
	if strings.Contains(name, ":") {
		parts := strings.Split(strings.ReplaceAll(name, `\`, "/"), "/")
		for i, part := range parts {
			parts[i], _, _ = strings.Cut(part, ":")
		}
		out = append(out, foldPath(strings.Join(parts, "/")))
	}
	return out
}

// foldPath normalizes a path, so that all of its spellings are equal.
func foldPath(name string) string {
	s := cases.Fold().String(norm.NFKC.String(untrusted.StripInvisible(name)))
	s = untrusted.StripInvisible(norm.NFKC.String(s))
	parts := strings.Split(s, "/")
	for i, part := range parts {
		part = strings.TrimSpace(part)
		if part != "." && part != ".." {
			part = strings.TrimRight(part, ". ")
		}
		parts[i] = part
	}
	return path.Clean(strings.Join(parts, "/"))
}

// maxWorkspacePaths is the maximum number of directories that a workspace can be limited to.
const maxWorkspacePaths = 100

// Outside reports whether a path of the repository is outside of the workspace. Inside
// are its paths, and the files directly in the root and in their parent directories, as
// with git's sparse checkout in cone mode. The path of a directory ends in a slash.
// Without paths, everything is inside.
func (w Workspace) Outside(name string) bool {
	if len(w.Paths) == 0 {
		return false
	}
	dir, isDir := strings.CutSuffix(name, "/")
	if !isDir {
		dir = path.Dir(name)
	}
	return dir != "." && !slices.ContainsFunc(w.Paths, func(p string) bool {
		return dir == p || strings.HasPrefix(dir, p+"/") || strings.HasPrefix(p, dir+"/")
	})
}

func (w Workspace) checkPaths(p *problems) {
	if len(w.Paths) > maxWorkspacePaths {
		p.add(fmt.Sprintf("at most %d directories; name those above them", maxWorkspacePaths), "workspace", "paths")
	}
	for i, dir := range w.Paths {
		if why := directoryFault(dir); why != "" {
			p.add(
				fmt.Sprintf("%q %s; write a directory of the repository, such as services/api", dir, why),
				"workspace",
				"paths",
				i,
			)
		}
	}
}

// directoryFault returns the reason why dir is not a directory below the root, or "".
func directoryFault(dir string) string {
	parts := strings.Split(dir, "/")
	switch {
	case dir == "" || dir == "." || dir == "./":
		return "is all of the repository, which is the default without paths"
	case path.IsAbs(dir):
		return "begins with a slash: paths begin at the root of the repository"
	case slices.Contains(parts, ".."):
		return "leads upwards"
	case strings.ContainsAny(dir, "*?[]{}!\\"):
		return "is a pattern, and only plain paths are known here"
	case strings.EqualFold(parts[0], ".git"):
		return "is git's own directory"
	case path.Clean(dir) != dir:
		return fmt.Sprintf("is written shorter as %q", path.Clean(dir))
	case strings.ContainsFunc(dir, unicode.IsControl) || len(dir) > 4096:
		return "is not a readable path"
	}
	return ""
}
