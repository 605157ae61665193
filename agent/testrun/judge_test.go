package testrun

import (
	"cmp"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/agent/workspace"
)

// A run is taken for passed only if its output does not speak against it: no test ran, a
// test failed, or a runner that sums up did not.
func TestOutputs(t *testing.T) {
	file, err := txtar.ParseFile("testdata/outputs.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range file.Files {
		want, rest, _ := strings.Cut(f.Name, " ")
		exit, command, _ := strings.Cut(rest, " ")
		res := workspace.CommandResult{Output: string(f.Data)}
		if res.Exit, err = strconv.Atoi(exit); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(command, " | ") {
			res.Pipeline = []int{0, 0}
		}
		run := Of(command, res)
		got := cmp.Or(string(run.Says), map[bool]string{true: "passed", false: "failed"}[run.Passed()])
		if got != want {
			t.Errorf("%s: %s\n%s", f.Name, got, f.Data)
		}
		if want != "passed" && run.Passed() || want == "none" && run.Says != session.TestsNone {
			t.Errorf("%s is taken for %+v", f.Name, run)
		}
	}
}

// The end of a long output counts.
func TestLongOutput(t *testing.T) {
	noise := strings.Repeat("a line of a log, with 3 numbers and no test\n", 20000)
	for output, want := range map[string]session.TestsSay{
		noise + "3 passed in 0.01s\n":          "",
		noise + "no tests ran in 0.01s\n":      session.TestsNone,
		"collected 0 items\n" + noise:          session.TestsSilent,
		noise + "1 failed, 2 passed in 0.1s\n": session.TestsFailed,
	} {
		if got := judge(output).verdict(); got != want {
			t.Errorf("…%s: %q, want %q", output[len(output)-30:], got, want)
		}
	}
}
