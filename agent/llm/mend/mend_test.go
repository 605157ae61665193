package mend

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// tags are marks of a markup that knows <open> and <close>.
type tags struct{}

func (tags) At(s string, i int) bool {
	return strings.HasPrefix(s[i:], "<open>") || strings.HasPrefix(s[i:], "<close>")
}

func (tags) Cut(s string, i int) bool {
	return s[i:] != "<close>" && strings.HasPrefix("<close>", s[i:])
}

func (tags) Closing(s string, from, to int) int {
	at := strings.Index(s[from:], "<close>")
	if at < 0 || to >= 0 && (from+at > to || !strings.Contains(s[from+at:to], "<open>")) {
		return -1
	}
	return from + at
}

func (tags) Trailing(s string) int {
	if rest, ok := strings.CutSuffix(s, "<close>"); ok {
		return len(rest)
	}
	return -1
}

func TestRead(t *testing.T) {
	for _, tc := range []struct {
		name, in, want string
		rest           string // what is left behind the value
		marks          Marks
		reading        Reading
	}{
		{name: "valid", in: `{"a": [1, "x\u00e9", null]} tail`, want: `{"a": [1, "x\u00e9", null]}`, rest: " tail"},
		{name: "valid with odd text", in: `{"a": "} <close> \" ,"}`, want: `{"a": "} <close> \" ,"}`, marks: tags{}},
		{name: "trailing commas", in: `{"a": [1,],}`, want: `{"a":[1]}`, reading: Reading{Mended: true}},
		{name: "single quotes and bare keys", in: `{a: 'it\'s', b-c: "x"}`, want: `{"a":"it's","b-c":"x"}`, reading: Reading{Mended: true}},
		{name: "smart quotes outside, kept inside", in: `{“a”: “‘x’”}`, want: `{"a":"‘x’"}`, reading: Reading{Mended: true}},
		{name: "raw line breaks and tabs", in: "{\"a\": \"x\n\ty\"}", want: `{"a":"x\n\ty"}`, reading: Reading{Mended: true}},
		{name: "words of Python", in: `{"a": True, "b": None, "c": (1, 2)}`, want: `{"a":true,"b":null,"c":[1,2]}`, reading: Reading{Mended: true}},
		{name: "comments", in: "{/* a */ \"a\": 1, // b\n\"c\": 2 # d\n}", want: `{"a":1,"c":2}`, reading: Reading{Mended: true}},
		{name: "quotes inside", in: `{"a": "say "hi", twice", "b": 1}`, want: `{"a":"say \"hi\", twice","b":1}`, reading: Reading{Mended: true}},
		{name: "backslashes of a path", in: `{"a": "C:\new\Users\t.go"}`, want: `{"a":"C:\\new\\Users\\t.go"}`, reading: Reading{Mended: true}},
		{name: "joined strings", in: `{"a": "x" + "y"}`, want: `{"a":"xy"}`, reading: Reading{Mended: true}},
		{name: "cut in a string", in: `{"a": ["x`, want: `{"a":["x"]}`, reading: Reading{Mended: true, End: true, Growing: true, Open: 2, CutText: true}},
		{name: "cut in a rune", in: "{\"a\": \"x\xc3", want: `{"a":"x"}`, reading: Reading{Mended: true, End: true, Growing: true, Open: 1, CutText: true}},
		{name: "cut after a colon", in: `{"a": 1, "b":`, want: `{"a":1}`, reading: Reading{Mended: true, End: true, Growing: true, Open: 1}},
		{name: "closed by the markup", in: `{"a": {"b": 1<close>`, want: `{"a":{"b":1}}`, rest: "<close>", marks: tags{}, reading: Reading{Mended: true}},
		{name: "string closed by the markup", in: `{"a": "x}<close>`, want: `{"a":"x"}`, rest: "<close>", marks: tags{}, reading: Reading{Mended: true, Growing: true}},
		{name: "placeholder", in: `{"a": ...}`, rest: "}", reading: Reading{Mended: true, Ellipsis: true}},
		{name: "no value", in: `(x)`, rest: "(x)", reading: Reading{Mended: true}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := Read(tc.in, 0, tc.marks)
			json := ""
			if got.OK {
				json = string(got.JSON)
			}
			if diff := cmp.Diff(tc.want, json); diff != "" {
				t.Errorf("Read(%q) (-want +got):\n%s", tc.in, diff)
			}
			if diff := cmp.Diff(tc.reading, got.Reading); diff != "" {
				t.Errorf("Read(%q) (-want +got):\n%s", tc.in, diff)
			}
			if rest := tc.in[got.Next:]; rest != tc.rest {
				t.Errorf("Read(%q) left %q, want %q", tc.in, rest, tc.rest)
			}
		})
	}
}

func TestArguments(t *testing.T) {
	for _, tc := range []struct{ name, in, want string }{
		{"by name", `a="x", b=[1, True])`, `{"a":"x","b":[1,true]}`},
		{"by place", `'x', 2)`, `{"":[]}`},
		{"an object", `{"a": 1}, b=2)`, `{"a":1,"b":2}`},
		{"a spread object", `**{"a": 1})`, `{"a":1}`},
		{"cut in a name", `a=1, b`, `{"a":1}`},
		{"none", `)`, `{}`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			args, in := Arguments(tc.in, 0)
			if !in.OK {
				t.Fatalf("Arguments(%q) are not understood", tc.in)
			}
			if tc.name == "by place" {
				if len(args) != 2 || args[0].Key != "" || string(args[0].Value) != `"x"` || string(args[1].Value) != "2" {
					t.Errorf("Arguments(%q) = %v", tc.in, args)
				}
				return
			}
			if diff := cmp.Diff(tc.want, string(Object(args))); diff != "" {
				t.Errorf("Arguments(%q) (-want +got):\n%s", tc.in, diff)
			}
		})
	}
}

func TestPut(t *testing.T) {
	var list []Field
	for _, f := range []Field{{Key: "a", Value: Quote("1")}, {Key: "b", Value: Quote("x")}, {Key: "a", Value: Quote("2")}, {Key: "a", Value: Quote("3")}} {
		list = Put(list, f)
	}
	if got, want := string(Object(list)), `{"a":["1","2","3"],"b":"x"}`; got != want {
		t.Errorf("Put = %s, want %s", got, want)
	}
}

// FuzzRead: what is read is valid JSON, and valid JSON is read as it is.
func FuzzRead(f *testing.F) {
	for _, s := range []string{`{"a": 1}`, `{a: 'b',}`, `["x`, `{"a": "b" "c"}`, `{{"a": 1}}`, `"C:\x"`, "{\"a\": \"\"\"x\"\"\"}", `{"a": "b\`, `[(1, 2), +.5, 007]`, `{0:""+"""`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, m := range []Marks{nil, tags{}} {
			v := Read(s, 0, m)
			if v.OK && !json.Valid(v.JSON) {
				t.Fatalf("Read(%q) = %q, no JSON", s, v.JSON)
			}
			if v.Next < 0 || v.Next > len(s) {
				t.Fatalf("Read(%q) ends at %d", s, v.Next)
			}
		}
		if trimmed := strings.TrimSpace(s); json.Valid([]byte(s)) && strings.Count(s, "[")+strings.Count(s, "{") < maxDepth {
			if v := Read(s, 0, nil); v.Mended || string(v.JSON) != trimmed {
				t.Errorf("Read(%q) = %q, mended %v", s, v.JSON, v.Mended)
			}
		}
		Arguments(s, 0)
	})
}
