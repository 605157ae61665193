package bot

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/handrail-bot/handrail/bot/command"
	"github.com/handrail-bot/handrail/bot/store"
	"github.com/handrail-bot/handrail/policy"
)

// A row that lacks a part is found at start, not when somebody writes the
// command.
func TestEveryCommandIsWhole(t *testing.T) {
	t.Parallel()
	if err := checkCommands(commands()); err != nil {
		t.Fatal(err)
	}
	whole := row{
		Spec:  command.Spec{Name: "juggle", Usage: "juggle", Help: "take the last change back", Args: command.TakesText},
		right: policy.Rewind, priority: store.PriorityWork, handle: func(context.Context, *request) error { return nil },
	}
	if err := checkCommands(append(commands(), whole)); err != nil {
		t.Errorf("a whole row: %v", err)
	}
	for want, change := range map[string]func(*row){
		`"juggle" does not say which right it needs`: func(r *row) { r.right = policy.NoRequest },
		`"Juggle" is not one word in lower case`:     func(r *row) { r.Name = "Juggle" },
		`"juggle" has no priority`:                   func(r *row) { r.priority = 0 },
		`nothing handles "juggle"`:                   func(r *row) { r.handle = nil },
		`("juggle") has no name`:                     func(r *row) { r.Name = "" },
		`"juggle" has no usage`:                      func(r *row) { r.Usage = "" },
		`"juggle" does not say what it takes`:        func(r *row) { r.Args = nil },
		`"stop" is there twice`:                      func(r *row) { r.Name = "stop" },
	} {
		r := whole
		change(&r)
		if err := checkCommands(append(commands(), r)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	for i, r := range commands() {
		without := slices.Delete(commands(), i, i+1)
		if _, err := rowOf(without, command.Command{Name: r.Name}); err == nil {
			t.Errorf("a command without the row of %q is carried out", r.Name)
		}
	}
}
