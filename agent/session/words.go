package session

import (
	"slices"
	"strings"

	"github.com/handrail-bot/handrail/policy/untrusted"
)

// Phase is the word for where a session stands. People read it, and the row of
// a session keeps it. The list of words is closed.
type Phase string

// The words, in the order of a session's life.
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

// Phases returns all words.
func Phases() []Phase {
	return []Phase{
		PhaseQueued, PhaseRunning, PhaseAwaitingApproval, PhaseAwaitingAnswer, PhaseWaitingModel, PhaseWaitingGitHub,
		PhaseWaitingChecks, PhaseOutOfBudget, PhaseDone, PhaseAnswered, PhasePlanned, PhaseReviewed,
		PhaseNoChanges, PhaseStopped, PhaseFailed, PhaseCrashed,
	}
}

// Waits reports whether a session in this phase waits for a person.
func (p Phase) Waits() bool {
	return p == PhaseAwaitingApproval || p == PhaseAwaitingAnswer || p == PhaseOutOfBudget || p == PhasePlanned
}

// Over reports whether a session in this phase has ended: nobody works on it, nothing goes
// on by itself, and nobody is waited for. Of a word that is not known it is false.
func (p Phase) Over() bool {
	return slices.Contains([]Phase{PhaseDone, PhaseAnswered, PhaseReviewed, PhaseNoChanges, PhaseStopped, PhaseFailed, PhaseCrashed}, p)
}

// Away is why a session cannot be worked on now, which has nothing to do with
// its work: it goes on by itself when what it waits for is back.
type Away struct {
	For Phase
	Err error
}

// Error implements error.
func (a *Away) Error() string { return string(a.For) + ": " + a.Err.Error() }

// Unwrap returns what happened.
func (a *Away) Unwrap() error { return a.Err }

// Status is how a run ended. A status for which [Status.Parked] holds can go
// on when a person answers; the others are final until someone writes again
// in the thread.
type Status string

// How a run can end.
const (
	StatusDone             Status = "done"
	StatusAnswered         Status = "answered" // in words: no file was to change
	StatusNoChanges        Status = "no_changes"
	StatusPlanned          Status = "planned" // people can have the plan carried out
	StatusAwaitingApproval Status = "awaiting_approval"
	StatusAwaitingAnswer   Status = "awaiting_answer"
	StatusOutOfBudget      Status = "out_of_budget"
	StatusStopped          Status = "stopped"
	StatusFailed           Status = "failed"
	StatusCrashed          Status = "crashed"     // something in Handrail broke, or the server died at it again and again
	StatusInterrupted      Status = "interrupted" // the server is going down; resumes by itself
	StatusMoved            Status = "moved"       // the branch moved under the workspace; resumes in a new one
)

// Parked reports whether the session waits for a person or for the server.
func (s Status) Parked() bool {
	switch s {
	case StatusAwaitingApproval, StatusAwaitingAnswer, StatusOutOfBudget, StatusInterrupted, StatusMoved:
		return true
	}
	return false
}

// Failed reports whether a run ended by a fault.
func (s Status) Failed() bool { return s == StatusFailed || s == StatusCrashed }

// phase returns the word for a session whose last run ended like this. A
// status that this version does not know ended the run and says no more.
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

// AskKind is what a person is asked for.
type AskKind string

// What a person can be asked for.
const (
	AskApproval AskKind = "approval"
	AskQuestion AskKind = "question"
	AskCommit   AskKind = "commit" // leave to work on one commit of a fork, which is Head
	AskPlan     AskKind = "plan"   // whether a plan is to be carried out; it is about no call
)

// ByID reports whether what is asked for is answered by its id.
func (k AskKind) ByID() bool { return k != AskQuestion && k != AskCommit }

// NoteKind is why the engine told the model something.
type NoteKind string

// Why the engine tells the model something.
const (
	NoteReminder   NoteKind = "reminder"
	NoteContext    NoteKind = "context"    // what was looked up for a request
	NoteTodo       NoteKind = "todo"       // sent back once: the list has open items
	NoteRefused    NoteKind = "refused"    // sent back: it said done too early
	NoteTests      NoteKind = "tests"      // sent back once: the last run of tests failed
	NoteFallback   NoteKind = "fallback"   // the server takes no native calls
	NoteReverted   NoteKind = "reverted"   // a change was taken back
	NoteHeld       NoteKind = "held"       // files that the bot may not push
	NoteTookBack   NoteKind = "took back"  // a person took checkpoints back, brought them again, or had the base branch taken in
	NoteConflicts  NoteKind = "conflicts"  // the base branch was taken in, and the model has to settle conflicts
	NoteCompaction NoteKind = "compaction" // earlier steps were summarized
	NoteSetUp      NoteKind = "set up"     // whether the repository was set up, and what became of that; the first line is for people
	NotePaths      NoteKind = "paths"      // which part of the repository the workspace has; the first line is for people
	NoteSaid       NoteKind = "said"       // words of a person that are no instruction, while an answer was waited for
	NoteShortened  NoteKind = "shortened"  // long pieces were cut in their middle, because nothing else made room
)

// PromptWhy is why requests to the model begin anew.
type PromptWhy string

// Why requests begin anew. Besides, a note of a compaction or of a shortening ends what
// stays the same of the conversation.
const (
	PromptBegin      PromptWhy = "begin"      // the session began
	PromptCompaction PromptWhy = "compaction" // the conversation begins anew, and the prompt with it
	PromptModel      PromptWhy = "model"      // another model works on the session
	PromptMode       PromptWhy = "mode"       // a mode with other tools
	PromptText       PromptWhy = "text"       // calls travel as text from here on
	PromptTools      PromptWhy = "tools"      // other tools, such as those of another version of the program
)

// TakeBackKind is what is to be done with checkpoints.
type TakeBackKind string

// What can be done with checkpoints.
const (
	Undo   TakeBackKind = "undo"
	Redo   TakeBackKind = "redo"
	Keep   TakeBackKind = "keep"
	Rebase TakeBackKind = "rebase" // the base branch is taken in; nothing is taken back
)

// ChangeKind is what happened to a file.
type ChangeKind string

// What can happen to a file.
const (
	ChangeCreate ChangeKind = "create"
	ChangeModify ChangeKind = "modify"
	ChangeDelete ChangeKind = "delete"
	ChangeRename ChangeKind = "rename"
)

// SentHow is how a push went.
type SentHow string

// How a push can go.
const (
	SentRebased  SentHow = "rebased"  // onto what others had pushed
	SentRestored SentHow = "restored" // to a branch that was gone
	SentFallback SentHow = "fallback" // to another branch
	SentPatch    SentHow = "patch"    // nothing could be pushed; the checkpoint is parked
)

// TodoStatus is how far an item of the agent's list is.
type TodoStatus string

// How far an item can be.
const (
	TodoPending TodoStatus = "pending"
	TodoDoing   TodoStatus = "doing"
	TodoDone    TodoStatus = "done"
)

// ItemKind is where a piece of context comes from.
type ItemKind string

// Where a piece of context can come from.
const (
	ItemSelection ItemKind = "selection" // lines that a person pointed at
	ItemFile      ItemKind = "file"      // a file that the request names
	ItemExplicit  ItemKind = "explicit"  // a file that the caller gave
	ItemPost      ItemKind = "post"      // what the thread begins with; files that it names are looked up too
	ItemThread    ItemKind = "thread"    // what else was said or done there; without a text, a note of ours
)

// Label names an item for people and models.
func (it Item) Label() string {
	name := untrusted.EscapeLine(it.Name)
	switch it.Kind {
	case ItemSelection:
		return "The person's selected code from " + name
	case ItemPost, ItemThread:
		return name
	}
	return "Contents of " + name
}

// CommandMark stands before the words that are asked, where the text of a request
// begins with what the same person wrote above them.
const CommandMark = "[/agent] "

// Command returns the words of a request without what stands above them.
func Command(text string) string {
	if strings.HasPrefix(text, CommandMark) {
		return text[len(CommandMark):]
	}
	if _, words, ok := strings.Cut(text, "\n"+CommandMark); ok {
		return words
	}
	return text
}
