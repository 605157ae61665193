package bot

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/handrail-bot/handrail/bot/approval"
	"github.com/handrail-bot/handrail/bot/command"
	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/bot/store"
	"github.com/handrail-bot/handrail/bot/thread"
)

// kind is the kind of an event, see [classify]. The table [kinds] has a row for each.
type kind int

const (
	silent   kind = iota // no text: a label, a check, a push, the clock
	spoken               // a text in a thread: a comment, a review, a text of the dashboard
	posted               // the first post of a thread, which is a text and also the beginning of a thread
	touched              // a text that was edited or deleted, or an issue that was transferred
	reviewed             // a change of a pull request that asks for an approval
	forked               // a push to a pull request of a fork
	moved                // a repository that was renamed or taken away
)

// event is an event with its kind, and the data that its kind has.
type event struct {
	ev     ghapp.Event
	kind   kind
	text   userMessage // see [textOf]
	speaks bool        // text can hold a command; for spoken, posted, and reviews of reviewed
	touch  touch       // touched
	about  thread.Ref  // reviewed: the thread of the request

	names   []string // equivalents of the command word
	unnamed bool     // the bot's own name is unknown, so names may be incomplete
}

// classify returns an event with its kind. It asks neither GitHub nor the store, so a
// delivery has the same kind at intake and when it is handled.
func classify(ev ghapp.Event) event {
	e := event{ev: ev}
	e.text, e.speaks = textOf(ev)
	var asks, touches bool
	e.about, asks = approval.About(ev)
	e.touch, touches = touchOf(ev)
	switch {
	case slices.Contains([]string{"repository", "installation", "installation_repositories"}, ev.Kind):
		e.kind = moved
	case asks: //control:review-is-looked-at
		e.kind = reviewed
	case touches:
		e.kind = touched
	case e.speaks && e.text.from == inPost:
		e.kind = posted
	case e.speaks:
		e.kind = spoken
	case approval.ForkMoves(ev):
		e.kind = forked
	}
	return e
}

// in returns an event as it is handled in a thread. A request for approval counts only in
// the thread that it names: that of a repository that was renamed since is another one.
func (e event) in(home thread.Ref) event {
	if e.kind == reviewed && !e.about.Same(home) {
		if e.kind = silent; e.speaks {
			e.kind = spoken
		}
	}
	return e
}

// meaning is the row of a kind: which events are stored, and how they are handled. An event
// that no function of its row wants is offered to the watchers.
type meaning struct {
	// calls returns the delivery of an event that concerns the bot by itself; nil means none.
	calls func(e event) (store.Delivery, bool)
	// awaited returns the delivery of an event that concerns only a session of its thread;
	// nil means none.
	awaited func(ctx context.Context, b *Bot, e event) (store.Delivery, bool, error)
	// handle works on a stored delivery.
	handle func(ctx context.Context, w *worker, d *store.Delivery, e event) error
}

// kinds returns the table of kinds.
func kinds() map[kind]meaning {
	return map[kind]meaning{
		silent:   {handle: handleSilent},
		spoken:   {calls: textCalls, awaited: textAwaited, handle: handleText},
		posted:   {calls: textCalls, awaited: textAwaited, handle: handlePost},
		touched:  {calls: touchCalls, handle: handleTouched},
		reviewed: {calls: reviewCalls, handle: handleReviewed},
		forked:   {awaited: forkAwaited, handle: handleSilent},
		moved:    {handle: handleSilent}, // is never stored
	}
}

// deliveryOf returns the thread and the priority of an event. It reports false if no
// session and no watcher wants the event: it is acknowledged and not kept.
func (b *Bot) deliveryOf(ctx context.Context, e event) (d store.Delivery, ok bool, err error) {
	row := kinds()[e.kind]
	if row.calls != nil {
		if d, ok = row.calls(e); ok {
			return d, ok, nil
		}
	}
	if row.awaited != nil {
		if d, ok, err = row.awaited(ctx, b, e); ok || err != nil {
			return d, ok, err
		}
	}
	return b.watcherDelivery(ctx, e.ev)
}

// reviewCalls returns the delivery of a change of a request under review.
func reviewCalls(e event) (store.Delivery, bool) {
	ev := e.ev
	at := ev.Updated.UTC().Format(time.RFC3339)
	return store.Delivery{
		Thread:   e.about.Key(),
		Sender:   ev.Sender.Login,
		Priority: store.PriorityAnswer,
		Key:      fmt.Sprintf("look-%s-%s-%d-%d-%s-%s", ev.Kind, ev.Action, ev.Thread.Number, ev.Review.ID, ev.After, at),
	}, true
}

// textOf returns the text of an event that can hold a command. Edits do not count: the
// first version was acted on, and an approval in an edited comment is rejected when it is
// used. Texts that were moved here, or with an author that did not cause the event, do
// not count either.
func textOf(ev ghapp.Event) (userMessage, bool) {
	s := userMessage{ev: ev}
	switch {
	case ev.Thread.Number == 0:
		return s, false
	case isComment(ev) && ev.Action == "created":
		s.from, s.body, s.author = inComment, ev.Comment.Body, ev.Comment.Author
		s.target = ghapp.Target{Comment: ev.Comment.ID, Diff: ev.Comment.Diff}
	case ev.Kind == "pull_request_review" && ev.Action == "submitted":
		s.from, s.body, s.author = inReview, ev.Review.Body, ev.Review.Author
	case ev.Kind == "issues" && ev.Action == "opened", ev.Kind == "pull_request" && ev.Action == "opened":
		s.from, s.body, s.author = inPost, ev.Body, ev.Author
		if ev.Moved { //control:moved-text
			return s, false
		}
	case ev.Kind == ghapp.Dashboard:
		s.from, s.body, s.author = inDashboard, ev.Comment.Body, ev.Sender
	case ev.Kind == ghapp.Part, ev.Kind == "workflow_dispatch": // GitHub's own event has no thread; that of a workflow run has one
		s.body, s.why = dispatchedTask(ev.Payload)
		s.author = ev.Sender
	default:
		return s, false
	}
	return s, s.author.ID != 0 && s.author.ID == ev.Sender.ID //control:author-speaks
}

// isComment reports whether an event is about a comment in a thread.
func isComment(ev ghapp.Event) bool { return ghapp.UseOf(ev.Kind) == ghapp.Says && ev.Comment.ID != 0 }

// dispatchedTask returns the task of a workflow run or a trigger, as its author could have
// written it: one task, for any words in it. why is its origin.
func dispatchedTask(inputs json.RawMessage) (body, why string) {
	var in struct{ Task, Mode, Model, Why string }
	if json.Unmarshal(inputs, &in) != nil || strings.TrimSpace(in.Task) == "" {
		return "", ""
	}
	flags := ""
	for _, f := range [][2]string{{"mode", in.Mode}, {"model", in.Model}} {
		if words := strings.Fields(f[1]); len(words) == 1 {
			flags += " --" + f[0] + " " + words[0]
		}
	}
	return "/agent" + flags + " task:\n\n" + command.InertFor(in.Task), in.Why //control:one-task
}

// touch is a change of a text that may have begun a session, or of a comment of the bot that
// shows the state of one.
type touch struct {
	key  string // of the event
	said string // the text, before and after
	sure bool   // it concerns the bot, whatever the text says
}

// touchOf returns the change of a text by an event.
func touchOf(ev ghapp.Event) (t touch, ok bool) {
	t.said = ev.Comment.Body + ev.OldBody
	switch of := ev.Kind + " " + ev.Action; {
	case isComment(ev) && (ev.Action == "edited" || ev.Action == "deleted"):
		t.sure = ev.Action == "deleted" && ghapp.HasMarker(t.said)
	case of == "issues edited":
		t.said = ev.Body + ev.OldBody
	case of == "issues transferred":
		t.sure = ev.To.Number != 0
	default:
		return touch{}, false
	}
	t.key = fmt.Sprintf("touch-%s-%s-%d-%d", ev.Kind, ev.Action, ev.Thread.Number, ev.Comment.ID)
	if ev.Action == "edited" {
		t.key += "-" + ghapp.Digest(t.said, "edited") //control:each-edit-is-read
	}
	return t, ev.Thread.Number != 0
}

// matters reports whether the change may concern a session.
func (t touch) matters(names []string) bool { return t.sure || command.MayCall(t.said, names...) }

// touchCalls returns the delivery of a change of a text.
func touchCalls(e event) (store.Delivery, bool) {
	return store.Delivery{
		Thread:   e.ev.Thread.Key(),
		Sender:   e.ev.Sender.Login,
		Priority: store.PriorityWork,
		Key:      e.touch.key,
	}, e.touch.matters(e.names)
}

// textCalls returns the delivery of a text that calls the bot.
func textCalls(e event) (store.Delivery, bool) {
	if !command.MayCall(e.text.body, e.names...) {
		return store.Delivery{}, false
	}
	src := sourceOf(e.text, store.PriorityWork)
	rows := commands()
	if cmds, err := specs(rows).Parse(e.text.body, e.names...); err == nil { // an error is told when its turn comes
		src.Priority = urgency(rows, cmds)
	}
	return src, true
}

// textAwaited returns the delivery of a text without a command: an answer, or a text that is
// read when it is handled, because the bot's name is unknown.
func textAwaited(ctx context.Context, b *Bot, e event) (d store.Delivery, ok bool, err error) {
	if !b.serves(e.ev.Thread) {
		return d, false, nil
	}
	if ok = e.unnamed; !ok {
		ok, err = b.mayAnswer(ctx, e.text)
	}
	return sourceOf(e.text, store.PriorityAnswer), ok, err
}

// forkAwaited returns the delivery of a push to a fork if a session waits for an answer.
func forkAwaited(ctx context.Context, b *Bot, e event) (store.Delivery, bool, error) {
	ok, err := b.waitsHere(ctx, e.ev.Thread)
	return store.Delivery{
		Thread:   e.ev.Thread.Key(),
		Sender:   e.ev.Sender.Login,
		Priority: store.PriorityWork,
		Key:      fmt.Sprintf("moved-%d-%s", e.ev.Thread.Number, e.ev.After),
	}, ok, err
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

// originalKey returns the key that the text of an event had when it was new.
func originalKey(ev ghapp.Event) string {
	if ev.Comment.ID != 0 {
		return commentKey(ev.Comment, ev.Comment.Created)
	}
	return fmt.Sprintf("%s-%d-%d-opened", ev.Kind, ev.RepoID, ev.Thread.Number)
}

// commentKey returns the key of a comment with the text that it had at a time.
func commentKey(c ghapp.EventComment, at time.Time) string {
	return fmt.Sprintf("comment-%d-%t-%s", c.ID, c.Diff, at.UTC().Format(time.RFC3339))
}

// sourceOf returns the delivery of a text.
func sourceOf(s userMessage, priority int) store.Delivery {
	ev := s.ev
	src := store.Delivery{Thread: ev.Thread.Key(), Sender: s.author.Login, Priority: priority}
	switch {
	case ev.Comment.ID != 0:
		src.Key = commentKey(ev.Comment, ev.Comment.Updated)
	case ev.Review.ID != 0:
		src.Key = fmt.Sprintf("review-%d", ev.Review.ID)
	default:
		src.Key = fmt.Sprintf("%s-%d-%d-%s", ev.Kind, ev.RepoID, ev.Thread.Number, ev.Action)
	}
	return src
}
