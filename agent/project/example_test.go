package project

import "testing"

// Calls are shown with a file that the request names, or else the smallest source file,
// and a line that is in it once.
func TestExample(t *testing.T) {
	files := map[string]string{"README.md": "# The project\n\nIt adds.\n", "calc/add.go": "package calc\n\nfunc Add(a, b int) int {\n\treturn a + b\n}\n",
		"calc/big.go": "package calc\n\nfunc Sub(a, b int) int {\n\treturn a - b\n}\n\nfunc Mul(a, b int) int {\n\treturn a * b\n}\n", "x.bin": "\x00", "twice.py": "import os\nimport os\n"}
	ws := open(t, files)
	f, err := Discover(t.Context(), ws)
	if err != nil {
		t.Fatal(err)
	}
	for request, want := range map[string][2]string{
		"fix the sum": {"calc/add.go", "\treturn a + b"}, "in calc/big.go Sub is wrong": {"calc/big.go", "\treturn a - b"},
		"big.go is wrong": {"calc/big.go", "\treturn a - b"}, "README.md says nothing": {"README.md", "# The project"}, "x.bin and nothing.go": {"calc/add.go", "\treturn a + b"},
	} {
		if name, line := f.Example(t.Context(), ws, request); name != want[0] || line != want[1] {
			t.Errorf("%s: %s, %q, want %q", request, name, line, want)
		}
	}
	empty := open(t, nil)
	if f, err = Discover(t.Context(), empty); err != nil {
		t.Fatal(err)
	}
	if name, line := f.Example(t.Context(), empty, "add a.go"); name != "" || line != "" {
		t.Errorf("an empty project has %s, %q", name, line)
	}
}
