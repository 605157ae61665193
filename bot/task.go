package bot

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
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
	"github.com/handrail-bot/handrail/policy"
	"github.com/handrail-bot/handrail/policy/untrusted"
)

// task opens the thread's session, or continues it. A further task of the same text may have to
// wait for the end of the one before, see [request.follow].
func task(ctx context.Context, r *request) error {
	if r.own == "" {
		if asked, err := r.askBack(ctx); asked || err != nil {
			return err
		}
	}
	if by, err := r.stopAuthor(ctx); by != "" || err != nil {
		if err == nil {
			r.reply(render.StoppedBefore(by))
		}
		return err
	}
	defer func() { r.c.tasks++ }()
	r.c.moded = r.c.moded || r.cmd.Mode != ""
	if r.sess == nil {
		return r.open(ctx, nil)
	}
	if r.msg.ev.Kind == ghapp.Part { // it begins with a change of its own
		if err := r.supersede(ctx); err != nil {
			return err
		}
		return r.open(ctx, nil)
	}
	if r.w.pending != nil {
		return r.follow(ctx)
	}
	v, err := r.view(ctx)
	if err != nil {
		return err
	}
	over, err := pull.ClosedPull(ctx, r.w.at.Client, r.sess, v, r.w.at.Pull)
	if err != nil {
		return err
	}
	if over == nil && r.w.at.Outdated(v, r.cmd.Mode) { //control:review-of-the-new-head
		if r.c.tasks > 0 {
			r.reply(render.AskedAlone(r.cmd.Mode))
			return nil
		}
		if err := r.supersede(ctx); err != nil { // a plan that waits is withdrawn
			return err
		}
		r.model = v.ModelName()
		return r.open(ctx, nil)
	}
	if of := live.DataOf(r.sess).Schedule; over == nil && of != nil && of.Triage { //control:triage-is-not-gone-on-with
		if err := r.supersede(ctx); err != nil {
			return err
		}
		return r.open(ctx, nil)
	}
	if over == nil {
		return r.follow(ctx)
	}
	if err := r.supersede(ctx); err != nil {
		return err
	}
	r.model = v.ModelName() //control:model-of-the-session-before
	before := pull.PreviousSession(v, over)
	return r.open(ctx, &before)
}

// supersede ends the thread's session, because its pull request is over and the user asks
// for more, and says so. A running session ends first; then the delivery is handled
// again.
func (r *request) supersede(ctx context.Context) error {
	v, err := r.view(ctx)
	if err != nil {
		return err
	}
	if !v.Over() {
		r.end(v, render.ReplacedBy(r.msg.author.Login))
	} else {
		r.c.append(approval.DropPlan(v, r.from(), r.msg.author.ID)...)
	}
	if len(r.c.Events) > 0 {
		// Earlier commands of the same comment were for the old session, and go with it.
		before := *r.c
		before.replies, r.c.Events, r.c.Intents = nil, nil, nil
		if err := r.w.commit(ctx, &before); err != nil {
			return err
		}
	}
	if r.w.running == r.sess.ID {
		r.w.halt = true
		return errStopped
	}
	if v.Over() && r.sess.State == v.Phase {
		return nil
	}
	_, err = r.w.runSession(ctx)
	return err
}

// cleanText returns a text as a reader sees it, and logs removals. page is its HTML.
func (r *request) cleanText(what, text, page string) string {
	text, n := untrusted.Clean(text, page) //control:hidden-text
	if n.Total() > 0 {
		r.w.cfg.Log.Info(
			"text cleaned", "thread", r.w.key, "source", r.msg.key, "what", what, "removed",
			n.Total(),
			"kinds",
			n.String(),
		)
	}
	return strings.TrimSpace(text)
}

// follow adds a text to the session. It answers open questions, and withdraws open
// requests for approval, except for a plan if the text only asks something. A request in another
// mode, without words, or of "fix" alone answers nothing: it withdraws both. A further task of the
// same text in another mode waits until the one before has ended: a session has one mode at a time.
func (r *request) follow(ctx context.Context) error {
	s := r.msg
	v, err := r.viewWith(ctx)
	if err != nil {
		return err
	}
	with, ok := r.goOn(v)
	if !ok {
		return nil
	}
	m := session.Message{
		Key:    s.key,
		Author: s.author.Login,
		Text:   r.words(),
		Links:  r.links(false),
		Place:  s.place(),
		Mode:   with.Mode,
		Why:    r.cleanText("why", s.why, ""),
	}
	m.Turns = with.Turns //control:turns-of-a-follow-up
	if m.Context, err = r.news(ctx, with.Model, m.Text, v); err != nil {
		return err
	}
	rules := r.w.live.InForce(live.DataOf(r.sess))
	waits := r.c.tasks > 0 && (m.Mode != "" || len(v.Later) > 0) //control:one-mode-at-a-time
	if !waits {                                                  // it gets its brief when it begins
		brief, err := r.w.live.Brief(ctx, &r.w.at, r.sess, cmp.Or(m.Mode, v.ModeName()), rules)
		if err != nil {
			return err
		}
		m.Context = append(brief, m.Context...)
	}
	images, words := r.pictures(ctx, with.Model, false)
	m.Text, m.Images = m.Text+words, images
	if waits {
		m.Mode, m.Model = cmp.Or(m.Mode, v.ModeName()), with.Model
		r.c.append(session.NewEvent(session.TypeLater, v.Turns, session.Later{Message: m, ByID: s.author.ID}))
		r.react("eyes")
		return nil
	}
	r.goOnWith(v, with.Model)
	answered := false
	if !session.LeavesPlan(cmp.Or(m.Mode, v.ModeName())) { //control:plan-outlives-a-question
		r.c.append(approval.DropPlan(v, m, s.author.ID)...) //control:plan-replaced
	}
	for _, a := range v.Open() {
		if a.Kind == session.AskPlan ||
			a.Kind == session.AskCommit { // plans are dealt with above; a commit's approval does not depend on the task
			continue
		}
		res := session.Resolved{ID: a.ID, Verdict: policy.Withdrawn, By: m.Author, ByID: s.author.ID, Key: s.key}
		answer, ok := r.answerTo(a, m.Text)
		if a.Kind == session.AskQuestion && m.Mode == "" && ok { //control:new-request-is-no-answer
			res.Verdict, res.Reason, answered = policy.Answered, answer, true
		}
		r.c.append(session.NewEvent(session.TypeResolved, v.Turns, res))
	}
	if answered {
		m.Text = ""
	}
	r.c.append(session.NewEvent(session.TypeMessage, v.Turns, m))
	r.react("eyes")
	if is, err := policy.ParseMode(cmp.Or(m.Mode, v.ModeName())); err != nil || !is.ReadOnly() {
		r.sayForkWaits(v)
	}
	return nil
}

// beginLater begins the approved plan or the request that waited for the end of the present
// request, and reports whether there is one. If the author of a request has lost the right to it,
// it ends at once.
func (w *worker) beginLater(ctx context.Context, l *live.Session) (begun bool, err error) {
	if plan := l.State.DuePlan(); plan != nil {
		m := session.Message{Key: plan.Answer.Key, Author: plan.Answer.By, Plan: plan.ID}
		return true, l.Append(ctx, session.NewEvent(session.TypeMessage, l.State.Turns, m))
	}
	next := l.State.Due()
	if next == nil {
		return false, nil
	}
	m := next.Message
	if err := w.at.Renew(ctx, w.cfg.GitHub, l.Data.Installation); err != nil { // the request before may have pushed
		return false, err
	}
	if m.Context, err = w.withBrief(ctx, l, m); err != nil {
		return false, err
	}
	var events []*session.Event
	if m.Model != l.State.ModelName() {
		change := session.Message{Key: m.Key, Author: m.Author, Model: m.Model}
		events = append(events, session.NewEvent(session.TypeMessage, l.State.Turns, change))
	}
	m.Model = ""
	events = append(events, session.NewEvent(session.TypeMessage, l.State.Turns, m))
	why, err := w.mayNot(ctx, next, l.Row)
	if err != nil {
		return false, err
	}
	if why != "" { //control:right-when-it-begins
		events = append(events, l.State.Stop(m, render.NotStarted(why))...)
	}
	return true, l.Append(ctx, events...)
}

// withBrief returns the context of a request that begins now.
func (w *worker) withBrief(ctx context.Context, l *live.Session, m session.Message) ([]session.Item, error) {
	brief, err := w.live.Brief(ctx, &w.at, l.Row, m.Mode, w.live.InForce(l.Data))
	return append(brief, m.Context...), err
}

// mayNot returns the reason why the author of a request that waited may not make it now, or "".
func (w *worker) mayNot(ctx context.Context, next *session.Later, row *store.Session) (string, error) {
	task, err := rowOf(w.rows, command.Command{Name: command.Task})
	if err != nil {
		return "", err
	}
	actor, err := w.at.Client.Actor(ctx, next.Message.Author)
	if err != nil {
		return "", err
	}
	if actor.ID != next.ByID {
		return render.UnknownAuthor, nil
	}
	if may, why := w.mayAsk(actor, task.needs(command.Command{Mode: next.Message.Mode}), row); may != policy.Allow {
		return why + ".", nil
	}
	return "", nil
}

// answerTo returns the answer to a question in a command with these words. There is none
// without words, and "fix" alone is a request, unless it is a choice of the question.
func (r *request) answerTo(a session.Asked, words string) (answer string, ok bool) {
	if command.IsFix(r.cmd.Text) { //control:fix-answers-nothing
		return command.Question{Text: a.Display, Choices: a.Choices}.Answer(r.cmd.Text)
	}
	return words, r.cmd.Text != ""
}

// sessionID returns the id of the session that a text begins.
func sessionID(thread, text string) string { return "s" + ghapp.Digest(thread, text)[:12] }

// branch returns the branch of a new session. With free it is one that does not exist.
func (r *request) branch(ctx context.Context, cfg policy.Config, row *store.Session, free bool) (string, error) {
	name, err := policy.Branch(cfg.Branch, policy.BranchValues{
		Number:  r.w.at.Ref.Number,
		Title:   cmp.Or(r.msg.ev.Title, r.commandText()),
		Session: row.ID,
		Mode:    row.Mode,
	})
	if err == nil && free {
		name, err = pull.FreeBranch(ctx, r.w.at.Client, name)
	}
	return name, err
}

// open starts a new session in the thread. before describes the previous session if its
// work is merged or closed; it may be nil.
func (r *request) open(ctx context.Context, before *session.Item) error {
	w, s := r.w, r.msg
	place, err := w.cfg.Runner.StartPoint(ctx, w.at)
	if fault.Temporary(err) {
		return err
	}
	if err != nil {
		w.cfg.Log.ErrorContext(ctx, "session could not start", "thread", w.key, "err", err)
		r.reply(render.CouldNotStart(fault.InWords(err)))
		return nil
	}
	cfg := policy.Merge(w.cfg.Policy, place.Config).WithDefaults()
	with, ok := r.choose(cfg)
	if !ok || !r.mayBegin(cfg, with) {
		return nil
	}
	id := sessionID(w.key, s.key)
	part, err := r.part(ctx)
	if errors.Is(err, errNoPart) {
		r.reply(render.CouldNotStart(err))
		return nil
	}
	if err != nil {
		return err
	}
	if part != nil {
		place.Base = part.Base
	}
	task := session.Task{
		Session: id, Thread: w.key, Text: r.words(), Mode: with.Mode, Model: with.Model,
		Base: place.Base, Branch: place.Branch, Requester: r.actor.Login, Turns: with.Turns, Nonce: session.NewID(),
		Links: r.links(true), Place: s.place(), Why: r.cleanText("why", s.why, ""),
		Convention: place.Convention,
	}
	if task.Context, err = r.background(ctx, task.Model, task.Text, session.Place{}, false); err != nil {
		return err
	}
	brief, err := w.live.Brief(ctx, &w.at, nil, task.Mode, cfg)
	if err != nil {
		return err
	}
	task.Context = append(brief, task.Context...)
	if before != nil {
		task.Context = append([]session.Item{*before}, task.Context...)
	}
	images, words := r.pictures(ctx, task.Model, true)
	task.Text, task.Images = task.Text+words, images
	if r.job != nil { // its result is reported in another way
		place.Config.Comments = policy.Comments{Progress: policy.NoProgress, End: policy.Quiet}
	}
	title, _ := untrusted.CleanPlain(w.at.Issue.Title)
	data, err := json.Marshal(
		live.Data{
			Unattended:   live.Unattended{Schedule: r.job},
			RequesterID:  r.actor.ID,
			Person:       r.actor.Lookup == policy.Found && !r.actor.Bot,
			Installation: s.ev.Installation,
			Repository:   w.at.Repo.ID,
			Target:       place.Target,
			IsPull:       w.at.Pull != nil,
			Title:        title,
			Config:       place.Config,
			Whole:        part.whole(),
		},
	)
	if err != nil {
		return err
	}
	row := &store.Session{
		ID: id, Thread: w.key, Repo: w.at.Ref.Repository(), Requester: r.actor.Login, Mode: with.Mode, Model: task.Model,
		Branch: task.Branch, Base: task.Base, State: session.PhaseQueued, Data: data,
	}
	if task.Branch == "" {
		if row.Branch, err = r.branch(ctx, cfg, row, before != nil); err != nil {
			return err
		}
		task.Branch = row.Branch
	}
	err = w.cfg.Store.Sessions.Create(ctx, row)
	if errors.Is(err, store.ErrExists) { // by an interrupted try
		row, err = w.cfg.Store.Sessions.Session(ctx, id)
	}
	if err != nil {
		return fmt.Errorf("open session: %w", err)
	}
	task.Base, task.Branch = row.Base, row.Branch
	w.pending = row
	r.c.append(session.NewEvent(session.TypeOpened, 0, session.Opened{Task: task}))
	r.c.append(part.events()...)
	if r.job == nil {
		r.react("eyes")
	}
	return nil
}
