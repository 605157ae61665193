package fragment

import (
	"strings"
	"testing"
)

const python = `import math


def area(r):
    return math.pi * r


def round_up(n):
    # up to ten
    return n // 10 * 10


class Box:
    def __init__(self, w):
        self.w = w

    def double(self):
        return self.w + 2


if __name__ == "__main__":
    print(area(2))
`

const golang = `package calc

import "errors"

// Add adds.
func Add(a, b int) int {
	return a - b
}

// Div divides.
func Div(a, b int) (int, error) {
	if b == 0 {
		return 0, errors.New("zero")
	}
	return a * b, nil
}
`

const javascript = `const fs = require("fs");

function greet(name) {
  return "Hello " + nam;
}

const twice = (n) => {
  return n + 2;
};

module.exports = { greet, twice };
`

// A definition alone is put into its file, and nothing else of the file changes.
func TestPut(t *testing.T) {
	for _, c := range []struct {
		name, before, text string
		old, is            string // what changes in before
	}{
		{"a.py", python, "def area(r):\n    return math.pi * r ** 2\n", "math.pi * r\n", "math.pi * r ** 2\n"},
		{"a.py", python, "import math\n\ndef area(r):\n    return math.pi * r ** 2\n", "math.pi * r\n", "math.pi * r ** 2\n"},
		{"a.py", python, "def double(self):\n    return self.w * 2\n", "self.w + 2", "self.w * 2"},
		{"a.py", python, "class Box:\n    def double(self):\n        return self.w * 2\n", "", ""},
		{"a.go", golang, "func Add(a, b int) int {\n\treturn a + b\n}\n", "a - b", "a + b"},
		{"a.go", golang, "package calc\n\n// Div divides.\nfunc Div(a, b int) (int, error) {\n\tif b == 0 {\n\t\treturn 0, errors.New(\"zero\")\n\t}\n\treturn a / b, nil\n}\n", "a * b", "a / b"},
		{"c.go", golang + "\nfunc a() {\n\tb()\n}\n\nfunc b() {\n\tc()\n}\n\nfunc c() {\n\td()\n}\n\nfunc d() {\n\ta()\n}\n", "package calc\n\nimport \"errors\"\n\nfunc Add(a, b int) int {\n\treturn a + b\n}\n", "a - b", "a + b"}, // with all that is outside of functions
		{"b.go", "package calc\n\nimport \"errors\"\n\nvar err = errors.New(\"no\")\n\nfunc Add(a, b int) int {\n\treturn a - b\n}\n", "func Add(a, b int) int {\n\treturn a + b\n}\n", "a - b", "a + b"},                             // the only definition
		{"a.js", javascript, "function greet(name) {\n  return \"Hello \" + name;\n}\n", "nam;", "name;"},
	} {
		if !Is(c.name, c.before, c.text) {
			t.Errorf("%s: this is not known for a part:\n%s", c.name, c.text)
			continue
		}
		got, replaced, err := Put(c.name, c.before, c.text)
		if c.old == "" { // a type that lost a method is replaced as it was sent
			continue
		}
		if want := strings.Replace(c.before, c.old, c.is, 1); err != nil || got != want || len(replaced) != 1 {
			t.Errorf("%s: %v, replaced %q:\n%s", c.name, err, replaced, got)
		}
	}
}

// Whole files are no parts, also those from which something was taken.
func TestWhole(t *testing.T) {
	for name, c := range map[string][2]string{
		"the same":          {"a.py", python},
		"a method less":     {"a.py", strings.Replace(python, "\n    def double(self):\n        return self.w + 2\n", "", 1)},
		"a function less":   {"a.py", strings.Replace(python, "def round_up(n):\n    # up to ten\n    return n // 10 * 10\n\n\n", "", 1)},
		"a function more":   {"a.py", python + "\n\ndef more():\n    return 1\n"},
		"renamed and fixed": {"a.py", strings.Replace(python, "round_up", "round_down", 1)},
	} {
		if Is(c[0], python, c[1]) {
			t.Errorf("%s: taken for a part", name)
		}
	}
	if Is("a.txt", "one\ntwo\n", "one\n") {
		t.Error("a short text is taken for a part")
	}
}

// A helper that only the part has comes with it, and an import goes to the others.
func TestPutMore(t *testing.T) {
	got, _, err := Put("a.py", python, "import re\n\ndef clean(s):\n    return re.sub('x', '', s)\n\ndef area(r):\n    return math.pi * r ** 2\n")
	if err != nil || !strings.HasPrefix(got, "import math\nimport re\n") || !strings.Contains(got, "def clean(s):\n    return re.sub('x', '', s)\n\ndef area(r):") {
		t.Errorf("%v:\n%s", err, got)
	}
	if _, _, err := Put("a.py", python, "print(area(3))\n"); err == nil {
		t.Error("a line that belongs nowhere is taken")
	}
	if _, _, err := Put("a.go", golang, "import \"fmt\"\n\nfunc Add(a, b int) int {\n\tfmt.Println(a)\n\treturn a + b\n}\n"); err == nil {
		t.Log("an import without a block is put behind the only one")
	}
}

func FuzzPut(f *testing.F) {
	f.Add("a.py", python, "def area(r):\n    return 1\n")
	f.Add("a.go", golang, "func Add() {}\n")
	f.Add("a.js", javascript, "}\n{\n")
	f.Fuzz(func(_ *testing.T, name, before, text string) {
		if Is(name, before, text) {
			_, _, _ = Put(name, before, text)
		}
	})
}

func TestHide(t *testing.T) {
	for _, tt := range []struct{ name, text, function, want string }{
		{"a.go", golang, "Add", "func Add(a, b int) int {\n\t// ...\n}\n"},
		{"a.go", "package a\n\nfunc (s *Store) Take(\n\tcode string,\n) (int, error) {\n\treturn 0, nil\n}\n", "Take", "\tcode string,\n) (int, error) {\n\t// ...\n}\n"},
		{"a.py", python, "round_up", "def round_up(n):\n    # ...\n\n\nclass Box"},
		{"a.py", python, "double", "    def double(self):\n        # ...\n\n\nif"},
		{"a.py", "def f(\n    a,\n):\n    \"\"\"Say\n    it.\n    \"\"\"\n    if a:\n        return 1\n\n    return 2\n", "f", "):\n    \"\"\"Say\n    it.\n    \"\"\"\n    # ...\n"},
		{"a.js", "class A {\n  f(x) {\n    if (x) {\n      return 1;\n    }\n    return 2;\n  }\n}\n", "f", "  f(x) {\n    // ...\n  }\n}"},
		{"a.rb", "module T\n  def self.cut(s)\n    s[0]\n  end\nend\n", "cut", "  def self.cut(s)\n    # ...\n  end\nend"},
		{"a.c", "int f(int a)\n{\n\treturn a;\n}\n", "f", "int f(int a)\n{\n\t// ...\n}\n"},
	} {
		if got := Hide(tt.name, tt.text, tt.function); !strings.Contains(got, tt.want) {
			t.Errorf("%s without %s:\n%s\nlacks:\n%s", tt.name, tt.function, got, tt.want)
		}
		if got := Named(tt.name, tt.text, []string{"the", tt.function, "Box"}); len(got) != 1 || got[0] != tt.function {
			t.Errorf("%s: named are %q, want %s", tt.name, got, tt.function)
		}
	}
	long := "def f(a):\n" + strings.Repeat("    a += 1\n", maxHidden+1)
	for name, text := range map[string]string{"a.py": long, "b.py": "def f(a): return 1\n", "c.go": "package a\n\nfunc f() {}\n", "d.txt": "f\n"} {
		if got := Hide(name, text, "f"); got != text {
			t.Errorf("%s is changed: %q", name, got)
		}
	}
}

// Methods of Go are found without the package's name, as models send them.
func TestMethodAlone(t *testing.T) {
	const before = "package a\n\ntype S struct{}\n\nfunc (s *S) A() int {\n\treturn 1\n}\n\n// B is two.\nfunc (s *S) B() int {\n\treturn 2\n}\n\nfunc (s *S) C() int {\n\treturn 3\n}\n"
	const part = "func (s *S) B() int {\n\treturn 22\n}\n"
	if lost := Gone("a.go", before, part); lost != nil || !Is("a.go", before, part) {
		t.Errorf("taken for another file, without %q", lost)
	}
	after, replaced, err := Put("a.go", before, part)
	if want := strings.Replace(before, "return 2\n", "return 22\n", 1); err != nil || after != want {
		t.Errorf("%q, %v:\n%s", replaced, err, after)
	}
}

// Of a type that is written with some of its methods the others stay, and a function of a name that
// several have takes the place of the one that it is most like.
func TestPutSomeMethods(t *testing.T) {
	const before = `import os


class A:
    """Counts."""

    LIMIT = 3

    def __init__(self):
        self.x = 1

    def f(self):
        return 1

    def g(self):
        return 2

    @property
    def n(self):
        return self.x

    @n.setter
    def n(self, n):
        self.x = n


class B:
    def __init__(self):
        self.y = 1

    def k(self):
        return 4
`
	put := func(old, now string) string { return strings.Replace(before, old, now, 1) }
	for name, tt := range map[string]struct{ text, want string }{
		"one method":         {"class A:\n    def f(self):\n        return 7\n", put("return 1\n", "return 7\n")},
		"with its docstring": {"class A:\n    \"\"\"Counts.\"\"\"\n\n    def f(self):\n        return 7\n", put("return 1\n", "return 7\n")},
		"a new method beside": {
			"class A:\n    def f(self):\n        return 7\n\n    def h(self):\n        return 8\n",
			put("return 1\n", "return 7\n\n    def h(self):\n        return 8\n"),
		},
		"another attribute": {"class A:\n    LIMIT = 4\n\n    def f(self):\n        return 7\n", ""},
		"the first init":    {"def __init__(self):\n    self.x = 1\n    self.z = 2\n", put("self.x = 1\n", "self.x = 1\n        self.z = 2\n")},
		"the second init":   {"    def __init__(self):\n        self.y = 1\n        self.z = 2\n", put("self.y = 1\n", "self.y = 1\n        self.z = 2\n")},
		"no known init":     {"def __init__(self):\n    self.z = 2\n", ""},
		"a setter":          {"    @n.setter\n    def n(self, n):\n        self.x = n + 1\n", put("self.x = n\n", "self.x = n + 1\n")},
		"of a class":        {"class B:\n    def __init__(self):\n        self.z = 2\n", put("self.y = 1\n", "self.z = 2\n")},
	} {
		if !Is("a.py", before, tt.text) {
			t.Errorf("%s: not a part", name)
		}
		if lost := LeftOut("a.py", before, tt.text); tt.want != "" && len(lost) > 0 {
			t.Errorf("%s: %q is left out", name, lost)
		}
		got, _, err := Put("a.py", before, tt.text)
		if (err == nil) != (tt.want != "") || got != tt.want {
			t.Errorf("%s: %v\n%s", name, err, got)
		}
	}
}

// A method of JavaScript alone is found in its class.
func TestPutMethodOfJavaScript(t *testing.T) {
	const before = "const a = 1;\n\nclass Box {\n  open() {\n    return 1;\n  }\n\n  close(now = false) {\n    return 2;\n  }\n}\n\nmodule.exports = Box;\n"
	for _, text := range []string{"close(now = false) {\n  return 3;\n}\n", "  close(now = false) {\n    return 3;\n  }\n"} {
		got, _, err := Put("box.js", before, text)
		if want := strings.Replace(before, "2;", "3;", 1); err != nil || got != want || !Is("box.js", before, text) || len(Gone("box.js", before, text)) > 0 {
			t.Errorf("%v, gone %q:\n%s", err, Gone("box.js", before, text), got)
		}
	}
}

// A method of Go says its type: no other method of its name is meant, whatever its lines are.
func TestPutMethodOfItsType(t *testing.T) {
	const before = "package a\n\nfunc (s S) F() int {\n\treturn 1\n}\n\nfunc (t T) F() int {\n\tx := 2\n\treturn x\n}\n"
	got, _, err := Put("a.go", before, "func (s S) F() int {\n\tx := 2\n\treturn x + 1\n}\n")
	if want := strings.Replace(before, "return 1", "x := 2\n\treturn x + 1", 1); err != nil || got != want {
		t.Errorf("%v:\n%s", err, got)
	}
}
