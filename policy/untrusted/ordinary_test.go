package untrusted_test

import (
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/handrail-bot/handrail/policy/untrusted"
	"github.com/handrail-bot/handrail/policy/untrusted/githubcheck"
)

// ordinary are pieces of answers as models write them.
var ordinary = []string{
	"I fixed the greeting in `cmd/hello/main.go`. The test `TestGreeting` covers it.",
	"The cause: `parse()` returns `nil` for an empty **string**, so `len(x) > 0 && x[0] == '@'` never holds.",
	"## Summary\n\nThree files changed, *all* tests pass.",
	"### What I did\n\n1. Read `README.md`\n2. Ran `go test ./...`\n3. Changed the `Config` struct\n   - added `Timeout`\n   - removed `Old`",
	"- **Fix**: use `errors.Is` in place of `==`\n- **Test**: `TestRetry`\n- Docs",
	"* one\n* two\n  * nested with `code`\n    * deeper\n* three",
	"- [ ] open\n- [x] done\n  - [ ] part of it",
	"| file | change |\n|---|---|\n| `a.go` | +3 −1 |\n| `b.go` | new |",
	"| Option | Default | What it does |\n|:-------|:-------:|-------------:|\n| `--json` | `false` | prints JSON |\n| `--mode` | `a \\| b` | chooses |",
	"```go\nfunc main() {\n\tfmt.Println(\"<b>@you</b>\", a[0](x), `raw`)\n}\n```",
	"```diff\n--- a/x.go\n+++ b/x.go\n@@ -1,2 +1,2 @@\n-old\n+new ![x](y)\n```",
	"```java\n@Override\npublic List<String> names() { return List.of(); }\n```",
	"```html\n<div class=\"x\"><img src=\"a.png\"><!-- note --></div>\n```",
	"````markdown\n```go\nx\n```\n````",
	"~~~sh\nnpm install @scope/pkg && echo \"$HOME\" # a comment\n~~~",
	"```yaml\nuses: actions/checkout@v4\non: [push]\n```",
	"1. Install it:\n\n   ```sh\n   go get example.org/x@latest\n   ```\n\n2. Run it:\n\n   ```sh\n   x --help\n   ```",
	"- Step one:\n  ```python\n  @decorator\n  def f(a: dict[str, int]) -> None:\n\n      pass\n  ```\n- Step two",
	"- outer\n  - inner:\n\n    ```ts\n    const x: Array<string> = [];\n    ```",
	"> A quotation of `code` and *words*.\n> On two lines.",
	"> ```go\n> x := y[0](z)\n> ```",
	"> [!NOTE]\n> Run `make generate` first.",
	"See https://go.dev/doc/effective_go and <https://pkg.go.dev/net/http#Client.Do>.",
	"Docs: https://docs.example.org/a/b_c?x=1&y=2#part (section 3), also www.example.org.",
	"It is like https://en.wikipedia.org/wiki/Go_(programming_language), only smaller.",
	"It relates to #12 and to me/mine#3; the commit 0123abc introduced it.",
	"Write to team@example.org when `HANDRAIL_TOKEN` is not set.",
	"a < b && c > d, x <- ch, 1 << 3, a <= b, <3 and ->",
	"Use `Map<String, List<Integer>>` or `[]byte`, not `interface{}`; see `a[i](b)`.",
	"AT&T, R&D, &amp; and &lt;tag&gt; — \"quoted\" … it's 100 % done.",
	"**Bold `code` in it**, _emphasis_, ~~struck~~, ***both***, snake_case_name, 2 * 3 * 4.",
	"Line one  \nline two with a hard break\\\nline three",
	"Final answer\n============\n\nAnd a part\n----------\n\ntext",
	"---\n\nAfter a rule.",
	"Text with a footnote[^1] in it.\n\n[^1]: The note, with `code`.",
	"The path C:\\Users\\x and the pattern `^\\d+$` and a \\* star.",
	"Indented code:\n\n    go build ./...\n    ./x @file\n\nand on.",
	"1. Install it:\n\n\t```sh\n\tnpm i @scope/pkg > \"$HOME/<x>\"\n\n\t\tdeep [a](b)\n\t```\n\n2. Run it:\n\n\t~~~\n\t@x\n\t~~~",
	"- Step:\n\t```go\n\tx := y[0](z) // `raw` @kim\n\t```\n- next",
	"* Build:\n\n    ```\n\t<b>@x</b>\n    ```",
	"1. Run it:\n\n       go test ./... @x\n       [a](b) <c>\n\n2. And\n   this:\n\n        y [0](z)\n\n3. Done.",
	"- Run it:\n\n\t\tx @y <z>\n\n- and on\n  - deeper:\n\n        a[0](b) @c",
	"-\tRun it:\n\n\t\tx @y <z>\n\n-\tand on",
	"Emoji :tada: and 🎉, ünïcödé, 日本語の`コード`です。",
	"Use ``a ` b`` for a backtick, and `` `x` `` for code with some.",
	"The formula $a_1 + b^2$ and $$\\sum_i x_i$$ hold.",
	"Q: does `x || y` work? A: yes, `x | y` too.",
	"1) first\n2) second\n\n10. tenth",
	"Term\n: no definition list here",
	"Run `/agent retry`; the path /usr/bin/env stays.",
	"[https://example.org/a](https://example.org/a) is the address, [go.dev](https://go.dev) the site, [`docs/cli.md`](docs/cli.md) the file.",
	"A line that is wrapped in the middle of `some code\nthat goes on` and ends there.",
}

// answer puts some pieces together.
func answer(r *rand.Rand) string {
	var parts []string
	for range 1 + r.IntN(6) {
		parts = append(parts, ordinary[r.IntN(len(ordinary))])
	}
	return strings.Join(parts, "\n\n") + []string{"", "\n"}[r.IntN(2)]
}

// What models ordinarily write looks as it would without the gate.
func TestOrdinaryAnswersRenderAsBefore(t *testing.T) {
	t.Parallel()
	j := githubcheck.Start(t, os.Getenv("HANDRAIL_REQUIRE_ENGINES"))
	r := rand.New(rand.NewPCG(10, 2))
	texts := slices.Clone(ordinary)
	for range min(3000, many(120, 1000)) {
		texts = append(texts, answer(r))
	}
	if n := compare(t, j, texts); n > 0 {
		t.Errorf("%d of %d answers look different", n, len(texts))
	}
}

// compare shows texts with and without the gate, and returns how many differ.
func compare(t *testing.T, j *githubcheck.Judge, texts []string) (differ int) {
	t.Helper()
	both := make([]string, 2*len(texts))
	githubcheck.Each(len(texts), func(i int) { both[2*i], both[2*i+1] = texts[i], untrusted.CleanOutput(texts[i], here) })
	shown := j.Show(t, both...)
	for i := 0; i < len(both); i += 2 {
		is, was := shown[i+1].HTML, shown[i].HTML
		if strings.Contains(both[i], "\t") { // of which a renderer may leave a part
			is, was = strings.ReplaceAll(is, " ", ""), strings.ReplaceAll(was, " ", "")
		}
		if is != was {
			differ++
			t.Logf("%q\nas\n%q\nlooks different:\n%s\nwas\n%s", both[i], both[i+1], shown[i+1].HTML, shown[i].HTML)
		}
		if e := effects(both[i+1], shown[i+1]); e != nil {
			t.Errorf("%q does %q", both[i+1], e)
		}
	}
	return differ
}

// Parts of real documents that have no effect look as before, too, but for one in a
// hundred: what is read in several ways is shown as text.
func TestRealDocumentsRenderAsBefore(t *testing.T) {
	t.Parallel()
	j := githubcheck.Start(t, os.Getenv("HANDRAIL_REQUIRE_ENGINES"))
	out, err := exec.Command("go", "env", "GOMODCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	most := min(20_000, many(200, 20_000))
	var texts []string
	_ = filepath.WalkDir(strings.TrimSpace(string(out)), func(name string, d os.DirEntry, err error) error {
		if len(texts) >= most {
			return filepath.SkipAll
		}
		if err == nil && !d.IsDir() && strings.HasSuffix(strings.ToLower(name), ".md") {
			if data, err := os.ReadFile(name); err == nil && len(data) < 100_000 {
				texts = append(texts, sections(string(data))...)
			}
		}
		return nil
	})
	slices.Sort(texts)
	texts = slices.Compact(texts) // licences and the like are in many of them
	if len(texts) < 200 {
		t.Skipf("SKIPPED: only %d parts of documents in the module cache", len(texts))
	}
	shown := j.Show(t, texts...)
	var quiet []string
	for i, s := range shown {
		if effects(texts[i], s) == nil {
			quiet = append(quiet, texts[i])
		}
	}
	if n := compare(t, j, quiet); n*100 > len(quiet) {
		t.Errorf("%d of %d parts of documents look different", n, len(quiet))
	}
}

// elsewhere marks what is no effect and is yet changed: notes in the timelines of other
// repositories, definitions and links inside the page.
var elsewhere = regexp.MustCompile(`\]:|\]\(#|github[\w.]*/[\w.-]+/[\w.-]+/(?:issues|pull|discussions|commit|compare)\b|\](?:\[|\(mailto)`)

// sections cuts a document at its headings.
func sections(s string) []string {
	var out []string
	for part := range strings.SplitSeq("\n"+s, "\n## ") {
		if part = strings.TrimSpace(part); len(part) < 4000 && !elsewhere.MatchString(part) {
			out = append(out, "## "+part)
		}
	}
	return out
}
