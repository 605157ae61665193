package toolcall

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write what the parser does into testdata/cases; read the difference before you keep it")

// TestParse runs the cases of all dialects.
func TestParse(t *testing.T) {
	p := newParser(t)
	cases := readCases(t, allCases)
	if *update {
		writeCases(t, p, cases, "cases")
		return
	}
	if len(cases) < 150 {
		t.Errorf("only %d cases", len(cases))
	}
	names := map[string]bool{}
	for _, c := range cases {
		if names[c.file+c.name] {
			t.Errorf("%s: two cases are named %q", c.file, c.name)
		}
		names[c.file+c.name] = true
		t.Run(c.file+"/"+c.name, func(t *testing.T) {
			checkCase(t, p, c)
		})
	}
}

func checkCase(t *testing.T, p *Parser, c testCase) {
	t.Helper()
	got := p.Parse(c.input)
	wellFormed(t, got)
	var lines []string
	for _, call := range got.Calls {
		lines = append(lines, call.line())
	}
	if diff := cmp.Diff(c.calls, lines); diff != "" {
		t.Errorf("calls (-want +got):\n%s\nif the change is right: go test ./agent/llm/toolcall -update", diff)
	}
	if diff := cmp.Diff(c.text, got.Text); diff != "" {
		t.Errorf("text (-want +got):\n%s\nif the change is right: go test ./agent/llm/toolcall -update", diff)
	}
	if len(got.Errors) != len(c.errors) {
		t.Fatalf("errors = %q, want %q", got.Errors, c.errors)
	}
	for i, e := range got.Errors {
		if !strings.Contains(e, c.errors[i]) {
			t.Errorf("error %q does not say %q", e, c.errors[i])
		}
	}
}

// TestPartialOfCases streams every case byte by byte.
func TestPartialOfCases(t *testing.T) {
	p := newParser(t)
	for _, c := range readCases(t, allCases) {
		t.Run(c.file+"/"+c.name, func(t *testing.T) { checkPrefixes(t, p, c.input) })
	}
}

func writeCases(t *testing.T, p *Parser, cases []testCase, dir string) {
	t.Helper()
	files := map[string]*strings.Builder{}
	for _, c := range cases {
		b := files[c.file]
		if b == nil {
			b = &strings.Builder{}
			files[c.file] = b
		}
		got := p.Parse(c.input)
		fmt.Fprintf(b, "=== %s\n%s\n", c.name, c.input)
		if len(got.Calls) > 0 {
			b.WriteString("--- calls\n")
		}
		for _, call := range got.Calls {
			b.WriteString(call.line() + "\n")
		}
		if got.Text != "" {
			b.WriteString("--- text\n" + got.Text + "\n")
		}
		if len(got.Errors) > 0 {
			b.WriteString("--- errors\n" + strings.Join(got.Errors, "\n") + "\n")
		}
	}
	for name, b := range files {
		if err := os.WriteFile(filepath.Join("testdata", dir, name+".txt"), []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
