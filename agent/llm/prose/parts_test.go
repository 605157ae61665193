package prose

import (
	"slices"
	"strings"
	"testing"
)

// A block without a path that begins as a line of one file does is a part of this file; different
// parts of a file are one change.
func TestParts(t *testing.T) {
	long := strings.Repeat("# a line of its own\n", 40)
	view := View{
		{Path: "pages.py", Text: "\"\"\"Pages.\"\"\"\n\ndef count(total, size):\n    return 1\n\ndef other(x):\n    return 2\n" + long},
		{Path: "b.py", Text: "def other(x):\n    return 3\n" + long},
	}
	const count = "def count(total, size):\n    return total\n"
	for _, tt := range []struct {
		say    string
		want   []string // path and text of each act
		doubts int
	}{
		{"```python\n" + count + "```\n", []string{"pages.py", count}, 0},
		{"Use it like this, for example:\n```python\n" + count + "```\n", nil, 1},
		{"```ruby\n" + count + "```\n", nil, 1},
		{"```python\ndef other(x):\n    return 4\n```\n", nil, 1}, // of two files
		{"```python\nprint(count(1, 2))\n```\n", nil, 1},
		{
			"pages.py\n```python\n" + count + "```\n\npages.py\n```python\ndef other(x):\n    return 5\n```\n",
			[]string{"pages.py", count + "\ndef other(x):\n    return 5\n"}, 0,
		},
		{
			"pages.py\n```python\n" + count + "```\nBetter:\n\npages.py\n```python\ndef count(total, size):\n    return 6\n```\n",
			[]string{"pages.py", "def count(total, size):\n    return 6\n"}, 1,
		},
	} {
		got := Parse(tt.say, view)
		var acts []string
		for _, a := range got.Acts {
			acts = append(acts, a.Path, a.Text)
		}
		if !slices.Equal(acts, tt.want) || len(got.Doubts) != tt.doubts {
			t.Errorf("%q: acts %q, doubts %q, want %q and %d", tt.say, acts, got.Doubts, tt.want, tt.doubts)
		}
	}
}
