package bot

import (
	"cmp"
	"errors"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot/command"
	"github.com/handrail-bot/handrail/bot/live"
	"github.com/handrail-bot/handrail/bot/render"
	"github.com/handrail-bot/handrail/policy"
)

// choose returns the mode, model and turns of the session. It reports false if the
// configuration forbids them, and replies with those allowed. If the configuration sets
// no number of turns, going beyond the mode's needs the right to raise limits.
func (r *request) choose(cfg policy.Config) (policy.Choice, bool) {
	asked := policy.Choice{Mode: r.cmd.Mode, Model: r.cmd.Model, Turns: r.cmd.Turns}
	if asked.Model == "" && r.model != "" {
		asked.Model = r.allowedModel(cfg, r.model)
	}
	with, err := cfg.Choose(asked, r.w.cfg.Model)
	if no := (*policy.NotAllowed)(nil); errors.As(err, &no) {
		err = errors.New(render.NotAllowed(no) + ".")
	}
	if err != nil {
		r.reply(render.NotStarted(err.Error()))
		return with, false
	}
	with.Turns = r.turns(cfg, with.Mode, with.Turns)
	return with, true
}

// allowedModel returns the previous model or, if that is no longer allowed, another one, and
// says so.
func (r *request) allowedModel(cfg policy.Config, before string) string {
	if cfg.PermitsModel(before) == nil {
		return before
	}
	with, _ := cfg.Choose(policy.Choice{}, r.w.cfg.Model) // the mode is checked elsewhere
	if cfg.PermitsModel(with.Model) != nil {              // none is allowed; the caller reports that
		return before
	}
	r.reply(render.OtherModel(before, with.Model))
	return with.Model
}

// goOn returns the choice for a follow-up. A text without a mode joins a request at work
// or a waiting plan; any other text is a new request. "fix" alone has the configured mode. It
// reports false if the user was told why the text is not acted on.
func (r *request) goOn(v *session.State) (with policy.Choice, ok bool) {
	cfg := r.w.live.InForce(live.DataOf(r.sess))
	if r.cmd.Mode == "" && command.IsFix(r.cmd.Text) { //control:fix-has-its-mode
		r.cmd.Mode = cmp.Or(cfg.Mode, "code")
	}
	if r.cmd.Mode == "" && r.c.tasks > 0 && r.c.moded { //control:mode-of-one-request
		r.cmd.Mode = cmp.Or(cfg.Mode, "code")
	}
	part := !v.TakesNewRequest() && (r.cmd.Mode == "" || r.cmd.Mode == v.ModeName())
	switch {
	case part:
		r.cmd.Mode = v.ModeName()
	case r.cmd.Mode == "" && v.WaitingPlan() != nil:
		r.cmd.Mode = policy.PlanMode
	}
	if part && r.cmd.Turns != 0 {
		r.reply(render.TurnsLater(r.cmd.Turns))
		r.cmd.Turns = 0
	}
	r.model = v.ModelName()
	with, ok = r.choose(cfg)
	modes := []string{with.Mode}
	if !v.TakesNewRequest() { //control:words-to-work
		modes = append(modes, v.ModeName())
	}
	if !ok || !r.mayBegin(cfg, with, modes...) {
		return with, false
	}
	if part {
		with.Mode = ""
	}
	return with, true
}

// mayBegin reports whether the requester may have work done in the chosen mode and in
// others, the further modes that the text affects. If not, it says so.
func (r *request) mayBegin(cfg policy.Config, with policy.Choice, others ...string) bool {
	if m, err := policy.ParseMode(with.Mode); err == nil && m.Triages() && r.w.at.Pull != nil { //control:triage-is-for-issues
		r.reply(render.NotStarted(render.OnlyIssues))
		return false
	}
	if m, err := policy.ParseMode(with.Mode); r.job != nil {
		return err == nil && (m.ReadOnly() || r.job.Asks) //control:schedule-acts-for-nobody
	}
	right := policy.AskRead
	for _, name := range append(others, with.Mode) {
		if m, err := policy.ParseMode(name); err != nil || !m.ReadOnly() { //control:right-of-the-mode
			right = policy.AskChange
		}
	}
	may, why := r.w.mayAsk(r.actor, right, r.sess)
	if may == policy.Allow {
		return true
	}
	with.Mode = "ask"
	r.reply(render.NotStarted(why + "." + render.AskInstead(cfg.Permits(with) == nil)))
	return false
}

// keepAllowed changes the model of a session if it is no longer allowed.
func (r *request) keepAllowed(v *session.State) {
	r.goOnWith(v, r.allowedModel(r.w.live.InForce(live.DataOf(r.sess)), v.ModelName()))
}

// goOnWith makes the session go on with a model.
func (r *request) goOnWith(v *session.State, name string) {
	if name != v.ModelName() { //control:allowed-model-goes-on
		m := r.from()
		m.Model = name
		r.c.append(session.NewEvent(session.TypeMessage, v.Turns, m))
	}
}

// turns returns the requested number of turns, at most the allowed maximum. It says so if
// that is less. A review without a number has turns by the size of the change.
func (r *request) turns(cfg policy.Config, mode string, asked int) int {
	most := cfg.TurnLimit()
	if m, err := policy.ParseMode(mode); err == nil && asked == 0 && m.Reviews() && r.w.at.Pull != nil {
		n := m.ReviewTurns(r.w.at.Pull.Files, r.w.at.Pull.Lines)
		switch {
		case n == m.Turns: // the mode's own
			return 0
		case most > 0:
			return min(n, most)
		}
		return n
	}
	if may, _ := r.w.mayAsk(r.actor, policy.RaiseLimit, nil); most == 0 && may != policy.Allow {
		m, _ := policy.ParseMode(mode) // validated by Choose
		most = m.Turns
	}
	if most > 0 && asked > most { //control:turns-bind
		r.reply(render.FewerTurns(asked, most))
		return most
	}
	return asked
}
