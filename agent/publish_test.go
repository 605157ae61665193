package agent

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/agent/tools"
	"github.com/handrail-bot/handrail/policy"
)

// TestOutageDuringAnAction: if a push fails while an external agent acts, the run goes on, and
// the push is made behind the action. At any other time the run ends, to be tried again.
func TestOutageDuringAnAction(t *testing.T) {
	const done = "- say: \"Done. [TASK_COMPLETE]\"\n"
	b := newBench(t, head+"- calls: [{name: "+session.GuestAction+", arguments: {}}]\n"+done, map[string]string{"a.txt": "1\n"})
	b.states.fails = 1
	b.more = []tools.Tool{tools.New(tools.Sheet{Name: session.GuestAction, Kind: policy.Write, Example: "{}"},
		func(context.Context, tools.Args) (policy.Action, error) {
			return policy.Action{Kind: policy.Write, Paths: []string{"a.txt"}}, nil
		},
		func(ctx context.Context, _ tools.Args, _ tools.Progress) (tools.Result, error) {
			return tools.Result{Content: "It was allowed, once."}, b.ws.Write(ctx, "a.txt", []byte("2\n"))
		})}
	b.must(session.StatusDone)
	if got := b.states.published()["a.txt"]; got != "2\n" || len(b.states.out) != 1 {
		t.Errorf("published %q in %d commits", got, len(b.states.out))
	}
	if n := len(b.states.asked); n != 2 || cmp.Diff(b.states.asked[0], b.states.asked[1]) != "" {
		t.Errorf("another commit is pushed, beside one that may be there: %+v", b.states.asked)
	}
	b = newBench(t, head+"- calls: [{name: write_file, arguments: {path: a.txt, content: \"2\\n\"}}]\n"+done, map[string]string{"a.txt": "1\n"})
	b.states.fails = 1
	if _, err := b.run(t.Context()); !errors.Is(err, errUnpublished) {
		t.Errorf("without an agent: %v", err)
	}
	b.must(session.StatusDone)
}
