package local

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/handrail-bot/handrail/agent/session"
)

func TestCommand(t *testing.T) {
	for line, want := range map[string][2]string{
		"/undo 2": {"undo", "2"}, "/Plan  do it": {"plan", "do it"}, "/quit": {"quit", ""},
		"/etc/hosts is wrong": {}, "/ is the root": {}, "fix /undo": {},
	} {
		name, rest, ok := lineCommand(line)
		if ok != (want[0] != "") || ok && (name != want[0] || rest != want[1]) {
			t.Errorf("lineCommand(%q) = %q, %q, %v", line, name, rest, ok)
		}
	}
}

// What a request names is put before the model, without secrets; what is no file and does
// not look like one is a word.
func TestNamed(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, data := range map[string]string{"a.txt": "one token-1", "two words.txt": "two", "dir/b": "three", "bin": "\x00", "big": strings.Repeat("x", maxFile+1)} {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c := &chat{Config: Config{Redact: func(s string) string { return strings.ReplaceAll(s, "token-1", "[redacted]") }}}
	items, _, err := c.namedFiles(`see @a.txt, @"two words.txt" and @dir/b. ask @kim or kim@a.txt`)
	if err != nil {
		t.Fatal(err)
	}
	want := []session.Item{
		{Kind: session.ItemExplicit, Name: "a.txt", Text: "one [redacted]"}, {Kind: session.ItemExplicit, Name: "two words.txt", Text: "two"}, {Kind: session.ItemExplicit, Name: "dir/b", Text: "three"},
	}
	if !slices.Equal(items, want) {
		t.Errorf("named %+v", items)
	}
	for text, why := range map[string]string{"@none.txt": "no such file", "@dir": "is a directory", "@bin": "is no text", "@big": "say which part"} {
		if _, _, err := c.namedFiles(text); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("named(%q) = %v, want %q", text, err, why)
		}
	}
}

func TestComplete(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, name := range []string{"src/main.go", "src/main_test.go", ".git/x"} {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for before, want := range map[string][]string{
		"/un": {"do "}, "/ap": {"ply "}, "see @": {"src/"}, "see @src/main_": {"test.go "}, "see @src/m": {"ain.go ", "ain_test.go "}, "see src/m": nil, "/undo @s": {"rc/"},
	} {
		if got := Complete(before); !slices.Equal(got, want) {
			t.Errorf("Complete(%q) = %q, want %q", before, got, want)
		}
	}
}
