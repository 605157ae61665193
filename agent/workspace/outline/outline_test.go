package outline

import (
	"strings"
	"testing"

	"github.com/handrail-bot/handrail/policy/longtest"
)

// Files that were made to take long do not: each of these has pieces that begin and never
// end, or scopes without end, in every language.
func TestHostile(t *testing.T) {
	longtest.Leave(t)
	for _, piece := range []string{`"${`, "`${", `"#{`, `"\(`, `'`, "$'", `"`, "/", "<<X ", "<<A\n", "%w(", "%q", "/*", "(* ", "[[", "r#\"", `R"(`, "@\"", "<", "a<", ">(", "(", "]", "{", "}", "{\n#if\n", "#if\n#else\n",
		"a.", "a::b ", "def ", "class A ", "fun <", "a = (", "a: (", "[a](", "type A = ", "=> ", "@A(", "template<", "operator ", "struct A ", "\\", "\x00", "é", "if (a) {\n", "a(b) c(d) ", "?", "<?php ", "?>", "x/y "} {
		text := []byte("<?php\n" + strings.Repeat(piece, 20_000/len(piece)))
		for _, ext := range []string{"py", "js", "tsx", "rs", "java", "c", "cc", "cs", "rb", "php", "kt", "swift", "scala", "sh", "lua", "go"} {
			if defs, _, _ := Of("a."+ext, text); len(defs) > len(text) {
				t.Errorf("%d definitions in %d bytes of %q, %s", len(defs), len(text), piece, ext)
			}
		}
	}
}

func FuzzOf(f *testing.F) {
	for ext := range byExtension {
		f.Add(ext, []byte("class A { def f() {} }\n#if x\n\"${a}\" 'b' /*"))
	}
	f.Fuzz(func(t *testing.T, ext string, text []byte) {
		defs, _, _ := Of("a."+ext, text)
		for _, d := range defs {
			if d.Line < 1 || d.Name == "" || d.Depth < 0 {
				t.Errorf("%+v", d)
			}
		}
	})
}
