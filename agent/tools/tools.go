// Package tools defines tools, their registry and the parsing of their arguments. The
// tools themselves are in the families below, one file each, with the description
// (.md) beside it: file reads, edit changes, search finds, code asks language servers,
// shell runs commands, page uses a browser, talk converses with the user and maintains
// the to-do list. Package builtin combines them.
//
// A tool declares before it acts. Intent describes a call's effects, as facts for the
// policy and as the exact command or diff for the approver, and changes nothing. Run
// then does exactly that. Intent is deterministic: the gate repeats it right before
// Run and compares the two results.
//
//	tools.go      Tool, Spec, Result, and the registry
//	canonical.go  names as models spell them
//	sheet.go      a tool's arguments: schema, synonyms, errors that teach
//	args.go       argument values as weak models write them
//	path.go       paths: relative, absolute, with the folder's name, symlinks
//	suggest.go    suggestions for a missing path
//	complain.go   workspace errors as messages for the model
package tools

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/handrail-bot/handrail/agent/index"
	"github.com/handrail-bot/handrail/agent/llm"
	"github.com/handrail-bot/handrail/agent/mcp"
	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/agent/workspace"
	"github.com/handrail-bot/handrail/policy"
)

// Tool is one tool that the model can call.
//
// Intent describes the effects of call and changes nothing. Its error is sent to the
// model: it names the wrong argument and shows a correct call. Intent is a function
// of the call and the files, so that two results can be compared.
//
// Run does exactly as Intent described. An error means that the tool failed, and is
// sent to the model; one that wraps [workspace.ErrGone] means that the workspace has
// ended. emit is called only on the calling goroutine, never after Run has returned,
// and may be nil.
//
// Tools are safe for concurrent use.
type Tool interface {
	Spec() Spec
	Intent(ctx context.Context, call session.Call) (policy.Action, error)
	Run(ctx context.Context, call session.Call, emit Progress) (Result, error)
}

// Progress receives text for display while a tool runs: its activity, or output.
type Progress func(text string)

// Result is the result of a call. Content is for the model, Title for display.
type Result struct {
	Content  string
	Title    string
	Changes  []session.FileChange
	State    *session.Update // to-do list or mode to record
	Images   []session.Blob
	Tests    *session.TestRun // run of the project's tests; nil if there was none
	Ran      *session.TestRun // see [session.Result]
	Finding  *session.Finding // reported finding; nil if there is none
	Dir      string           // the shell's directory after a command, relative to the root; "" for any other call
	Handle   string           // see [session.Result]; also of Output
	Output   string           // all output of a command if Content has only a part
	Complete bool             // the model declares the task done
	NoChange string           // the model's reason for not changing a file; "" if there is none
	Ask      *session.Asked   // a question that parks the session
	Task     *session.Task    // a sub-task to run, whose outcome is the result: its text, mode and turns
	Condense bool             // summarize the conversation before the next answer
	Mistake  bool             // part of the call was wrong, although it had an effect
	Class    session.ErrorClass
}

// Config is the environment of the tools. Tools whose dependency (Files, Search,
// Shell) is nil are left out.
type Config struct {
	Files   workspace.Files
	Search  workspace.Searcher
	Shell   workspace.Shell
	Changes workspace.Changer // resolves symlinks, so that an edit is shown for the actual file
	Model   llm.Model         // takes a second look at review findings; nil disables it
	Context int               // context size to request for it in tokens; 0 means its initial size
	Start   workspace.Starter // runs pdftotext; nil reports PDF files as binary

	// Instructions returns the instructions of the repository by name, "" for the list. nil
	// means that it has none.
	Instructions func(ctx context.Context, name string) (Instructions, error)

	Meaning *index.View // finds code by its meaning; nil if no model is configured for that

	Code      workspace.Coder      // asks language servers, and finds problems
	Languages []workspace.Language // that have a server here; without any the tools of Code are not announced

	Pages   workspace.Pages // shows pages of the workspace's servers; nil if it has no network of its own
	Browser string          // program for that; "" if the workspace has none, which calls are told

	Root string // absolute path of the workspace for commands; "/workspace" also works
	Name string // display name of the tree; "Name/a.go" means "a.go" if there is no directory Name

	CommandTimeout time.Duration // default of a command; 0 means 2 minutes
	MaxTimeout     time.Duration // maximum that a command may request without an approval; 0 means the default limit
	LongCommands   []string      // prefixes of commands that get MaxTimeout by default; nil means the built-in list
	Tests          []string      // prefixes of the project's test commands, besides the well-known ones
	Shelled        session.Shell // state of the shell when the session was last active
	// Refuse returns why a command cannot succeed in this workspace, and Lacks a line about
	// the packages that a command did not find, "" if there is no such thing. Either may be nil.
	Refuse func(command string) string
	Lacks  func(workspace.CommandResult) string
	// TimedOut returns the calls of the session that ran out of time. nil means that commands
	// cannot get more than MaxTimeout.
	TimedOut func(ctx context.Context) ([]session.Call, error)
	Redact   func(string) string // removes secrets from a text before it is split; nil disables it
	Servers  *mcp.Hub            // MCP servers; nil if there are none
	Nonce    string              // in the fences around the words of MCP servers
	// Answered returns the requester's answer to a question that an MCP server asked during
	// an earlier call. nil means that there is none.
	Answered func(ctx context.Context, call session.Call, question string) (answer string, ok bool, err error)
	// Output returns the whole output stored under a handle in the session. nil means
	// that none is stored.
	Output func(ctx context.Context, handle string) (text string, ok bool, err error)
}

// Instructions are instructions of the repository: a line for each in Names, and the file
// and the text of one that was asked for.
type Instructions struct {
	Names []string
	Path  string
	Text  string
}

// Spec declares a tool to the model, to the gate, and to the checks of a model's
// habits.
type Spec struct {
	llm.ToolSpec
	Aliases   []string    // other names used by models, in snake case
	Kind      policy.Kind // usual kind of a call; a mode that forbids it is not offered the tool
	Repeats   int         // number of equal calls in a row that is too many; 0 means the default
	Essential bool        // offered even in a small window
	Small     bool        // offered only in a small window
	Edits     bool        // changes existing text, which is shown after a failed call
	Outer     bool        // for the session itself; not offered to sub-tasks
	Modes     []string    // modes that are offered it; nil means all
	Beside    Beside      // nil if it leaves nothing running
	Untold    bool        // accepted but not announced to models, to save tokens
	Served    Served      // how it belongs to MCP servers
	Doing     string      // title of a call that reads, while it runs; "" for one by its paths

	told [4]llm.ToolSpec // see Told
}

// Told returns the description for a model: short if few is set, and without file
// changes if reads is set.
func (s Spec) Told(few, reads bool) llm.ToolSpec {
	at := 0
	if few {
		at++
	}
	if reads {
		at += 2
	}
	if s.told[at].Name == "" { // not made from a sheet
		return s.ToolSpec
	}
	return s.told[at]
}

// Served is the relation of a tool to MCP servers.
type Served int

// The relations. The definitions of all tools are announced if they fit into the window,
// otherwise the tools that call by name.
const (
	NotServed  Served = iota
	Definition        // one tool of a server
	ByName            // calls any tool of any server
)

// Beside is background work that a tool leaves running. Busy reports whether it may
// have changed files since the last query. News returns messages for the model at the
// end of a turn.
type Beside interface {
	Busy() bool
	News() []string
}

// In reports whether the tool is offered in a mode.
func (s Spec) In(mode string) bool { return s.Modes == nil || slices.Contains(s.Modes, mode) }

// Registry holds the tools of a session. It is safe for concurrent use.
type Registry struct {
	tools []Tool
	specs []Spec
	names map[string]int // names and aliases → index
}

// NewRegistry returns a registry with the tools in the order in which they are
// offered. It fails if a tool lacks a name, a kind, an intent or a run function, or
// shares a name with another tool.
func NewRegistry(list ...Tool) (*Registry, error) {
	r := &Registry{tools: list, names: map[string]int{}}
	for i, t := range list {
		s := t.Spec()
		if s.Name == "" || s.Kind == 0 {
			return nil, fmt.Errorf("register tool %q: it needs a name and a kind", s.Name)
		}
		if own, ok := t.(*tool); ok && (own.intent == nil || own.run == nil) {
			return nil, fmt.Errorf("register tool %q: it needs a function for its intent and one that runs it", s.Name)
		}
		r.specs = append(r.specs, s)
		for _, name := range append([]string{s.Name}, s.Aliases...) {
			spellings := []string{name, strings.ReplaceAll(name, "_", "")} // also readfile
			if s.Served == Definition {                                    // others choose its name
				spellings = spellings[:1]
			}
			for _, spelled := range spellings {
				if at, twice := r.names[spelled]; twice && at != i {
					return nil, fmt.Errorf("register tool %s: %s is a name of %s", s.Name, spelled, r.specs[at].Name)
				}
				r.names[spelled] = i
			}
		}
	}
	return r, nil
}

// Find returns the tool meant by name: its own name, or any spelling known to
// [Registry.Canonical].
func (r *Registry) Find(name string) (Tool, bool) {
	at, ok := r.names[name]
	if !ok {
		at, ok = r.names[r.Canonical(name)]
	}
	if !ok {
		return nil, false
	}
	return r.tools[at], true
}

// Spec returns the spec of the tool called name, or the zero Spec.
func (r *Registry) Spec(name string) Spec {
	if at, ok := r.names[name]; ok {
		return r.specs[at]
	}
	return Spec{}
}

// Specs returns the specs of all tools, in order. The caller must not change the
// slice.
func (r *Registry) Specs() []Spec { return r.specs }

// Busy reports whether background work may have changed files since the last query.
func (r *Registry) Busy() bool {
	busy := false
	for _, s := range r.specs {
		busy = s.Beside != nil && s.Beside.Busy() || busy
	}
	return busy
}

// News returns the messages of background work for the model.
func (r *Registry) News() (say []string) {
	for _, s := range r.specs {
		if s.Beside != nil {
			say = append(say, s.Beside.News()...)
		}
	}
	return say
}

// ForModel returns the descriptions of tools for a model.
func ForModel(list []Spec) []llm.ToolSpec {
	out := make([]llm.ToolSpec, 0, len(list))
	for _, s := range list {
		out = append(out, s.ToolSpec)
	}
	return out
}

// Names returns the names of tools.
func Names(list []llm.ToolSpec) []string {
	out := make([]string, 0, len(list))
	for _, s := range list {
		out = append(out, s.Name)
	}
	return out
}

// Intent describes the effects of a call, see [Tool]. Its arguments match the sheet.
type Intent func(ctx context.Context, a Args) (policy.Action, error)

// Run executes a call, see [Tool]. Its arguments match the sheet, and emit is never
// nil.
type Run func(ctx context.Context, a Args, emit Progress) (Result, error)

// tool is a tool made from a sheet and two functions.
type tool struct {
	Sheet
	intent Intent
	run    Run
}

// New returns the tool that a sheet describes.
func New(s Sheet, intent Intent, run Run) Tool { return &tool{s.ready(), intent, run} }

// Spec implements [Tool].
func (t *tool) Spec() Spec { return t.spec }

// Intent implements [Tool].
func (t *tool) Intent(ctx context.Context, call session.Call) (policy.Action, error) {
	a, err := t.parse(call.Arguments)
	if err != nil {
		return policy.Action{}, err
	}
	a.Merged = call.Merged
	action, err := t.intent(ctx, a)
	if err != nil {
		return policy.Action{}, Complain(err)
	}
	action.Tool = t.Name
	return action, nil
}

// Run implements [Tool].
func (t *tool) Run(ctx context.Context, call session.Call, emit Progress) (Result, error) {
	a, err := t.parse(call.Arguments)
	if err != nil {
		return Result{}, err
	}
	a.Call, a.Merged = call.ID, call.Merged
	if emit == nil {
		emit = func(string) {}
	}
	res, err := t.run(ctx, a, emit)
	return res, Complain(err)
}

// Kit is the workspace for the tools: its Config, and the resolution of paths as
// models write them. It is immutable, except for the outputs that it keeps.
type Kit struct {
	Config
	Kept *Kept
}

// NewKit returns a Kit with the defaults of cfg filled in.
func NewKit(cfg Config) *Kit {
	if cfg.CommandTimeout <= 0 {
		cfg.CommandTimeout = 2 * time.Minute
	}
	if cfg.MaxTimeout <= 0 {
		cfg.MaxTimeout = workspace.DefaultLimits.Command
	}
	return &Kit{Config: cfg, Kept: newKept(cfg)}
}
