package action

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/policy"
	"github.com/handrail-bot/handrail/policy/untrusted"
)

// heard are the events that are read as a server reads its deliveries. With the input
// task those without a comment bring one.
var heard = []string{"issue_comment", "issues", "pull_request", "pull_request_target", "pull_request_review", "pull_request_review_comment"}

// begun are the events that are nothing but the beginning of a task.
var begun = []string{"schedule", "workflow_dispatch", "repository_dispatch"}

// checks are the events of checks. Those of a check that failed may bring a task.
var checks = []string{"check_run", "check_suite", "workflow_run"}

// ErrTime is why a run ends when the time of its job is nearly over.
var ErrTime = errors.New("the time of the job is nearly over")

// Ignored is why an event comes to nothing. It is no failure.
type Ignored string

// Error implements error.
func (i Ignored) Error() string { return string(i) }

// Task is what a run is to do without a comment that says so. Started by somebody, it
// is theirs, as if they had written it in the thread.
type Task struct {
	Text, Mode, Model string

	Thread int        // number of the issue or pull request to work in, 0 for an issue of its own
	Issue  string     // key of that issue: one for each run, or for each schedule
	By     ghapp.User // who started it
}

// word is a mode or the name of a model: it stands in one line of a command.
var word = regexp.MustCompile(`^[\w.:/@+-]*$`)

// Task returns the task that the event brings by itself, nil for none. An [Ignored] says
// why it brings none that can be worked on. Getenv is the environment of the runner.
func (r Run) Task(getenv func(string) string) (*Task, error) {
	ev, err := ghapp.ParseEvent(r.Event, r.Payload)
	if err != nil {
		return nil, err
	}
	t := &Task{Text: r.Inputs.Task, Mode: r.Inputs.Mode, Model: "", Thread: ev.Thread.Number, By: ev.Sender}
	number := r.Inputs.Issue
	switch {
	case r.Event == "schedule":
		t.Issue = "schedule-" + ghapp.Digest(getenv("GITHUB_WORKFLOW_REF"), getenv("GITHUB_JOB"), ev.Schedule)
		id, _ := strconv.ParseInt(getenv("GITHUB_ACTOR_ID"), 10, 64) // 0 is nobody, who may do nothing
		t.By = ghapp.User{ID: id, Login: getenv("GITHUB_ACTOR"), Bot: strings.HasSuffix(getenv("GITHUB_ACTOR"), "[bot]")}
	case slices.Contains(begun, r.Event):
		t.Issue = fmt.Sprintf("run-%d", r.ID)
		if err := t.take(ev.Payload, &number); err != nil {
			return nil, fmt.Errorf("%s: %w", r.Event, err)
		}
	case slices.Contains(checks, r.Event):
		if t.Thread, err = failedOn(r.Event, ev.Check); err != nil {
			return nil, err
		}
	case t.Thread == 0 || ev.Comment.ID != 0 || ev.Review.ID != 0 || t.Text == "":
		return nil, nil
	}
	if err := t.complete(r.Event, number); err != nil {
		return nil, err
	}
	return t, nil
}

// complete checks a task. Number is the thread that it names, "" for none.
func (t *Task) complete(event, number string) error {
	if t.Text = strings.TrimSpace(t.Text); t.Text == "" && slices.Contains(checks, event) {
		return Ignored(event + ": nothing says what to do about the check. Set the input task, such as: mend what fails")
	} else if t.Text == "" {
		return fmt.Errorf("%s: there is no task. Set the input task of the action%s", event, map[bool]string{true: ", or give the event one: an input, or a key of client_payload, with the name task"}[event != "schedule"])
	}
	if number != "" {
		n, err := strconv.Atoi(strings.TrimPrefix(number, "#"))
		if err != nil || n <= 0 {
			return fmt.Errorf("issue: %q is not the number of an issue or pull request", number)
		}
		t.Thread = n
	}
	switch {
	case !word.MatchString(t.Mode):
		return fmt.Errorf("mode: %q is not a mode, such as code, ask or review", t.Mode)
	case !word.MatchString(t.Model):
		return fmt.Errorf("model: %q is not the name of a model", t.Model)
	}
	return nil
}

// take takes in what the event itself says.
func (t *Task) take(payload json.RawMessage, number *string) error {
	var said struct {
		Task, Mode, Model string
		Issue             any
	}
	if len(payload) > 0 {
		if err := json.Unmarshal(payload, &said); err != nil {
			return errors.New("task, mode and model are to be text, and issue a number")
		}
	}
	t.Text, t.Mode, t.Model = cmp.Or(said.Task, t.Text), cmp.Or(said.Mode, t.Mode), said.Model
	if said.Issue != nil && said.Issue != "" {
		*number = fmt.Sprint(said.Issue)
	}
	return nil
}

// failedOn returns the pull request of a check that failed.
func failedOn(event string, c ghapp.EventCheck) (int, error) {
	switch {
	case c.Conclusion != "failure" && c.Conclusion != "timed_out":
		return 0, Ignored(fmt.Sprintf("%s: the check has not failed (%s), so there is nothing to mend.", event, cmp.Or(c.Conclusion, c.Status, "unknown")))
	case len(c.Pulls) == 0:
		return 0, Ignored(event + ": the check is not about a pull request of this repository.")
	}
	return c.Pulls[0], nil
}

// opens returns the title and the text of the issue for a task that has no thread.
func (r Run) opens(t *Task) (title, body string) {
	first, _, _ := strings.Cut(t.Text, "\n")
	started := "`" + t.By.Login + "` started this by [a run of a workflow](" + r.Server + "/" + r.Repo.Repository() + "/actions/runs/" + strconv.FormatInt(r.ID, 10) + ")."
	if r.Event == "schedule" {
		started = "A workflow starts this by the clock, each time in this issue while it is open. Who last changed the time of the schedule is who asks: `" + t.By.Login + "`."
	}
	return untrusted.Title(first), started + "\n\n> " + strings.ReplaceAll(untrusted.Message(t.Text), "\n", "\n> ")
}

// Starts is the event that [Run.Begin] returns.
const Starts = "workflow_dispatch"

// Begin returns the event of a task in its thread, as if GitHub had told it. A task
// without a thread gets an issue. Bots are those that are let in.
func (r Run) Begin(ctx context.Context, c *ghapp.Client, t *Task, bots []int64) ([]byte, error) {
	if t.By.Bot && !slices.Contains(bots, t.By.ID) { //control:bots-start-nothing
		return nil, Ignored(fmt.Sprintf("%s: it was started by %s, which is no person, and not on the list approvals.bots.", r.Event, t.By.Login))
	}
	is, err := r.thread(ctx, c, t)
	if err != nil {
		return nil, err
	}
	var was struct{ Repository json.RawMessage }
	if err := json.Unmarshal(r.Payload, &was); err != nil {
		return nil, err
	}
	type m = map[string]any
	issue := m{"number": is.Ref.Number, "title": is.Title, "body": is.Body, "state": is.State, "updated_at": is.Updated, "user": m{"id": is.AuthorID, "login": is.Author}}
	if is.IsPull {
		issue["pull_request"] = m{"url": is.URL}
	}
	by := m{"id": t.By.ID, "login": t.By.Login, "type": map[bool]string{true: "Bot", false: "User"}[t.By.Bot]}
	return json.Marshal(m{
		"action": fmt.Sprintf("run-%d", r.ID), "inputs": m{"task": t.Text, "mode": t.Mode, "model": t.Model}, "issue": issue, "repository": was.Repository, "sender": by,
	})
}

// thread returns the issue or pull request of a task. A run that is started again finds
// the issue that it opened, a schedule the one that is open.
func (r Run) thread(ctx context.Context, c *ghapp.Client, t *Task) (ghapp.Issue, error) {
	at := r.Repo
	if at.Number = t.Thread; at.Number != 0 {
		return c.Issue(ctx, at)
	}
	if who, err := c.Sender(ctx, t.By.Login); err != nil {
		return ghapp.Issue{}, err
	} else if !policy.Insider(who) && !t.By.Bot || who.ID != t.By.ID { //control:strangers-open-nothing
		return ghapp.Issue{}, Ignored(fmt.Sprintf("%s: %s, who started it, has no rights in this repository.", r.Event, t.By.Login))
	}
	title, body := r.opens(t)
	for n := 1; ; n++ {
		w := ghapp.Write{Key: fmt.Sprintf("%s-%d", t.Issue, n), Kind: ghapp.WriteIssue, Thread: r.Repo, Title: title, Body: body}
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
