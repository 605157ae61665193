package builtin

import (
	"os/exec"
	"strings"
	"testing"
)

// Where there is no parser, a change whose brackets, strings or indentation differ from
// those of the lines that it replaces is not suggested.
func TestSuggestionsBalance(t *testing.T) {
	py := "def total(items):\n    \"\"\"It isn't much (.\"\"\"\n    for i in items:  # don't\n        if i:\n            n += i\n    return n\n"
	ts := "// isn't it (\nexport function f(a: string[]) {\n  const r = /[\"(]/\n  return a.map((x) => {\n    return x + `)`\n  })\n}\n"
	odd := "it's (\nf(a)\n"
	for _, c := range []struct {
		file, text string
		from, to   int
		with       string
		good       bool
	}{
		{"a.py", py, 5, 5, "            n += i + 1", true},
		{"a.py", py, 5, 5, "            n += (i + 1", false},
		{"a.py", py, 5, 5, "            n += 'i", false},
		{"a.py", py, 5, 5, "        n += i", false},
		{"a.py", py, 5, 5, "", false},
		{"a.py", py, 5, 5, "            # nothing", false},
		{"a.py", py, 4, 4, "        if i > 0:", true},
		{"a.py", py, 4, 4, "        n += i", false},
		{"a.py", py, 4, 5, "        n += i", true},
		{"a.py", py, 3, 4, "    for i in items or []:\n        if i:", true},
		{"a.py", py, 3, 4, "    for i in items or []:", false},
		{"a.py", py, 6, 6, "    if n:\n        return n\n    return 0", true},
		{"a.py", py, 6, 6, "    if n:\n        return n\n  return 0", false},
		{"b.ts", ts, 5, 5, "    return x", true},
		{"b.ts", ts, 5, 5, "    return x + \")\"", true},
		{"b.ts", ts, 5, 5, "    return x)", false},
		{"b.ts", ts, 4, 4, "  return a.filter((x) => {", true},
		{"b.ts", ts, 4, 4, "  return a.filter((x) => x)", false},
		{"b.ts", ts, 5, 5, "    return `x", false},
		{"b.ts", ts, 6, 6, "  }", false},
		{"c.zig", odd, 2, 2, "f(b)", true},
		{"c.zig", odd, 2, 2, "f(b))", false},
		{"c.zig", odd, 1, 1, "it's [", false},
		{"main.go", "package a\n\nfunc f() {\n\tg(\n}\n", 4, 4, "\tg(1", true}, // it did not parse before
		{"main.go", "package a\n\nfunc f() {\n\tg(\n}\n", 3, 3, "func f()", false},
	} {
		lines := strings.Split(strings.TrimSuffix(c.text, "\n"), "\n")
		old := strings.Join(lines[c.from-1:c.to], "\n")
		after := strings.Join(append(append(append([]string(nil), lines[:c.from-1]...), c.with), lines[c.to:]...), "\n") + "\n"
		err := checkSyntax(swap{c.file, c.text, after, old, c.with})
		if (err == nil) != c.good {
			t.Errorf("%s %d-%d %q: %v", c.file, c.from, c.to, c.with, err)
		}
		if python, have := exec.LookPath("python3"); have == nil && c.good && c.file == "a.py" { // who really knows
			cmd := exec.CommandContext(t.Context(), python, "-c", "import ast, sys; ast.parse(sys.stdin.read())")
			cmd.Stdin = strings.NewReader(after)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%q is no Python: %s", after, out)
			}
		}
	}
}
