package command

import (
	"fmt"
	"testing"
)

func TestTakesCheckpoints(t *testing.T) {
	table := Table{{Name: Task, Args: TakesText}, {Name: "undo", Args: TakesCheckpoints}, {Name: "keep", Args: TakesCheckpoints}}
	for body, want := range map[string]string{
		"/agent undo":                              "undo 0 []",
		"/agent undo, please.":                     "ask",
		"/agent undo.":                             "undo 0 []",
		"/agent undo 2":                            "undo 2 []",
		"/agent undo the last 3 checkpoints":       "ask",
		"/agent undo your last change":             "ask",
		"/agent undo src/a.go, README.md":          "undo 0 [src/a.go README.md]",
		"/agent undo ./tests/":                     "undo 0 [tests]",
		"/agent undo `Makefile`":                   "undo 0 [Makefile]",
		"/agent keep .github/agent.yml":            "keep 0 [.github/agent.yml]",
		"/agent keep it short":                     "ask",
		"/agent keep 2":                            "ask",
		"/agent keep":                              "keep 0 []",
		"/agent undo the rename in the parser":     "ask",
		"/agent keep the tests in tests/ but sort": "ask",
		"/agent undo stack overflows":              "ask",
		"/agent undo 0":                            "ask",
	} {
		got := "ask"
		if list, err := table.Parse(body); err == nil {
			got = fmt.Sprint(list[0].Name, " ", list[0].Count, " ", list[0].Paths)
		}
		if got != want {
			t.Errorf("%s: %s, want %s", body, got, want)
		}
	}
}
