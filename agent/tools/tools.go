// Package tools holds what a model can do, one file per tool, with its
// description (.md) and its test beside it.
//
// A tool declares before it acts: Intent says what a call would do, as facts
// for the policy and as the exact command or diff for a person, and changes
// nothing. Run does what Intent said of the same call over the same files.
// Intent is deterministic, so whoever stands between the two can ask again
// right before Run and compare.
//
//	tools.go      the words: Tool, Result, Config, the registry
//	canonical.go  names as models spell them
//	sheet.go      a tool's arguments: schema, aliases, errors that teach
//	args.go       argument values as weak models write them
//	path.go       paths: relative, absolute, with the folder's name, symlinks
//	edit.go       what all writing tools share: plan, show, write, count
//	complain.go   workspace errors as words for the model
package tools

import (
	"context"
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
	Spec() llm.ToolSpec
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
	State    *session.State // todo list or mode to record
	Images   []session.Blob
	Complete bool           // the model says that the task is done
	Ask      *session.Asked // a question that parks the session
	Condense bool           // the conversation is to be summarized before the next answer
	Mistake  bool           // part of the call was wrong, although something was done
}

// Config is what the tools work on. Tools whose means are missing (Files,
// Search, Shell, Instructions) are left out.
type Config struct {
	Files   workspace.Files
	Search  workspace.Searcher
	Shell   workspace.Shell
	Changes workspace.Changer // tells symlinks from files, so that an edit through one is shown where it lands
	Start   workspace.Starter // runs pdftotext; nil: PDF files are reported as binary

	Root string // absolute path of the workspace as commands inside see it; "/workspace" is understood as well
	Name string // how people call the tree; "Name/a.go" finds "a.go" when there is no Name

	CommandTimeout time.Duration     // of a command that asks for none, 0 for 2 minutes
	MaxTimeout     time.Duration     // longest a command may ask for, 0 for 10 minutes
	LongCommands   []string          // beginnings of command lines that get MaxTimeout unasked; nil for the built-in list
	Instructions   map[string]string // what fetch_instructions hands out, by task name
}

// Builtin returns the tools that cfg has the means for, in the order in which
// they are offered.
func Builtin(cfg Config) []Tool {
	k := newKit(cfg)
	makers := []func(*kit) *tool{
		readFile, writeFile, applyDiff, editFile, insertContent, searchAndReplace, deleteFile,
		listFiles, searchWorkspace, runTerminalCommand,
		updateTodoList, attemptCompletion, askFollowupQuestion, switchMode, condense, fetchInstructions,
	}
	var out []Tool
	for _, maker := range makers {
		if t := maker(k); t != nil {
			out = append(out, t.ready())
		}
	}
	return out
}

// Find returns the tool that name means: its own name, or any spelling that
// [Canonical] knows.
func Find(tools []Tool, name string) (Tool, bool) {
	if t := lookUp(tools, name); t != nil {
		return t, true
	}
	if c := Canonical(name); c != name {
		if t := lookUp(tools, c); t != nil {
			return t, true
		}
	}
	return nil, false
}

func lookUp(tools []Tool, name string) Tool {
	for _, t := range tools {
		if b, ok := t.(*tool); ok {
			if b.name == name {
				return t
			}
		} else if t.Spec().Name == name {
			return t
		}
	}
	return nil
}

// tool is a built-in tool. intent and run get arguments that were checked
// against the sheet.
type tool struct {
	sheet
	intent func(ctx context.Context, a args) (policy.Action, error)
	run    func(ctx context.Context, a args, emit Progress) (Result, error)
}

// Spec implements [Tool].
func (t *tool) Spec() llm.ToolSpec { return t.spec }

// Intent implements [Tool].
func (t *tool) Intent(ctx context.Context, call session.Call) (policy.Action, error) {
	a, err := t.parse(call.Arguments)
	if err != nil {
		return policy.Action{}, err
	}
	action, err := t.intent(ctx, a)
	if err != nil {
		return policy.Action{}, complain(err)
	}
	action.Tool = t.name
	return action, nil
}

// Run implements [Tool].
func (t *tool) Run(ctx context.Context, call session.Call, emit Progress) (Result, error) {
	a, err := t.parse(call.Arguments)
	if err != nil {
		return Result{}, err
	}
	if emit == nil {
		emit = func(string) {}
	}
	res, err := t.run(ctx, a, emit)
	return res, complain(err)
}

// kit is what the tools share. It is never changed.
type kit struct {
	Config
}

func newKit(cfg Config) *kit {
	if cfg.CommandTimeout <= 0 {
		cfg.CommandTimeout = 2 * time.Minute
	}
	if cfg.MaxTimeout <= 0 {
		cfg.MaxTimeout = workspace.DefaultLimits.Command
	}
	return &kit{Config: cfg}
}
