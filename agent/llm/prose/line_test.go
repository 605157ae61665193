package prose

import "testing"

func TestCorrected(t *testing.T) {
	view := View{{Path: "a.go", Text: "package a\n\nfunc F() int {\n\treturn 1\n}\n"}, {Path: "b.go", Text: "package b\n\nvar limit = 3\n"}}
	l := Line{Path: "a.go", Lines: []string{"\tx := 1", "\t} else if a {", "\t\treturn 2"}, At: 1}
	for text, want := range map[string]string{
		"```go\nelse if b\n```":                      "\t} else if b {",
		"Here:\n\n```\n  } else if b {\n```\nDone.":  "\t} else if b {",
		"~~~\n} else if b {":                         "\t} else if b {",
		"a.go\n```\n} else if b {\n```":              "\t} else if b {",
		"```\nx := 1\n} else if b {\nreturn 2\n```":  "\t} else if b {",
		"```\n} else if a {\n```":                    "none", // a copy
		"```\nvar limit = 3\n```":                    "none", // of another file
		"```\n=======\n```":                          "none",
		"b.go\n```\n} else if b {\n```":              "",
		"} else if b {":                              "",
		"```\n\n```":                                 "",
		"```\n} else if b {\n```\n```\ny\n```":       "",
		"```\n1\n2\n3\n4\n5\n6\n```":                 "",
		"```go\nfunc F() int {\n\treturn 2\n}\n```":  "",
		"a.go\n```go\npackage a\n\nvar a = 1\n```\n": "",
	} {
		got, ok := Corrected(text, l, view)
		put := ""
		switch {
		case ok && len(got.Acts) == 0:
			put = "none"
		case ok:
			put = got.Acts[0].Text
			want = searchMark + "\n\tx := 1\n\t} else if a {\n\t\treturn 2\n=======\n\tx := 1\n" + want + "\n\t\treturn 2\n" + replaceMark + "\n"
		}
		if put != want {
			t.Errorf("Corrected(%q) = %q, want %q", text, put, want)
		}
	}
}
