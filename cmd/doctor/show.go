package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/bot/thread"
	"github.com/handrail-bot/handrail/cmd/config"
	"github.com/handrail-bot/handrail/cmd/door"
	"github.com/handrail-bot/handrail/policy"
	"github.com/handrail-bot/handrail/policy/strict"
)

// repositoryPath is the path of the configuration in a repository.
const repositoryPath = ".github/agent.yml"

type showCmd struct {
	Effective bool   `help:"Also the defaults."`
	Repo      string `placeholder:"WHERE" help:"The repository: owner/name, whose file is read from GitHub with the server's access, or the directory of a clone."`
	Config    string `short:"c" type:"path" placeholder:"FILE" help:"The server's file; variables of the environment count as well."`
	JSON      bool   `name:"json" help:"Print one JSON array."`
}

// setting is one line of the output, and the contract of --json. From is the origin of
// the value, and At its location: FILE:LINE, or an environment variable.
type setting struct {
	Key   string   `json:"key"`
	Value string   `json:"value"`
	From  string   `json:"from"`
	At    []string `json:"at"`
}

// Run prints the settings in force.
func (c *showCmd) Run(ctx context.Context, w *door.Console) error {
	var cfg config.Server
	var list []setting
	if c.Config != "" || os.Getenv("HANDRAIL_APP_ID")+os.Getenv("HANDRAIL_GITHUB_TOKEN") != "" {
		var err error
		if cfg, err = config.Read(c.Config, os.Getenv); err != nil &&
			(c.Config == "" || strings.Contains(c.Repo, "/") && !isDir(c.Repo)) {
			return door.UsageError{Err: err}
		} else if err != nil { // fall back to the file alone, without the server's secrets
			if cfg, err = config.CheckFile(c.Config); err != nil {
				return door.UsageError{Err: err}
			}
		}
		list = serverSettings(&cfg, c.Config)
	}
	repo, err := c.repository(ctx, cfg)
	if err != nil {
		return err
	}
	list = append(list, repo.settings(&cfg, c.Config)...)
	if !c.Effective { // defaults are left out
		list = slices.DeleteFunc(list, func(s setting) bool { return s.From == policy.Default })
	}
	if len(list) == 0 {
		fmt.Fprintln(w.Err, "Nothing is set in the files of --config and --repo; --effective shows the defaults.")
	}
	return c.print(w, list)
}

func isDir(name string) bool {
	is, err := os.Stat(name)
	return err == nil && is.IsDir()
}

// layer is the configuration file of a repository.
type layer struct {
	policy.Config

	doc  *strict.Document
	name string
}

// repository reads the configuration of a repository, from a directory or from GitHub. A
// missing file is an empty layer.
func (c *showCmd) repository(ctx context.Context, cfg config.Server) (layer, error) {
	if c.Repo == "" {
		return layer{}, nil
	}
	l := layer{name: filepath.Join(c.Repo, repositoryPath)}
	var data []byte
	var err error
	if isDir(c.Repo) {
		data, err = os.ReadFile(l.name)
	} else {
		l.name = c.Repo + "/" + repositoryPath
		data, err = fromGitHub(ctx, c.Repo, cfg)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return l, nil
	}
	if err != nil {
		return l, fmt.Errorf("read %s: %w", l.name, err)
	}
	if l.Config, l.doc, err = policy.Load(data); err != nil {
		return l, fmt.Errorf("parse config %s: %w", l.name, err)
	}
	return l, nil
}

// fromGitHub reads a repository's configuration from its default branch. The error is
// [fs.ErrNotExist] if the repository has no such file.
func fromGitHub(ctx context.Context, repo string, cfg config.Server) ([]byte, error) {
	at, err := thread.Parse(repo + "#1")
	if err != nil {
		return nil, door.Usage("--repo %q is neither a directory nor owner/name", repo)
	}
	if cfg.GitHub.AppID == 0 && cfg.GitHub.Token == "" {
		return nil, door.Usage(
			"to read it from GitHub, say which server's access to use: --config FILE, with its secrets in the environment",
		)
	}
	app, err := ghapp.New(
		ghapp.Config{
			APIURL:     cfg.GitHub.API,
			AppID:      cfg.GitHub.AppID,
			PrivateKey: cfg.GitHub.Key,
			Token:      cfg.GitHub.Token.Reveal(),
			Transport:  config.Transport(cfg.GitHub.Trusted, nil),
		},
	)
	if err != nil {
		return nil, err
	}
	client, err := app.For(ctx, at, 0)
	if err != nil {
		return nil, err
	}
	if _, err := client.Repo(ctx); err != nil {
		return nil, err
	}
	data, err := client.FileAt(ctx, "", repositoryPath)
	if errors.Is(err, ghapp.ErrNotFound) { // the repository exists
		return nil, fs.ErrNotExist
	}
	return data, err
}

// serverSettings returns the settings that exist only in the server's file.
func serverSettings(cfg *config.Server, file string) []setting {
	var out []setting
	walk(reflect.ValueOf(*cfg), "", func(key string, v reflect.Value, def string) {
		s := setting{Key: key, From: policy.Default, At: locationOf(cfg, file, key)}
		if s.At != nil {
			s.From = policy.FromServer
		}
		if s.Value = def; !v.IsZero() && (v.Kind() != reflect.Slice || v.Len() > 0) {
			s.Value = formatValue(key, v)
		}
		if s.Value != "" {
			out = append(out, s)
		}
	})
	return out
}

// InForce returns the key, the value and the origin of each setting of a server. Origins
// are variables, lines of its file, or the defaults.
func InForce(cfg *config.Server) (rows [][]string) {
	repo := layer{}
	for _, s := range append(serverSettings(cfg, "line"), repo.settings(cfg, "line")...) {
		from := s.From
		if len(s.At) > 0 {
			from = strings.ReplaceAll(strings.Join(s.At, ", "), "line:", "line ")
		}
		rows = append(rows, []string{s.Key, s.Value, from})
	}
	return rows
}

// locationOf returns the location of a server setting: a variable, or a line of the file.
func locationOf(cfg *config.Server, file, key string) []string {
	variable, line := cfg.From(key)
	switch {
	case variable != "":
		return []string{variable}
	case line != 0:
		return []string{fmt.Sprintf("%s:%d", file, line)}
	}
	return nil
}

// formatValue formats a value, without the password of a database URL.
func formatValue(key string, v reflect.Value) string {
	text := policy.ShownValue(v)
	if u, err := url.Parse(text); key == "database" && strings.Contains(text, "://") && err == nil {
		return u.Redacted()
	}
	return text
}

func walk(v reflect.Value, key string, each func(key string, v reflect.Value, def string)) {
	for _, k := range strict.Keys(v.Type()) {
		f, _ := v.Type().FieldByName(k.Field)
		below, part := strings.TrimPrefix(key+"."+k.Name, "."), v.FieldByName(k.Field)
		switch {
		case f.Type == reflect.TypeFor[policy.Config]():
		case f.Type.Kind() == reflect.Struct:
			walk(part, below, each)
		default:
			each(below, part, strict.Default(f))
		}
	}
}

// settings returns the settings that both files can have.
func (l layer) settings(cfg *config.Server, file string) []setting {
	var out []setting
	for _, s := range policy.SettingsInForce(cfg.Policy, l.Config, cfg.Model.Name) {
		one := setting{Key: s.Key, Value: s.Value, From: s.From}
		path := config.Path(s.Key)
		if s.From == policy.FromServer || s.From == policy.Both {
			key := "policy." + s.Key
			if s.Key == "model" && cfg.Policy.Model == "" {
				key = "model.name"
			}
			one.At = locationOf(cfg, file, key)
		}
		if s.From == policy.FromRepository || s.From == policy.Both {
			if line, ok := l.doc.Has(path...); ok {
				one.At = append(one.At, fmt.Sprintf("%s:%d", l.name, line))
			}
		}
		out = append(out, one)
	}
	return out
}

func (c *showCmd) print(w *door.Console, list []setting) error {
	if c.JSON {
		for i := range list {
			list[i].At = append([]string{}, list[i].At...)
		}
		return door.JSONLine(w.Out, append([]setting{}, list...))
	}
	rows := make([][]string, 0, len(list))
	for _, s := range list {
		where := s.From
		if len(s.At) > 0 {
			where += " (" + strings.Join(s.At, ", ") + ")"
		}
		rows = append(rows, []string{s.Key, cmp.Or(s.Value, "none"), where})
	}
	return w.Table(rows)
}
