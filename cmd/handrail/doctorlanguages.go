package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/handrail-bot/handrail/agent/workspace"
	"github.com/handrail-bot/handrail/cmd/doctor"
	"github.com/handrail-bot/handrail/cmd/door"
	"github.com/handrail-bot/handrail/gitops"
	"github.com/handrail-bot/handrail/policy"
	"github.com/handrail-bot/handrail/policy/phrase"
)

type doctorLanguagesCmd struct {
	Repo      string `default:"." type:"path" help:"The clone."`
	Workspace string `enum:"auto,docker,bwrap,local" default:"auto" help:"Where the servers are looked for and run, as for run."`
	Image     string `placeholder:"NAME" help:"Image of the workspace; docker only."`
	LSP       string `name:"lsp" type:"path" placeholder:"DIR" help:"Directory of servers that 'handrail lsp install' made; that of this user by default."`
	JSON      bool   `name:"json" help:"Print one JSON object."`
}

// Run starts the language servers of a clone's files in a workspace, and says how they are.
func (c *doctorLanguagesCmd) Run(ctx context.Context, w *console) error {
	repo, err := gitops.OpenLocal(c.Repo)
	if errors.Is(err, gitops.ErrNotFound) {
		return door.Usage("%s is not in a git repository; name the clone with --repo DIR", c.Repo)
	}
	if err != nil {
		return door.UsageError{Err: err}
	}
	head, err := repo.Resolve(ctx, "HEAD")
	if err != nil {
		return door.Usage("find the last commit of %s: %w", c.Repo, err)
	}
	engine, err := pickWorkspace(ctx, w, c.Workspace, policy.Workspace{Image: c.Image})
	if err != nil {
		return err
	}
	installed := cmp.Or(c.LSP, usersServers())
	if err := checkServers(installed); err != nil {
		return err
	}
	states, err := serversIn(ctx, engine, repo, head, workspace.Spec{Image: c.Image, LSP: installed})
	if err != nil {
		return err
	}
	report := doctor.Report{OK: true, Findings: languageFindings(engine.Name(), states)}
	if c.JSON {
		return door.JSONLine(w.out, report)
	}
	doctor.List(w.door(), report.Findings)
	return nil
}

// serversIn returns the language servers of a commit's files in a new workspace, which spec describes
// besides its files.
func serversIn(
	ctx context.Context, engine workspace.Engine, repo *gitops.Mirror, head string, spec workspace.Spec,
) (states []workspace.ServerState, err error) {
	dir, err := os.MkdirTemp("", "handrail-doctor-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, workspace.RemoveTree(dir)) }()
	bases, err := gitops.OpenBases(gitops.BasesConfig{Dir: filepath.Join(dir, "bases")})
	if err != nil {
		return nil, err
	}
	layered, ok := engine.(workspace.Layered)
	base, err := bases.Take(ctx, repo, gitops.BaseWant{Commit: head, Layers: ok && layered.Layers()})
	if err != nil {
		return nil, err
	}
	defer base.Drop()
	spec.Session, spec.Source, spec.Over = filepath.Base(dir), base.Source, base.Over
	spec.State = filepath.Join(dir, "state")
	ws, err := engine.Open(ctx, spec)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, ws.Close(context.WithoutCancel(ctx))) }()
	if _, err := ws.Languages(ctx, nil); err != nil {
		return nil, err
	}
	return ws.Servers(ctx)
}

// languageFindings are the lines about language servers. No session needs one.
func languageFindings(engine string, states []workspace.ServerState) (out []doctor.Finding) {
	place := "the image of the workspace"
	if engine != "docker" {
		place = "a directory of the PATH"
	}
	for _, s := range states {
		f := doctor.Finding{Name: s.Server, Millis: s.Start.Milliseconds()}
		files := phrase.Count(s.Files, "file") + " (" + strings.Join(s.Extensions, ", ") + ")"
		switch {
		case !s.Installed:
			f.Detail = "is not installed, for " + files
			f.Remedy = "Install it into " + place + ": " + s.Install
			if _, err := knownServer(s.Server); err == nil {
				f.Remedy = "Run `handrail lsp install " + s.Server + "`, or install it into " + place + ": " + s.Install
			}
		case s.Why != "":
			f.Detail = s.Why
		default:
			version := s.Version
			if version == "" {
				version = "of no named version"
			}
			f.OK, f.Detail = true, fmt.Sprintf("%s, started in %s, for %s", version, s.Start.Round(time.Millisecond), files)
			if s.Bundled {
				f.Detail += ", from `handrail lsp install`"
			}
		}
		out = append(out, f)
	}
	if len(out) == 0 {
		out = append(out, doctor.Finding{Name: "languages", OK: true, Detail: "no file is of a language with a known server"})
	}
	return out
}
