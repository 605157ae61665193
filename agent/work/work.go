// Package work carries out one stretch of work on one session, on one branch: it opens
// a workspace on the last state in the session's log, runs the agent in it, saves its
// changes, and publishes them on the branch. It is the only package that knows both the
// agent and git.
//
//	work.go        open, run, and close; start reading here
//	position.go    the state of a session, and of its branch
//	setup.go       the set-up shared by all sessions, and its approval
//	setupbuild.go  running the set-up
//	setupfiles.go  the files on which a set-up depends
//	servers.go     MCP servers: approvals of a repository's, and connections
//	image.go       the image of the workspace
//	bases.go       the files of commits, as lower layers of workspaces
//	past.go        the git history inside of the workspace
//	paths.go       the part of the repository in the workspace
//	others.go      other repositories in the workspace
//	meaning.go     the files for the index of meanings
//	files.go       the files of a commit, and the project's part of the prompt
//	foreign.go     hiding rules for external files
//	output.go      live output of a running command
//	checkpoint.go  save: the changes of a workspace become a commit
//	leftout.go     changes that cannot be saved
//	push.go        publish: a commit goes to the branch
//	revert.go      unapproved changes are reverted
//	takeback.go    undo and redo at the user's request
//	takein.go      merging the base branch
//	remote.go      the parts of a push that CI would run
//	propose.go     a sensitive edit becomes a commit for review
//	rebuild.go     resuming after another machine
//	verify.go      the project's tests on a commit, in a separate workspace
//	scan.go        credentials that a commit would add
package work

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/handrail-bot/handrail/agent"
	"github.com/handrail-bot/handrail/agent/index"
	"github.com/handrail-bot/handrail/agent/mcp"
	"github.com/handrail-bot/handrail/agent/project"
	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/agent/workspace"
	"github.com/handrail-bot/handrail/gitops"
	"github.com/handrail-bot/handrail/policy"
)

// Config configures an engine. Only SetUps, Image, Created, Egress, Servers and Index
// are optional.
type Config struct {
	Bases     *Bases
	Workspace workspace.Engine
	// Agent returns the parts of an agent that do not depend on git: the model, its context
	// window, and the tools.
	Agent  func(Need) (agent.Config, error)
	SetUps SetUps
	// Created returns the commands that a repository runs after its development container
	// is created, and the file that defines them. They are the default set-up.
	Created func(ctx context.Context, files project.Files) (commands []string, from string, err error)
	// Recipe returns the recipe for the image of a repository's development container; nil if it has none.
	Recipe func(ctx context.Context, files project.Files) (*project.Recipe, error)
	// Egress makes the proxy of a workspace with an allowlist network. key is the
	// configuration key of its hosts. If Egress is nil, such workspaces are not supported.
	Egress func(w policy.Workspace, key string, log *slog.Logger) (workspace.Egress, error)
	// Servers returns the transport to the URL of an MCP server. If it is nil, servers at
	// URLs are not supported.
	Servers func(name string, s policy.Server) (http.RoundTripper, error)
	Guests  *Guests // nil: the sessions are those of a model
	Secrets Secrets
	Index   *index.Index // finds code by its meaning; nil disables it
	Policy  *policy.Policy
	Rules   policy.Config // source of Policy
	Image   Finder        // nil means the engine's own image
	Log     *slog.Logger
}

// Guests prepares workspaces for external agents.
type Guests struct {
	// Masks reports whether a path has settings of an agent. Workspaces do not have them.
	Masks func(path string) bool
	// Door returns the egress of a workspace, for a session's model; next is the one that it
	// would have otherwise, or nil.
	Door func(model string, next workspace.Egress) workspace.Egress
}

// masks reports whether workspaces do not have a path. A nil Guests masks nothing.
func (g *Guests) masks(path string) bool { return g != nil && g.Masks(path) }

// Need describes the agent to create.
type Need struct {
	Model     string // model name
	Name      string // display name of the repository
	Workspace *workspace.Workspace
	Egress    workspace.Egress // of the workspace; may be nil
	Rules     policy.Config
	Tests     []string // commands for the project's tests
	Languages []workspace.Language
	Pages     workspace.Pages // nil if the workspace shares its network with others
	Browser   string          // program for that; "" if there is none
	Shell     session.Shell
	// Refuse returns why a command cannot succeed here, Lacks a line about the packages that
	// a failed one did not find; "" means nothing of the kind.
	Refuse   func(command string) string
	Lacks    func(workspace.CommandResult) string
	Output   func(ctx context.Context, handle string) (string, bool, error) // reads the logged output of a handle
	Servers  *mcp.Hub                                                       // MCP servers; may be nil
	Nonce    string                                                         // in the fences around untrusted text
	Answered func(ctx context.Context, call session.Call, question string) (string, bool, error)
	TimedOut func(ctx context.Context) ([]session.Call, error) // calls that ran out of time
	Meaning  *index.View                                       // finds code by its meaning; may be nil
	// Instructions returns instructions of the base branch, see [project.Rules.Fetch]; nil
	// means that there are none.
	Instructions func(ctx context.Context, name string) (project.Instructions, error)
}

// Engine works on sessions: it connects the model, policy and git with a workspace. It
// is safe for concurrent use.
type Engine struct {
	cfg    Config
	away   *away
	opened *atomic.Int64 // number of open workspaces
}

// New returns an engine.
func New(cfg Config) *Engine { return &Engine{cfg, &away{}, &atomic.Int64{}} }

// Workspaces returns the number of open workspaces. It is 0 if e is nil.
func (e *Engine) Workspaces() int {
	if e == nil {
		return 0
	}
	return int(e.opened.Load())
}

// Under returns the engine with other rules, those of one repository.
func (e *Engine) Under(rules policy.Config) (*Engine, error) {
	p, err := policy.New(rules)
	if err != nil {
		return nil, err
	}
	cfg := e.cfg
	cfg.Policy, cfg.Rules = p, rules
	return &Engine{cfg, e.away, e.opened}, nil
}

// Job is one stretch of work on one session.
type Job struct {
	Task    session.Task
	Name    string // display name of the repository
	Log     session.Log
	Repo    *gitops.Mirror
	Others  []Other // other repositories to read
	Commits Commits
	// Push sends a commit to the remote. If it is nil, the branch stays in Repo.
	Push func(ctx context.Context, p gitops.SafePush) (gitops.Pushed, error)
	// Untrusted means that the requester may not push to the branch: all of the work waits
	// for an authorized approver.
	Untrusted bool
	// Foreign means that the files are external. Instructions for the agent and hiding
	// rules come from RulesAt.
	Foreign bool
	// ReviewBranch returns the branch on which the edit of a request is proposed for
	// review. If it is nil, reviews are not supported.
	ReviewBranch func(request string) string
	Approver     agent.Approver
	Equip        func(*agent.Config) // adds parts specific to this job, such as thread tools; may be nil
	Inbox        func(context.Context) error
	Shown
	image  session.Image   // set once it is known
	recipe *project.Recipe // of an image to build with the set-up; nil means none
	// languages are the configured language servers, set once they are chosen.
	languages []workspace.LanguageServer
	caches    string       // directory to receive the workspace's caches; "" discards them
	Shares    agent.Shares // may be nil
	// Seat waits until the named model has a slot for this run; nil disables waiting.
	Seat    func(ctx context.Context, model string) error
	Onto    string // target branch; "" means the default branch
	RulesAt string // commit of the base branch with the instructions; "" if none
	// ApprovalFacts returns further facts on which an approval depends: if one changes, the
	// approval is stale. Confirm is as in [agent.Config]. Either may be nil.
	ApprovalFacts func(context.Context) ([]session.Fact, error)
	Confirm       func(context.Context, session.Asked, session.Resolved) (string, error)
}

// Shown has handlers for the progress of a job; each may be nil. OnOutput is called on
// new output of the running call; last returns its last line, at any later time.
// OnSetup reports the progress of the workspace's set-up. OnCall is called with a function
// that ends the call that begins, and with nil behind it.
type Shown struct {
	OnEvent  func(session.Event)
	OnLive   func(agent.Live)
	OnOutput func(last func() string)
	OnSetup  func(how string)
	OnCall   func(end func())
}

// Commits describes the commits of a job.
type Commits struct {
	Author    gitops.Signature
	Committer gitops.Signature   // the zero value means the author
	CoAuthors []gitops.Signature // verified by GitHub, never from a text
	SignOff   bool
	// Sign returns the signer for commits on the named branch; nil disables signing.
	Sign func(branch string) gitops.Signer
}

// Run opens a workspace on the last state in the session's log, and runs the agent in
// it. If the branch moves meanwhile, Run starts over.
func (e *Engine) Run(ctx context.Context, j Job) (session.Outcome, error) {
	for {
		out, err := e.runOnce(ctx, j)
		if err != nil || out.Status != session.StatusMoved {
			return out, err
		}
	}
}

func (e *Engine) runOnce(ctx context.Context, j Job) (out session.Outcome, err error) {
	at, err := stateOf(ctx, j.Log, j.Task)
	if err != nil {
		return out, err
	}
	if at.Outcome != nil {
		return *at.Outcome, nil
	}
	if err := e.rebuild(ctx, j, at); err != nil {
		return out, err
	}
	if err := e.takeBack(ctx, j, at); err != nil {
		return out, err
	}
	if err := e.tellPaths(ctx, j, at); err != nil {
		return out, err
	}
	if j.Others, err = e.resumed(ctx, j, at); err != nil {
		return out, err
	}
	if err := e.tellOthers(ctx, j, at); err != nil {
		return out, err
	}
	layer, waits, err := e.prepare(ctx, &j, at)
	if err != nil {
		return out, err
	}
	if waits != nil {
		return *waits, nil
	}
	defer layer.end()
	var serves *serving
	var use []server
	if at.Rest == nil {
		if serves, use, waits, err = e.servers(ctx, j, at); err != nil {
			return out, err
		}
	}
	if waits != nil {
		return *waits, nil
	}
	j.languages = languageServers(e.cfg.Rules, use)
	if j.Seat != nil && at.Rest == nil { // before the workspace exists and the time limit starts
		if err := j.Seat(ctx, at.ModelName()); err != nil {
			return out, fmt.Errorf("wait for the model: %w", err)
		}
	}
	ws, closeAll, err := e.open(ctx, j, at, layer)
	if errors.Is(err, errNoBase) { // the commit is present but incomplete
		if err = e.restore(ctx, j, at); err == nil {
			ws, closeAll, err = e.open(ctx, j, at, layer)
		}
	}
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, closeAll(context.WithoutCancel(ctx))) }()
	if err := e.tellImage(ctx, j, at, j.image); err != nil {
		return out, err
	}
	var hub *mcp.Hub
	if serves != nil {
		if hub, waits, err = serves.connect(ctx, ws, use); err != nil {
			return out, err
		}
	}
	if waits != nil {
		return *waits, nil
	}
	defer hub.Close()
	tests := &proving{layer: layer}
	defer func() { err = errors.Join(err, tests.end()) }()
	a, err := e.agent(ctx, ws, j, at, tests, hub)
	if err != nil {
		return out, err
	}
	return a.Run(ctx, j.Task, j.Log)
}

func (e *Engine) agent(
	ctx context.Context,
	ws place,
	j Job,
	at *session.State,
	proving *proving,
	hub *mcp.Hub,
) (*agent.Agent, error) {
	facts, err := e.facts(ctx, ws, j, at.Saved, at.BaseNow())
	if err != nil {
		return nil, err
	}
	need, err := e.need(ctx, ws, j, at)
	if err != nil {
		return nil, err
	}
	need.Tests, need.Servers = facts.Tests(), hub
	cfg, err := e.cfg.Agent(need)
	if err != nil {
		return nil, err
	}
	if err := e.projectWords(ctx, &cfg.Prompt, facts, ws, j); err != nil {
		return nil, err
	}
	cfg.Problems = ws.Problems
	if !j.Foreign { // the file names of a fork are untrusted
		cfg.Prompt.Project += e.cfg.Bases.knownWords(contentKey(ws, at.BaseNow())) + changeWords(at.Files)
		cfg.Problems = e.cfg.Bases.learning(contentKey(ws, at.Saved), ws.Problems)
	}
	saves := &checkpoints{
		ws:        ws.Workspace,
		hidden:    ws,
		job:       j,
		base:      at.Saved,
		branch:    at.Branch,
		published: at.Published,
		since:     at.Base,
		merge:     at.TakingIn(),
		secrets:   e.cfg.Secrets,
		sensitive: func(path string) bool { return e.cfg.Policy.Touches(path).Sensitive },
	}
	cfg.Redactor, cfg.Secrets = e.cfg.Secrets.Redactor, commitScan{e.cfg.Secrets, j.Repo}
	if j.Equip != nil {
		j.Equip(&cfg)
	}
	cfg.Policy = e.cfg.Policy
	if isWalled(ws.Engine(), e.cfg.Rules.Workspace.Network) {
		saves.walled, cfg.Policy = true, cfg.Policy.Walled(facts.Tests()...)
	}
	if saves.others = e.neighbors(ws, j); len(j.Others) > 0 {
		var open []string
		for _, o := range saves.others {
			open = append(open, o.name)
		}
		cfg.Policy = cfg.Policy.Keeping(workspace.OthersDir, open...)
	}
	if j.Push != nil {
		remote, err := remoteOf(ctx, j.Repo, at.Published, j.RulesAt)
		if err != nil {
			return nil, err
		}
		remote.Branch, remote.Untrusted = at.Branch, j.Untrusted
		cfg.Policy = cfg.Policy.Pushing(remote)
	}
	cfg.Approver, cfg.Checkpoints, cfg.Proposer = j.Approver, saves, e.proposer(j, saves)
	cfg.Provide = provide(ws, j, facts.Tests())
	cfg.Inbox, cfg.OnEvent, cfg.OnLive = j.Inbox, j.OnEvent, j.live(cfg.Redactor)
	cfg.OnCall = j.OnCall
	if j.RulesAt != "" {
		cfg.PlaceRules = (&project.Rules{Files: j.base(ws)}).At
	}
	cfg.ApprovalFacts, cfg.Confirm = e.approvalFacts(ws, j), j.Confirm
	if cfg.Tests = e.verifies(facts); len(cfg.Tests) > 0 {
		cfg.RunTests = proving.run(e, j, at, saves)
	}
	cfg.Limits, cfg.Shares, cfg.Log = e.limits(), j.Shares, e.cfg.Log
	return agent.New(cfg)
}

// browser reports whether a workspace can show pages, and returns the program for that, as find
// finds it; "" if there is none, or if the tool is off.
func (e *Engine) browser(
	ctx context.Context,
	engine string,
	find func(context.Context) (string, error),
) (shows bool, program string, err error) {
	rules := e.cfg.Rules
	if shows = ownNetwork(engine, rules.Workspace.Network); shows && !rules.Tools[policy.BrowserTool].Off { //control:browser-off
		program, err = find(ctx)
	}
	return shows, program, err
}

// need describes the agent of a session, without the project's tests and MCP servers.
func (e *Engine) need(ctx context.Context, ws place, j Job, at *session.State) (Need, error) {
	lacking, err := e.needsOf(ctx, ws, j.image)
	if err != nil {
		return Need{}, err
	}
	languages, err := ws.Languages(ctx, j.languages)
	if err != nil {
		return Need{}, err
	}
	view, err := e.meaning(ctx, ws, j, at)
	if err != nil {
		return Need{}, err
	}
	fetch, err := j.instructions(ctx, ws)
	if err != nil {
		return Need{}, err
	}
	var pages workspace.Pages
	shows, browser, err := e.browser(ctx, ws.Engine(), ws.Chromium)
	if err != nil {
		return Need{}, err
	}
	if shows {
		pages = ws
	}
	return Need{
		Pages:        pages,
		Browser:      browser,
		Instructions: fetch,
		Languages:    languages,
		Model:        at.ModelName(),
		Name:         j.Name,
		Workspace:    ws.Workspace,
		Egress:       ws.egress,
		Rules:        e.cfg.Rules,
		Shell:        at.Shell,
		Refuse:       lacking.refuse,
		Lacks:        lacking.lacks,
		Output: func(ctx context.Context, handle string) (string, bool, error) {
			return session.OutputOf(ctx, j.Log, handle)
		},
		Nonce:    cmp.Or(at.Task.Nonce, contentID([]byte("nonce " + at.Task.Session + at.Task.Base))[:16]),
		Answered: answered(j.Log),
		TimedOut: timedOut(j.Log),
		Meaning:  view,
	}, nil
}

// isWalled reports whether commands in a workspace can change only a copy: it is in a
// container or a sandbox, and has no network.
func isWalled(engine, network string) bool {
	return (engine == "docker" || engine == "bwrap") && (network == "" || network == "none") //control:unknown-program-wall
}

// ownNetwork reports whether the loopback interface of a workspace has servers of the workspace
// only, so that its browser can show them.
func ownNetwork(engine, network string) bool {
	return (engine == "docker" || engine == "bwrap") && network != "open" //control:browser-own-network
}

// approvalFacts returns the facts on which an approval depends besides the call and the
// session: the workspace of the call, and the facts of the job.
func (e *Engine) approvalFacts(ws place, j Job) func(context.Context) ([]session.Fact, error) {
	return func(ctx context.Context) ([]session.Fact, error) {
		facts := e.surroundings(ws.Engine(), ws.layer, j)
		if j.ApprovalFacts == nil {
			return facts, nil
		}
		more, err := j.ApprovalFacts(ctx)
		return append(facts, more...), err
	}
}

// surroundings returns the facts about a workspace on which an approval depends.
func (e *Engine) surroundings(engine, layer string, j Job) []session.Fact {
	facts := []session.Fact{
		{Name: "workspace engine", Value: engine},
		{Name: "workspace image", Value: j.image.Name},
		{Name: "workspace network", Value: networkOf(e.cfg.Rules.Workspace)},
		{Name: "set-up", Value: layer},
	}
	if len(j.Others) > 0 {
		facts = append(facts, session.Fact{Name: "other repositories", Value: othersFact(j.Others)}) //control:other-repository-bound
	}
	return facts
}

// networkOf describes the network access of a workspace, as bound to an approval.
func networkOf(w policy.Workspace) string {
	if w.Network != "allowlist" {
		return w.Network
	}
	hosts := w.Reaches()
	for _, name := range slices.Sorted(maps.Keys(w.Inside)) {
		if w.Lists(name) {
			hosts = append(hosts, name+"="+w.Inside[name])
		}
	}
	return w.Network + ": " + strings.Join(hosts, " ") //control:egress-bound
}

// setNetwork sets the network access of a workspace: everything, listed hosts, or nothing.
// key is the configuration key of the list.
func (e *Engine) setNetwork(spec *workspace.Spec, w policy.Workspace, key string) error {
	spec.Network = w.Network == "open"
	if w.Network != "allowlist" {
		return nil
	}
	if e.cfg.Egress == nil {
		return errors.New("open workspace: network: allowlist is not offered here: take it out of the configuration")
	}
	var err error
	spec.Egress, err = e.cfg.Egress(w, key, e.cfg.Log.With("session", spec.Session))
	return err
}

// setDoor lets an external agent in a workspace reach the bot.
func (e *Engine) setDoor(spec *workspace.Spec, model string) error {
	switch {
	case e.cfg.Guests == nil:
		return nil
	case spec.Network || e.cfg.Workspace.Name() == "local": //control:guest-behind-a-wall
		return errors.New("open workspace: an external agent works only behind a wall: in docker or bwrap, with network none or allowlist")
	}
	spec.Egress = e.cfg.Guests.Door(model, spec.Egress)
	return nil
}

// limits returns the limits of the rules in the agent's terms.
func (e *Engine) limits() agent.Limits {
	l := e.cfg.Rules.Budget.Session
	return agent.Limits{
		Turns: e.cfg.Rules.TurnLimit(), Tokens: l.Tokens, Wall: time.Duration(l.Time), Edits: l.Edits, ChangedLines: l.Lines,
		Deadline: time.Duration(e.cfg.Rules.Approvals.Deadline),
	}
}

// place is a workspace with its hiding rules and path filter applied.
type place struct {
	*workspace.Workspace
	rules  project.Hidden
	masks  *Guests
	shows  policy.Workspace // path filter
	gone   []string         // hidden or filtered paths of the saved state
	layer  string           // digest of the set-up layer below; "" if none
	others []place          // the rules of the other repositories

	egress workspace.Egress
}

// open opens a workspace on the saved state. The returned function closes it.
func (e *Engine) open(
	ctx context.Context,
	j Job,
	at *session.State,
	layer heldLayer,
) (place, func(context.Context) error, error) {
	hidden, err := e.cfg.Bases.hidden(ctx, j.Repo, j.rulesAt(at.Saved))
	if err != nil {
		return place{}, nil, fmt.Errorf("%w: %w", errNoBase, err)
	}
	layered, ok := e.cfg.Workspace.(workspace.Layered)
	w := e.cfg.Rules.Workspace
	want := gitops.BaseWant{
		Commit: at.Saved,
		Rules:  restrict(e.cfg.Guests.hide(rulesOf(j.ignoreAt(), hidden)), w),
		Layers: ok && layered.Layers(),
	}
	source, err := e.cfg.Bases.takeOn(ctx, j.Repo, want, layer.dir)
	if err != nil {
		return place{}, nil, err
	}
	others, err := e.takeOthers(ctx, j)
	if err != nil {
		source.Drop()
		return place{}, nil, err
	}
	drop := func() { source.Drop(); others.drop() }
	state, err := e.cfg.Bases.store.Temp(e.cfg.Bases.dir, "ws-"+j.Task.Session)
	if err != nil {
		drop()
		return place{}, nil, fmt.Errorf("make workspace directory: %w", err)
	}
	before, err := e.startPast(ctx, j, at.Branch, want, filepath.Join(state, "git"))
	if err != nil {
		drop()
		return place{}, nil, errors.Join(fmt.Errorf("make workspace directory: %w", err), os.RemoveAll(state))
	}
	spec := workspace.Spec{
		Keep:    j.caches != "",
		Session: j.Task.Session, Name: j.Name, Source: source.Source, Over: source.Over, Git: before.dir, Layer: layer.dir, Others: others.list, LSP: w.LSP, State: filepath.Join(state, "state"), Image: j.image.Name, Pull: e.cfg.Rules.Pulls(j.image.Name), Tell: j.OnSetup,
		Limits: workspace.Limits{MemoryBytes: int64(w.Memory), Pids: int64(w.Pids), CPUs: w.CPUs, DiskBytes: int64(w.Disk),
			Command: workspace.MaxCommand},
	}
	var ws *workspace.Workspace
	if err = e.setNetwork(&spec, w, "workspace.hosts"); err == nil {
		err = e.setDoor(&spec, at.ModelName())
	}
	if err == nil {
		ws, err = e.cfg.Workspace.Open(ctx, spec)
	}
	if err != nil {
		drop()
		before.end()
		return place{}, nil, errors.Join(err, os.RemoveAll(state))
	}
	e.opened.Add(1)
	here := place{ws, hidden, e.cfg.Guests, w, source.Gone, layer.digest, others.rules, spec.Egress}
	return here, func(ctx context.Context) error {
		defer e.opened.Add(-1)
		defer drop()
		before.end()
		err := ws.Close(ctx)
		if j.caches != "" && err == nil {
			err = os.Rename(filepath.Join(spec.State, workspace.KeptCache), filepath.Join(j.caches, workspace.LayerCache))
		}
		return errors.Join(err, workspace.RemoveTree(state))
	}, nil
}
