package main

import (
	"strings"
	"testing"

	"github.com/alecthomas/kong"
)

func TestTaskOfRun(t *testing.T) {
	for line, want := range map[string]string{
		"run\x00fix the typo":                   "fix the typo",
		"run\x00fix\x00the\x00typo":             "fix the typo",
		"run\x00--mode=ask\x00why is it slow?":  "why is it slow?",
		"run\x00why is it slow?\x00--mode=ask":  "why is it slow?",
		"run\x00--task=fix it":                  "fix it",
		"run\x00-":                              "from a pipe",
		"run\x00--task=-":                       "from a pipe",
		"run\x00-\x00--task=fix it":             `there are two tasks: standard input, and "fix it" of --task`,
		"run":                                   "",
		"run\x00resume":                         `"resume" is no task yet`,
		"run\x00.":                              `"." is no task yet`,
		"run\x00--task=fix it\x00mend the test": `there are two tasks: "mend the test", and "fix it" of --task`,
	} {
		var verbs struct {
			Run runCmd `cmd:""`
		}
		k, err := kong.New(&verbs)
		must(t, err)
		_, err = k.Parse(strings.Split(line, "\x00"))
		must(t, err)
		got, err := verbs.Run.text(&console{in: strings.NewReader("from a pipe\n")})
		if err != nil {
			got = err.Error()
		}
		if got != want && (want == "" || !strings.HasPrefix(got, want)) {
			t.Errorf("%q: %q, want %q", line, got, want)
		}
	}
}
