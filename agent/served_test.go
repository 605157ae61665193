package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/agent/tools"
	"github.com/handrail-bot/handrail/policy"
)

// servedTool is a tool of an MCP server that does nothing.
type servedTool struct {
	name   string
	served tools.Served
	size   int
}

func (s servedTool) Spec() tools.Spec {
	out := tools.Spec{Kind: policy.MCP, Served: s.served, Essential: s.served == tools.ByName}
	out.Name, out.Description, out.Parameters = s.name, strings.Repeat("d", s.size), json.RawMessage(`{"type":"object"}`)
	return out
}

func (s servedTool) Intent(context.Context, session.Call) (policy.Action, error) {
	return policy.Action{Kind: policy.MCP, Server: "x", Remote: s.name, Display: "MCP server: x\ntool: " + s.name}, nil
}

func (servedTool) Run(context.Context, session.Call, tools.Progress) (tools.Result, error) {
	return tools.Result{Content: "done"}, nil
}

// TestDefinitionsHaveABudget: the tools of MCP servers are offered by their own names only
// while their definitions take a tenth of the window; otherwise two tools name them all.
func TestDefinitionsHaveABudget(t *testing.T) {
	for _, c := range []struct {
		mode           string
		window, size   int
		native         bool
		own, byName    bool
		describedAbove int
	}{
		{mode: "code", window: 32768, size: 300, native: true, own: true},
		{mode: "code", window: 32768, size: 5000, native: true, byName: true, describedAbove: 5000},
		{mode: "code", window: 131072, size: 3000, native: true, own: true},
		{mode: "code", window: 8192, size: 10, native: true, byName: true},
		{mode: "code", window: 32768, size: 300, byName: true, describedAbove: 300},
		{mode: "plan", window: 32768, size: 300, native: true},
	} {
		b := newBench(t, fmt.Sprintf("model: {name: m, tools: %t, context: %d}\nturns:\n- {say: \"It is empty. [TASK_COMPLETE]\", repeat: true}\n", c.native, c.window), nil)
		b.task.Mode, b.task.Text = c.mode, "what is here?"
		b.more = []tools.Tool{servedTool{"use_mcp_tool", tools.ByName, 20}}
		for i := range 10 {
			b.more = append(b.more, servedTool{fmt.Sprintf("x__tool%d", i), tools.Definition, c.size})
		}
		if _, err := b.run(t.Context()); err != nil {
			t.Fatal(err)
		}
		r := b.model.Requests()[0]
		offered := tools.Names(r.Tools)
		if !c.native {
			for _, name := range []string{"x__tool3", "use_mcp_tool"} {
				if strings.Contains(r.Messages[0].Content, "## "+name+"\n") {
					offered = append(offered, name)
				}
			}
		}
		if got := slices.Contains(offered, "x__tool3"); got != c.own {
			t.Errorf("%+v: tools by their own names: %t", c, got)
		}
		if got := slices.Contains(offered, "use_mcp_tool"); got != c.byName {
			t.Errorf("%+v: use_mcp_tool: %t", c, got)
		}
		if c.describedAbove > 0 && strings.Contains(fmt.Sprint(r), strings.Repeat("d", c.describedAbove)) {
			t.Errorf("%+v: the definitions are in the request", c)
		}
	}
}

// TestQuestionOfAServer: the answer is told to the model, which repeats the call.
func TestQuestionOfAServer(t *testing.T) {
	r := &session.Request{Asked: session.Asked{Server: "travel"}, Answer: &session.Resolved{Reason: "3"}}
	if got := answerText(r); !strings.Contains(got, "question: 3\n") || !strings.Contains(got, "Call the tool again") {
		t.Error(got)
	}
	r.Server = ""
	if got := answerText(r); got != "The person answered: 3" {
		t.Error(got)
	}
}
