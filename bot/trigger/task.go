package trigger

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/bot/thread"
	"github.com/handrail-bot/handrail/policy"
	"github.com/handrail-bot/handrail/policy/pattern"
	"github.com/handrail-bot/handrail/policy/untrusted"
)

// Task is a task that was not written as a comment. It acts for the user behind the
// event, as if the user had written it in the thread.
type Task struct {
	Text, Mode, Model string

	Thread int        // number of the issue or pull request, 0 for a new issue, negative if invalid
	By     ghapp.User // user behind the event
	Why    string     // it began, as a clause
}

// word matches a mode or the name of a model, which must fit in one line of a command.
var word = pattern.Lazy(`^[\w.:/@+-]*$`)

// Dispatched returns the task in a dispatch's payload: strings in the keys task, mode and
// model, and a number in issue.
func Dispatched(ev ghapp.Event) (Task, error) {
	t := Task{By: ev.Sender, Thread: ev.Thread.Number}
	var said struct {
		Task, Mode, Model string
		Issue             any
	}
	if len(ev.Payload) > 0 {
		if err := json.Unmarshal(ev.Payload, &said); err != nil {
			return t, errors.New("task, mode and model are to be text, and issue a number")
		}
	}
	t.Text, t.Mode, t.Model = strings.TrimSpace(said.Task), said.Mode, said.Model
	if said.Issue == nil || said.Issue == "" {
		return t, nil
	}
	err := t.In(fmt.Sprint(said.Issue))
	return t, err
}

// In assigns the task to a thread by its number.
func (t *Task) In(number string) error {
	n, err := strconv.Atoi(strings.TrimPrefix(number, "#"))
	if err != nil || n <= 0 {
		t.Thread = -1
		return fmt.Errorf("issue: %q is not the number of an issue or pull request", number)
	}
	t.Thread = n
	return nil
}

// Check returns an error for an invalid task.
func (t *Task) Check() error {
	switch t.Text = strings.TrimSpace(t.Text); {
	case t.Text == "":
		return errors.New("there is no task")
	case !word().MatchString(t.Mode):
		return fmt.Errorf("mode: %q is not a mode, such as code, ask or review", t.Mode)
	case !word().MatchString(t.Model):
		return fmt.Errorf("model: %q is not the name of a model", t.Model)
	}
	return nil
}

// Starts is the kind of the event that [Task.Event] returns.
const Starts = "workflow_dispatch"

// Event returns the task as an event of GitHub in its thread. payload is that of the
// event that brought the task; name identifies the task.
func (t *Task) Event(is ghapp.Issue, payload []byte, name string) ([]byte, error) {
	var was struct{ Repository, Installation json.RawMessage }
	if err := json.Unmarshal(payload, &was); err != nil {
		return nil, err
	}
	type m = map[string]any
	issue := m{
		"number":     is.Ref.Number,
		"title":      is.Title,
		"body":       is.Body,
		"state":      is.State,
		"updated_at": is.Updated,
		"user":       m{"id": is.AuthorID, "login": is.Author},
	}
	if is.IsPull {
		issue["pull_request"] = m{"url": is.URL}
	}
	by := m{"id": t.By.ID, "login": t.By.Login, "type": map[bool]string{true: "Bot", false: "User"}[t.By.Bot]}
	out := m{
		"action":     name,
		"inputs":     m{"task": t.Text, "mode": t.Mode, "model": t.Model, "why": t.Why},
		"issue":      issue,
		"repository": was.Repository,
		"sender":     by,
	}
	if was.Installation != nil {
		out["installation"] = was.Installation
	}
	return json.Marshal(out)
}

// ErrNoRights means that the user behind a task has no rights in the repository.
var ErrNoRights = errors.New("has no rights in this repository")

// MayOpen returns an error if no issue may be opened for the task: its user has no rights
// in the repository, or is not the account that the event names.
func (t *Task) MayOpen(ctx context.Context, c *ghapp.Client) error {
	if who, err := c.Sender(ctx, t.By.Login); err != nil {
		return err
	} else if !policy.Insider(who) && !t.By.Bot || who.ID != t.By.ID { //control:strangers-open-nothing
		return ErrNoRights
	}
	return nil
}

// Issue returns the write that opens the issue of a task. started is the first paragraph
// of its body, empty means the default.
func (t *Task) Issue(at thread.Ref, key, started string) ghapp.Write {
	first, _, _ := strings.Cut(t.Text, "\n")
	return ghapp.Write{
		Key: key, Kind: ghapp.WriteIssue, Thread: at, Title: untrusted.Title(first),
		Body: cmp.Or(started, "`"+t.By.Login+"` started this.") + "\n\n> " + strings.ReplaceAll(untrusted.Message(t.Text), "\n", "\n> "),
	}
}
