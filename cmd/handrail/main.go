package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/handrail-bot/handrail/bot/store/threadref"
	"github.com/handrail-bot/handrail/cmd/config"
	"github.com/handrail-bot/handrail/cmd/doctor"
	"github.com/handrail-bot/handrail/cmd/door"
	"github.com/handrail-bot/handrail/cmd/local"
	"github.com/handrail-bot/handrail/cmd/sessions"
	"github.com/handrail-bot/handrail/cmd/setup"
	"github.com/handrail-bot/handrail/cmd/telemetry"
	"github.com/handrail-bot/handrail/cmd/terminal"
	"github.com/handrail-bot/handrail/policy/untrusted"
)

// Exit codes are a contract, see docs/cli.md.
const (
	exitDone   = 0
	exitFailed = 1 // the requested operation failed
	exitUsage  = 2 // wrong use
)

// cli is the command line. Each verb has a file of its own.
type cli struct {
	Demo     demoCmd      `cmd:"" group:"start" help:"Show a whole story on this machine: no account, no model, no network."`
	Init     setup.Verb   `cmd:"" group:"start" help:"Create the bot's GitHub App in a browser, and write its configuration."`
	Doctor   doctorCmd    `cmd:"" group:"start" help:"Check this machine and try a model out."`
	LSP      lspCmd       `cmd:"" name:"lsp" group:"start" help:"Install language servers for workspaces."`
	Config   doctor.Verbs `cmd:"" group:"start" help:"Check a configuration file, show the values in force, print schemas."`
	Simulate simulateCmd  `cmd:"" group:"start" help:"Show the effect of a GitHub payload, without doing it."`

	localVerbs
	Replay   sessions.Replay `cmd:"" group:"work" help:"Show a session from its log."`
	Sessions sessions.Verbs  `cmd:"" group:"work" help:"List, export and import sessions."`

	Serve      serveCmd               `cmd:"" group:"bot" help:"Run the bot: take webhooks, work on sessions, answer on GitHub."`
	Status     statusCmd              `cmd:"" group:"bot" help:"Ask a running server how it is."`
	Action     actionCmd              `cmd:"" group:"bot" help:"Work on the event of a GitHub Actions run: the bot without a server."`
	Schedule   sessions.ScheduleVerbs `cmd:"" group:"bot" help:"Sessions by the clock: list them, start one."`
	Audit      sessions.Audit         `cmd:"" group:"bot" help:"Check that no log was changed."`
	Workspaces workspacesCmd          `cmd:"" group:"bot" help:"Make workspaces for a server that runs in another container."`

	Policy     door.Policy         `cmd:"" group:"inside" help:"Ask the policy for its decision."`
	Tools      door.Tools          `cmd:"" group:"inside" help:"List, parse and call the agent's tools."`
	Text       door.Text           `cmd:"" group:"inside" help:"Make texts safe to post, or to read."`
	Completion terminal.Completion `cmd:"" group:"inside" help:"Print the script with which a shell completes words of handrail."`
	Version    versionCmd          `cmd:"" group:"inside" help:"Print the version."`

	Toolhost toolhostCmd `cmd:"" hidden:"" help:"Serve tools over standard input and output, inside a workspace."`

	flagsOfAll
}

// localVerbs are the verbs for sessions in a clone on this machine.
type localVerbs struct {
	Run    runCmd      `cmd:"" group:"work" help:"Work on a task in a local clone; the result is a branch."`
	Chat   chatCmd     `cmd:"" group:"work" help:"Talk with a session in the terminal: one request after the other."`
	Resume resumeCmd   `cmd:"" group:"work" help:"Continue a session of run that parked or was interrupted, or add a task."`
	Diff   local.Diff  `cmd:"" group:"work" help:"Print the change of a session as a patch."`
	Apply  local.Apply `cmd:"" group:"work" help:"Apply the change of a session to your files."`
	Undo   undoCmd     `cmd:"" group:"work" help:"Undo the last steps of a session, or of apply."`
}

// flagsOfAll are the flags that every verb has.
type flagsOfAll struct {
	ShowVersion versionFlag `name:"version" help:"Print the version."`
	LogLevel    string      `enum:",debug,info,warn,error" default:"" placeholder:"LEVEL" env:"HANDRAIL_LOG_LEVEL" help:"Level of the log on standard error: debug, info, warn or error; info for serve, and warn for other verbs, if unset."`
}

// console is the part of the process that a verb may use.
type console struct {
	in       io.Reader
	out, err io.Writer
	raw      io.Writer // unfiltered standard output, for output that is hashed
	log      *slog.Logger
	logs     *terminal.Log // destination of log
	width    int           // of tables, in columns; 0 means that of the terminal, or $COLUMNS, or 80
	version  string
	options  serverOptions // of serve; the zero value means production settings
}

// door returns the console for verbs with a package of their own.
func (w *console) door() *door.Console {
	return &door.Console{In: w.in, Out: w.out, Err: w.err, Raw: w.raw, Log: w.log, Width: w.width}
}

func main() { os.Exit(mainExit(os.Args[1:])) }

// mainExit runs one command line and returns the exit code.
func mainExit(args []string) int {
	all, park := context.WithCancel(context.Background())
	defer park()
	ctx, stop := door.UntilSignal(all)
	defer stop()
	w := &console{in: os.Stdin, out: os.Stdout, err: os.Stderr, version: config.ReadBuild().Version}
	return executePiped(ctx, args, w, park)
}

// exitRequest carries kong's request to exit (help, version) out of Parse.
type exitRequest int

// tableWidth returns the columns that tables may take, and 0 if nothing is known.
func tableWidth(w *console) int {
	if w.width != 0 {
		return w.width
	}
	if n := terminal.LookOf(w.out).Width; n > 0 {
		return n
	}
	n, err := strconv.Atoi(os.Getenv("COLUMNS"))
	if err != nil {
		return 0
	}
	return max(n, 0)
}

func execute(ctx context.Context, args []string, w *console) int {
	asJSON := wantsJSON(args)
	inner := *w
	w = &inner
	w.raw = w.out
	w.width = tableWidth(w)
	if len(args) == 0 || args[0] != "toolhost" { // the output of toolhost is a protocol
		w.out, w.err = &untrusted.InertWriter{To: w.out, JSON: asJSON}, &untrusted.InertWriter{To: w.err} //control:runner-lines-of-doors
	}
	out := &writeTracker{Writer: w.out}
	if asJSON {
		w.out = out
	}
	err := fullDisk(perform(ctx, door.SeparateHyphens(args), w))
	code := exitCode(w, err)
	if asJSON && code != exitDone && !out.yes {
		_ = door.JSONLine(out, failure{Error: err.Error()}) // the exit code reports the failure, too
	}
	return code
}

// grammar is the command line as kong reads it.
type grammar struct {
	root  any // pointer to a struct
	flags *flagsOfAll
}

// wholeGrammar has all verbs.
func wholeGrammar() grammar {
	var c cli
	return grammar{&c, &c.flagsOfAll}
}

func asksForHelp(args []string) bool {
	return slices.Contains(args, "-h") || slices.Contains(args, "--help")
}

// verbGrammar has only the verb that args begin with, since reading the tags of all takes
// longer than many verbs do. It reports false if args need the other verbs, too.
func verbGrammar(args []string) (g grammar, ok bool) {
	if len(args) == 0 || slices.Contains(args, "help") || asksForHelp(args) {
		return grammar{}, false
	}
	for _, f := range reflect.VisibleFields(reflect.TypeFor[cli]()) {
		if _, verb := f.Tag.Lookup("cmd"); !verb || strings.ToLower(f.Name) != args[0] {
			continue
		}
		root := reflect.New(reflect.StructOf([]reflect.StructField{
			{Name: f.Name, Type: f.Type, Tag: f.Tag},
			{Name: "Flags", Type: reflect.TypeFor[flagsOfAll](), Tag: `embed:""`},
		}))
		flags, ok := root.Elem().Field(1).Addr().Interface().(*flagsOfAll)
		return grammar{root.Interface(), flags}, ok
	}
	return grammar{}, false
}

// perform parses and runs the command line.
func perform(ctx context.Context, args []string, w *console) error {
	if g, ok := verbGrammar(args); ok {
		if err := performIn(ctx, g, args, w); !errors.As(err, new(misread)) {
			return err
		}
	}
	err := performIn(ctx, wholeGrammar(), args, w)
	if m := (misread{}); errors.As(err, &m) {
		return m.error
	}
	return err
}

// misread is an error of the command line, before anything was done.
type misread struct{ error }

// performIn parses the command line by a grammar, and runs it.
func performIn(ctx context.Context, g grammar, args []string, w *console) (err error) {
	defer func() {
		switch e := recover().(type) {
		case nil:
		case exitRequest:
			err = helpError(e)
		default:
			panic(e)
		}
	}()
	k, err := kong.New(
		g.root,
		kong.Name("handrail"),
		kong.Writers(w.out, w.err),
		kong.Description(
			"A coding agent for your GitHub repositories, on your own models. Unsafe commands and sensitive files wait for your approval.",
		),
		kong.Exit(func(n int) { panic(exitRequest(n)) }),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}),
		kong.Help(terminal.PrintHelp),
		kong.ExplicitGroups([]kong.Group{
			{Key: "start", Title: "To begin with:"},
			{Key: "inside", Title: "To look inside, and for scripts:"},
			{Key: "work", Title: "In a clone on this machine:"},
			{Key: "bot", Title: "As a bot on GitHub:"},
			{Key: "workspace", Title: "The workspace:"},
			{Key: "model", Title: "The model:"},
		}),
	)
	if err != nil {
		return door.UsageError{Err: err}
	}
	if len(args) > 0 && args[0] == terminal.CompleteVerb {
		return terminal.Complete(w.out, k.Model.Node, args[1:], local.Words)
	}
	parsed, err := k.Parse(terminal.RewriteHelp(k.Model.Node, args))
	if err != nil && len(args) == 0 { // no arguments: print help
		return terminal.ShowVerbs(k, w.err)
	}
	if err != nil {
		return misread{terminal.UsageErrorOf(k.Model.Node, args, err)}
	}
	w.logs = terminal.NewLog(w.err)
	if g.flags.LogLevel == "" && parsed.Command() == "serve" {
		g.flags.LogLevel = "info"
	}
	w.log = w.logs.WithoutShown(logger(w.logs, g.flags.LogLevel))
	parsed.BindTo(ctx, (*context.Context)(nil))
	parsed.Bind(w, w.door(), doctor.Of(doctorOf))
	return parsed.Run()
}

// helpError returns the error for kong's own exit, nil after --help.
func helpError(code exitRequest) error {
	if code == 0 {
		return nil
	}
	return door.Usage("ended with %d", int(code))
}

func exitCode(w *console, err error) int {
	switch {
	case err == nil:
		return exitDone
	case !errors.Is(err, door.ErrFailed):
		fmt.Fprintf(w.err, "handrail: %v\n", err)
	}
	if errors.As(err, new(door.UsageError)) || errors.As(err, new(threadref.Misuse)) {
		return exitUsage
	}
	return exitFailed
}

func logger(out io.Writer, level string) *slog.Logger {
	var l slog.Level
	if l.UnmarshalText([]byte(level)) != nil {
		l = slog.LevelWarn
	}
	return slog.New(slog.NewTextHandler(out, &slog.HandlerOptions{Level: l, ReplaceAttr: telemetry.CutPages}))
}
