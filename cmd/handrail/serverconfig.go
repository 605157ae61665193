package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"go.yaml.in/yaml/v4"

	"github.com/handrail-bot/handrail/policy"
)

// serverConfig is the file that `handrail serve --config` reads. Secrets are
// not in it: they come from the environment or from files that it names.
type serverConfig struct {
	Listen   string         `yaml:"listen"`   // address of the webhook server
	Data     string         `yaml:"data"`     // directory for mirrors, workspaces and the database
	Database string         `yaml:"database"` // postgres://… for several servers; a file in Data otherwise
	GitHub   githubConfig   `yaml:"github"`
	Model    modelConfig    `yaml:"model"`
	Sessions sessionsConfig `yaml:"sessions"`
	Policy   policy.Config  `yaml:"policy"` // the limits that no repository can widen

	Workspace string `yaml:"workspace"` // auto, docker, bwrap or local
}

type githubConfig struct {
	API            string `yaml:"api"` // of GitHub Enterprise Server, for example https://github.example/api/v3/
	AppID          int64  `yaml:"app_id"`
	PrivateKeyFile string `yaml:"private_key_file"`
	Repository     string `yaml:"repository"` // with a token: the one repository, owner/name

	key           []byte
	token         policy.Secret
	webhookSecret policy.Secret
}

type modelConfig struct {
	Name    string `yaml:"name"`
	Ollama  string `yaml:"ollama"`
	BaseURL string `yaml:"base_url"`
}

type sessionsConfig struct {
	AtOnce  int `yaml:"at_once"`  // sessions that run at the same time
	PerUser int `yaml:"per_user"` // of these, for one person
	PerRepo int `yaml:"per_repo"`
}

// readServerConfig reads the file, strictly, then what the environment adds,
// and checks that the whole can work.
func readServerConfig(path string, getenv func(string) string) (serverConfig, error) {
	cfg := serverConfig{Listen: "127.0.0.1:8080", Data: "data", Workspace: "auto"}
	if path != "" {
		data, err := os.ReadFile(path)
		if err != nil {
			return cfg, fmt.Errorf("read configuration: %w", err)
		}
		if err := yaml.Load(data, &cfg, yaml.WithKnownFields()); err != nil {
			return cfg, fmt.Errorf("read configuration %s: %w", path, err)
		}
	}
	if err := cfg.environment(getenv); err != nil {
		return cfg, err
	}
	return cfg, cfg.check()
}

func (c *serverConfig) environment(getenv func(string) string) error {
	for _, v := range []struct {
		name string
		into *string
	}{
		{"HANDRAIL_LISTEN", &c.Listen}, {"HANDRAIL_DATA", &c.Data}, {"HANDRAIL_DATABASE", &c.Database},
		{"HANDRAIL_MODEL", &c.Model.Name}, {"HANDRAIL_BASE_URL", &c.Model.BaseURL}, {"OLLAMA_HOST", &c.Model.Ollama},
		{"HANDRAIL_WORKSPACE", &c.Workspace},
	} {
		if s := getenv(v.name); s != "" {
			*v.into = s
		}
	}
	c.GitHub.token = policy.Secret(getenv("HANDRAIL_GITHUB_TOKEN"))
	c.GitHub.webhookSecret = policy.Secret(getenv("HANDRAIL_WEBHOOK_SECRET"))
	if c.GitHub.PrivateKeyFile != "" {
		key, err := os.ReadFile(c.GitHub.PrivateKeyFile)
		if err != nil {
			return fmt.Errorf("read the App's private key: %w", err)
		}
		c.GitHub.key = key
	}
	return nil
}

// check names everything that is missing at once.
func (c *serverConfig) check() error {
	var errs []error
	add := func(bad bool, text string) {
		if bad {
			errs = append(errs, errors.New(text))
		}
	}
	add(c.GitHub.webhookSecret == "", "no webhook secret: set HANDRAIL_WEBHOOK_SECRET to the one of the App or the repository's webhook; unsigned deliveries are never taken")
	app := c.GitHub.AppID != 0 || len(c.GitHub.key) > 0
	add(app && (c.GitHub.AppID == 0 || len(c.GitHub.key) == 0), "a GitHub App needs both github.app_id and github.private_key_file")
	add(!app && c.GitHub.token == "", "no GitHub access: set github.app_id and github.private_key_file, or HANDRAIL_GITHUB_TOKEN for one repository")
	add(!app && c.GitHub.token != "" && c.GitHub.Repository == "", "a token serves one repository: set github.repository to owner/name")
	add(c.Model.Name == "" && c.Policy.Model == "", "no model: set model.name or HANDRAIL_MODEL")
	if err := c.Policy.Validate(); err != nil {
		errs = append(errs, fmt.Errorf("policy: %w", err))
	}
	if abs, err := filepath.Abs(c.Data); err != nil {
		errs = append(errs, err)
	} else {
		c.Data = abs
	}
	if len(errs) > 0 {
		return fmt.Errorf("configuration: %w", errors.Join(errs...))
	}
	return nil
}
