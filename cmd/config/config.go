// Package config reads what an operator writes: the file of a server, what its
// environment adds, and what both say of a model. It checks that the whole can
// work, and names everything that is wrong at once.
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
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/handrail-bot/handrail/policy"
	"github.com/handrail-bot/handrail/policy/secret"
)

// Server is the file that `handrail serve --config` reads. Secrets are
// not in it: they come from the environment or from files that it names. Every
// key is described in docs/configuration.md.
type Server struct {
	Listen   string        `yaml:"listen"`   // address of the webhook server
	Data     string        `yaml:"data"`     // directory for mirrors, workspaces and the database
	Database string        `yaml:"database"` // postgres://… for several servers; a file in Data otherwise
	GitHub   GitHub        `yaml:"github"`
	Model    Model         `yaml:"model"`
	Sessions Sessions      `yaml:"sessions"`
	Quotas   Quotas        `yaml:"quotas"`
	Policy   policy.Config `yaml:"policy"` // the limits that no repository can widen
	Commits  Commits       `yaml:"commits"`
	Bases    Bases         `yaml:"bases"`

	Workspace string `yaml:"workspace"` // auto, docker, bwrap or local

	LogKey secret.Value `yaml:"-"` // seals and signs logs; the webhook's secret where it is not set
}

// Bases is `bases:` in the server's file: how long the files of commits that no session
// uses stay, to be there for the next one.
type Bases struct {
	Size policy.Size     `yaml:"size"` // of all contents
	Age  policy.Duration `yaml:"age"`  // since the last use
}

// GitHub is `github:` in the server's file. Either the App's number and key
// are set, or Token and Repository.
type GitHub struct {
	API            string `yaml:"api"` // of GitHub Enterprise Server, for example https://github.example/api/v3/
	AppID          int64  `yaml:"app_id"`
	PrivateKeyFile string `yaml:"private_key_file"`
	Repository     string `yaml:"repository"` // with a token: the one repository, owner/name
	// Repositories are served: owner/name, or owner/* for all of an owner.
	Repositories []string `yaml:"repositories"`
	// Apps are those through which people may write, by number.
	Apps []int64 `yaml:"apps"`
	// Poll has GitHub asked for what happened, at this distance, with no webhook; 0 for not.
	Poll policy.Duration `yaml:"poll"`

	Key           []byte       `yaml:"-"`
	Token         secret.Value `yaml:"-"`
	WebhookSecret secret.Value `yaml:"-"`
}

// Served returns the repositories that are served, nothing for all that
// the App is installed on.
func (g GitHub) Served() []string {
	if g.Repository == "" {
		return g.Repositories
	}
	return append([]string{g.Repository}, g.Repositories...)
}

// Sessions is `sessions:` in the server's file; 0 means no limit.
type Sessions struct {
	AtOnce  int `yaml:"at_once"`  // sessions that run at the same time
	PerUser int `yaml:"per_user"` // of these, for one person
	PerRepo int `yaml:"per_repo"`
}

// problemList collects what is wrong, so that everything is told at once.
type problemList []error

func (p *problemList) add(err error) {
	if err != nil {
		*p = append(*p, err)
	}
}

func (p *problemList) when(bad bool, format string, args ...any) {
	if bad {
		p.add(fmt.Errorf(format, args...))
	}
}

func (p *problemList) err() error {
	if len(*p) == 0 {
		return nil
	}
	return fmt.Errorf("configuration: %w", errors.Join(*p...))
}

// Read reads the file strictly, adds what the environment says, and checks the
// whole.
func Read(path string, getenv func(string) string) (Server, error) {
	cfg, err := ReadFile(path)
	if err != nil {
		return cfg, err
	}
	var bad problemList
	cfg.environment(getenv, &bad)
	cfg.complete(&bad)
	cfg.values(&bad)
	return cfg, bad.err()
}

// CheckFile checks a file alone. What the environment of the server
// must add, such as secrets, is not asked for.
func CheckFile(path string) error {
	cfg, err := ReadFile(path)
	if err != nil {
		return err
	}
	var bad problemList
	cfg.readKey(&bad)
	cfg.Commits.read(&bad)
	cfg.values(&bad)
	return bad.err()
}

// ReadFile returns the defaults with the values of the file in their place. Without
// a path it returns the defaults.
func ReadFile(path string) (Server, error) {
	cfg := Server{Listen: "127.0.0.1:8080", Data: "data"}
	if path != "" {
		data, err := os.ReadFile(path)
		if err != nil {
			return cfg, fmt.Errorf("read configuration: %w", err)
		}
		doc, err := policy.LoadStrict(data, &cfg)
		if err == nil {
			err = doc.Locate(cfg.Policy.Validate(), "policy")
		}
		if err == nil {
			err = doc.Locate(cfg.Policy.CheckEffect(), "policy")
		}
		if err != nil {
			return cfg, fmt.Errorf("read configuration %s: %w%s", path, err, otherKind(data, serverKeys, repositoryKeys))
		}
	}
	if cfg.Model.Ollama != "" && cfg.Model.BaseURL != "" {
		return cfg, fmt.Errorf("read configuration %s: model.ollama and model.base_url are both set; keep the one where the model runs", path)
	}
	if engine := cfg.Policy.Workspace.Engine; engine != "" {
		if cfg.Workspace != "" && cfg.Workspace != engine {
			return cfg, fmt.Errorf("read configuration %s: workspace is %s and policy.workspace.engine is %s; keep one", path, cfg.Workspace, engine)
		}
		cfg.Workspace = engine
	}
	if cfg.Workspace == "" {
		cfg.Workspace = "auto"
	}
	cfg.Policy = cfg.Policy.WithDefaults()
	return cfg, nil
}

// environment adds what the environment says; it wins over the file.
func (c *Server) environment(getenv func(string) string, bad *problemList) {
	for _, v := range []struct {
		name string
		into *string
	}{
		{"HANDRAIL_LISTEN", &c.Listen}, {"HANDRAIL_DATA", &c.Data}, {"HANDRAIL_WORKSPACE", &c.Workspace},
		{"HANDRAIL_MODEL", &c.Model.Name}, {"HANDRAIL_BASE_URL", &c.Model.BaseURL}, {"OLLAMA_HOST", &c.Model.Ollama},
		{"HANDRAIL_GITHUB_API", &c.GitHub.API}, {"HANDRAIL_REPOSITORY", &c.GitHub.Repository},
		{"HANDRAIL_PRIVATE_KEY_FILE", &c.GitHub.PrivateKeyFile}, {"HANDRAIL_COMMITS_KEY", &c.Commits.Key},
	} {
		if s := getenv(v.name); s != "" {
			*v.into = s
		}
	}
	if s := getenv("HANDRAIL_APP_ID"); s != "" {
		id, err := strconv.ParseInt(strings.TrimSpace(s), 10, 64)
		bad.when(err != nil, "HANDRAIL_APP_ID must be the number that the App's page shows")
		c.GitHub.AppID = id
	}
	database := secret.Value(c.Database)
	for _, v := range []struct {
		name string
		into *secret.Value
	}{
		{"HANDRAIL_GITHUB_TOKEN", &c.GitHub.Token}, {"HANDRAIL_WEBHOOK_SECRET", &c.GitHub.WebhookSecret},
		{"HANDRAIL_API_KEY", &c.Model.Key}, {"HANDRAIL_DATABASE", &database}, {"HANDRAIL_LOG_KEY", &c.LogKey},
	} {
		s, err := Secret(getenv, v.name)
		bad.add(err)
		if s != "" {
			*v.into = s
		}
	}
	c.Database = database.Reveal()
	c.readKey(bad)
	c.Commits.read(bad)
}

// LogKey returns the secret that the keys of logs are made from: HANDRAIL_LOG_KEY, or
// the webhook's secret, which every server has.
func LogKey(getenv func(string) string) (secret.Value, error) {
	for _, name := range []string{"HANDRAIL_LOG_KEY", "HANDRAIL_WEBHOOK_SECRET"} {
		if s, err := Secret(getenv, name); err != nil || s != "" {
			return s, err
		}
	}
	return "", nil
}

// Secret returns the secret in a variable, or in the file that NAME_FILE names.
// No error holds anything of either.
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

// reason returns why a file could not be read, without its name: that may be the
// secret itself, given in the wrong place.
func reason(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}

// readKey reads the App's private key. When the file has something else in it, the
// problem says what.
func (c *Server) readKey(bad *problemList) {
	file := c.GitHub.PrivateKeyFile
	if file == "" {
		return
	}
	if strings.Contains(file, "-----BEGIN") {
		bad.when(true, "github.private_key_file must be the path of a file, not the key itself")
		return
	}
	key, err := os.ReadFile(file)
	if err != nil {
		bad.when(true, "read the App's private key: %w", err)
		return
	}
	c.GitHub.Key = key
	bad.add(checkKey(file, key))
}

func checkKey(file string, data []byte) error {
	block, _ := pem.Decode(data)
	if block == nil {
		return fmt.Errorf("%s is not a private key in PEM form; GitHub offers one for download on the App's page (NAME.DATE.private-key.pem)", file)
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

// complete adds a problem for everything that is missing.
func (c *Server) complete(bad *problemList) {
	g := c.GitHub
	bad.when(g.WebhookSecret == "" && g.Poll == 0, "no webhook secret: set HANDRAIL_WEBHOOK_SECRET or HANDRAIL_WEBHOOK_SECRET_FILE to the one of the App or the repository's webhook; unsigned deliveries are never taken. Where GitHub cannot reach this machine, set github.poll in its place")
	bad.when(g.WebhookSecret == "" && g.Poll != 0 && c.LogKey == "", "no secret for the logs: with github.poll and without a webhook secret set HANDRAIL_LOG_KEY or HANDRAIL_LOG_KEY_FILE to a long random text, such as `openssl rand -hex 32` prints, and keep it")
	app := g.AppID != 0 || g.PrivateKeyFile != "" || len(g.Key) > 0
	bad.when(app && (g.AppID == 0 || g.PrivateKeyFile == "" && len(g.Key) == 0), "a GitHub App needs both github.app_id and github.private_key_file")
	bad.when(!app && g.Token == "", "no GitHub access: set github.app_id and github.private_key_file, or HANDRAIL_GITHUB_TOKEN for one repository")
	bad.when(!app && g.Token != "" && g.Repository == "", "a token serves one repository: set github.repository to owner/name")
	bad.when(c.Model.Name == "" && c.Policy.Model == "", "no model: set model.name or HANDRAIL_MODEL")
}

// values adds a problem for each value that cannot be used. It makes Data absolute.
func (c *Server) values(bad *problemList) {
	bad.add(checkListen(c.Listen))
	bad.when(!slices.Contains([]string{"auto", "docker", "bwrap", "local"}, c.Workspace) && !strings.HasPrefix(c.Workspace, "unix:/"),
		"workspace: %q is not one of auto, docker, bwrap, local, and no socket such as unix:/run/handrail/workspaces.sock", c.Workspace)
	bad.when(c.GitHub.AppID < 0, "github.app_id: must be the number that the App's page shows")
	bad.when(c.GitHub.Repository != "" && !repositoryName.MatchString(c.GitHub.Repository), "github.repository: %q is not owner/name", c.GitHub.Repository)
	for _, name := range c.GitHub.Repositories {
		bad.when(!repositoryName.MatchString(strings.Replace(name, "/*", "/x", 1)), "github.repositories: %q is neither owner/name nor owner/*", name)
	}
	for _, id := range c.GitHub.Apps {
		bad.when(id <= 0, "github.apps: %d is not the number of an App", id)
	}
	bad.when(c.GitHub.AppID == 0 && c.GitHub.Token != "" && len(c.GitHub.Repositories) > 0, "github.repositories: a token serves the one repository of github.repository; an App serves several")
	bad.when(c.GitHub.Poll != 0 && (c.GitHub.Poll < shortestPoll || c.GitHub.Poll > longestPoll), "github.poll: %s is not between %s and %s", c.GitHub.Poll, shortestPoll, longestPoll)
	if api := c.GitHub.API; api != "" {
		u, err := url.Parse(api)
		bad.when(err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "", "github.api: %q is not an address like https://github.example/api/v3/", withoutUser(api))
	}
	for name, n := range map[string]int{"at_once": c.Sessions.AtOnce, "per_user": c.Sessions.PerUser, "per_repo": c.Sessions.PerRepo} {
		bad.when(n < 0, "sessions.%s: must be a number from 0 up", name)
	}
	bad.when(c.Bases.Size < 0 || c.Bases.Age < 0, "bases: size and age must be 0, for their defaults, or more")
	c.Quotas.check(bad)
	c.checkSigning(bad)
	bad.add(checkDatabase(c.Database))
	for _, err := range c.Model.Check() {
		bad.add(err)
	}
	if err := c.Policy.Validate(); err != nil {
		bad.add(fmt.Errorf("policy: %w", err))
	}
	abs, err := filepath.Abs(c.Data)
	bad.add(err)
	c.Data = abs
}

// Check checks a configuration that was not read but made.
func (c *Server) Check() error {
	var bad problemList
	c.complete(&bad)
	c.values(&bad)
	return bad.err()
}

// Between polls. GitHub counts them: at 5 s they are a seventh of what a token may ask.
const (
	shortestPoll = policy.Duration(5 * time.Second)
	longestPoll  = policy.Duration(time.Hour)
)

var (
	repositoryName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]*/[A-Za-z0-9._-]+$`)
	hostName       = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?$`)
)

func checkListen(listen string) error {
	host, port, err := net.SplitHostPort(listen)
	if err != nil {
		return fmt.Errorf("listen: %q is not an address like :8080 or 127.0.0.1:8080", listen)
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return fmt.Errorf("listen: %q has no port from 0 to 65535; write for example :8080", listen)
	}
	bare, _, _ := strings.Cut(host, "%") // a zone
	if host != "" && net.ParseIP(bare) == nil && !hostName.MatchString(host) {
		return fmt.Errorf("listen: %q is neither an address nor a host name", host)
	}
	return nil
}

// checkDatabase shows nothing of the value, which may hold a password.
func checkDatabase(database string) error {
	scheme, _, ok := strings.Cut(database, "://")
	if !ok {
		return nil
	}
	if scheme != "postgres" && scheme != "postgresql" {
		return errors.New("database: only postgres:// addresses and paths of files are understood")
	}
	if u, err := url.Parse(database); err != nil || u.Hostname() == "" && u.Query().Get("host") == "" {
		return errors.New("database: not an address like postgres://user@host/name (special characters of a password are written %40 and so on)")
	}
	return nil
}
