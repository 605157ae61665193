package session

import (
	"path"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/handrail-bot/handrail/policy/pattern"
)

// Convention is the form of a repository's commit subjects. The zero value means none.
type Convention string

// The conventions.
const (
	typedSubjects  Convention = "conventional" // "fix(win): join paths", see conventionalcommits.org
	scopedSubjects Convention = "scoped"       // "win: join paths", with a package or directory in front
	keyedSubjects  Convention = "keyed"        // "APP-12 Join paths", with the key of an issue in front
)

// The forms of subjects. A type of Conventional Commits is no scope.
var (
	conventional = pattern.Lazy(`^(feat|fix|docs|style|refactor|perf|test|build|ci|chore|revert)(\([^()]+\))?!?: \S`)
	scoped       = pattern.Lazy(`^[a-zA-Z0-9_.*{},/ -]{1,40}: \S`)
	keyed        = pattern.Lazy(`^\[?[A-Z][A-Z0-9]{1,9}-\d+\]?:? \S`)
	issueKey     = pattern.Lazy(`\b[A-Z][A-Z0-9]{1,9}-\d+\b`)
)

// minSubjects is the minimum number of subjects that show a convention.
const minSubjects = 5

// ConventionOf returns the convention that at least two thirds of a history's subjects
// follow. Merges do not count.
func ConventionOf(subjects []string) Convention {
	count, all := map[Convention]int{}, 0
	for _, s := range subjects {
		switch {
		case strings.HasPrefix(s, "Merge "), strings.HasPrefix(s, "Revert "), s == "":
			continue
		case conventional().MatchString(s):
			count[typedSubjects]++
		case keyed().MatchString(s):
			count[keyedSubjects]++
		case scoped().MatchString(s):
			count[scopedSubjects]++
		}
		all++
	}
	for c, n := range count {
		if all >= minSubjects && 3*n >= 2*all { //control:convention-of-the-history
			return c
		}
	}
	return ""
}

// Words describes the convention to the model.
func (c Convention) Words() string {
	switch c {
	case typedSubjects:
		return "with the type and, if there is one, the scope in front, as in Conventional Commits (fix(parser): accept …)"
	case scopedSubjects:
		return "with the package or directory in front (parser: accept …)"
	case keyedSubjects, "":
	}
	return ""
}

// Fit returns a subject in the form of the convention. files are the changed ones, and task
// is the request, which can name the key of its issue.
func (c Convention) Fit(subject string, files []FileChange, task string) string {
	if subject == "" {
		return ""
	}
	out := subject
	switch {
	case c == typedSubjects && !conventional().MatchString(subject):
		out = kindOf(files) + ": " + lower(withoutScope(subject))
	case c == scopedSubjects && !scoped().MatchString(subject):
		if in := scopeOf(files); in != "" {
			out = in + ": " + lower(subject)
		}
	case c == keyedSubjects && !keyed().MatchString(subject):
		if keys := issueKey().FindAllString(task, 2); len(keys) == 1 {
			out = keys[0] + " " + subject
		}
	}
	if utf8.RuneCountInString(out) > maxTitle {
		return subject
	}
	return out
}

// withoutScope removes a directory in front of a subject.
func withoutScope(subject string) string {
	if scoped().MatchString(subject) {
		_, subject, _ = strings.Cut(subject, ": ")
	}
	return subject
}

// kindOf returns the type of a change in the sense of Conventional Commits, as far as its
// files show it. Whether code fixes a fault or adds to it they do not show.
func kindOf(files []FileChange) string {
	kind := ""
	for _, f := range files {
		k, name := "chore", strings.ToLower(path.Base(f.Path))
		switch ext := path.Ext(name); {
		case strings.HasPrefix(f.Path, ".github/workflows/"):
			k = "ci"
		case ext == ".md" || ext == ".rst" || strings.HasPrefix(f.Path, "docs/"):
			k = "docs"
		case strings.HasPrefix(name, "test_"), strings.Contains(name, "_test."), strings.Contains(name, ".test."):
			k = "test"
		}
		if kind != "" && kind != k {
			return "chore"
		}
		kind = k
	}
	if kind == "" {
		return "chore"
	}
	return kind
}

// scopeOf returns the directory that all files have in common, or "".
func scopeOf(files []FileChange) string {
	in := ""
	for i, f := range files {
		dir := path.Dir(f.Path)
		if dir == "." || i > 0 && dir != in {
			return ""
		}
		in = dir
	}
	return in
}

// lower returns a subject with a small first letter, unless its first word is a name.
func lower(s string) string {
	first, _, _ := strings.Cut(s, " ")
	r, size := utf8.DecodeRuneInString(s)
	if strings.ToUpper(first) == first || strings.ToLower(first[size:]) != first[size:] {
		return s
	}
	return string(unicode.ToLower(r)) + s[size:]
}
