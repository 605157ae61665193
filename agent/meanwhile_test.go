package agent

import (
	"strings"
	"testing"

	"github.com/handrail-bot/handrail/agent/session"
)

// Words that arrive while the model answers reach it in the next request, behind that
// answer, which does not end the work: neither with nor without a call in it.
func TestWordsDuringAnAnswer(t *testing.T) {
	for name, last := range map[string]string{
		"words": `say: "All is done. [TASK_COMPLETE]"`,
		"call":  "say: I looked.\n  " + `calls: [{name: attempt_completion, arguments: {result: All is done., no_change_reason: I looked.}}]`,
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, `
model: {name: m, tools: true}
turns:
- say: I look.
  calls: [{name: read_file, arguments: {path: a.txt}}]
- `+last+`
- when: {last_contains: and b}
  say: "That is done, too. [TASK_COMPLETE]"
`, map[string]string{"a.txt": "a\n"})
			b.task.Mode = "ask"
			spoke := false
			b.cfg.OnLive = func(Live) {
				if len(b.model.Requests()) == 2 && !spoke {
					spoke = true
					b.append(session.NewEvent(session.TypeMessage, 0, session.Message{Text: "and b", Key: "m1"}))
				}
			}
			out := b.must(session.StatusAnswered)
			if !spoke || !strings.Contains(out.Summary, "too") {
				t.Errorf("spoke %t, the end is %q", spoke, out.Summary)
			}
			reqs := b.model.Requests()
			if len(reqs) != 3 {
				t.Fatalf("%d requests", len(reqs))
			}
			before, after := reqs[1].Messages, reqs[2].Messages
			for i, m := range before {
				if after[i].Content != m.Content {
					t.Errorf("message %d of the last request is %q, was %q", i, after[i].Content, m.Content)
				}
			}
			if m := after[len(before)]; m.Role != "assistant" {
				t.Errorf("the words come before the answer: %q", m.Content)
			}
			if early, err := session.EarlyEnds(b.all()); err != nil || len(early) > 0 {
				t.Error(early, err)
			}
		})
	}
}
