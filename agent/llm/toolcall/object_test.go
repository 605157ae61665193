package toolcall

import (
	"encoding/json"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestObject(t *testing.T) {
	p := newParser(t)
	for _, tc := range []struct {
		name, raw, want string
		repaired        bool
		err             string
	}{
		{name: "object", raw: `{"path": "a.go", "n": 1.50}`, want: `{"path":"a.go","n":1.50}`},
		{name: "empty", raw: ``, want: `{}`},
		{name: "null", raw: `null`, want: `{}`},
		{name: "empty string", raw: `""`, want: `{}`},
		{name: "blank string", raw: `"  "`, want: `{}`},
		{name: "string that holds null", raw: `"null"`, want: `{}`},
		{name: "string that holds an object", raw: `"{\"path\": \"a.go\"}"`, want: `{"path":"a.go"}`},
		{name: "string in a string", raw: `"\"{\\\"path\\\": \\\"a.go\\\"}\""`, want: `{"path":"a.go"}`},
		{name: "string that holds sloppy JSON", raw: `"{'path': 'a.go',}"`, want: `{"path":"a.go"}`, repaired: true},
		{name: "string that was cut", raw: `"{\"path\": \"a.go\", \"content\": \"x"`, want: `{"path":"a.go","content":"x"}`, repaired: true},
		{name: "sloppy", raw: `{path: 'a.go', all: True}`, want: `{"path":"a.go","all":true}`, repaired: true},
		{name: "duplicate keys", raw: `{"path": "a", "path": "b"}`, want: `{"path":"b"}`},
		{name: "list of one object", raw: `[{"path": "a"}]`, want: `{"path":"a"}`, repaired: true},
		{name: "empty list", raw: `[]`, want: `{}`, repaired: true},
		{name: "plain text", raw: `"a.go"`, err: "send an object"},
		{name: "number", raw: `7`, err: "send an object"},
		{name: "list", raw: `["a", "b"]`, err: "send an object"},
		{name: "two objects", raw: `{"a": 1} {"b": 2}`, err: "send an object"},
		{name: "no JSON", raw: `<path>`, err: "send an object"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, repaired, err := p.Object(json.RawMessage(tc.raw))
			if tc.err != "" {
				if err == nil || !strings.Contains(err.Error(), tc.err) {
					t.Fatalf("Object(%s) = %s, %v; want an error that says %q", tc.raw, got, err, tc.err)
				}
				return
			}
			if err != nil {
				t.Fatalf("Object(%s): %v", tc.raw, err)
			}
			if diff := cmp.Diff(tc.want, string(got)); diff != "" {
				t.Errorf("Object(%s) (-want +got):\n%s", tc.raw, diff)
			}
			if repaired != tc.repaired {
				t.Errorf("Object(%s): repaired = %v", tc.raw, repaired)
			}
		})
	}
}

func TestCanonical(t *testing.T) {
	p := newParser(t)
	for _, tc := range []struct {
		name, want string
		known      bool
	}{
		{"read_file", "read_file", true},
		{" readFile ", "read_file", true},
		{"READ-FILE", "read_file", true},
		{"functions.read_file", "read_file", true},
		{"functions.read_file:12", "read_file", true},
		{"default_api:readFile", "read_file", true},
		{"read_file()", "read_file", true},
		{"create_file", "write_file", true},
		{"functions.create_file", "write_file", true},
		{"launch_rocket", "launch_rocket", false},
		{"functions.launch_rocket", "launch_rocket", false},
		{"", "", false},
	} {
		got, known := p.Canonical(tc.name)
		if got != tc.want || known != tc.known {
			t.Errorf("Canonical(%q) = %q, %v; want %q, %v", tc.name, got, known, tc.want, tc.known)
		}
	}
	bare := New(nil, nil)
	if got, known := bare.Canonical("read_file"); got != "read_file" || known {
		t.Errorf("without tools Canonical = %q, %v", got, known)
	}
}

// TestPartialLetsProseGo: what only looked like a call is shown as soon as
// that is clear.
func TestPartialLetsProseGo(t *testing.T) {
	p := newParser(t)
	for _, tc := range []struct{ name, text, shown string }{
		{"tag that may grow", "Now <tool_", "Now "},
		{"token that may grow", "Now <|too", "Now "},
		{"bracket that may grow", "Now [TOOL", "Now "},
		{"fence that may grow", "Now\n```js", "Now\n"},
		{"entity that may grow", "Now &lt;tool_c", "Now "},
		{"call", "Now <tool_call>{\"name\": \"re", "Now "},
		{"call that is complete", "Now <tool_call>{\"name\": \"get_time\"}</tool_call>", "Now "},
		{"mention of a tag", "The <tool_call> tag is", "The <tool_call> tag is"},
		{"comparison", "a < b and", "a < b and"},
		{"another tag", "a <b>bold", "a <b>bold"},
		{"link", "see [TODO](x) and", "see [TODO](x) and"},
		{"list", "[1] is", "[1] is"},
		{"code", "Text\n```go\nx := 1\n```\nmore", "Text\n```go\nx := 1\n```\nmore"},
		{"fence that is no call", "Text\n```json\n{\"name\": 1}\n```\nmore", "Text\n```json\n{\"name\": 1}\n```\nmore"},
		{"fenced call that prose follows", "Text\n```json\n{\"name\": \"get_time\", \"arguments\": {}}\n```\nmore words", "Text\n```json\n{\"name\": \"get_time\", \"arguments\": {}}\n```\nmore words"},
		{"fenced call at the end", "Text\n```json\n{\"name\": \"get_time\", \"arguments\": {}}\n```\n", "Text\n"},
		{"object that is no call", "{\"version\": 1, ", "{\"version\": 1, "},
		{"tool's tag in prose", "Use <read_file> to", "Use <read_file> to"},
		{"plain", "Nothing here.", "Nothing here."},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := tc.text[:p.Partial(tc.text)]; got != tc.shown {
				t.Errorf("of %q is shown %q, want %q", tc.text, got, tc.shown)
			}
		})
	}
}

// TestParserIsShared uses one parser from several goroutines.
func TestParserIsShared(t *testing.T) {
	p := newParser(t)
	cases := readCases(t, allCases)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for _, c := range cases {
				if got := p.Parse(c.input); got.Text != c.text {
					t.Errorf("%s/%s: text %q", c.file, c.name, got.Text)
				}
				p.Partial(c.input)
			}
		})
	}
	wg.Wait()
}

// TestErrorsAreBounded: a text full of broken calls does not fill the next
// prompt.
func TestErrorsAreBounded(t *testing.T) {
	got := newParser(t).Parse(strings.Repeat("<tool_call>{\"name\": ((</tool_call>\n", 1000))
	if len(got.Errors) != maxErrors || len(got.Calls) != 0 {
		t.Errorf("%d errors, %d calls", len(got.Errors), len(got.Calls))
	}
}
