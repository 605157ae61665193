package agent

import (
	"context"
	"fmt"
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

// lateLog appends words in front of the first event of a kind, as another writer would.
type lateLog struct {
	session.Log
	before session.Type
	words  *session.Event
}

func (l *lateLog) Append(ctx context.Context, events ...*session.Event) error {
	if words := l.words; words != nil && events[0].Type == l.before {
		l.words = nil
		if err := l.Log.Append(ctx, words); err != nil {
			return err
		}
	}
	return l.Log.Append(ctx, events...)
}

// Words that arrive after the last look at the log, and before the record of the end, make
// that end void: the same run answers them, also after an interruption between the two.
func TestWordsBeforeTheEnd(t *testing.T) {
	for _, interrupted := range []bool{false, true} {
		t.Run(fmt.Sprintf("interrupted=%t", interrupted), func(t *testing.T) {
			b := newBench(t, `
model: {name: m, tools: true}
turns:
- say: "All is done. [TASK_COMPLETE]"
- when: {last_contains: and b}
  say: "That is done, too. [TASK_COMPLETE]"
`, map[string]string{"a.txt": "a\n"})
			b.task.Mode = "ask"
			words := session.NewEvent(session.TypeMessage, 0, session.Message{Text: "and b", Key: "m1"})
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			if interrupted {
				b.cfg.OnEvent = func(e session.Event) {
					if e.Type == session.TypeEnded {
						stop()
					}
				}
			}
			out, err := b.runOn(ctx, &lateLog{Log: b.log, before: session.TypeEnded, words: words})
			if interrupted {
				if state, err := session.Fold(b.all()); err != nil || state.Phase != session.PhaseRunning || state.Outcome != nil {
					t.Fatalf("the state after a void end is %+v, %v", state, err)
				}
				b.cfg.OnEvent = nil
				out, err = b.run(t.Context())
			}
			if err != nil || out.Status != session.StatusAnswered || !strings.Contains(out.Summary, "too") {
				t.Errorf("%s: %q, %v", out.Status, out.Summary, err)
			}
			if n := len(b.model.Requests()); n != 2 {
				t.Errorf("%d requests", n)
			}
			state, err := session.Fold(b.all())
			if err != nil || len(state.Ends) != 1 || state.Unanswered() {
				t.Errorf("%d ends, unanswered %t, %v", len(state.Ends), state.Unanswered(), err)
			}
			if early, err := session.EarlyEnds(b.all()); err != nil || len(early) > 0 {
				t.Error(early, err)
			}
		})
	}
}
