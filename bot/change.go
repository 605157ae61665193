package bot

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot/approval"
	"github.com/handrail-bot/handrail/bot/command"
	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/bot/live"
	"github.com/handrail-bot/handrail/bot/outbox"
	"github.com/handrail-bot/handrail/bot/render"
	"github.com/handrail-bot/handrail/bot/store"
	"github.com/handrail-bot/handrail/bot/thread"
	"github.com/handrail-bot/handrail/policy"
	"github.com/handrail-bot/handrail/policy/untrusted"
)

// change collects the effects of a delivery, so that they are stored in one transaction
// together with its completion.
type change struct {
	store.Change
	at  thread.Ref
	now time.Time

	by      author
	urgent  bool             // an answer or a stop
	replies []string         // to the text in asked
	folds   []untrusted.Fold // below the replies
	after   []ghapp.Write    // comments that continue the reply
	signs   []string         // reactions to the text in asked
	asked   userMessage      // the text that is answered
	once    string           // key of the reply if it only asks back, see [change.askBack]
	tasks   int              // tasks of the text so far
	moded   bool             // one of them names its mode

	notice    ghapp.Target // comment that told the text to wait; the first comment replaces it
	noticedAt string       // key of that text

	book *command.Book // the repository's own commands; nil until they are needed
}

func (w *worker) change() *change { return &change{at: w.at.Ref, now: w.cfg.Now()} }

// changeFor returns the change for a text, which settles the notice that the text waits for GitHub.
func (w *worker) changeFor(ctx context.Context, text string) (c *change, err error) {
	c = w.change()
	c.noticedAt = text
	c.notice, err = w.noticeOf(ctx, text)
	return c, err
}

// inNotice has a comment replace the notice, unless one before does.
func (c *change) inNotice(wr ghapp.Write) ghapp.Write {
	wr.Notice, c.notice = c.notice, ghapp.Target{} //control:notice-becomes-answer
	return wr
}

// settleNotice adds the edit of a notice that no comment replaces.
func (c *change) settleNotice() {
	if c.notice != (ghapp.Target{}) { //control:notice-is-settled
		c.intend(live.SettleNotice(c.noticedAt, c.notice))
	}
}

// append adds events to the log.
func (c *change) append(events ...*session.Event) { c.Events = append(c.Events, events...) }

// intend adds a write. Nothing is sent before the change is stored.
func (c *change) intend(wr ghapp.Write) {
	wr.First = wr.First || c.urgent
	c.Intents = append(c.Intents, outbox.Intent(wr, c.at, c.now))
}

// reply answers in the thread. All replies to one text are one comment.
func (c *change) reply(s userMessage, text string) {
	if len(c.replies) == 0 {
		c.asked, c.once = s, ""
	}
	c.replies = append(c.replies, text)
}

// askBack replies about an open request, once per kind. If the comment holds nothing else, it is
// edited away when the request is settled.
func (c *change) askBack(s userMessage, kind approval.AskBack, request, text string) {
	c.reply(s, text)
	if len(c.replies) == 1 {
		c.once = kind.Text(request)
	}
}

// post replies with a text that has folds.
func (c *change) post(s userMessage, p untrusted.Post) {
	c.reply(s, p.Text)
	c.folds = p.Folds
}

// intendReply adds the comment with the replies.
func (c *change) intendReply() {
	if len(c.replies) > 0 {
		key := c.asked.key
		if len(c.replies) == 1 && c.once != "" { //control:reply-with-an-effect-stays
			key = c.once
		}
		body := render.Replies(c.replies) //control:one-reply
		wr := ghapp.Write{Key: approval.ReplyTo(key), Kind: ghapp.WriteComment, Body: body, Folds: c.folds}
		c.intend(c.inNotice(approval.InPlace(c.at, c.asked.place(), wr)))
		for _, wr := range c.after {
			c.intend(wr)
		}
		c.replies, c.folds, c.after = nil, nil, nil
	}
}

// react adds a reaction to a text, once.
func (c *change) react(s userMessage, content string) {
	if s.takesReaction() && !slices.Contains(c.signs, content) {
		c.signs = append(c.signs, content)
		c.intend(
			ghapp.Write{
				Key:    reactionKey(s, content),
				Kind:   ghapp.WriteReaction,
				Thread: s.ev.Thread,
				Target: s.target,
				Body:   content,
			},
		)
	}
}

func reactionKey(s userMessage, content string) string {
	return "react-" + ghapp.Digest(s.key, content)
}

// takesReaction reports whether GitHub allows reactions to a text. It does not for
// reviews, and a text of the dashboard is not on GitHub.
func (s userMessage) takesReaction() bool {
	return s.target != (ghapp.Target{}) || s.from != inReview && s.from != inDashboard
}

// wordsKey is the lease key for answers in a thread without a session.
func wordsKey(thread string) string { return "words " + thread }

// commit stores a change in one transaction, then makes its writes on GitHub.
func (w *worker) commit(ctx context.Context, c *change) error {
	sess, err := w.session(ctx)
	if err != nil {
		return err
	}
	c.intendReply()
	if sess == nil {
		c.settleNotice()
		return w.answerOnly(ctx, c)
	}
	f, err := w.leases.Take(ctx, sess.ID)
	if err != nil {
		return err
	}
	if w.pending != nil && w.live.InForce(live.DataOf(sess)).Comments.Progress != policy.NoProgress {
		c.intendProgress(&w.at, sess)
	}
	c.settleNotice()
	for _, in := range c.Intents {
		in.Session = sess.ID
	}
	if err := w.cfg.Store.Logs.Apply(ctx, f, c.Change); err != nil {
		return fmt.Errorf("record delivery: %w", err)
	}
	w.pending, w.recorded = nil, true
	return w.outbox(f).Finish(ctx)
}

// answerOnly makes the writes of a change in a thread without a session. It completes the
// deliveries last: an interrupted change is repeated, and the keys of its intents keep a
// write from happening twice.
func (w *worker) answerOnly(ctx context.Context, c *change) error {
	f, err := w.leases.Take(ctx, wordsKey(w.key))
	if err != nil {
		return err
	}
	for _, in := range c.Intents {
		if err := w.cfg.Store.Intents.Intend(ctx, f, in); err != nil {
			return fmt.Errorf("record intent: %w", err)
		}
	}
	w.recorded = true
	for _, in := range c.Intents {
		if _, err := w.outbox(f).Perform(ctx, *in); ghapp.UnlessRefused(err) != nil {
			return err
		}
	}
	return w.cfg.Store.Deliveries.Done(ctx, "done", c.Done...)
}

// intendProgress plans the progress comment of a new session.
func (c *change) intendProgress(at *live.Thread, row *store.Session) {
	v := session.NewState()
	for _, e := range c.Events {
		if v.Apply(*e) != nil {
			return
		}
	}
	v.Phase = session.PhaseQueued
	if live.Unasked(at, v) {
		return
	}
	c.intend(c.inNotice(live.ProgressWrite(live.ProgressKey(row.ID), at, row, v)))
}
