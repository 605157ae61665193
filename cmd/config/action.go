package config

import (
	"cmp"

	"github.com/handrail-bot/handrail/policy/secret"
)

// Action is what a workflow run says; the rest is as in a server's file.
type Action struct {
	Repository, API, Data string
	Token, Key, APIKey    secret.Value

	Model, Ollama, BaseURL, Workspace, Image string
}

// ReadAction reads the configuration of a workflow run. The file is optional, and the
// run wins over it.
func ReadAction(path string, getenv func(string) string, a Action) (Server, error) {
	cfg, err := ReadFile(path)
	if err != nil {
		return cfg, err
	}
	var bad problemList
	cfg.environment(getenv, &bad)
	cfg.Data, cfg.GitHub = a.Data, GitHub{API: a.API, Repository: a.Repository, Token: a.Token}
	// What is signed and sealed with this is for the eyes of this repository. Without a
	// key of its own everybody can make it, and nothing depends on it but the order of
	// what the bot itself wrote.
	cfg.GitHub.WebhookSecret = cmp.Or(a.Key, secret.Value("handrail "+a.Repository))
	cfg.Model.Name, cfg.Model.Key = cmp.Or(a.Model, cfg.Model.Name), cmp.Or(a.APIKey, cfg.Model.Key)
	if a.Ollama != "" || a.BaseURL != "" {
		cfg.Model.Ollama, cfg.Model.BaseURL = a.Ollama, a.BaseURL
	}
	cfg.Workspace, cfg.Policy.Workspace.Image = cmp.Or(a.Workspace, cfg.Workspace), cmp.Or(a.Image, cfg.Policy.Workspace.Image)
	cfg.complete(&bad)
	cfg.values(&bad)
	return cfg, bad.err()
}
