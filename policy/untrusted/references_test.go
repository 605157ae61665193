package untrusted

import (
	"strings"
	"testing"
)

// isPosted fails when a text is posted in other words than wanted, or when those are
// changed once more.
func isPosted(t *testing.T, in, want string) {
	t.Helper()
	o := OutputOptions{Repo: "me/mine"}
	got := CleanOutput(in, o)
	if got != want {
		t.Errorf("CleanOutput(%q) = %q, want %q", in, got, want)
	}
	if again := CleanOutput(got, o); again != got {
		t.Errorf("not stable: %q then %q", got, again)
	}
}

func TestReferencesSayTheirAddress(t *testing.T) {
	for in, want := range map[string]string{
		"see [docs][d]\n\n[d]: https://go.dev": "see docs (<https://go.dev>)",
		"see [Docs][], [the\nsite][S] and [s]\n\n[docs]: <https://go.dev> 't'\n[s]: https://x.test\nmore": "see Docs (<https://go.dev>), the\nsite (<https://x.test>) and s (<https://x.test>)\n\nmore",
		"![logo][l] [![ci][l]][d]\n\n[l]: https://x.test/a.png\n[d]: https://x.test":                      "logo (<https://x.test/a.png>) ci (<https://x.test/a.png>) (<https://x.test>)",
		"[LICENSE][] applies\n\n[license]: LICENSE\n":                                                     "[LICENSE](LICENSE) applies\n",
		"`[docs][d]` and \\[d]\n\n[d]: https://go.dev\n":                                                  "`[docs][d]` and \\[d]\n",
		"```\n[docs][d]\n[d]: https://go.dev\n```":                                                        "```\n[docs][d]\n[d]: https://go.dev\n```",
		"it said\n\n[INFO]: done":                                                                         "it said\n\n[INFO]\\: done",
		"see [docs][e]\n[d]: https://go.dev":                                                              "see [docs][e]\n[d]\\: https://go.dev",
	} {
		isPosted(t, in, want)
	}
}

func TestPostedAsPlain(t *testing.T) {
	for in, want := range map[string]string{
		"```mermaid\ngraph TD\n```":                     "```text\ngraph TD\n```",
		"~~~ GeoJSON x\n{}\n~~~":                        "```text\n{}\n```",
		"- ```&#109;ath\n  x\n  ```\n":                  "- ```text\n  x\n  ```\n",
		"````md\n```mermaid\n```\n````\n```stl\nx\n```": "````md\n```mermaid\n```\n````\n\n```text\nx\n```",
		"```mermaidx\nx\n```":                           "```mermaidx\nx\n```",
		"see www.github.com/other/repo/issues/1":        "see `www.github.com/other/repo/issues/1`",
		"see https://kim@github.com/other/repo/pull/1":  "see `https://kim@github.com/other/repo/pull/1`",
		"see www.github.com/me/mine/issues/1":           "see www.github.com/me/mine/issues/1",
		"closes www.github.com/me/mine/issues/1":        "closes `www.github.com/me/mine/issues/1`",
		"a[^1]\n\n[^1]: note":                           "a[^1]\n\n[^1]: note",
		"a[^1]\n\n[^1]: <https://go.dev> (t)":           "a[^1]\n\n[^1]: <https://go.dev> (t)",
		"a[^1]\n\n[^1]: \"t\" (t)":                      "a[^1]\n\n[^1]: \"t\" (t)",
		"a[^1]\n\n[^1]: two words":                      "a[^1]\n\n[^1]: two words",
	} {
		isPosted(t, in, want)
	}
	for in, want := range map[string]string{"_close #1": "_close # 1", "__fixed:#1": "__fixed:# 1", "fixes_ #1": "fixes_ # 1", "closes www.github.com/a/b/issues/1": "closes www. github.com/a/b/issues/1"} {
		if got := Title(in); got != want {
			t.Errorf("Title(%q) = %q, want %q", in, got, want)
		}
	}
}

// The host of a text need not have GitHub in its name: a link there into another
// repository makes a note in that one's timeline, too. One elsewhere does not.
func TestReferencesOnAnEnterpriseServer(t *testing.T) {
	for in, same := range map[string]bool{
		"see https://code.example.org/other/repo/issues/5":           false,
		"see https://CODE.example.org/other/repo/pull/5#x":           false,
		"see https://code.example.org./other/repo/issues/5":          false,
		"see https://code.example.org:8443/other/repo/issues/5":      false,
		"see https://kim@code.example.org/other/repo/commit/0123abc": false,
		"see http://www.code.example.org/other/repo/discussions/5":   false,
		"see <https://code.example.org/other/repo/issues/5>":         false,
		"see https://github.com/other/repo/issues/5":                 false,
		"see https://code.example.org/me/mine/issues/5":              true,
		"see https://code.example.org/other/repo":                    true,
		"see https://docs.example.org/other/repo/issues/5":           true,
		"see https://xcode.example.org/other/repo/issues/5":          true,
	} {
		got := CleanOutput(in, OutputOptions{Repo: "me/mine", Home: "https://code.example.org/me/mine"})
		if (got == in) != same || !same && !strings.Contains(got, "`") {
			t.Errorf("CleanOutput(%q) = %q; want it to be the same: %t", in, got, same)
		}
	}
}
