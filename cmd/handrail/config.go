package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/handrail-bot/handrail/cmd/config"
	"github.com/handrail-bot/handrail/cmd/door"
	"github.com/handrail-bot/handrail/policy"
)

type configCmd struct {
	Check  configCheckCmd  `cmd:"" help:"Check a configuration file: a repository's with its own commands, one of these, or with --server the server's."`
	Import configImportCmd `cmd:"" help:"Turn an editor extension's list of sensitive files into ours, and print it."`
	Schema configSchemaCmd `cmd:"" help:"Print the JSON schema of a repository's configuration."`
}

type configCheckCmd struct {
	File   string `arg:"" optional:"" default:".github/agent.yml" type:"path" help:"The file."`
	Server bool   `help:"The file is the one that 'serve --config' reads. Secrets are not asked for: they are in the server's environment."`
	JSON   bool   `name:"json" help:"Print one JSON object."`
}

// checkResult is the contract of `handrail config check --json`.
type checkResult struct {
	OK    bool   `json:"ok"`
	Error string `json:"error"`
}

// Run checks the file.
func (c *configCheckCmd) Run(w *console) error {
	data, err := os.ReadFile(c.File)
	if err != nil {
		return door.Usage("read configuration: %w", err)
	}
	switch {
	case c.Server:
		err = config.CheckFile(c.File)
	case strings.HasSuffix(c.File, ".md"):
		err = config.CheckCommands(c.File)
	default:
		err = errors.Join(config.CheckRepositoryFile(c.File, data), config.CheckCommands(c.File))
	}
	switch {
	case c.JSON:
		res := checkResult{OK: err == nil}
		if err != nil {
			res.Error = err.Error()
		}
		if err := door.JSONLine(w.out, res); err != nil {
			return err
		}
	case err == nil:
		fmt.Fprintf(w.out, "%s: ok\n", c.File)
	default:
		fmt.Fprintf(w.err, "handrail: %v\n", err)
	}
	if err != nil {
		return door.ErrFailed
	}
	return nil
}

type configImportCmd struct {
	File string `arg:"" help:"JSON or YAML with sensitiveFilePatterns, where true means that a file is safe; - for standard input."`
}

// Run prints the part of a repository's configuration that means the same.
func (c *configImportCmd) Run(w *console) error {
	var data []byte
	var err error
	if c.File == "-" {
		data, err = io.ReadAll(w.in)
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
		return fmt.Errorf("import %s: there is no pattern in it (expected a list of {pattern, value}, alone or under sensitiveFilePatterns)", c.File)
	}
	out, err := yaml.Marshal(struct {
		SensitiveFiles []policy.SensitiveFile `yaml:"sensitive_files"`
	}{list})
	if err != nil {
		return fmt.Errorf("write configuration: %w", err)
	}
	fmt.Fprintf(w.out, "%s", out)
	return nil
}

type configSchemaCmd struct{}

// Run prints the schema.
func (c *configSchemaCmd) Run(w *console) error {
	schema, err := policy.Schema()
	if err != nil {
		return err
	}
	_, err = w.out.Write(append(schema, '\n'))
	return err
}
