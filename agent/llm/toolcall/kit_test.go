package toolcall

import (
	"encoding/json"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"testing"

	"github.com/handrail-bot/handrail/agent/llm"
)

// aliases are names that mean a tool of testdata/tools.json.
func aliases(name string) string {
	switch name {
	case "create_file":
		return "write_file"
	case "grep", "search":
		return "search_workspace"
	case "apply_patch":
		return "apply_diff"
	case "execute_command", "bash":
		return "run_terminal_command"
	}
	return name
}

// newParser returns a parser for the tools of testdata/tools.json.
func newParser(t testing.TB) *Parser {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "tools.json"))
	if err != nil {
		t.Fatal(err)
	}
	var specs []llm.ToolSpec
	if err := json.Unmarshal(data, &specs); err != nil {
		t.Fatal(err)
	}
	return New(specs, aliases)
}

// testCase is one case of a file in testdata/cases:
//
//	=== name
//	the text, without its last line break
//	--- calls
//	name {arguments} [truncated] [repaired]
//	--- text
//	what is left
//	--- errors
//	a part of each error, one a line
//
// Sections that are empty can be left out. \xNN and \u{2502} stand for what
// an editor would not show.
type testCase struct {
	file, name, input, text string
	calls, errors           []string
}

// allCases are those of calls in their own markup.
var allCases = filepath.Join("testdata", "cases")

func readCases(t testing.TB, dir string) []testCase {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.txt"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	sort.Strings(files)
	var out []testCase
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for _, block := range strings.Split("\n"+string(data), "\n=== ")[1:] {
			out = append(out, readCase(t, filepath.Base(f), block))
		}
	}
	return out
}

func readCase(t testing.TB, file, block string) testCase {
	t.Helper()
	name, rest, _ := strings.Cut(block, "\n")
	c := testCase{file: strings.TrimSuffix(file, ".txt"), name: name}
	parts := strings.Split("\n"+strings.TrimSuffix(rest, "\n"), "\n--- ")
	c.input = strings.TrimPrefix(parts[0], "\n")
	for _, p := range parts[1:] {
		head, body, _ := strings.Cut(p, "\n")
		switch head {
		case "calls":
			c.calls = strings.Split(body, "\n")
		case "text":
			c.text = body
		case "errors":
			c.errors = strings.Split(body, "\n")
		default:
			t.Fatalf("%s: %s: unknown section %q", file, name, head)
		}
	}
	return c
}

// line writes a call as the cases do.
func (c Call) line() string {
	s := c.Name + " " + string(c.Arguments)
	if c.Truncated {
		s += " truncated"
	}
	if c.Repaired {
		s += " repaired"
	}
	return s
}
