package command

import (
	"fmt"
	"testing"
)

func TestTakesName(t *testing.T) {
	table := Table{{Name: Task, Args: TakesText}, {Name: "model", Args: TakesName}}
	for body, want := range map[string]string{
		"/agent model":                        "model []",
		"/agent model?":                       "model []",
		"/agent model: qwen3:8b.":             "model [qwen3:8b]",
		"/agent model `org/name-7B`":          "model [org/name-7B]",
		"/agent model qwen3:8b":               "model [qwen3:8b]",
		"/agent model: qwen3:8b, please.":     "ask",
		"/agent please model `org/name-7B`":   "task []",
		"/agent model to gpt-oss:20b now":     "ask",
		"/agent model training is slow":       "ask",
		"/agent model validation rejects nil": "ask",
		"/agent model $HOME":                  "ask",
		"/agent model ../../etc/passwd":       "ask",
	} {
		got := "ask"
		if list, err := table.Parse(body); err == nil {
			got = fmt.Sprint(list[0].Name, " ", list[0].IDs)
		}
		if got != want {
			t.Errorf("%s: %s, want %s", body, got, want)
		}
	}
}
