// Package agent works one session: it builds the prompt, streams the model's
// answer, passes every call through the gate, runs tools, saves what changed,
// and records each step in the session's log before anything is shown or
// done.
//
// It never heard of GitHub or git: the log, the workspace's tools, the
// checkpointer and the approver are given to it.
//
//	loop.go          one step after the other; start reading here
//	journal.go       the session's log: what is recorded, and how it is folded
//	history.go       the fold: what a log says about where the session stands
//	conversation.go  the part of it that the model is told
//	messages.go      how the model is told it
//	request.go       what a model is sent: the prompt is put together here
//	window.go        how much a model can hold
//	shrink.go        making room in it
//	model.go         asking the model, and what to do when it fails
//	attend.go        waiting for what it says
//	delegate.go      sub-tasks: the same loop on a part of the log
//	gate.go          the only way to a tool
//	asking.go        putting a call before a person
//	toolrun.go       running what the gate let through, saving what changed
//	broken.go        panics, and calls that were cut off
//	leftout.go       what of the workspace cannot be kept
//	publish.go       from saved changes to a commit on the branch
//	review.go        a sensitive edit as a commit that people review
//	complete.go      is it done, and is it true
//	plan.go          plans that people approve
//	summary.go       the last word
//	region.go        the text that an edit should have fitted
//	remind.go        what a model should not forget now
//	budget.go        what a session may use
//
// Each of these is a small type that holds what it works with; newRun puts
// them together. All read the same journal.
package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/handrail-bot/handrail/agent/llm"
	"github.com/handrail-bot/handrail/agent/llm/toolcall"
	"github.com/handrail-bot/handrail/agent/prompt"
	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/agent/tools"
	"github.com/handrail-bot/handrail/policy"
	"github.com/handrail-bot/handrail/policy/secret"
)

// Approver puts requests before a person. It returns an answer for each
// request, or none at all: then the session parks and the answers come later
// through the log.
type Approver interface {
	Approve(ctx context.Context, asked []session.Asked) ([]session.Resolved, error)
}

// Checkpointer keeps what the workspace changed. Save records the present
// state under a private name and never shows it to anyone; Publish puts a
// saved state on the branch; Revert takes paths back to a published state;
// Moved reports whether what was published last is on top of commits that the
// workspace lacks. Commits are named by their ids.
type Checkpointer interface {
	Save(ctx context.Context, turn int, keep bool) (Saved, error)
	Publish(ctx context.Context, pub Publication) (session.Checkpoint, error)
	Diff(ctx context.Context, from, to string, paths []string) (string, error)
	Revert(ctx context.Context, to string, paths []string) error
	Moved() bool
}

// SecretScanner finds credentials that a change adds. Scan compares two
// commits; Hide takes the credentials out of a text that people are shown.
type SecretScanner interface {
	Scan(ctx context.Context, from, to string, paths []string) ([]Leak, error)
	Hide(text string) string
}

// Leak is a place where a change adds a credential. It does not hold it.
type Leak struct {
	Path string
	secret.Finding
}

// Saved is a state of the workspace. Files are what differs from the last
// published state.
type Saved struct {
	Commit  string
	Tree    string
	Changed bool // differs from the state saved before
	Files   []session.FileChange
	Content []session.Stored // see session.Checkpoint
	// Foreign are directories of other repositories (submodules) in which
	// something changed since the state saved before. It is not kept.
	Foreign []string
	// LeftOut is what the workspace has and the state has not, because it cannot
	// be kept.
	LeftOut []session.LeftOut
	Merge   *session.Merge // see session.Checkpoint
}

// Publication asks for a commit on the branch. The same one makes the same
// commit, so that what was pushed and not recorded is not pushed again.
type Publication struct {
	Turn     int
	Saved    string               // commit of the saved state
	When     time.Time            // it was saved
	Parent   string               // commit published before, or the base
	Subject  string               // first line of the message
	Approval string               // request that people approved for it; "" for none
	Merge    *session.Merge       // that the saved state takes in; nil for none
	TookBack session.TakeBackKind // the saved state takes checkpoints back, or brings them again, as its commit says
}

// Forms is what is known of models from earlier sessions. Both methods are safe for
// concurrent use.
type Forms interface {
	// Best returns the form in which a model did well, FormAuto if nothing is known.
	Best(model string, caps llm.Capabilities) llm.Form
	// Ended takes in how a session went in a form: solved, or given up for a simpler one.
	Ended(model string, caps llm.Capabilities, form llm.Form, well bool)
}

// Live is something worth showing that is not an event: text that is still
// growing, output of a command. It may be dropped.
type Live struct {
	Thinking string // whole text so far
	Content  string // whole text so far, without call markup
	Call     string // id of a running call
	Output   string // new output of that call
	Title    string // "Thought for 8s", "Writing foo.ts"; beside Content it says what that is
	Speed    int    // tokens a second of the answer, estimated; 0 while that is not known
	// Silent is how long the model's server has said nothing: Title tells of it, in
	// intervals that grow.
	Silent time.Duration
}

// Config is what an agent is made of. Model, Policy, Prompt and Checkpoints
// are required.
type Config struct {
	Model       llm.Model
	Policy      *policy.Policy
	Tools       []tools.Tool
	Prompt      prompt.Builder
	Checkpoints Checkpointer
	Approvals

	// Redactor takes secrets out of what is recorded, and with that out of what
	// the model, the log and GitHub see. Nil finds tokens of well-known shapes.
	Redactor *secret.Redactor
	// Secrets looks for credentials in what is about to go to the branch; nil
	// for no look. What it finds holds the commit until a person says yes.
	Secrets SecretScanner

	// Inbox is called before each request to the model; it moves what people
	// wrote meanwhile into the log. Nil for none.
	Inbox func(ctx context.Context) error
	// Provide looks up what a person's words name, such as files and links
	// into code, before the model reads them; in the files form all that the model is to
	// see. Nil for nothing.
	Provide func(ctx context.Context, words string, form llm.Form) []session.Item
	// RunTests runs Tests, the commands that test the project, on a saved state, in a
	// workspace of its own. Nil: the work is not tested before it counts as done.
	RunTests func(ctx context.Context, commit string, lines []string) (session.Verified, error)
	Tests    []string
	// OnEvent is called after an event was stored, OnLive while things move.
	// Both are called from one goroutine and must not block.
	OnEvent func(session.Event)
	OnLive  func(Live)

	// Form is the form of answering that the operator chose; the zero value lets the
	// agent choose, by Forms and by what the model's server says of it.
	Form llm.Form
	// Forms remembers which form a model did well in; nil disables that.
	Forms Forms

	Context   int // tokens of context to ask for; 0: 32768, growing with need up to 131072 and the model's limit
	MaxTokens int // of one answer, 0 for as many as the task can need
	// AnswerTime is how long one answer may take from its first word on: 0 for three
	// minutes, negative for no limit.
	AnswerTime time.Duration
	Server     string // address of the model's server for people to read, "" for none
	Limits     Limits
	Shares     Shares
	Retry      llm.Retry
	Now        func() time.Time
	Log        *slog.Logger
}

// Approvals says how people are asked, and what their answers hang on.
type Approvals struct {
	Approver Approver // nil: always park
	Plans    bool     // what plan mode comes to is a plan that people can have carried out
	// Proposer, where there is one, has sensitive edits reviewed: they may be
	// made in the workspace, and wait at the door to the branch as a commit of
	// their own. Nil: each is asked for before it is made.
	Proposer Proposer
	// ApprovalFacts returns what an approval is bound to besides the call, as it is at
	// this moment: engine, image, network, base, head. It is asked when a
	// request is made and again when what was approved is about to run. Nil for
	// nothing more.
	ApprovalFacts func(ctx context.Context) ([]session.Fact, error)
	// Confirm looks at an approval again right before it is used, and says why
	// it does not count any more, or "". An error stops the run. Nil for no
	// second look.
	Confirm func(ctx context.Context, asked session.Asked, answer session.Resolved) (why string, err error)
}

// Limits bound a session. Zero values mean no limit, except Turns, where it
// means the mode's.
type Limits struct {
	Turns        int
	Tokens       int
	Wall         time.Duration // of one run
	Edits        int
	ChangedLines int
	Deadline     time.Duration // for a person's answer
}

// Shares returns the budgets that other sessions use too, with what all of them have
// used of each, this one included. It is told what this one has used: in all, and the
// time of this run. It is asked before each request to the model; nil for none.
type Shares func(ctx context.Context, used policy.Limits) ([]policy.Share, error)

// Agent runs sessions. It is safe for concurrent use by several sessions.
type Agent struct {
	cfg   Config
	tools *tools.Registry
	calls *toolcall.Parser

	inside *Agent // works on sub-tasks
}

// New checks cfg and returns an agent.
func New(cfg Config) (*Agent, error) {
	switch {
	case cfg.Model == nil:
		return nil, errors.New("new agent: no model")
	case cfg.Policy == nil:
		return nil, errors.New("new agent: no policy")
	case cfg.Checkpoints == nil:
		return nil, errors.New("new agent: no checkpointer")
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.Redactor == nil {
		cfg.Redactor = secret.NewRedactor()
	}
	cfg.Retry = cfg.Retry.WithDefaults()
	cfg.AnswerTime = cmp.Or(cfg.AnswerTime, answerTime)
	if cfg.Limits.Wall > 0 {
		cfg.Retry.Patience = min(cfg.Retry.Patience, cfg.Limits.Wall)
	}
	a, err := with(cfg)
	if err == nil {
		a.inside, err = with(insideOf(cfg))
	}
	return a, err
}

// with returns an agent of a whole configuration.
func with(cfg Config) (*Agent, error) {
	registry, err := tools.NewRegistry(cfg.Tools...)
	if err != nil {
		return nil, fmt.Errorf("new agent: %w", err)
	}
	return &Agent{cfg: cfg, tools: registry, calls: toolcall.New(tools.ForModel(registry.Specs()), registry.Canonical)}, nil
}

// edits reports whether a tool changes text that is there.
func (a *Agent) edits(tool string) bool { return a.tools.Spec(tool).Edits }

// may reports whether text that means a call of the tool can be meant to be run in a
// mode. Where words end the work, a command that the mode does not run is shown to people.
func (a *Agent) may(m policy.Mode, tool, command string) bool {
	kind := a.tools.Spec(tool).Kind
	if kind == policy.Write {
		return m.Allows(kind) && m.EditLimit != 0
	}
	if command == "" || m.Allows(policy.Write) {
		return m.Allows(kind)
	}
	return a.cfg.Policy.Check(m, policy.Action{Kind: kind, Tool: tool, Command: command, Cwd: ".", Display: command}).Verdict == policy.Allow
}

// writes returns the file that a call writes, "" when it writes none.
func (a *Agent) writes(tool string, arguments json.RawMessage) string {
	if a.tools.Spec(tool).Kind != policy.Write {
		return ""
	}
	return pathArgument(arguments)
}

// broken ends a session whose run panicked. Where that panics as well, or the
// log cannot be written, the caller has the error.
func (a *Agent) broken(ctx context.Context, j *journal, cause *panicked) (out session.Outcome, err error) {
	err = j.guarded(ctx, "the end of the session", func() error {
		if err := j.catchUp(ctx); err != nil {
			return err
		}
		if j.Outcome != nil {
			out = *j.Outcome
			return nil
		}
		out, err = newRun(a, j).end(ctx, *failed("The session stopped: " + cause.Error() + ". The server's log has the details. What is on the branch is kept."))
		return err
	})
	if err != nil {
		return session.Outcome{}, errors.Join(cause, err)
	}
	return out, nil
}

// Run works on a session until it is done, parks or fails, and returns how
// it ended; the same is recorded in log. It continues where log ends: a
// session that was killed or parked goes on with the first call that has no
// result. An error means that the session could not be worked on at all (the
// log cannot be written, the workspace is gone) and nothing was decided; the
// caller may run it again. When ctx is cancelled, Run returns promptly with
// session.StatusInterrupted and no event. When the branch moved under the
// workspace, it returns session.StatusMoved and no event: the caller runs the
// session again in a workspace on the new state.
func (a *Agent) Run(ctx context.Context, task session.Task, log session.Log) (session.Outcome, error) {
	j := newJournal(a, log)
	if err := j.open(ctx, task); err != nil {
		return session.Outcome{}, fmt.Errorf("open session %s: %w", task.Session, err)
	}
	if out := j.Outcome; out != nil {
		return *out, nil // nothing new since it ended
	}
	var out session.Outcome
	err := j.guarded(ctx, "the session", func() (err error) {
		out, err = newRun(a, j).loop(ctx)
		return err
	})
	var broke *panicked
	if errors.As(err, &broke) {
		return a.broken(ctx, j, broke)
	}
	if err != nil && ctx.Err() != nil && !errors.Is(err, session.ErrFenced) {
		return session.Outcome{Status: session.StatusInterrupted, Turns: j.Turns}, nil
	}
	return out, err
}
