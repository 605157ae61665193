package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/handrail-bot/handrail/agent/llm"
	"github.com/handrail-bot/handrail/agent/tools"
	"github.com/handrail-bot/handrail/agent/work"
	"github.com/handrail-bot/handrail/agent/workspace"
	"github.com/handrail-bot/handrail/cmd/config"
	"github.com/handrail-bot/handrail/cmd/doctor"
	"github.com/handrail-bot/handrail/cmd/door"
	"github.com/handrail-bot/handrail/cmd/terminal"
	"github.com/handrail-bot/handrail/gitops"
	"github.com/handrail-bot/handrail/policy"
	"github.com/handrail-bot/handrail/policy/strict"
	"github.com/handrail-bot/handrail/policy/untrusted"
)

type doctorCmd struct {
	Machine   doctorMachineCmd   `cmd:"" default:"withargs" help:"Look for a container runtime or sandbox and for the model server."`
	Languages doctorLanguagesCmd `cmd:"" help:"Say which languages of a clone have a language server in the workspace, and what to install for the others."`
	Model     doctorModelCmd     `cmd:"" help:"Try a model on small tasks in each form of answering, and say which form to take."`
}

type doctorMachineCmd struct {
	Config string `short:"c" type:"path" placeholder:"FILE" help:"A server's file: check everything that this server needs, with a remedy for each fault. Its secrets are read from the environment."`
	JSON   bool   `name:"json" help:"Print one JSON object."`
	modelFlags
}

// Run checks the requirements of every session.
func (c *doctorMachineCmd) Run(ctx context.Context, w *console) error {
	if c.Config != "" {
		return c.server(ctx, w)
	}
	d := doctor.Diagnosis{Advice: []string{}}
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	engines, err := workspaceEngines(ctx, w, self, policy.Workspace{})
	if err != nil {
		return err
	}
	walled := false
	for _, e := range engines {
		f := doctor.Finding{Name: "workspace " + e.Name(), Detail: "ready"}
		start := time.Now()
		if err := e.Check(ctx); err != nil {
			f.Detail = err.Error()
		} else {
			f.OK = true
			f.Detail += ": " + boundsOf(ctx, e)
			walled = walled || e.Name() != "local"
		}
		f.Millis = time.Since(start).Milliseconds()
		d.Findings = append(d.Findings, f)
	}
	if !walled {
		d.Advice = append(d.Advice, "Install Docker or bubblewrap: without one of them commands run without a wall.")
	}
	server := c.modelServer(ctx)
	d.Findings = append(d.Findings, server)
	if !server.OK {
		d.Advice = append(d.Advice, server.Remedy)
	} else if c.Model == "" {
		d.Advice = append(d.Advice, "Try a model with: handrail doctor model NAME")
	}
	d.OK = walled && server.OK
	return printDiagnosis(w, d, c.JSON)
}

// server checks the requirements of a server with this configuration.
func (c *doctorMachineCmd) server(ctx context.Context, w *console) error {
	cfg, bad := config.Read(c.Config, (&serveCmd{}).getenv)
	var missing *fs.PathError
	if errors.As(bad, &missing) && missing.Path == c.Config {
		return door.UsageError{Err: bad}
	}
	inner := *w
	inner.log = slog.New(slog.DiscardHandler)
	report := doctor.Report{OK: bad == nil}
	for _, f := range strict.Of(bad) {
		report.Findings = append(
			report.Findings,
			doctor.Finding{Name: "configuration", Detail: f.Error(), Remedy: doctor.Remedy(f), Needed: true},
		)
	}
	if cfg.Unread() { // the rest of the file is unknown
		report.Findings[0].Remedy = "Fix this first: all else is checked when the file can be read."
		return c.say(w, report)
	}
	for _, f := range doctor.Server(&cfg) {
		report.Findings = append(report.Findings, doctor.Finding{Name: "configuration", Detail: f.Error()})
	}
	if bad == nil {
		report.Findings = append(report.Findings, doctor.Finding{Name: "configuration", OK: true, Detail: c.Config})
	}
	d := doctorOf(cfg, inner.log)
	d.Engines = func(ctx context.Context) []doctor.Finding {
		return append(enginesOf(ctx, &inner, cfg), mcpServersOf(ctx, cfg)...)
	}
	found := d.Examine(ctx)
	report.OK, report.Findings = report.OK && found.OK, append(report.Findings, found.Findings...)
	return c.say(w, report)
}

func (c *doctorMachineCmd) say(w *console, r doctor.Report) error {
	return report(w, c.JSON, r, r.OK, func() { doctor.Say(w.door(), r) })
}

// report prints v as JSON, or by say, and fails if v is not ok.
func report(w *console, asJSON bool, v any, ok bool, say func()) error {
	if !asJSON {
		say()
	} else if err := door.JSONLine(w.out, v); err != nil {
		return err
	}
	if !ok {
		return door.ErrFailed
	}
	return nil
}

// doctorOf returns the configuration for checks of a server from outside.
func doctorOf(cfg config.Server, log *slog.Logger) doctor.Config {
	model := func(name string) (llm.Model, error) {
		open, err := opener(cfg.Model, log)
		if err != nil {
			return nil, err
		}
		return open(name)
	}
	return doctor.Config{
		Server:   cfg,
		Log:      log,
		GitHub:   config.Transport(cfg.GitHub.Trusted, nil),
		HTTP:     config.Transport(cfg.Model.Trusted, cfg.Model.Sent),
		Model:    model,
		Embedder: func() (llm.Embedder, error) { return embedderOf(cfg.Model, log) },
		Exam:     func(name string) (doctor.ExamConfig, error) { return examOf(model, name) },
	}
}

// examOf returns the configuration for an exam of a model, with the tools of a session.
func examOf(open func(name string) (llm.Model, error), name string) (doctor.ExamConfig, error) {
	model, err := open(name)
	if err != nil {
		return doctor.ExamConfig{}, err
	}
	all, err := door.BuiltinTools(nil)
	if err != nil {
		return doctor.ExamConfig{}, err
	}
	return doctor.ExamConfig{Model: model, Tools: tools.ForModel(all.Specs()), Canonical: all.Canonical}, nil
}

// enginesOf reports the workspace engine of a server's sessions, and its image.
func enginesOf(ctx context.Context, w *console, cfg config.Server) []doctor.Finding {
	e, err := pickWorkspace(ctx, w, cfg.Workspace, cfg.Policy.Workspace)
	if err == nil {
		err = mustLimit(ctx, e, cfg.Policy.Workspace.Unlimited)
	}
	if err != nil {
		return []doctor.Finding{
			{Name: "workspace", Detail: err.Error(), Remedy: "`handrail doctor` checks this machine.", Needed: true},
		}
	}
	out := []doctor.Finding{{Name: "workspace", OK: true, Detail: e.Name() + ": " + boundsOf(ctx, e)}}
	if imaged, ok := e.(workspace.Imaged); ok && imaged.Images() {
		out = append(out, imageOf(ctx, e, cfg))
	}
	if cfg.Engine == config.EngineACP {
		out = append(out, agentOf(ctx, e, cfg))
	}
	return out
}

func imageOf(ctx context.Context, e workspace.Engine, cfg config.Server) doctor.Finding {
	image := doctor.Finding{Name: "image", OK: true, Detail: cfg.Policy.Workspace.Image + ", which is there"}
	remedy := "It is pulled when a session needs it first; `docker pull` it now to be sure."
	if cfg.Policy.Workspace.Image == "" {
		image.Detail = "one that fits the repository, else " + workspace.DefaultImage + ", which is there"
		remedy = "Repositories that an image fits get that; for all others, make this one."
	}
	if err := e.Check(ctx); err != nil {
		image.OK, image.Detail, image.Remedy = false, err.Error(), remedy
	}
	return image
}

// modelServer asks the model server for its models.
func (c *doctorMachineCmd) modelServer(ctx context.Context) doctor.Finding {
	f := doctor.Finding{Name: "model server", Needed: true}
	start := time.Now()
	list, err := c.names(ctx)
	f.Millis = time.Since(start).Milliseconds()
	some := c.model().Of().Keyed // such a server may list only some of its models, or none
	f.Remedy = c.remedy(err)
	switch {
	case err != nil:
		f.Detail = err.Error()
	case len(list) == 0:
		f.Detail = c.modelFlags.server() + " has no model"
		f.OK = some
	case c.Model != "" && !slices.Contains(list, c.Model) && !slices.Contains(list, c.Model+":latest"):
		name := untrusted.EscapeLine(c.Model)
		f.OK, f.Detail = some, fmt.Sprintf("%s has %s, but no %s", c.modelFlags.server(), doctor.Names(list), name)
		f.Remedy = "Pull it with `ollama pull " + name + "`, or choose another with --model."
	default:
		f.OK, f.Detail = true, c.modelFlags.server()+" has "+doctor.Names(list)
	}
	if f.OK {
		f.Remedy = ""
	}
	return f
}

// printDiagnosis writes a diagnosis as text or as JSON, and fails if sessions will not
// work.
func printDiagnosis(w *console, d doctor.Diagnosis, asJSON bool) error {
	return report(w, asJSON, d, d.OK, func() { writeDiagnosis(w, d) })
}

func writeDiagnosis(w *console, d doctor.Diagnosis) {
	to := w.door()
	if d.Model != "" {
		fmt.Fprintf(w.out, "model %s\n", d.Model)
	}
	for _, f := range d.Findings {
		mark := "✔"
		if !f.OK {
			mark = "✗"
		}
		to.Note(fmt.Sprintf("%s %-18s ", mark, f.Name), fmt.Sprintf("%s (%d ms)", f.Detail, f.Millis))
	}
	if f := d.Figures; f != nil && f.PerSecond > 0 {
		to.Note(
			fmt.Sprintf("  %-18s ", "figures"),
			fmt.Sprintf("%.1f tokens/s in all, %.2f bytes per token, calls: %s", f.PerSecond, f.BytesPerToken, f.Calls),
		)
	}
	for _, a := range d.Advice {
		to.Note("→ ", a)
	}
	if d.OK {
		fmt.Fprintln(w.out, "Sessions will work.")
		return
	}
	fmt.Fprintln(w.out, "Sessions will not work.")
}

type doctorModelCmd struct {
	Name string `arg:"" optional:"" help:"Model, as the server names it; --model or HANDRAIL_MODEL otherwise."`
	JSON bool   `name:"json" help:"Print one JSON object."`

	Time      time.Duration `default:"105s" help:"How long all tasks may take once the model is loaded."`
	Workspace string        `enum:",auto,docker,bwrap,local" default:"" placeholder:"NAME" help:"Where the tasks are worked on; bwrap where that is ready, else local, as they run no command."`
	Exam      bool          `help:"Try out single answers in place of tasks: context, calls, repairs, refusals."`
	Context   *int          `placeholder:"TOKENS" help:"Tokens of context to try out with --exam, 8192 otherwise; more takes longer."`
	modelFlags
}

// Run tests one model.
func (c *doctorModelCmd) Run(ctx context.Context, w *console) error {
	name := c.Name
	if name == "" {
		name = c.Model
	}
	if name == "" {
		var err error
		if name, err = c.pick(ctx); err != nil {
			return err
		}
	}
	if c.Time < time.Second {
		return door.Usage("--time %s is too short", c.Time)
	}
	open, err := c.open(w)
	if err != nil {
		return err
	}
	if c.Exam || c.Context != nil {
		return c.exam(ctx, w, open, name)
	}
	return c.tryOut(ctx, w, open, name)
}

// exam tests single answers of the model.
func (c *doctorModelCmd) exam(
	ctx context.Context,
	w *console,
	open func(string) (llm.Model, error),
	name string,
) error {
	size := 8192
	if c.Context != nil {
		size = *c.Context
	}
	if size < 1024 || size > 1<<20 {
		return door.Usage("--context %d is not between 1024 and 1048576", size)
	}
	with, err := examOf(open, name)
	if err != nil {
		return err
	}
	with.Context = size
	d, err := doctor.Model(ctx, with)
	if err != nil {
		return err
	}
	if !d.OK && len(d.Findings) == 1 { // the server itself failed
		d.Advice = append(d.Advice, c.asked())
	}
	return printDiagnosis(w, d, c.JSON)
}

func (f modelFlags) asked() string {
	return f.server() + " was asked; OLLAMA_HOST or --base-url name another address."
}

// tryOut has the model work on small tasks in each answer form.
func (c *doctorModelCmd) tryOut(
	ctx context.Context,
	w *console,
	open func(string) (llm.Model, error),
	name string,
) error {
	m, err := open(name)
	if err != nil {
		return err
	}
	ws, err := c.tryoutWorkspace(ctx, w)
	if err != nil {
		return err
	}
	known, err := environmentSecrets()
	if err != nil {
		return door.UsageError{Err: err}
	}
	trial, err := doctor.Run(ctx, doctor.TrialConfig{
		Model: m, Time: c.Time, Now: time.Now, Tell: func(line string) { fmt.Fprintln(w.err, line) },
		Engine: func(dir string, m llm.Model, form llm.Form, rules policy.Config) (*work.Engine, error) {
			return newEngine(engineParts{
				dir: dir, bases: gitops.BasesConfig{Dir: filepath.Join(dir, "bases")}, workspace: ws, rules: rules, secrets: known, log: w.log,
				model: func(string) (llm.Model, error) { return m, nil }, form: form,
			})
		},
	})
	if no := new(llm.Error); errors.As(err, &no) && no.Public != "" {
		return printDiagnosis(w, doctor.Diagnosis{
			Model: name, Findings: []doctor.Finding{{Name: "server", Detail: terminal.ToOperator(no.Public), Needed: true}}, Advice: []string{c.asked()},
		}, c.JSON)
	}
	if err != nil {
		return err
	}
	if err := c.template(ctx, &trial, name); err != nil {
		w.log.WarnContext(ctx, "the template of the model is not known", "err", err)
	}
	return report(w, c.JSON, trial, trial.OK, func() { doctor.SayTrial(w.door(), trial) })
}

// template checks the template of a model, if the server shows it.
func (c *doctorModelCmd) template(ctx context.Context, report *doctor.Trial, name string) error {
	m := c.model()
	path := m.Of().Show
	if path == nil {
		return nil
	}
	u, err := m.Address()
	if err != nil {
		return err
	}
	trusted, err := c.authorities()
	if err != nil {
		return err
	}
	shown, err := doctor.Show(
		ctx,
		&http.Client{Transport: config.Transport(trusted, nil), Timeout: 15 * time.Second},
		u.JoinPath(path...),
		name,
	)
	if err == nil && !shown.KnowsRoles() {
		report.ReportNoRoles(shown)
	}
	return err
}

// tryoutWorkspace returns the engine for the tasks. They need neither an image nor
// isolation: every request for an approval is denied.
func (c *doctorModelCmd) tryoutWorkspace(ctx context.Context, w *console) (workspace.Engine, error) {
	if c.Workspace != "" && c.Workspace != "auto" {
		return pickWorkspace(ctx, w, c.Workspace, policy.Workspace{})
	}
	ws, err := pickWorkspace(ctx, w, "bwrap", policy.Workspace{})
	if err != nil {
		return pickWorkspace(ctx, w, "local", policy.Workspace{})
	}
	return ws, nil
}
