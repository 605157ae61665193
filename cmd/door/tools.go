package door

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/agent/tools"
	"github.com/handrail-bot/handrail/agent/tools/builtin"
	"github.com/handrail-bot/handrail/agent/workspace"
	"github.com/handrail-bot/handrail/agent/workspace/host"
	"github.com/handrail-bot/handrail/policy"
)

// Tools is `handrail tools`.
type Tools struct {
	List  toolsListCmd  `cmd:"" help:"List the tools that a model is offered."`
	Parse toolsParseCmd `cmd:"" help:"Find the tool calls in a model's answer on standard input."`
	Call  toolsCallCmd  `cmd:"" help:"Call one tool on a directory."`
}

type toolsListCmd struct {
	JSON bool `name:"json" help:"Print one JSON array, with descriptions and schemas."`
}

// toolEntry is one element of `handrail tools list --json`.
type toolEntry struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"`
}

// Run lists the tools.
func (c *toolsListCmd) Run(w *Console) error {
	all, err := BuiltinTools(nil)
	if err != nil {
		return err
	}
	specs := all.Specs()
	if !c.JSON {
		rows := make([][]string, 0, len(specs))
		for _, s := range specs {
			first, _, _ := strings.Cut(strings.TrimSpace(s.Description), "\n")
			rows = append(rows, []string{s.Name, strings.TrimSuffix(first, ":")})
		}
		return w.Table(rows)
	}
	list := make([]toolEntry, 0, len(specs))
	for _, s := range specs {
		list = append(list, toolEntry{s.Name, s.Description, s.Parameters})
	}
	return JSONLine(w.Out, list)
}

// BuiltinTools returns the tools for ws, which may be nil if they are only described.
func BuiltinTools(ws *workspace.Workspace) (*tools.Registry, error) {
	cfg := tools.Config{Files: ws, Search: ws, Shell: ws, Changes: ws, Start: ws}
	if ws != nil {
		cfg.Root, cfg.Name = ws.Root(), filepath.Base(ws.Root())
	}
	return tools.NewRegistry(builtin.Tools(cfg)...)
}

type toolsCallCmd struct {
	Name       string `arg:"" help:"Name of the tool, see 'tools list'."`
	Args       string `default:"{}" help:"Arguments as a JSON object; - reads it from standard input."`
	Repo       string `type:"path" default:"." help:"Directory that the tool works on. It is changed in place. Files that .agentignore hides stay in it: tools refuse them, commands do not."`
	ConfigFile string `name:"config" type:"path" placeholder:"FILE" help:"Configuration of a repository, such as .github/agent.yml; the built-in defaults otherwise."`
	Mode       string `default:"code" help:"Mode whose rules apply: code, architect, ask, debug, explore, plan, review, security or triage."`
	Yes        bool   `help:"Approve all requests but critical ones."`
	JSON       bool   `name:"json" help:"Print one JSON object."`
}

// callResult is the contract of `handrail tools call --json`.
type callResult struct {
	OK      bool   `json:"ok"`
	Content string `json:"content"`
	Error   string `json:"error"`
}

// Run calls the tool under the same policy as a session. With --json the result is an
// object even if the call was not possible.
func (c *toolsCallCmd) Run(ctx context.Context, w *Console) error {
	res, err := c.call(ctx, w)
	out := callResult{OK: err == nil, Content: res.Content}
	if err != nil {
		out.Error = err.Error()
	}
	if !c.JSON {
		if err == nil {
			fmt.Fprintln(w.Out, strings.TrimRight(out.Content, "\n"))
		}
		return err
	}
	if err := JSONLine(w.Out, out); err != nil {
		return err
	}
	var use UsageError
	if err != nil && !errors.As(err, &use) {
		return ErrFailed
	}
	return err
}

func (c *toolsCallCmd) call(ctx context.Context, w *Console) (tools.Result, error) {
	args, err := c.arguments(w)
	if err != nil {
		return tools.Result{}, err
	}
	rules, mode, err := loadPolicy(c.ConfigFile, c.Mode)
	if err != nil {
		return tools.Result{}, err
	}
	if info, err := os.Stat(c.Repo); err != nil {
		return tools.Result{}, Usage("open --repo: %w", err)
	} else if !info.IsDir() {
		return tools.Result{}, Usage("--repo %s is not a directory", c.Repo)
	}
	ws, closeAll, err := openDirectory(ctx, w, c.Repo)
	if err != nil {
		return tools.Result{}, err
	}
	defer closeAll()
	all, err := BuiltinTools(ws)
	if err != nil {
		return tools.Result{}, err
	}
	tool, ok := all.Find(c.Name)
	if !ok {
		return tools.Result{}, Usage("there is no tool %q; see `handrail tools list`", c.Name)
	}
	call := session.Call{ID: "c1-1", Name: tool.Spec().Name, Arguments: args}
	action, err := tool.Intent(ctx, call)
	if err != nil {
		return tools.Result{}, err
	}
	if err := c.gate(rules.Check(mode, action)); err != nil {
		return tools.Result{}, err
	}
	return tool.Run(ctx, call, nil)
}

// arguments returns the value of --args as one JSON object.
func (c *toolsCallCmd) arguments(w *Console) (json.RawMessage, error) {
	data := []byte(c.Args)
	if c.Args == "-" {
		var err error
		if data, err = io.ReadAll(w.In); err != nil {
			return nil, fmt.Errorf("read arguments: %w", err)
		}
	}
	var args map[string]json.RawMessage
	err := json.Unmarshal(data, &args)
	if err == nil && args == nil {
		err = errors.New("null is no object")
	}
	if err != nil {
		return nil, Usage("--args must be a JSON object, for example '{\"path\":\"README.md\"}': %w", err)
	}
	return json.Marshal(args)
}

// gate returns an error if the call must not be made. A critical call cannot be approved
// in advance, because the tool works on the directory itself.
func (c *toolsCallCmd) gate(d policy.Decision) error {
	var list []string
	for _, r := range d.Reasons {
		list = append(list, r.Text)
	}
	why := strings.Join(list, "; ")
	switch {
	case d.Verdict == policy.Allow:
		return nil
	case d.Verdict != policy.Ask:
		return fmt.Errorf("refused: %s", why)
	case d.Severity == policy.Critical:
		return fmt.Errorf("needs approval: %s (critical: --yes does not approve it, a session asks you)", why)
	case !c.Yes:
		return fmt.Errorf("needs approval: %s (--yes approves it)", why)
	}
	return nil
}

// openDirectory opens a workspace on the directory itself, not on a copy.
func openDirectory(ctx context.Context, w *Console, dir string) (*workspace.Workspace, func(), error) {
	root, err := filepath.Abs(dir)
	if err != nil {
		return nil, nil, fmt.Errorf("find --repo: %w", err)
	}
	near, far := net.Pipe()
	served := make(chan error, 1)
	go func() {
		served <- host.Serve(ctx, far, host.Config{
			Root:   root,
			Name:   filepath.Base(root),
			Env:    PlainEnvironment(),
			Limits: workspace.DefaultLimits,
			Log:    w.Log,
		})
	}()
	ws, err := workspace.Connect(
		ctx,
		workspace.Config{Engine: "local", Conn: near, Log: w.Log, Release: func(context.Context) error {
			near.Close()
			return <-served
		}},
	)
	if err != nil {
		return nil, nil, err
	}
	return ws, func() {
		if err := ws.Close(context.WithoutCancel(ctx)); err != nil {
			w.Log.Debug("close tools", "err", err)
		}
	}, nil
}
