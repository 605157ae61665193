package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/handrail-bot/handrail/cmd/config"
	"github.com/handrail-bot/handrail/cmd/doctor"
	"github.com/handrail-bot/handrail/cmd/door"
)

type serveCmd struct {
	File      string `name:"config" short:"c" type:"path" help:"Configuration file."`
	Listen    string `help:"Address to listen on, for example :8080."`
	Data      string `type:"path" help:"Directory for the database, mirrors and workspaces."`
	Model     string `help:"Model for requests that name none."`
	Workspace string `help:"auto, docker, bwrap or local."`
	Check     bool   `help:"Ask the server that runs with this configuration whether it is ready, and exit."`
}

// Run serves until the context ends.
func (c *serveCmd) Run(ctx context.Context, w *console) error {
	if c.Check {
		return c.check(ctx)
	}
	cfg, err := config.Read(c.File, c.getenv)
	if err != nil {
		return door.UsageError{Err: err}
	}
	for _, f := range doctor.Server(&cfg) {
		w.log.Warn("a value of the configuration has another effect than it seems", "file", c.File, "what", f.Error())
	}
	s, err := newServer(ctx, w, cfg, w.options)
	if err != nil {
		return err
	}
	if err := s.start(ctx); err != nil {
		return errors.Join(err, s.close(context.WithoutCancel(ctx)))
	}
	look, enough := context.WithCancel(ctx)
	defer enough()
	s.wait.Go(func() { s.logUnmet(look) })
	fmt.Fprintf(
		w.out,
		"handrail %s listens on %s (workspace %s, model %s)\n",
		w.version,
		s.url(),
		s.workspace,
		cfg.Model.Name,
	)
	select {
	case <-ctx.Done():
		w.log.Info("going down")
	case err = <-s.failed:
	}
	enough()
	return errors.Join(err, s.close(context.WithoutCancel(ctx)))
}

// getenv reads a setting: flags override the environment, which overrides the file.
func (c *serveCmd) getenv(name string) string {
	flags := map[string]string{
		"HANDRAIL_LISTEN": c.Listen, "HANDRAIL_DATA": c.Data, "HANDRAIL_MODEL": c.Model, "HANDRAIL_WORKSPACE": c.Workspace,
	}
	if v := flags[name]; v != "" {
		return v
	}
	return os.Getenv(name)
}

// check returns an error unless a running server is healthy. It is the health check of a
// container.
func (c *serveCmd) check(ctx context.Context) error {
	listen := c.getenv("HANDRAIL_LISTEN")
	if listen == "" && c.File != "" {
		cfg, err := config.Read(c.File, c.getenv)
		if err != nil {
			return door.UsageError{Err: err}
		}
		listen = cfg.Listen
	}
	if listen == "" {
		listen = "127.0.0.1:8080"
	}
	host, port, err := net.SplitHostPort(listen)
	if err != nil {
		return door.Usage("--listen %q: %w", listen, err)
	}
	if host == "" || host == "0.0.0.0" || host == "::" {
		host = "127.0.0.1"
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(
		ctx,
		http.MethodGet,
		"http://"+net.JoinHostPort(host, port)+"/readyz/deliveries",
		nil,
	)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return fmt.Errorf("ask %s: %w", listen, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		why, _ := io.ReadAll(io.LimitReader(resp.Body, 4<<10)) // on failure the status has to suffice
		return fmt.Errorf("the server on %s is not ready: %s\n%s", listen, resp.Status, strings.TrimSpace(string(why)))
	}
	return nil
}

// logUnmet logs unmet requirements of the server with their remedies. The server runs
// anyway: most of them can be met later.
func (s *server) logUnmet(ctx context.Context) {
	d := doctorOf(s.cfg, s.log)
	for _, f := range d.Quick(ctx) {
		if !f.OK && ctx.Err() == nil {
			s.log.WarnContext(
				ctx,
				"something that the server needs is not as it should be",
				"what",
				f.Name,
				"is",
				f.Detail,
				"remedy",
				f.Remedy,
			)
		}
	}
}
