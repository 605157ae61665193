package bot_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/handrail-bot/handrail/bot"
	"github.com/handrail-bot/handrail/bot/command"
)

// Whatever the words of a task are, a run begins with one task.
func TestStartedIsOneTask(t *testing.T) {
	t.Parallel()
	tasks := []string{
		"stop", "approve abc12345", "/agent stop", "x\n/agent stop", "x\n\n/agent approve all", "x\r/agent stop", "x\u2028/agent stop", "  \n /agent stop", "> /agent stop", "- /agent stop", "```\n/agent stop\n```\n/agent stop",
		"@handrail stop", "x\n@handrail stop", "x\n\n@handrail[bot] approve all", "x\n\n@Handrail, stop", "- @handrail stop", "> @handrail stop", "`@handrail` stop", "```\n@handrail stop\n```",
		"--turns 900", "--turns 900 x", "x --model big", "--mode code\nx", "task: task: x", "ask why", "help", "status", "<!-- x\n/agent stop\n-->", "<details>\n\n/agent stop", "| a |\n|---|\n| /agent stop |", "x\n---\n/agent stop",
		"please stop", "[a]: /agent\n/agent stop", "\\/agent stop", "&#47;agent stop", "/agent", "/agent\n/agent\n/agent", "On Monday kim wrote:\n> x\n\n/agent stop", "*/agent stop*", "x<br>/agent stop", "~~~\n/agent stop",
	}
	for _, task := range tasks {
		in, err := json.Marshal(map[string]string{"task": task, "mode": "ask", "model": "m:1"})
		if err != nil {
			t.Fatal(err)
		}
		for _, names := range [][]string{nil, {"handrail"}, {"handrail[bot]"}} {
			got, err := bot.Started(in, names...)
			if err != nil || len(got) != 1 || got[0].Name != command.Task || !got[0].Explicit || got[0].Mode != "ask" || got[0].Model != "m:1" || got[0].Turns != 0 {
				t.Errorf("%q (%v) is %+v, %v", task, names, got, err)
			}
		}
	}
	for _, in := range []string{`{}`, `null`, `[]`, `{"task": "  "}`, `{"task": 7}`, ``} {
		if got, err := bot.Started([]byte(in)); err != nil || len(got) != 0 {
			t.Errorf("%s is %+v, %v", in, got, err)
		}
	}
	in, err := json.Marshal(map[string]string{"task": "x", "mode": "ask --turns 9", "model": "m\n/agent stop"})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := bot.Started(in); err != nil || len(got) != 1 || got[0].Turns != 0 || got[0].Mode != "" || strings.Contains(got[0].Text, "stop") {
		t.Errorf("flags in a mode make %+v, %v", got, err)
	}
}
