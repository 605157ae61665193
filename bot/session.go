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
	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/bot/render"
	"github.com/handrail-bot/handrail/bot/store"
	"github.com/handrail-bot/handrail/policy"
	"github.com/handrail-bot/handrail/policy/untrusted"
)

// record is what the bot keeps of a session besides its log.
type record struct {
	RequesterID  int64         `json:"requester_id"`
	Installation int64         `json:"installation"`
	Target       string        `json:"target"` // branch that the pull request goes to
	IsPull       bool          `json:"is_pull"`
	Config       policy.Config `json:"config"`

	Used usage `json:"used,omitzero"`

	Tries   int   `json:"tries,omitempty"`    // runs that failed for a reason that may pass
	TriesAt int64 `json:"tries_at,omitempty"` // answers of the model at the last of them

	Checks []checkMark `json:"checks,omitempty"` // the check runs that say how it stands

	Reviews map[string]approval.Stage `json:"reviews,omitempty"` // by request
}

func recordOf(s *store.Session) record {
	var r record
	if s != nil && json.Unmarshal(s.Data, &r) != nil {
		return record{}
	}
	return r
}

// put writes r back into the row.
func (r record) put(s *store.Session) error {
	data, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("write record of %s: %w", s.ID, err)
	}
	s.Data = data
	return nil
}

// config is what is in force in a session: what was when it was opened, under
// the server's present one.
func (w *worker) config(r record) policy.Config {
	return policy.Merge(w.cfg.Policy, r.Config).WithDefaults()
}

func requesterID(s *store.Session) int64 { return recordOf(s).RequesterID }

// session returns the thread's newest session, or nil. A row whose log is
// empty is left from an opening that was cut off: it comes to life when its
// delivery is handled again.
func (w *worker) session(ctx context.Context) (*store.Session, error) {
	if w.opening != nil {
		return w.opening, nil
	}
	s, err := w.cfg.Store.Sessions.ByThread(ctx, w.key)
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil
	}
	if err != nil || s.State != session.PhaseQueued {
		return s, err
	}
	events, err := w.cfg.Store.Logs.Log(store.Fence{Key: s.ID}).Events(ctx, 0)
	if err != nil || len(events) == 0 {
		return nil, err
	}
	return s, nil
}

// viewWith is the view with what the same delivery said before.
func (w *worker) viewWith(ctx context.Context, s *store.Session, c *change) (*session.State, error) {
	v, err := w.view(ctx, s)
	if err != nil {
		return nil, err
	}
	seq := v.Seq
	for _, e := range c.Events {
		if err := v.Apply(*e); err != nil {
			return nil, err
		}
	}
	v.Seq = seq
	return v, nil
}

// view folds the session's log.
func (w *worker) view(ctx context.Context, s *store.Session) (*session.State, error) {
	events, err := w.cfg.Store.Logs.Log(store.Fence{Key: s.ID}).Events(ctx, 0)
	if err != nil {
		return nil, fmt.Errorf("read log of %s: %w", s.ID, err)
	}
	return session.Fold(events)
}

// task opens the thread's session, or goes on with it.
func task(ctx context.Context, r *request) error {
	w, c, s, cmd := r.worker, r.c, r.said, r.cmd
	sess, err := w.session(ctx)
	if err != nil {
		return err
	}
	if sess != nil && (w.opening != nil || cmd.Mode == "" && cmd.Model == "") {
		m := session.Message{Key: s.key, Author: s.ev.Sender.Login, Text: w.words(s, cmd.Text)}
		images, words := w.pictures(ctx, s, sess.Model, false)
		m.Text, m.Images, m.Context = m.Text+words, images, selected(s)
		return w.follow(ctx, c, s, sess, m)
	}
	if sess != nil {
		if err := w.supersede(ctx, c, s, sess); err != nil {
			return err
		}
	}
	return w.open(ctx, c, s, cmd, r.actor)
}

// supersede ends the thread's session, because a person asked for another
// one, and says so. A session that runs ends first; then the delivery is
// handled again.
func (w *worker) supersede(ctx context.Context, c *change, s said, sess *store.Session) error {
	v, err := w.view(ctx, sess)
	if err != nil {
		return err
	}
	if !v.Over() {
		c.Events = append(c.Events, ending(v, s, session.Outcome{
			Status: session.StatusStopped, Turns: v.Turns, Files: v.Files,
			Reason: s.ev.Sender.Login + " asked for a new session in its place. What was done so far stays on the branch.",
		})...)
	}
	if len(c.Events) > 0 {
		// What the same comment asked of the old session goes with it.
		before := *c
		c.Events, c.Intents = nil, nil
		if err := w.commit(ctx, &before); err != nil {
			return err
		}
	}
	if w.running == sess.ID {
		w.halt = true
		return errStopped
	}
	if v.Over() && sess.State == v.Phase {
		return nil
	}
	_, err = w.runSession(ctx)
	return err
}

// cleaned is clean, with a record of what was taken out.
func (w *worker) cleaned(s said, what, text string) string {
	text, n := untrusted.Clean(text) //control:hidden-text
	if n.Total() > 0 {
		w.cfg.Log.Info("text cleaned", "thread", w.key, "source", s.key, "what", what, "removed", n.Total(), "kinds", n.String())
	}
	return strings.TrimSpace(text)
}

func clean(s string) string {
	s, _ = untrusted.Clean(s)
	return strings.TrimSpace(s)
}

// follow adds words to the session. Whatever waited for an answer is
// answered by them (a question) or withdrawn (an approval).
func (w *worker) follow(ctx context.Context, c *change, s said, sess *store.Session, m session.Message) error {
	v, err := w.viewWith(ctx, sess, c)
	if err != nil {
		return err
	}
	answered := false
	for _, a := range v.Open() {
		r := session.Resolved{ID: a.ID, Verdict: policy.Withdrawn, By: m.Author, ByID: s.ev.Sender.ID, Key: s.key}
		if a.Kind == session.AskQuestion {
			r.Verdict, r.Reason, answered = policy.Answered, m.Text, true
		}
		c.Events = append(c.Events, session.NewEvent(session.TypeResolved, v.Turns, r))
	}
	if answered {
		m.Text = ""
	}
	c.Events = append(c.Events, session.NewEvent(session.TypeMessage, v.Turns, m))
	w.react(c, s, "eyes")
	return nil
}

// open starts a new session in the thread.
func (w *worker) open(ctx context.Context, c *change, s said, cmd command.Command, actor policy.Actor) error {
	place, err := w.cfg.Runner.Place(ctx, w.at)
	if Temporary(err) {
		return err
	}
	if err != nil {
		w.reply(c, s, "I could not start: "+render.Clean(err.Error()))
		return nil
	}
	cfg := policy.Merge(w.cfg.Policy, place.Config).WithDefaults()
	mode, err := policy.ParseMode(cmp.Or(cmd.Mode, cfg.Mode, "code"))
	if err != nil {
		w.reply(c, s, "I did not start: "+err.Error())
		return nil
	}
	id := "s" + ghapp.Digest(w.key, s.key)[:12]
	task := session.Task{
		Session: id, Thread: w.key, Text: w.taskText(s, cmd), Mode: mode.Name, Model: cmp.Or(cmd.Model, cfg.Model, w.cfg.Model),
		Base: place.Base, Branch: place.Branch, Requester: actor.Login, Turns: cmd.Turns, Nonce: session.NewID(),
	}
	images, words := w.pictures(ctx, s, task.Model, true)
	task.Text, task.Images, task.Context = task.Text+words, images, selected(s)
	data, err := json.Marshal(record{RequesterID: actor.ID, Installation: s.ev.Installation, Target: place.Target, IsPull: w.at.Pull != nil, Config: place.Config})
	if err != nil {
		return err
	}
	row := &store.Session{
		ID: id, Thread: w.key, Repo: w.ref.Repository(), Requester: actor.Login, Mode: mode.Name, Model: task.Model,
		Branch: task.Branch, Base: task.Base, State: session.PhaseQueued, Data: data,
	}
	if task.Branch == "" {
		row.Branch, err = policy.Branch(cfg.Branch, policy.BranchValues{Number: w.ref.Number, Title: cmp.Or(s.ev.Title, cmd.Text), Session: id, Mode: mode.Name})
		if err != nil {
			return err
		}
		task.Branch = row.Branch
	}
	err = w.cfg.Store.Sessions.Create(ctx, row)
	if errors.Is(err, store.ErrExists) { // by a try that was cut off
		row, err = w.cfg.Store.Sessions.Session(ctx, id)
	}
	if err != nil {
		return fmt.Errorf("open session: %w", err)
	}
	task.Base, task.Branch = row.Base, row.Branch
	w.opening = row
	c.Events = append(c.Events, session.NewEvent(session.TypeOpened, 0, session.Opened{Task: task}))
	w.react(c, s, "eyes")
	return nil
}

// taskText is the task's text: what was asked, with the issue around it as
// data.
func (w *worker) taskText(s said, cmd command.Command) string {
	text := w.words(s, cmd.Text)
	if body := w.cleaned(s, "body", s.ev.Body); s.ev.Kind != "issues" && s.ev.Kind != "pull_request" && (body != "" || s.ev.Title != "") {
		nonce := ghapp.Digest(s.key, "fence")
		text += "\n\n" + untrusted.Fence(nonce, "the thread that this was asked in", w.cleaned(s, "title", s.ev.Title)+"\n\n"+body)
	}
	return text
}
