package bot

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot/approval"
	"github.com/handrail-bot/handrail/bot/command"
	"github.com/handrail-bot/handrail/bot/live"
	"github.com/handrail-bot/handrail/bot/render"
	"github.com/handrail-bot/handrail/bot/store"
	"github.com/handrail-bot/handrail/policy"
)

// aside is a text without a command in a thread with a session, which may be an answer.
type aside struct {
	answer string          // to the questions in fits
	fits   []session.Asked // questions that it may answer
	asked  []session.Asked // questions to its author that it does not answer
	open   []session.Asked // requests for approval, which it never answers
	commit string          // commit of a fork that waits for its approval; "" if none does
}

// matters reports whether the text concerns the session.
func (a aside) matters() bool { return len(a.fits)+len(a.asked)+len(a.open) > 0 || a.commit != "" }

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
		if of := approval.WaitingCommit(v); of != nil {
			a.commit = of.Head
		}
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
		about := approval.Newest(v, slices.Concat(a.fits, a.open))
		r.c.askBack(r.msg, approval.AskedWhich, about, render.WhichMeant(a.fits, a.open))
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

// changesRequested is the state of a review that wants changes.
const changesRequested = "CHANGES_REQUESTED"

// keepAside keeps a text for the model. If its author may answer an open request, it asks
// back, once per request.
func (r *request) keepAside(ctx context.Context, v *session.State, a aside) error {
	words := r.cleanText("words", r.msg.body, r.msg.page)
	if words == "" {
		return nil
	}
	r.keep(v, words)                               //control:words-are-kept
	if r.msg.ev.Review.State == changesRequested { // no yes, and no answer
		return nil
	}
	may, err := r.w.live.Approvals(&r.w.at, r.sess).MayAny(ctx, r.actor, a.open)
	if err != nil {
		return err
	}
	if about := approval.Newest(v, slices.Concat(a.open, a.asked)); may || len(a.asked) > 0 {
		r.c.askBack(r.msg, approval.AskedAside, about, r.stillOpen(a.asked, a.open, words)) //control:asked-back-once
		return nil
	}
	if ok, _ := r.w.mayAsk(r.actor, policy.AskChange, r.sess); ok == policy.Allow {
		r.sayForkWaits(v)
	}
	return nil
}

// sayForkWaits tells how a commit of a fork is approved, if one waits for that. It is said once
// per commit.
func (r *request) sayForkWaits(v *session.State) {
	if of := approval.WaitingCommit(v); of != nil { //control:fork-yes-gets-a-hint
		r.c.askBack(r.msg, approval.AskedAside, of.ID, render.ForkWaits(of.Head))
	}
}

// replyOnce asks back about an open request, once. Later there is only a reaction.
func (r *request) replyOnce(ctx context.Context, kind approval.AskBack, about, text string) error {
	_, err := r.w.cfg.Store.Effects.Effect(ctx, approval.ReplyTo(kind.Text(about)))
	if err == nil { //control:asked-back-gets-a-sign
		r.react("confused")
		return nil
	}
	if err = store.Unless(err, store.ErrNotFound); err == nil {
		r.c.askBack(r.msg, kind, about, text)
	}
	return err
}

// keep records a text that is no instruction: the model is told when the session goes on,
// and no open request is withdrawn.
func (r *request) keep(v *session.State, words string) {
	did := "wrote this in the thread"
	if r.msg.ev.Review.State == changesRequested {
		did = "requested changes in a review"
	}
	text := fmt.Sprintf(
		"[%s %s while you waited for an answer. It answers nothing by itself:]\n%s", r.msg.author.Login, did, words,
	)
	note := session.Note{Kind: session.NoteSaid, Text: text, Place: r.msg.place()}
	r.c.append(session.NewEvent(session.TypeNote, v.Turns, note))
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
// nothing. While only a plan is open, a question is answered.
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
	name, ids := specs(r.w.rows).Near(r.cmd.Text)
	if name != "" && (len(requests) > 0 || len(questions) == 0) { //control:near-miss
		text := render.DidYouMean(name, requests, ids...)
		if len(requests) > 0 && (name == "approve" || name == "deny") {
			return true, r.replyOnce(ctx, approval.AskedNear, approval.Newest(v, requests), text)
		}
		r.reply(text)
		return true, nil
	}
	plans := len(requests) > 0 && len(questions) == 0 &&
		!slices.ContainsFunc(requests, func(a session.Asked) bool { return a.Kind != session.AskPlan })
	if plans && command.IsQuestion(r.cmd.Text) { //control:plan-may-be-asked-about
		r.cmd.Mode = "ask"
		return false, nil
	}
	instructs := command.Instructs(r.cmd.Text) && len(ids) == 0
	if len(requests) == 0 || instructs || command.Above(r.msg.body, r.show("words above"), r.msg.names...) != "" { //control:talk-withdraws-nothing
		return false, nil
	}
	r.keep(v, r.commandText())
	return true, r.replyOnce(
		ctx,
		approval.AskedTalk,
		approval.Newest(v, slices.Concat(requests, questions)),
		r.stillOpen(questions, requests, r.cmd.Text),
	)
}
