package policy

import (
	"strings"
	"testing"
)

// A name that no file can have needs a person and no time, and a directory is as
// sensitive as what lies below it.
func TestEndlessNames(t *testing.T) {
	p, err := New(Config{})
	if err != nil {
		t.Fatal(err)
	}
	mode, err := ParseMode("code")
	if err != nil {
		t.Fatal(err)
	}
	// What takes the square of such a length does not end within the time of tests.
	for _, name := range []string{strings.Repeat("a/", 500_000) + "b", strings.Repeat("x", 5000), "/" + strings.Repeat(".a/", 300_000)} {
		if e := p.ExplainFile(mode, name); e.Decision != "deny" || !e.Sensitive {
			t.Errorf("%.10s…: %+v", name, e)
		}
		if e := p.ExplainFileFully(mode, name); len(e.Reasons[0].Text) > 300 {
			t.Errorf("%d bytes of reasons", len(e.Reasons[0].Text))
		}
	}
	for _, dir := range []string{".github", ".github/", "./.github", ".circleci"} {
		if e := p.ExplainFile(mode, dir); !e.Sensitive || e.Decision != "ask" || e.Pattern == "" {
			t.Errorf("%s: %+v", dir, e)
		}
	}
}
