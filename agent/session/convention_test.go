package session

import (
	"strings"
	"testing"
)

func TestConventionOf(t *testing.T) {
	for name, c := range map[string]struct {
		subjects string
		want     Convention
	}{
		"none":             {"Fix a|Add b|Join c|Let d be|Say e", ""},
		"too few":          {"fix: a|feat: b|docs: c|Merge x|Merge y|Merge z", ""},
		"conventional":     {"fix: a|feat(x)!: b|docs: c|chore: d|Say e|Merge x", typedSubjects},
		"a half":           {"fix: a|feat: b|docs: c|Say d|Say e|Say f", ""},
		"scoped":           {"net/http: a|cmd/go: b|all: c|runtime, os: d|Say e", scopedSubjects},
		"keyed":            {"APP-1 a|APP-2: b|[APP-3] c|APP-4 d|APP-5 e", keyedSubjects + " APP-0 "},
		"a shouting issue": {"HELP: a|Fix b|Add c|Say d|Say e", ""},
	} {
		if got := ConventionOf(strings.Split(c.subjects, "|")); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestFit(t *testing.T) {
	win := []FileChange{{Path: "win/a.py"}, {Path: "win/b.py"}}
	docs := []FileChange{{Path: "docs/a.md"}, {Path: "README.md"}}
	tests := []FileChange{{Path: "a_test.go"}, {Path: "test_a.py"}}
	for _, c := range []struct {
		in     Convention
		files  []FileChange
		task   string
		before string
		want   string
	}{
		{"", win, "APP-7", "Join paths", "Join paths"},
		{typedSubjects, win, "", "Join paths", "chore: join paths"},
		{typedSubjects, win, "", "fix(win): join paths", "fix(win): join paths"},
		{typedSubjects, win, "", "win: join paths", "chore: join paths"},
		{typedSubjects, docs, "", "Say more", "docs: say more"},
		{typedSubjects, tests, "", "README is read", "test: README is read"},
		{typedSubjects, append(docs, tests...), "", "Say more", "chore: say more"},
		{typedSubjects, []FileChange{{Path: ".github/workflows/a.yml"}}, "", "Say more", "ci: say more"},
		{typedSubjects, nil, "", "", ""},
		{scopedSubjects, win, "", "Join paths", "win: join paths"},
		{scopedSubjects, win, "", "win: join paths", "win: join paths"},
		{scopedSubjects, append(win, docs...), "", "Join paths", "Join paths"},
		{keyedSubjects, win, "fix APP-7", "Join paths", "APP-7 Join paths"},
		{keyedSubjects, win, "fix APP-7 and APP-8", "Join paths", "Join paths"},
		{typedSubjects, win, "", "Join " + strings.Repeat("p", 66), "Join " + strings.Repeat("p", 66)},
	} {
		if got := c.in.Fit(c.before, c.files, c.task); got != c.want {
			t.Errorf("%s: %q is %q, want %q", c.in, c.before, got, c.want)
		}
	}
}
