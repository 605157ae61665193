package policy

import (
	"strings"
	"testing"
)

func TestCodeOwners(t *testing.T) {
	c := ParseCodeOwners(strings.Join([]string{
		"# who owns what",
		"*                @global",
		"*.js             @js  # not everything",
		"/build/logs/     @doctocat",
		"docs/*           docs@example.com",
		"apps/            @octocat @org/apps",
		"/docs/           @doctocat",
		"**/logs          @logs",
		"/apps/github",
		"with\\ space.txt @spacer",
		"!negated         @nobody",
		"range[ab]        @nobody",
		"/scripts/**/*.sh @sh",
	}, "\r\n"))
	for path, want := range map[string]string{
		"a.go": "@global", "x/y/a.js": "@js", "build/logs/a": "@logs", "x/build/logs/a": "@logs",
		"apps/a/b": "@octocat @org/apps", "x/apps/y": "@octocat @org/apps", "docs/a.md": "@doctocat", "docs/x/y": "@doctocat",
		"deep/logs": "@logs", "deep/logs/more": "@logs", "apps/github": "", "apps/github/x": "", "with space.txt": "@spacer",
		"negated": "@global", "rangea": "@global", "scripts/a.sh": "@sh", "scripts/x/y/a.sh": "@sh", "other/scripts/a.sh": "@global",
	} {
		if got := strings.Join(c.Of(path), " "); got != want {
			t.Errorf("owners of %s: %q, want %q", path, got, want)
		}
	}
	only := ParseCodeOwners("docs/* @docs")
	if got := only.Of("docs/x/y"); got != nil {
		t.Errorf("docs/* owns what is below a directory: %v", got)
	}
	if got := (CodeOwners{}).Of("a"); got != nil {
		t.Errorf("nobody owns %v", got)
	}
}
