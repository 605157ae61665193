// Package config reads the operator's configuration: the file of a server, its
// environment, and the settings of a model. It checks that the whole can work, and
// reports all problems at once, with their positions in the file.
package config

import (
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/handrail-bot/handrail/policy"
	"github.com/handrail-bot/handrail/policy/pattern"
	"github.com/handrail-bot/handrail/policy/secret"
	"github.com/handrail-bot/handrail/policy/strict"
)

// Server is the file of `handrail serve --config`. It holds no secrets: they come from
// the environment, or from files that it names. docs/configuration.md describes every
// key.
type Server struct {
	Listen   string        `yaml:"listen" jsonschema:"description=Address of the webhook server\\, such as :8080.,default=127.0.0.1:8080"`
	Data     string        `yaml:"data" jsonschema:"description=Directory for the database\\, mirrors and workspaces.,default=data"`
	Database string        `yaml:"database" jsonschema:"description=A postgres:// address\\, for several servers\\, or the path of an SQLite file; handrail.db in data when unset. An address with a password belongs into HANDRAIL_DATABASE."`
	GitHub   GitHub        `yaml:"github"`
	Model    Model         `yaml:"model"`
	Engine   string        `yaml:"engine" jsonschema:"description=What works on sessions: handrail\\, its own loop with the model\\, or acp\\, an external agent.,enum=handrail,enum=acp,default=handrail"`
	ACP      ACP           `yaml:"acp"`
	Sessions Sessions      `yaml:"sessions"`
	Quotas   Quotas        `yaml:"quotas"`
	Policy   policy.Config `yaml:"policy"` // the limits that no repository can widen
	Commits  Commits       `yaml:"commits"`
	Bases    Bases         `yaml:"bases"`
	Layers   Bases         `yaml:"layers"`
	Retain   Retention     `yaml:"retention"`

	Dashboard Dashboard `yaml:"dashboard"`
	Metrics   Metrics   `yaml:"metrics"`
	Traces    Traces    `yaml:"traces"`

	Workspace string `yaml:"workspace" jsonschema:"description=Where tools run: docker\\, bwrap\\, local\\, unix:SOCKET\\, or auto.,default=auto"`

	// ServerHeaders are the headers of MCP servers at URLs with their values, by server.
	ServerHeaders map[string]map[string]secret.Value `yaml:"-"`

	source source // of each value

	LogKey secret.Value `yaml:"-"` // seals and signs logs; the webhook's secret if unset
}

// Bases is `bases:` in the server's file: the limits of the cached files of commits that
// no session uses. `layers:` has the same limits for the results of setup commands.
type Bases struct {
	Size policy.Size     `yaml:"size" jsonschema:"default=20g"` // of all contents
	Age  policy.Duration `yaml:"age" jsonschema:"default=336h"` // since the last use
}

// Retention is `retention:` in the server's file: the time for which unused data is kept.
type Retention struct {
	Logs        policy.Duration `yaml:"logs" jsonschema:"description=How long an ended session stays with its log\\, counted from its last event; for ever when unset."`
	Uninstalled policy.Duration `yaml:"uninstalled" jsonschema:"description=How long the data of a repository stays after the App was uninstalled; 0 for ever,default=720h"`
	Mirrors     policy.Duration `yaml:"mirrors" jsonschema:"description=How long an unused mirror of a repository stays; for ever when unset."`
}

// GitHub is `github:` in the server's file. Either the App's id and key are set, or Token
// and Repository.
type GitHub struct {
	API            string `yaml:"api" jsonschema:"description=Address of the API of GitHub Enterprise Server\\, such as https://github.example/api/v3/; github.com when unset."`
	AppID          int64  `yaml:"app_id" jsonschema:"description=Number of the GitHub App.,minimum=0"`
	PrivateKeyFile string `yaml:"private_key_file" jsonschema:"description=The App's private key: the PEM file that GitHub gave."`
	Repository     string `yaml:"repository" jsonschema:"description=The one repository that a token serves: owner/name."`
	// Repositories are the served ones: owner/name, or owner/* for all of an owner.
	Repositories []string `yaml:"repositories" jsonschema:"description=Repositories that are served: owner/name\\, or owner/*; all repositories of the App when unset."`
	// Apps are the ids of Apps through which users may write commands.
	Apps []int64 `yaml:"apps" jsonschema:"description=Numbers of Apps through which users may give commands."`
	// Poll is the interval for polling GitHub instead of a webhook; 0 disables polling.
	Poll policy.Duration `yaml:"poll"`

	PartialClone *bool `yaml:"partial_clone" jsonschema:"description=New mirrors fetch the contents of files on demand; true when unset."`

	CAFile string `yaml:"ca_file" jsonschema:"description=PEM file of certificate authorities to trust besides the system's."`

	Trusted       *x509.CertPool `yaml:"-"` // from CAFile
	Key           []byte         `yaml:"-"`
	Token         secret.Value   `yaml:"-"`
	WebhookSecret secret.Value   `yaml:"-"`
}

// Served returns the served repositories. An empty result means all with the App.
func (g GitHub) Served() []string {
	if g.Repository == "" {
		return g.Repositories
	}
	return append([]string{g.Repository}, g.Repositories...)
}

// DefaultAtOnce is the default maximum number of concurrent sessions.
const DefaultAtOnce = 8

// Sessions is `sessions:` in the server's file; 0 means the default.
type Sessions struct {
	AtOnce  int `yaml:"at_once" jsonschema:"description=Sessions that run at the same time.,minimum=0,default=8"`
	PerUser int `yaml:"per_user" jsonschema:"description=Of these\\, for one user; at_once when unset.,minimum=0,default=at_once"`
	PerRepo int `yaml:"per_repo" jsonschema:"description=Of these\\, in one repository; at_once when unset.,minimum=0,default=at_once"`
}

// Read reads the file strictly, applies the environment, and checks the result.
func Read(path string, getenv func(string) string) (Server, error) {
	cfg, bad, err := load(path)
	if err != nil {
		return cfg, err
	}
	cfg.environment(getenv, bad)
	cfg.complete(bad)
	cfg.values(bad)
	return cfg, bad.err()
}

// CheckFile checks a file alone. It does not ask for values from the server's
// environment, such as secrets.
func CheckFile(path string) (Server, error) {
	cfg, bad, err := load(path)
	if err != nil {
		return cfg, err
	}
	cfg.readKey(bad)
	cfg.Commits.read(bad)
	cfg.values(bad)
	return cfg, bad.err()
}

// ReadFile returns the defaults, overridden by the values of the file. An empty path
// gives the defaults.
func ReadFile(path string) (Server, error) {
	cfg, bad, err := load(path)
	if err != nil {
		return cfg, err
	}
	return cfg, bad.err()
}

// load is [ReadFile] with the problems kept apart. The error means that the file could
// not be opened.
func load(path string) (Server, *problems, error) {
	cfg := Server{
		Listen: "127.0.0.1:8080",
		Data:   "data",
		Retain: Retention{Uninstalled: policy.Duration(30 * 24 * time.Hour)},
		source: source{over: map[string]string{}},
	}
	bad := &problems{path: path}
	if path != "" {
		data, err := os.ReadFile(path)
		if err != nil {
			return cfg, bad, fmt.Errorf("read configuration: %w", err)
		}
		doc, err := strict.Read(data, &cfg)
		cfg.source.Document, cfg.source.unread = doc, err != nil && doc.Empty()
		bad.hint = otherKind(data, serverKeys, repositoryKeys)
		bad.read = err
		bad.all = strict.Of(
			doc.Locate(errors.Join(cfg.Policy.Validate(), cfg.Policy.CheckEffect(), cronFaults(cfg.Policy)), "policy"),
		)
	}
	bad.source = cfg.source
	bad.when(
		cfg.Model.Ollama != "" && cfg.Model.BaseURL != "",
		"model.ollama",
		"model.ollama and model.base_url are both set; keep the one where the model runs",
	)
	if engine := cfg.Policy.Workspace.Engine; engine != "" {
		bad.when(
			cfg.Workspace != "" && cfg.Workspace != engine,
			"workspace",
			"it is %s and policy.workspace.engine is %s; keep one",
			cfg.Workspace,
			engine,
		)
		cfg.Workspace = engine
	}
	if cfg.Workspace == "" {
		cfg.Workspace = "auto"
	}
	cfg.Policy = cfg.Policy.WithDefaults()
	return cfg, bad, nil
}

// environment applies the environment, which overrides the file.
func (c *Server) environment(getenv func(string) string, bad *problems) {
	for _, v := range []struct {
		name, key string
		into      *string
	}{
		{"HANDRAIL_LISTEN", "listen", &c.Listen}, {"HANDRAIL_DATA", "data", &c.Data}, {"HANDRAIL_WORKSPACE", "workspace", &c.Workspace},
		{"HANDRAIL_MODEL", "model.name", &c.Model.Name}, {"HANDRAIL_PROVIDER", "model.provider", (*string)(&c.Model.Provider)},
		{"HANDRAIL_BASE_URL", "model.base_url", &c.Model.BaseURL}, {"OLLAMA_HOST", "model.ollama", &c.Model.Ollama},
		{"HANDRAIL_GITHUB_API", "github.api", &c.GitHub.API}, {"HANDRAIL_REPOSITORY", "github.repository", &c.GitHub.Repository},
		{"HANDRAIL_PRIVATE_KEY_FILE", "github.private_key_file", &c.GitHub.PrivateKeyFile}, {"HANDRAIL_COMMITS_KEY", "commits.key", &c.Commits.Key},
	} {
		if s := getenv(v.name); s != "" {
			*v.into = s
			c.source.over[v.key] = v.name
		}
	}
	if s := getenv("HANDRAIL_APP_ID"); s != "" {
		id, err := strconv.ParseInt(strings.TrimSpace(s), 10, 64)
		bad.when(err != nil, "", "HANDRAIL_APP_ID must be the number that the App's page shows")
		c.GitHub.AppID = id
		c.source.over["github.app_id"] = "HANDRAIL_APP_ID"
	}
	database := secret.Value(c.Database)
	for _, v := range []struct {
		name string
		into *secret.Value
	}{
		{"HANDRAIL_GITHUB_TOKEN", &c.GitHub.Token}, {"HANDRAIL_WEBHOOK_SECRET", &c.GitHub.WebhookSecret},
		{"HANDRAIL_CLIENT_SECRET", &c.Dashboard.Secret}, {"OTEL_EXPORTER_OTLP_HEADERS", &c.Traces.Headers}, {"HANDRAIL_API_KEY", &c.Model.Key}, {"HANDRAIL_DATABASE", &database}, {"HANDRAIL_LOG_KEY", &c.LogKey},
	} {
		s, err := Secret(getenv, v.name)
		bad.add("", err)
		if s != "" {
			*v.into = s
		}
	}
	if c.Database != database.Reveal() {
		c.Database = database.Reveal()
		c.source.over["database"] = "HANDRAIL_DATABASE"
	}
	c.readHeaders(getenv, bad)
	c.readKey(bad)
	c.Commits.read(bad)
}

// LogKey returns the secret from which the keys of logs are derived: HANDRAIL_LOG_KEY, or
// the webhook's secret.
func LogKey(getenv func(string) string) (secret.Value, error) {
	for _, name := range []string{"HANDRAIL_LOG_KEY", "HANDRAIL_WEBHOOK_SECRET"} {
		if s, err := Secret(getenv, name); err != nil || s != "" {
			return s, err
		}
	}
	return "", nil
}

// Secret returns the secret in a variable, or in the file that NAME_FILE names. Errors
// contain nothing of either.
func Secret(getenv func(string) string, name string) (secret.Value, error) {
	value, file := getenv(name), getenv(name+"_FILE")
	switch {
	case value != "" && file != "":
		return "", fmt.Errorf("both %s and %s_FILE are set; keep one", name, name)
	case file == "":
		return oneLine(name, value)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return "", fmt.Errorf("read the file that %s_FILE names: %w", name, reason(err))
	}
	s, err := oneLine("the file that "+name+"_FILE names", strings.TrimRight(string(data), "\r\n"))
	if err == nil && s == "" {
		err = fmt.Errorf("the file that %s_FILE names is empty", name)
	}
	return s, err
}

func oneLine(name, value string) (secret.Value, error) {
	if strings.ContainsAny(value, "\r\n\x00") {
		return "", fmt.Errorf("%s holds more than one line", name)
	}
	return secret.Value(value), nil
}

// reason returns the cause of a file error without the file's name, which may be a
// misplaced secret.
func reason(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}

// readKey reads the App's private key. The problem names any other content of the file.
func (c *Server) readKey(bad *problems) {
	file := c.GitHub.PrivateKeyFile
	if file == "" {
		return
	}
	if strings.Contains(file, "-----BEGIN") {
		bad.when(true, "github.private_key_file", "must be the path of a file, not the key itself")
		return
	}
	key, err := os.ReadFile(file)
	if err != nil {
		bad.when(true, "github.private_key_file", "read the App's private key: %v", err)
		return
	}
	c.GitHub.Key = key
	bad.add("github.private_key_file", checkKey(file, key))
}

func checkKey(file string, data []byte) error {
	block, _ := pem.Decode(data)
	if block == nil {
		return fmt.Errorf(
			"%s is not a private key in PEM form; GitHub offers one for download on the App's page (NAME.DATE.private-key.pem)",
			file,
		)
	}
	if _, err := x509.ParsePKCS1PrivateKey(block.Bytes); err == nil {
		return nil
	}
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return fmt.Errorf("%s holds a %s that cannot be read as an RSA private key", file, strings.ToLower(block.Type))
	}
	if _, ok := key.(*rsa.PrivateKey); !ok {
		return fmt.Errorf("%s holds a private key of another kind than RSA, which GitHub does not give out", file)
	}
	return nil
}

// complete adds a problem for each missing value.
func (c *Server) complete(bad *problems) {
	g := c.GitHub
	bad.when(
		g.WebhookSecret == "" && g.Poll == 0,
		"",
		"no webhook secret: set HANDRAIL_WEBHOOK_SECRET or HANDRAIL_WEBHOOK_SECRET_FILE to the one of the App or the repository's webhook; unsigned deliveries are never taken. If GitHub cannot reach this machine, set github.poll instead",
	)
	bad.when(
		g.WebhookSecret == "" && g.Poll != 0 && c.LogKey == "",
		"",
		"no secret for the logs: with github.poll and without a webhook secret set HANDRAIL_LOG_KEY or HANDRAIL_LOG_KEY_FILE to a long random text, such as `openssl rand -hex 32` prints, and keep it",
	)
	app := g.AppID != 0 || g.PrivateKeyFile != "" || len(g.Key) > 0
	bad.when(
		app && (g.AppID == 0 || g.PrivateKeyFile == "" && len(g.Key) == 0),
		"github",
		"a GitHub App needs both github.app_id and github.private_key_file",
	)
	bad.when(
		!app && g.Token == "",
		"github",
		"no GitHub access: set github.app_id and github.private_key_file, or HANDRAIL_GITHUB_TOKEN for one repository",
	)
	bad.when(
		!app && g.Token != "" && g.Repository == "",
		"github",
		"a token serves one repository: set github.repository to owner/name",
	)
	bad.when(c.Model.Name == "" && c.Policy.Model == "", "model", "no model: set model.name or HANDRAIL_MODEL")
}

// values adds a problem for each invalid value. It makes Data absolute.
func (c *Server) values(bad *problems) {
	bad.add("listen", checkListen(c.Listen))
	bad.when(
		!slices.Contains([]string{"auto", "docker", "bwrap", "local"}, c.Workspace) &&
			!strings.HasPrefix(c.Workspace, "unix:/"),
		"workspace",
		"%q is not one of auto, docker, bwrap, local, and no socket such as unix:/run/handrail/workspaces.sock",
		c.Workspace,
	)
	c.GitHub.check(bad)
	c.readReach(bad)
	for _, s := range []struct {
		key string
		n   int
	}{{"at_once", c.Sessions.AtOnce}, {"per_user", c.Sessions.PerUser}, {"per_repo", c.Sessions.PerRepo}} {
		bad.when(s.n < 0, "sessions."+s.key, "must be a number from 0 up")
	}
	bad.when(c.Bases.Size < 0 || c.Bases.Age < 0, "bases", "size and age must be 0, for their defaults, or more")
	bad.when(c.Layers.Size < 0 || c.Layers.Age < 0, "layers", "size and age must be 0, for their defaults, or more")
	for key, d := range map[string]policy.Duration{"logs": c.Retain.Logs, "mirrors": c.Retain.Mirrors, "uninstalled": c.Retain.Uninstalled} {
		bad.when(
			d < 0 || d > 0 && d < policy.Duration(24*time.Hour),
			"retention."+key,
			"must be 0, for ever, or a day or more, such as 90d",
		)
	}
	c.Quotas.check(bad)
	c.checkSigning(bad)
	c.Dashboard.check(bad)
	c.Metrics.check(bad, c.Listen, c.Dashboard.Listen)
	c.Traces.check(bad)
	bad.add("database", checkDatabase(c.Database))
	bad.also(c.Model.Check())
	c.checkEngine(bad)
	abs, err := filepath.Abs(c.Data)
	bad.add("data", err)
	c.Data = abs
}

// check adds a problem for each invalid value.
func (g GitHub) check(bad *problems) {
	bad.when(g.AppID < 0, "github.app_id", "must be the number that the App's page shows")
	bad.when(
		g.Repository != "" && !repositoryName().MatchString(g.Repository),
		"github.repository",
		"%q is not owner/name",
		g.Repository,
	)
	for i, name := range g.Repositories {
		bad.when(
			!repositoryName().MatchString(strings.Replace(name, "/*", "/x", 1)),
			fmt.Sprintf("github.repositories.%d", i),
			"%q is neither owner/name nor owner/*",
			name,
		)
	}
	for i, id := range g.Apps {
		bad.when(id <= 0, fmt.Sprintf("github.apps.%d", i), "%d is not the number of an App", id)
	}
	bad.when(
		g.AppID == 0 && g.Token != "" && len(g.Repositories) > 0,
		"github.repositories",
		"a token serves the one repository of github.repository; an App serves several",
	)
	bad.when(
		g.Poll != 0 && (g.Poll < shortestPoll || g.Poll > longestPoll),
		"github.poll",
		"%s is not between %s and %s",
		g.Poll,
		shortestPoll,
		longestPoll,
	)
	if g.API != "" {
		u, err := url.Parse(g.API)
		bad.when(
			err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "",
			"github.api",
			"%q is not an address like https://github.example/api/v3/",
			withoutUser(g.API),
		)
	}
}

// Check checks a configuration that was not read from a file.
func (c *Server) Check() error {
	bad := problems{source: c.source}
	c.complete(&bad)
	c.values(&bad)
	bad.add("policy", c.Policy.Validate())
	return bad.err()
}

// Limits of the polling interval. At 5 s, polls use a seventh of a token's rate limit.
const (
	shortestPoll = policy.Duration(5 * time.Second)
	longestPoll  = policy.Duration(time.Hour)
)

var (
	repositoryName = pattern.Lazy(`^[A-Za-z0-9][A-Za-z0-9_-]*/[A-Za-z0-9._-]+$`)
	hostName       = pattern.Lazy(`^[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?$`)
)

func checkListen(listen string) error {
	host, port, err := net.SplitHostPort(listen)
	if err != nil {
		return fmt.Errorf("%q is not an address like :8080 or 127.0.0.1:8080", listen)
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return fmt.Errorf("%q has no port from 0 to 65535; write for example :8080", listen)
	}
	bare, _, _ := strings.Cut(host, "%") // strips a zone
	if host != "" && net.ParseIP(bare) == nil && !hostName().MatchString(host) {
		return fmt.Errorf("%q is neither an address nor a host name", host)
	}
	return nil
}

// checkDatabase returns errors without the value, which may hold a password.
func checkDatabase(database string) error {
	scheme, _, ok := strings.Cut(database, "://")
	if !ok {
		return nil
	}
	if scheme != "postgres" && scheme != "postgresql" {
		return errors.New("only postgres:// addresses and paths of files are understood")
	}
	if u, err := url.Parse(database); err != nil || u.Hostname() == "" && u.Query().Get("host") == "" {
		return errors.New(
			"not an address like postgres://user@host/name (special characters of a password are written %40 and so on)",
		)
	}
	return nil
}
