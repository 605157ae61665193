package project

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"github.com/handrail-bot/handrail/agent/workspace"
)

// answers is a shell that says and ends as it is told.
type answers workspace.CommandResult

func (a answers) Run(context.Context, workspace.Command, func(string)) (workspace.CommandResult, error) {
	return workspace.CommandResult(a), nil
}

// Commands whose program the machine has not are named as such; what nobody knows is
// left as it was.
func TestTry(t *testing.T) {
	commands := []Command{{Does: "test", Line: "go test ./...", From: "go.mod"}, {Does: "test", Line: "./gradlew test", From: "build.gradle"}, {Does: "build", Line: "make", From: "Makefile"},
		{Does: "test", Line: "python -m pytest", From: "setup.cfg"}, {Does: "test", Line: "python -m unittest", From: "configuration"}}
	for _, tt := range []struct {
		shell answers
		want  []string
		lacks string
	}{
		{answers{Output: "has bash\nhas make\n"}, []string{"- test: cannot be run here, there is no go (go.mod)", "(build.gradle)\n", "(Makefile)\n", "Programs here: bash, make"}, "no make"},
		{answers{Output: "has python\nlacks pytest\n"}, []string{"- test: cannot be run here, python has no module pytest (setup.cfg)\n", "`python -m unittest` (configuration)\n"}, "no module unittest"},
		{answers{Output: "has python3\n"}, []string{"`python3 -m pytest` (setup.cfg)\n", "- test: cannot be run here, there is no python (configuration)\n"}, "no module"},
		{answers{Output: "has python3\nvirtual environment\n"}, []string{"`.venv/bin/python -m pytest` (setup.cfg)\n"}, "`python3"},
		{answers{Output: ""}, []string{"Programs here: none of the usual ones", "there is no make"}, "no ./gradlew"},
		{answers{Exit: 2, Output: "has go"}, []string{"(go.mod)\n"}, "Programs"}, {answers{TimedOut: true}, []string{"(go.mod)\n"}, "cannot"},
	} {
		f := Facts{Commands: commands}
		if err := f.Try(t.Context(), tt.shell); err != nil {
			t.Fatal(err)
		}
		for _, want := range tt.want {
			if got := f.String(); !strings.Contains(got, want) || strings.Contains(got, tt.lacks) {
				t.Errorf("%+v: %s\nwant %q, and not %q", tt.shell, got, want, tt.lacks)
			}
		}
	}
}

// A real shell is asked in words that it understands.
func TestTryInAShell(t *testing.T) {
	ws := open(t, map[string]string{"own_module.py": "open('ran', 'w')\n", "importlib/util.py": "open('ran', 'w')\n"})
	f := Facts{Commands: []Command{{Does: "test", Line: "python3 -m no_such_module_here"}, {Does: "test", Line: "python3 -m own_module", From: "configuration"}, {Does: "lint", Line: "python3 -m own_module"}, {Does: "test", Line: "python3 -m unittest"}, {Does: "test", Line: "no-such-program x"}}}
	if err := f.Try(t.Context(), ws); err != nil {
		t.Fatal(err)
	}
	got := f.String()
	if !slices.Contains(f.Has, "python3") {
		t.Skip("no python3 here")
	}
	for _, want := range []string{"python3 has no module no_such_module_here ()\n", "`python3 -m unittest` ()\n", "`python3 -m own_module` (configuration)\n", "there is no no-such-program ()\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in\n%s", want, got)
		}
	}
	if _, _, err := ws.ReadAll(t.Context(), "ran", 10); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("code of the project was run: %v", err)
	}
}

// Commands of the configuration stand in the place of what was found.
func TestSetTests(t *testing.T) {
	f := Facts{Commands: []Command{{Does: "build", Line: "make"}, {Does: "test", Line: "make test"}}}
	f.SetTests(nil)
	if got := strings.Join(f.Tests(), " "); got != "make test" {
		t.Errorf("without a configuration the tests are %q", got)
	}
	f.SetTests([]string{"./ci.sh", "tox"})
	if got := strings.Join(f.Tests(), " "); got != "./ci.sh tox" || f.Commands[2].Line != "make" {
		t.Errorf("the tests are %q of %v", got, f.Commands)
	}
}
