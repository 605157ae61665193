package agent

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/agent/tools"
	"github.com/handrail-bot/handrail/policy"
	"github.com/handrail-bot/handrail/policy/longtest"
)

// Each budget parks the session when it is used up; granting more lets it go
// on, with a fresh allowance of that budget.
func TestBudgets(t *testing.T) {
	longtest.Leave(t)
	write := func(n int) string {
		return fmt.Sprintf("- calls: [{name: write_file, arguments: {path: f%d.txt, content: \"a\\nb\\n\"}}]\n  tokens: {prompt: 100, answer: 10}\n", n)
	}
	for _, tt := range []struct {
		name   string
		limits Limits
		turns  int // before it parks
		want   string
	}{
		{"turns", Limits{Turns: 2}, 2, "All 2 turns are used"},
		{"tokens", Limits{Tokens: 200}, 2, "220 tokens are used, 200 were allowed"},
		{"edits", Limits{Edits: 1}, 1, "1 edits are made"},
		{"lines", Limits{ChangedLines: 3}, 2, "4 lines are changed"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			script := head + write(1)
			for n := 2; n <= tt.turns+1; n++ {
				script += write(n)
			}
			b := newBench(t, script+"- say: \"Done. [TASK_COMPLETE]\"\n", map[string]string{"a.txt": ""})
			b.cfg.Limits, b.task.Turns = tt.limits, 100*min(tt.limits.Turns, 1) // more than there may be
			out := b.must(session.StatusOutOfBudget)
			if !strings.Contains(out.Reason, tt.want) || out.Turns != tt.turns {
				t.Fatalf("after %d turns: %q, want %q after %d", out.Turns, out.Reason, tt.want, tt.turns)
			}
			b.must(session.StatusOutOfBudget) // nothing was granted: nothing is done
			b.append(session.NewEvent(session.TypeMessage, 0, session.Message{Budget: 10}))
			if tt.name == "edits" { // one more edit uses up the new allowance
				b.must(session.StatusOutOfBudget)
				b.append(session.NewEvent(session.TypeMessage, 0, session.Message{Budget: 10}))
			}
			b.must(session.StatusDone)
			if n := len(b.states.published()); n != tt.turns+2 {
				t.Errorf("%d files at the end, want all %d", n, tt.turns+2)
			}
		})
	}
}

func TestWallBudget(t *testing.T) {
	b := newBench(t, head+"- calls: [{name: list_files, arguments: {path: .}}]\n", map[string]string{"a.txt": ""})
	now := time.Unix(1000, 0)
	b.cfg.Limits.Wall = time.Minute
	b.cfg.Now = func() time.Time { now = now.Add(10 * time.Second); return now }
	out := b.must(session.StatusOutOfBudget)
	if !strings.Contains(out.Reason, "has run for 1m0s") {
		t.Error(out.Reason)
	}
}

// A limit on edits holds whichever way they are made: commands count, and
// what goes beyond the limit does not reach the branch.
func TestEditLimitCoversCommands(t *testing.T) {
	script := head
	for n := range 5 {
		script += fmt.Sprintf("- calls: [{name: write_file, arguments: {path: f%d.txt, content: \"x\\n\"}}]\n", n)
	}
	script += `
- when: {tool_result_contains: All 5 edits of debug mode are used}
  calls: [{name: run_terminal_command, arguments: {command: sh gen.sh}}]
- when: {user_contains: The change to more.txt was taken back}
  calls: [{name: write_file, arguments: {path: last.txt, content: "x\n"}}]
- when: {tool_result_contains: allows 5 edits}
  say: "Done. [TASK_COMPLETE]"
`
	b := newBench(t, script, map[string]string{"gen.sh": "echo x > more.txt\n"})
	b.task.Mode = "debug"
	b.must(session.StatusDone)
	tree := b.states.published()
	if _, there := tree["more.txt"]; there {
		t.Error("a sixth edit, by a command, reached the branch")
	}
	if _, there := tree["f4.txt"]; !there {
		t.Error("the fifth edit was lost")
	}
}

// A model that goes round in a circle is stopped, even where no call follows
// itself; the same calls with other results are work.
func TestCircle(t *testing.T) {
	round := "- calls: [{name: read_file, arguments: {path: a.txt}}]\n- calls: [{name: read_file, arguments: {path: b.txt}}]\n"
	b := newBench(t, head+round+round+round+"- when: {tool_result_contains: go in a circle}\n  say: \"I give up. [TASK_COMPLETE]\"\n", map[string]string{"a.txt": "1\n", "b.txt": "2\n"})
	b.task.Text = "what is in a.txt?"
	b.must(session.StatusAnswered)

	work := "- calls: [{name: run_terminal_command, arguments: {command: echo x >> a.txt}}]\n- calls: [{name: read_file, arguments: {path: a.txt}}]\n"
	b = newBench(t, head+work+work+work+"- say: \"Done. [TASK_COMPLETE]\"\n", map[string]string{"a.txt": "1\n"})
	b.must(session.StatusDone)
	if got := b.states.published()["a.txt"]; got != "1\nx\nx\nx\n" {
		t.Errorf("work that repeats was stopped: %q", got)
	}
}

// Prompts that the server finds too long however short they are made end the
// session with a sentence, after a few attempts.
func TestTooLongForEver(t *testing.T) {
	b := newBench(t, head+"- misbehave: {too_long: true}\n  repeat: true\n", map[string]string{"a.txt": ""})
	b.task.Text = "fix " + strings.Repeat("this long text ", 2000)
	out := b.must(session.StatusFailed)
	if !strings.Contains(out.Reason, "does not fit into the model's context of 32768 tokens") {
		t.Error(out.Reason)
	}
	if n := len(b.model.Requests()); n > maxSqueezes+1 {
		t.Errorf("%d requests", n)
	}
}

// One result that is longer than the whole window is shortened, not cut by
// the server.
func TestResultLongerThanTheWindow(t *testing.T) {
	long := strings.Repeat("a line that says nothing of any use to anybody\n", 1900)
	b := newBench(t, `
model: {name: m, tools: true, context: 8192, enforce_context: true}
turns:
- calls: [{name: read_file, arguments: {path: long.txt}}]
- when: {tool_result_contains: read on with}
  say: "Nothing of use. [TASK_COMPLETE]"
`, map[string]string{"long.txt": long})
	b.task.Text = "what is in the file?"
	b.must(session.StatusAnswered)
}

// What a server lacks is left out, one thing at a time.
func TestServerRefuses(t *testing.T) {
	for name, tt := range map[string]struct {
		refusal, then string
	}{
		"thinking": {"m does not support thinking", "{think: false, has_tool: read_file}"},
		"images":   {"m does not support image input", "{images: 0, has_tool: read_file}"},
		"tools":    {"m does not support tools", "{no_tools: true, images: 1}"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, `
model: {name: m, tools: true, thinking: true, vision: true}
turns:
- misbehave: {status: 400, error: "`+tt.refusal+`"}
- when: `+tt.then+`
  say: "A cat. [TASK_COMPLETE]"
`, map[string]string{"a.txt": ""})
			b.task.Text = "what is in the picture?"
			b.task.Images = []session.Blob{{Name: "cat.png", Type: "image/png", Data: []byte("\x89PNG\r\n\x1a\n.")}}
			b.must(session.StatusAnswered)
		})
	}
}

// A budget that other sessions use too stops this one as well, counted
// together with what they used; a person who grants more lifts it for the
// request.
func TestShares(t *testing.T) {
	longtest.Leave(t)
	for _, tt := range []struct {
		name         string
		limits, used policy.Limits
		want         string
	}{
		{"turns", policy.Limits{Turns: 10}, policy.Limits{Turns: 9}, "This thread has used 10 turns, 10 were allowed"},
		{"tokens", policy.Limits{Tokens: 1000}, policy.Limits{Tokens: 900}, "This thread has used 1010 tokens, 1000 were allowed"},
		{"edits", policy.Limits{Edits: 3}, policy.Limits{Edits: 2}, "This thread has used 3 edits, 3 were allowed"},
		{"lines", policy.Limits{Lines: 9}, policy.Limits{Lines: 7}, "This thread has used 9 changed lines, 9 were allowed"},
		{"time", policy.Limits{Time: policy.Duration(time.Hour)}, policy.Limits{Time: policy.Duration(59*time.Minute + 59*time.Second)}, "This thread has used 1h0m"},
		{"used up before", policy.Limits{Turns: 3}, policy.Limits{Turns: 3}, "This thread has used 3 turns"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			write := func(n int) string {
				return fmt.Sprintf("- calls: [{name: write_file, arguments: {path: f%d.txt, content: \"a\\nb\\n\"}}]\n  tokens: {prompt: 100, answer: 10}\n", n)
			}
			b := newBench(t, head+write(1)+write(2)+"- say: \"Done. [TASK_COMPLETE]\"\n", map[string]string{"a.txt": ""})
			b.cfg.Shares = func(_ context.Context, own policy.Limits) ([]policy.Share, error) {
				all := policy.Limits{Turns: tt.used.Turns + own.Turns, Tokens: tt.used.Tokens + own.Tokens, Edits: tt.used.Edits + own.Edits, Lines: tt.used.Lines + own.Lines, Time: tt.used.Time + own.Time}
				return []policy.Share{{Of: "Nobody", Limits: policy.Limits{Turns: 1000}}, {Of: "This thread", Limits: tt.limits, Used: all}}, nil
			}
			now := time.Unix(1000, 0)
			b.cfg.Now = func() time.Time { now = now.Add(200 * time.Millisecond); return now }
			if out := b.must(session.StatusOutOfBudget); !strings.Contains(out.Reason, tt.want) {
				t.Fatalf("%q, want %q", out.Reason, tt.want)
			}
			b.append(session.NewEvent(session.TypeMessage, 0, session.Message{Text: "go on"}))
			b.must(session.StatusOutOfBudget) // words grant nothing
			b.append(session.NewEvent(session.TypeMessage, 0, session.Message{Budget: 10}))
			b.must(session.StatusDone)
			if n := len(b.states.published()); n != 3 {
				t.Errorf("%d files, want 3", n)
			}
		})
	}
}

// Mistakes of one answer are told together and count once: the model could not know
// better. Only answers in a row end a session.
func TestMistakesOfOneAnswer(t *testing.T) {
	wrong := strings.Repeat("{name: no_such_tool, arguments: {n: 1}}, ", 9)
	b := newBench(t, head+`
- calls: [`+wrong+`{name: read_file, arguments: {path: nowhere.txt}}]
- calls: [`+wrong+`{name: edit_file, arguments: {path: a.txt, old_string: one, new_string: two}}]
- say: "Done. [TASK_COMPLETE]"
`, map[string]string{"a.txt": "one\n"})
	b.must(session.StatusDone)
	b = newBench(t, head+strings.Repeat("- calls: [{name: no_such_tool, arguments: {n: 1}}]\n", 6), nil)
	if out := b.must(session.StatusFailed); out.Turns != 6 {
		t.Errorf("%d turns: %s", out.Turns, out.Reason)
	}
}

// Equal calls in one answer are all kept and all answered; a tool whose use is
// repetition has a limit of its own.
func TestEqualCallsInOneAnswer(t *testing.T) {
	two := "{name: run_terminal_command, arguments: {command: echo x >> a.txt}}"
	b := newBench(t, head+"- calls: ["+two+", "+two+"]\n- say: \"Done. [TASK_COMPLETE]\"\n", map[string]string{"a.txt": "1\n"})
	b.must(session.StatusDone)
	if got := b.states.published()["a.txt"]; got != "1\nx\nx\n" {
		t.Errorf("a.txt = %q, want both calls run", got)
	}
	scrolls := tools.New(tools.Sheet{Name: "browser_action", Kind: policy.Execute, Repeats: 20, Example: "{}"},
		func(context.Context, tools.Args) (policy.Action, error) {
			return policy.Action{Kind: policy.Execute}, nil
		},
		func(context.Context, tools.Args, tools.Progress) (tools.Result, error) { return tools.Result{}, nil })
	registry, err := tools.NewRegistry(scrolls)
	if err != nil {
		t.Fatal(err)
	}
	r := &callRunner{journal: newJournal(&Agent{tools: registry}, b.log), gate: &gate{tools: &toolset{Registry: registry}}}
	for i := range 25 {
		c := session.Call{ID: fmt.Sprint(i), Name: "browser_action", Arguments: []byte(`{"action":"scroll_down"}`)}
		r.habits.AddAnswer(&session.Answer{Calls: []session.Call{c}})
		if _, stop := r.habits.Repeated(c.ID, r.gate.tools.Spec(c.Name).Repeats); stop != (i+1 >= 20) {
			t.Fatalf("call %d of a browser: stopped %t", i+1, stop)
		}
	}
}
