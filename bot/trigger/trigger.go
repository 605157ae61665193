// Package trigger decides which events start a task without a command. It is shared by
// the server, workflow runs and handrail simulate.
//
//	trigger.go   pure decisions: which events start a task under a configuration
//	task.go      the task, and an issue for a task without a thread
//	hear.go      the watcher that gathers the facts
package trigger

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/policy"
)

// Key returns the key of an event that may start a task, and the number of its thread, 0
// for a new issue. It reports false for an event that starts none under any
// configuration.
func Key(ev ghapp.Event) (key string, number int, ok bool) {
	n := ev.Thread.Number
	switch what := ev.Kind + " " + ev.Action; {
	case dispatched(ev):
		t, err := Dispatched(ev)
		return "", max(t.Thread, 0), err != nil || t.Text != ""
	case n == 0 || ev.State == "closed" || ev.Sender.ID == 0:
		return "", 0, false
	case ev.Action == "labeled" && ev.Label != "",
		ev.Action == "assigned" && ev.Assignee != "",
		what == "pull_request review_requested" && ev.Requested != "":
		if ev.Kind != "issues" && ev.Kind != "pull_request" {
			return "", 0, false
		}
		key = strings.Join(
			[]string{ev.Action, ev.Label, ev.Assignee, ev.Requested, ev.Updated.UTC().Format(time.RFC3339)},
			"-",
		)
	case what == "pull_request opened":
		key = ev.Action
	case what == "pull_request synchronize":
		key = ev.Action + "-" + ev.After
	case what == "pull_request ready_for_review":
		key = ev.Action + "-" + ev.Updated.UTC().Format(time.RFC3339)
	default:
		return "", 0, false
	}
	return fmt.Sprintf("%s%d-%d-%s", keys, ev.RepoID, n, key), n, true
}

// keys is the prefix of the keys of events that may start a task.
const keys = "trigger-"

// IsKey reports whether key has the form of [Key].
func IsKey(key string) bool { return strings.HasPrefix(key, keys) }

// dispatched reports whether an event is a dispatch, which carries a task.
func dispatched(ev ghapp.Event) bool {
	return ev.Thread.Number == 0 && (ev.Kind == "repository_dispatch" || ev.Kind == "workflow_dispatch")
}

// decide returns the task of an event under a configuration, or why it has none.
func decide(ev ghapp.Event, t policy.Triggers) (task *Task, why string) {
	task = &Task{By: ev.Sender, Thread: ev.Thread.Number}
	who, what := ev.Sender.Login, "issue"
	if ev.IsPull {
		what = "pull request"
	}
	switch {
	case dispatched(ev):
		if t.Dispatch == nil || !*t.Dispatch { //control:triggers-are-off
			return nil, "dispatches bring tasks only where triggers.dispatch is on"
		}
		d, err := Dispatched(ev)
		if err == nil {
			err = d.Check()
		}
		if err != nil {
			return nil, ev.Kind + ": " + err.Error()
		}
		d.Why = who + " sent a " + ev.Kind
		return &d, ""
	case ev.Action == "labeled":
		mode, ok := labelled(t.Labels, ev.Label)
		if !ok {
			return nil, fmt.Sprintf("the label %q starts nothing: triggers.labels does not name it", ev.Label)
		}
		task.Mode, task.Why = mode, who+" added the label "+ev.Label
	case ev.Action == "assigned":
		if t.Assignee == "" || !strings.EqualFold(t.Assignee, ev.Assignee) {
			return nil, fmt.Sprintf("%s is not the account of triggers.assignee", ev.Assignee)
		}
		task.Why = who + " assigned this to " + ev.Assignee
	case ev.Action == "review_requested":
		if t.Assignee == "" || !strings.EqualFold(t.Assignee, ev.Requested) {
			return nil, fmt.Sprintf("%s is not the account of triggers.assignee", ev.Requested)
		}
		task.Mode, task.Why = "review", who+" asked "+ev.Requested+" to review this"
	case !slices.Contains(t.Review, ev.Action):
		return nil, fmt.Sprintf(
			"a pull request is not reviewed when it is %s: triggers.review does not name that",
			describeAction(ev.Action),
		)
	case ev.Pull.Draft && slices.Contains(t.Review, "ready_for_review") && !slices.Contains(t.Review, "draft"):
		return nil, "a draft is reviewed when it is ready"
	default:
		task.Mode, task.Why = "review", map[string]string{
			"opened": who + " opened this pull request", "synchronize": who + " pushed to this pull request", "ready_for_review": who + " marked this as ready for review",
		}[ev.Action]
	}
	task.Text = "Do what this " + what + " asks for."
	if task.Mode == "review" || task.Mode == "security" {
		task.Text = "Review this " + what + "."
	}
	return task, ""
}

// labelled returns the mode of a label. GitHub ignores case in label names.
func labelled(labels map[string]string, name string) (mode string, ok bool) {
	for l, mode := range labels {
		if strings.EqualFold(l, name) {
			return mode, true
		}
	}
	return "", false
}

// describeAction describes an action on a pull request.
func describeAction(action string) string {
	return map[string]string{"synchronize": "pushed to", "ready_for_review": "ready for review"}[action] + map[bool]string{true: action}[action == "opened"]
}

// byBot reports whether the bot itself caused an event, if it uses the token of the
// account self: changes of its own post, and its own pushes.
func byBot(ev ghapp.Event, self string, ownPost bool) bool {
	return strings.EqualFold(ev.Sender.Login, self) && (ownPost || ev.Action == "synchronize" || ev.Action == "opened" || ev.Action == "ready_for_review") //control:own-deeds-start-nothing
}
