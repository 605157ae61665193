// Package tools says what a tool is, how tools are registered, and how their
// arguments are read. The tools themselves are in the families below, one file
// each, with the description (.md) beside it: file reads, edit changes, search
// finds, shell runs commands, talk speaks with people and maintains the to-do
// list. builtin joins them.
//
// A tool declares before it acts: Intent says what a call would do, as facts
// for the policy and as the exact command or diff for a person, and changes
// nothing. Run then does exactly that. Intent is deterministic: the gate asks again
// right before Run and compares the two answers.
//
//	tools.go      Tool, Spec, Result, and the registry
//	canonical.go  names as models spell them
//	sheet.go      a tool's arguments: schema, synonyms, errors that teach
//	args.go       argument values as weak models write them
//	path.go       paths: relative, absolute, with the folder's name, symlinks
//	suggest.go    what a path that is not there may have meant
//	complain.go   workspace errors as words for the model
package tools

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/handrail-bot/handrail/agent/llm"
	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/agent/workspace"
	"github.com/handrail-bot/handrail/policy"
)

// Tool is one tool that the model can call.
//
// Intent says what call would do and changes nothing. An error is told to the
// model: it names the argument that is wrong and shows a correct call. Intent
// is a function of the call and the files, so that two of them can be
// compared.
//
// Run does what Intent said. An error means that the tool failed and is told
// to the model; one that wraps [workspace.ErrGone] means that the workspace
// has ended. emit is called from the calling goroutine, never after Run has
// returned, and may be nil.
//
// Tools are safe for concurrent use.
type Tool interface {
	Spec() Spec
	Intent(ctx context.Context, call session.Call) (policy.Action, error)
	Run(ctx context.Context, call session.Call, emit Progress) (Result, error)
}

// Progress takes text for people while a tool runs: what it is at, or output.
type Progress func(text string)

// Result is how a call ended. Content is what the model is told; Title is for
// people.
type Result struct {
	Content  string
	Title    string
	Changes  []session.FileChange
	State    *session.Update // todo list or mode to record
	Images   []session.Blob
	Tests    *session.TestRun // what of the project's tests it ran; nil for none
	Finding  *session.Finding // what it reported of the code; nil for nothing
	Dir      string           // where the shell stands after a command, relative to the root; "" for any other call
	Handle   string           // of what [session.Result] describes, and of Output
	Output   string           // all that a command printed, where Content has only a part
	Complete bool             // the model says that the task is done
	NoChange string           // why it says that no file had to change; "" where it does not
	Ask      *session.Asked   // a question that parks the session
	Task     *session.Task    // a sub-task whose end is the result: its text, mode and turns
	Condense bool             // the conversation is to be summarized before the next answer
	Mistake  bool             // part of the call was wrong, although something was done
}

// Config is what the tools work on. Tools whose means are missing (Files,
// Search, Shell) are left out.
type Config struct {
	Files   workspace.Files
	Search  workspace.Searcher
	Shell   workspace.Shell
	Changes workspace.Changer // tells symlinks from files, so that an edit through one is shown where it lands
	Model   llm.Model         // takes a second look at what a review found; nil for none
	Context int               // tokens of context that it is asked for, 0 for what it begins with
	Start   workspace.Starter // runs pdftotext; nil: PDF files are reported as binary

	Root string // absolute path of the workspace as commands inside see it; "/workspace" is understood as well
	Name string // how people call the tree; "Name/a.go" finds "a.go" when there is no Name

	CommandTimeout time.Duration       // of a command that asks for none, 0 for 2 minutes
	MaxTimeout     time.Duration       // longest a command may ask for, 0 for 10 minutes
	LongCommands   []string            // beginnings of command lines that get MaxTimeout unasked; nil for the built-in list
	Tests          []string            // beginnings of commands that run the project's tests, beside those that everybody knows
	Shelled        session.Shell       // the shell, as the session left it when it was worked on before
	Redact         func(string) string // takes secrets out of a text before it is shown in parts; nil for nothing
	// Output returns a whole output that the session has under a handle. Nil: none is kept.
	Output func(ctx context.Context, handle string) (text string, ok bool, err error)
}

// Spec is what a tool says of itself: to the model, to the gate, and to the checks
// of a model's habits.
type Spec struct {
	llm.ToolSpec
	Aliases   []string    // further names that models call it by, in snake case
	Kind      policy.Kind // what a call of it ordinarily does: modes that do not allow it are not offered the tool. What one call does its Intent says
	Repeats   int         // how often the same call may be made in a row; 0 for what is usual
	Essential bool        // it is offered however small the window is
	Edits     bool        // it changes text that is there: after a call that failed, the text is shown
	Outer     bool        // it is of the session itself: a sub-task is not offered it
	Modes     []string    // the only modes that are offered it; nil for all
	Beside    Beside      // nil where it leaves nothing running
	Untold    bool        // it is understood, and models are not told of it: what they are told has a price

	told [4]llm.ToolSpec // see Told
}

// Told returns what a model is told of the tool: the whole, or little of it where the
// model has little room; with nothing of changes where no file may be changed.
func (s Spec) Told(few, reads bool) llm.ToolSpec {
	at := 0
	if few {
		at++
	}
	if reads {
		at += 2
	}
	if s.told[at].Name == "" { // it is not made of a sheet
		return s.ToolSpec
	}
	return s.told[at]
}

// Beside is what a tool leaves running beside the calls. Busy reports whether it can have
// changed files since it was asked before; News says what the model should know of it at the
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
// offered. It fails when a tool has no name, no intent or nothing that runs it, does not
// say what kind it is of, or shares a name with another.
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
			for _, spelled := range [...]string{name, strings.ReplaceAll(name, "_", "")} { // also readfile
				if at, twice := r.names[spelled]; twice && at != i {
					return nil, fmt.Errorf("register tool %s: %s is a name of %s", s.Name, spelled, r.specs[at].Name)
				}
				r.names[spelled] = i
			}
		}
	}
	return r, nil
}

// Find returns the tool that name means: its own name, or any spelling that
// [Registry.Canonical] knows.
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

// Spec returns what the tool called name says of itself; the zero Spec where
// there is none of that name.
func (r *Registry) Spec(name string) Spec {
	if at, ok := r.names[name]; ok {
		return r.specs[at]
	}
	return Spec{}
}

// Specs returns what all tools say of themselves, in order. The caller must
// not change it.
func (r *Registry) Specs() []Spec { return r.specs }

// Busy reports whether something beside the calls can have changed files since it was
// asked before.
func (r *Registry) Busy() bool {
	busy := false
	for _, s := range r.specs {
		busy = s.Beside != nil && s.Beside.Busy() || busy
	}
	return busy
}

// News returns what the model should know of what runs beside the calls.
func (r *Registry) News() (say []string) {
	for _, s := range r.specs {
		if s.Beside != nil {
			say = append(say, s.Beside.News()...)
		}
	}
	return say
}

// ForModel returns what a model is told of tools.
func ForModel(list []Spec) []llm.ToolSpec {
	out := make([]llm.ToolSpec, 0, len(list))
	for _, s := range list {
		out = append(out, s.ToolSpec)
	}
	return out
}

// Names returns the names of tools that a model is told of.
func Names(list []llm.ToolSpec) []string {
	out := make([]string, 0, len(list))
	for _, s := range list {
		out = append(out, s.Name)
	}
	return out
}

// Intent says what a call would do; see [Tool]. Its arguments were checked
// against the sheet.
type Intent func(ctx context.Context, a Args) (policy.Action, error)

// Run carries a call out; see [Tool]. Its arguments were checked against the
// sheet, and emit is never nil.
type Run func(ctx context.Context, a Args, emit Progress) (Result, error)

// tool is a tool that is made of a sheet and two functions.
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
	a.Call = call.ID
	if emit == nil {
		emit = func(string) {}
	}
	res, err := t.run(ctx, a, emit)
	return res, Complain(err)
}

// Kit is the workspace as tools use it: Config, and the ways in which models
// write paths. It is never changed.
type Kit struct {
	Config
}

// NewKit fills in what cfg leaves open.
func NewKit(cfg Config) *Kit {
	if cfg.CommandTimeout <= 0 {
		cfg.CommandTimeout = 2 * time.Minute
	}
	if cfg.MaxTimeout <= 0 {
		cfg.MaxTimeout = workspace.DefaultLimits.Command
	}
	return &Kit{Config: cfg}
}
