package project

import (
	"context"
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
	commands := []Command{{Does: "test", Line: "go test ./...", From: "go.mod"}, {Does: "test", Line: "./gradlew test", From: "build.gradle"}, {Does: "build", Line: "make", From: "Makefile"}}
	for _, tt := range []struct {
		shell answers
		want  []string
		lacks string
	}{
		{answers{Output: "has bash\nhas make\n"}, []string{"`go test ./...` (go.mod); it cannot be run here: there is no go", "(build.gradle)\n", "(Makefile)\n", "Programs here: bash, make"}, "no make"},
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
