package bot

import (
	"context"
	"slices"
	"strings"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot/approval"
	"github.com/handrail-bot/handrail/bot/command"
	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/bot/live"
	"github.com/handrail-bot/handrail/bot/render"
	"github.com/handrail-bot/handrail/bot/store"
	"github.com/handrail-bot/handrail/policy"
)

// handleTouched handles a text that was changed or deleted. The text that began the session
// was read when it was new: the thread is told, once, that the change has no effect. A
// deleted progress comment or request is posted again.
func handleTouched(ctx context.Context, w *worker, d *store.Delivery, e event) error {
	ev := e.ev
	if !e.touch.matters(e.names) {
		return handleSilent(ctx, w, d, e)
	}
	if ev.To.Number != 0 {
		return w.endTransferred(ctx, d, ev)
	}
	row, err := w.session(ctx)
	if err != nil {
		return err
	}
	if ours, key := w.cfg.GitHub.Written(ev.Comment.Body); ours && row != nil &&
		strings.HasPrefix(key, live.ProgressKey(row.ID)) {
		l, err := w.lease(ctx, row)
		if err != nil {
			return err
		}
		l.Data.Shown = ""
		if err := l.Save(ctx); err != nil {
			return err
		}
		return w.cfg.Store.Deliveries.Done(ctx, "the progress comment was deleted", d.ID)
	}
	if ours, key := w.cfg.GitHub.Written(ev.Comment.Body); ev.Action == "deleted" && ours && row != nil && approval.IsRequestKey(row.ID, key) { //control:deleted-is-asked-anew
		asked := func(asks approval.Requests, v *session.State) []session.Asked { return asks.AskedIn(v, key) }
		if err := askAnew(ctx, w, row, asked); err != nil {
			return err
		}
		return w.cfg.Store.Deliveries.Done(ctx, "a comment that asks was deleted", d.ID)
	}
	deleted := ev.Action == "deleted" && row != nil && !row.State.Over() // perhaps a follow-up
	if row == nil || row.ID != sessionID(w.key, originalKey(ev)) && !deleted || row.State.Over() {
		if told, err := rejectEditedCommand(ctx, w, d, ev, row != nil && !row.State.Over()); told || err != nil {
			return err
		}
		return w.cfg.Store.Deliveries.Done(ctx, "no text that a session works by", d.ID)
	}
	if err := w.at.Connect(ctx, w.cfg.GitHub, ev.Installation); err != nil {
		return err
	}
	if done, err := w.withdraw(ctx, row, d, ev); done || err != nil {
		return err
	}
	if row.ID != sessionID(w.key, originalKey(ev)) {
		return w.cfg.Store.Deliveries.Done(ctx, "no text that a session works by", d.ID)
	}
	c := w.change()
	c.reply(userMessage{key: "touched-" + row.ID + ev.Action}, render.SourceChanged(ev.Action == "deleted")) //control:touched-is-told
	c.Done = append(c.Done, d.ID)
	return w.commit(ctx, c)
}

// withdraw ends a session whose newest request was deleted by its author. It reports whether
// the event is one of those.
func (w *worker) withdraw(ctx context.Context, row *store.Session, d *store.Delivery, ev ghapp.Event) (bool, error) {
	if ev.Action != "deleted" || ev.Comment.Author.ID == 0 || ev.Comment.Author.ID != ev.Sender.ID { //control:author-withdraws
		return false, nil
	}
	v, err := w.live.Fold(ctx, row)
	if err != nil {
		return false, err
	}
	at := v.HeardUpTo()
	if at.Comment != ev.Comment.ID || (at.DiffThread != 0) != ev.Comment.Diff { //control:newest-is-withdrawn
		return false, nil
	}
	actor, err := w.at.Client.Actor(ctx, ev.Sender.Login)
	if err != nil {
		return false, err
	}
	if may, _ := w.mayAsk(actor, policy.Stop, row); may != policy.Allow || actor.ID != ev.Sender.ID {
		return false, nil
	}
	c := w.change()
	by := session.Message{Key: d.ID, Author: actor.Login}
	c.append(v.Withdraw(by, render.RequestDeleted(actor.Login, v))...)
	w.halt = w.halt || w.running == row.ID
	c.Done = append(c.Done, d.ID)
	return true, w.commit(ctx, c)
}

// sameCommands reports whether a text asks for the same before and after an edit. Only while a
// session works are other words of a request another request.
func sameCommands(before, now []command.Command, works bool) bool {
	return slices.EqualFunc(before, now, func(a, b command.Command) bool {
		return a.Name == b.Name && a.Mode == b.Mode && a.Count == b.Count && a.All == b.All &&
			slices.Equal(a.IDs, b.IDs) && slices.Equal(a.Paths, b.Paths) &&
			(a.Name != command.Task || !works || a.Text == b.Text)
	})
}

// rejectEditedCommand tells the author of a command that was edited into an older text, or into
// another command, that it does not count, once per text. Authors that would get no answer are not
// told either.
func rejectEditedCommand(
	ctx context.Context,
	w *worker,
	d *store.Delivery,
	ev ghapp.Event,
	works bool,
) (told bool, err error) {
	was := ev
	if was.Action = "created"; ev.Kind == "issues" {
		was.Action = "opened"
	}
	s, ok := textOf(was)
	if !ok || ev.Action != "edited" || ev.OldBody == "" || ev.Sender.Bot {
		return false, nil
	}
	now, wrong, err := w.commandsIn(ctx, s.body)
	if err != nil || len(now) == 0 && wrong == nil {
		return false, err
	}
	before, _, err := w.commandsIn(ctx, ev.OldBody)
	if err != nil || len(before) > 0 && (len(now) == 0 || sameCommands(before, now, works)) { //control:mended-command-is-told
		return false, err
	}
	if err := w.at.Connect(ctx, w.cfg.GitHub, ev.Installation); err != nil {
		return false, err
	}
	actor, err := w.at.Client.Sender(ctx, ev.Sender.Login)
	if err != nil || actor.ID != ev.Sender.ID || !policy.Insider(actor) { //control:strangers-edits-are-quiet
		return false, err
	}
	s.key = "edited-" + originalKey(ev)
	c := w.change()
	c.reply(s, render.EditedIn)
	c.Done = append(c.Done, d.ID)
	return true, w.commit(ctx, c)
}
