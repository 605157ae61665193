// Package setup creates the bot's GitHub App in a browser, at /setup, and writes the
// files for a server.
package setup

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/handrail-bot/handrail/bot/ghapp/granted"
	"github.com/handrail-bot/handrail/cmd/doctor"
	"github.com/handrail-bot/handrail/cmd/door"
	"github.com/handrail-bot/handrail/cmd/local"
	"github.com/handrail-bot/handrail/policy/secret"
)

// Verb is handrail init.
type Verb struct {
	Dir          string `type:"path" default:"." help:"Directory for handrail.yml, handrail.env and handrail.pem."`
	Listen       string `default:"127.0.0.1:8080" help:"Address of the page, and of the server later. If other machines reach it, put TLS in front of it."`
	Model        string `env:"HANDRAIL_MODEL" placeholder:"NAME" help:"Model, as its server names it; without it, the only one that the server has, or the one that you choose of several."`
	BaseURL      string `name:"base-url" env:"HANDRAIL_BASE_URL" placeholder:"URL" help:"Address of an OpenAI-compatible server; without it, Ollama is used."`
	CAFile       string `name:"ca-file" type:"path" placeholder:"FILE" help:"PEM file with the certificate authority of the model's server, to trust besides the system's; handrail.yml names it."`
	GitHub       string `name:"github" placeholder:"URL" help:"Address of a GitHub Enterprise Server, such as https://github.example; without it, github.com."`
	Organization string `placeholder:"NAME" help:"Organization that owns the App; without it, your account."`
	Address      string `placeholder:"URL" help:"Public address of this server, such as https://bot.example; without it, the bot asks GitHub every 30 seconds."`
	Workflows    bool   `help:"Let the bot push approved changes of workflow files."`
	NoWait       bool   `name:"no-wait" help:"Do not wait until the App is installed; the model is tried all the same."`

	ollama  string            // Ollama's address; empty means the default
	trusted *x509.CertPool    // authorities of the model's server; nil means the system's
	key     secret.Value      // of the model's server; empty if it needs none
	secrets map[string]string // of the server, by variable, as written to its file
}

func (v *Verb) choice() granted.Choice {
	c := granted.Choice{Site: v.GitHub, Organization: v.Organization, Workflows: v.Workflows}
	if v.Address != "" {
		c.Webhook = strings.TrimRight(v.Address, "/") + "/webhook"
	}
	return c
}

// Run serves the page until the App exists, and then guides the user to the first
// comment.
func (v *Verb) Run(ctx context.Context, w *door.Console, of doctor.Of) error {
	ollama := os.Getenv("OLLAMA_HOST")
	if v.BaseURL != "" {
		ollama = ""
	}
	v.ollama = ollama
	if err := v.readSettings(); err != nil {
		return door.UsageError{Err: err}
	}
	if err := v.choice().Check(); err != nil {
		return door.UsageError{Err: err}
	}
	dir, err := filepath.Abs(v.Dir)
	if err != nil {
		return err
	}
	f := filesIn(dir)
	if err := f.checkFree(); err != nil {
		return err
	}
	if _, err := local.WorkTreeOf(ctx, dir); err == nil {
		fmt.Fprintf(
			w.Err,
			"! %s is in a git repository: never commit the files, which have secrets; --dir names another directory.\n",
			dir,
		)
	}
	if err := v.ensureAccess(ctx, w, f); err != nil {
		return err
	}
	if v.Model == "" {
		if v.Model, err = v.choose(ctx, w); err != nil {
			return err
		}
	}
	l, err := net.Listen("tcp", v.Listen)
	if err != nil {
		return fmt.Errorf("listen on %s: %w; name another address with --listen, such as 127.0.0.1:8081", v.Listen, err)
	}
	app, err := v.create(ctx, w, l, f)
	if err != nil {
		return err
	}
	return v.after(w, app, f, of).guide(ctx)
}

// create serves the page, and returns the created App.
func (v *Verb) create(ctx context.Context, w *door.Console, l net.Listener, f files) (granted.App, error) {
	done, end := context.WithCancel(ctx)
	defer end()
	p := newPage(v.choice(), func(app granted.App) (files, error) { return f.writeAll(v, app) }, end)
	fmt.Fprintf(
		w.Out,
		"Open this address in a browser. It works once, and for one browser:\n\n  http://%s/setup?code=%s\n\nWaiting; Ctrl-C ends it, and nothing is written.\n",
		l.Addr(),
		p.code,
	)
	if host, _, _ := net.SplitHostPort(l.Addr().String()); !net.ParseIP(host).IsLoopback() {
		fmt.Fprintln(w.Err, "Others can read the traffic to this address, unless TLS is in front of it.")
	}
	s := &http.Server{Handler: p, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: time.Minute, IdleTimeout: time.Minute}
	failed := make(chan error, 1)
	go func() { failed <- s.Serve(l) }()
	select {
	case <-done.Done():
	case err := <-failed:
		return granted.App{}, fmt.Errorf("serve the page: %w", err)
	}
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	err := s.Shutdown(grace)
	<-failed
	app, made := p.createdApp()
	switch {
	case err != nil:
		return app, fmt.Errorf("close the page: %w", errors.Join(err, s.Close()))
	case !made:
		return app, errors.New("no App was created")
	}
	return app, nil
}
