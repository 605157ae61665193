package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/handrail-bot/handrail/agent/llm"
	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/agent/speech"
)

// run is one continuous stretch of work on a session.
type run struct {
	*journal
	inbox     func(context.Context) error
	lookUp    func(ctx context.Context, words string, form llm.Form) []session.Item
	meter     *meter
	model     *model
	window    *window
	requests  *requests
	shrinker  *shrinker
	calls     *callRunner
	publisher *publisher
	places    *places
	planner   *planner
	finisher  *finisher
	steps     []step
	task      string // prefix of the ids of its calls; "" for the session itself
}

// newRun connects the parts that work on a session.
func newRun(a *Agent, j *journal) *run {
	cfg := a.cfg
	meter := newMeter(cfg, j)
	m := &model{
		journal:        j,
		llm:            cfg.Model,
		words:          cmp.Or(cfg.Words, cfg.Model),
		configuredForm: cfg.Form,
		forms:          cfg.Forms,
		retry:          cfg.Retry,
		parser:         a.calls,
		writes:         a.writes,
		means:          a.tools.Means,
		may:            a.may,
		now:            cfg.Now,
		maxAnswerTime:  cfg.AnswerTime,
		server:         cfg.Server,
	}
	w := &window{journal: j, model: m, fixed: cfg.Context}
	offers := &toolset{journal: j, Registry: a.tools, window: w, off: a.cfg.Policy.ToolOff}
	reqs := &requests{journal: j, prompt: cfg.Prompt, tools: offers, window: w, model: m, maxTokens: cfg.MaxTokens}
	shrink := &shrinker{journal: j, requests: reqs, window: w, model: m}
	g := &gate{
		journal:   j,
		Approvals: cfg.Approvals,
		policy:    cfg.Policy,
		tools:     offers,
		secrets:   cfg.Secrets,
		deadline:  cfg.Limits.Deadline,
		now:       cfg.Now,
	}
	plan := &planner{journal: j, gate: g, asks: cfg.Plans}
	r := &run{
		journal:  j,
		planner:  plan,
		inbox:    cfg.Inbox,
		lookUp:   cfg.Provide,
		meter:    meter,
		model:    m,
		window:   w,
		requests: reqs,
		shrinker: shrink,
		calls: &callRunner{
			journal:  j,
			gate:     g,
			saves:    cfg.Checkpoints,
			problems: cfg.Problems,
			onCall:   cfg.OnCall,
			now:      cfg.Now,
			shrinker: shrink,
			tasks:    &delegate{journal: j, agent: a, gate: g, meter: meter},
			reminder: &reminder{journal: j, meter: meter, requests: reqs, window: w},
			merger:   &merger{journal: j, gate: g, meter: meter, requests: reqs, model: m},
		},
		publisher: &publisher{journal: j, gate: g, saves: cfg.Checkpoints},
		places:    &places{journal: j, rules: cfg.PlaceRules, requests: reqs, model: m},
		finisher: &finisher{
			journal:  j,
			meter:    meter,
			requests: reqs,
			window:   w,
			model:    m,
			planner:  plan,
			tests:    &verifier{journal: j, gate: g, lines: cfg.Tests, run: cfg.RunTests},
			problems: cfg.Problems,
			saves:    cfg.Checkpoints,
		},
	}
	r.steps = []step{
		r.provide,
		r.calls.finish,
		r.publisher.publish,
		r.rest,
		r.planner.begin,
		r.handleLosses,
		r.finisher.finish,
		r.meter.check,
		r.places.give,
		r.think,
	}
	return r
}

// step is one action that may be due; an outcome ends the run. Steps are tried in order.
// The first one that records an event restarts the round, so that each round begins with
// the latest log.
type step func(ctx context.Context) (*session.Outcome, error)

// loop is the main loop of an agent: look up the references in a request, finish the
// calls of the last answer, publish their changes, check whether the work is done, and
// ask the model for the next answer.
func (r *run) loop(ctx context.Context) (session.Outcome, error) {
	with := r.ModelName()
	for {
		if r.calls.saves.Moved() || r.TakeBack != nil || r.ModelName() != with {
			return session.Outcome{Status: session.StatusMoved, Turns: r.Turns}, nil
		}
		if err := r.listen(ctx); err != nil {
			return session.Outcome{}, err
		}
		for _, s := range r.steps {
			seq := r.Seq
			out, err := s(ctx)
			if err != nil {
				return session.Outcome{}, err
			}
			if out != nil && out.Status == session.StatusOutOfBudget {
				out, err = r.finisher.outOfBudget(ctx, out)
			}
			if err != nil {
				return session.Outcome{}, err
			}
			if out != nil {
				ended, err := r.end(ctx, *out)
				if err != nil {
					return session.Outcome{}, err
				}
				if ended != nil {
					return *ended, nil
				}
				break
			}
			if r.Seq != seq {
				break
			}
		}
	}
}

// rest restores the previous end of a session if the only request since then was to undo
// or redo checkpoints: that needs no model. The status depends on the remaining changes.
func (r *run) rest(context.Context) (*session.Outcome, error) {
	if r.Rest == nil {
		return nil, nil
	}
	out := *r.Rest
	switch left := len(r.Files) > 0; {
	case out.Status == session.StatusDone && !left:
		out.Status = session.StatusNoChanges
	case out.Status == session.StatusNoChanges && left && out.Wish == session.Redo:
		out.Status = session.StatusDone
	}
	return &out, nil
}

// listen reads new user messages.
func (r *run) listen(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if r.inbox != nil {
		if err := r.inbox(ctx); err != nil {
			return fmt.Errorf("read inbox: %w", err)
		}
	}
	return r.catchUp(ctx)
}

// end records the outcome, and returns it. It returns nil if a request arrived before the
// record: the run goes on with that.
func (r *run) end(ctx context.Context, out session.Outcome) (*session.Outcome, error) {
	out.Turns = r.spent().turns - r.used.turnsFrom
	out.Files = slices.Clone(r.Files)
	out.Commit = r.Published
	ended := session.NewEvent(session.TypeEnded, r.Turns, session.Ended{Outcome: out, Seen: r.Seq})
	if err := r.record(ctx, ended); err != nil {
		return nil, err
	}
	if r.EndedAt != ended.Seq {
		return nil, nil
	}
	return &out, nil
}

// provide looks up the references in the latest user message, once, and adds them to the
// message, so that the model need not spend turns on reading them.
func (r *run) provide(ctx context.Context) (*session.Outcome, error) {
	if r.lookUp == nil || r.talk.unprovided == "" {
		return nil, nil
	}
	if err := r.model.learn(ctx); err != nil {
		return r.modelFailed(ctx, err)
	}
	items := r.lookUp(ctx, r.talk.unprovided, r.model.form)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if len(items) == 0 {
		r.talk.unprovided = ""
		return nil, nil
	}
	return nil, r.record(
		ctx,
		session.NewEvent(session.TypeNote, r.Turns, session.Note{Kind: session.NoteContext, Items: items}),
	)
}

// think asks the model for one answer and records it.
func (r *run) think(ctx context.Context) (*session.Outcome, error) {
	answer, err := r.ask(ctx)
	if err != nil {
		return r.modelFailed(ctx, err)
	}
	if len(answer.Calls) == 0 {
		offered := r.requests.tools.names()
		switch {
		case slices.Contains(offered, "report_finding"): //control:prose-is-a-finding
			answer.Calls = speech.Findings(answer.Content, r.Turns+1, r.Findings)
		case slices.Contains(offered, "triage_issue"): //control:prose-is-a-triage
			answer.Calls = speech.Triage(answer.Content, r.Turns+1)
		}
		answer.Complete = answer.Complete && len(answer.Calls) == 0
	}
	for i := range answer.Calls {
		answer.Calls[i].ID = r.task + answer.Calls[i].ID
	}
	return nil, r.record(ctx, session.NewEvent(session.TypeAnswer, r.Turns+1, answer))
}

func (r *run) ask(ctx context.Context) (session.Answer, error) {
	if err := r.model.learn(ctx); err != nil {
		return session.Answer{}, err
	}
	for _, prepare := range [...]func(context.Context) error{r.requests.begin, r.shrinker.shrink, r.requests.begin} {
		if err := prepare(ctx); err != nil {
			return session.Answer{}, err
		}
	}
	seen := r.Seq
	req := r.requests.build()
	req.Turns, req.Until = r.meter.turnsOfAgent(), r.meter.until
	answer, err := r.model.answer(ctx, req)
	answer.Seen = seen
	return answer, err
}

// modelFailed decides how the session continues after a failure of the model: with text
// calls instead of native ones, with a shorter conversation, or not at all. In the last
// case the outcome explains the failure to the user.
func (r *run) modelFailed(ctx context.Context, err error) (*session.Outcome, error) {
	var me *llm.Error
	if ctx.Err() != nil || errors.Is(err, session.ErrFenced) || !errors.As(err, &me) {
		return nil, err
	}
	switch {
	case me.Kind == llm.Unsupported && r.model.disable(me.Lacks):
		if r.model.text() && r.stepped == llm.FormAuto {
			return nil, r.stepTo(
				ctx,
				r.model.form,
				"This server takes no native tool calls. Write calls as text, as the system prompt describes.",
			)
		}
		return nil, nil
	case me.Kind == llm.TooLong && r.window.squeezed < maxSqueezes:
		return nil, r.shrinker.makeRoom(ctx)
	case me.Kind == llm.TooLong:
		me = &llm.Error{
			Kind: me.Kind,
			Public: fmt.Sprintf("Even shortened, the task does not fit into the model's context of %d tokens. "+
				"Use a model with a larger context, give it one (model.context, num_ctx), or ask for less at once.", r.window.size()),
		}
	}
	if r.model.retry.Park && llm.Away(me.Kind) { //control:model-outage-waits
		return nil, &session.Away{For: session.PhaseWaitingModel, Why: cause(me), Err: err}
	}
	r.logger.ErrorContext(ctx, "model failed", "session", r.Task.Session, "model", r.model.llm.Name(), "err", err)
	return failed(advice(me)), nil
}

func failed(reason string) *session.Outcome {
	return &session.Outcome{Status: session.StatusFailed, Reason: reason}
}
