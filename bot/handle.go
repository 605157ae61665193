package bot

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot/approval"
	"github.com/handrail-bot/handrail/bot/command"
	"github.com/handrail-bot/handrail/bot/fault"
	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/bot/live"
	"github.com/handrail-bot/handrail/bot/pull"
	"github.com/handrail-bot/handrail/bot/render"
	"github.com/handrail-bot/handrail/bot/store"
	"github.com/handrail-bot/handrail/bot/thread"
	"github.com/handrail-bot/handrail/policy"
)

// handle works on one delivery, as the table of kinds says. Its effects are recorded before
// anything is written to GitHub. A delivery that can never be handled is given up; an error
// means that a retry can help.
func (w *worker) handle(ctx context.Context, d *store.Delivery) error {
	ev, err := ghapp.ParseEvent(d.Event, d.Payload)
	if err != nil {
		return w.cfg.Store.Deliveries.Done(ctx, err.Error(), d.ID)
	}
	e := classify(ev).in(w.at.Ref)
	if e.kind != reviewed { // its words do not count
		if e.names, err = w.names(ctx, textsIn(ev)); err != nil {
			return w.orGiveUp(ctx, d, err)
		}
		if ev.Kind != "" && !w.serves(ev.Thread) {
			return w.cfg.Store.Deliveries.Done(ctx, "nothing for us", d.ID)
		}
	}
	return w.orGiveUp(ctx, d, kinds()[e.kind].handle(ctx, w, d, e))
}

// handleReviewed looks at GitHub for the effect of an event on a request under review.
func handleReviewed(ctx context.Context, w *worker, d *store.Delivery, e event) error {
	if err := w.at.Connect(ctx, w.cfg.GitHub, e.ev.Installation); err != nil {
		return err
	}
	return w.handleReview(ctx, d, e.ev)
}

// handleTouched handles a change of a text that may concern a session.
func handleTouched(ctx context.Context, w *worker, d *store.Delivery, e event) error {
	if !e.touch.matters(e.names) {
		return handleSilent(ctx, w, d, e)
	}
	return w.handleTouch(ctx, d, e.ev)
}

// handlePost handles the first post of a thread. Without a command it is for the watchers.
func handlePost(ctx context.Context, w *worker, d *store.Delivery, e event) error {
	cmds, use, err := w.commandsIn(ctx, e.text.body)
	if err != nil {
		return err
	}
	if len(cmds) == 0 && use == nil {
		return handleSilent(ctx, w, d, e)
	}
	return handleText(ctx, w, d, e)
}

// handleSilent has the watchers handle an event without a text. A task in their answer is
// handled as a text.
func handleSilent(ctx context.Context, w *worker, d *store.Delivery, e event) error {
	a, err := askWatchers(ctx, w, d, e.ev)
	if err != nil {
		return err
	}
	if a.Task == nil {
		return carryOutAnswer(ctx, w, d, a)
	}
	ev, err := ghapp.ParseEvent("workflow_dispatch", a.Task)
	if err != nil {
		return err
	}
	e.text, _ = textOf(ev)
	return handleText(ctx, w, d, e)
}

// handleText carries out a text if its author is admitted.
func handleText(ctx context.Context, w *worker, d *store.Delivery, e event) error {
	s := e.text.broughtBy(d, w.at.Ref)
	if s.names = e.names; w.unlistedBot(s.author) {
		return w.cfg.Store.Deliveries.Done(ctx, "a bot that is not let in", d.ID)
	}
	if sent, err := sendOn(ctx, w, d, s); sent || err != nil {
		return err
	}
	carry, err := w.read(ctx, &s)
	if err != nil {
		return err
	}
	if carry == nil {
		return w.cfg.Store.Deliveries.Done(ctx, "not for us", d.ID)
	}
	if err := w.at.Reach(ctx, w.cfg.GitHub, s.ev.Installation); err != nil {
		return err
	}
	why, err := w.notFromUser(ctx, s)
	if err != nil {
		return err
	}
	if why != "" {
		w.cfg.Log.InfoContext(
			ctx, "text is no request of a user", "delivery", d.ID, "thread", w.key, "author", s.author.Login, "why",
			why,
		)
		return w.cfg.Store.Deliveries.Done(ctx, why, d.ID)
	}
	err = w.answer(ctx, d, &s, carry)
	if fault.OfGitHub(err) && ctx.Err() == nil {
		tellAway(ctx, w, d, s, err)
		err = w.stopOwn(ctx, s, err)
	}
	return err
}

// stopOwn ends the session if its own requester asks for that while GitHub cannot be
// asked. For any other text it returns cause.
func (w *worker) stopOwn(ctx context.Context, s userMessage, cause error) error {
	cmds, wrong, err := w.commandsIn(ctx, s.body)
	if err != nil || wrong != nil || len(cmds) != 1 || s.away != 0 {
		return cause
	}
	row, err := rowOf(w.rows, cmds[0])
	if err != nil || row.right != policy.Stop {
		return cause
	}
	r := &request{w: w, at: &w.at, c: w.change(), msg: s, cmd: cmds[0], actor: s.unverified()}
	if r.sess, err = w.session(ctx); err != nil || r.sess == nil || r.sess.State.Over() {
		return cause
	}
	if may, _ := w.mayAsk(r.actor, row.right, r.sess); may != policy.Allow {
		return cause
	}
	w.cfg.Log.WarnContext(ctx, "stopped by its requester, unchecked", "session", r.sess.ID, "err", cause)
	r.c.urgent = true
	if err := row.handle(ctx, r); err != nil {
		return err
	}
	r.c.Done = append(r.c.Done, s.id)
	return w.commit(ctx, r.c)
}

// broughtBy returns the text as a delivery brings it to a thread.
func (s userMessage) broughtBy(d *store.Delivery, home thread.Ref) userMessage {
	s.id, s.key, s.away = d.ID, cmp.Or(pull.KeyOf(d), d.ID), pull.OtherNumber(s.ev.Thread, home)
	return s
}

// handleTouch handles a text that was changed or deleted. The text that began the session was
// read when it was new: the thread is told, once, that the change has no effect. A
// deleted progress comment or request is posted again.
func (w *worker) handleTouch(ctx context.Context, d *store.Delivery, ev ghapp.Event) error {
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
		if told, err := rejectEditedCommand(ctx, w, d, ev); told || err != nil {
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

// rejectEditedCommand tells the author of a command that was edited into an older text that it does
// not count, once per text. Authors that would get no answer are not told either.
func rejectEditedCommand(ctx context.Context, w *worker, d *store.Delivery, ev ghapp.Event) (told bool, err error) {
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
	if before, wrong, err := w.commandsIn(ctx, ev.OldBody); err != nil || len(before) > 0 || wrong != nil {
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

// read returns the function that carries out a text; nil if it is not for the bot.
func (w *worker) read(ctx context.Context, s *userMessage) (func(*change) error, error) {
	cmds, use, err := w.commandsIn(ctx, s.body)
	if err != nil {
		return nil, err
	}
	if s.bare = len(cmds) == 0 && use == nil; !s.bare {
		return func(c *change) error { return w.carryOut(ctx, c, *s, cmds, use) }, nil
	}
	a, err := readAside(ctx, w, *s)
	if err != nil || !a.means() {
		return nil, err
	}
	return func(c *change) error { return takeAside(ctx, w, c, *s, a) }, nil
}

// answer carries out a text if its author is admitted.
func (w *worker) answer(ctx context.Context, d *store.Delivery, s *userMessage, carry func(*change) error) error {
	by, why, err := w.admit(ctx, *s)
	if errors.Is(err, ghapp.ErrLookups) {
		return w.waits.postpone(d, w.cfg.Now().Add(lookAgainAtMany))
	}
	if err != nil {
		return err
	}
	if s.bare && (why != "" || by.quiet) {
		return w.cfg.Store.Deliveries.Done(ctx, "not for us: its author may not answer", d.ID)
	}
	if why != "" {
		return w.turnAway(ctx, *s, why)
	}
	w.getsReplies = !by.quiet
	a := Asker{
		Sender:       s.author.Login,
		Thread:       w.key,
		Repository:   w.at.Ref.Repository(),
		Installation: s.ev.Installation,
		Urgent:       d.Priority <= store.PriorityAnswer,
	}
	if !w.answeredEarly[d.ID] {
		if err := w.overQuota(ctx, d, a); err != nil {
			return err
		}
	}
	if err := w.at.Connect(ctx, w.cfg.GitHub, s.ev.Installation); err != nil {
		return err
	}
	if s.page, err = w.pageOf(ctx, *s); err != nil {
		return err
	}
	c := w.change()
	c.by, c.urgent = by, a.Urgent
	if err := carry(c); err != nil {
		return err
	}
	if w.cfg.Quotas != nil && !w.answeredEarly[d.ID] {
		w.cfg.Quotas.Take(w.cfg.Now(), a)
	}
	return nil
}

// orGiveUp ends a delivery if its failure is permanent.
func (w *worker) orGiveUp(ctx context.Context, d *store.Delivery, err error) error {
	var ge *ghapp.Error
	if err == nil || !errors.As(err, &ge) || ge.Kind != ghapp.Permanent {
		return err
	}
	if away := w.cfg.GitHub.Check(ctx); away != nil {
		return fmt.Errorf("%w (before that: %s)", away, err.Error())
	}
	w.cfg.Log.ErrorContext(ctx, "delivery given up", "delivery", d.ID, "thread", w.key, "err", err)
	if w.getsReplies && w.at.Client != nil { //control:given-up-is-told
		text := render.GivenUp(fault.InWords(err))
		tell(ctx, w, ghapp.Write{Key: "given-up-" + ghapp.Digest(d.ID), Kind: ghapp.WriteComment, Body: text})
	}
	return w.cfg.Store.Deliveries.Done(ctx, err.Error(), d.ID)
}

// maxCommands is the maximum number of commands carried out per text.
const maxCommands = 50

// carryOut carries out commands in order.
func (w *worker) carryOut(
	ctx context.Context,
	c *change,
	s userMessage,
	cmds []command.Command,
	wrong *command.Error,
) error {
	if wrong == nil {
		if wrong = command.AsShown(s.body, s.page, s.names...); wrong != nil {
			cmds = nil
		}
	}
	if wrong != nil || !onlyAnswers(w.rows, cmds) {
		c.tellDashboard(s)
	}
	if err := w.tellWrong(ctx, c, s, wrong); err != nil {
		return err
	}
	if n := len(cmds) - maxCommands; n > 0 { //control:commands-of-a-comment
		c.reply(s, render.LeftOut(maxCommands, n))
		cmds = cmds[:maxCommands]
	}
	first := firstTask(cmds)
	for i, cmd := range cmds {
		one := s
		one.first = i == first
		if i > 0 {
			one.key = fmt.Sprintf("%s.%d", s.key, i)
		}
		if err := w.do(ctx, c, one, cmd); err != nil {
			return err
		}
	}
	if c.by.quiet && len(c.Events) == 0 {
		return w.turnAway(ctx, s, strings.Join(c.replies, " "))
	}
	c.Done = append(c.Done, s.id)
	return w.commit(ctx, c)
}

// tellWrong reports an error in the commands of a text. Text beside an approval is
// reported once for the open requests; later there is only a reaction.
func (w *worker) tellWrong(ctx context.Context, c *change, s userMessage, wrong *command.Error) error {
	if wrong == nil {
		return nil
	}
	sess, err := w.session(ctx)
	if err != nil {
		return err
	}
	if wrong.Beside && sess != nil {
		v, err := w.live.Fold(ctx, sess)
		if err != nil {
			return err
		}
		c.react(s, "confused")
		s = s.once(approval.AskedGranted, approval.Open(v))
	}
	c.reply(s, wrong.Public)
	return nil
}

// firstTask returns the index of the first task, -1 if there is none.
func firstTask(cmds []command.Command) int {
	return slices.IndexFunc(cmds, func(c command.Command) bool { return c.Name == command.Task })
}

// aside is a text without a command in a thread with a session, which may be an answer.
type aside struct {
	answer string          // to the questions in fits
	fits   []session.Asked // questions that it may answer
	asked  []session.Asked // questions to its author that it does not answer
	open   []session.Asked // requests for approval, which it never answers
}

// means reports whether the text matters to the session.
func (a aside) means() bool { return len(a.fits)+len(a.asked)+len(a.open) > 0 }

// mayAnswer reports whether a text without a command may be an answer: its thread has a
// session that is not over. It asks only the store.
func (b *Bot) mayAnswer(ctx context.Context, s userMessage) (bool, error) {
	if !command.MayAnswer(s.body) {
		return false, nil
	}
	sess, err := b.cfg.Store.Sessions.ByThread(ctx, s.ev.Thread.Key())
	return err == nil && !sess.State.Over(), store.Unless(err, store.ErrNotFound)
}

// readAside reads a text without a command. It does not call GitHub. A comment on a diff
// belongs to the discussion of its lines, so it counts only if it answers a question.
func readAside(ctx context.Context, w *worker, s userMessage) (a aside, err error) {
	sess, err := w.session(ctx)
	if err != nil || sess == nil || !command.MayAnswer(s.body) {
		return a, err
	}
	v, err := w.live.Fold(ctx, sess)
	if err != nil {
		return a, err
	}
	asked := live.DataOf(sess).RequesterID == s.author.ID || strings.EqualFold(approval.LastSpeaker(v), s.author.Login)
	for _, q := range v.Open() {
		if q.Kind != session.AskQuestion || !asked { //control:person-asked
			continue
		}
		inThread := s.target.Diff && s.ev.Comment.InReplyTo != 0 && s.ev.Comment.InReplyTo == v.Place.DiffThread
		if !approval.OnDiff(live.DataOf(sess).Reviews[q.ID].URL) { //control:answer-where-asked
			inThread = false
		}
		answer, ok := command.Question{Text: q.Display, Choices: q.Choices, Thread: inThread}.Answer(s.body)
		switch {
		case ok:
			a.answer, a.fits = answer, append(a.fits, q)
		case !s.target.Diff:
			a.asked = append(a.asked, q)
		}
	}
	if !s.target.Diff {
		a.open = approval.Open(v)
	}
	return a, nil
}

// takeAside takes a text without a command as the answer to a question, or keeps it for
// the model.
func takeAside(ctx context.Context, w *worker, c *change, s userMessage, a aside) error {
	c.Done = append(c.Done, s.id)
	c.tellDashboard(s)
	sess, err := w.session(ctx)
	if err != nil {
		return err
	}
	_, elsewhere, err := w.at.Elsewhere(ctx)
	if err != nil {
		return err
	}
	actor := c.by.actor
	if actor.Lookup == policy.NotAsked {
		if actor, err = w.at.Client.Actor(ctx, s.author.Login); err != nil {
			return err
		}
	}
	r := &request{w: w, c: c, msg: s, actor: actor, sess: sess}
	if may, _ := w.mayAsk(actor, policy.Steer, sess); elsewhere || actor.ID != s.author.ID || may != policy.Allow {
		return w.commit(ctx, c)
	}
	v, err := r.view(ctx)
	if err != nil {
		return err
	}
	switch len(a.fits) {
	case 1:
		c.append(session.NewEvent(session.TypeResolved, v.Turns, session.Resolved{
			ID: a.fits[0].ID, Verdict: policy.Answered, By: s.author.Login, ByID: s.author.ID, Reason: r.answer(a), Key: s.key,
		}))
		r.react("eyes")
	case 0:
		err = r.keepAside(ctx, v, a)
	default:
		r.keep(v, r.cleanText("words", s.body, s.page))
		r.reply(render.WhichMeant(a.fits, a.open))
	}
	if err != nil {
		return err
	}
	return w.commit(ctx, c)
}

// answer returns an answer to a question as a reader sees it.
func (r *request) answer(a aside) string {
	q := a.fits[0]
	seen := r.cleanText("answer", r.msg.body, r.msg.page)
	if said, ok := (command.Question{Text: q.Display, Choices: q.Choices, Thread: r.msg.target.Diff}).Answer(seen); ok {
		return said
	}
	return r.cleanText("answer", a.answer, "")
}

// keepAside keeps a text for the model. If its author may answer an open request, it asks
// back, once per request.
func (r *request) keepAside(ctx context.Context, v *session.State, a aside) error {
	words := r.cleanText("words", r.msg.body, r.msg.page)
	if words == "" {
		return nil
	}
	r.keep(v, words) //control:words-are-kept
	may, err := r.w.live.Approvals(&r.w.at, r.sess).MayAny(ctx, r.actor, a.open)
	if err != nil || !may && len(a.asked) == 0 {
		return err
	}
	r.c.reply(r.msg.once(approval.AskedAside, append(slices.Clone(a.open), a.asked...)), r.stillOpen(a.asked, a.open, words)) //control:asked-back-once
	return nil
}

// once returns the text with a key shared by all replies of a kind to the newest of the
// open requests.
func (s userMessage) once(kind approval.AskBack, open []session.Asked) userMessage {
	if n := len(open); n > 0 {
		s.key = kind.Text(open[n-1].ID)
	}
	return s
}

// replyOnce asks back about the open requests, once. Later there is only a reaction.
func (r *request) replyOnce(ctx context.Context, kind approval.AskBack, open []session.Asked, text string) error {
	s := r.msg.once(kind, open)
	_, err := r.w.cfg.Store.Effects.Effect(ctx, approval.ReplyTo(s.key))
	if err == nil { //control:asked-back-gets-a-sign
		r.react("confused")
		return nil
	}
	if err = store.Unless(err, store.ErrNotFound); err == nil {
		r.c.reply(s, text)
	}
	return err
}

// keep records a text that is no instruction: the model is told when the session goes on,
// and no open request is withdrawn.
func (r *request) keep(v *session.State, words string) {
	text := fmt.Sprintf(
		"[%s wrote this in the thread while you waited for an answer. It answers nothing by itself:]\n%s",
		r.msg.author.Login,
		words,
	)
	r.c.append(session.NewEvent(session.TypeNote, v.Turns, session.Note{Kind: session.NoteSaid, Text: text}))
}

// stillOpen lists the open questions or requests, and how to answer them.
func (r *request) stillOpen(questions, requests []session.Asked, words string) string {
	if len(questions) > 0 {
		return render.WhichMeant(questions, requests)
	}
	kept := live.DataOf(r.sess).Reviews
	return render.RequestsStayOpen(requests, command.IsQuestion(words), func(id string) string { return kept[id].URL })
}

// askBack asks back about a task that is a typo away from a command, or that does not
// read as an instruction while a request is open. The latter is kept, and withdraws
// nothing.
func (r *request) askBack(ctx context.Context) (asked bool, err error) {
	if r.cmd.Mode != "" || r.cmd.Model != "" || r.cmd.Turns != 0 || r.cmd.Explicit {
		return false, nil
	}
	var v *session.State
	var questions, requests []session.Asked
	if r.sess != nil {
		if v, err = r.viewWith(ctx); err != nil {
			return false, err
		}
		requests = approval.Open(v)
		questions = slices.DeleteFunc(v.Open(), func(a session.Asked) bool { return a.Kind != session.AskQuestion })
	}
	if name, ids := specs(r.w.rows).Near(r.cmd.Text); name != "" && (len(requests) > 0 || len(questions) == 0) { //control:near-miss
		text := render.DidYouMean(name, requests, ids...)
		if len(requests) > 0 && (name == "approve" || name == "deny") {
			return true, r.replyOnce(ctx, approval.AskedNear, requests, text)
		}
		r.reply(text)
		return true, nil
	}
	if len(requests) == 0 || command.Instructs(r.cmd.Text) || command.Above(r.msg.body, r.show("words above"), r.msg.names...) != "" { //control:talk-withdraws-nothing
		return false, nil
	}
	r.keep(v, r.commandText())
	return true, r.replyOnce(
		ctx,
		approval.AskedTalk,
		slices.Concat(requests, questions),
		r.stillOpen(questions, requests, r.cmd.Text),
	)
}

// okCommit handles the approval of a fork's commit.
func okCommit(ctx context.Context, r *request) error {
	var v *session.State
	if r.sess != nil {
		var err error
		if v, err = r.viewWith(ctx); err != nil {
			return err
		}
	}
	if len(r.cmd.IDs) > 0 {
		return r.okFor(ctx, v, r.cmd.IDs[0])
	}
	if v != nil && approval.WaitingCommit(v) != nil {
		r.reply(render.ForkNamesNone(approval.WaitingCommit(v).Head))
		return nil
	}
	if v != nil && len(approval.Open(v)) > 0 && len(approval.Open(v)) == len(v.Open()) {
		return r.replyOnce(ctx, approval.AskedNear, approval.Open(v), render.DidYouMean("approve", approval.Open(v)))
	}
	r.cmd.Name, r.cmd.Text = command.Task, "ok"
	if asked, err := r.askBack(ctx); asked || err != nil {
		return err
	}
	if v != nil && len(v.Open()) > 0 { // a question
		return r.follow(ctx)
	}
	r.reply(render.NothingAsked)
	return nil
}

// okFor approves one commit of a fork.
func (r *request) okFor(ctx context.Context, v *session.State, commit string) error {
	if v == nil {
		r.reply(render.NoForkWaits(commit))
		return nil
	}
	yes := session.Resolved{
		By:   r.actor.Login,
		ByID: r.actor.ID,
		Key:  cmp.Or(approval.Source(r.msg.ev, r.msg.target), r.msg.key),
	}
	res, told, err := r.w.live.Fork(&r.w.at, r.sess, nil).Answer(ctx, v, commit, yes)
	switch {
	case err != nil:
		return err
	case res == nil:
		r.reply(told)
	default:
		r.c.append(session.NewEvent(session.TypeResolved, v.Turns, *res))
		r.react("+1")
	}
	return nil
}
