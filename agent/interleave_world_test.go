package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/handrail-bot/handrail/agent/llm"
	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/agent/tools"
	"github.com/handrail-bot/handrail/policy"
)

// arena is everything around one session that can change under it, and the
// record of what really happened, which the judge reads. The engine in it is
// the real one; model, tools, saved states and log are small and in memory.
type arena struct {
	r    *rand.Rand
	step []string // what happened, for the report of a failure

	log     *session.Memory
	crashIn int // appends until the process dies, 0 for never
	plan    []session.Call

	target, pushes int // what approvals are bound to
	under          int // what lies under the file that is edited
	trusted        bool
	edited         map[string]bool // comments that were changed
	comments       int
	answers        []session.Resolved // as they were given, for replays
	now            time.Time

	ws     map[string]string // the workspace of the running process
	trees  map[string]map[string]string
	inside bool // the engine works: nobody starts it again

	judge judge
}

var errKilled = errors.New("killed")

func (a *arena) note(format string, args ...any) {
	a.step = append(a.step, fmt.Sprintf(format, args...))
}

// facts is what the world says, for the engine and, separately, for the judge.
func (a *arena) facts(context.Context) ([]session.Fact, error) {
	return []session.Fact{
		{Name: "base branch", Value: fmt.Sprint("b", a.target)},
		{Name: "push by somebody else", Value: fmt.Sprint("p", a.pushes)},
	}, nil
}

func (a *arena) world() string { return fmt.Sprint(a.target, "/", a.pushes) }

func (a *arena) confirm(_ context.Context, _ session.Asked, yes session.Resolved) (string, error) {
	switch {
	case !a.trusted:
		return "the right is gone", nil
	case a.edited[yes.Key]:
		return "the comment was changed", nil
	}
	return "", nil
}

// Append implements session.Log. A process can die before or after the store
// has the events.
func (a *arena) Append(ctx context.Context, events ...*session.Event) error {
	dies := false
	if a.inside && a.crashIn > 0 {
		a.crashIn--
		dies = a.crashIn == 0
	}
	if dies && a.r.IntN(2) == 0 {
		a.note("dies before an append")
		return errKilled
	}
	if err := a.log.Append(ctx, events...); err != nil {
		return err
	}
	for _, e := range events {
		a.judge.read(*e, a)
	}
	if dies {
		a.note("dies after an append")
		return errKilled
	}
	return nil
}

// Events implements session.Log.
func (a *arena) Events(ctx context.Context, after int64) ([]session.Event, error) {
	return a.log.Events(ctx, after)
}

// Name implements llm.Model.
func (*arena) Name() string { return "planned" }

// Capabilities implements llm.Model.
func (*arena) Capabilities(context.Context) (llm.Capabilities, error) {
	return llm.Capabilities{Tools: true, ContextLength: 32768}, nil
}

// Stream implements llm.Model: it makes the planned calls, then is done.
func (a *arena) Stream(_ context.Context, req llm.Request) iter.Seq2[llm.Part, error] {
	n := 0
	for _, m := range req.Messages {
		if m.Role == llm.RoleAssistant {
			n++
		}
	}
	return func(yield func(llm.Part, error) bool) {
		first := n * 3
		if first >= len(a.plan) {
			yield(llm.Part{Content: "Done. [TASK_COMPLETE]", Done: true, DoneReason: "stop"}, nil)
			return
		}
		var calls []llm.ToolCall
		for _, c := range a.plan[first:min(first+3, len(a.plan))] {
			calls = append(calls, llm.ToolCall{Name: c.Name, Arguments: c.Arguments})
		}
		yield(llm.Part{Calls: calls, Done: true, DoneReason: "tool_calls"}, nil)
	}
}

// made is a tool of the arena: a command, or an edit of a sensitive file.
type made struct {
	*arena
	name string
}

// Spec implements Tool.
func (m made) Spec() tools.Spec {
	kind := map[string]policy.Kind{"write_file": policy.Write, "run_terminal_command": policy.Execute}[m.name]
	return tools.Spec{ToolSpec: llm.ToolSpec{Name: m.name, Description: "d", Parameters: json.RawMessage(`{"type":"object"}`)}, Kind: kind}
}

// Intent implements Tool.
func (m made) Intent(_ context.Context, c session.Call) (policy.Action, error) {
	var in struct{ Command, Path, Content string }
	if err := json.Unmarshal(c.Arguments, &in); err != nil {
		return policy.Action{}, err
	}
	if m.name == "write_file" {
		diff := fmt.Sprintf("-%d\n+%s\n", m.under, in.Content)
		e := policy.Effect{Path: in.Path, Is: policy.BlobID(diff)}
		if old, ok := m.ws[in.Path]; ok {
			e.Was = policy.BlobID(old)
		}
		return policy.Action{Kind: policy.Write, Paths: []string{in.Path}, Display: diff, Effects: []policy.Effect{e}}, nil
	}
	return policy.Action{Kind: policy.Execute, Command: in.Command, Cwd: ".", Display: in.Command}, nil
}

// Run implements Tool: this is what must never happen without a person's yes.
func (m made) Run(ctx context.Context, c session.Call, _ tools.Progress) (tools.Result, error) {
	act, err := m.Intent(ctx, c)
	if err != nil {
		return tools.Result{}, err
	}
	m.note("runs %s: %q", c.ID, act.Display)
	m.judge.edit = nil
	switch {
	case m.name == "write_file":
		m.judge.edits(act.Paths[0], m.ws[act.Paths[0]], act.Display)
		m.ws[act.Paths[0]] = act.Display
	case strings.HasPrefix(act.Command, "sh gen"):
		m.ws[".github/workflows/ci.yml"] = act.Command
	default:
		m.ws["out"] = act.Command
	}
	if !strings.HasPrefix(act.Command, "sh gen") {
		m.judge.runs(m.arena, c.ID, act.Display)
	}
	if m.r.IntN(12) == 0 {
		m.note("dies in %s", c.ID)
		return tools.Result{}, fmt.Errorf("%w: %w", errKilled, errGoneForTest)
	}
	if m.r.IntN(4) == 0 {
		m.disturb()
	}
	return tools.Result{Content: "ok"}, nil
}

// shelf keeps whole trees; the branch is what the log says.
func (a *arena) published() map[string]string { return a.trees[a.judge.published] }

func (a *arena) keep() string {
	id := fmt.Sprint("t", a.ws) // maps are printed in order
	a.trees[id] = maps.Clone(a.ws)
	return id
}

// Save implements Checkpointer.
func (a *arena) Save(context.Context, int, bool) (Saved, error) {
	out := Saved{Commit: a.keep(), Changed: true}
	out.Tree = out.Commit
	old := a.published()
	for _, p := range slices.Sorted(maps.Keys(a.ws)) {
		if a.ws[p] == old[p] {
			continue
		}
		f := session.FileChange{Path: p, Kind: "modify", Added: 1, Blob: blobOf(a.ws[p])}
		if was, ok := old[p]; ok {
			f.Was = blobOf(was)
		}
		out.Files = append(out.Files, f)
	}
	return out, nil
}

// Publish implements Checkpointer. The branch is where it matters.
func (a *arena) Publish(_ context.Context, p Publication) (session.Checkpoint, error) {
	tree, old := a.trees[p.Saved], a.published()
	a.note("publishes %s", p.Saved)
	a.judge.publishes(a, p, tree, old)
	return session.Checkpoint{Commit: p.Saved, Tree: p.Saved, Parent: p.Parent}, nil
}

// Diff implements Checkpointer.
func (a *arena) Diff(_ context.Context, from, to string, paths []string) (string, error) {
	return shown(a.trees[from], a.trees[to], paths), nil
}

func shown(from, to map[string]string, paths []string) string {
	var b strings.Builder
	for _, p := range paths {
		fmt.Fprintf(&b, "%s: %q → %q\n", p, from[p], to[p])
	}
	return b.String()
}

// Revert implements Checkpointer.
func (*arena) Moved() bool { return false }

func (a *arena) Revert(_ context.Context, to string, paths []string) error {
	for _, p := range paths {
		if old, ok := a.trees[to][p]; ok {
			a.ws[p] = old
		} else {
			delete(a.ws, p)
		}
	}
	return nil
}
