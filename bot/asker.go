package bot

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/handrail-bot/handrail/bot/approval"
	"github.com/handrail-bot/handrail/bot/command"
	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/bot/live"
	"github.com/handrail-bot/handrail/bot/outbox"
	"github.com/handrail-bot/handrail/bot/render"
	"github.com/handrail-bot/handrail/bot/store"
	"github.com/handrail-bot/handrail/policy"
)

// Quotas limits requests. Wait returns the time until a request may be handled, and Take
// counts one that was handled.
type Quotas interface {
	Wait(now time.Time, a Asker) time.Duration
	Take(now time.Time, a Asker)
}

// Asker is the requester and the place of a request. Urgent marks an answer or a stop.
type Asker struct {
	Sender, Thread, Repository string
	Installation               int64
	Urgent                     bool
}

// unlistedBot reports whether an account is a bot that the configuration does not allow.
// It gets no answer, and is not looked up: two bots that answer each other would never
// end.
func (b *Bot) unlistedBot(u ghapp.User) bool {
	return u.Bot && !slices.Contains(b.cfg.Policy.Approvals.Bots, u.ID) //control:unlisted-bots
}

// author is the author of a text, as far as it was looked up. If quiet, there is no reply
// unless the text has an effect.
type author struct {
	actor policy.Actor
	quiet bool
}

// admit looks up the author of a text, and returns the reason to ignore it, or "". An
// author without rights is admitted only in a thread with a session, and is quiet unless
// the session is theirs.
func (w *worker) admit(ctx context.Context, s userMessage) (by author, why string, err error) {
	sender, lookup := s.author, w.at.Client.Sender
	if sender.Bot {
		lookup = w.at.Client.Actor // a listed bot
	}
	if by.actor, err = lookup(ctx, sender.Login); err != nil {
		return by, "", err
	}
	if policy.Insider(by.actor) && by.actor.ID != sender.ID {
		return by, render.UnknownAuthor, nil
	}
	if policy.Insider(by.actor) || sender.Bot {
		return by, "", nil
	}
	sess, err := w.session(ctx)
	if err != nil || sess == nil {
		return by, render.WhyNoPart, err
	}
	by.quiet = by.actor.Lookup != policy.Found || live.DataOf(sess).RequesterID != sender.ID //control:no-words-without-rights
	return by, "", nil
}

// turnAway ends a delivery without effect. There is one reaction per thread; the reason
// goes to the log, and to the check run of the thread's session.
func (w *worker) turnAway(ctx context.Context, s userMessage, why string) error {
	w.cfg.Log.InfoContext(ctx, "not answered", "thread", w.key, "sender", s.author.Login, "why", why)
	w.settleNotice(ctx, s.key)
	first, err := w.sign(ctx, s)
	if err != nil {
		return err
	}
	if first {
		w.turnedAway = s.author.Login + ": " + why
	}
	return w.cfg.Store.Deliveries.Done(ctx, "not answered: "+why, s.id)
}

// sign adds the one reaction of a thread to a text that is not answered, and reports
// whether this is it.
func (w *worker) sign(ctx context.Context, s userMessage) (bool, error) {
	if !s.takesReaction() {
		return false, nil
	}
	wr := ghapp.Write{
		Key:      "sign-" + ghapp.Digest(w.key), //control:one-sign
		Kind:     ghapp.WriteReaction,
		Target:   s.target,
		Body:     "confused",
		Outsider: true,
	}
	return w.once(ctx, outbox.Intent(wr, w.at.Ref, w.cfg.Now()))
}

// once makes an optional write unless it was tried before, and reports whether this was
// the first try. A failure is only logged.
func (w *worker) once(ctx context.Context, in *store.Intent) (first bool, err error) {
	if err := w.cfg.Store.Intents.Intend(ctx, store.Fence{}, in); err != nil {
		return false, fmt.Errorf("record intent: %w", err)
	}
	if in.State != store.Intended {
		return false, nil
	}
	if _, err := w.outbox(store.Fence{}).Perform(ctx, *in); err != nil {
		w.cfg.Log.InfoContext(ctx, "left out", "thread", w.key, "kind", in.Kind, "err", err)
	}
	return true, nil
}

// acknowledge adds the reaction to a task before code and diff are read, which may take long. It
// is a courtesy: if it fails now, the reaction comes with the other writes.
func (r *request) acknowledge(ctx context.Context, right policy.Request) error {
	may, _ := r.w.mayAsk(r.actor, right, r.sess)
	if r.cmd.Name != command.Task || may != policy.Allow || slices.Contains(r.c.signs, "eyes") || !r.msg.takesReaction() { //control:seen-by-right
		return nil
	}
	c, try := *r.c, *r // a task that is asked back gets no reaction
	try.c = &c
	if asked, err := try.askBack(ctx); asked || err != nil {
		return err
	}
	in, err := r.w.cfg.Store.Effects.Effect(ctx, reactionKey(r.msg, "eyes")) // it may have been added during a run
	if store.Unless(err, store.ErrNotFound) != nil {
		return err
	}
	if in.State != store.Done {
		early := ghapp.Write{
			Key:    "seen-" + ghapp.Digest(r.msg.key),
			Kind:   ghapp.WriteReaction,
			Thread: r.msg.ev.Thread,
			Target: r.msg.target,
			Body:   "eyes",
		}
		if !tell(ctx, r.w, early) { //control:seen-at-once
			return nil
		}
	}
	r.c.signs = append(r.c.signs, "eyes")
	return nil
}

// tell makes a write once and now, before the change that it belongs to is stored. It
// reports whether the write was made.
func tell(ctx context.Context, w *worker, wr ghapp.Write) bool {
	in := outbox.Intent(wr, w.at.Ref, w.cfg.Now())
	err := w.cfg.Store.Intents.Intend(ctx, store.Fence{}, in)
	if err == nil {
		_, err = w.outbox(store.Fence{}).Perform(ctx, *in)
	}
	if err != nil {
		w.cfg.Log.InfoContext(ctx, "left out", "thread", w.key, "kind", in.Kind, "err", err)
	}
	return err == nil
}

// tellAway tells the thread, once, that GitHub does not serve a request, if that lasts
// longer than a user would wait without notice. The request waits and begins by itself.
// If the author's rights are unknown, the notice is for those who had some, or began the
// session; others get the one sign of the thread. A text whose answer is recorded needs none.
func tellAway(ctx context.Context, w *worker, d *store.Delivery, s userMessage, cause error) {
	if w.recorded { //control:no-notice-beside-the-answer
		return
	}
	if _, err := w.cfg.Store.Effects.Effect(ctx, approval.ReplyTo(s.key)); err == nil { // by an earlier try
		return
	}
	if w.cfg.Now().Sub(d.Received) > tellAwayAfter*w.cfg.Every { //control:github-away-is-told
		w.signAway(ctx, s, cause)
	}
}

// signAway gives the author of a text that waits for GitHub the notice, or the sign.
func (w *worker) signAway(ctx context.Context, s userMessage, cause error) {
	if w.getsReplies || w.knows(ctx, s) {
		wr := ghapp.Write{
			Key:  live.NoticeKey(s.key),
			Kind: ghapp.WriteComment,
			Body: render.GitHubAway(ghapp.BadAnswer(cause)),
		}
		tell(ctx, w, approval.InPlace(w.at.Ref, s.place(), wr))
		return
	}
	if _, err := w.sign(ctx, s); err != nil {
		w.cfg.Log.InfoContext(ctx, "left out", "thread", w.key, "kind", ghapp.WriteReaction, "err", err)
	}
}

// noticeOf returns the comment that tells a text to wait for GitHub, if there is one. One whose answer
// was lost is looked up.
func (w *worker) noticeOf(ctx context.Context, text string) (ghapp.Target, error) {
	in, err := w.cfg.Store.Effects.Effect(ctx, live.NoticeKey(text))
	if err != nil {
		return ghapp.Target{}, store.Unless(err, store.ErrNotFound)
	}
	ref, err := w.outbox(store.Fence{}).Perform(ctx, in)
	return live.TargetOf(ref), ghapp.UnlessRefused(err)
}

// settleNotice edits the notice of a text that ends without a change.
func (w *worker) settleNotice(ctx context.Context, text string) {
	in, err := w.cfg.Store.Effects.Effect(ctx, live.NoticeKey(text))
	if err == nil && in.State == store.Done && w.at.Client != nil {
		tell(ctx, w, live.SettleNotice(text, live.TargetOf(outbox.RefOf(in))))
	}
}

// knows reports whether the author of a text is known without asking GitHub.
func (w *worker) knows(ctx context.Context, s userMessage) bool {
	sess, err := w.session(ctx)
	own := err == nil && sess != nil && s.author.ID != 0 && live.DataOf(sess).RequesterID == s.author.ID
	return own || w.cfg.GitHub.Remembers(w.at.Ref.Repository(), s.author.Login)
}

// tellAwayAfter is the delay of the notice by tellAway, as a multiple of [Config.Every]:
// half a minute by default.
const tellAwayAfter = 10

const (
	lookAgain       = 3 * time.Second  // until the next look at deliveries over a quota
	lookAgainAtMany = 30 * time.Second // likewise, after too many lookups of accounts
)

// asking identifies a waiting sender. Urgent deliveries wait separately.
type asking struct {
	sender string
	urgent bool
}

// postponed is the error of work over a quota. It is not a failure.
type postponed struct{ until time.Time }

// Error implements error.
func (p *postponed) Error() string {
	return "over a quota until " + p.until.UTC().Format(time.TimeOnly)
}

// Until returns the time to look again.
func (p *postponed) Until() time.Time { return p.until }

// overQuota postpones a delivery over a quota. Later deliveries of the same sender wait
// with it, those of others do not.
func (w *worker) overQuota(ctx context.Context, d *store.Delivery, s userMessage, a Asker) error {
	if w.cfg.Quotas == nil {
		return nil
	}
	now := w.cfg.Now()
	wait := w.cfg.Quotas.Wait(now, a)
	if wait <= 0 { //control:beyond-a-quota
		return nil
	}
	w.cfg.Log.WarnContext(ctx, "over a quota", "thread", w.key, "sender", a.Sender, "wait", wait)
	if err := w.tellQuota(ctx, s, a, now.Add(wait)); err != nil {
		return err
	}
	return w.waits.postpone(d, now.Add(min(wait, lookAgain)))
}

// quotaKey begins the keys of the notices about a repository's quota.
func quotaKey(repo string) string { return "quota " + strings.ToLower(repo) + "#" }

// tellQuota gives a text over a quota the notice that it waits, once per sender, repository and
// hour.
func (w *worker) tellQuota(ctx context.Context, s userMessage, a Asker, until time.Time) error {
	mark := quotaKey(a.Repository) + ghapp.Digest(a.Sender)
	hour := w.cfg.Now().UTC().Truncate(time.Hour).Format(time.RFC3339) + " "
	told, err := w.cfg.Store.Meta.Get(ctx, mark)
	if store.Unless(err, store.ErrNotFound) != nil {
		return err
	}
	if text, ok := strings.CutPrefix(string(told), hour); ok && text != s.key {
		return nil
	}
	if err := w.cfg.Store.Meta.Set(ctx, mark, []byte(hour+s.key)); err != nil {
		return err
	}
	wr := ghapp.Write{Key: live.NoticeKey(s.key), Kind: ghapp.WriteComment, Body: render.Postponed(a.Sender, until)}
	_, err = w.once(ctx, outbox.Intent(approval.InPlace(w.at.Ref, s.place(), wr), w.at.Ref, w.cfg.Now()))
	return err
}

// waits are the senders over a quota, with the times of the next looks at their deliveries.
type waits map[asking]time.Time

func askingOf(d *store.Delivery) asking { return asking{d.Sender, d.Priority <= store.PriorityAnswer} }

// postpone has the sender of a delivery wait.
func (all waits) postpone(d *store.Delivery, until time.Time) error {
	all[askingOf(d)] = until
	return &postponed{until}
}

// expire removes the senders that have waited long enough.
func (all waits) expire(now func() time.Time) {
	maps.DeleteFunc(all, func(_ asking, until time.Time) bool { return !now().Before(until) })
}

// next returns the oldest delivery of the thread that need not wait.
func (w *worker) next(ctx context.Context) (*store.Delivery, error) {
	w.waits.expire(w.cfg.Now)
	if len(w.waits) == 0 {
		return w.cfg.Store.Deliveries.Next(ctx, w.key)
	}
	after := int64(0)
	for range 5 { // looks no further than five pages
		list, err := w.cfg.Store.Wakes.Urgent(ctx, w.key, store.PriorityIdle, after)
		if err != nil || len(list) == 0 {
			return nil, errors.Join(err, store.ErrNotFound)
		}
		for _, d := range list {
			if _, waits := w.waits[askingOf(d)]; !waits {
				return d, nil
			}
			after = d.Seq
		}
	}
	return nil, store.ErrNotFound
}

// nextLook returns a [postponed] error with the time of the next look, or nil.
func (all waits) nextLook() error {
	var first *postponed
	for _, until := range all {
		if first == nil || until.Before(first.until) {
			first = &postponed{until}
		}
	}
	if first == nil {
		return nil
	}
	return first
}
