// Package simulate predicts the effect of a GitHub payload. The bot itself decides: it
// runs on a fake GitHub in this process with the objects of the payload, and its sessions
// stop before the first call of a model.
package simulate

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot"
	"github.com/handrail-bot/handrail/bot/ci"
	"github.com/handrail-bot/handrail/bot/command"
	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/bot/live"
	"github.com/handrail-bot/handrail/bot/schedule"
	"github.com/handrail-bot/handrail/bot/store"
	"github.com/handrail-bot/handrail/bot/store/sqlite"
	"github.com/handrail-bot/handrail/bot/store/sqlstore"
	"github.com/handrail-bot/handrail/bot/trigger"
	"github.com/handrail-bot/handrail/cmd/watchers"
	"github.com/handrail-bot/handrail/policy"
	"github.com/handrail-bot/handrail/policy/secret"
)

// Input is a payload with the assumptions about its surroundings.
type Input struct {
	Event      string // empty if the payload shows it
	Payload    []byte
	Permission string // of the sender: admin, maintain, write, triage, read or none
	Model      string // the server's default model
	Server     policy.Config
	Repository policy.Config // from the base branch

	Repositories []string // served by the bot; empty means all
	Apps         []int64  // ids of Apps that may write for users
}

// Result is the contract of `handrail simulate --json`.
type Result struct {
	Event   string   `json:"event"`
	Action  string   `json:"action"`
	Would   []Effect `json:"would"`
	Because []Reason `json:"because"`
}

// Effect is one predicted effect. Kind is session, command, answer, reaction, review,
// wake or none.
type Effect struct {
	Kind    string `json:"kind"`
	Mode    string `json:"mode,omitempty"`
	Command string `json:"command,omitempty"`
	Text    string `json:"text,omitempty"`
}

// String formats an effect for a line of text.
func (e Effect) String() string {
	text, _, more := strings.Cut(e.Text, "\n")
	if more {
		text += " …"
	}
	return strings.Join(strings.Fields(strings.Join([]string{e.Kind, e.Mode, e.Command, text}, " ")), " ")
}

// Reason explains a decision. Rule names the rule behind it.
type Reason struct {
	Rule string `json:"rule"`
	Text string `json:"text"`
}

// Run simulates a payload. It returns an error if the payload is invalid, or if its event
// must be named.
func Run(ctx context.Context, in Input) (res Result, err error) {
	if in.Event, err = kindOf(in); err != nil {
		return res, err
	}
	res = Result{Event: in.Event, Because: []Reason{}}
	ev, err := ghapp.ParseEvent(in.Event, in.Payload)
	if err != nil {
		return res, fmt.Errorf("%w: it is no payload of GitHub's", err)
	}
	res.Action = cmp.Or(ev.Action, actionOf(in.Payload))
	if !ghapp.Hears(in.Event) {
		return res.none("event", "%s events are not heard", in.Event), nil
	}
	_, _, brings := trigger.Key(ev)
	if brings = brings || ci.Ended(ev) || ev.Kind == "push"; ev.Thread.Number == 0 && (!brings || ev.Thread.Repo == "") {
		return res.none("event", "%s %s is about no issue or pull request, and brings no task", in.Event, res.Action), nil
	}
	dir, err := os.MkdirTemp("", "handrail-simulate-")
	if err != nil {
		return res, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	w, err := newWorld(in, ev, filepath.Join(dir, "github"))
	if err != nil {
		return res, fmt.Errorf("lay out the world of the payload: %w", err)
	}
	defer func() { err = errors.Join(err, w.gh.Close()) }()
	db, err := sqlite.Open(ctx, sqlite.Config{Path: filepath.Join(dir, "bot.db")})
	if err != nil {
		return res, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	t := &trial{in: in, ev: ev, world: w, res: res}
	if err := t.play(ctx, db); err != nil {
		return res, err
	}
	t.res.others(in)
	return t.res, nil
}

// others tells which other repositories a session would read.
func (r *Result) others(in Input) {
	if !slices.ContainsFunc(r.Would, func(e Effect) bool { return e.Kind == "session" }) {
		return
	}
	rules := policy.Merge(in.Server, in.Repository)
	for _, o := range rules.Unlisted(in.Repository) {
		r.because("repositories", "the session does not begin: the server's policy.repositories does not list %s", o)
	}
	for _, o := range rules.Repositories {
		r.because("repositories", "the session reads %s, if it is no less public, the App is installed on it, and its requester may read it", o)
		switch wants := in.Repository.WantsToWrite(o); {
		case o.Writes():
			r.because("repositories", "it changes %s, if its requester may push there, and both have the same visibility", o)
		case wants:
			r.because("repositories", "it does not change %s: the server's policy.repositories lists it without write: true", o)
		}
	}
}

// none records that nothing would happen, and why.
func (r Result) none(rule, format string, args ...any) Result {
	r.Would = []Effect{{Kind: "none"}}
	r.because(rule, format, args...)
	return r
}

// ofChecks returns the session to which a check is assumed to belong, under the assumed
// configuration.
func ofChecks(in Input, ev ghapp.Event) (*store.Session, error) {
	data, err := json.Marshal(live.Data{Config: in.Repository})
	at := ev.Thread
	at.Number = 1
	s := &store.Session{
		ID:     "simulated",
		Thread: at.Key(),
		Repo:   strings.ToLower(at.Repository()),
		State:  session.PhaseDone,
		Data:   data,
	}
	if len(ev.Check.Pulls) > 0 {
		s.Pull = ev.Check.Pulls[0]
	} else if len(ev.Check.Branches) > 0 {
		s.Pull, s.Branch = at.Number, ev.Check.Branches[0]
	}
	return s, err
}

// check adds the effect of a finished check. taken reports whether the bot accepts the
// check for a session with its pull request.
func (r Result) check(in Input, ev ghapp.Event, taken bool) Result {
	cfg := policy.Merge(in.Server, in.Repository)
	ready := cfg.PullRequest.Ready == policy.ReadyWhenGreen
	why := ci.Off(cfg.Triggers)
	switch {
	case why != "" && !ready:
		return r.none("checks", "%s", why)
	case len(ev.Check.Pulls)+len(ev.Check.Branches) == 0:
		return r.none("checks", "the check is of no pull request of the repository, and of no branch of it")
	case !taken:
		return r.none("checks", "the check is the agent's own, or %s is not served", ev.Thread.Repository())
	}
	r.Would = []Effect{{Kind: "wake", Text: fmt.Sprintf("the session that pushed %.12s", ev.Check.SHA)}}
	if ready {
		r.because("ready", "once all checks of that commit have passed, the draft pull request with it is made ready for review")
	}
	if why != "" {
		return r
	}
	r.because(
		"checks",
		"a session that opened the pull request with this commit looks at all checks of it, and goes on if one failed (%s says %s); other pull requests are left alone",
		cmp.Or(ev.Check.Name, ev.Kind),
		cmp.Or(ev.Check.Conclusion, ev.Check.Status),
	)
	return r
}

// whyIgnored returns why a push starts nothing, or "".
func (Result) whyIgnored(ev ghapp.Event) string {
	if ev.Deleted || ev.DefaultBranch == "" || ev.Ref != "refs/heads/"+ev.DefaultBranch {
		return "only changes of the default branch start anything"
	}
	return ""
}

// push adds the effect of a push: the schedules for changes of the default branch.
func (r Result) push(in Input, ev ghapp.Event) Result {
	if why := r.whyIgnored(ev); why != "" {
		return r.none("push", "%s", why)
	}
	for _, e := range schedule.Of(ev.Thread.Repository(), in.Server, in.Repository) {
		switch {
		case e.On != "push":
		case e.Refused != "":
			r.because("schedules", "%s: %s", e.Name, e.Refused)
		default:
			r.Would = append(r.Would, Effect{Kind: "session", Mode: schedule.ModeOf(e.Schedule), Text: e.Task})
			r.because("schedules", "%s begins when the default branch changes", e.Name)
		}
	}
	if len(r.Would) == 0 {
		return r.none("schedules", "nothing is scheduled for changes of the default branch")
	}
	return r
}

func (r *Result) because(rule, format string, args ...any) {
	r.Because = append(r.Because, Reason{Rule: rule, Text: fmt.Sprintf(format, args...)})
}

// trial runs the bot on one payload. It is the bot's [bot.Runner], and records the bot's
// reasons for ignoring something.
type trial struct {
	in    Input
	ev    ghapp.Event
	world *world
	res   Result

	task *session.Task
	stop context.CancelFunc
}

// play gives the payload to the bot and records the effects.
func (t *trial) play(ctx context.Context, db *sqlstore.Store) error {
	app := t.world.gh.App()
	own, err := secret.DeriveKey(secret.Value(app.WebhookSecret), "own words")
	if err != nil {
		return err
	}
	github, err := ghapp.New(
		ghapp.Config{
			Own:        own,
			APIURL:     t.world.gh.URL(),
			AppID:      app.ID,
			PrivateKey: app.Key,
			Inert:      command.Inert,
			Spacing:    -1,
		},
	)
	if err != nil {
		return err
	}
	kept := db.Store
	kept.Deliveries = &noteRecorder{
		Deliveries: kept.Deliveries,
		why:        func(note string) { t.res.because("delivery", "%s", note) },
	}
	b, err := bot.New(bot.Config{
		Store:        kept,
		GitHub:       github,
		Runner:       t,
		Watchers:     watchers.All(),
		Policy:       t.in.Server,
		Model:        t.in.Model,
		Settle:       time.Millisecond,
		Repositories: t.in.Repositories,
		Apps:         t.in.Apps,
		Log:          slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return err
	}
	payload, err := t.world.withInstallation(t.in.Payload)
	if err != nil {
		return err
	}
	names, err := b.Verbs(ctx, t.in.Event, payload)
	if err != nil {
		return err
	}
	slices.Sort(names)
	names = slices.Compact(names)
	if ci.Ended(t.ev) {
		row, err := ofChecks(t.in, t.ev)
		if err == nil {
			err = kept.Sessions.Create(ctx, row)
		}
		if err != nil {
			return err
		}
	}
	src, taken, err := b.Source(ctx, t.in.Event, payload)
	if err != nil {
		return err
	}
	switch {
	case ci.Ended(t.ev):
		t.res = t.res.check(t.in, t.ev, taken)
		return nil
	case t.ev.Kind == "push" && (taken || t.res.whyIgnored(t.ev) != ""):
		t.res = t.res.push(t.in, t.ev)
		return nil
	case !taken:
		rule, why := t.notTaken(names)
		t.res = t.res.none(rule, "%s", why)
		return nil
	}
	for _, name := range names {
		if name == command.Task {
			name = "in words"
		}
		t.res.because("command", "the text calls /agent %s", name)
	}
	t.res.because("permission", "%s is assumed to have %s", t.ev.Sender.Login, t.in.Permission)
	src.ID, src.Event, src.Payload = "simulated", t.in.Event, payload
	if _, err := kept.Deliveries.Put(ctx, &src); err != nil {
		return err
	}
	ctx, t.stop = context.WithCancel(ctx)
	defer t.stop()
	row, err := t.work(ctx, b, kept, src.Thread)
	if err != nil {
		return err
	}
	t.effects(github, names, row)
	return nil
}

// work runs the bot on a thread, and on a thread that the bot opens. It returns the new
// session, nil if there is none.
func (t *trial) work(ctx context.Context, b *bot.Bot, kept store.Store, thread string) (*store.Session, error) {
	if err := b.Work(ctx, thread); err != nil && t.task == nil {
		return nil, err
	}
	if t.ev.Thread.Number == 0 {
		waiting, err := kept.Wakes.Waiting(ctx, 1)
		if err != nil || len(waiting) == 0 {
			return nil, err
		}
		thread, t.ev.Thread = waiting[0].Thread, t.world.openedThread(t.ev.Thread)
		if err := b.Work(ctx, thread); err != nil && t.task == nil {
			return nil, err
		}
	}
	row, err := kept.Sessions.ByThread(context.WithoutCancel(ctx), thread)
	return row, store.Unless(err, store.ErrNotFound)
}

// notTaken explains why the bot drops a payload at once.
func (t *trial) notTaken(names []string) (rule, why string) {
	said := t.ev.Comment.Body + t.ev.Review.Body
	switch {
	case len(names) > 0 && t.ev.Sender.Bot:
		return "author", t.ev.Sender.Login + " is a bot that may not ask"
	case len(names) > 0, t.ev.Kind == "push":
		return "repositories", t.ev.Thread.Repository() + " is not served"
	case said == "" && t.ev.Sender.Bot && t.ev.Action != "opened":
		return "author", t.ev.Sender.Login + " is a bot that may not ask"
	case said == "" && t.ev.Action != "opened":
		return "event", t.res.Event + " " + t.res.Action + " holds no command and no answer"
	case said != "" && cmp.Or(t.ev.Comment.Author.ID, t.ev.Review.Author.ID) != t.ev.Sender.ID:
		return "author", t.ev.Sender.Login + " did not write the text"
	}
	return "command", "no line of the text calls /agent"
}

// effects reads the bot's actions from the fake GitHub.
func (t *trial) effects(app *ghapp.App, names []string, row *store.Session) {
	would := &t.res.Would
	for _, name := range names {
		if name != command.Task {
			*would = append(*would, Effect{Kind: "command", Command: name})
		}
	}
	if row != nil {
		e := Effect{Kind: "session", Mode: row.Mode}
		if t.task == nil {
			t.res.because("session", "it begins in mode %s and waits for an answer first", row.Mode)
		} else {
			e.Text = t.task.Text
			t.res.because("session", "it begins in mode %s with %s", row.Mode, cmp.Or(row.Model, "the server's model"))
		}
		*would = append(*would, e)
	}
	texts, reactions := t.world.contents(t.ev.Thread)
	for _, text := range texts {
		ours, key := app.Written(text)
		if !ours || row != nil && strings.HasPrefix(key, live.ProgressKey(row.ID)) {
			continue
		}
		*would = append(*would, Effect{Kind: "answer", Text: visible(text)})
	}
	for _, emoji := range reactions {
		*would = append(*would, Effect{Kind: "reaction", Text: emoji})
	}
	switch {
	case len(*would) > 0:
	case t.res.hasReason():
		*would = []Effect{{Kind: "none"}}
	default:
		*would = []Effect{{Kind: "wake", Text: t.ev.Thread.Key()}}
	}
}

// hasReason reports whether the bot gave a reason for ignoring the payload.
func (r *Result) hasReason() bool {
	return slices.ContainsFunc(r.Because, func(b Reason) bool { return b.Rule == "delivery" })
}

// visible removes the bot's marker.
func visible(body string) string {
	var out []string
	for line := range strings.SplitSeq(body, "\n") {
		if !strings.HasPrefix(line, "<!--") {
			out = append(out, line)
		}
	}
	return strings.TrimSpace(strings.Join(out, "\n"))
}

// StartPoint implements [bot.Runner].
func (t *trial) StartPoint(context.Context, live.Thread) (bot.StartPoint, error) {
	return bot.StartPoint{Base: t.world.base, Target: t.world.branch, Config: t.in.Repository}, nil
}

// Run implements [bot.Runner]. It stops the simulation before the first call of a model.
func (t *trial) Run(ctx context.Context, w bot.Work) (session.Outcome, error) {
	t.task = &w.Task
	t.stop()
	return session.Outcome{}, ctx.Err()
}

// noteRecorder reports the notes of finished deliveries.
type noteRecorder struct {
	store.Deliveries

	why func(note string)
}

// Done implements [store.Deliveries].
func (h *noteRecorder) Done(ctx context.Context, note string, ids ...string) error {
	if note != "" && note != "done" {
		h.why(note)
	}
	return h.Deliveries.Done(ctx, note, ids...)
}

// kindOf returns the name of the payload's event.
func kindOf(in Input) (string, error) {
	var has map[string]json.RawMessage
	if err := json.Unmarshal(in.Payload, &has); err != nil || has == nil {
		return "", errors.New("it is not a JSON object")
	}
	if in.Event != "" {
		return in.Event, nil
	}
	wrong := func(field string) bool {
		name, lacks := strings.CutPrefix(field, "!")
		return (has[name] == nil) != lacks
	}
	for _, k := range ghapp.EventKinds() {
		if k.Has != "" && !slices.ContainsFunc(strings.Fields(k.Has), wrong) {
			return k.Name, nil
		}
	}
	if aboutRepository(has) {
		return "repository", nil
	}
	return "", errors.New("its event cannot be told from its fields: name it with --event")
}

// aboutRepository reports whether a payload has only fields of a repository event:
// several other events have these fields and one more.
func aboutRepository(has map[string]json.RawMessage) bool {
	for field := range has {
		if !slices.Contains(
			[]string{"action", "repository", "changes", "sender", "organization", "installation", "enterprise"},
			field,
		) {
			return false
		}
	}
	var action string
	err := json.Unmarshal(has["action"], &action)
	return err == nil &&
		slices.Contains(
			[]string{
				"archived", "unarchived", "created", "deleted", "edited", "privatized", "publicized", "renamed",
				"transferred",
			},
			action,
		)
}

// actionOf reads the action of an event that the bot does not know.
func actionOf(payload []byte) string {
	var has struct{ Action string }
	_ = json.Unmarshal(payload, &has) // empty if there is none
	return has.Action
}
