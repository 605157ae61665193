package fragment

import (
	"go/parser"
	"go/token"
	"strings"
	"testing"
)

// TestPutOnly takes the function that was asked for out of answers that have more, with the new functions that it
// uses, and puts it into its file.
func TestPutOnly(t *testing.T) {
	const goFile = "// Package text has helpers.\npackage text\n\nimport \"strings\"\n\n// Upper returns capitals.\nfunc Upper(s string) string {\n\treturn strings.ToUpper(s)\n}\n\n// Initials returns letters.\nfunc Initials(s string) string {\n\treturn s[:1]\n}\n"
	const rbFile = "# Words.\nmodule Words\n  LIMIT = 3\n\n  def self.count(text)\n    text.size\n  end\n\n  def self.longest(text)\n    text.split.max\n  end\nend\n"
	for name, c := range map[string]struct{ file, function, before, answer, old, put string }{
		"go, with an example and a test": {
			"text.go", "Initials", goFile,
			"package text\n\nimport (\n\t\"fmt\"\n\t\"strings\"\n\t\"unicode\"\n)\n\nfunc Upper(s string) string {\n\treturn \"\"\n}\n\nfunc Initials(s string) string {\n\treturn join(s)\n}\n\nfunc join(s string) string {\n\treturn string(unicode.ToUpper('a'))\n}\n\nfunc ExampleInitials() {\n\tfmt.Println(Initials(\"a\"))\n}\n",
			"import \"strings\"\n", "import \"strings\"\nimport \"unicode\"\n",
		},
		"ruby, in its module": {
			"words.rb", "count", rbFile,
			"module Words\n  LIMIT = 4\n\n  def self.count(text)\n    text.split.size\n  end\n\n  def self.longest(text)\n    nil\n  end\nend\n\nputs Words.count('a')\n",
			"    text.size\n", "    text.split.size\n",
		},
		"without the function": {"words.rb", "count", rbFile, "  def self.longest(text)\n    text\n  end\n", "", ""},
		"its head alone":       {"words.rb", "count", rbFile, "  def self.count(text)\n    # ...\n  end\n", "", ""},
	} {
		after, ok := PutOnly(c.file, c.before, c.answer, c.function)
		if c.old == "" {
			if ok {
				t.Errorf("%s:\n%s", name, after)
			}
			continue
		}
		if name == "go, with an example and a test" {
			c.before = strings.Replace(c.before, "\treturn s[:1]\n}\n", "\treturn join(s)\n}\n\nfunc join(s string) string {\n\treturn string(unicode.ToUpper('a'))\n}\n", 1)
		}
		if want := strings.Replace(c.before, c.old, c.put, 1); after != want {
			t.Errorf("%s: %v\n%s\nwant\n%s", name, ok, after, want)
		}
	}
}

// TestGoImports holds that a function written alone brings the imports that it needs, and takes those away
// that only its old version needed.
func TestGoImports(t *testing.T) {
	const body = "\n// Sum adds.\nfunc Sum(s string) string {\n\treturn strings.TrimSpace(s)\n}\n\n// Two is two.\nfunc Two() string {\n\treturn fmt.Sprint(2)\n}\n"
	for name, c := range map[string]struct{ imports, answer, want string }{
		"block":        {"import (\n\t\"fmt\"\n\t\"strings\"\n)\n", "import (\n\t\"os\"\n\t\"sort\"\n\t\"strings\"\n)\n\nfunc Sum(s string) string {\n\tsort.Ints(nil)\n\treturn strings.ToUpper(s)\n}\n", "import (\n\t\"fmt\"\n\t\"sort\"\n\t\"strings\"\n)\n"},
		"single lines": {"import \"fmt\"\nimport \"strings\"\n", "import \"unicode\"\n\nfunc Sum(s string) string {\n\treturn strings.Map(unicode.ToUpper, s)\n}\n", "import \"fmt\"\nimport \"strings\"\nimport \"unicode\"\n"},
		"no more":      {"import (\n\t\"fmt\"\n\t\"strings\"\n)\n", "func Sum(s string) string {\n\treturn s + s\n}\n", "import (\n\t\"fmt\"\n)\n"},
		"a named one":  {"import (\n\t\"fmt\"\n\t\"strings\"\n)\n", "import r \"math/rand/v2\"\n\nfunc Sum(s string) string {\n\treturn strings.Repeat(s, r.Int())\n}\n", "import (\n\t\"fmt\"\n\tr \"math/rand/v2\"\n\t\"strings\"\n)\n"},
	} {
		before := "package a\n\n" + c.imports + body
		after, _, err := Put("a.go", before, c.answer)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if !strings.HasPrefix(after, "package a\n\n"+c.want+"\n") {
			t.Errorf("%s:\n%s", name, after)
		}
		if _, err := parser.ParseFile(token.NewFileSet(), "a.go", after, parser.AllErrors); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestMethodsAlone puts a method that is written without its class into it, in languages in which it looks like none.
func TestMethodsAlone(t *testing.T) {
	for name, c := range map[string]struct{ before, answer string }{
		"A.java": {"package a;\n\nclass A {\n    private int n;\n\n    int one() {\n        return OLD;\n    }\n\n    int two() {\n        return 2;\n    }\n}\n", "int one() {\n    return NEW;\n}\n"},
		"A.cs":   {"namespace N\n{\n    class A\n    {\n        public int One()\n        {\n            return OLD;\n        }\n\n        public int Two() { return 2; }\n    }\n}\n", "public int One()\n{\n    return NEW;\n}\n"},
		"a.php":  {"<?php\n\nclass A\n{\n    public function one(): int\n    {\n        return OLD;\n    }\n\n    private function two() { return 2; }\n}\n", "    public function one(): int\n    {\n        return NEW;\n    }\n"},
		"b.php":  {"<?php\n\nfunction one() {\n    return OLD;\n}\n\nfunction two() {\n    return 2;\n}\n", "<?php\nfunction one() {\n    return NEW;\n}\n"},
		"a.ts":   {"export class A {\n  one(): number {\n    return OLD;\n  }\n\n  two(): number {\n    return 2;\n  }\n}\n", "one(): number {\n  return NEW;\n}\n"},
	} {
		after, replaced, err := Put(name, c.before, c.answer)
		if want := strings.Replace(c.before, "OLD", "NEW", 1); err != nil || after != want || !Is(name, c.before, c.answer) {
			t.Errorf("%s: replaced %v, %v\n%s", name, replaced, err, after)
		}
	}
}
