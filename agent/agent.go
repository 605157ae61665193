// Package agent runs one session: it builds the prompt, streams the model's answer,
// passes every call through the gate, runs tools and saves their changes. Each step is
// recorded in the session's log before it is shown or executed.
//
// The package does not depend on GitHub or git: the log, the workspace's tools, the
// checkpointer and the approver are injected.
//
//	loop.go          one step after the other; start reading here
//	journal.go       the session's log: records events and folds them
//	history.go       the fold: the state of the session according to its log
//	conversation.go  the part of the state that the model is told
//	messages.go      the conversation as messages to the model
//	request.go       requests to the model, with the system prompt
//	window.go        the size of the model's context
//	shrink.go        making room in the context
//	model.go         asking the model, and handling its failures
//	attend.go        waiting for the model's answer
//	delegate.go      sub-tasks: the same loop on a part of the log
//	gate.go          the only way to a tool
//	asking.go        requests for approval
//	toolrun.go       running permitted calls and saving their changes
//	broken.go        panics, and calls that were cut off
//	leftout.go       workspace content that cannot be kept
//	places.go        the rules of the files that the model works on
//	publish.go       from saved changes to a commit on the branch
//	review.go        a sensitive edit as a commit for review
//	complete.go      checks before a session ends
//	plan.go          plans that need an approval
//	summary.go       the summary at the end
//	region.go        the text around a failed edit
//	remind.go        reminders to the model
//	problems.go      errors that an edit brought
//	budget.go        the limits of a session
//
// Each file holds a small type with its dependencies; newRun connects them. All of them
// read the same journal.
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

// Approver presents requests to the approvers. It returns an answer for each request, or
// none at all: then the session parks and the answers arrive later through the log.
type Approver interface {
	Approve(ctx context.Context, asked []session.Asked) ([]session.Resolved, error)
}

// Checkpointer keeps the changes in the workspace. Save records the current state under a
// private name that is never shown; Publish puts a saved state on the branch; Revert
// restores paths to a published state; Moved reports whether the last published commit
// includes commits that the workspace lacks. Commits are named by their ids.
type Checkpointer interface {
	Save(ctx context.Context, turn int, keep bool) (Saved, error)
	Publish(ctx context.Context, pub Publication) (session.Checkpoint, error)
	Diff(ctx context.Context, from, to string, paths []string) (string, error)
	Revert(ctx context.Context, to string, paths []string) error
	Moved() bool
}

// SecretScanner finds credentials that a change adds. Scan compares two commits; Hide
// removes the credentials from a text before it is displayed.
type SecretScanner interface {
	Scan(ctx context.Context, from, to string, paths []string) ([]Leak, error)
	Hide(text string) string
}

// Leak is the location of an added credential. It does not contain the credential.
type Leak struct {
	Path string
	secret.Finding
}

// Saved is a state of the workspace. Files are the differences from the last published
// state.
type Saved struct {
	Commit  string
	Tree    string
	Changed bool // differs from the previously saved state
	Files   []session.FileChange
	Content []session.Stored // see session.Checkpoint
	// LFS lists files whose contents Git LFS keeps, unless an earlier save listed them, and
	// Unfiltered those that a filter of git would have changed. Alike lists those that the disk
	// of the clone cannot hold beside a name that differs only in case.
	LFS, Unfiltered, Alike []string
	// LeftOut lists workspace content that is not in the state because it cannot be kept.
	LeftOut []session.LeftOut
	Merge   *session.Merge // see session.Checkpoint
	// Neighbors are the changes in other repositories that differ from the previous ones.
	Neighbors []session.Neighbor
}

// Publication asks for a commit on the branch. Equal publications make the same commit,
// so a commit that was pushed but not recorded is not pushed twice.
type Publication struct {
	Turn     int
	Saved    string               // commit of the saved state
	When     time.Time            // time of the save
	Parent   string               // last published commit, or the base
	Subject  string               // first line of the message
	Approval string               // approved request that covers it, or ""
	Merge    *session.Merge       // merge included in the saved state, or nil
	TookBack session.TakeBackKind // the saved state undoes or redoes checkpoints; named in its commit
}

// Forms holds experience with models from earlier sessions. Both methods are safe for
// concurrent use.
type Forms interface {
	// Best returns the form that worked best for a model, or FormAuto if nothing is known.
	Best(model string, caps llm.Capabilities) llm.Form
	// Ended records if a form solved the task (well) or was replaced by a simpler one.
	Ended(model string, caps llm.Capabilities, form llm.Form, well bool)
}

// Live is progress that is not an event: text that is still growing, or the output of a
// command. It may be dropped.
type Live struct {
	Thinking string // whole text so far
	Content  string // whole text so far, without call markup
	Call     string // id of a running call
	Output   string // new output of that call
	Title    string // "Thought for 8s", "Writing foo.ts"; the label of Content
	Speed    int    // estimated tokens per second of the answer; 0 if unknown
	// Silent is the time since the last word of the model's server. Title reports it in
	// growing intervals.
	Silent time.Duration
	// Stall is the reason why the session stands still, such as "its server says nothing; it
	// may be loading the model". Title says more. Empty means that it goes on.
	Stall string
}

// Config configures an agent. Model, Policy, Prompt and Checkpoints are required.
type Config struct {
	Model       llm.Model
	Words       llm.Model // answers questions outside of the conversation, such as that for a title; nil means Model
	Policy      *policy.Policy
	Tools       []tools.Tool
	Prompt      prompt.Builder
	Checkpoints Checkpointer
	Approvals

	// Redactor removes secrets from everything recorded, and so from the view of the model,
	// the log and GitHub. The default finds tokens of well-known shapes.
	Redactor *secret.Redactor
	// Secrets looks for credentials before a commit goes to the branch; nil disables the
	// scan. A finding holds the commit until it is approved.
	Secrets SecretScanner

	// Inbox is called before each request to the model. It moves new messages of users into
	// the log. Nil disables it.
	Inbox func(ctx context.Context) error
	// Provide looks up the references in a user's words, such as files and links into code,
	// before the model reads them. In the files form it returns everything that the model
	// will see. Nil disables it.
	Provide func(ctx context.Context, words string, form llm.Form) []session.Item
	// PlaceRules returns the repository's rules for some files, from its base branch, except
	// for known ones. They are instructions. Nil disables it.
	PlaceRules func(ctx context.Context, files, known []string) ([]session.Item, error)
	// RunTests runs Tests, the project's test commands, on a saved state in a separate
	// workspace. If it is nil, the work is not tested before it counts as done.
	RunTests func(ctx context.Context, commit string, lines []string) (session.Verified, error)
	// Problems finds errors in the files that a call changed, and at the end in those of the whole
	// change. Nil disables it.
	Problems Problems
	Tests    []string
	// OnEvent is called after an event was stored, OnLive for progress in between. Both are
	// called from one goroutine and must not block.
	OnEvent func(session.Event)
	OnLive  func(Live)
	// OnCall is called with a function that ends the call that begins, and with nil behind it;
	// the session goes on. The function may be called from any goroutine, also late and twice.
	OnCall func(end func())

	// Form is the operator's choice of the answer form. The zero value lets the agent choose,
	// by Forms and by the capabilities that the model's server reports.
	Form llm.Form
	// Forms remembers which form worked for a model; nil disables it.
	Forms Forms

	Context   int // tokens; 0: 32768, grows on demand up to 131072 or the model's limit
	MaxTokens int // limit of one answer; 0 derives it from the task
	// AnswerTime limits one answer, from its first word on. 0 means three minutes, negative
	// means no limit.
	AnswerTime time.Duration
	Server     string // address of the model's server for display, or ""
	Limits     Limits
	Shares     Shares
	Retry      llm.Retry
	Now        func() time.Time
	Log        *slog.Logger
}

// Approvals configures approval requests and the conditions of their answers.
type Approvals struct {
	Approver Approver // nil: always park
	Plans    bool     // plan mode ends with a plan that can be approved and carried out
	// Proposer enables review of sensitive edits: they are made in the workspace and held
	// back from the branch as a separate commit. If it is nil, each sensitive edit needs an
	// approval before it is made.
	Proposer Proposer
	// ApprovalFacts returns the current facts that an approval is bound to besides the call:
	// engine, image, network, base, head. It is called when a request is made, and again
	// before the approved action runs. Nil means no additional facts.
	ApprovalFacts func(ctx context.Context) ([]session.Fact, error)
	// Confirm checks an approval again right before it is used. It returns the reason that
	// the approval no longer counts, or "". An error stops the run. Nil disables the check.
	Confirm func(ctx context.Context, asked session.Asked, answer session.Resolved) (why string, err error)
}

// Limits bound a session. A zero value means no limit; for Turns, the limit of the mode.
type Limits struct {
	Turns        int
	Tokens       int
	Wall         time.Duration // duration of one run
	Edits        int
	ChangedLines int
	Deadline     time.Duration // for an approver's answer
}

// Shares returns the budgets shared with other sessions, with the total use of each. used
// is the consumption of this session, with the time of the current run. It is called
// before each request to the model; nil means no shared budgets.
type Shares func(ctx context.Context, used policy.Limits) ([]policy.Share, error)

// Agent runs sessions. It is safe for concurrent use by several sessions.
type Agent struct {
	cfg   Config
	tools *tools.Registry
	calls *toolcall.Parser

	subTasks *Agent // agent for sub-tasks
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
		a.subTasks, err = with(subTaskConfig(cfg))
	}
	return a, err
}

// logMu returns an agent for a configuration that has its defaults filled in.
func with(cfg Config) (*Agent, error) {
	registry, err := tools.NewRegistry(cfg.Tools...)
	if err != nil {
		return nil, fmt.Errorf("new agent: %w", err)
	}
	return &Agent{
		cfg:   cfg,
		tools: registry,
		calls: toolcall.New(tools.ForModel(registry.Specs()), registry.Canonical),
	}, nil
}

// edits reports whether a tool changes existing text.
func (a *Agent) edits(tool string) bool { return a.tools.Spec(tool).Edits }

// may reports whether text that looks like a call may be run in a mode. In a read-only
// mode the answer may be prose, so a command that the policy does not allow stays text.
func (a *Agent) may(m policy.Mode, tool, command string) bool {
	kind := a.tools.Spec(tool).Kind
	if kind == policy.Write {
		return m.Allows(kind) && m.EditLimit != 0
	}
	if command == "" || m.Allows(policy.Write) {
		return m.Allows(kind)
	}
	return a.cfg.Policy.Check(
		m,
		policy.Action{Kind: kind, Tool: tool, Command: command, Cwd: ".", Display: command},
	).Verdict == policy.Allow
}

// writes returns the file that a call writes, or "".
func (a *Agent) writes(tool string, arguments json.RawMessage) string {
	if a.tools.Spec(tool).Kind != policy.Write {
		return ""
	}
	return pathArgument(arguments)
}

// broken ends a session after its run panicked. If that fails too, it returns an error.
func (a *Agent) broken(ctx context.Context, j *journal, cause *panicked) (out session.Outcome, err error) {
	err = j.guard(ctx, "the end of the session", func() error {
		if err := j.catchUp(ctx); err != nil {
			return err
		}
		if j.Outcome != nil {
			out = *j.Outcome
			return nil
		}
		ended, err := newRun(a, j).end(ctx, *failed("The session stopped: " + cause.Error() + ". The server's log has the details. The branch is kept."))
		if err == nil {
			out = *ended // a failure is never void
		}
		return err
	})
	if err != nil {
		return session.Outcome{}, errors.Join(cause, err)
	}
	return out, nil
}

// Run works on a session until it is done, parks or fails. It returns the outcome and
// records it in log. It continues at the end of log: a session that was killed or parked
// resumes with the first call that has no result. An error means that the session could
// not be worked on at all (the log cannot be written, the workspace is gone) and nothing
// was decided; the caller may run it again. When ctx is cancelled, Run returns promptly
// with session.StatusInterrupted and no event. If the branch moved under the workspace,
// it returns session.StatusMoved and no event: the caller runs the session again in a
// workspace on the new state.
func (a *Agent) Run(ctx context.Context, task session.Task, log session.Log) (session.Outcome, error) {
	j := newJournal(a, log)
	if err := j.open(ctx, task); err != nil {
		return session.Outcome{}, fmt.Errorf("open session %s: %w", task.Session, err)
	}
	if out := j.Outcome; out != nil {
		return *out, nil // nothing new since the end
	}
	var out session.Outcome
	err := j.guard(ctx, "the session", func() (err error) {
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
