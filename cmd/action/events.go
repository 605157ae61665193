package action

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/bot/trigger"
)

// runEvents returns the events that a workflow may have: those with a text are read like a
// server's deliveries, and bring a task with the input task if it is no comment; a failed check
// may bring one; the others do nothing else.
func runEvents() (names []string) {
	for _, k := range ghapp.EventKinds() {
		if k.Use != ghapp.States {
			names = append(names, k.Name)
		}
	}
	return names
}

// ErrTime means that a run ended because the time of its job is nearly over.
var ErrTime = errors.New("the time of the job is nearly over")

// Ignored is the reason why an event has no effect. It is no failure.
type Ignored string

// Error implements error.
func (i Ignored) Error() string { return string(i) }

// Task is a run's task without a comment.
type Task struct {
	trigger.Task

	Issue string // key of the issue for a task without a thread: one per run, or per schedule
}

// Task returns the task of the event itself, nil if it brings none. The error is an
// [Ignored] if there is nothing to do. getenv reads the runner's environment.
func (r Run) Task(getenv func(string) string) (*Task, error) {
	ev, err := ghapp.ParseEvent(r.Event, r.Payload)
	if err != nil {
		return nil, err
	}
	t := &Task{
		Task: trigger.Task{
			Thread: ev.Thread.Number,
			By:     ev.Sender,
			Why:    ev.Sender.Login + " started it by the event " + r.Event,
		},
	}
	use := ghapp.UseOf(r.Event)
	switch {
	case r.Event == "schedule":
		t.Issue = "schedule-" + ghapp.Digest(getenv("GITHUB_WORKFLOW_REF"), getenv("GITHUB_JOB"), ev.Schedule)
		id, _ := strconv.ParseInt(getenv("GITHUB_ACTOR_ID"), 10, 64) // 0 is no account and has no rights
		t.By = ghapp.User{ID: id, Login: getenv("GITHUB_ACTOR"), Bot: strings.HasSuffix(getenv("GITHUB_ACTOR"), "[bot]")}
		t.Why = "the clock of a workflow started it"
	case use == ghapp.Starts:
		said, err := trigger.Dispatched(ev)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", r.Event, err)
		}
		said.Why, t.Issue, t.Task = t.Why, fmt.Sprintf("run-%d", r.ID), said
	case use == ghapp.Checks:
		if t.Thread, err = failedOn(r.Event, ev.Check); err != nil {
			return nil, err
		}
		t.Why = "the check " + ev.Check.Name + " failed"
	case t.Thread == 0 || ev.Comment.ID != 0 || ev.Review.ID != 0 || r.Inputs.Task == "":
		return nil, nil
	}
	t.Text, t.Mode = cmp.Or(t.Text, r.Inputs.Task), cmp.Or(t.Mode, r.Inputs.Mode)
	if r.Inputs.Issue != "" && (t.Thread == 0 || use != ghapp.Starts) {
		if err := t.In(r.Inputs.Issue); err != nil {
			return nil, err
		}
	}
	switch err := t.Check(); {
	case t.Text == "" && use == ghapp.Checks:
		return nil, Ignored(
			r.Event + ": the check is not of a pull request that the agent opened. For others, set the input task, such as: fix the failing check",
		)
	case t.Text == "":
		or := map[bool]string{true: "write schedules into .github/agent.yml of the default branch", false: "give the event one: an input, or a key of client_payload, with the name task"}[r.Event == "schedule"]
		return nil, fmt.Errorf("%s: there is no task. Set the input task of the action, or %s", r.Event, or)
	case err != nil:
		return nil, err
	}
	return t, nil
}

// failedOn returns the pull request of a failed check.
func failedOn(event string, c ghapp.EventCheck) (int, error) {
	switch {
	case c.Conclusion != "failure" && c.Conclusion != "timed_out":
		return 0, Ignored(
			fmt.Sprintf(
				"%s: the check has not failed (%s), so there is nothing to fix.",
				event,
				cmp.Or(c.Conclusion, c.Status, "unknown"),
			),
		)
	case len(c.Pulls) == 0:
		return 0, Ignored(event + ": the check is not about a pull request of this repository.")
	}
	return c.Pulls[0], nil
}

// issueIntro returns the first paragraph of a task's issue: the user and the cause.
func (r Run) issueIntro(t *Task) string {
	if r.Event == "schedule" {
		return "A scheduled workflow starts this, each time in this issue while it is open. The requester is the last editor of the schedule: `" + t.By.Login + "`."
	}
	return "`" + t.By.Login + "` started this by [a run of a workflow](" + r.Server + "/" + r.Repo.Repository() + "/actions/runs/" + strconv.FormatInt(r.ID, 10) + ")."
}

// Begin returns the event of a task in its thread, see [trigger.Task.Event]. A task
// without a thread gets an issue. bots lists the bots that may start tasks.
func (r Run) Begin(ctx context.Context, c *ghapp.Client, t *Task, bots []int64) ([]byte, error) {
	if t.By.Bot && !slices.Contains(bots, t.By.ID) { //control:bots-start-nothing
		return nil, Ignored(
			fmt.Sprintf("%s: it was started by %s, a bot that is not on the list approvals.bots.", r.Event, t.By.Login),
		)
	}
	is, err := r.thread(ctx, c, t)
	if err != nil {
		return nil, err
	}
	return t.Event(is, r.Payload, r.taskName(t))
}

// taskName identifies a task within its run, which may have several. A restarted run gets
// the same names.
func (r Run) taskName(t *Task) string {
	return fmt.Sprintf("run-%d-%s", r.ID, ghapp.Digest(t.Text, t.Mode, t.Model, r.Inputs.Model)) //control:tasks-of-a-run
}

// thread returns the issue or pull request of a task. A restarted run finds the issue
// that it opened; a schedule finds its open issue.
func (r Run) thread(ctx context.Context, c *ghapp.Client, t *Task) (ghapp.Issue, error) {
	at := r.Repo
	if at.Number = t.Thread; at.Number != 0 {
		return c.Issue(ctx, at)
	}
	if err := t.MayOpen(ctx, c); errors.Is(err, trigger.ErrNoRights) {
		return ghapp.Issue{}, Ignored(fmt.Sprintf("%s: it was started by %s, an account that %v.", r.Event, t.By.Login, err))
	} else if err != nil {
		return ghapp.Issue{}, err
	}
	for n := 1; ; n++ {
		w := t.Task.Issue(r.Repo, fmt.Sprintf("%s-%d", t.Issue, n), r.issueIntro(t))
		ref, known, err := c.Find(ctx, w) //control:issue-of-a-run-once
		if err == nil && !known {
			ref, err = c.Perform(ctx, w)
		}
		if err != nil {
			return ghapp.Issue{}, err
		}
		at.Number = ref.Number
		is, err := c.Issue(ctx, at)
		if err != nil || is.State == "open" || r.Event != "schedule" {
			return is, err
		}
	}
}
