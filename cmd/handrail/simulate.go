package main

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/handrail-bot/handrail/cmd/config"
	"github.com/handrail-bot/handrail/cmd/door"
	"github.com/handrail-bot/handrail/cmd/simulate"
	"github.com/handrail-bot/handrail/policy"
)

type simulateCmd struct {
	File             string `arg:"" help:"A payload of GitHub's, or - for standard input."`
	Event            string `placeholder:"NAME" help:"Name of its event, such as issue_comment, if the payload does not tell."`
	Config           string `type:"path" placeholder:"FILE" help:"The file that 'serve --config' reads; the defaults otherwise."`
	RepositoryConfig string `type:"path" placeholder:"FILE" help:"The repository's .github/agent.yml; none otherwise."`
	Permission       string `default:"write" enum:"admin,maintain,write,triage,read,none" help:"Assumed permission of its sender: ${enum}."`
	JSON             bool   `name:"json" help:"Print one JSON object."`
}

// Run reports the effect of a payload without causing it.
func (c *simulateCmd) Run(ctx context.Context, w *console) error {
	in := simulate.Input{Event: c.Event, Permission: c.Permission}
	var err error
	if c.File == "-" {
		in.Payload, err = io.ReadAll(w.in)
	} else {
		in.Payload, err = os.ReadFile(c.File)
	}
	if err != nil {
		return door.Usage("read payload: %w", err)
	}
	server, err := config.ReadFile(c.Config)
	if err != nil {
		return door.UsageError{Err: err}
	}
	in.Server, in.Model, in.Repositories, in.Apps = server.Policy, server.Model.Name, server.GitHub.Served(),
		server.GitHub.Apps
	if c.RepositoryConfig != "" {
		data, err := os.ReadFile(c.RepositoryConfig)
		if err == nil {
			in.Repository, err = policy.ParseConfig(c.RepositoryConfig, data)
		}
		if err != nil {
			return door.Usage("read configuration: %w", err)
		}
	}
	res, err := simulate.Run(ctx, in)
	if err != nil {
		return door.Usage("simulate %s: %w", c.File, err)
	}
	if c.JSON {
		return door.JSONLine(w.out, res)
	}
	fmt.Fprintf(w.out, "%s %s\n", res.Event, res.Action)
	for _, e := range res.Would {
		fmt.Fprintf(w.out, "would    %s\n", e)
	}
	for _, b := range res.Because {
		fmt.Fprintf(w.out, "because  %s: %s\n", b.Rule, b.Text)
	}
	return nil
}
