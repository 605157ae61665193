package docker_test

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/handrail-bot/handrail/agent/workspace"
	"github.com/handrail-bot/handrail/agent/workspace/bwrap"
	"github.com/handrail-bot/handrail/agent/workspace/docker"
	"github.com/handrail-bot/handrail/agent/workspace/workspacetest"
)

// differ are the calls to which bwrap's filter and docker's own profile give
// other answers, docker's first. Profiles of newer dockers refuse more of them.
var differ = map[string]string{
	// io_uring has its own ways around filters.
	"call 425": "passed, refused", "call 426": "passed, refused", "call 427": "passed, refused",
	// Protection keys are harmless; newer profiles let them pass, too.
	"call 329": "refused, passed", "call 330": "refused, passed", "call 331": "refused, passed",
	"ioctl that types":  "passed, refused",
	"ioctl that pastes": "passed, refused",
	"i386":              "passed, unknown", // of 32 bits
	"socket packet":     "refused, passed", // there are only the families that programs use: "not supported", before anybody asks for rights
}

// noCall reports whether a number stands for no call on amd64. Docker's profile
// refuses these numbers, and the kernel does not know them.
func noCall(name string) bool {
	var n int
	_, err := fmt.Sscanf(name, "call %d", &n)
	return err == nil && (n >= 181 && n <= 185 || n == 236 || n >= 337 && n <= 423)
}

// Every call of the kernel gets the same answer in both engines.
func TestSystemCalls(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	b, err := bwrap.New(t.Context(), bwrap.Config{Binary: self})
	if err != nil {
		t.Fatal(err)
	}
	workspacetest.Need(t, b, os.Getenv("HANDRAIL_REQUIRE_ENGINES"))
	inDocker, inBwrap := answers(t, engine(t, docker.Config{})), answers(t, b)
	if len(inDocker) < 400 {
		t.Fatalf("%d answers", len(inDocker))
	}
	for _, name := range slices.Sorted(maps.Keys(inDocker)) {
		got := inDocker[name] + ", " + inBwrap[name]
		want := inDocker[name] + ", " + inDocker[name]
		if d, ok := differ[name]; ok {
			want = d
		}
		if noCall(name) {
			want = "refused, unknown"
		}
		if inDocker[name] != inBwrap[name] && got != want {
			t.Errorf("%s: %s; want %s", name, got, want)
		}
	}
}

// answers returns what the probe says inside.
func answers(t *testing.T, e workspace.Engine) map[string]string {
	t.Helper()
	ws := workspacetest.Open(t, workspacetest.Subject{Engine: e, Wall: true}, workspacetest.Tree{"a.txt": "a"})
	res, err := ws.Run(t.Context(), workspace.Command{Line: "/handrail/handrail probe"}, nil)
	if err != nil || res.Exit != 0 {
		t.Fatalf("%s: %v, %+v", e.Name(), err, res)
	}
	out := map[string]string{}
	for line := range strings.Lines(res.Output) {
		name, answer, _ := strings.Cut(strings.TrimSpace(line), ": ")
		out[name] = answer
	}
	return out
}
