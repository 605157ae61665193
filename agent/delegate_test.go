package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/agent/tools"
	"github.com/handrail-bot/handrail/policy"
	"github.com/handrail-bot/handrail/policy/longtest"
)

// delegates is a session in code mode whose model gives parts of its work away.
func delegates(t *testing.T, turns string) *bench {
	t.Helper()
	b := newBench(t, strings.Replace(head, "32768", "131072", 1)+turns, map[string]string{"a.txt": "one\n", "b.txt": "two\n"})
	b.task.Text = "put what b.txt says into a.txt"
	return b
}

// gives is a turn of the model with sub-tasks.
func gives(tasks ...string) string {
	return "- calls: [" + strings.Join(tasks, ", ") + "]\n"
}

func task(text, more string) string {
	return fmt.Sprintf("{name: new_task, arguments: {task: %q%s}}", text, more)
}

const (
	looksAt = "- when: {last_contains: [\"a part of a larger task\", \"what does b.txt say\"]}\n  calls: [{name: read_file, arguments: {path: b.txt}}]\n"
	reports = "- when: {tool_result_contains: [\"two\"]}\n  say: \"It says two. [TASK_COMPLETE]\"\n"
	uses    = "- when: {tool_result_contains: [\"The sub-task is done, after 2 turns.\", \"It says two.\"]}\n  calls: [{name: edit_file, arguments: {path: a.txt, old_string: one, new_string: two}}]\n"
	ends    = "- say: \"Done. [TASK_COMPLETE]\"\n"
	why     = "what does b.txt say?"
)

// A sub-task has a conversation of its own; its last words are one result of the session,
// and what it used is the session's.
func TestSubTask(t *testing.T) {
	t.Parallel()
	b := delegates(t, gives(task(why, ""))+looksAt+reports+uses+ends)
	out := b.must(session.StatusDone)
	if got := b.states.published()["a.txt"]; got != "two\n" || out.Turns != 5 {
		t.Errorf("a.txt = %q after %d turns, want 5", got, out.Turns)
	}
	reqs := b.model.Requests()
	if inner := reqs[1].Messages; len(inner) != 2 || strings.Contains(fmt.Sprint(inner), "into a.txt") {
		t.Errorf("the sub-task begins with %+v", inner)
	}
	if last := fmt.Sprint(reqs[4].Messages); strings.Contains(last, "a part of a larger task") || strings.Contains(last, "1 | two") {
		t.Errorf("the session was told what its sub-task was told: %s", last)
	}
	for _, name := range []string{"new_task", "switch_mode", "ask_followup_question"} {
		if strings.Contains(fmt.Sprint(reqs[1].Tools), name) {
			t.Errorf("a sub-task is offered %s", name)
		}
	}
	v := b.fold()
	if v.Turns != 3 || v.Inside != 2 || len(v.Open()) != 0 {
		t.Errorf("%d turns, %d inside", v.Turns, v.Inside)
	}
	var steps []string
	for _, m := range v.Timeline {
		if run, ok := m.(*session.ToolRun); ok {
			steps = append(steps, fmt.Sprint(run.Name, run.Inside))
		}
	}
	if got := fmt.Sprint(steps); got != "[new_taskfalse read_filetrue edit_filefalse]" {
		t.Errorf("the steps are %s", got)
	}
}

// What a sub-task changes is kept as it goes, and reaches the branch with the session.
func TestSubTaskWrites(t *testing.T) {
	t.Parallel()
	b := delegates(t, gives(task("write c.txt", ", mode: code"))+
		"- calls: [{name: write_file, arguments: {path: c.txt, content: \"3\\n\"}}]\n- say: \"Written. [TASK_COMPLETE]\"\n"+
		"- when: {tool_result_contains: [\"It changed c.txt (+1 −0)\", \"Written.\"], lacks: [\"no file\"]}\n  say: \"Done. [TASK_COMPLETE]\"\n")
	b.must(session.StatusDone)
	if got := b.states.published()["c.txt"]; got != "3\n" {
		t.Errorf("c.txt = %q", got)
	}
	if v := b.fold(); v.Edits != 1 || len(v.Files) != 1 {
		t.Errorf("%d edits, files %v", v.Edits, v.Files)
	}
}

// Where the process dies, the sub-task goes on where it was: nothing is asked of the model
// twice, and nothing is done twice.
func TestSubTaskSurvives(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	const inside, outside = `contains: ["a part of a larger task"]`, `lacks: ["a part of a larger task"]`
	turns := fmt.Sprintf(`
- {repeat: true, when: {turn: 0, %[2]s}, calls: [%[3]s]}
- {repeat: true, when: {turn: 0, %[1]s}, calls: [{name: read_file, arguments: {path: b.txt}}]}
- {repeat: true, when: {turn: 1, %[1]s, tool_result_contains: [two]}, say: "It says two. [TASK_COMPLETE]"}
- {repeat: true, when: {turn: 1, %[2]s, tool_result_contains: ["after 2 turns", "It says two."]}, calls: [{name: edit_file, arguments: {path: a.txt, old_string: one, new_string: two}}]}
- {repeat: true, optional: true, when: {tool_result_contains: ["did not finish"], %[2]s}, calls: [{name: edit_file, arguments: {path: a.txt, old_string: one, new_string: two}}]}
- {repeat: true, when: {%[2]s}, say: "Done. [TASK_COMPLETE]"}
`, inside, outside, task(why, ""))
	script := "model: {name: m, tools: true, context: 131072}\nselect: by-conditions\nturns:" + turns
	files := map[string]string{"a.txt": "one\n", "b.txt": "two\n"}
	whole := newBench(t, script, files)
	whole.must(session.StatusDone)
	n := len(whole.all())
	for at := 1; at < n; at++ {
		b := newBench(t, script, files)
		dies := &dying{Log: b.log, left: at}
		if _, err := b.runOn(t.Context(), dies); !errors.Is(err, errDied) {
			t.Fatalf("after %d events: %v", at, err)
		}
		out := b.must(session.StatusDone)
		if got := b.states.published()["a.txt"]; got != "two\n" || out.Turns < 5 || out.Turns > 6 {
			t.Errorf("died after %d events: a.txt = %q, %d turns", at, got, out.Turns)
		}
	}
}

// all are the events of the log.
func (b *bench) all() []session.Event {
	b.t.Helper()
	all, err := b.log.Events(context.Background(), 0)
	if err != nil {
		b.t.Fatal(err)
	}
	return all
}

// fold is what the log says.
func (b *bench) fold() *session.State {
	b.t.Helper()
	v, err := session.Fold(b.all())
	if err != nil {
		b.t.Fatal(err)
	}
	return v
}

// dying is a log of a process that dies after so many events.
type dying struct {
	session.Log
	left int
}

func (d *dying) Append(ctx context.Context, events ...*session.Event) error {
	if d.left -= len(events); d.left < 0 {
		return errDied
	}
	return d.Log.Append(ctx, events...)
}

// What needs a person in a sub-task parks the session, and goes on there with the answer.
func TestSubTaskAsks(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	for _, verdict := range []policy.ApprovalState{policy.Approved, policy.Denied} {
		said := map[policy.ApprovalState]string{policy.Approved: "Exit code 0", policy.Denied: "not that"}[verdict]
		b := delegates(t, gives(task("clean up", ", mode: code"))+
			"- calls: [{name: run_terminal_command, arguments: {command: \"rm -rf /tmp/not/there/*\"}}]\n"+
			"- when: {tool_result_contains: [\""+said+"\"]}\n  say: \"Tried. [TASK_COMPLETE]\"\n"+
			"- when: {tool_result_contains: [\"Tried.\"]}\n  calls: [{name: edit_file, arguments: {path: a.txt, old_string: one, new_string: two}}]\n"+ends)
		b.must(session.StatusAwaitingApproval)
		open := b.fold().Open()
		if len(open) != 1 || open[0].Display != "rm -rf /tmp/not/there/*" {
			t.Fatalf("people are asked %+v", open)
		}
		if !slices.Contains(open[0].Reasons, `a sub-task asks: "clean up"`) {
			t.Errorf("people are asked because %q", open[0].Reasons)
		}
		b.must(session.StatusAwaitingApproval) // there was no answer
		b.answer(verdict, "not that")
		b.must(session.StatusDone)
		if found, err := session.Violations(b.all()); err != nil || len(found) > 0 {
			t.Errorf("%v, %v", found, err)
		}
	}
}

// A sub-task has no more rights than the session, whatever mode it names.
func TestSubTaskRights(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	b := delegates(t, gives(task("write c.txt", ", mode: code"))+"- when: {tool_result_contains: [\"allows more than\"]}\n"+
		"  say: \"No. [TASK_COMPLETE]\"\n")
	b.task.Mode = "ask"
	b.must(session.StatusAnswered)

	b = delegates(t, gives(task("look", ""))+
		"- calls: [{name: write_file, arguments: {path: c.txt, content: x}}, {name: run_terminal_command, arguments: {command: ls}}, {name: new_task, arguments: {task: x}}]\n"+
		"- when: {tool_result_contains: [\"mode \\\"explore\\\" allows\", \"There is no tool \\\"new_task\\\"\"]}\n  say: \"No. [TASK_COMPLETE]\"\n"+
		"- when: {tool_result_contains: [\"No.\"]}\n  say: \"No. [TASK_COMPLETE]\"\n")
	b.must(session.StatusAnswered)

	b = delegates(t, gives(task("four", ", mode: architect"))+
		"- calls: [{name: write_file, arguments: {path: c1, content: x}}, {name: write_file, arguments: {path: c2, content: x}}]\n- say: \"Two. [TASK_COMPLETE]\"\n"+
		gives(task("more", ", mode: architect"))+
		"- calls: [{name: write_file, arguments: {path: c3, content: x}}, {name: write_file, arguments: {path: c4, content: x}}]\n"+
		"- when: {tool_result_contains: [\"allows 3 edits and 3 were made\"]}\n  say: \"One. [TASK_COMPLETE]\"\n"+ends)
	b.task.Mode = "architect"
	b.must(session.StatusDone)
	if got := b.states.published(); got["c3"] == "" || got["c4"] != "" {
		t.Errorf("the branch has %v", got)
	}
}

// The limit of a sub-task ends it; the session's parks the session, which goes on inside
// when more is granted.
func TestSubTaskBudget(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	b := delegates(t, gives(task(why, ", turns: 1"))+looksAt+
		"- when: {tool_result_contains: [\"did not come to its end, after 1 turn\", \"The one turn is used\"]}\n  calls: [{name: edit_file, arguments: {path: a.txt, old_string: one, new_string: two}}]\n"+ends)
	b.must(session.StatusDone)

	b = delegates(t, gives(task(why, ""))+looksAt+reports+uses+ends)
	b.cfg.Limits.Turns = 2
	out := b.must(session.StatusOutOfBudget)
	if !strings.Contains(out.Reason, "All 2 turns") || len(b.model.Requests()) != 2 {
		t.Errorf("%s after %d requests", out.Reason, len(b.model.Requests()))
	}
	b.append(session.NewEvent(session.TypeMessage, 0, session.Message{Budget: 10}))
	b.must(session.StatusDone)
}

// Sub-tasks that only read run together, each with its own conversation.
func TestSubTasksTogether(t *testing.T) {
	t.Parallel()
	b := delegates(t, gives(task("first", ""), task("second", ""), task("third", ""))+
		"- {say: \"Seen. [TASK_COMPLETE]\"}\n- {say: \"Seen. [TASK_COMPLETE]\"}\n- {say: \"Seen. [TASK_COMPLETE]\"}\n"+
		"- calls: [{name: edit_file, arguments: {path: a.txt, old_string: one, new_string: two}}]\n"+ends)
	b.must(session.StatusDone)
	inside := map[string]int{}
	for _, e := range b.all() {
		if _, id := e.Unwrap(); id != "" {
			inside[id]++
		}
	}
	if len(inside) != 3 {
		t.Errorf("events of sub-tasks: %v", inside)
	}
	if n := strings.Count(fmt.Sprint(b.model.Requests()[4].Messages), "The sub-task is done, after 1 turn."); n != 3 {
		t.Errorf("the session is told of %d of 3", n)
	}
}

// A stop ends a sub-task with the session.
func TestSubTaskStops(t *testing.T) {
	t.Parallel()
	b := delegates(t, gives(task(why, ""))+"- {say: x, optional: true, misbehave: {stall: true}}\n")
	ctx, cancel := context.WithCancel(t.Context())
	b.cfg.OnEvent = func(e session.Event) {
		if inner, id := e.Unwrap(); id != "" && inner.Type == session.TypePrompt {
			cancel()
		}
	}
	out, err := b.run(ctx)
	if err != nil || out.Status != session.StatusInterrupted {
		t.Errorf("%+v, %v", out, err)
	}
}

// The end of a running step reaches the steps that run in sub-tasks, all of them, and each sub-task
// goes on.
func TestSkipReachesSubTasks(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	const inside, outside = `contains: ["a part of a larger task"]`, `lacks: ["a part of a larger task"]`
	turns := fmt.Sprintf(`
- {when: {turn: 0, %[2]s}, calls: [%[3]s, %[4]s]}
- {repeat: true, when: {turn: 0, %[1]s}, calls: [{name: wait_here, arguments: {path: b.txt}}]}
- {repeat: true, when: {turn: 1, %[1]s, tool_result_contains: ["the user ended this call"]}, say: "I went on. [TASK_COMPLETE]"}
- {repeat: true, when: {%[2]s}, say: "It says two. [TASK_COMPLETE]"}
`, inside, outside, task("wait once", ", mode: explore"), task("wait twice", ", mode: explore"))
	b := newBench(t, "model: {name: m, tools: true, context: 131072}\nselect: by-conditions\nturns:"+turns, map[string]string{"b.txt": "two\n"})
	b.task.Mode, b.task.Text = "ask", why
	begun, end := make(chan struct{}, 2), make(chan func(), 64)
	b.cfg.OnCall = func(f func()) {
		if f != nil {
			end <- f
		}
	}
	sheet := tools.Sheet{Name: "wait_here", Kind: policy.Read, Doc: "Waits.", Params: []tools.Param{tools.PathParam("File.", true)}}
	b.more = []tools.Tool{tools.New(sheet, func(context.Context, tools.Args) (policy.Action, error) {
		return policy.Action{Kind: policy.Read, Paths: []string{"b.txt"}}, nil
	}, func(ctx context.Context, _ tools.Args, _ tools.Progress) (tools.Result, error) {
		begun <- struct{}{}
		select {
		case <-ctx.Done():
			return tools.Result{}, ctx.Err()
		case <-time.After(20 * time.Second):
			return tools.Result{Content: "the step was not ended"}, nil
		}
	})}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		<-begun
		<-begun
		last := <-end
		for more := true; more; {
			select {
			case last = <-end:
			default:
				more = false
			}
		}
		last()
	}()
	b.must(session.StatusAnswered)
	<-ended
	n := 0
	for _, said := range b.results() {
		if strings.Contains(said, "I went on.") {
			n++
		}
	}
	if n != 2 {
		t.Errorf("%d sub-tasks went on: %q", n, b.results())
	}
}
