// Package ignore reads files like .gitignore and reports which paths they exclude.
package ignore

import (
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// rule is one line of an ignore file.
type rule struct {
	pattern  string // doublestar pattern for the name, or for the path below the file's directory
	literal  bool   // compare as plain text
	suffix   bool   // pattern was "*…": compare only the end
	begin    string // fixed beginning of every match, for a quick check
	end      string // fixed end of every match
	negate   bool
	dirOnly  bool
	nameOnly bool
	caseless bool // the pattern is in lower case, and paths are compared in lower case
}

// Rules are the lines of an ignore file.
type Rules []rule

// Parse parses an ignore file according to gitignore(5).
func Parse(text string) Rules {
	var rules Rules
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
		line = inner + "/**/*" // its content, not the directory itself
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

// Caseless returns the rules for a disk that does not tell upper from lower case: patterns
// match in either, as for git with core.ignoreCase.
func (rules Rules) Caseless() Rules {
	out := slices.Clone(rules)
	for i := range out {
		r := &out[i]
		r.pattern, r.begin, r.end, r.caseless = lower(r.pattern), lower(r.begin), lower(r.end), true
	}
	return out
}

// lower returns a text with its ASCII letters in lower case, the only ones that git takes for
// equal to others.
func lower(text string) string {
	out := []byte(text)
	for i, c := range out {
		if 'A' <= c && c <= 'Z' {
			out[i] = c + 'a' - 'A'
		}
	}
	return string(out)
}

// fixed returns the common beginning and end of all matches of a pattern. A slash next to
// a ** may match nothing, so neither part extends to such a slash.
func fixed(pattern string) (begin, end string) {
	const special = `*?[]\`
	begin = pattern[:strings.IndexAny(pattern, special)]
	begin = begin[:max(0, strings.LastIndexByte(begin, '/'))]
	if strings.ContainsAny(pattern, `[\`) { // a class can match any character
		return begin, ""
	}
	return begin, pattern[strings.LastIndexAny(pattern, special+"/")+1:]
}

// match reports whether the rule applies to rel, which ends in the element name.
func (r *rule) match(rel, name string, dir bool) bool {
	if r.dirOnly && !dir {
		return false
	}
	if r.nameOnly {
		rel = name
	}
	if r.caseless {
		rel = lower(rel)
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

// Decide applies the last matching rule to a path relative to the file's directory.
// decided is false if no rule matches.
func (rules Rules) Decide(rel string, dir bool) (ignored, decided bool) {
	name := path.Base(rel)
	for i := len(rules) - 1; i >= 0; i-- {
		if rules[i].match(rel, name, dir) {
			return !rules[i].negate, true
		}
	}
	return false, false
}

// Match reports whether rel or one of its parent directories is excluded. in returns the
// rules of the ignore file in a directory; "." is the top. A path outside of the top is
// not excluded.
func Match(rel string, dir bool, in func(dir string) Rules) bool {
	if rel = path.Clean(rel); rel == "." || !fs.ValidPath(rel) {
		return false
	}
	for end := 0; end < len(rel); end++ {
		if rel[end] != '/' {
			continue
		}
		if ignored, _ := decideOne(rel[:end], true, in); ignored {
			return true
		}
	}
	ignored, _ := decideOne(rel, dir, in)
	return ignored
}

// Wanted reports whether a rule explicitly includes rel or one of its parent directories,
// inside the top.
func Wanted(rel string, in func(dir string) Rules) bool {
	if rel = path.Clean(rel); !fs.ValidPath(rel) {
		return false
	}
	for end := 1; end <= len(rel); end++ {
		if end < len(rel) && rel[end] != '/' {
			continue
		}
		if ignored, decided := decideOne(rel[:end], end < len(rel), in); decided && !ignored {
			return true
		}
	}
	return false
}

// decideOne applies the rules to rel itself. The caller has checked its parents.
func decideOne(rel string, dir bool, in func(dir string) Rules) (ignored, decided bool) {
	for at := path.Dir(rel); ; at = path.Dir(at) {
		below := rel
		if at != "." {
			below = rel[len(at)+1:]
		}
		if rules := in(at); len(rules) > 0 {
			if ignored, decided := rules.Decide(below, dir); decided {
				return ignored, true
			}
		}
		if at == "." {
			return false, false
		}
	}
}
