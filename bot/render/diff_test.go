package render

import (
	"strings"
	"testing"

	"github.com/handrail-bot/handrail/agent/session"
)

// What waits is told, also where nothing is on a branch.
func TestDiffOfTheUnpushed(t *testing.T) {
	v := session.NewState()
	v.Unpushed = []session.FileChange{{Path: ".github/workflows/ci.yml"}, {Path: "a`b.txt"}}
	for _, list := range [][]session.Checkpoint{nil, {{Commit: "c"}}} {
		v.Checkpoints = list
		got := Diff(v, "https://github.test/team/app/compare/a...b")
		if !strings.HasPrefix(got, "Not on the branch yet: `.github/workflows/ci.yml` and `` a`b.txt ``.\n") {
			t.Errorf("with %d checkpoints: %q", len(list), got)
		}
	}
	v.Unpushed = nil
	if got := Diff(v, "x"); strings.Contains(got, "Not on the branch") {
		t.Errorf("nothing waits: %q", got)
	}
}
