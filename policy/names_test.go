package policy

import (
	"strings"
	"testing"
)

func TestValidateBranch(t *testing.T) {
	for _, s := range []string{"main", "agent/12-fix-login", "feature/JIRA-1_x", "release/v1.2.3", "user+x/a=b", "dependabot/npm_and_yarn/a-1.0", "v1@2"} {
		if err := ValidateBranch(s); err != nil {
			t.Error(err)
		}
	}
	for _, s := range []string{
		"", "$(id)", "a;b", "a`id`", "a b", "-x", "--upload-pack=x", "a/-x", "a..b", "a@{1}", "/a", "a/", "a//b", ".a", "a/.b", "a.lock", "a.LOCK/b", "a.",
		"a~1", "a^", "a:b", "a?", "a*", "a[b", `a\b`, "HEAD", "@", "a\nb", "a\x00", "a\x7f", "ä", "a\u202eb", "a|b", "a&b", "a>b", "a'b", `a"b`, "a%b", "a#b", "!a", "{a}", strings.Repeat("a", 201),
	} {
		if ValidateBranch(s) == nil {
			t.Errorf("%q is accepted", s)
		}
	}
}

func TestValidateNames(t *testing.T) {
	for name, c := range map[string]struct {
		check     func(string) error
		good, bad []string
	}{
		"login":   {ValidateLogin, []string{"octocat", "a-b", "dependabot[bot]", "mona_acme"}, []string{"", "-x", "a b", "a[x]", "a/b", "a\u200b", "äb", strings.Repeat("a", 80)}},
		"session": {ValidateSession, []string{"sabcdef234567", "a", "a-b"}, []string{"", "A", "a/b", "../x", "-a", "a-", "a--b", "a b", strings.Repeat("a", 65)}},
	} {
		t.Run(name, func(t *testing.T) {
			for _, s := range c.good {
				if err := c.check(s); err != nil {
					t.Error(err)
				}
			}
			for _, s := range c.bad {
				if c.check(s) == nil {
					t.Errorf("%q is accepted", s)
				}
			}
		})
	}
}

func TestSlug(t *testing.T) {
	for in, want := range map[string]string{
		"Fix the login page!":       "fix-the-login-page",
		"  Ünïcödé ﬁle — “quotes” ": "unicode-file-quotes",
		"don't break":               "dont-break",
		"$(rm -rf /); `id`":         "rm-rf-id",
		"日本語":                       "task",
		"":                          "task",
		"..":                        "task",
		"--upload-pack=x":           "upload-pack-x",
		"lock":                      "task",
		strings.Repeat("a", 99):     strings.Repeat("a", 40),
		"a\u200bb\u202ec":           "abc",
		"one two three four five six seven eight nine ten": "one-two-three-four-five-six-seven-eight",
	} {
		if got := slug(in); got != want {
			t.Errorf("Slug(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestBranch(t *testing.T) {
	got, err := Branch("agent/{number}-{slug}", BranchValues{Number: 12, Title: "Fix $(id); login"})
	if err != nil || got != "agent/12-fix-id-login" {
		t.Errorf("got %q, %v", got, err)
	}
	got, err = Branch("{mode}/{session}/{slug}", BranchValues{Session: "sabc", Mode: "review"})
	if err != nil || got != "review/sabc/task" {
		t.Errorf("got %q, %v", got, err)
	}
	for template, want := range map[string]string{
		"main": "{number} or {session}", "a/{slug}": "{number} or {session}", "a/{number": "not closed", "a/{nummer}": "did you mean {number}?",
		"a;{number}": "is not used", "-{number}": "does not begin", "{number}/": "is empty", "{number}..{slug}": `".."`, "{number}.lock": `".lock"`, "{number}\n": "is not used",
	} {
		if _, err := Branch(template, BranchValues{Number: 1}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("template %q: error %v, want %q", template, err, want)
		}
	}
}

func FuzzBranch(f *testing.F) {
	f.Add("agent/{number}-{slug}", "Fix $(id)", "s1")
	f.Add("{session}", "--x", "..")
	f.Fuzz(func(t *testing.T, template, title, session string) {
		name, err := Branch(template, BranchValues{Number: 7, Title: title, Session: session, Mode: title})
		if err != nil {
			return
		}
		if ValidateBranch(name) != nil || strings.ContainsAny(name, " $`;|&<>(){}'\"\\\n*?[]~^:!#%") || name[0] == '-' || strings.Contains(name, "..") {
			t.Fatalf("branch %q from %q, %q", name, template, title)
		}
	})
}

func FuzzValidateBranch(f *testing.F) {
	f.Add("a/b")
	f.Add("--upload-pack=$(id)")
	f.Fuzz(func(t *testing.T, s string) {
		if ValidateBranch(s) != nil {
			return
		}
		for _, r := range s {
			if r > '~' || r <= ' ' || strings.ContainsRune("$`;|&<>(){}'\"\\*?[]~^:!#%", r) {
				t.Fatalf("%q is accepted", s)
			}
		}
	})
}
