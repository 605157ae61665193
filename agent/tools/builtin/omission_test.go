package builtin_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/handrail-bot/handrail/agent/tools/toolstest"
	"github.com/handrail-bot/handrail/policy/longtest"
)

// longFile returns a file of 140 lines in which nothing stands for text.
func longFile() string {
	var b strings.Builder
	for i := range 140 {
		fmt.Fprintf(&b, "value %d is set in step %d\n", i, i*7)
	}
	return b.String()
}

// TestOmissionsAreRefused: a line in the place of text that the file would lose, in
// the words and comments of many languages.
func TestOmissionsAreRefused(t *testing.T) {
	longtest.Leave(t)
	old := longFile()
	marks := [][2]string{
		{"a.go", "// (unchanged)"}, {"a.go", "// unchanged"}, {"a.go", "\t// [unchanged]"}, {"a.go", "// -- unchanged --"},
		{"a.go", "/* … */"}, {"a.go", "/* ... */"}, {"a.c", "/* rest as before */"}, {"a.c", "/* same as above */"},
		{"a.py", "# etc."}, {"a.py", "# etc"}, {"a.py", "    # ... etc ..."}, {"a.py", "# and so on"}, {"a.py", "# (as before)"},
		{"a.py", `"""rest of the module unchanged"""`}, {"a.rb", "# rest as before"}, {"a.sh", "# the rest stays as it was"},
		{"a.sql", "-- rest as before"}, {"a.sql", "-- the rest is unchanged"}, {"a.lua", "-- (rest unchanged)"}, {"a.hs", "{- same as before -}"},
		{"a.html", "<!-- same as above -->"}, {"a.html", "<!-- unchanged -->"}, {"a.xml", "<!-- … -->"}, {"a.vue", "<!-- rest of the template -->"},
		{"a.css", "/* all other rules unchanged */"}, {"a.css", "/* etc. */"}, {"a.jsx", "{/* rest is the same */}"}, {"a.jsx", "{/* unchanged */}"},
		{"a.ts", "// the other methods stay the same"}, {"a.ts", "// no changes below"}, {"a.ts", "// nothing else changes"}, {"a.ts", "// everything else as before"},
		{"a.go", "// TODO: implement the rest"}, {"a.py", "# TODO: add the rest"}, {"a.java", "// TODO: remaining methods go here"}, {"a.rs", "// FIXME: port the others"},
		{"a.el", ";; rest of file unchanged"}, {"a.tex", "% remaining sections as before"}, {"a.erl", "% snip"}, {"a.ml", "(* same as before *)"},
		{"a.tpl", "{{/* rest unchanged */}}"}, {"a.tpl", "{{!-- same as before --}}"}, {"a.j2", "{# rest of the block unchanged #}"}, {"a.bas", "' rest as before"},
		{"a.bat", "REM rest as before"}, {"a.ini", "; other settings unchanged"}, {"a.yaml", "# ... (other keys)"}, {"a.go", "// <unchanged>"},
		{"a.go", "// No changes from here on"}, {"a.sql", "-- unchanged from here"}, {"a.js", "// code continues"}, {"a.js", "// (existing code)"}, {"a.py", "# other imports"},
		{"a.go", "// as above"}, {"a.go", "// placeholder for the rest"}, {"a.go", "// similarly for the others"}, {"a.html", "<!-- remaining content -->"}, {"a.go", "// ⋮"},
		{"a.go", "// (not shown)"}, {"a.go", "// (left as is)"}, {"a.go", "// see the original file"}, {"a.go", "// same as previous version"},
		{"a.go", "// <rest of the file>"}, {"a.go", "// [same as original]"}, {"a.js", "// ...same as before..."}, {"a.js", "/* snip */"},
	}
	b := toolstest.Open(t, map[string]string{"keep.txt": "x\n"})
	write := func(name string) {
		if err := b.WS.Write(t.Context(), name, []byte(old)); err != nil {
			t.Fatal(err)
		}
	}
	passed := 0
	for _, m := range marks {
		write(m[0])
		if res, err := run(t, b, "write_file", toolstest.Arguments("path", m[0], "content", "value 0 is new\n"+m[1]+"\nvalue 139 is set in step 973\n")); err == nil {
			passed++
			t.Errorf("%s: %q passed: %s", m[0], m[1], res)
		}
	}
	head := strings.Join(strings.SplitAfter(old, "\n")[:60], "")
	for _, n := range []int{140, 100, 80, 5000} {
		write("a.go")
		b.Fails("write_file", toolstest.Arguments("path", "a.go", "content", head, "line_count", n), "line_count", "complete content")
	}
	t.Logf("%d of %d omissions refused", len(marks)-passed, len(marks))
}

// TestOmissionsByForm: dots, and few words alone in the place of lines, in languages that
// no list knows.
func TestOmissionsByForm(t *testing.T) {
	longtest.Leave(t)
	old := strings.SplitAfter(longFile(), "\n")[:40]
	b := toolstest.Open(t, map[string]string{"keep.txt": "x\n"})
	for _, m := range [][2]string{
		{"a.go", "// ... rest of the code"}, {"a.py", "# existing code here"}, {"a.js", "/* unchanged */"}, {"a.go", "// (same as before)"}, {"a.go", "..."}, {"a.py", "..."}, {"a.py", "    ..."},
		{"a.py", "# ... bestehender Code ..."}, {"a.rb", "# … остальной код …"}, {"a.py", "# resto del código"}, {"a.js", "// reste du code inchangé"}, {"a.go", "// 省略"},
		{"a.py", "# existing methods"}, {"a.ts", "// all the other code"}, {"a.js", "// more code"}, {"a.js", "// your code here"}, {"a.py", "<rest of code>"}, {"a.css", "/* [existing code] */"},
	} {
		for _, less := range []int{8, 30} {
			if err := b.WS.Write(t.Context(), m[0], []byte(strings.Join(old, ""))); err != nil {
				t.Fatal(err)
			}
			content := strings.Join(old[:5], "") + m[1] + "\n" + strings.Join(old[5+less:], "")
			if res, err := run(t, b, "write_file", toolstest.Arguments("path", m[0], "content", content)); err == nil {
				t.Errorf("%s, %d lines less: %q passed: %s", m[0], less, m[1], res)
			}
		}
	}
}

// TestHonestFilesAreWritten: words of that kind in files that leave nothing out.
func TestHonestFilesAreWritten(t *testing.T) {
	longtest.Leave(t)
	old := longFile()
	b := toolstest.Open(t, map[string]string{"keep.txt": "x\n"})
	refused, all := 0, 0
	try := func(name, before, content string, more ...any) {
		t.Helper()
		all++
		if err := b.WS.Write(t.Context(), name, []byte(before)); err != nil {
			t.Fatal(err)
		}
		if _, err := run(t, b, "write_file", toolstest.Arguments(append([]any{"path", name, "content", content}, more...)...)); err != nil {
			refused++
			t.Errorf("%s: %q was refused: %v", name, content, err)
		}
	}
	// The old version has the line as well.
	for _, m := range [][2]string{
		{"a.go", "// (unchanged)"}, {"a.py", "# etc."}, {"a.c", "/* ... */"}, {"a.sql", "-- rest as before"}, {"a.html", "<!-- same as above -->"},
		{"a.go", "// TODO: implement the rest"}, {"a.ts", "// ... existing code ..."}, {"a.css", "/* unchanged */"},
	} {
		try(m[0], old+m[1]+"\n", "value 0 is new\n  "+m[1]+"\n")
	}
	// Words that say something of what is there, in a file that gets shorter.
	for _, m := range [][2]string{
		{"a.go", "// The rest is up to the caller."}, {"a.go", "// unchanged reports whether both are the same."}, {"a.go", "// Names, flags, etc. are read from the file."},
		{"a.go", "// existing users keep their password"}, {"a.go", "// rest holds what is left of the path"}, {"a.go", "// more than one may fit"},
		{"a.go", "var s = \"... existing code ...\""}, {"a.go", "func f(a ...int) {}"}, {"a.go", "// skipped counts the files that are ignored"}, {"a.go", "// same as f, with a context"},
		{"a.go", "// everything is the same to the scheduler"}, {"a.py", "# content is unchanged if the hash matches"}, {"a.go", "// Other is as it was read from the file."},
		{"a.go", "// remaining is how many bytes are left"}, {"a.go", "// Everything else is an error."}, {"a.go", "// The others wait until it is free."},
		{"a.py", "def stub():\n    ..."}, {"a.py", "# as before Python 3.8, keys are sorted"}, {"a.py", "print('etc.')"}, {"a.py", "# The original file is kept beside it."},
		{"a.ts", "const {a, ...rest} = b"}, {"a.ts", "// keep the connection open"}, {"a.rs", "let Foo { a, .. } = b;"}, {"a.rs", "// TODO: handle errors"},
		{"a.sql", "-- previous orders of the same customer"}, {"a.sh", "# other hosts are reached through the proxy"}, {"a.html", "<p>The rest stays the same.</p>"},
		{"a.html", "<li>etc.</li>"}, {"a.yaml", "# more hosts can be added"}, {"a.c", "/* same size as above */"}, {"a.lua", "-- the rest of the arguments"},
		{"a.go", "// changed"}, {"a.go", "// Existing"}, {"a.go", "// keep this"}, {"a.go", "// keep the original name"},
		{"a.md", "# The rest of us"}, {"a.md", "And so on, and so on …"}, {"a.md", "- etc."}, {"a.md", "Everything else stays unchanged."}, {"a.txt", "The remaining methods are unchanged."}, {"a.md", "# Unchanged since 2.0"},
		{"a.md", "# More"}, {"a.md", "## Remaining work"}, {"a.md", "* The rest of the code is in `src`."}, {"a.md", "- No changes"}, {"a.rst", "..."}, {"CHANGELOG.md", "- The existing tests remain as they are."},
	} {
		try(m[0], old, "value 0 is new\n"+m[1]+"\nvalue 139 is set in step 973\n")
	}
	// New files, and counts that are nearly right.
	try("new.go", "", "// etc.\npackage a\n")
	try("new.py", "", "# TODO: implement the rest\nx = 1\n")
	try("new.ts", "", "// keep the other entries\nconst x = 1\n")
	for _, n := range []int{140, 141, 131, 150, 0, 10} {
		try("n.txt", "x\n", old, "line_count", n)
	}
	t.Logf("%d of %d honest files written", all-refused, all)
}

// run calls a tool once.
func run(t *testing.T, b *toolstest.Bench, name, args string) (string, error) {
	t.Helper()
	tool := b.Tool(name)
	if _, err := tool.Intent(t.Context(), toolstest.Call(name, args)); err != nil {
		return "", err
	}
	res, err := tool.Run(t.Context(), toolstest.Call(name, args), nil)
	return res.Content, err
}
