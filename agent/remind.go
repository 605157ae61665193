package agent

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/handrail-bot/handrail/agent/compact"
	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/policy"
)

// staleTodo is the number of turns after which the model is reminded of open todo items.
const staleTodo = 5

// Numbers of turns without progress after which the model is told, and the session ends.
const (
	staleReminder = 5
	maxStale      = 10
)

// reminder reminds the model of limits and open items.
type reminder struct {
	*journal
	meter    *meter
	requests *requests
	window   *window
}

// remind adds the due reminders to the last result of a turn.
func (r *reminder) remind(ctx context.Context, c *session.CallState) error {
	if c != r.Last[len(r.Last)-1] || c.Reminder != "" {
		return nil
	}
	say := r.due()
	if len(say) == 0 {
		return nil
	}
	note := session.Note{Kind: session.NoteReminder, Call: c.ID, Text: "[Reminder: " + strings.Join(say, " ") + "]"}
	return r.record(ctx, session.NewEvent(session.TypeNote, c.Turn, note))
}

func (r *reminder) due() []string {
	var say []string
	switch left := r.meter.turnsLeft(); left {
	case 1:
		say = append(say, "Only one turn is left. Finish now: say what is done and what is missing.")
	case 3, 5:
		say = append(say, fmt.Sprintf("Only %d turns are left. Bring the work to an end.", left))
	}
	if r.habits.Stale() == staleReminder {
		say = append(
			say,
			fmt.Sprintf(
				"In %d turns you saw nothing new and changed nothing: you go in a circle. Do what you have not tried yet: make the change now with what you know, or finish and say what is missing.",
				staleReminder,
			),
		)
	}
	if left := r.mode.EditLimit - r.modeEdits(); r.mode.EditLimit != policy.NoEditLimit && r.editedNow() {
		switch {
		case left == 1:
			say = append(say, fmt.Sprintf("One edit is left in %s mode.", r.mode.Name))
		case left <= 0:
			say = append(
				say,
				fmt.Sprintf("All %d edits of %s mode are used. Finish with what there is.", r.mode.EditLimit, r.mode.Name),
			)
		}
	}
	if open := openTodo(r.Todo); open > 0 && r.Turns-r.todoTurn >= staleTodo && (r.Turns-r.todoTurn)%staleTodo == 0 {
		say = append(say, fmt.Sprintf("Your todo list has %s. Keep it current with update_todo_list.", items(open)))
	}
	if n := len(r.talk.entries); n > 3 && r.nearlyFull() {
		say = append(
			say,
			"The conversation is long and will soon be summarized. Write down what must not be lost in lines that begin with \"Decision:\".",
		)
	}
	return append(say, r.requests.tools.News()...)
}

func items(n int) string {
	if n == 1 {
		return "one open item"
	}
	return fmt.Sprintf("%d open items", n)
}

// editedNow reports whether a call of this turn changed files.
func (r *reminder) editedNow() bool {
	return slices.ContainsFunc(r.Last, func(c *session.CallState) bool {
		return c.Counted || c.Result != nil && c.Result.OK && len(c.Result.Changes) > 0
	})
}

// nearlyFull reports whether the prompt fills over 85 % of a window that cannot grow.
func (r *reminder) nearlyFull() bool {
	if r.window.canGrow() {
		return false
	}
	n := r.window.tokens(compact.Size(r.requests.build()))
	return n > r.window.room()*85/100 && n <= r.window.room()
}

func openTodo(list []session.Todo) int {
	n := 0
	for _, t := range list {
		if t.Status != session.TodoDone {
			n++
		}
	}
	return n
}
