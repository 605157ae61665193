package outline

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// TestColour: words of the language, strings, numbers and comments are told from the rest.
func TestColour(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		file, text string
		want       []Part
	}{
		{"a.go", "\tif x == \"if\" { // why if\n", []Part{{"", "\t"}, {"word", "if"}, {"", " x == "}, {"string", `"if"`}, {"", " { "}, {"comment", "// why if"}, {"", "\n"}}},
		{"a.py", "def f(n=12): # if\n", []Part{{"word", "def"}, {"", " f(n="}, {"number", "12"}, {"", "): "}, {"comment", "# if"}, {"", "\n"}}},
		{"a.c", "#include <a.h>\nint x;", []Part{{"word", "#include <a.h>"}, {"", "\n"}, {"word", "int"}, {"", " x;"}}},
		{"a.rs", "/* a\n b */ fn f<'a>()", []Part{{"comment", "/* a\n b */"}, {"", " "}, {"word", "fn"}, {"", " f<'a>()"}}},
		{"a.txt", "if", nil},
		{"a.go", strings.Repeat("x", maxColoured+1), nil},
	} {
		if d := cmp.Diff(tt.want, Colour(tt.file, tt.text)); d != "" {
			t.Errorf("%s: %s", tt.file, d)
		}
	}
}

// TestColourKeepsTheText: the parts of any text are the text, in every language.
func TestColourKeepsTheText(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		pieces := rapid.SliceOf(rapid.SampledFrom([]string{"if ", "\"", "'", "`", "/*", "*/", "//", "#", "\n", "\\", "${", "}", "<<EOF", "r#\"", "é", "\xff", "%q(", "12", "x", "--[[", "<?php", "\x00"}))
		text := strings.Join(pieces.Draw(t, "pieces"), "")
		ext := rapid.SampledFrom([]string{"go", "py", "js", "ts", "tsx", "rs", "java", "c", "cpp", "cs", "rb", "php", "kt", "swift", "scala", "sh", "lua"}).Draw(t, "extension")
		var b strings.Builder
		for _, p := range Colour("a."+ext, text) {
			b.WriteString(p.Text)
		}
		if b.String() != text {
			t.Fatalf("%q became %q", text, b.String())
		}
	})
}
