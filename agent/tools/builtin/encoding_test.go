package builtin_test

import (
	"testing"

	"github.com/handrail-bot/handrail/agent/tools/toolstest"
	"github.com/handrail-bot/handrail/policy"
)

// TestEncodingIsKept: whatever tool changes it, the file stays in the encoding that it has,
// or as it is.
func TestEncodingIsKept(t *testing.T) {
	const latin, gbk, wide = "# Gr\xf6\xdfe f\xfcr\nx = 1\n", "# \xc5\xe4\xd6\xc3\xce\xc4\xbc\xfe\nx = 1\n", "\xff\xfeh\x00\xe9\x00\n\x00x\x00\n\x00"
	b := toolstest.Open(t, map[string]string{"l.py": latin, "g.py": gbk, "w.txt": wide, "mixed.txt": "größe straße\nx\xff\n",
		"bare.rc": "a\x00 \x00\xe9\x00\r\x00\n\x00"})
	_, res := b.Do("read_file", toolstest.Arguments("path", "l.py"))
	toolstest.Contains(t, res.Content, "1 | # Größe für\n")
	_, res = b.Do("read_file", toolstest.Arguments("path", "g.py", "lines", "1-1"))
	toolstest.Contains(t, res.Content, "1 | # 配置文件\n")

	action, _ := b.Do("write_file", toolstest.Arguments("path", "l.py", "content", "# Größe für zwölf\nx = 1\n"))
	toolstest.Contains(t, action.Display, "+# Größe für zwölf")
	if is := policy.BlobID("# Gr\xf6\xdfe f\xfcr zw\xf6lf\nx = 1\n"); len(action.Effects) != 1 || action.Effects[0].Is != is || action.Effects[0].Was != policy.BlobID(latin) {
		t.Errorf("the effects are %+v", action.Effects)
	}
	b.Is("l.py", "# Gr\xf6\xdfe f\xfcr zw\xf6lf\nx = 1\n")
	b.Do("insert_content", toolstest.Arguments("path", "l.py", "line", 2, "content", "# süß\n"))
	b.Do("edit_file", toolstest.Arguments("path", "l.py", "old_string", "zwölf", "new_string", "fünf"))
	b.Do("search_and_replace", toolstest.Arguments("path", "l.py", "search", "für", "replace", "mit"))
	b.Do("apply_diff", toolstest.Arguments("path", "l.py", "diff", "@@\n-x = 1\n+x = 2 # é\n"))
	b.Is("l.py", "# Gr\xf6\xdfe mit f\xfcnf\n# s\xfc\xdf\nx = 2 # \xe9\n")
	b.Fails("edit_file", toolstest.Arguments("path", "l.py", "old_string", "x = 2", "new_string", "x = '→'"), "ISO-8859-1, which has no '→'")

	b.Do("edit_file", toolstest.Arguments("path", "g.py", "old_string", "x = 1", "new_string", "x = '中文'"))
	b.Is("g.py", "# \xc5\xe4\xd6\xc3\xce\xc4\xbc\xfe\nx = '\xd6\xd0\xce\xc4'\n")
	b.Do("edit_file", toolstest.Arguments("path", "w.txt", "old_string", "x", "new_string", "ü"))
	b.Is("w.txt", "\xff\xfeh\x00\xe9\x00\n\x00\xfc\x00\n\x00")

	_, res = b.Do("read_file", toolstest.Arguments("path", "bare.rc"))
	toolstest.Contains(t, res.Content, "1 | a é\n")
	b.Do("write_file", toolstest.Arguments("path", "bare.rc", "content", "b é\n"))
	b.Is("bare.rc", "b\x00 \x00\xe9\x00\r\x00\n\x00")

	b.Fails("write_file", toolstest.Arguments("path", "mixed.txt", "content", "größe straße\nx\uFFFD\ny\n"), "bytes that are no text")
	b.Do("edit_file", toolstest.Arguments("path", "mixed.txt", "old_string", "größe", "new_string", "maß"))
	b.Is("mixed.txt", "maß straße\nx\xff\n")
}

// TestNamesThatDifferInCase: a file beside one of the same name but for case is most often
// that file.
func TestNamesThatDifferInCase(t *testing.T) {
	b := toolstest.Open(t, map[string]string{"README.md": "# A\n", "docs/guide.md": "g\n", "old.txt": "o\n"})
	b.Fails("write_file", toolstest.Arguments("path", "readme.md", "content", "# B\n"), "did you mean README.md?")
	b.Fails("write_file", toolstest.Arguments("path", "Docs/Guide/new.md", "content", "n\n"), "did you mean docs/Guide/new.md?")
	b.Fails("write_file", toolstest.Arguments("path", "docs/Guide.md", "content", "n\n"), "did you mean docs/guide.md?")
	b.Fails("insert_content", toolstest.Arguments("path", "Readme.md", "line", 0, "content", "n\n"), "did you mean README.md?")
	b.Fails("apply_diff", toolstest.Arguments("diff", "--- a/old.txt\n+++ b/readme.MD\nrename from old.txt\nrename to readme.MD\n@@ -1 +1 @@\n-o\n+p\n"), "README.md")
	b.Is("README.md", "# A\n")
	b.Do("apply_diff", toolstest.Arguments("diff", "--- a/README.md\n+++ b/Readme.md\nrename from README.md\nrename to Readme.md\n@@ -1 +1 @@\n-# A\n+# B\n"))
	b.Is("Readme.md", "# B\n")
	b.Do("write_file", toolstest.Arguments("path", "docs/other.md", "content", "n\n"))
}

// TestNamesInBothCompositions: a name that macOS wrote in parts is the same name as models write it.
func TestNamesInBothCompositions(t *testing.T) {
	const parts, whole = "cafe\u0301", "caf\u00e9"
	b := toolstest.Open(t, map[string]string{parts + "/" + parts + ".md": "# A\n"})
	b.Do("edit_file", toolstest.Arguments("path", whole+"/"+whole+".md", "old_string", "# A", "new_string", "# B"))
	b.Is(parts+"/"+parts+".md", "# B\n")
	b.Do("write_file", toolstest.Arguments("path", whole+"/new.md", "content", "n\n"))
	b.Is(parts+"/new.md", "n\n")
	b.Do("write_file", toolstest.Arguments("path", whole+".md", "content", "n\n"))
	b.Is(whole+".md", "n\n")
}
