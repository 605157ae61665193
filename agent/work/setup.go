package work

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/handrail-bot/handrail/agent/deps"
	"github.com/handrail-bot/handrail/agent/project"
	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/agent/workspace"
	"github.com/handrail-bot/handrail/policy"
	"github.com/handrail-bot/handrail/policy/untrusted"
)

// SetUps has the dependencies of set-ups. If Layers is nil, set-ups are disabled.
type SetUps struct {
	Layers  Layers
	Answers Answers
	// Propose proposes a set-up to repositories that need packages and have none.
	Propose bool
	// Own returns a layer with the packages that the user's clone has of these managers, and
	// their names, or "" if it has none. It takes precedence over every set-up. drop is
	// called when the layer is no longer used. Own may be nil.
	Own func(ctx context.Context, of []*deps.Manager) (dir string, drop func(), from []string, err error)
	// Hint completes the note about missing packages; "" if there is none.
	Hint string
}

// Layers stores the results of set-ups, keyed by the approved digest. Take returns a
// directory that remains until drop is called, or "" if there is none. Make calls fill
// with an empty directory, once for all concurrent callers. RemoveUnused removes layers
// that have not been used for the given time.
//
// Begin creates in dir a layer with only the named caches, from the newest layer with
// the same content in its [familyFile]. It returns "" if there are none, or if they
// exceed most bytes. End completes the caches that a workspace on that layer left in
// its state directory, and returns their directory. Both directories are below the one
// being filled.
type Layers interface {
	Begin(ctx context.Context, dir, family string, names []string, most int64) (begun string, err error)
	End(dir, begun, state string) (caches string, err error)
	Take(ctx context.Context, digest string) (dir string, drop func(), err error)
	Make(ctx context.Context, digest string, fill func(dir string) error) error
	RemoveUnused(unused time.Duration) error
}

// Answers stores the answers to set-up requests across sessions.
type Answers interface {
	Answer(ctx context.Context, repo, digest string) (said session.Resolved, ok bool, err error)
	Keep(ctx context.Context, repo, digest string, said session.Resolved) error
}

// setUp is the set-up of a repository at the base branch.
type setUp struct {
	policy.SetUp
	from     string // file that defines the commands; "" means the configuration
	proposed string // managers of a proposal by Handrail; "" if the repository defines the set-up
	repo     string
	commit   string // commit of the base branch
	engine   string
	image    string // image name
	hidden   project.Hidden
	family   string // key of set-ups with reusable caches
	named    []namedFile
	reach    policy.Workspace
	network  string // network access, as text
	call     string
	standing string // digest without the content of files, for setup.approval: once; "" otherwise
	action   policy.Action
	decision policy.Decision
}

// heldLayer is the layer below a session's workspace; the zero value means none. It remains
// until drop is called.
type heldLayer struct {
	dir, digest string
	drop        func()
}

func (l heldLayer) end() {
	if l.drop != nil {
		l.drop()
	}
}

// layerOf returns the layer for a session's workspace. An unanswered set-up is
// submitted for approval: then waits is the outcome of the run.
func (e *Engine) layerOf(
	ctx context.Context,
	j Job,
	at *session.State,
) (l heldLayer, waits *session.Outcome, err error) {
	if e.cfg.SetUps.Layers == nil {
		return heldLayer{}, nil, nil
	}
	r := &settingUp{Engine: e, j: j, at: at}
	if l, err = r.ofClone(ctx); err != nil || l.dir != "" {
		return l, nil, err
	}
	commands, from, err := e.commands(ctx, j)
	if err != nil {
		return heldLayer{}, nil, r.noteMissing(
			ctx,
			"The set-up of this repository did not run: "+untrusted.EscapeLine(err.Error())+".",
		)
	}
	if len(commands) == 0 {
		return r.unprepared(ctx)
	}
	if e.cfg.Workspace.Name() == "local" {
		return heldLayer{}, nil, r.noteMissing(
			ctx,
			"The set-up of this repository did not run: this workspace has no wall, and only walled ones are set up.",
		)
	}
	r.set = setUp{SetUp: e.cfg.Rules.SetUp, from: from}
	r.set.Commands = commands
	return r.layer(ctx)
}

// layer returns the layer of a set-up. It asks for the set-up, and builds the layer, if
// that is due.
func (r *settingUp) layer(ctx context.Context) (l heldLayer, waits *session.Outcome, err error) {
	e, j := r.Engine, r.j
	r.set, err = e.setUp(ctx, j, r.set)
	if bad := new(badFileError); errors.As(err, &bad) {
		return heldLayer{}, nil, r.noteMissing(ctx, "The set-up of this repository did not run: "+bad.Error()+".")
	}
	if err != nil {
		return heldLayer{}, nil, err
	}
	digest, waits, err := r.approvedLayer(ctx)
	if digest == "" || err != nil {
		return heldLayer{}, waits, err
	}
	l.dir, l.drop, err = e.cfg.SetUps.Layers.Take(ctx, digest)
	if err == nil && l.dir == "" && digest == r.set.action.Digest() && !r.hasFailed() {
		if err = r.build(ctx); err == nil {
			l.dir, l.drop, err = e.cfg.SetUps.Layers.Take(ctx, digest)
		}
	}
	if err != nil || l.dir == "" {
		return heldLayer{}, nil, err
	}
	l.digest = digest
	text := "The set-up of this repository ran before this session (" + r.set.words() + ").\nWhat it installed is in place: do not install it again."
	return l, nil, r.tell(ctx, session.Note{Text: text, Layer: digest})
}

// commands returns the set-up commands: those of the configuration, or else those of
// the base branch's development container, which from names.
func (e *Engine) commands(ctx context.Context, j Job) (lines []string, from string, err error) {
	at := cmp.Or(j.RulesAt, j.Task.Base)
	if lines = e.cfg.Rules.SetUp.Commands; len(lines) > 0 || e.cfg.Created == nil || at == "" {
		return lines, "", nil
	}
	return e.cfg.Created(ctx, commitFiles{repo: j.Repo, commit: at}) //control:created-of-the-base
}

// setUp completes the set-up of the repository. All inputs come from the base branch:
// the author of a pull request must not decide which commands run for others.
func (e *Engine) setUp(ctx context.Context, j Job, s setUp) (setUp, error) {
	s.commit, s.engine = cmp.Or(j.RulesAt, j.Task.Base), e.cfg.Workspace.Name()
	s.image = cmp.Or(j.image.Name, e.cfg.Rules.Workspace.Image)
	s.repo, _, _ = strings.Cut(j.Task.Thread, "#")
	s.repo = cmp.Or(s.repo, j.Task.Clone.Path, j.Name)
	s.reach = s.Reach(e.cfg.Rules.Workspace.Inside)
	s.network = networkOf(s.reach)
	var err error
	if s.hidden, err = e.cfg.Bases.hidden(ctx, j.Repo, []string{s.commit}); err != nil {
		return s, fmt.Errorf("%w: %w", errNoBase, err)
	}
	if s.named, err = namedFiles(ctx, j.Repo, s); err != nil {
		return s, err
	}
	is := s.image
	if engine, ok := e.cfg.Workspace.(workspace.Identified); ok {
		if is, err = engine.Programs(ctx, workspace.Spec{
			Image: s.image,
			Pull:  e.cfg.Rules.Pulls(s.image),
			Tell:  j.OnSetup,
		}); err != nil {
			return s, err
		}
	}
	facts := []string{
		"repository " + s.repo,
		"engine " + s.engine,
		"programs " + is,
		"network " + s.network,
		"hidden " + s.hidden.Key,
	}
	family := []string{s.repo, s.engine, is, s.hidden.Key}
	if len(e.cfg.Rules.Workspace.Paths) > 0 {
		paths := "paths " + pathsKey(e.cfg.Rules.Workspace)
		facts, family = append(facts, paths), append(family, paths)
	}
	s.family = contentID([]byte(fmt.Sprintf("%q", family)))
	hangsOn := slices.Concat(facts, s.Commands, []string{"files"}, contents(s.named)) //control:setup-key
	s.action = policy.Action{
		Kind:    policy.Execute,
		Tool:    session.SetUpTool,
		Command: strings.Join(s.Commands, "\n"),
		Display: s.display(),
		Subject: fmt.Sprintf("%q", hangsOn),
	}
	if s.Approval == "once" {
		same := s.action
		same.Subject = fmt.Sprintf("%q", slices.Concat([]string{"any content of files"}, facts, s.Commands))
		s.standing = same.Digest()
	}
	s.call = "setup-" + s.action.Digest()[:16]
	code, err := policy.ParseMode("code")
	s.decision = judge(e.cfg.Policy, code, s.action, s.Commands)
	return s, err
}

// display returns a set-up as shown for approval, with everything it covers.
func (s setUp) display() string {
	var b strings.Builder
	for _, c := range s.Commands {
		b.WriteString(c + "\n")
	}
	if s.from != "" {
		fmt.Fprintf(&b, "\n# this is the postCreateCommand of %s", untrusted.EscapeLine(s.from))
	}
	fmt.Fprintf(&b, "\n# network: %s\n# workspace: %s", s.network, s.engine)
	if s.engine == "docker" {
		fmt.Fprintf(&b, ", image %s", untrusted.EscapeLine(s.image))
	}
	if s.Approval == "once" {
		b.WriteString("\n# not asked again until the commands, the network or the image change (setup.approval: once); made anew when one of these changes: ")
	} else {
		b.WriteString("\n# asked again when one of these changes: ")
	}
	if len(s.named) == 0 {
		b.WriteString("the commands")
	}
	for i, f := range s.named {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(untrusted.EscapeLine(f.name))
		if f.content == "" {
			b.WriteString(" (not there)")
		}
	}
	if s.proposed != "" {
		b.WriteString("\n#\n# proposed by Handrail; the same as lines of .github/agent.yml:\n" + s.asConfig())
		return b.String()
	}
	return b.String() + "\n"
}

func (s setUp) words() string { return untrusted.EscapeLine(strings.Join(s.Commands, "; ")) }

// settingUp is a set-up at the start of a run.
type settingUp struct {
	*Engine
	j   Job
	at  *session.State
	set setUp
}

// approvedLayer returns the digest of the layer approved in this session or before, or "". If
// it asks for approval, waits is the outcome of the run.
func (r *settingUp) approvedLayer(ctx context.Context) (digest string, waits *session.Outcome, err error) {
	digest = r.set.action.Digest()
	said, known, err := r.cfg.SetUps.Answers.Answer(ctx, r.set.repo, digest)
	if err == nil && !known && r.set.standing != "" {
		said, known, err = r.cfg.SetUps.Answers.Answer(ctx, r.set.repo, r.set.standing)
		known = known && said.Verdict == policy.Approved
	}
	switch {
	case err != nil:
		return "", nil, err
	case known && said.Verdict == policy.Approved:
		return digest, nil, nil
	case known:
		return "", nil, r.noteMissing(ctx, denialText(said)) //control:setup-denial-holds
	case r.set.decision.Verdict == policy.Deny:
		return "", nil, r.noteMissing(
			ctx,
			"The set-up of this repository did not run: the rules forbid it ("+r.set.decision.Rule+").",
		)
	}
	for {
		q := r.request(digest)
		switch {
		case q == nil && (r.busy() || !r.needs()): // approvals given on the previous layer are used first
			return r.last(), nil, nil
		case q == nil:
			err = r.ask(ctx)
		case q.Approval.IsPending():
			waits, err = r.wait(ctx, q)
		case q.Approval.IsApproved():
			var ok bool
			if ok, err = r.confirm(ctx, q); ok && err == nil {
				return digest, nil, nil
			}
		default:
			return "", nil, r.refused(ctx, q)
		}
		if waits != nil || err != nil {
			return "", waits, err
		}
	}
}

// last returns the digest of the layer last used by the session's workspaces, or "".
func (r *settingUp) last() string {
	for _, m := range slices.Backward(r.at.Timeline) {
		if n, ok := m.(*session.Note); ok && n.Kind == session.NoteSetUp {
			return n.Layer
		}
	}
	return ""
}

// request returns the newest request for this set-up, nil if stale or withdrawn.
func (r *settingUp) request(digest string) *session.Request {
	for _, q := range slices.Backward(r.at.Requests) {
		if q.Tool == session.SetUpTool && q.Digest == digest { //control:setup-yes-is-for-the-key
			if s := q.Approval.State; s == policy.Stale || s == policy.Withdrawn {
				return nil
			}
			return q
		}
	}
	return nil
}

// needs reports whether the mode of the work can run arbitrary commands. Other modes do
// not wait for a set-up; they use a layer that was approved before.
func (r *settingUp) needs() bool {
	m, err := policy.ParseMode(r.at.ModeName())
	return err == nil && m.Allows(policy.Delete)
}

// busy reports whether another request awaits an answer, or is approved but unused.
func (r *settingUp) busy() bool {
	other := func(a session.Asked) bool { return a.Tool != session.SetUpTool }
	return slices.ContainsFunc(r.at.Open(), other) || slices.ContainsFunc(r.at.Granted(), other)
}

func (r *settingUp) ask(ctx context.Context) error {
	d := r.set.decision
	a := session.Asked{
		ID: r.at.NewAskID(), Kind: session.AskApproval, Call: r.set.call, Digest: r.set.action.Digest(),
		Severity: d.Severity.String(), Tool: session.SetUpTool, Display: r.set.action.Display,
	}
	switch r.set.Network {
	case "none":
	case "allowlist":
		a.Reasons = append(a.Reasons, "it reaches hosts of the network")
	default:
		a.Reasons = append(a.Reasons, "it reaches the network")
	}
	if r.set.proposed != "" {
		a.Reasons = append(a.Reasons, "the repository lists packages of "+r.set.proposed+", and workspaces have no network to install them later")
	}
	a.Reasons = append(a.Reasons, "its result is in the workspaces of all later sessions")
	for _, x := range d.Reasons {
		if x.Rule != d.Rule || d.Verdict == policy.Ask {
			a.Reasons = append(a.Reasons, x.Text)
		}
	}
	if t := time.Duration(r.cfg.Rules.Approvals.Deadline); t > 0 {
		a.Deadline = time.Now().Add(t).UTC()
	}
	var events []*session.Event
	for _, q := range r.at.Requests { // their set-up is obsolete
		if q.Tool == session.SetUpTool && (q.Approval.IsPending() || q.Approval.IsApproved()) {
			events = append(
				events,
				session.NewEvent(
					session.TypeResolved,
					r.at.Turns,
					session.Resolved{ID: q.ID, Verdict: policy.Stale, Reason: "the set-up has changed"},
				),
			)
		}
	}
	decision := session.Decision{
		Call:     r.set.call,
		Kind:     policy.Execute,
		Verdict:  policy.Ask,
		Severity: a.Severity,
		Rule:     "setup",
		Reasons:  a.Reasons,
		Digest:   a.Digest,
	}
	return r.record(
		ctx,
		append(
			events,
			session.NewEvent(session.TypeDecision, r.at.Turns, decision),
			session.NewEvent(session.TypeAsked, r.at.Turns, a),
		)...)
}

// wait requests the approval. It returns an outcome if the answer is to come later.
func (r *settingUp) wait(ctx context.Context, q *session.Request) (*session.Outcome, error) {
	if r.j.Approver != nil {
		answers, err := r.j.Approver.Approve(ctx, []session.Asked{q.Asked})
		if err != nil {
			return nil, fmt.Errorf("ask for approval: %w", err)
		}
		for _, a := range answers {
			if err := r.record(ctx, session.NewEvent(session.TypeResolved, r.at.Turns, a)); err != nil {
				return nil, err
			}
		}
	}
	if !q.Approval.IsPending() {
		return nil, nil
	}
	out := session.Outcome{Status: session.StatusAwaitingApproval, Files: r.at.Files, Commit: r.at.Published}
	return &out, r.record(ctx, session.NewEvent(session.TypeEnded, r.at.Turns, session.Ended{Outcome: out}))
}

// confirm reports whether an approval is still valid, and stores it if so.
func (r *settingUp) confirm(ctx context.Context, q *session.Request) (bool, error) {
	if r.j.Confirm != nil {
		why, err := r.j.Confirm(ctx, q.Asked, *q.Answer) //control:setup-checked-again
		if err != nil {
			return false, fmt.Errorf("check approval %s again: %w", q.ID, err)
		}
		if why != "" {
			return false, r.record(
				ctx,
				session.NewEvent(session.TypeResolved, r.at.Turns, session.Resolved{ID: q.ID, Verdict: policy.Stale, Reason: why}),
			)
		}
	}
	err := r.cfg.SetUps.Answers.Keep(ctx, r.set.repo, q.Digest, *q.Answer)
	if r.set.standing != "" && err == nil {
		err = r.cfg.SetUps.Answers.Keep(ctx, r.set.repo, r.set.standing, *q.Answer)
	}
	return true, err
}

// refused notes that the set-up does not run. It stores a user's denial.
func (r *settingUp) refused(ctx context.Context, q *session.Request) error {
	if q.Answer == nil {
		return nil
	}
	if q.Answer.Verdict == policy.Denied && q.Answer.By != "" {
		if err := r.cfg.SetUps.Answers.Keep(ctx, r.set.repo, q.Digest, *q.Answer); err != nil {
			return err
		}
	}
	return r.noteMissing(ctx, denialText(*q.Answer))
}

func denialText(said session.Resolved) string {
	why := "it was not approved in time"
	switch {
	case said.Verdict == policy.Denied && said.By != "":
		why = said.By + " denied it, which holds until it changes"
	case said.Verdict == policy.Denied:
		why = "there was no approver"
	}
	if said.Reason != "" {
		why += " (" + untrusted.EscapeLine(strings.TrimRight(said.Reason, ".")) + ")"
	}
	return "The set-up of this repository did not run: " + why + "."
}

// noteMissing notes that there is no layer.
func (r *settingUp) noteMissing(ctx context.Context, why string) error {
	return r.tell(
		ctx,
		session.Note{
			Text: why + "\nDependencies may be missing: do what can be done without them, and say what could not be tried.",
		},
	)
}

// tell adds a note for the model and users, unless it repeats the last one of its kind.
func (r *settingUp) tell(ctx context.Context, n session.Note) error {
	n.Kind = cmp.Or(n.Kind, session.NoteSetUp)
	for _, m := range slices.Backward(r.at.Timeline) {
		if old, ok := m.(*session.Note); ok && old.Kind == n.Kind {
			if old.Text == n.Text && old.Layer == n.Layer {
				return nil
			}
			break
		}
	}
	return r.record(ctx, session.NewEvent(session.TypeNote, r.at.Turns, n))
}

// record appends events to the log. It opens the session if the log is empty.
func (r *settingUp) record(ctx context.Context, events ...*session.Event) error {
	if r.at.Seq == 0 {
		events = append([]*session.Event{session.NewEvent(session.TypeOpened, 0, session.Opened{Task: r.j.Task})}, events...)
	}
	return record(ctx, r.j, r.at, events)
}
