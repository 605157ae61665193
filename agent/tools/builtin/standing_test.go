package builtin_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/agent/tools"
	"github.com/handrail-bot/handrail/agent/tools/toolstest"
)

// A change of directory stays, within the workspace. Each command is judged where it runs.
func TestDirectoryStays(t *testing.T) {
	b := toolstest.Open(t, map[string]string{"web/src/a.txt": "x\n", "web/link@": "src", "out@": "/etc", "it's/a b/c.txt": ""})
	root := b.WS.Root()
	for _, tt := range []struct{ args, judged, says, now string }{
		{`{"command":"cd web"}`, ".", "[The next command begins in web.]", "web"},
		{`{"command":"pwd -P"}`, "web", root + "/web\n[Exit code 0", "web"},
		{`{"command":"cd web"}`, "web", "[Directory: web]", "web"}, // there is none: a model sees why
		{`{"command":"(cd src); sh -c 'cd src'"}`, "web", "[Directory: web]", "web"},
		{`{"command":"ls","cwd":"web/src"}`, "web/src", "a.txt\n[Exit code 0", "web"},
		{`{"command":"true","cwd":"web/src"}`, "web/src", "[The next command begins in web again.]", "web"},
		{`{"command":"cd link && cd ../src/ && cd -"}`, "web", "[The next command begins in web/src.]", "web/src"}, // not through a symlink
		{`{"command":"cd -"}`, "web/src", "web", "web/src"},
		{`{"command":"cd ../../it\\'s/a*"}`, "web/src", "begins in it's/a b.]", "it's/a b"},
		{`{"command":"ls; cd"}`, "it's/a b", "c.txt", ""},
		{`{"command":"exit 3","cwd":"web"}`, "web", "The shell died", ""},
		{`{"command":"cd /"}`, ".", "[The shell was left in /, which is gone or outside the workspace. The next command begins in the root.]", "."},
		{`{"command":"cd web; exit 3"}`, ".", "The shell died", "."},
		{`{"command":"cd out 2>/dev/null; pwd"}`, ".", "begins in the root.]", "."},
		{`{"command":"cd web/src"}`, ".", "begins in web/src.]", "web/src"},
		{`{"command":"rm -r ../src"}`, "web/src", "gone or outside the workspace. The next command begins in the root.]", "."},
		{`{"command":"mkdir -p d; cd d; PWD=/etc"}`, ".", "left in /etc", "."}, // what a shell says of itself is looked at
	} {
		action, res := b.Do("bash", tt.args)
		if action.Cwd != tt.judged || !strings.Contains(res.Content, tt.says) || tt.now != "" && res.Dir != tt.now || res.Dir == "" {
			t.Errorf("%s was judged in %q and left the shell in %q; the model is told\n%s\nwant %q, %q, %q", tt.args, action.Cwd, res.Dir, res.Content, tt.judged, tt.now, tt.says)
		}
		if tt.now == "" {
			b.Do("bash", `{"command":"cd `+root+`"}`)
		}
	}
}

// A directory that is gone when a command is to run there: it does not run elsewhere.
func TestDirectoryIsGone(t *testing.T) {
	b := toolstest.Open(t, map[string]string{"a/b/f": "", "f": ""})
	b.Do("bash", `{"command":"cd a/b"}`)
	if err := os.RemoveAll(filepath.Join(b.WS.Root(), "a/b")); err != nil {
		t.Fatal(err)
	}
	tool := b.Tool("bash")
	res, err := tool.Run(t.Context(), toolstest.Call("bash", `{"command":"rm -f f"}`), nil)
	if err == nil || res.Dir != "." || !strings.Contains(err.Error(), "was not run: a/b, where the shell stood, is gone. The next command begins in the root") {
		t.Errorf("got %+v and %v", res, err)
	}
	if _, res := b.Do("bash", `{"command":"ls; pwd"}`); !strings.HasPrefix(res.Content, "a\nf\n"+b.WS.Root()+"\n") {
		t.Errorf("then: %s", res.Content)
	}
	b.Fails("bash", `{"command":"ls","cwd":"a/b"}`, "no such file")
}

// A session that goes on in another workspace goes on in the directory where it was,
// and the model is told once what is lost.
func TestDirectoryInAnotherWorkspace(t *testing.T) {
	b := toolstest.Open(t, map[string]string{"web/a": "", "web/b": ""})
	tool := offered(t, tools.Config{Shell: b.WS, Shelled: session.Shell{Dir: "web"}}, "run_terminal_command")
	for _, lost := range []bool{true, false} {
		call := toolstest.Call("bash", `{"command":"ls"}`)
		action, err := tool.Intent(t.Context(), call)
		if err != nil || action.Cwd != "web" {
			t.Fatalf("it is judged in %q (%v)", action.Cwd, err)
		}
		res, err := tool.Run(t.Context(), call, nil)
		if err != nil || !strings.HasPrefix(res.Content, "a\nb\n") || strings.Contains(res.Content, "variables and functions of before are lost") != lost {
			t.Errorf("the model is told %q (%v)", res.Content, err)
		}
	}
}
