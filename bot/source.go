package bot

import (
	"fmt"
	"time"

	"github.com/handrail-bot/handrail/bot/approval"
	"github.com/handrail-bot/handrail/bot/command"
	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/bot/store"
)

// Hears reports whether events of this name can hold a command or a review with an
// answer, or begin work without one.
func Hears(event string) bool {
	switch event {
	case "issue_comment", "pull_request_review_comment", "pull_request_review", "issues", "pull_request", "repository",
		"repository_dispatch", "workflow_dispatch", "check_run", "check_suite", "workflow_run", "status", "push":
		return true
	}
	return false
}

// sourceBy returns the thread and the priority of a delivery. It reports false if the
// delivery holds neither a command nor an answer: it is acknowledged and not kept. names
// are equivalent to the command word.
func sourceBy(event string, payload []byte, names []string) (store.Delivery, bool, error) {
	ev, err := ghapp.ParseEvent(event, payload)
	if err != nil {
		return store.Delivery{}, false, fmt.Errorf("%w: %w", store.ErrUnparsable, err)
	}
	if at, ok := approval.About(ev); ok {
		return store.Delivery{
			Thread: at.Key(), Sender: ev.Sender.Login, Priority: store.PriorityAnswer,
			Key: fmt.Sprintf("look-%s-%s-%d-%d-%s-%s", ev.Kind, ev.Action, ev.Thread.Number, ev.Review.ID, ev.After, ev.Updated.UTC().Format(time.RFC3339)),
		}, true, nil
	}
	if key, ok := touches(ev, names); ok {
		return store.Delivery{
			Thread:   ev.Thread.Key(),
			Sender:   ev.Sender.Login,
			Priority: store.PriorityWork,
			Key:      key,
		}, true, nil
	}
	s, ok := messageOf(ev)
	if !ok || !command.MayCall(s.body, names...) {
		return store.Delivery{}, false, nil
	}
	src := sourceOf(s, store.PriorityWork)
	rows := commands()
	cmds, err := specs(rows).Parse(s.body, names...)
	if err != nil {
		return src, true, nil //nolint:nilerr // it is told when its turn comes
	}
	src.Priority = urgency(rows, cmds)
	return src, true, nil
}

// urgency returns the priority of the most urgent of the commands that are carried out.
func urgency(rows []row, cmds []command.Command) int {
	priority := store.PriorityWork
	for _, c := range cmds[:min(len(cmds), maxCommands)] {
		if row, err := rowOf(rows, c); err == nil {
			priority = min(priority, row.priority)
		}
	}
	return priority
}

// touches reports whether an event changes or deletes a text that may have begun a
// session, or a comment of the bot that shows the state of one. key identifies the event.
func touches(ev ghapp.Event, names []string) (key string, ok bool) {
	text := ev.Comment.Body + ev.OldBody
	switch ev.Kind + " " + ev.Action {
	case "issue_comment edited",
		"issue_comment deleted",
		"pull_request_review_comment edited",
		"pull_request_review_comment deleted":
		ok = ev.Action == "deleted" && ghapp.HasMarker(text)
	case "issues edited":
		text = ev.Body + ev.OldBody
	case "issues transferred":
		ok = ev.To.Number != 0
	default:
		return "", false
	}
	key = fmt.Sprintf("touch-%s-%s-%d-%d", ev.Kind, ev.Action, ev.Thread.Number, ev.Comment.ID)
	return key, ev.Thread.Number != 0 && (ok || command.MayCall(text, names...))
}

// originalKey returns the key that the text of an event had when it was new.
func originalKey(ev ghapp.Event) string {
	if ev.Comment.ID != 0 {
		return fmt.Sprintf("comment-%d-%t-%s", ev.Comment.ID, ev.Comment.Diff, ev.Comment.Created.UTC().Format(time.RFC3339))
	}
	return fmt.Sprintf("%s-%d-%d-opened", ev.Kind, ev.RepoID, ev.Thread.Number)
}

// sourceOf returns the delivery of a text.
func sourceOf(s userMessage, priority int) store.Delivery {
	ev := s.ev
	src := store.Delivery{Thread: ev.Thread.Key(), Sender: s.author.Login, Priority: priority}
	switch {
	case ev.Comment.ID != 0:
		src.Key = fmt.Sprintf(
			"comment-%d-%t-%s",
			ev.Comment.ID,
			ev.Comment.Diff,
			ev.Comment.Updated.UTC().Format(time.RFC3339),
		)
	case ev.Review.ID != 0:
		src.Key = fmt.Sprintf("review-%d", ev.Review.ID)
	default:
		src.Key = fmt.Sprintf("%s-%d-%d-%s", ev.Kind, ev.RepoID, ev.Thread.Number, ev.Action)
	}
	return src
}
