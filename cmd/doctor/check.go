// Checks of configuration files before use: faults, ineffective settings, and the source
// of each value.

package doctor

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/handrail-bot/handrail/cmd/config"
	"github.com/handrail-bot/handrail/cmd/door"
	"github.com/handrail-bot/handrail/policy"
	"github.com/handrail-bot/handrail/policy/pattern"
	"github.com/handrail-bot/handrail/policy/strict"
)

// Verbs are the verbs of `handrail config`.
type Verbs struct {
	Check  checkCmd  `cmd:"" help:"Check a configuration file: a repository's with its own commands, a single command, or with --server the server's."`
	Show   showCmd   `cmd:"" help:"Show the configuration in force, and the source of each value."`
	Import importCmd `cmd:"" help:"Turn an editor extension's list of sensitive files into ours, and print it."`
	Schema schemaCmd `cmd:"" help:"Print the JSON schema of a repository's configuration, or with --server of the server's, for editors."`
}

type checkCmd struct {
	File   string `arg:"" optional:"" default:".github/agent.yml" type:"path" help:"The file."`
	Server bool   `help:"The file is the one that 'serve --config' reads. Secrets are not asked for: they are in the server's environment."`
	JSON   bool   `name:"json" help:"Print one JSON object."`
}

// result is the contract of `handrail config check --json`.
type result struct {
	OK       bool    `json:"ok"`
	Error    string  `json:"error"`
	Faults   []found `json:"faults,omitempty"`
	Warnings []found `json:"warnings,omitempty"`
}

// found is a fault or a warning. Line 0 means unknown.
type found struct {
	Line   int    `json:"line"`
	Column int    `json:"column"`
	Key    string `json:"key"`
	Text   string `json:"text"`
}

func placesOf(faults strict.Faults) []found {
	out := []found{}
	for _, f := range faults {
		out = append(out, found{f.Line, f.Column, strict.Join(f.Path), f.Text})
	}
	return out
}

// Run checks the file.
func (c *checkCmd) Run(w *door.Console) error {
	data, err := os.ReadFile(c.File)
	if errors.Is(err, fs.ErrNotExist) && rootOf(c.File) != "" {
		return door.Usage("there is no %s, and a repository needs none; `handrail config check FILE` checks another", c.File)
	}
	if err != nil {
		return door.Usage("read configuration: %w", err)
	}
	var warnings strict.Faults
	switch {
	case c.Server:
		warnings, err = serverFile(c.File)
	case strings.HasSuffix(c.File, ".md"):
		err = config.CheckCommands(c.File)
	default:
		warnings, err = repositoryFile(c.File, data)
		err = errors.Join(err, config.CheckCommands(c.File))
	}
	if c.JSON {
		res := result{OK: err == nil, Faults: placesOf(strict.Of(err)), Warnings: placesOf(warnings)}
		if err != nil {
			res.Error, err = err.Error(), door.ErrFailed
		}
		return errors.Join(door.JSONLine(w.Out, res), err)
	}
	for _, f := range warnings {
		fmt.Fprintf(w.Err, "handrail: %s: warning: %v\n", c.File, f)
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(w.Out, "%s: ok\n", c.File)
	return nil
}

func serverFile(name string) (strict.Faults, error) {
	cfg, err := config.CheckFile(name)
	if err != nil {
		return nil, err
	}
	var w warnings
	w.warnIf(
		!cfg.NamesServices(),
		"",
		"there is neither GitHub nor a model in it: a server with this file does not start unless its environment has both (HANDRAIL_APP_ID and HANDRAIL_PRIVATE_KEY_FILE, or HANDRAIL_GITHUB_TOKEN; HANDRAIL_MODEL)",
	)
	return append(w.all, Server(&cfg)...), nil
}

func repositoryFile(name string, data []byte) (warnings strict.Faults, err error) {
	cfg, doc, err := config.CheckRepositoryFile(name, data)
	if err != nil {
		return nil, err
	}
	return repository(cfg, doc, rootOf(name)), nil
}

// rootOf returns the root of the repository that a configuration file belongs to, "" if
// the file is elsewhere.
func rootOf(name string) string {
	name, err := filepath.Abs(name)
	dir, ok := strings.CutSuffix(filepath.ToSlash(name), "/.github/agent.yml")
	if err != nil || !ok {
		return ""
	}
	return filepath.FromSlash(dir + "/")
}

type importCmd struct {
	File string `arg:"" help:"JSON or YAML with sensitiveFilePatterns, where true means that a file is safe; - for standard input."`
}

// Run prints the equivalent part of a repository's configuration.
func (c *importCmd) Run(w *door.Console) error {
	var data []byte
	var err error
	if c.File == "-" {
		data, err = io.ReadAll(w.In)
	} else {
		data, err = os.ReadFile(c.File)
	}
	if err != nil {
		return door.Usage("read configuration: %w", err)
	}
	list, err := policy.ImportSensitiveFilePatterns(data)
	if err != nil {
		return err
	}
	if len(list) == 0 {
		return fmt.Errorf(
			"import %s: there is no pattern in it (expected a list of {pattern, value}, alone or under sensitiveFilePatterns)",
			c.File,
		)
	}
	out, err := yaml.Marshal(struct {
		SensitiveFiles []policy.SensitiveFile `yaml:"sensitive_files"`
	}{list})
	if err != nil {
		return fmt.Errorf("write configuration: %w", err)
	}
	fmt.Fprintf(w.Out, "%s", out)
	return nil
}

type schemaCmd struct {
	Server bool `help:"The schema of the server's file."`
}

// Run prints the schema.
func (c *schemaCmd) Run(w *door.Console) error {
	schema, err := policy.Schema()
	if c.Server {
		schema, err = config.Schema()
	}
	if err != nil {
		return err
	}
	_, err = w.Out.Write(schema)
	return err
}

// namesRemedy matches faults that name their own remedy.
var namesRemedy = pattern.Lazy(
	"did you mean|known keys here|must be|not one of|[:;,] (write|use|set|give|keep|leave|put|choose) ",
)

// Remedy names the documentation of a fault, "" if the fault names its own remedy.
func Remedy(f strict.Fault) string {
	if f.Line == 0 || namesRemedy().MatchString(f.Text) {
		return ""
	}
	if f.Key != "" {
		return "See " + f.Key + " in docs/configuration.md."
	}
	return "See docs/configuration.md."
}
