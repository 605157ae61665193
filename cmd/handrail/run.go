package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/user"
	"path/filepath"
	"strings"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/agent/work"
	"github.com/handrail-bot/handrail/agent/workspace"
	"github.com/handrail-bot/handrail/cmd/door"
	"github.com/handrail-bot/handrail/cmd/runs"
	"github.com/handrail-bot/handrail/cmd/terminal"
	"github.com/handrail-bot/handrail/gitops"
	"github.com/handrail-bot/handrail/policy"
)

type runCmd struct {
	Repo      string   `type:"path" default:"." help:"The clone to work in. Its work tree and index are not touched."`
	Task      string   `short:"t" help:"What to do. - reads standard input."`
	Mode      string   `help:"code, architect, ask, debug, explore, plan, review or security."`
	Turns     int      `help:"Turn limit; the mode's own otherwise."`
	Branch    string   `help:"Branch for the result; agent/<session>-<slug> otherwise."`
	Workspace string   `enum:"auto,docker,bwrap,local" default:"auto" help:"Where tools run: docker, bwrap, or local (no wall). auto takes docker, then bwrap."`
	Image     string   `help:"Container image for docker."`
	Picture   []string `type:"path" sep:"none" help:"Picture for a model that can see; may be given several times."`
	Yes       bool     `help:"Approve what a person would be asked for, except what is critical."`
	Session   string   `help:"Go on with a session of this clone that parked or was interrupted."`
	modelFlags
	tuneFlags
}

// Run works on the task and leaves the result on a branch.
func (c *runCmd) Run(ctx context.Context, w *console) (err error) {
	task, err := c.taskText(w)
	if err != nil {
		return err
	}
	repo, err := gitops.OpenLocal(c.Repo)
	if err != nil {
		return door.UsageError{Err: err}
	}
	defer func() { err = errors.Join(err, repo.Close()) }()
	base, err := repo.Resolve(ctx, "HEAD")
	if errors.Is(err, gitops.ErrNotFound) {
		return door.Usage("%s has no commit yet; make a first one, for example with `git commit --allow-empty -m start`", c.Repo)
	}
	if err != nil {
		return fmt.Errorf("find the commit to work from: %w", err)
	}
	cfg, err := work.ReadConfig(ctx, repo, base)
	if err != nil {
		return err
	}
	cfg = cfg.WithDefaults() // there is no server above it
	t := session.Task{Session: c.Session, Text: task, Base: base, Branch: c.Branch, Clone: session.Clone{Path: c.Repo, Workspace: c.Workspace, Image: c.Image, Server: c.BaseURL}}
	if c.Session == "" { // one that goes on has its own
		with, note, err := door.Choose(cfg, policy.Choice{Mode: c.Mode, Model: c.Model, Turns: c.Turns})
		if err != nil {
			return err
		}
		if note != "" {
			terminal.New(w.in, w.out, c.Yes).Say("%s", note)
		}
		t.Mode, t.Model, t.Turns = with.Mode, with.Model, with.Turns
	}
	e, err := c.engine(ctx, w, cfg)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, workspace.RemoveTree(e.dir)) }()
	if t.Images, err = pictures(c.Picture); err != nil {
		return err
	}
	log, err := c.openLog(&t)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	if err := c.begin(ctx, &t, repo, cfg, log); err != nil {
		return err
	}
	return c.work(ctx, w, e, work.Job{Task: t, RulesAt: t.Base, Log: log, Repo: repo, Name: filepath.Base(c.Repo), Commits: work.Commits{Author: localAuthor()}})
}

func (c *runCmd) taskText(w *console) (string, error) {
	text := c.Task
	if text == "-" {
		var err error
		if text, err = readAll(w.in); err != nil {
			return "", err
		}
	}
	if strings.TrimSpace(text) == "" && c.Session == "" {
		return "", door.Usage("nothing to do: give --task \"…\"")
	}
	return strings.TrimSpace(text), nil
}

// localEngine is an engine with a state directory of its own.
type localEngine struct {
	*work.Engine
	dir       string
	workspace string // name of the workspace engine
}

func (c *runCmd) engine(ctx context.Context, w *console, cfg policy.Config) (localEngine, error) {
	var out localEngine
	open, err := c.openTuned(w, c.tuneFlags)
	if err != nil {
		return out, err
	}
	if c.Image != "" {
		cfg.Workspace.Image = c.Image
	}
	ws, err := pickWorkspace(ctx, w, c.Workspace, cfg.Workspace)
	if err != nil {
		return out, err
	}
	known, err := environmentSecrets()
	if err != nil {
		return out, door.UsageError{Err: err}
	}
	if out.dir, err = os.MkdirTemp("", "handrail-"); err != nil {
		return out, fmt.Errorf("make state directory: %w", err)
	}
	out.workspace = ws.Name()
	out.Engine, err = newEngine(engineParts{
		dir: filepath.Join(out.dir, "work"), bases: gitops.BasesConfig{Dir: basesDir(out.dir)}, workspace: ws, model: open, context: c.Context, maxTokens: c.MaxTokens, rules: cfg, secrets: known, log: w.log,
	})
	return out, err
}

// basesDir returns the directory in which the files of commits stay for the next run, or
// one below other where this user has none.
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

// openLog opens the session's log, which outlives the run so that a parked
// or interrupted session can go on.
func (c *runCmd) openLog(t *session.Task) (*runs.Log, error) {
	if t.Session == "" {
		t.Session = session.NewID()
	} else if _, err := runs.Read(t.Session); err != nil {
		return nil, err
	}
	return runs.Open(t.Session)
}

func (c *runCmd) work(ctx context.Context, w *console, e localEngine, j work.Job) error {
	t := j.Task
	term := terminal.New(w.in, w.out, c.Yes)
	term.Header(t, e.workspace)
	j.Approver, j.OnEvent, j.OnLive = term, term.Event, term.Live
	j.OnSetup = func(how string) { term.Say("  %s", how) }
	out, err := e.Run(ctx, j)
	if err != nil {
		return fmt.Errorf("session %s: %w (go on with --session %s)", t.Session, err, t.Session)
	}
	events, err := j.Log.Events(ctx, 0)
	if err != nil {
		return err
	}
	state, err := session.Fold(events)
	if err != nil {
		return err
	}
	term.LeftOut(state.LeftOut)
	term.Outcome(t, out, c.Repo)
	if out.Status != session.StatusDone && out.Status != session.StatusAnswered {
		return door.ErrFailed
	}
	return nil
}

// begin reads the task of a session that goes on, or names the branch of a new one.
// New words become a message.
func (c *runCmd) begin(ctx context.Context, t *session.Task, repo *gitops.Mirror, cfg policy.Config, log *runs.Log) error {
	events, err := log.Events(ctx, 0)
	if err != nil {
		return err
	}
	if len(events) > 0 {
		if len(t.Images) > 0 || t.Branch != "" {
			return door.Usage("--picture and --branch go with a new task, not with --session")
		}
		said, err := door.GoOn(cfg, events, t, policy.Choice{Mode: c.Mode, Turns: c.Turns})
		if err != nil {
			return err
		}
		return log.Append(ctx, session.NewEvent(session.TypeMessage, 0, said))
	}
	if t.Branch != "" {
		return policy.ValidateBranch(t.Branch)
	}
	name, err := policy.Branch(cfg.Branch, policy.BranchValues{Session: t.Session, Title: t.Text, Mode: t.Mode})
	if err != nil {
		return err
	}
	t.Branch, err = freeBranch(ctx, repo, name)
	return err
}

// freeBranch returns name, or name with the first number that makes it new.
func freeBranch(ctx context.Context, repo *gitops.Mirror, name string) (string, error) {
	for n, try := 2, name; ; n++ {
		_, err := repo.Resolve(ctx, "refs/heads/"+try)
		if errors.Is(err, gitops.ErrNotFound) {
			return try, nil
		}
		if err != nil {
			return "", err
		}
		try = fmt.Sprintf("%s-%d", name, n)
	}
}

// localAuthor signs as the agent, for the person at this machine.
func localAuthor() gitops.Signature {
	name := "Handrail"
	if u, err := user.Current(); err == nil && u.Username != "" {
		name = "Handrail for " + u.Username
	}
	return gitops.Signature{Name: name, Email: "handrail@localhost"}
}

func readAll(r io.Reader) (string, error) {
	data, err := io.ReadAll(r)
	if err != nil {
		return "", fmt.Errorf("read standard input: %w", err)
	}
	return string(data), nil
}
