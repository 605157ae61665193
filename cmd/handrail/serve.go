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
	File      string `name:"config" short:"c" type:"path" placeholder:"FILE" help:"Configuration file."`
	Listen    string `placeholder:"ADDRESS" help:"Address to listen on, for example :8080."`
	Data      string `type:"path" placeholder:"DIR" help:"Directory for the database, mirrors and workspaces."`
	Model     string `placeholder:"NAME" help:"Model for requests that name none."`
	Workspace string `placeholder:"NAME" help:"auto, docker, bwrap or local."`
	Check     bool   `help:"Ask the server that runs with this configuration whether it is ready, and exit."`
}

// Run serves until the context ends.
func (c *serveCmd) Run(ctx context.Context, w *console) error {
	if c.Check {
		return c.check(ctx)
	}
	cfg, err := config.Read(c.File, c.getenv)
	if err != nil && c.File == "" {
		err = fmt.Errorf("%w\n--config FILE names a file with these settings; `handrail init` writes one", err)
	}
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
	w.log.InfoContext(ctx, "started", "version", w.version, "address", s.url(), "workspace", s.workspace, "model", cfg.Model.Name)
	s.wait.Go(func() {
		if login, err := s.app.Self(look); err == nil {
			w.log.InfoContext(look, "connected", "as", login, "github", cfg.GitHub.API)
		} else if look.Err() == nil {
			w.log.WarnContext(look, "not connected", "github", cfg.GitHub.API, "err", err)
		}
	})
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

// address returns the address at which this machine reaches a running server.
func (c *serveCmd) address() (string, error) {
	listen := c.getenv("HANDRAIL_LISTEN")
	if listen == "" && c.File != "" {
		cfg, err := config.Read(c.File, c.getenv)
		if err != nil {
			return "", door.UsageError{Err: err}
		}
		listen = cfg.Listen
	}
	if listen == "" {
		listen = "127.0.0.1:8080"
	}
	host, port, err := net.SplitHostPort(listen)
	if err != nil {
		return "", door.Usage("--listen %q is no address such as 127.0.0.1:8080", listen)
	}
	if host == "" || host == "0.0.0.0" || host == "::" {
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, port), nil
}

// check returns an error unless a running server is healthy. It is the health check of a
// container.
func (c *serveCmd) check(ctx context.Context) error {
	at, err := c.address()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(
		ctx,
		http.MethodGet,
		"http://"+at+"/readyz/deliveries",
		nil,
	)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return fmt.Errorf("ask %s: %w", at, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		why, _ := io.ReadAll(io.LimitReader(resp.Body, 4<<10)) // on failure the status has to suffice
		return fmt.Errorf("the server on %s is not ready: %s\n%s", at, resp.Status, strings.TrimSpace(string(why)))
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
				ctx, "something that the server needs is not as it should be", "what", f.Name, "is", f.Detail, "remedy",
				f.Remedy,
			)
		}
	}
}
