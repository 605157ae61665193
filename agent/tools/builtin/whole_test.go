package builtin_test

import (
	"strings"
	"testing"

	"github.com/handrail-bot/handrail/agent/tools"
	"github.com/handrail-bot/handrail/agent/tools/toolstest"
	"github.com/handrail-bot/handrail/policy/longtest"
)

const (
	goFile = "package a\n\n// F returns one.\nfunc F() int {\n\treturn 1\n}\n"
	pyFile = "import os\n\n\ndef slug(s):\n    return s.lower().replace(\" \", \"-\")\n"
	fence  = "```"
)

// TestRepliesAreNoFiles: a reply to a person with a file in it becomes the file, or is
// refused; whatever tool makes it.
func TestRepliesAreNoFiles(t *testing.T) {
	longtest.Leave(t)
	for _, tt := range []struct{ name, path, content, want, words string }{
		{"a reply with one fence", "a.go", "Here is the file:\n\n" + fence + "go\n" + goFile + fence + "\n\nThis does what you asked for.\n", goFile, "code fence"},
		{"the same for Python", "a.py", "Sure! I've updated the function as you asked:\n" + fence + "python\n" + pyFile + fence + "\n### Changes\n- Uses `replace`\n1. Lower case\n", pyFile, "code fence"},
		{"its path above", "lib/a.py", "lib/a.py\n" + fence + "\n" + pyFile + fence + "\n", pyFile, "code fence"},
		{"its path as a heading", "lib/a.py", "### `lib/a.py`\n" + fence + "py\n" + pyFile + fence + "\n", pyFile, "code fence"},
		{"words behind a fence", "a.go", fence + "go\n" + goFile + fence + "\nThe function F now returns one.\n", goFile, "code fence"},
		{"another language", "a.py", "以下是文件：\n" + fence + "python\n" + pyFile + fence + "\n", pyFile, "code fence"},
		{"JSON", "c.json", "Here's the config:\n" + fence + "json\n{\"a\": 1, \"bcdefgh\": [1, 2, 3, 4, 5, 6]}\n" + fence, "{\"a\": 1, \"bcdefgh\": [1, 2, 3, 4, 5, 6]}\n", "code fence"},
		{"a heading of ours, then a fence", "a.py", "# Contents of a.py (already provided — do not re-read)\n" + fence + "python\n" + pyFile + fence + "\n", pyFile, "headings"},
		{"numbers of cat", "a.py", "     1\timport os\n     2\t\n     3\t\n     4\tdef f():\n     5\t    pass\n", "", "line number"},
		{"numbers as grep has them", "a.py", "1:import os\n2:\n3:x = 1\n", "", "line number"},

		{"two fences", "a.go", "Here is the file:\n" + fence + "go\n" + goFile + fence + "\nAnd the test:\n" + fence + "go\npackage a\n" + fence + "\n", "", "is a sentence"},
		{"commands", "a.py", "Run this command please:\n" + fence + "bash\npip install requests && python a.py\n" + fence + "\n", "", "is a sentence"},
		{"more words than code", "a.py", "I have looked at the whole file and it is fine.\n" + fence + "\nx\n" + fence + "\n", "", "is a sentence"},
		{"no fence", "a.go", "Here is the file:\n" + goFile, "", "is a sentence"},
		{"words in JSON", "c.json", "the config is {\"a\": 1}\n", "", "no JSON begins"},
		{"two files in fences", "a.js", fence + "js\nf()\n" + fence + "\n" + fence + "css\na {}\n" + fence + "\n", "", "is a code fence"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, call := range [][2]string{
				{"write_file", toolstest.Arguments("path", tt.path, "content", tt.content)},
				{"edit_file", toolstest.Arguments("path", tt.path, "old_string", "", "new_string", tt.content)},
				{"insert_content", toolstest.Arguments("path", tt.path, "line", 1, "content", tt.content)},
				{"apply_diff", toolstest.Arguments("diff", "--- /dev/null\n+++ b/"+tt.path+"\n@@ -0,0 +1,"+"9 @@\n+"+strings.ReplaceAll(strings.TrimSuffix(tt.content, "\n"), "\n", "\n+")+"\n")},
			} {
				b := toolstest.Open(t, nil)
				if tt.want == "" {
					b.Fails(call[0], call[1], tt.words)
					continue
				}
				_, res := b.Do(call[0], call[1])
				toolstest.Contains(t, res.Content, "Created "+tt.path, tt.words)
				b.Is(tt.path, tt.want)
			}
		})
	}
}

// TestOrdinaryFilesAreWritten: what only looks like a reply or a rendering.
func TestOrdinaryFilesAreWritten(t *testing.T) {
	longtest.Leave(t)
	for path, text := range map[string]string{
		"a.md":        "Here is the file:\n\n" + fence + "go\n" + goFile + fence + "\n\nThis does it.\n",
		"notes.txt":   "Here is the plan:\n1. one\n2. two\n",
		"table.md":    "n | name\n--- | ---\n1 | a\n2 | b\n",
		"data.tsv":    "1\ta\n2\tb\n",
		"ids.txt":     "1\ta\n2\tb\n",
		"map.yaml":    "1: a\n2: b\n",
		"doc.py":      "\"\"\"Slugs.\n\n" + fence + "python\nslug(1)\n" + fence + "\n\"\"\"\n\nx = 1\n",
		"lic.js":      "/*\nCopyright the authors.\n" + fence + "\n*/\nf()\n",
		"run.sh":      "#!/bin/sh\ncat <<EOF\nHere is the file:\n" + fence + "\nx\n" + fence + "\nEOF\n",
		"c.json":      "\"text\"\n",
		"say.txt":     "Created by hand.\n",
		"ini.cfg":     "[cut]\n[more]\nname = 1\n",
		"q.sql":       "SELECT a FROM b;\n",
		"page.php":    "Dear reader of this page:\n<?php f(); ?>\n",
		"story.txtar": "-- out --\n[Exit code 0, 3ms]\nCreated a.go (+1 −0).\n",
		"how.md":      "It says:\n\n" + fence + "\nFile: a.go (3 lines)\n1 | x\n" + fence + "\n",
	} {
		b := toolstest.Open(t, nil)
		_, res := b.Do("write_file", toolstest.Arguments("path", path, "content", text))
		b.Is(path, text)
		if strings.Contains(res.Content, "Note") {
			t.Errorf("%s: %s", path, res.Content)
		}
	}
}

// TestSyntaxIsTold: a file that does not parse is written, and the answer says where.
func TestSyntaxIsTold(t *testing.T) {
	b := toolstest.Open(t, map[string]string{"a.go": goFile, "bad.go": "package a\n\nfunc {\n"})
	_, res := b.Do("write_file", toolstest.Arguments("path", "b.py", "content", "def f(:\n    return 1\n"))
	toolstest.Contains(t, res.Content, "b.py does not parse: line 1, column 6: '(' is not closed.")
	_, res = b.Do("write_file", toolstest.Arguments("path", "c.json", "content", "{\"a\": 1,}\n"))
	toolstest.Contains(t, res.Content, "c.json does not parse: line 1")
	_, res = b.Do("edit_file", toolstest.Arguments("path", "a.go", "old_string", "return 1", "new_string", "return (1"))
	toolstest.Contains(t, res.Content, "a.go does not parse: line 5")
	_, res = b.Do("edit_file", toolstest.Arguments("path", "bad.go", "old_string", "package a", "new_string", "package b"))
	toolstest.Contains(t, res.Content, "bad.go still does not parse: line 3")
	_, res = b.Do("edit_file", toolstest.Arguments("path", "a.go", "old_string", "return (1", "new_string", "return 2"))
	if strings.Contains(res.Content, "parse") {
		t.Error(res.Content)
	}
	_, res = b.Do("delete_file", toolstest.Arguments("path", "bad.go"))
	if strings.Contains(res.Content, "parse") {
		t.Error(res.Content)
	}
}

// TestSyntaxIsKept: no edit of a small model breaks a file that parses, and one that does not parse can be edited.
func TestSyntaxIsKept(t *testing.T) {
	files := map[string]string{
		"a.go":   goFile,
		"a.json": "{\"a\": 1}\n",
		"a.py":   "def f():\n    return (1)\n",
		"bad.go": "package a\n\nfunc {\n",
	}
	b := toolstest.Open(t, files)
	strict := func(name, path, old, with string) error {
		arguments := toolstest.Arguments("path", path, "old_string", old, "new_string", with)
		if name == "write_file" {
			arguments = toolstest.Arguments("path", path, "content", strings.Replace(files[path], old, with, 1))
		}
		_, err := b.Tool(name).Intent(tools.Strict(t.Context()), toolstest.Call(name, arguments))
		return err
	}
	for _, c := range [][3]string{{"a.go", "return 1", "return (1"}, {"a.json", "1", "1,"}, {"a.py", "(1)", "(1"}} {
		for _, name := range []string{"edit_file", "write_file"} {
			err := strict(name, c[0], c[1], c[2])
			if err == nil || !strings.Contains(err.Error(), "with this edit "+c[0]+" does not parse: line ") {
				t.Errorf("%s %s: %v", name, c[0], err)
			}
		}
	}
	if err := strict("edit_file", "bad.go", "package a", "package b"); err != nil {
		t.Error(err)
	}
}

// TestMostLinesStay: a small model does not replace a file by another one. It may write a function anew, and
// change a name in each line.
func TestMostLinesStay(t *testing.T) {
	const text = "import os\n\nDEFAULT = 3\n\ndef number(name):\n    value = os.environ.get(name)\n    return int(value)\n"
	b := toolstest.Open(t, map[string]string{"a.py": text})
	for content, refused := range map[string]bool{
		"def main():\n    print('Hello')\n\nmain()\n": true,
		strings.Replace(text, "    value = os.environ.get(name)\n    return int(value)\n", "    try:\n        return int(os.environ[name])\n    except KeyError:\n        return DEFAULT\n", 1): false,
		strings.NewReplacer("os.environ", "env", "import os", "from os import environ as env", "DEFAULT", "STANDARD", "number", "numeral").Replace(text):                                        false,
	} {
		arguments := toolstest.Arguments("path", "a.py", "content", content)
		_, err := b.Tool("write_file").Intent(tools.Strict(t.Context()), toolstest.Call("write_file", arguments))
		if (err != nil) != refused {
			t.Errorf("%q: %v", content, err)
		}
	}
}

// TestBrokenIsTakenBack: a parser of the workspace judges the edits of a small model in other languages.
func TestBrokenIsTakenBack(t *testing.T) {
	longtest.Leave(t)
	b := toolstest.Open(t, map[string]string{"a.py": pyFile})
	for name, arguments := range map[string]string{
		"write_file": toolstest.Arguments("path", "a.py", "content", "def def f():\n    return 1\n"),
		"edit_file":  toolstest.Arguments("path", "a.py", "old_string", "return s.lower", "new_string", "return return s.lower"),
	} {
		_, err := b.Tool(name).Run(tools.Strict(t.Context()), toolstest.Call(name, arguments), func(string) {})
		if err == nil || !strings.Contains(err.Error(), "with this edit a.py does not parse: line ") {
			t.Errorf("%s: %v", name, err)
		}
		b.Is("a.py", pyFile)
	}
}

// TestMadeOnce: an insertion that is there is not made again.
func TestMadeOnce(t *testing.T) {
	b := toolstest.Open(t, map[string]string{"a.txt": "# Tools\n\none\n"})
	arguments := toolstest.Arguments("path", "a.txt", "old_string", "# Tools\n", "new_string", "# Tools\n\nzero\n")
	_, res := b.Do("edit_file", arguments)
	toolstest.Contains(t, res.Content, "Changed a.txt")
	b.Fails("edit_file", arguments, "made already")
	b.Is("a.txt", "# Tools\n\nzero\n\none\n")
}

// TestPartlyNumbered: numbers in front of most lines, and a part of a file with its own.
func TestPartlyNumbered(t *testing.T) {
	b := toolstest.Open(t, map[string]string{"a.py": pyFile})
	b.Fails("write_file", toolstest.Arguments("path", "a.py", "content", "1 | import os\n2 | \n3 | \n4 | def slug(s):\n    return s\n"), "line number")
	b.Fails("write_file", toolstest.Arguments("path", "a.py", "content", "4 | def slug(s):\n5 |     return s\n"), "line number")
	b.Is("a.py", pyFile)
	b.Do("write_file", toolstest.Arguments("path", "a.py", "content", "File: a.py (5 lines)\n1 | import os\n2 | \n3 | \n4 | def slug(s):\n5 |     return s\n"))
	b.Is("a.py", "import os\n\n\ndef slug(s):\n    return s\n")
}
