package testrun

import (
	"slices"
	"testing"

	"github.com/handrail-bot/handrail/agent/session"
)

func TestFaults(t *testing.T) {
	at := func(path string, line int, says string) session.Fault {
		return session.Fault{Path: path, Line: line, Says: says}
	}
	for output, want := range map[string][]session.Fault{
		"# slug [slug.test]\n./slug.go:12:14: undefined: strings.IsLetter\n./slug.go:12:37: undefined: strings.IsDigit\n./slug.go:14:2: not enough\n\thave ()\nFAIL\tslug [build failed]": {
			at("./slug.go", 12, "./slug.go:12:14: undefined: strings.IsLetter\n./slug.go:12:37: undefined: strings.IsDigit"),
			at("./slug.go", 14, "./slug.go:14:2: not enough\n\thave ()"),
		},
		"vet: ./a.go:3:1: expected declaration":                                             {at("./a.go", 3, "vet: ./a.go:3:1: expected declaration")},
		"./a_test.go:3:1: undefined: x\n    a_test.go:8: got 1\n\t/w/a.go:11 +0x1d\npanic:": nil,
		"a.c:3:5: warning: unused variable\na.c:4:5: error: no x":                           {at("a.c", 4, "a.c:4:5: error: no x")},
		"  File \"/w/test_a.py\", line 1, in <module>\n  File \"/w/a.py\", line 5\n    return x +\n              ^\nSyntaxError: invalid syntax": {
			at("/w/a.py", 5, "  File \"/w/a.py\", line 5\n    return x +\n              ^\nSyntaxError: invalid syntax"),
		},
		">       return y\nE       NameError: name 'y' is not defined\n\na.py:2: NameError": {at("a.py", 2, "a.py:2: NameError")},
		"  File \"/w/test_a.py\", line 9, in test_a\n    f()\nNameError: name 'f' is not":   nil,
		"  File \"/w/a.py\", line 9, in f\n    f()\nValueError: 3":                          nil,
		"/w/a.js:12\n  f(;\n    ^\n\nSyntaxError: Unexpected token ';'\n":                   {at("/w/a.js", 12, "/w/a.js:12\n  f(;\n    ^\n\nSyntaxError: Unexpected token ';'")},
		"  ReferenceError [Error]: y is not defined\n      at f (/w/a.js:2:3)\n      at T.<a> (file:///w/a.test.js:5:10)\n  ReferenceError: z is not\n      at g (/w/a.js:9:3)": {
			at("/w/a.js", 2, "  ReferenceError [Error]: y is not defined"), at("/w/a.js", 9, "  ReferenceError: z is not"),
		},
		"/w/t_test.rb:1:in 'require': /w/a.rb:3: syntax error found (SyntaxError)\n> 3 | end\n    | ^": {
			at("/w/a.rb", 3, "/w/t_test.rb:1:in 'require': /w/a.rb:3: syntax error found (SyntaxError)\n> 3 | end\n    | ^"),
		},
	} {
		if got := Faults(output); !slices.Equal(got, want) {
			t.Errorf("Faults(%q) =\n%+v, want\n%+v", output, got, want)
		}
	}
}
