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
	from     string          // file that defines the commands; "" means the configuration
	recipe   *project.Recipe // of the image to build before; nil means none
	proposed string          // managers of a proposal by Handrail; "" if the repository defines the set-up
	commit   string          // commit of the base branch
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
	image, why  string // image that was built for it, and the reason; "" means none
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
	r := &settingUp{asking: e.asking(j, at)}
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
	if len(commands) == 0 && j.recipe == nil {
		return r.unprepared(ctx)
	}
	if e.cfg.Workspace.Name() == "local" {
		return heldLayer{}, nil, r.noteMissing(
			ctx,
			"The set-up of this repository did not run: this workspace has no wall, and only walled ones are set up.",
		)
	}
	r.set = setUp{SetUp: e.cfg.Rules.SetUp, from: from, recipe: j.recipe}
	r.set.Commands = commands
	return r.layer(ctx)
}

// layer returns the layer of a set-up. It asks for the set-up, and builds the layer, if
// that is due.
func (r *settingUp) layer(ctx context.Context) (l heldLayer, waits *session.Outcome, err error) {
	e, j := r.Engine, r.j
	r.set, err = e.setUp(ctx, j, r.repo, r.set)
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
	own := digest == r.set.action.Digest()
	if err == nil && l.dir == "" && own && !r.hasFailed() {
		if err = r.build(ctx); err == nil {
			l.dir, l.drop, err = e.cfg.SetUps.Layers.Take(ctx, digest)
		}
	}
	if err != nil || l.dir == "" {
		return heldLayer{}, nil, err
	}
	l.digest = digest
	if own && r.set.recipe != nil {
		failed := new(failedSetUp)
		if err := r.buildImage(ctx); errors.As(err, &failed) { // it was there when the layer was made
			l.end()
			return heldLayer{}, nil, r.noteMissing(ctx, "The set-up of this repository failed: "+failed.why)
		} else if err != nil {
			l.end()
			return heldLayer{}, nil, err
		}
		l.image, l.why = r.set.image, "it was built from "+r.set.recipe.File+", which "+r.set.recipe.Of+" names"
	}
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
func (e *Engine) setUp(ctx context.Context, j Job, repo string, s setUp) (setUp, error) {
	s.commit, s.engine = cmp.Or(j.RulesAt, j.Task.Base), e.cfg.Workspace.Name()
	s.image = cmp.Or(j.image.Name, e.cfg.Rules.Workspace.Image)
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
	if engine, ok := e.cfg.Workspace.(workspace.Identified); s.recipe != nil {
		is = s.buildsOn(repo)
	} else if ok {
		if is, err = engine.Programs(ctx, workspace.Spec{
			Image: s.image,
			Pull:  e.cfg.Rules.Pulls(s.image),
			Tell:  j.OnSetup,
		}); err != nil {
			return s, err
		}
	}
	facts := []string{
		"repository " + repo,
		"engine " + s.engine,
		"programs " + is,
		"network " + s.network,
		"hidden " + s.hidden.Key,
	}
	family := []string{repo, s.engine, is, s.hidden.Key}
	if len(e.cfg.Rules.Workspace.Paths) > 0 {
		paths := "paths " + pathsKey(e.cfg.Rules.Workspace)
		facts, family = append(facts, paths), append(family, paths)
	}
	s.family = contentID([]byte(fmt.Sprintf("%q", family)))
	hangsOn := slices.Concat(facts, s.Commands, []string{"files"}, contents(s.named)) //control:setup-key
	s.action = policy.Action{
		Kind:    policy.Execute,
		Tool:    session.SetUpTool,
		Command: strings.Join(s.lines(), "\n"),
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
	s.decision = judge(e.cfg.Policy, code, s.action, s.lines())
	return s, err
}

// display returns a set-up as shown for approval, with everything it covers.
func (s setUp) display() string {
	var b strings.Builder
	for _, c := range s.lines() {
		b.WriteString(c + "\n")
	}
	if s.recipe != nil {
		b.WriteString(displayRecipe(s.recipe))
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
	var list []string
	if s.recipe != nil {
		list = append(list, untrusted.EscapeLine(s.recipe.File))
	}
	for _, f := range s.named {
		name := untrusted.EscapeLine(f.name)
		if f.content == "" {
			name += " (not there)"
		}
		list = append(list, name)
	}
	if list == nil {
		list = []string{"the commands"}
	}
	b.WriteString(strings.Join(list, ", "))
	if s.proposed != "" {
		b.WriteString("\n#\n# proposed by Handrail; the same as lines of .github/agent.yml:\n" + s.asConfig())
		return b.String()
	}
	return b.String() + "\n"
}

// lines returns the commands of a set-up, with that which builds its image.
func (s setUp) lines() []string {
	if s.recipe == nil {
		return s.Commands
	}
	return append([]string{"docker build " + s.recipe.Line}, s.Commands...)
}

func (s setUp) words() string { return untrusted.EscapeLine(strings.Join(s.lines(), "; ")) }

// settingUp is a set-up at the start of a run.
type settingUp struct {
	*asking
	set setUp
}

// approvedLayer returns the digest of the layer approved in this session or before, or "". If
// it asks for approval, waits is the outcome of the run.
func (r *settingUp) approvedLayer(ctx context.Context) (digest string, waits *session.Outcome, err error) {
	if d := r.set.decision; d.Verdict == policy.Deny {
		why := "The set-up of this repository did not run: the rules forbid it (" + d.Rule + ")."
		return "", nil, r.noteMissing(ctx, why)
	}
	o := r.offer()
	digest = o.action.Digest()
	for {
		now, said, q, err := r.stands(ctx, o)
		if err != nil {
			return "", nil, err
		}
		switch {
		case now == usable:
			return digest, nil, nil
		case now == refused:
			return "", nil, r.noteMissing(ctx, denialText(said))
		case now == waiting:
			_, waits, err = r.wait(ctx, q.Asked)
		case r.busy() || !r.needs(): // approvals given on the previous layer are used first
			return r.last(), nil, nil
		default:
			err = r.ask(ctx, o)
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

// needs reports whether the mode of the work can run arbitrary commands. Other modes do
// not wait for a set-up; they use a layer that was approved before.
func (r *settingUp) needs() bool {
	m, err := policy.ParseMode(r.at.ModeName())
	return err == nil && m.Allows(policy.Delete)
}

// offer returns the set-up as it is asked about.
func (r *settingUp) offer() offer {
	d := r.set.decision
	var reasons []string
	switch r.set.Network {
	case "none":
	case "allowlist":
		reasons = append(reasons, "it reaches hosts of the network")
	default:
		reasons = append(reasons, "it reaches the network")
	}
	if r.set.proposed != "" {
		reasons = append(reasons, "the repository lists packages of "+r.set.proposed+", and workspaces have no network to install them later")
	}
	reasons = append(reasons, "its result is in the workspaces of all later sessions")
	for _, x := range d.Reasons {
		if x.Rule != d.Rule || d.Verdict == policy.Ask {
			reasons = append(reasons, x.Text)
		}
	}
	return offer{
		action:   r.set.action,
		call:     r.set.call,
		rule:     "setup",
		severity: d.Severity,
		reasons:  reasons,
		standing: r.set.standing,
		changed:  "the set-up has changed",
	}
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
