package agent

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/handrail-bot/handrail/agent/llm"
	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/agent/tools"
	"github.com/handrail-bot/handrail/policy"
)

// stranger is a tool whose name nobody knows.
type stranger struct{ kind policy.Kind }

func (s stranger) Spec() tools.Spec {
	return tools.Spec{Kind: s.kind, ToolSpec: llm.ToolSpec{Name: "stranger", Description: "Does it.", Parameters: json.RawMessage(`{"type":"object","properties":{}}`)}}
}

func (s stranger) Intent(context.Context, session.Call) (policy.Action, error) {
	a := policy.Action{Kind: s.kind, Display: "do it"}
	if s.kind != policy.Read {
		a.Paths = []string{"a.txt"}
	}
	return a, nil
}

func (stranger) Run(context.Context, session.Call, tools.Progress) (tools.Result, error) {
	return tools.Result{Content: "Did it."}, nil
}

// What a tool does is known from what the gate recorded, not from its name: a
// yes is bound to the last step that nobody approved and that may have changed
// something, also when a tool of another origin made it.
func TestKindIsRecorded(t *testing.T) {
	for _, tt := range []struct {
		kind policy.Kind
		want string // the step that the next approval is bound to
	}{{policy.Write, "c1-1"}, {policy.Delete, "c1-1"}, {policy.Read, ""}} {
		t.Run(tt.kind.String(), func(t *testing.T) {
			b := newBench(t, head+`
- calls: [{name: stranger, arguments: {}}]
- calls: [{name: run_terminal_command, arguments: {command: rm -rf old}}]
`, map[string]string{"a.txt": "1\n", "old/x": "1\n"})
			b.more = []tools.Tool{stranger{tt.kind}}
			b.must(session.StatusAwaitingApproval)
			if d := events[session.Decision](b, session.TypeDecision)[0]; d.Kind != tt.kind {
				t.Errorf("the decision is recorded as %s, want %s", d.Kind, tt.kind)
			}
			got := ""
			for _, f := range events[session.Asked](b, session.TypeAsked)[0].Bound {
				if f.Name == "last step that nobody approved" {
					got = f.Value
				}
			}
			if got != tt.want {
				t.Errorf("the approval is bound to %q, want %q", got, tt.want)
			}
		})
	}
}
