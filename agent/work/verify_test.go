package work

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/handrail-bot/handrail/agent/project"
	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/agent/workspace"
	"github.com/handrail-bot/handrail/policy"
	"github.com/handrail-bot/handrail/policy/longtest"
)

// layered is copies whose workspaces can lie on a layer.
type layered struct{ copies }

func (layered) Layers() bool { return true }

// Tests run as often as there are versions: the first run leaves its caches, and no later
// one fails for them.
func TestTestsRunAgain(t *testing.T) {
	s := newSetUpTrial(t)
	e, p := s.engine(), &proving{}
	e.cfg.Workspace = layered{}
	j := s.job()
	run := p.run(e, j, &session.State{Task: j.Task}, &checkpoints{})
	for i := range 3 {
		got, err := run(t.Context(), s.base, []string{"echo ran >> ~/.ran"})
		if err != nil || got.Tests == nil || got.Tests.Failed() {
			t.Fatalf("run %d: %+v, %v", i+1, got, err)
		}
	}
	if kept, err := filepath.Glob(filepath.Join(p.caches, workspace.LayerCache, "home", ".ran")); err != nil || len(kept) != 1 {
		t.Errorf("caches of the first run: %q, %v", kept, err)
	}
	if err := p.end(); err != nil {
		t.Error(err)
	}
}

// The lines of tests at which the output of a failed run points are kept with it.
func TestFailingLines(t *testing.T) {
	s := newSetUpTrial(t)
	j := s.job()
	run := (&proving{}).run(s.engine(), j, &session.State{Task: j.Task}, &checkpoints{})
	test := "mkdir -p calc other; printf '%s\\n' one two three four five six seven eight nine > calc/add_test.go; " +
		"cp calc/add_test.go calc/add.go; cp calc/add_test.go other/a_test.go; cp calc/add_test.go b_test.py; " +
		"echo '    add_test.go:8: got 1'; echo '    add_test.go:9: got 1'; echo 'calc/add.go:3: in it'; " +
		"echo '  File \"'$PWD'/b_test.py\", line 2, in test'; echo '    at node:internal/run:3:1'; echo '/etc/a_test.go:1: x'; exit 1"
	got, err := run(t.Context(), s.base, []string{test})
	if err != nil || !got.Failed() {
		t.Fatalf("%+v, %v", got, err)
	}
	want := []session.Item{
		{Kind: session.ItemSelection, Name: "calc/add_test.go:L3-9", Text: "three\nfour\nfive\nsix\nseven\neight\nnine"},
		{Kind: session.ItemSelection, Name: "b_test.py:L1-3", Text: "one\ntwo\nthree"},
	}
	if !slices.Equal(got.Lines, want) {
		t.Errorf("lines %+v, want %+v", got.Lines, want)
	}
	if strings.Contains(got.Output, "node:internal") || !strings.Contains(got.Output, "in test") {
		t.Errorf("output %q", got.Output)
	}
}

// A workspace that cannot be removed, as on a busy machine, takes no result of tests with it.
func TestResultOutlivesItsWorkspace(t *testing.T) {
	longtest.Leave(t)
	s := newSetUpTrial(t)
	j, e := s.job(), s.engine()
	e.cfg.Workspace = layered{copies{stays: errors.New("device or resource busy")}}
	p := &proving{}
	run := p.run(e, j, &session.State{Task: j.Task}, &checkpoints{})
	for range 2 { // the second has the caches of the first, which were not saved
		if got, err := run(t.Context(), s.base, []string{"exit 3"}); err != nil || !got.Failed() {
			t.Errorf("%+v, %v", got, err)
		}
	}
	if err := p.end(); err != nil {
		t.Error(err)
	}
}

// The lines at which a compiler complains are kept with their files, but only those of files that
// the work changed and that are not sensitive: the output of tests can name any file.
func TestFaultsOfChangedFiles(t *testing.T) {
	longtest.Leave(t)
	s := newSetUpTrial(t)
	j := s.job()
	base := s.base
	commit := s.commit(map[string]string{"c.go": "package c\nx\n", "a_test.go": "package c\n", ".env": "KEY=other\n"})
	run := (&proving{}).run(s.engine(), j, &session.State{Task: j.Task, Changes: session.Changes{Published: base}}, &checkpoints{})
	test := "for f in .env a.txt a_test.go /etc/hosts.d ./c.go; do echo \"$f:2:1: bad\"; done; exit 1"
	got, err := run(t.Context(), commit, []string{test})
	if err != nil || !got.Failed() {
		t.Fatalf("%+v, %v", got, err)
	}
	if want := []session.Fault{{Path: "c.go", Line: 2, Says: "./c.go:2:1: bad"}}; !slices.Equal(got.Faults, want) {
		t.Errorf("faults %+v, want %+v", got.Faults, want)
	}
	if want := []session.Item{{Kind: session.ItemFile, Name: "c.go", Text: "package c\nx\n"}}; !slices.Equal(got.Faulty, want) {
		t.Errorf("files %+v, want %+v", got.Faulty, want)
	}
}

// The configuration says which commands tell that work is done, or the project does.
func TestVerifies(t *testing.T) {
	facts := project.Facts{Commands: []project.Command{{Does: "build", Line: "make"}, {Does: "test", Line: "make test"}, {Does: "test", Line: "tox"}}}
	for _, tt := range []struct {
		verify string
		test   []string
		want   []string
	}{
		{"", nil, []string{"make test"}},
		{"auto", nil, []string{"make test"}},
		{"off", nil, nil},
		{"sh ci.sh", nil, []string{"sh ci.sh"}},
	} {
		var rules policy.Config
		rules.Verify, rules.Test = tt.verify, tt.test
		e := &Engine{cfg: Config{Rules: rules}}
		if got := e.verifies(facts); !slices.Equal(got, tt.want) {
			t.Errorf("%+v: %q", tt, got)
		}
	}
}
