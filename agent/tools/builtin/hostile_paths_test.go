package builtin_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/handrail-bot/handrail/agent/tools/toolstest"
)

// A file in the middle of a path is no symlink: what it holds names nothing.
func TestFileInAPath(t *testing.T) {
	for _, content := range []string{"hi\n", "src", "src/a.go", "../outside", "/etc/passwd", "x", ""} {
		b := toolstest.Open(t, map[string]string{"a.txt": content, "src/a.go": "package a\n"})
		for name, args := range map[string]string{
			"write_file":  `{"path":"a.txt/b","content":"x"}`,
			"delete_file": `{"path":"a.txt/b/c"}`,
		} {
			b.Fails(name, args, "a.txt is a file, not a directory")
		}
		b.Is("a.txt", content)
		b.Is("src/a.go", "package a\n")
	}
}

// A path that the system cannot take is refused in few words, and nothing is looked
// at on the way: what a call allocates grows no faster than its text.
func TestEndlessPaths(t *testing.T) {
	b := toolstest.Open(t, map[string]string{"a.txt": "a\n"})
	for what, path := range map[string]func(n int) string{
		"segments": func(n int) string { return strings.Repeat("a/", n) + "b" },
		"dots":     func(n int) string { return strings.Repeat("./", n) + "a.txt" },
		"up":       func(n int) string { return strings.Repeat("a/../", n) + "a.txt" },
		"name":     func(n int) string { return strings.Repeat("n", n) },
		"long":     func(n int) string { return strings.Repeat("é", n) },
	} {
		for name, args := range map[string]string{"write_file": `{"path":%q,"content":"x"}`, "read_file": `{"path":%q}`, "list_files": `{"path":%q}`, "delete_file": `{"path":%q}`} {
			refused := func(n int) float64 {
				call := toolstest.Call(name, fmt.Sprintf(args, path(n)))
				try := func() {
					_, err := b.Tool(name).Intent(t.Context(), call)
					if err == nil {
						_, err = b.Tool(name).Run(t.Context(), call, nil)
					}
					if err == nil || !strings.Contains(err.Error(), "the longest that the system takes is") || len(err.Error()) > 500 {
						t.Errorf("%s with %d %s: %.200v", name, n, what, err)
					}
				}
				least := testing.AllocsPerRun(1, try)
				for range 4 { // what others allocate at the same time counts, too
					least = min(least, testing.AllocsPerRun(1, try))
				}
				return least
			}
			if few, many := refused(10_000), refused(100_000); many > 2*few+200 {
				t.Errorf("%s with %s: %.0f allocations, and %.0f for a path ten times as long", name, what, few, many)
			}
		}
	}
}

// A command runs where it was said to run, or not at all, and a program with its
// arguments is one command.
func TestCommandsAsGiven(t *testing.T) {
	b := toolstest.Open(t, map[string]string{"a b.txt": "", "sub/x": ""})
	for _, cwd := range []string{"/", "/tmp", "..", "sub/../../x", "~"} {
		b.Fails("run_terminal_command", fmt.Sprintf(`{"command":"touch made","cwd":%q}`, cwd), "not run", "outside the workspace")
	}
	if _, err := os.Stat("made"); err == nil {
		t.Error("a command ran outside of where it may")
	}
	for args, want := range map[string]string{
		`{"command":["ls","-l"]}`:                     "ls -l",
		`{"command":["cat","a b.txt"]}`:               "cat 'a b.txt'",
		`{"command":["echo","it's; rm -r x","$(x)"]}`: `echo 'it'\''s; rm -r x' '$(x)'`,
		`{"command":["bash","-lc","ls | wc"]}`:        "bash -lc 'ls | wc'",
		`{"cmd":"[\"bash\",\"-lc\",\"ls | wc\"]"}`:    "bash -lc 'ls | wc'",
		`{"script":" [\"grep\", \"a b\", \"f\"] "}`:   "grep 'a b' f",
		`{"command":"[ -f \"a\" ]"}`:                  "[ -f \"a\" ]",
		`{"command":["cd sub && ls","pwd"]}`:          "cd sub && ls\npwd",
		`{"commands":["ls","pwd"]}`:                   "ls\npwd",
		`{"commands":["bash","-lc","ls -a | wc"]}`:    "bash -lc 'ls -a | wc'",
		`{"commands":["grep","-rn","x"]}`:             "grep -rn x",
		`{"command":["ls -l"]}`:                       "ls -l",
	} {
		action, err := b.Tool("run_terminal_command").Intent(t.Context(), toolstest.Call("run_terminal_command", args))
		if err != nil || action.Command != want {
			t.Errorf("%s runs %q, not %q (%v)", args, action.Command, want, err)
		}
	}
}
