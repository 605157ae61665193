package config

import (
	"cmp"
	"os"
	"path/filepath"

	"github.com/handrail-bot/handrail/cmd/action"
	"github.com/handrail-bot/handrail/policy/secret"
)

// ReadAction reads the configuration of a workflow run. The file is optional, and the
// run's inputs override it.
func ReadAction(run action.Run, getenv func(string) string) (Server, error) {
	a, repo := run.Inputs, run.Repo.Repository()
	cfg, bad, err := load(a.Config)
	if err != nil {
		return cfg, err
	}
	cfg.environment(getenv, bad)
	cfg.Data, cfg.GitHub = filepath.Join(cmp.Or(run.Temp, os.TempDir()), "handrail"), GitHub{API: run.API, Repository: repo, Token: run.Token}
	// The secret signs and seals data that only this repository reads. Without a state
	// key it is guessable; it then only protects the order of the bot's own records.
	cfg.GitHub.WebhookSecret = cmp.Or(a.StateKey, secret.Value("handrail "+repo))
	cfg.Model.Name, cfg.Model.Key = cmp.Or(a.Model, cfg.Model.Name), cmp.Or(a.APIKey, cfg.Model.Key)
	cfg.Model.Form = cmp.Or(a.Form, cfg.Model.Form)
	if a.Ollama != "" || a.BaseURL != "" {
		cfg.Model.Ollama, cfg.Model.BaseURL = a.Ollama, a.BaseURL
	}
	cfg.Workspace = cmp.Or(a.Workspace, cfg.Workspace)
	cfg.Policy.Workspace.Image = cmp.Or(a.Image, cfg.Policy.Workspace.Image)
	if cfg.Policy.Workspace.Image != "" && cmp.Or(cfg.Workspace, "auto") == "auto" {
		cfg.Workspace = "docker" // a named image implies containers
	}
	cfg.complete(bad)
	cfg.values(bad)
	return cfg, bad.err()
}
