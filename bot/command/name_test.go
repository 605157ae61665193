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
		"/agent model qwen3:8b":               "model [qwen3:8b]",
		"/agent model: qwen3:8b, please.":     "model [qwen3:8b]",
		"/agent please model `org/name-7B`":   "model [org/name-7B]",
		"/agent model to gpt-oss:20b now":     "model [gpt-oss:20b]",
		"/agent model training is slow":       "task []",
		"/agent model validation rejects nil": "task []",
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
