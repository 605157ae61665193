package session

import (
	"maps"
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/handrail-bot/handrail/agent/workspace"
	"github.com/handrail-bot/handrail/policy/pattern"
)

// Convention is the form of a repository's commit subjects. The zero value means none.
type Convention string

// The conventions.
const (
	typedSubjects  Convention = "conventional" // "fix(win): join paths", see conventionalcommits.org
	scopedSubjects Convention = "scoped"       // "win: join paths", with a package or directory in front
	keyedSubjects  Convention = "keyed"        // "APP-12 Join paths", with the key of an issue in front; its form may follow
	emojiSubjects  Convention = "gitmoji"      // "🐛 Join paths", with a picture in front, see gitmoji.dev
)

// The forms of subjects. A type of Conventional Commits is no scope.
var (
	conventional = pattern.Lazy(`^(feat|fix|docs|style|refactor|perf|test|build|ci|chore|revert)(\([^()]+\))?!?: \S`)
	scoped       = pattern.Lazy(`^[a-zA-Z0-9_.*{},/ -]{1,40}: \S`)
	keyed        = pattern.Lazy(`^(\[?)([A-Z][A-Z0-9]{1,9}-)\d+(\]?:? )\S`)
	issueKey     = pattern.Lazy(`\b[A-Z][A-Z0-9]{1,9}-\d+\b`)
)

// minSubjects is the minimum number of subjects that show a convention.
const minSubjects = 5

// ConventionOf returns the convention that at least two thirds of a history's subjects
// follow. Merges do not count.
func ConventionOf(subjects []string) Convention {
	count, all := map[Convention]int{}, 0
	forms := map[string]int{}
	for _, s := range subjects {
		switch {
		case strings.HasPrefix(s, "Merge "), strings.HasPrefix(s, "Revert "), s == "":
			continue
		case conventional().MatchString(s):
			count[typedSubjects]++
		case keyed().MatchString(s):
			count[keyedSubjects]++
			forms[keyed().ReplaceAllString(keyed().FindString(s), "${1}${2}0${3}")]++
		case gitmoji().MatchString(s):
			count[emojiSubjects]++
		case scoped().MatchString(s):
			count[scopedSubjects]++
		}
		all++
	}
	for c, n := range count {
		if all < minSubjects || 3*n < 2*all { //control:convention-of-the-history
			continue
		}
		if c == keyedSubjects {
			return c + Convention(" "+commonest(forms))
		}
		return c
	}
	return ""
}

// commonest returns the text that was counted most often.
func commonest(count map[string]int) (most string) {
	for _, s := range slices.Sorted(maps.Keys(count)) {
		if count[s] > count[most] {
			most = s
		}
	}
	return most
}

// keyForm returns the form of the keys in front of subjects, such as "[APP-0] "; "" means any key.
func (c Convention) keyForm() (form string, ok bool) {
	form, ok = strings.CutPrefix(string(c), string(keyedSubjects))
	return strings.TrimPrefix(form, " "), ok
}

// Words describes the convention to the model.
func (c Convention) Words() string {
	switch c {
	case typedSubjects:
		return "with the type and, if there is one, the scope in front, as in Conventional Commits (fix(parser): accept …)"
	case scopedSubjects:
		return "with the package or directory in front (parser: accept …)"
	case emojiSubjects:
		return "with a picture of gitmoji in front (🐛 Accept …)"
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
	plain := upper(withoutType(subject))
	if c != emojiSubjects {
		plain = upper(strings.TrimPrefix(plain, gitmoji().FindString(plain)))
	}
	out := plain
	switch form, withKey := c.keyForm(); {
	case c == typedSubjects && conventional().MatchString(subject):
		out = subject
	case c == typedSubjects:
		out = typed(lower(withoutScope(plain)), files)
	case c == scopedSubjects:
		if in := scopeOf(files); in != "" && !scoped().MatchString(plain) {
			out = in + ": " + lower(plain)
		}
	case withKey:
		out = keyOf(form, task) + plain //control:key-of-the-request
	}
	if utf8.RuneCountInString(out) > maxTitle {
		return plain
	}
	return out
}

// withoutType removes a type of Conventional Commits in front of a subject.
func withoutType(subject string) string {
	if conventional().MatchString(subject) {
		_, subject, _ = strings.Cut(subject, ": ")
	}
	return subject
}

// withoutKey removes the key of an issue in front of a subject.
func withoutKey(subject string) string {
	if at := keyed().FindStringIndex(subject); at != nil {
		_, size := utf8.DecodeLastRuneInString(subject[:at[1]])
		return subject[at[1]-size:]
	}
	return subject
}

// typed puts a type in front of a subject: that of its verb if it says fix or add, otherwise that of its files.
func typed(subject string, files []FileChange) string {
	kind := kindOf(files)
	verb, rest, _ := strings.Cut(subject, " ")
	switch {
	case kind != "chore" || !filesInCode(files):
	case verb == "fix":
		return "fix: " + rest
	case verb == "add":
		kind = "feat"
	}
	return kind + ": " + subject
}

// filesInCode reports whether a change of an existing file is part of the changes: made subjects name new files
// with the same verb.
func filesInCode(files []FileChange) bool {
	return slices.ContainsFunc(files, func(f FileChange) bool { return f.Kind == ChangeModify || f.Kind == "" })
}

// keyOf returns the key of an issue to put in front of a subject, in the form of the history, if the task names
// one alone; "" otherwise.
func keyOf(form, task string) string {
	in := "" // the key of the form's project
	if at := strings.Index(form, "-0"); at > 0 {
		in = strings.TrimPrefix(form[:at+1], "[")
	}
	others := func(key string) bool { return !strings.HasPrefix(key, in) }
	keys := slices.DeleteFunc(issueKey().FindAllString(task, -1), others)
	slices.Sort(keys)
	switch keys = slices.Compact(keys); {
	case len(keys) != 1:
		return ""
	case form == "":
		return keys[0] + " "
	}
	return strings.Replace(form, in+"0", keys[0], 1)
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
		case workspace.IsTest(f.Path):
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

// upper returns a subject with a capital first letter.
func upper(s string) string {
	r, size := utf8.DecodeRuneInString(s)
	if r == utf8.RuneError || scoped().MatchString(s) {
		return s
	}
	return string(unicode.ToUpper(r)) + s[size:]
}
