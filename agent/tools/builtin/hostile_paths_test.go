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
// at on the way: nothing is allocated for each part of it. The bound is far from both,
// since what the rest of the process allocates meanwhile is counted too.
func TestEndlessPaths(t *testing.T) {
	const parts = 100_000
	b := toolstest.Open(t, map[string]string{"a.txt": "a\n"})
	for what, path := range map[string]string{
		"segments": strings.Repeat("a/", parts) + "b",
		"dots":     strings.Repeat("./", parts) + "a.txt",
		"up":       strings.Repeat("a/../", parts) + "a.txt",
		"name":     strings.Repeat("n", parts),
		"long":     strings.Repeat("é", parts),
	} {
		for name, args := range map[string]string{"write_file": `{"path":%q,"content":"x"}`, "read_file": `{"path":%q}`, "list_files": `{"path":%q}`, "delete_file": `{"path":%q}`} {
			call := toolstest.Call(name, fmt.Sprintf(args, path))
			allocated := testing.AllocsPerRun(1, func() {
				_, err := b.Tool(name).Intent(t.Context(), call)
				if err == nil {
					_, err = b.Tool(name).Run(t.Context(), call, nil)
				}
				if err == nil || !strings.Contains(err.Error(), "the longest that the system takes is") || len(err.Error()) > 500 {
					t.Errorf("%s with %d %s: %.200v", name, parts, what, err)
				}
			})
			if allocated > parts/4 {
				t.Errorf("%s with %d %s: %.0f allocations", name, parts, what, allocated)
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
