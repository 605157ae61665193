package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"

	"github.com/handrail-bot/handrail/agent/layer"
	"github.com/handrail-bot/handrail/agent/llm"
	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/agent/work"
	"github.com/handrail-bot/handrail/cmd/action"
	"github.com/handrail-bot/handrail/cmd/config"
	"github.com/handrail-bot/handrail/cmd/door"
	"github.com/handrail-bot/handrail/cmd/local"
	"github.com/handrail-bot/handrail/cmd/records"
	"github.com/handrail-bot/handrail/cmd/terminal"
	"github.com/handrail-bot/handrail/gitops"
	"github.com/handrail-bot/handrail/policy"
	"github.com/handrail-bot/handrail/policy/reach"
)

// localFlags are the flags of every verb that works in a clone.
type localFlags struct {
	Repo       string            `type:"path" placeholder:"DIR" help:"The clone to work in; the current directory otherwise, or the session's own clone. Its work tree and index are not touched."`
	Yes        bool              `help:"Approve all requests but critical ones."`
	Turns      *int              `placeholder:"N" help:"Turn limit; the mode's own otherwise. For a resumed session, additional turns."`
	Workspace  string            `group:"workspace" enum:",auto,docker,bwrap,local" default:"" placeholder:"NAME" help:"Where tools run: docker, bwrap, or local (no wall). auto, which a new session takes, is docker, then bwrap."`
	Image      string            `group:"workspace" placeholder:"NAME" help:"Container image for docker."`
	Other      map[string]string `group:"workspace" placeholder:"OWNER/NAME=DIR" help:"Clone of another repository to read; may be given several times."`
	Engine     string            `placeholder:"NAME" help:"External agent that does the work, with its program in the workspace: opencode, qwen-code, gemini-cli, codex-acp, claude-agent-acp; otherwise Handrail's own loop."`
	Command    string            `name:"engine-command" placeholder:"COMMAND" help:"Program of the external agent with its arguments, in place of its own, or of another agent that asks as it starts."`
	Deps       string            `group:"workspace" enum:",clone,setup,none" default:"" placeholder:"SOURCE" help:"Packages that the repository needs: clone shows those of the clone, read-only; setup installs them for sessions, after an approval; none. On a terminal it asks, once."`
	Inside     map[string]string `group:"workspace" placeholder:"HOST=ADDRESS" help:"Host of your own network that set-ups and network: allowlist may reach; may be given several times."`
	modelFlags `group:"model"`
	tuneFlags  `group:"model"`

	watched bool // show the session in a browser
}

// beginFlags are the flags of a new session.
type beginFlags struct {
	Mode           string `placeholder:"MODE" help:"code, architect, ask, debug, explore, plan, review, security or triage."`
	Branch         string `placeholder:"NAME" help:"Branch for the result; one that .github/agent.yml names, or agent/run-<slug>, otherwise."`
	IncludeChanges bool   `help:"Begin with the files as they are, and not with the last commit."`
}

type runCmd struct {
	Words   []string `arg:"" optional:"" name:"task" help:"The task, in quotes, as in \"fix the typo\"."`
	Task    string   `short:"t" placeholder:"TEXT" help:"The task; - reads standard input."`
	Picture []string `type:"path" sep:"none" placeholder:"FILE" help:"Picture for a model that can see; may be given several times."`
	Session string   `placeholder:"ID" help:"Continue a session, as handrail resume does."`
	Watch   bool     `help:"Show the session in a browser, with buttons: prints an address that works once."`
	beginFlags
	localFlags
}

type resumeCmd struct {
	Session string `arg:"" optional:"" help:"Session to continue; the last one otherwise."`
	Task    string `short:"t" placeholder:"TEXT" help:"A further task; - reads standard input."`
	Mode    string `placeholder:"MODE" help:"Mode for --task."`
	localFlags
}

type undoCmd struct {
	Session   string `arg:"" optional:"" help:"Session of handrail run; the last one otherwise."`
	Steps     int    `default:"1" help:"Number of the session's last steps to undo on its branch."`
	Redo      bool   `help:"Redo them."`
	Applied   bool   `help:"Undo handrail apply in your files; the branch stays."`
	Repo      string `type:"path" placeholder:"DIR" help:"The clone, if it is no longer the session's own."`
	Workspace string `enum:",auto,docker,bwrap,local" default:"" placeholder:"NAME" help:"Engine in place of the session's."`
	Yes       bool   `help:"Approve all requests but critical ones."`
}

// Run undoes the last steps of a session, or its application to the files.
func (c *undoCmd) Run(ctx context.Context, w *console) (err error) {
	if c.Applied {
		return local.Unapply(ctx, w.out, c.Session, c.Repo)
	}
	if c.Session, err = local.OrLast(ctx, c.Session); err != nil {
		return err
	}
	flags := localFlags{Repo: c.Repo, Workspace: c.Workspace, Yes: c.Yes}
	wish := flags.wish(w, beginFlags{})
	wish.Session, wish.TakeBack = c.Session, &session.TakeBack{Do: session.Undo, N: c.Steps}
	if c.Redo {
		wish.TakeBack.Do = session.Redo
	}
	if c.Steps < 1 {
		return door.Usage("--steps is at least 1, not %d", c.Steps)
	}
	return flags.work(ctx, w, wish)
}

// Run works on the task and leaves the result on a branch.
func (c *runCmd) Run(ctx context.Context, w *console) error {
	task, err := c.text(w)
	if err == nil && task == "" && c.Session == "" {
		err = door.Usage("nothing to do: give a task, as in handrail run \"fix the typo in README.md\", or - for standard input")
	}
	if err != nil {
		return err
	}
	wish := c.wish(w, c.beginFlags)
	wish.Session, wish.Text = c.Session, task
	if wish.Images, err = local.Pictures(c.Picture); err != nil {
		return err
	}
	c.watched = c.Watch
	return c.work(ctx, w, wish)
}

// text returns the task, from --task or from the words after the verb.
func (c *runCmd) text(w *console) (string, error) {
	words := strings.TrimSpace(strings.Join(c.Words, " "))
	switch {
	case words == "-" && c.Task != "":
		return "", door.Usage("there are two tasks: standard input, and %q of --task; give one", c.Task)
	case words == "", words == "-":
		return taskText(w, cmp.Or(c.Task, words))
	case c.Task != "":
		return "", door.Usage("there are two tasks: %q, and %q of --task; give one", words, c.Task)
	case len(strings.Fields(words)) == 1: // a misplaced verb, directory or session
		return "", door.Usage("%q is no task yet: say more, as in handrail run \"fix the typo in README.md\"", words)
	}
	return words, nil
}

// Run continues a session.
func (c *resumeCmd) Run(ctx context.Context, w *console) error {
	task, err := taskText(w, c.Task)
	if err != nil {
		return err
	}
	if c.Session, err = local.OrLast(ctx, c.Session); err != nil {
		return err
	}
	wish := c.wish(w, beginFlags{Mode: c.Mode})
	wish.Session, wish.Text = c.Session, task
	return c.work(ctx, w, wish)
}

// Validate refuses values that would count as unset.
func (c *localFlags) Validate() error {
	if c.Turns != nil && *c.Turns < 1 {
		return door.Usage("--turns is at least 1, not %d; leave it out for the default", *c.Turns)
	}
	for host, at := range c.Inside {
		if _, ok := reach.Name(host); !ok {
			return door.Usage("--inside %s: it is not the name of a host, such as mirror.example.org", host)
		}
		if _, err := reach.Place(at); err != nil {
			return door.Usage("--inside %s: %w", host, err)
		}
	}
	return nil
}

// wish returns the request that the flags describe.
func (c *localFlags) wish(w *console, b beginFlags) local.Wish {
	turns := 0
	if c.Turns != nil {
		turns = *c.Turns
	}
	return local.Wish{
		Repo:   c.Repo,
		Branch: b.Branch,
		With: policy.Choice{
			Mode:  b.Mode,
			Model: c.Model,
			Turns: turns,
		},
		Include: b.IncludeChanges,
		Person:  terminal.IsPerson(w.in) && !c.Yes,
		Check:   c.hasModel(w),
		Pick:    c.pick,
		Clone: session.Clone{
			Workspace: c.Workspace,
			Image:     c.Image,
			Provider:  c.Provider,
			Server:    c.BaseURL,
			CAFile:    c.CAFile,
			Others:    c.Other,
			Agent:     c.Engine,
			Command:   c.Command,
		},
	}
}

// hasModel returns an error if the model's server lacks the model, or is not trusted. An
// unreachable server may come back: a message names its address, and the session waits.
func (c *localFlags) hasModel(w *console) func(ctx context.Context, model string) error {
	return func(ctx context.Context, model string) error {
		open, err := c.openTuned(w, c.tuneFlags)
		if err != nil || model == "" {
			return err
		}
		m, err := open(model)
		if err == nil {
			err = llm.Reach(ctx, m)
		}
		if no := new(llm.Error); errors.As(err, &no) && (no.Kind == llm.NotFound || config.UnknownAuthority(err)) &&
			no.Public != "" {
			return door.Usage("%s", terminal.ToOperator(no.Public))
		} else if no.Kind == llm.Unreachable {
			fmt.Fprintf(w.err, "handrail: %s does not answer: start it, or name another address with OLLAMA_HOST or --base-url. Waiting for it; Ctrl-C ends that\n", c.server())
		}
		return nil
	}
}

// collectAt is the growth of the heap, in percent, after which garbage is collected in a process
// of one session, unless GOGC says otherwise: its heap is small.
const collectAt = 300

// work runs a session until it ends or parks.
func (c *localFlags) work(ctx context.Context, w *console, wish local.Wish) (err error) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(collectAt)
	}
	shows := terminal.Config{
		Out:  w.out,
		Look: terminal.LookOf(w.raw),
		In:   terminal.Lines(w.in, w.out),
		Yes:  c.Yes,
		Log:  w.logs,
	}
	var keys *terminal.Editor
	if shows.Look.Live {
		keys = w.editor(terminal.EditorConfig{})
	}
	if keys != nil {
		ctx, keys.OnEnd = context.WithCancel(ctx) // Ctrl-C at a question
		defer keys.OnEnd()
		shows.In = keys
	}
	s, err := local.Open(ctx, terminal.New(shows), wish)
	if err != nil {
		return err
	}
	s.Listen(keys, nil)
	defer func() { err = errors.Join(err, s.Close(context.WithoutCancel(ctx))) }()
	e, end, err := c.engine(ctx, w, s)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, end()) }()
	if c.watched {
		var page *watched
		ctx, page, err = watch(ctx, w, s)
		defer func() { err = errors.Join(err, page.close(context.WithoutCancel(ctx))) }()
		if err != nil {
			return err
		}
	}
	out, err := s.Work(ctx, e)
	if err == nil && !local.Succeeded(out) {
		err = door.ErrFailed
	}
	return err
}

func taskText(w *console, text string) (string, error) {
	if text == "-" {
		data, err := io.ReadAll(w.in)
		if err != nil {
			return "", fmt.Errorf("read standard input: %w", err)
		}
		text = string(data)
	}
	return strings.TrimSpace(text), nil
}

// engine returns the engine of a session, with the session's original settings, and a
// function that removes the engine's state.
func (c *localFlags) engine(
	ctx context.Context,
	w *console,
	s *local.Session,
) (out local.Engine, end func() error, err error) {
	from := s.Task.Clone
	at := modelFlags{
		Model:    c.Model,
		Provider: cmp.Or(c.Provider, from.Provider),
		BaseURL:  cmp.Or(c.BaseURL, from.Server),
		CAFile:   cmp.Or(c.CAFile, from.CAFile),
	}
	open, err := at.openTuned(w, c.tuneFlags)
	if err != nil {
		return out, nil, err
	}
	external, err := at.guests(cmp.Or(c.Engine, from.Agent), cmp.Or(c.Command, from.Command))
	if err != nil {
		return out, nil, err
	}
	cfg := s.Rules
	cfg.Workspace.Toolchains, cfg.Workspace.LSP = nil, usersServers() // settings of servers only
	cfg.Workspace.Image = cmp.Or(c.Image, from.Image, cfg.Workspace.Image)
	cfg.Workspace.Inside = c.Inside
	here := *w
	here.options.spare = action.Machine(os.Environ())
	ws, err := pickWorkspace(ctx, &here, cmp.Or(c.Workspace, from.Workspace), cfg.Workspace)
	if err != nil {
		return out, nil, err
	}
	if external != nil && ws.Name() == "local" {
		return out, nil, door.Usage("--engine works only behind a wall: --workspace docker or bwrap")
	}
	if c.Image != "" && ws.Name() != "docker" {
		fmt.Fprintf(
			w.err,
			"handrail: --image %s does nothing here: workspace %s has the programs of this machine, and only docker runs images\n",
			c.Image,
			ws.Name(),
		)
	}
	known, err := environmentSecrets()
	if err != nil {
		return out, nil, door.UsageError{Err: err}
	}
	dir, end, err := local.TempDir()
	if err != nil {
		return out, nil, fmt.Errorf("make state directory: %w", err)
	}
	set, err := records.OfUser(dir)
	if err != nil {
		return out, nil, errors.Join(err, end())
	}
	if set, err = s.Packages(ctx, c.Deps, ws.Name(), set, assemblerOf(set)); err != nil {
		return out, nil, errors.Join(err, end())
	}
	out.Workspace = ws.Name()
	out.Engine, err = newEngine(engineParts{
		dir: filepath.Join(
			dir,
			"work",
		),
		bases:     gitops.BasesConfig{Dir: basesDir(dir)},
		setups:    set,
		workspace: ws,
		model:     open,
		context:   c.Context,
		maxTokens: c.MaxTokens,
		server:    at.host(),
		rules:     cfg,
		secrets:   known,
		guests:    external,
		log:       w.log,
		form: config.Model{
			Form: c.Form,
		}.Answers(),
		forms: newForms(formsConfig{File: formsFile(), Server: serverOf(at.model()), Log: w.log}),
	})
	if err != nil {
		err = errors.Join(err, end())
	}
	return out, end, err
}

// assemblerOf returns the function that makes a layer of directories.
func assemblerOf(set work.SetUps) func(context.Context, []layer.Part) (string, func(), error) {
	if s, ok := set.Layers.(*layer.Store); ok {
		return s.Assemble
	}
	return nil
}

// basesDir returns the user's cache directory for the files of commits, or one below
// other if the user has none.
func basesDir(other string) string {
	dir, err := os.UserCacheDir()
	if err == nil {
		dir = filepath.Join(dir, "handrail", "bases")
		err = os.MkdirAll(dir, 0o755)
	}
	if err != nil {
		return filepath.Join(other, "bases")
	}
	return dir
}
