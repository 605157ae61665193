package bot

import (
	"context"
	"errors"
	"fmt"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot/approval"
	"github.com/handrail-bot/handrail/bot/command"
	"github.com/handrail-bot/handrail/bot/fault"
	"github.com/handrail-bot/handrail/bot/live"
	"github.com/handrail-bot/handrail/bot/render"
	"github.com/handrail-bot/handrail/bot/store"
	"github.com/handrail-bot/handrail/policy"
)

// row is one command: its syntax, the right that it needs, and its handler.
type row struct {
	command.Spec
	right    policy.Request
	priority int // of its deliveries, a constant of the store
	handle   func(context.Context, *request) error
	// useful reports whether the command can have an effect in a session. nil means that it
	// can even without one.
	useful func(*session.State) bool
}

// okWord is the command that allows work on a commit of a fork.
const okWord = "ok"

// skipWord is the command that ends the running step of a session.
const skipWord = "skip"

// commands is the table of all commands. To add a command, add a row.
func commands() []row {
	return []row{
		{
			Spec:  command.Spec{Name: command.Task, Usage: "fix the failing test", Args: command.TakesText},
			right: policy.AskChange, priority: store.PriorityWork, handle: task,
		},
		{
			Spec:  command.Spec{Name: "approve", Usage: "approve <id>…", Args: command.TakesIDs, Grants: true},
			right: policy.Settle, priority: store.PriorityAnswer, handle: approve, useful: hasRequests,
		},
		{
			Spec:  command.Spec{Name: "deny", Usage: "deny <id>… [reason]", Args: command.TakesIDsAndReason},
			right: policy.Settle, priority: store.PriorityAnswer, handle: deny, useful: hasRequests,
		},
		{
			Spec:  command.Spec{Name: okWord, Usage: "ok <commit>", Args: command.TakesCommit, Grants: true},
			right: policy.AskChange, priority: store.PriorityAnswer, handle: okCommit, useful: waitsForCommit,
		},
		{
			Spec:  command.Spec{Name: "stop", Usage: "stop", Args: command.TakesText},
			right: policy.Stop, priority: store.PriorityStop, handle: stop, useful: isOpen,
		},
		{
			Spec:  command.Spec{Name: skipWord, Usage: "skip", Args: command.TakesNothing},
			right: policy.Stop, priority: store.PriorityWork, handle: skip, useful: isWorking,
		},
		{
			Spec:  command.Spec{Name: "status", Usage: "status", Args: command.TakesNothing},
			right: policy.View, priority: store.PriorityWork, handle: ofSession(status), useful: isWorking,
		},
		{
			Spec:  command.Spec{Name: "resume", Usage: "resume", Args: command.TakesWords},
			right: policy.Steer, priority: store.PriorityWork, handle: resume, useful: isResumable,
		},
		{
			Spec:  command.Spec{Name: "retry", Usage: "retry", Args: command.TakesWords},
			right: policy.Steer, priority: store.PriorityWork, handle: resume, useful: isResumable,
		},
		{
			Spec:  command.Spec{Name: "budget", Usage: "budget +10", Args: command.TakesCount, Grants: true},
			right: policy.RaiseLimit, priority: store.PriorityWork, handle: resume, useful: isOutOfBudget,
		},
		{
			Spec:  command.Spec{Name: "diff", Usage: "diff", Args: command.TakesNothing},
			right: policy.View, priority: store.PriorityWork, handle: diff, useful: hasCheckpoints,
		},
		{
			Spec:  command.Spec{Name: "undo", Usage: "undo [n or path…]", Args: command.TakesCheckpoints},
			right: policy.Rewind, priority: store.PriorityWork, handle: ofSession(takeBack), useful: hasCheckpoints,
		},
		{
			Spec:  command.Spec{Name: "redo", Usage: "redo [n]", Args: command.TakesCheckpoints},
			right: policy.Rewind, priority: store.PriorityWork, handle: ofSession(takeBack), useful: isUndone,
		},
		{
			Spec:  command.Spec{Name: "keep", Usage: "keep [path…]", Args: command.TakesCheckpoints},
			right: policy.Rewind, priority: store.PriorityWork, handle: ofSession(takeBack), useful: hasCheckpoints,
		},
		{
			Spec:  command.Spec{Name: "rebase", Usage: "rebase", Args: command.TakesNothing},
			right: policy.Rewind, priority: store.PriorityWork, handle: ofSession(takeBack), useful: hasCheckpoints,
		},
		{
			Spec:  command.Spec{Name: "ready", Usage: "ready", Args: command.TakesNothing},
			right: policy.AskChange, priority: store.PriorityWork, handle: ready, useful: hasCheckpoints,
		},
		{
			Spec:  command.Spec{Name: "model", Usage: "model <name>", Args: command.TakesName},
			right: policy.AskChange, priority: store.PriorityWork, handle: model, useful: isSession,
		},
		{
			Spec:  command.Spec{Name: "config", Usage: "config", Args: command.TakesNothing},
			right: policy.View, priority: store.PriorityWork, handle: showConfig,
		},
		{
			Spec:  command.Spec{Name: "clear", Usage: "clear", Args: command.TakesNothing},
			right: policy.Steer, priority: store.PriorityStop, handle: ofSession(forget), useful: isSession,
		},
		{
			Spec:  command.Spec{Name: command.AskHelp, Usage: "help", Args: command.TakesNothing},
			right: policy.View, priority: store.PriorityWork, handle: help,
		},
	}
}

// specs returns the syntax part of the rows.
func specs(rows []row) command.Table {
	var t command.Table
	for _, r := range rows {
		t = append(t, r.Spec)
	}
	return t
}

// checkCommands returns an error if a field of a row is missing.
func checkCommands(rows []row) error {
	for _, r := range rows {
		switch {
		case r.right == policy.NoRequest:
			return fmt.Errorf("check commands: %q does not say which right it needs", r.Name)
		case r.priority == 0:
			return fmt.Errorf("check commands: %q has no priority", r.Name)
		case r.handle == nil:
			return fmt.Errorf("check commands: nothing handles %q", r.Name)
		}
	}
	return specs(rows).Check()
}

// rowOf finds the row of a parsed command.
func rowOf(rows []row, c command.Command) (row, error) {
	for _, r := range rows {
		if r.Name == c.Name {
			return r, nil
		}
	}
	return row{}, fmt.Errorf("look up command: there is no %q", c.Name)
}

// needs returns the right that a command needs: a task in a read-only mode needs less
// than one that may change files.
func (r row) needs(c command.Command) policy.Request {
	if m, err := policy.ParseMode(c.Mode); r.right == policy.AskChange && err == nil && m.ReadOnly() {
		return policy.AskRead
	}
	return r.right
}

// request is one command of a user, and the change that it leads to.
type request struct {
	w     *worker
	at    *live.Thread // thread of the text
	c     *change
	msg   userMessage
	cmd   command.Command
	actor policy.Actor
	sess  *store.Session  // of the thread; nil if there is none
	model string          // model that worked before; "" if none
	job   *live.Scheduled // schedule of an unattended session; nil for a request of a user
	own   string          // text of the repository's own command or of a job; "" otherwise
}

// reply answers in the thread.
func (r *request) reply(text string) { r.c.reply(r.msg, text) }

// react adds a reaction to the text.
func (r *request) react(content string) { r.c.react(r.msg, content) }

// view returns the state of the session according to its log.
func (r *request) view(ctx context.Context) (*session.State, error) {
	return r.w.live.Fold(ctx, r.sess)
}

// viewWith is view with the events of the current delivery applied.
func (r *request) viewWith(ctx context.Context) (*session.State, error) {
	v, err := r.view(ctx)
	if err != nil {
		return nil, err
	}
	seq := v.Seq
	for _, e := range r.c.Events {
		if err := v.Apply(*e); err != nil {
			return nil, err
		}
	}
	v.Seq = seq
	return v, nil
}

// do carries out one command.
func (w *worker) do(ctx context.Context, c *change, s userMessage, cmd command.Command) error {
	row, err := rowOf(w.rows, cmd)
	if err != nil {
		return err
	}
	r := &request{w: w, at: &w.at, c: c, msg: s, cmd: cmd}
	if s.away != 0 {
		r.at = &live.Thread{Ref: s.ev.Thread}
		if err := r.at.Connect(ctx, w.cfg.GitHub, s.ev.Installation); err != nil {
			return err
		}
	}
	if at, ok, err := w.at.Elsewhere(ctx); ok || err != nil {
		r.reply(render.AsksOnly(at.Number))
		return err
	}
	if r.actor = c.by.actor; r.actor.Lookup == policy.NotAsked {
		r.actor, err = w.at.Client.Actor(ctx, s.author.Login)
	}
	if err != nil {
		return err
	}
	if r.sess, err = w.session(ctx); err != nil {
		return err
	}
	if r.actor.ID != s.author.ID { //control:account-number
		r.reply(render.UnknownAuthor)
		return nil
	}
	if err := r.acknowledge(ctx, row.needs(r.cmd)); err != nil {
		return err
	}
	if over, err := r.callOwn(ctx); over || err != nil {
		return err
	}
	if row.Name == command.Task && r.own == "" && r.cmd.Mode == "" && !r.cmd.Explicit && command.IsExplain(r.cmd.Text) {
		r.cmd.Mode = "ask" //control:explain-is-answered
	}
	right := row.right
	if row.Name == command.Task {
		right = policy.AskRead // the mode decides on the rest
	}
	if v, why := w.mayAsk(r.actor, right, r.sess); v != policy.Allow {
		if row.Name == command.Task {
			r.reply(render.NotStarted(why + "."))
		} else {
			r.reply(render.NotDone(why))
		}
		return nil
	}
	return row.handle(ctx, r)
}

// mayAsk decides whether an actor has a right, and returns the reason. The right to
// settle a request depends on that request, and is checked by the handler.
func (b *Bot) mayAsk(actor policy.Actor, right policy.Request, sess *store.Session) (policy.Verdict, string) {
	if right == policy.Settle {
		return policy.Allow, ""
	}
	return policy.MayAsk(
		actor,
		policy.AskFacts{Request: right, RequesterID: live.DataOf(sess).RequesterID, Bots: b.cfg.Policy.Approvals.Bots},
	)
}

// help lists the commands: those that the reader may use now, and folded the others.
func help(ctx context.Context, r *request) error {
	book, err := r.book(ctx)
	if fault.Temporary(err) {
		return err
	}
	var v *session.State
	if r.sess != nil {
		var err error
		if v, err = r.viewWith(ctx); err != nil {
			return err
		}
	}
	now := func(s command.Spec) bool {
		row, err := rowOf(r.w.rows, command.Command{Name: s.Name})
		verdict, _ := r.w.mayAsk(r.actor, row.right, r.sess)
		return err == nil && verdict == policy.Allow && row.isUseful(v)
	}
	mode := func(name string) bool {
		row, err := rowOf(r.w.rows, command.Command{Name: command.Task})
		verdict, _ := r.w.mayAsk(r.actor, row.needs(command.Command{Mode: name}), r.sess)
		m, merr := policy.ParseMode(name)
		return errors.Join(err, merr) == nil && verdict == policy.Allow && (r.at.Pull == nil || !m.Triages()) //control:help-shows-rights
	}
	text, others := specs(r.w.rows).Help(now, mode)
	r.c.post(r.msg, render.Help(text+render.CustomCommands(book.Book, fault.InWords(err)), others))
	return nil
}

// isUseful reports whether the command can have an effect in a session. v is nil without
// one.
func (r row) isUseful(v *session.State) bool { return r.useful == nil || v != nil && r.useful(v) }

func isSession(*session.State) bool { return true }

func hasRequests(v *session.State) bool { return len(approval.Open(v)) > 0 }

func waitsForCommit(v *session.State) bool { return approval.WaitingCommit(v) != nil }

func isOpen(v *session.State) bool { return !v.Over() }

func isOutOfBudget(v *session.State) bool { return v.Phase == session.PhaseOutOfBudget }

func isWorking(v *session.State) bool { return isOpen(v) && !isOutOfBudget(v) }

func isResumable(v *session.State) bool { return v.Over() && !v.Finished() }

func hasCheckpoints(v *session.State) bool { return len(v.Checkpoints) > 0 }

func isUndone(v *session.State) bool { return v.Over() && v.Outcome.Wish == session.Undo }
