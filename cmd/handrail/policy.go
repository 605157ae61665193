package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/handrail-bot/handrail/policy"
)

type policyCmd struct {
	Explain policyExplainCmd `cmd:"" help:"Say what the policy thinks of a command or a file, and why."`
}

type policyExplainCmd struct {
	Command explainCommandCmd `cmd:"" help:"Say whether a command line is allowed, asked for or denied, and why."`
	File    explainFileCmd    `cmd:"" aliases:"path" help:"Say whether an edit of a file is allowed, asked for or denied."`
}

// policyFlags say under which configuration and mode is decided.
type policyFlags struct {
	ConfigFile string `name:"config" type:"path" help:"Configuration of a repository, such as .github/agent.yml; the built-in defaults otherwise."`
	Mode       string `default:"code" help:"Mode whose rules apply: code, architect, ask, debug, explore, plan, review or security."`
	JSON       bool   `name:"json" help:"Print one JSON object."`
	Full       bool   `help:"With --json: print the rule that decided, all reasons and the digest, for commands and paths alike."`
	Stdin      bool   `help:"Read one JSON object a line from standard input, and answer a line each."`
}

func (f policyFlags) load() (*policy.Policy, policy.Mode, error) {
	return loadPolicy(f.ConfigFile, f.Mode)
}

// loadPolicy returns the policy of a repository's configuration, which stands
// alone here, and the mode called name.
func loadPolicy(file, name string) (*policy.Policy, policy.Mode, error) {
	mode, err := policy.ParseMode(name)
	if err != nil {
		return nil, mode, usageError{err}
	}
	cfg := policy.DefaultConfig()
	if file != "" {
		data, err := os.ReadFile(file)
		if err != nil {
			return nil, mode, usage("read configuration: %w", err)
		}
		if cfg, err = policy.ParseConfig(file, data); err != nil {
			return nil, mode, usageError{err}
		}
		cfg = cfg.WithDefaults()
	}
	p, err := policy.New(cfg)
	return p, mode, err
}

type explainCommandCmd struct {
	policyFlags
	Walled bool    `xor:"wall" help:"Decide as in a container or a sandbox without a network."`
	Open   bool    `xor:"wall" help:"Decide as where a command can reach the network or this machine; the default."`
	Line   *string `arg:"" optional:"" help:"The command line, quoted as one word."`
}

// Run explains one command line, or one a line of standard input.
func (c *explainCommandCmd) Run(w *console) error {
	p, mode, err := c.load()
	if err != nil {
		return err
	}
	if c.Walled {
		p = p.Walled()
	}
	if c.Stdin {
		return eachLine(w, c.Line, func(in explainLine) (any, error) {
			if in.Command == nil {
				return nil, errors.New(`no "command" (expected {"id":…,"command":"…"})`)
			}
			if c.Full {
				return fullLine{in.id(), p.ExplainCommandFully(mode, *in.Command)}, nil
			}
			return struct {
				ID json.RawMessage `json:"id"`
				policy.CommandExplanation
			}{in.id(), p.ExplainCommand(mode, *in.Command)}, nil
		})
	}
	if c.Line == nil {
		return usage("give a command line, for example: handrail policy explain command 'rm -rf build'")
	}
	switch {
	case c.JSON && !c.Full:
		return jsonLine(w.out, p.ExplainCommand(mode, *c.Line))
	case c.JSON:
		return jsonLine(w.out, p.ExplainCommandFully(mode, *c.Line))
	}
	e := ruled{p.ExplainCommandFully(mode, *c.Line)}
	return e.say(w, fmt.Sprintf("%s (severity %s)", e.Decision, e.Severity))
}

type explainFileCmd struct {
	policyFlags
	Path *string `arg:"" optional:"" help:"The path, relative to the root of the repository."`
}

// Run explains one path, or one a line of standard input.
func (c *explainFileCmd) Run(w *console) error {
	p, mode, err := c.load()
	if err != nil {
		return err
	}
	if c.Stdin {
		return eachLine(w, c.Path, func(in explainLine) (any, error) {
			if in.Path == nil {
				return nil, errors.New(`no "path" (expected {"id":…,"path":"…"})`)
			}
			if c.Full {
				return fullLine{in.id(), p.ExplainFileFully(mode, *in.Path)}, nil
			}
			return struct {
				ID json.RawMessage `json:"id"`
				policy.FileExplanation
			}{in.id(), p.ExplainFile(mode, *in.Path)}, nil
		})
	}
	if c.Path == nil {
		return usage("give a path, for example: handrail policy explain file .github/workflows/ci.yml")
	}
	e := ruled{p.ExplainFileFully(mode, *c.Path)}
	switch f := p.ExplainFile(mode, *c.Path); {
	case c.JSON && c.Full:
		return jsonLine(w.out, e)
	case c.JSON:
		return jsonLine(w.out, f)
	case f.Sensitive:
		return e.say(w, fmt.Sprintf("%s: sensitive, it matches %s", f.Decision, f.Pattern))
	}
	return e.say(w, e.Decision)
}

// ruled is a decision that is printed in words.
type ruled struct{ policy.Explanation }

// say prints a decision with every rule that matched.
func (e ruled) say(w *console, head string) error {
	if e.Auto {
		head += ", without asking anybody"
	}
	fmt.Fprintln(w.out, head)
	for _, r := range e.Reasons {
		fmt.Fprintf(w.out, "- %s (%s)\n", r.Text, r.Rule)
	}
	fmt.Fprintf(w.out, "sha256 %s\n", e.Digest)
	return nil
}

// fullLine answers a line of standard input in full.
type fullLine struct {
	ID json.RawMessage `json:"id"`
	policy.Explanation
}

// explainLine is one line of standard input. The id is given back as it came,
// byte for byte: a large number stays the number that it is.
type explainLine struct {
	ID      json.RawMessage `json:"id"`
	Command *string         `json:"command"`
	Path    *string         `json:"path"`
}

func (l explainLine) id() json.RawMessage {
	if len(l.ID) == 0 {
		return json.RawMessage("null")
	}
	return l.ID
}

// lineFailure answers a line that was not understood.
type lineFailure struct {
	ID    json.RawMessage `json:"id"`
	Error string          `json:"error"`
}

// eachLine answers every line of standard input with a line. It does not wait for
// more input before it answers, so that a script may wait for each answer. Empty
// lines are left out. A line that is not understood gets an error as its answer,
// and the run ends with 1.
func eachLine(w *console, word *string, explain func(explainLine) (any, error)) error {
	if word != nil {
		return usage("--stdin reads standard input; leave out %q", *word)
	}
	in, out := bufio.NewReaderSize(w.in, 64<<10), bufio.NewWriter(w.out)
	bad := 0
	for n := 1; ; n++ {
		line, readErr := in.ReadBytes('\n')
		if n == 1 {
			line = bytes.TrimPrefix(line, []byte("\ufeff"))
		}
		if line = bytes.TrimSpace(line); len(line) > 0 {
			answer, err := explainOne(line, explain)
			if err != nil {
				bad++
				fmt.Fprintf(w.err, "handrail: line %d of standard input: %v\n", n, err)
			}
			if err := jsonLine(out, answer); err != nil {
				return err
			}
		}
		if waiting, _ := in.Peek(in.Buffered()); readErr != nil || !bytes.ContainsRune(waiting, '\n') {
			if err := out.Flush(); err != nil {
				return fmt.Errorf("write answers: %w", err)
			}
		}
		switch {
		case readErr != nil && !errors.Is(readErr, io.EOF):
			return fmt.Errorf("read standard input: %w", readErr)
		case readErr != nil && bad > 0:
			return errFailed
		case readErr != nil:
			return nil
		}
	}
}

func explainOne(line []byte, explain func(explainLine) (any, error)) (any, error) {
	var in explainLine
	if err := json.Unmarshal(line, &in); err != nil {
		err = fmt.Errorf("%w (expected {\"id\":…,\"command\":\"…\"} or {\"id\":…,\"path\":\"…\"})", err)
		return lineFailure{in.id(), err.Error()}, err
	}
	answer, err := explain(in)
	if err != nil {
		return lineFailure{in.id(), err.Error()}, err
	}
	return answer, nil
}
