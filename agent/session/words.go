package session

import (
	"slices"
	"strings"

	"github.com/handrail-bot/handrail/policy/untrusted"
)

// Phase is the state of a session, for display and for its database row. The set is
// closed.
type Phase string

// The phases, in the order of a session's life.
const (
	PhaseQueued           Phase = "queued"
	PhaseRunning          Phase = "running"
	PhaseAwaitingApproval Phase = "awaiting approval"
	PhaseAwaitingAnswer   Phase = "awaiting answer"
	PhaseWaitingModel     Phase = "waiting for the model"
	PhaseWaitingGitHub    Phase = "waiting for GitHub"
	PhaseWaitingChecks    Phase = "waiting for checks"
	PhaseOutOfBudget      Phase = "out of budget"
	PhaseDone             Phase = "done"
	PhaseAnswered         Phase = "answered"
	PhasePlanned          Phase = "planned"
	PhaseReviewed         Phase = "reviewed"
	PhaseNoChanges        Phase = "no changes"
	PhaseStopped          Phase = "stopped"
	PhaseFailed           Phase = "failed"
	PhaseCrashed          Phase = "crashed"
)

// Phases returns all phases.
func Phases() []Phase {
	return []Phase{
		PhaseQueued, PhaseRunning, PhaseAwaitingApproval, PhaseAwaitingAnswer, PhaseWaitingModel, PhaseWaitingGitHub,
		PhaseWaitingChecks, PhaseOutOfBudget, PhaseDone, PhaseAnswered, PhasePlanned, PhaseReviewed,
		PhaseNoChanges, PhaseStopped, PhaseFailed, PhaseCrashed,
	}
}

// Waits reports whether a session in this phase waits for the user.
func (p Phase) Waits() bool {
	return p == PhaseAwaitingApproval || p == PhaseAwaitingAnswer || p == PhaseOutOfBudget || p == PhasePlanned
}

// Over reports whether a session in this phase has ended: it is not worked on, does
// not resume by itself, and does not wait for the user. It is false for an unknown
// phase.
func (p Phase) Over() bool {
	return slices.Contains(
		[]Phase{PhaseDone, PhaseAnswered, PhaseReviewed, PhaseNoChanges, PhaseStopped, PhaseFailed, PhaseCrashed},
		p,
	)
}

// Away is the external reason why a session cannot continue now. It resumes by itself
// when the missing service is back.
type Away struct {
	For Phase
	Why string // the cause in words for users; may be empty
	Err error
}

// Error implements error.
func (a *Away) Error() string { return string(a.For) + ": " + a.Err.Error() }

// Unwrap returns the cause.
func (a *Away) Unwrap() error { return a.Err }

// Status is the result of a run. With a parked status (see [Status.Parked]), the
// session continues by itself or when the user answers. The others are final until a
// new message in the thread.
type Status string

// The possible results of a run.
const (
	StatusDone             Status = "done"
	StatusAnswered         Status = "answered" // in words: no file had to change
	StatusReviewed         Status = "reviewed" // likewise, by a review
	StatusNoChanges        Status = "no_changes"
	StatusPlanned          Status = "planned" // the user can approve the plan
	StatusAwaitingApproval Status = "awaiting_approval"
	StatusAwaitingAnswer   Status = "awaiting_answer"
	StatusOutOfBudget      Status = "out_of_budget"
	StatusStopped          Status = "stopped"
	StatusFailed           Status = "failed"
	StatusCrashed          Status = "crashed"     // Handrail broke, or the server died repeatedly during the work
	StatusInterrupted      Status = "interrupted" // the server is shutting down; resumes by itself
	StatusMoved            Status = "moved"       // the branch moved under the workspace; resumes in a new one
)

// Parked reports whether the session waits for the user or for the server.
func (s Status) Parked() bool {
	switch s {
	case StatusAwaitingApproval, StatusAwaitingAnswer, StatusOutOfBudget, StatusInterrupted, StatusMoved:
		return true
	}
	return false
}

// finished reports whether the work came to its end, with nothing left to retry or to
// resume.
func (s Status) finished() bool {
	switch s {
	case StatusDone, StatusAnswered, StatusReviewed, StatusNoChanges, StatusPlanned:
		return true
	}
	return false
}

// Succeeded reports whether a run did its task.
func (s Status) Succeeded() bool {
	return s == StatusDone || s == StatusAnswered || s == StatusReviewed
}

// Failed reports whether a run ended with a fault.
func (s Status) Failed() bool { return s == StatusFailed || s == StatusCrashed }

// phase returns the phase of a session whose last run ended with s. An unknown status
// counts as stopped.
func (s Status) phase() Phase {
	p := Phase(strings.ReplaceAll(string(s), "_", " "))
	switch {
	case s == StatusInterrupted, s == StatusMoved:
		return PhaseRunning
	case !slices.Contains(Phases(), p):
		return PhaseStopped
	}
	return p
}

// AskKind is the kind of a request to the user.
type AskKind string

// The kinds of requests to the user.
const (
	AskApproval AskKind = "approval"
	AskQuestion AskKind = "question"
	AskCommit   AskKind = "commit" // permission to work on one commit of a fork, given as Head
	AskPlan     AskKind = "plan"   // approval of a plan; belongs to no call
)

// ByID reports whether answers refer to the request by its id.
func (k AskKind) ByID() bool { return k != AskQuestion && k != AskCommit }

// NoteKind is the reason for a note from the engine to the model.
type NoteKind string

// The reasons for notes.
const (
	NoteReminder   NoteKind = "reminder"
	NoteContext    NoteKind = "context"    // context that was looked up for a request
	NoteTodo       NoteKind = "todo"       // sent back once: the list has open items
	NoteRefused    NoteKind = "refused"    // sent back: the model declared the task done too early
	NoteTests      NoteKind = "tests"      // sent back once: the last test run failed
	NoteProblems   NoteKind = "problems"   // sent back once: the change has errors that the base does not have
	NoteFallback   NoteKind = "fallback"   // the server does not support native calls
	NoteReverted   NoteKind = "reverted"   // a change was taken back
	NoteHeld       NoteKind = "held"       // files that the bot must not push
	NoteTookBack   NoteKind = "took back"  // the user undid or redid checkpoints, or merged the base branch
	NoteConflicts  NoteKind = "conflicts"  // the base branch was merged, and the model has to resolve conflicts
	NoteCompaction NoteKind = "compaction" // earlier steps were summarized
	NoteSetUp      NoteKind = "set up"     // result of the repository's set-up; the first line is for display
	NotePaths      NoteKind = "paths"      // the part of the repository in the workspace; the first line is for display
	NoteOthers     NoteKind = "others"     // other repositories in the workspace; the first line is for display
	NoteServers    NoteKind = "servers"    // MCP servers that are not used, a line each
	NoteLFS        NoteKind = "lfs"        // files whose contents git keeps otherwise: in LFS, or filtered
	NoteSaid       NoteKind = "said"       // message without an instruction, during the wait for an answer
	NoteRules      NoteKind = "rules"      // rules of the repository for the files in work; items have only names
	NoteShortened  NoteKind = "shortened"  // long pieces were cut in the middle, since nothing else made room
)

// PromptWhy is the reason for a new prompt.
type PromptWhy string

// The reasons for a new prompt. In addition, a note of a compaction or a shortening
// ends the constant prefix of the conversation.
const (
	PromptBegin      PromptWhy = "begin"      // the session began
	PromptCompaction PromptWhy = "compaction" // the conversation was compacted
	PromptModel      PromptWhy = "model"      // the session changed to another model
	PromptMode       PromptWhy = "mode"       // a mode with other tools
	PromptText       PromptWhy = "text"       // calls travel as text from now on
	PromptTools      PromptWhy = "tools"      // other tools, such as those of another program version
)

// TakeBackKind is an action on checkpoints.
type TakeBackKind string

// The actions on checkpoints.
const (
	Undo   TakeBackKind = "undo"
	Redo   TakeBackKind = "redo"
	Keep   TakeBackKind = "keep"
	Rebase TakeBackKind = "rebase" // merge the base branch; undoes nothing
)

// ChangeKind is the kind of change to a file.
type ChangeKind string

// The kinds of changes to a file.
const (
	ChangeCreate ChangeKind = "create"
	ChangeModify ChangeKind = "modify"
	ChangeDelete ChangeKind = "delete"
	ChangeRename ChangeKind = "rename"
)

// SentHow is the result of a push.
type SentHow string

// The results of a push that did not go as planned.
const (
	SentRebased  SentHow = "rebased"  // onto commits pushed by others
	SentRestored SentHow = "restored" // to a branch that had been deleted
	SentFallback SentHow = "fallback" // to another branch
	SentPatch    SentHow = "patch"    // nothing could be pushed; the checkpoint is parked
)

// ErrorClass is the kind of failure of a call.
type ErrorClass string

// The kinds of failures.
const (
	ClassNotFound   ErrorClass = "not_found"
	ClassPermission ErrorClass = "permission_denied" // by the policy, an approver or the workspace
	ClassIgnored    ErrorClass = "ignore_blocked"
	ClassParameter  ErrorClass = "missing_parameter" // or a wrong one
	ClassCommand    ErrorClass = "command_failed"
	ClassEdit       ErrorClass = "diff_failed" // the edit does not fit the file
	ClassTimeout    ErrorClass = "timeout"
	ClassRepetition ErrorClass = "repetition_limit"
	ClassBinary     ErrorClass = "unsupported_binary"
)

// ErrorClasses returns all kinds.
func ErrorClasses() []ErrorClass {
	return []ErrorClass{
		ClassNotFound, ClassPermission, ClassIgnored, ClassParameter, ClassCommand, ClassEdit, ClassTimeout,
		ClassRepetition, ClassBinary,
	}
}

// TodoStatus is the progress of a to-do item.
type TodoStatus string

// The states of a to-do item.
const (
	TodoPending TodoStatus = "pending"
	TodoDoing   TodoStatus = "doing"
	TodoDone    TodoStatus = "done"
)

// ItemKind is the source of a piece of context.
type ItemKind string

// The sources of context.
const (
	ItemSelection ItemKind = "selection" // lines selected by the user
	ItemFile      ItemKind = "file"      // a file that the request names
	ItemExplicit  ItemKind = "explicit"  // a file given by the caller
	ItemPost      ItemKind = "post"      // the thread's first post; files that it names are looked up too
	ItemRules     ItemKind = "rules"     // rules of the repository for a part of it, from its base branch
	ItemThread    ItemKind = "thread"    // the rest of the thread; without a text, a note of Handrail
)

// Label returns the item's name for display and for the model.
func (it Item) Label() string {
	name := untrusted.EscapeLine(it.Name)
	switch it.Kind {
	case ItemSelection:
		return "The person's selected code from " + name
	case ItemRules:
		return "Rules of this repository, from " + name + " on its base branch"
	case ItemPost, ItemThread:
		return name
	}
	if it.Part {
		return "Functions of " + name
	}
	return "Contents of " + name
}

// CommandMark precedes the actual command in a request that begins with earlier text
// of the same requester.
const CommandMark = "[/agent] "

// Command returns the request without the text that precedes the command.
func Command(text string) string {
	if strings.HasPrefix(text, CommandMark) {
		return text[len(CommandMark):]
	}
	if _, words, ok := strings.Cut(text, "\n"+CommandMark); ok {
		return words
	}
	return text
}
