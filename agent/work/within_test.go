package work

import "testing"

// A change is that of a function only if all of it is inside that one.
func TestFunctionOf(t *testing.T) {
	const python = "import os\n\ndef total(items):\n    n = 0\n\n    return n\n\nclass Shop:\n    def add(self, name):\n" +
		"        self.names.append(name)\n\n    limit = 5\n\nmain()\n"
	const golang = "package a\n\nvar x = 1\n\nfunc Sum(\n\ta, b int,\n) int {\n\tif a > b {\n\t\treturn a\n\t}\n\treturn a + b\n}\n\nfunc (t *T) Less() bool {\n\treturn true\n}\n"
	for _, c := range []struct {
		name, text, diff, want string
	}{
		{"a.py", python, "@@ -4 +4 @@\n", "total"},
		{"a.py", python, "@@ -3 +3 @@\n", "total"},
		{"a.py", python, "@@ -4,2 +4,3 @@\n", "total"},
		{"a.py", python, "@@ -4 +4 @@\n@@ -6 +6 @@\n", "total"},
		{"a.py", python, "@@ -4 +4 @@\n@@ -10 +10 @@\n", ""},
		{"a.py", python, "@@ -1 +1 @@\n", ""},
		{"a.py", python, "@@ -8 +8 @@\n", ""},
		{"a.py", python, "@@ -12 +12 @@\n", ""},
		{"a.py", python, "@@ -14 +14 @@\n", ""},
		{"a.py", python, "@@ -6,0 +6,5 @@\n", ""},
		{"a.py", python, "", ""},
		{"a.go", golang, "@@ -3 +3 @@\n", ""},
		{"a.go", golang, "@@ -9 +9 @@\n", "Sum"},
		{"a.go", golang, "@@ -11 +10,0 @@\n", "Sum"},
		{"a.go", golang, "@@ -13,2 +12,0 @@\n", ""},
		{"a.go", golang, "@@ -15 +15 @@\n", "T.Less"},
		{"a.txt", golang, "@@ -9 +9 @@\n", ""},
		{"a.py", "def f():\n    x\n", "@@ -9 +9 @@\n", ""},
	} {
		if got := functionOf(c.name, c.text, hunksOf(c.diff)); got != c.want {
			t.Errorf("%s %q: %q, want %q", c.name, c.diff, got, c.want)
		}
	}
}
