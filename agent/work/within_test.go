package work

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// A change is that of a function only if all of it is inside that one.
func TestFunctionOf(t *testing.T) {
	const python = "import os\n\ndef total(items):\n    n = 0\n\n    return n\n\nclass Shop:\n    def add(self, name):\n" +
		"        self.names.append(name)\n\n    limit = 5\n\nmain()\n"
	const golang = "package a\n\nvar x = 1\n\nfunc Sum(\n\ta, b int,\n) int {\n\tif a > b {\n\t\treturn a\n\t}\n\treturn a + b\n}\n\nfunc (t *T) Less() bool {\n\treturn true\n}\n"
	for _, c := range []struct {
		name, text string
		changed    []int // lines of the text; of n below 0, a line behind -n is deleted
		want       string
	}{
		{"a.py", python, []int{4}, "total"},
		{"a.py", python, []int{3}, "total"},
		{"a.py", python, []int{4, 5, 6}, "total"},
		{"a.py", python, []int{4, 6}, "total"},
		{"a.py", python, []int{4, 10}, ""},
		{"a.py", python, []int{1}, ""},
		{"a.py", python, []int{8}, ""},
		{"a.py", python, []int{12}, ""},
		{"a.py", python, []int{14}, ""},
		{"a.py", python, []int{6, 7, 8, 9, 10}, ""},
		{"a.py", python, nil, ""},
		{"a.go", golang, []int{3}, ""},
		{"a.go", golang, []int{9}, "Sum"},
		{"a.go", golang, []int{-10}, "Sum"},
		{"a.go", golang, []int{-12}, ""},
		{"a.go", golang, []int{15}, "T.Less"},
		{"a.txt", golang, []int{9}, ""},
	} {
		var before strings.Builder
		for i, line := range strings.SplitAfter(c.text, "\n") {
			if slices.Contains(c.changed, i+1) {
				line = fmt.Sprintf("was %d\n", i)
			}
			before.WriteString(line)
			if slices.Contains(c.changed, -i-1) {
				before.WriteString("was more\n")
			}
		}
		if got := functionOf(c.name, before.String(), c.text); got != c.want {
			t.Errorf("%s %v: %q, want %q", c.name, c.changed, got, c.want)
		}
	}
}
