package prose

import (
	"strings"
	"testing"
)

func TestSpoken(t *testing.T) {
	view := View{{Path: "leap.js", Text: "function isLeap(y) {\n  return y % 4 === 0 && (y % 100 !== 0 || y % 100 === 0);\n}\nf(1);\nf(2);\n"}, {Path: "b.js", Text: "g(3);\n"}}
	for _, tt := range []struct{ text, want string }{
		{"Line 2 says `(y % 100 !== 0 || y % 100 === 0)`, it should be `(y % 100 !== 0 || y % 400 === 0)`.", "  return y % 4 === 0 && (y % 100 !== 0 || y % 400 === 0);"},
		{"`y % 100 !== 0 || y % 100 === 0` devient `y % 100 !== 0 || y % 400 === 0`", "  return y % 4 === 0 && (y % 100 !== 0 || y % 400 === 0);"},
		{"Change `g(3);` to `g(4);` in b.js.", "g(4);"},
		{"`y % 100` must be `y % 400`.", ""},                                           // twice in the file
		{"`function isLeap(y)` returns `isLeap(y) === true`.", ""},                     // not alike
		{"`f(1);` and `f(2);` are both there.", ""},                                    // no new code
		{"`f(1);` becomes `f(9);`, and `f(2);` becomes `f(8);`.", ""},                  // several
		{"The line is `return z % 4 === 0` and should be `return z % 400 === 0`.", ""}, // not in view
		{"line 8 should be `return y % 4 === 0 && (y % 100 !== 0 || y % 400 === 0);`", "  return y % 4 === 0 && (y % 100 !== 0 || y % 400 === 0);"},
		{"In `leap.js` the line of `isLeap` is `return y % 4 === 0 && (y % 100 !== 0 || y % 400 === 0);` then.", "  return y % 4 === 0 && (y % 100 !== 0 || y % 400 === 0);"},
		{"line 4 should be `f(3);`", ""}, // too short to be compared
		{"It was `return y % 4 === 0 && (y % 10 !== 0);`, now `return y % 4 === 0 && y % 400 === 0;`", ""}, // two new ones
		{"line 2 should be `const other = require('other');`", ""},                                         // like no line
		{"no code at all", ""},
	} {
		act, ok := Spoken(tt.text, view)
		if ok != (tt.want != "") {
			t.Errorf("%q: %+v", tt.text, act)
			continue
		}
		if !ok {
			continue
		}
		f, _ := view.only(tt.want)
		if f.Path != "" {
			t.Errorf("%q: the new line stands there already", tt.text)
		}
		if got := Parse(act.Path+"\n"+act.Text, view); len(got.Acts) != 1 || got.Acts[0].Kind != Blocks {
			t.Errorf("%q is no block: %+v", act.Text, got)
		}
		if !strings.Contains(act.Text, "=======\n"+tt.want+"\n>>>>>>>") {
			t.Errorf("%q: %q, want the line %q", tt.text, act.Text, tt.want)
		}
	}
}
