package agent

import (
	"fmt"
	"testing"

	"github.com/handrail-bot/handrail/agent/compact"
	"github.com/handrail-bot/handrail/policy"
)

// The first prompt is small: tools included, in every mode, for an empty repository
// and a task of one line. Tokens are counted as the program estimates them.
func TestFirstPromptIsSmall(t *testing.T) {
	for _, m := range policy.Modes() {
		for _, tt := range []struct{ window, most int }{{8192, 1500}, {16384, 1500}, {32768, 2500}} {
			for _, native := range []bool{true, false} {
				b := newBench(t, fmt.Sprintf("model: {name: m, tools: %t, context: %d}\nturns:\n- {say: \"It is empty. [TASK_COMPLETE]\", repeat: true}\n", native, tt.window), nil)
				b.task.Mode, b.task.Text = m.Name, "what is here?"
				if _, err := b.run(t.Context()); err != nil {
					t.Fatal(err)
				}
				r := b.model.Requests()[0]
				n := 0
				for _, msg := range r.Messages {
					n += compact.MessageSize(msg)
				}
				for _, tool := range r.Tools {
					n += len(tool.Name) + len(tool.Description) + len(tool.Parameters) + 8
				}
				if got := (compact.Ratio{}).Tokens(n); got > tt.most {
					t.Errorf("%s, window of %d, native %t: %d tokens with %d tools, want %d", m.Name, tt.window, native, got, len(r.Tools), tt.most)
				}
			}
		}
	}
}
