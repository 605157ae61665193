package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"github.com/handrail-bot/handrail/policy"
)

type policyCmd struct {
	Explain policyExplainCmd `cmd:"" help:"Say what the policy thinks of a command or a file, and why."`
}

type policyExplainCmd struct {
	Command explainCommandCmd `cmd:"" help:"Explain a command line."`
	File    explainFileCmd    `cmd:"" help:"Explain a path."`
}

// policyFlags say under which configuration and mode is decided.
type policyFlags struct {
	ConfigFile string `name:"config" type:"path" help:"Configuration of a repository; the built-in one otherwise."`
	Mode       string `default:"code" help:"Mode whose rules apply."`
	JSON       bool   `name:"json" help:"Print one JSON object."`
	Stdin      bool   `help:"Read one JSON object a line from standard input, and answer a line each."`
}

func (f policyFlags) load() (*policy.Policy, policy.Mode, error) {
	mode, err := policy.ParseMode(f.Mode)
	if err != nil {
		return nil, mode, usageError{err}
	}
	cfg := policy.DefaultConfig()
	if f.ConfigFile != "" {
		data, err := os.ReadFile(f.ConfigFile)
		if err != nil {
			return nil, mode, usage("read configuration: %w", err)
		}
		if cfg, err = policy.ParseConfig(f.ConfigFile, data); err != nil {
			return nil, mode, usageError{err}
		}
		cfg = cfg.WithDefaults()
	}
	p, err := policy.New(cfg)
	return p, mode, err
}

type explainCommandCmd struct {
	policyFlags
	Line string `arg:"" optional:"" help:"The command line, quoted as one word."`
}

// Run explains one command line, or one a line of standard input.
func (c *explainCommandCmd) Run(w *world) error {
	p, mode, err := c.load()
	if err != nil {
		return err
	}
	if c.Stdin {
		return eachLine(w, func(in explainLine) any {
			return struct {
				ID any `json:"id"`
				policy.CommandExplanation
			}{in.ID, p.ExplainCommand(mode, in.Command)}
		})
	}
	if c.Line == "" {
		return usage("give a command line, for example: handrail policy explain command 'rm -rf build'")
	}
	e := p.ExplainCommand(mode, c.Line)
	if c.JSON {
		return json.NewEncoder(w.out).Encode(e)
	}
	fmt.Fprintf(w.out, "%s (severity %s)\n", e.Decision, e.Severity)
	for _, r := range e.Reasons {
		fmt.Fprintf(w.out, "- %s (%s)\n", r.Text, r.Rule)
	}
	fmt.Fprintf(w.out, "sha256 %s\n", e.Digest)
	return nil
}

type explainFileCmd struct {
	policyFlags
	Path string `arg:"" optional:"" help:"The path, relative to the root of the repository."`
}

// Run explains one path, or one a line of standard input.
func (c *explainFileCmd) Run(w *world) error {
	p, mode, err := c.load()
	if err != nil {
		return err
	}
	if c.Stdin {
		return eachLine(w, func(in explainLine) any {
			return struct {
				ID any `json:"id"`
				policy.FileExplanation
			}{in.ID, p.ExplainFile(mode, in.Path)}
		})
	}
	if c.Path == "" {
		return usage("give a path, for example: handrail policy explain file .github/workflows/ci.yml")
	}
	e := p.ExplainFile(mode, c.Path)
	if c.JSON {
		return json.NewEncoder(w.out).Encode(e)
	}
	if e.Sensitive {
		fmt.Fprintf(w.out, "%s: sensitive, it matches %s\n", e.Decision, e.Pattern)
	} else {
		fmt.Fprintf(w.out, "%s: not sensitive\n", e.Decision)
	}
	return nil
}

// explainLine is one line of standard input. The id is given back as it came.
type explainLine struct {
	ID      any    `json:"id"`
	Command string `json:"command"`
	Path    string `json:"path"`
}

// eachLine answers every line of standard input with a line. A line that is
// not understood ends it, since the answers would no longer fit the questions.
func eachLine(w *world, answer func(explainLine) any) error {
	in := bufio.NewScanner(w.in)
	in.Buffer(make([]byte, 64<<10), 16<<20)
	out := bufio.NewWriter(w.out)
	enc := json.NewEncoder(out)
	for n := 1; in.Scan(); n++ {
		if len(strings.TrimSpace(in.Text())) == 0 {
			continue
		}
		var line explainLine
		if err := json.Unmarshal(in.Bytes(), &line); err != nil {
			_ = out.Flush() // what was answered so far counts
			return usage("line %d of standard input: %w (expected {\"id\":…,\"command\":…} or {\"id\":…,\"path\":…})", n, err)
		}
		if err := enc.Encode(answer(line)); err != nil {
			return err
		}
	}
	if err := in.Err(); err != nil {
		return fmt.Errorf("read standard input: %w", err)
	}
	return out.Flush()
}
