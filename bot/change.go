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

// change collects what a delivery leads to, so that all of it is stored in
// one transaction together with the delivery being done.
type change struct {
	store.Change
	at  thread.Ref
	now time.Time

	by      author
	urgent  bool             // an answer or a stop
	replies []string         // to one text
	folds   []untrusted.Fold // below them
	after   []ghapp.Write    // comments that go on where the one with them ends
	signs   []string         // on it
	asked   userMessage      // that text

	book *command.Book // the commands of the repository's own; nil when nobody asked for them yet
}

func (w *worker) change() *change { return &change{at: w.at.Ref, now: w.cfg.Now()} }

// append adds events to the log.
func (c *change) append(events ...*session.Event) { c.Events = append(c.Events, events...) }

// intend adds a write. Nothing is sent before the change is stored.
func (c *change) intend(wr ghapp.Write) {
	wr.First = wr.First || c.urgent
	c.Intents = append(c.Intents, outbox.Intent(wr, c.at, c.now))
}

// reply answers in the thread. All answers to one text are one comment.
func (c *change) reply(s userMessage, text string) {
	if len(c.replies) == 0 {
		c.asked = s
	}
	c.replies = append(c.replies, text)
}

// post answers with a text that has a fold.
func (c *change) post(s userMessage, p untrusted.Post) {
	c.reply(s, p.Text)
	c.folds = p.Folds
}

// intendReply adds the one comment that answers.
func (c *change) intendReply() {
	if len(c.replies) > 0 {
		c.intend(approval.InPlace(c.at, c.asked.place(), ghapp.Write{Key: approval.ReplyKey + ghapp.Digest(c.asked.key, "reply"), Kind: ghapp.WriteComment, Body: render.Replies(c.replies), Folds: c.folds})) //control:one-reply
		for _, wr := range c.after {
			c.intend(wr)
		}
		c.replies, c.folds, c.after = nil, nil, nil
	}
}

// react puts a sign on what was said.
func (c *change) react(s userMessage, content string) {
	if s.takesReaction() && !slices.Contains(c.signs, content) {
		c.signs = append(c.signs, content)
		c.intend(ghapp.Write{Key: reactionKey(s, content), Kind: ghapp.WriteReaction, Thread: s.ev.Thread, Target: s.target, Body: content})
	}
}

func reactionKey(s userMessage, content string) string {
	return "react-" + ghapp.Digest(s.key, content)
}

// takesReaction reports whether GitHub lets people react to a text: not to a
// review.
func (s userMessage) takesReaction() bool {
	return s.target != (ghapp.Target{}) || s.ev.Kind != "pull_request_review"
}

// wordsKey is the lease under which a thread is answered that has no session.
func wordsKey(thread string) string { return "words " + thread }

// commit stores a change in one transaction, then does what it intends on
// GitHub.
func (w *worker) commit(ctx context.Context, c *change) error {
	sess, err := w.session(ctx)
	if err != nil {
		return err
	}
	c.intendReply()
	if sess == nil {
		return w.answerOnly(ctx, c)
	}
	f, err := w.leases.Take(ctx, sess.ID)
	if err != nil {
		return err
	}
	if w.opening != nil && w.live.InForce(live.DataOf(sess)).Comments.Progress != policy.NoProgress {
		c.intendProgress(&w.at, sess)
	}
	for _, in := range c.Intents {
		in.Session = sess.ID
	}
	if err := w.cfg.Store.Logs.Apply(ctx, f, c.Change); err != nil {
		return fmt.Errorf("record delivery: %w", err)
	}
	w.opening = nil
	return w.outbox(f).Finish(ctx)
}

// answerOnly does what a change intends in a thread that has no session. The
// deliveries are done after the answers: what is cut off here is done again,
// and the intents' keys keep it from happening twice.
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
	if v.Phase = session.PhaseQueued; live.Quiet(v, 0) {
		return
	}
	text := live.ProgressText(at, row, v)
	c.intend(ghapp.Write{Key: live.ProgressKey(row.ID), Kind: ghapp.WriteComment, Body: text.Text, Folds: text.Folds})
}
