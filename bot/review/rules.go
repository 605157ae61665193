package review

import (
	"path"
	"slices"
	"strings"

	"github.com/handrail-bot/handrail/policy/ignore"
	"github.com/handrail-bot/handrail/policy/pattern"
)

var (
	heading  = pattern.Lazy(`^#{1,6}\s+(.*?)\s*#*$`)
	patterns = pattern.Lazy("^`[^`]+`(?:[\\s,]+(?:and\\s+|or\\s+)?`[^`]+`)*:?$")
	backtick = pattern.Lazy("`([^`]+)`")
)

// pathRules reports whether a text has sections for some files only.
func pathRules(text string) bool {
	return slices.ContainsFunc(strings.Split(text, "\n"), func(l string) bool { return patternsOf(l) != "" })
}

// rulesFor returns the rules of a repository that count for some files. A section whose
// heading has nothing but patterns, each in backticks and as in .gitignore, is for the
// files that match; it ends with the next heading.
func rulesFor(text string, files []string) string {
	var out []string
	keep := true
	for l := range strings.SplitSeq(text, "\n") {
		if heading().MatchString(l) {
			p := patternsOf(l)
			rules := ignore.Parse(p)
			keep = p == "" || slices.ContainsFunc(files, func(f string) bool { return matches(rules, f) }) //control:rules-of-other-files
		}
		if keep {
			out = append(out, l)
		}
	}
	return strings.TrimSpace(strings.Join(out, "\n"))
}

func patternsOf(l string) string {
	m := heading().FindStringSubmatch(l)
	if m == nil || !patterns().MatchString(m[1]) {
		return ""
	}
	var list []string
	for _, p := range backtick().FindAllStringSubmatch(m[1], -1) {
		list = append(list, p[1])
	}
	return strings.Join(list, "\n")
}

// matches reports whether a rule is about a file, or about a directory that it is in.
func matches(rules ignore.Rules, file string) bool {
	for dir := false; file != "." && file != "/"; file, dir = path.Dir(file), true {
		if yes, decided := rules.Decide(file, dir); decided {
			return yes
		}
	}
	return false
}
