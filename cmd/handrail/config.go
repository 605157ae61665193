package main

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/handrail-bot/handrail/policy"
)

type configCmd struct {
	Check  configCheckCmd  `cmd:"" help:"Check a configuration file of a repository (.github/agent.yml)."`
	Schema configSchemaCmd `cmd:"" help:"Print the JSON schema of the configuration."`
}

type configCheckCmd struct {
	File string `arg:"" type:"path" help:"The file."`
	JSON bool   `name:"json" help:"Print one JSON object."`
}

// checkResult is the contract of `handrail config check --json`.
type checkResult struct {
	OK    bool   `json:"ok"`
	Error string `json:"error"`
}

// Run checks the file.
func (c *configCheckCmd) Run(w *world) error {
	data, err := os.ReadFile(c.File)
	if err != nil {
		return usage("read configuration: %w", err)
	}
	_, err = policy.ParseConfig(c.File, data)
	switch {
	case c.JSON:
		res := checkResult{OK: err == nil}
		if err != nil {
			res.Error = err.Error()
		}
		if err := json.NewEncoder(w.out).Encode(res); err != nil {
			return err
		}
	case err == nil:
		fmt.Fprintf(w.out, "%s: ok\n", c.File)
	default:
		fmt.Fprintln(w.err, err)
	}
	if err != nil {
		return errFailed
	}
	return nil
}

type configSchemaCmd struct{}

// Run prints the schema.
func (c *configSchemaCmd) Run(w *world) error {
	schema, err := policy.Schema()
	if err != nil {
		return err
	}
	_, err = w.out.Write(append(schema, '\n'))
	return err
}
