package command

import (
	"fmt"
	"testing"

	"github.com/handrail-bot/handrail/bot/custom"
)

func TestOwnCalled(t *testing.T) {
	t.Parallel()
	list := Book{custom.Read([]custom.File{{Path: custom.Dir + "/notes.md", Data: []byte("x")}}, func(string) string { return "" })}
	for text, want := range map[string]string{
		"notes 1.2": "1.2 true", "Notes: 1.2, now": "1.2, now true", "notes .github/": ".github/ true", "notes": " true",
		"please notes .github/": " false", "": " false", "v1.2 is out": " false", "note 1.2": " false",
	} {
		_, rest, ok := FindOwn(list, text)
		if !ok {
			rest = ""
		}
		if got := fmt.Sprint(rest, " ", ok); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
		if ok && !MayCallOwn(text) {
			t.Errorf("%q is passed over", text)
		}
	}
}

func TestTaken(t *testing.T) {
	table := Table{{Name: Task}, {Name: AskHelp}, {Name: "approve", Grants: true}, {Name: "status"}, {Name: "deny"}}
	for _, name := range []string{"approve", "Status", "help", "plan", "review", "aprove", "aproves", "statuss", "task", "deni"} {
		if table.Taken(name) == "" {
			t.Errorf("%s is free", name)
		}
	}
	for _, name := range []string{"deploy", "notes", "state", "release", "sort", "improve-docs", "fix", "yes", "please"} {
		if why := table.Taken(name); why != "" {
			t.Errorf("%s: %s", name, why)
		}
	}
}
