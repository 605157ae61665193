package door

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/handrail-bot/handrail/policy"
)

// Policy is `handrail policy`.
type Policy struct {
	Explain policyExplainCmd `cmd:"" help:"Explain the policy's decision on a command or a file."`
}

type policyExplainCmd struct {
	Command explainCommandCmd `cmd:"" help:"Explain whether a command line is allowed, needs approval or is denied."`
	File    explainFileCmd    `cmd:"" aliases:"path" help:"Explain whether an edit of a file is allowed, needs approval or is denied."`
}

// policyFlags choose the configuration and the mode of a decision.
type policyFlags struct {
	ConfigFile string `name:"config" type:"path" placeholder:"FILE" help:"Configuration of a repository, such as .github/agent.yml; the built-in defaults otherwise."`
	Mode       string `default:"code" help:"Mode whose rules apply: code, architect, ask, debug, explore, plan, review, security or triage."`
	JSON       bool   `name:"json" help:"Print one JSON object."`
	Full       bool   `help:"With --json: print the rule that decided, all reasons and the digest, for commands and paths alike."`
	Stdin      bool   `help:"Read one JSON object a line from standard input, and answer a line each."`
}

func (f policyFlags) load() (*policy.Policy, policy.Mode, error) {
	return loadPolicy(f.ConfigFile, f.Mode)
}

// loadPolicy returns the policy of a repository's configuration, without a server's, and
// the mode called name.
func loadPolicy(file, name string) (*policy.Policy, policy.Mode, error) {
	mode, err := policy.ParseMode(name)
	if err != nil {
		return nil, mode, UsageError{Err: err}
	}
	cfg := policy.DefaultConfig()
	if file != "" {
		data, err := os.ReadFile(file)
		if err != nil {
			return nil, mode, Usage("read configuration: %w", err)
		}
		if cfg, err = policy.ParseConfig(file, data); err != nil {
			return nil, mode, UsageError{Err: err}
		}
		cfg = cfg.WithDefaults()
	}
	p, err := policy.New(cfg)
	return p, mode, err
}

type explainCommandCmd struct {
	policyFlags
	Walled bool    `xor:"wall" help:"Decide as in a container or a sandbox without a network."`
	Open   bool    `xor:"wall" help:"Decide as if a command can reach the network or this machine; the default."`
	Branch string  `placeholder:"NAME" help:"Branch that the session works on, to which git push is of medium severity."`
	Line   *string `arg:"" optional:"" help:"The command line, quoted as one word."`
}

// Run explains one command line, or each line of standard input.
func (c *explainCommandCmd) Run(w *Console) error {
	p, mode, err := c.load()
	if err != nil {
		return err
	}
	if c.Walled {
		p = p.Walled()
	}
	if c.Branch != "" {
		p = p.Pushing(policy.Remote{Branch: c.Branch})
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
		return Usage("give a command line, for example: handrail policy explain command 'rm -rf build'")
	}
	switch {
	case c.JSON && !c.Full:
		return JSONLine(w.Out, p.ExplainCommand(mode, *c.Line))
	case c.JSON:
		return JSONLine(w.Out, p.ExplainCommandFully(mode, *c.Line))
	}
	e := decisionText{p.ExplainCommandFully(mode, *c.Line)}
	e.say(w, fmt.Sprintf("%s (severity %s)", e.Decision, e.Severity))
	return nil
}

type explainFileCmd struct {
	policyFlags
	Path *string `arg:"" optional:"" help:"The path, relative to the root of the repository."`
}

// Run explains one path, or each line of standard input.
func (c *explainFileCmd) Run(w *Console) error {
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
		return Usage("give a path, for example: handrail policy explain file .github/workflows/ci.yml")
	}
	e := decisionText{p.ExplainFileFully(mode, *c.Path)}
	switch f := p.ExplainFile(mode, *c.Path); {
	case c.JSON && c.Full:
		return JSONLine(w.Out, e)
	case c.JSON:
		return JSONLine(w.Out, f)
	case f.Sensitive:
		e.say(w, fmt.Sprintf("%s: sensitive, it matches %s", f.Decision, f.Pattern))
	default:
		e.say(w, e.Decision)
	}
	return nil
}

// decisionText prints a decision as text.
type decisionText struct{ policy.Explanation }

// say prints a decision with every rule that matched.
func (e decisionText) say(w *Console, head string) {
	if e.Auto {
		head += ", without asking"
	}
	fmt.Fprintln(w.Out, head)
	for _, r := range e.Reasons {
		fmt.Fprintf(w.Out, "- %s (%s)\n", r.Text, r.Rule)
	}
	fmt.Fprintf(w.Out, "sha256 %s\n", e.Digest)
}

// fullLine is the full answer to a line of standard input.
type fullLine struct {
	ID json.RawMessage `json:"id"`
	policy.Explanation
}
