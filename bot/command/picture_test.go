package command

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPictures(t *testing.T) {
	for _, tt := range []struct {
		name, body string
		want       []string
	}{
		{"markdown", "See ![the button](https://x.test/a.png) here", []string{"https://x.test/a.png"}},
		{"empty text and a title", `![](https://x.test/a.png "A title")`, []string{"https://x.test/a.png"}},
		{"angle brackets", "![a](<https://x.test/a.png>)", []string{"https://x.test/a.png"}},
		{"parentheses in the address", "![a](https://x.test/a_(1).png)", []string{"https://x.test/a_(1).png"}},
		{"tag as GitHub writes it", `<img width="640" height="4" alt="Image" src="https://github.com/user-attachments/assets/0a1b" />`, []string{"https://github.com/user-attachments/assets/0a1b"}},
		{"tag over lines, single quotes", "<IMG\n alt=x\n src='https://x.test/a.png'>", []string{"https://x.test/a.png"}},
		{"tag without quotes", "<img src=https://x.test/a.png>", []string{"https://x.test/a.png"}},
		{"entity in the address", `<img src="https://x.test/a?b=1&amp;c=2">`, []string{"https://x.test/a?b=1&c=2"}},
		{"reference", "![the button][shot]\n\n[shot]: https://x.test/a.png", []string{"https://x.test/a.png"}},
		{"collapsed reference", "![Shot][]\n\n[shot]: <https://x.test/a.png>", []string{"https://x.test/a.png"}},
		{"short reference", "![shot]\n\n[shot]: https://x.test/a.png", []string{"https://x.test/a.png"}},
		{"in order, each once", "![a](https://x.test/2)<img src='https://x.test/1'>![b](https://x.test/2)", []string{"https://x.test/2", "https://x.test/1"}},
		{"in a link", "[![a](https://x.test/a.png)](https://x.test/)", []string{"https://x.test/a.png"}},
		{"a link is no picture", "[a](https://x.test/a.png)", nil},
		{"no definition", "![shot][nowhere]", nil},
		{"code span", "write `![a](https://x.test/a.png)`", nil},
		{"code block", "```\n![a](https://x.test/a.png)\n```", nil},
		{"HTML comment", "<!--\n![a](https://x.test/a.png)\n-->", nil},
		{"data-src is no src", `<img data-src="https://x.test/a.png">`, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if d := cmp.Diff(tt.want, Pictures(tt.body)); d != "" {
				t.Errorf("Pictures(%q) (-want +got):\n%s", tt.body, d)
			}
		})
	}
}

// A long text is read in one go, whatever it is made of.
func FuzzPictures(f *testing.F) {
	for _, s := range []string{"![", "<img ", "[a]: ", "`", "![a][", "![a](<x>"} {
		f.Add(strings.Repeat(s, 50))
	}
	f.Fuzz(func(t *testing.T, body string) {
		for _, url := range Pictures(body) {
			if url == "" {
				t.Error("a picture without an address")
			}
		}
	})
}
