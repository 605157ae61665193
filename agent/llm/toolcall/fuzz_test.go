package toolcall

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"
)

// seed adds every case as a whole, so that the fuzzer begins with every
// dialect.
func seed(f *testing.F) {
	for _, c := range readCases(f, allCases) {
		f.Add(c.input)
	}
	for _, s := range []string{"<|channel|>to=\"<|message|>{", "<function=read_file>00</function>", "0`<|tool_call|>\"0``", "<function=a>00<param"} {
		f.Add(s)
	}
}

// wellFormed fails unless everything in a result can be passed on.
func wellFormed(t *testing.T, p Parsed) {
	t.Helper()
	for _, c := range p.Calls {
		var args map[string]json.RawMessage
		if err := json.Unmarshal(c.Arguments, &args); err != nil {
			t.Errorf("arguments of %s are no object: %v: %q", c.Name, err, c.Arguments)
		}
		if !utf8.Valid(c.Arguments) {
			t.Errorf("arguments of %s are not UTF-8: %q", c.Name, c.Arguments)
		}
		if c.Name == "" {
			t.Errorf("a call without a name: %q", c.Arguments)
		}
	}
	for _, e := range p.Errors {
		if e == "" {
			t.Error("an empty error")
		}
	}
}

// FuzzParse: never a panic, results can be passed on, and a text without calls
// and errors comes back as it is.
func FuzzParse(f *testing.F) {
	seed(f)
	p := newParser(f)
	f.Fuzz(func(t *testing.T, text string) {
		got := checkParse(t, p, text)
		if strings.ContainsAny(text, "<[{`&(:✿") {
			return
		}
		if len(got.Calls) > 0 {
			t.Errorf("calls in plain text %q: %v", text, got.Calls)
		}
	})
}

func checkParse(t *testing.T, p *Parser, text string) Parsed {
	t.Helper()
	got := p.Parse(text)
	wellFormed(t, got)
	if len(got.Calls)+len(got.Errors) == 0 && got.Text != text {
		t.Errorf("text without calls was changed:\n%q\n%q", text, got.Text)
	}
	return got
}

// TestSplicedCases: what the fuzzer asks holds for cases that were cut at
// random places and put together, as a garbled answer is.
func TestSplicedCases(t *testing.T) {
	p := newParser(t)
	cases := readCases(t, allCases)
	r := rand.New(rand.NewPCG(1, 2))
	piece := func() string {
		in := cases[r.IntN(len(cases))].input
		from := r.IntN(len(in) + 1)
		return in[from : from+r.IntN(len(in)-from+1)]
	}
	for n := range 10000 {
		text := piece() + piece() + piece()
		checkParse(t, p, text)
		if n%20 == 0 && len(text) < 500 {
			checkPrefixes(t, p, text)
		}
	}
}

// FuzzPartial: whatever is shown while a text grows stays a beginning of what
// is left of it in the end, at every byte.
func FuzzPartial(f *testing.F) {
	seed(f)
	p := newParser(f)
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 2000 {
			return
		}
		checkPrefixes(t, p, text)
	})
}

func checkPrefixes(t *testing.T, p *Parser, text string) {
	t.Helper()
	final := p.Parse(text).Text
	for n := range len(text) + 1 {
		at := p.Partial(text[:n])
		if at < 0 || at > n {
			t.Fatalf("Partial of %q = %d, outside of the text", text[:n], at)
		}
		shown := strings.TrimRight(text[:at], " \t\r\n")
		if !strings.HasPrefix(final, shown) {
			t.Fatalf("after %d bytes of %q\n %q was shown,\nand in the end is left %q", n, text, shown, final)
		}
	}
}

// FuzzObject: what comes out is an object or an error.
func FuzzObject(f *testing.F) {
	for _, s := range []string{`{"a":1}`, `"{\"a\":1}"`, `null`, ``, `{a:'b',}`, `[1]`, `"x"`, "{\"a\":\"b\nc\"}"} {
		f.Add(s)
	}
	p := newParser(f)
	f.Fuzz(func(t *testing.T, raw string) {
		args, _, err := p.Object(json.RawMessage(raw))
		var m map[string]json.RawMessage
		if err == nil && json.Unmarshal(args, &m) != nil {
			t.Errorf("Object(%q) = %q, no object", raw, args)
		}
	})
}
