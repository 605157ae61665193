package command

import (
	"fmt"
	"testing"
)

func TestCallsOf(t *testing.T) {
	for text, want := range map[string]string{
		"notes 1.2":             "[{notes 1.2}]",
		"Notes: 1.2, now":       "[{notes 1.2, now}]",
		"please notes .github/": "[{please notes .github/} {notes .github/}]",
		"":                      "[]",
		"v1.2 is out":           "[]",
		"notes":                 "[{notes }]",
	} {
		if got := fmt.Sprint(callsOf(text)); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}

func TestTaken(t *testing.T) {
	table := Table{{Name: Task}, {Name: AskHelp}, {Name: "approve", Grants: true}, {Name: "status"}, {Name: "deny"}}
	for _, name := range []string{"approve", "Status", "help", "plan", "review", "yes", "lgtm", "no", "aprove", "aproves", "statuss", "please", "task", "reject", "thanks", "deni"} {
		if table.Taken(name) == "" {
			t.Errorf("%s is free", name)
		}
	}
	for _, name := range []string{"deploy", "notes", "state", "release", "triage", "improve-docs", "fix"} {
		if why := table.Taken(name); why != "" {
			t.Errorf("%s: %s", name, why)
		}
	}
}
