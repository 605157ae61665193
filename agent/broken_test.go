package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"

	"github.com/handrail-bot/handrail/agent/llm"
	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/agent/tools"
	"github.com/handrail-bot/handrail/policy"
)

// brittleTool panics where its name says.
type brittleTool struct{ in string }

func (b brittleTool) Spec() tools.Spec {
	return tools.Spec{ToolSpec: llm.ToolSpec{Name: "brittle_" + b.in, Description: "d", Parameters: json.RawMessage(`{"type":"object"}`)}, Kind: policy.Read}
}

func (b brittleTool) Intent(context.Context, session.Call) (policy.Action, error) {
	if b.in == "intent" {
		panic("index out of range [-1]")
	}
	return policy.Action{Kind: policy.Read, Paths: []string{"a.txt"}}, nil
}

func (b brittleTool) Run(context.Context, session.Call, tools.Progress) (tools.Result, error) {
	var none *session.Task
	return tools.Result{Content: none.Text}, nil // a nil pointer
}

// A tool that panics, when it says what it would do or when it does it, is told
// to the model as that tool's error, and the session goes on.
func TestToolThatPanics(t *testing.T) {
	for in, words := range map[string]string{"intent": "index out of range [-1]", "run": "nil pointer"} {
		t.Run(in, func(t *testing.T) {
			b := newBench(t, `model: {name: m, tools: true, context: 32768}
turns:
- calls: [{name: brittle_`+in+`, arguments: {}}]
- {when: {tool_result_contains: [fault in Handrail itself, Your call was not wrong]}, calls: [{name: write_file, arguments: {path: b.txt, content: "fine\n"}}]}
- say: "Done. [TASK_COMPLETE]"
`, map[string]string{"a.txt": ""})
			var log bytes.Buffer
			b.cfg.Log = slog.New(slog.NewTextHandler(&log, nil))
			b.more = []tools.Tool{brittleTool{in}}
			b.must(session.StatusDone)
			if b.states.published()["b.txt"] != "fine\n" {
				t.Error("the session did not go on")
			}
			if text := log.String(); !strings.Contains(text, words) || !strings.Contains(text, "broken_test.go") {
				t.Errorf("the log lacks the cause or the stack:\n%s", text)
			}
			for _, r := range events[session.Result](b, session.TypeResult) {
				if strings.Contains(r.Content, "goroutine") || strings.Contains(r.Content, ".go:") {
					t.Errorf("the model was shown a stack: %s", r.Content)
				}
			}
		})
	}
}

// A panic of the loop itself, wherever it comes, ends the session as failed,
// and the log stays whole.
func TestRunThatPanics(t *testing.T) {
	for name, breakIt := range map[string]func(*bench){
		"showing an event": func(b *bench) {
			armed := true
			b.cfg.OnEvent = func(e session.Event) {
				if e.Type == session.TypeAnswer && armed {
					armed = false
					panic("renderer")
				}
			}
		},
		"facts of an approval": func(b *bench) {
			b.cfg.ApprovalFacts = func(context.Context) ([]session.Fact, error) { panic("gate") }
		},
		"inbox": func(b *bench) { b.cfg.Inbox = func(context.Context) error { panic("inbox") } },
		"looking up what words name": func(b *bench) {
			b.cfg.Provide = func(context.Context, string, llm.Form) []session.Item { panic("provide") }
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, `model: {name: m, tools: true, context: 32768}
turns:
- {calls: [{name: write_file, arguments: {path: .env, content: "X=1\n"}}], optional: true}
`, map[string]string{"a.txt": ""})
			breakIt(b)
			out, err := b.run(t.Context())
			if err != nil || out.Status != session.StatusFailed || !strings.Contains(out.Reason, "fault in Handrail itself") {
				t.Fatalf("%+v, %v", out, err)
			}
			all, err := b.log.Events(t.Context(), 0)
			if err != nil || session.Verify(all) != nil || all[len(all)-1].Type != session.TypeEnded {
				t.Errorf("the log ends with %s: %v", all[len(all)-1].Type, err)
			}
			again, err := b.run(t.Context())
			if err != nil || again.Status != session.StatusFailed {
				t.Errorf("run again: %+v, %v", again, err)
			}
		})
	}
}
