package render

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot/thread"
	"github.com/handrail-bot/handrail/policy/phrase"
	"github.com/handrail-bot/handrail/policy/untrusted"
)

// Fixed replies to commands.
const (
	NoSession       = "There is no session in this thread yet. Start one with `/agent` and your request."
	NothingToStop   = "There is nothing to stop."
	NothingToSkip   = "No step is running, so there is nothing to skip."
	NoCheckpoint    = "This session has no commits yet, so there is nothing to undo, keep or rebase."
	WaitOver        = "The wait is over, and I have read this."
	NoDraft         = "I have no pull request in this thread yet, so there is no draft to end."
	NothingAsked    = "Nothing is waiting for approval in this thread."
	UnknownAuthor   = "I could not verify the author of this, so I did nothing."
	CheckIsRunning  = "I am working on this branch."
	CheckMovedTitle = "moved on"
	OnlyIssues      = "a triage sorts issues, and this is a pull request. For a review, write `/agent review`."
	RepositoryGone  = "The repository is gone, or the App was uninstalled from it."

	NotSigned = "`commits.sign` is `api`, but this GitHub does not sign the commits that it makes, so the commits here are not signed. Nothing else changes. To silence this notice, set `commits.sign` to `none`, or to `ssh` or `gpg` if the server has a key."

	RepositoryArchived = "The repository was archived, so it is read-only."
)

// GitHubAway says that a request waits for GitHub. why is the fault of its last answer, ""
// if it gave none.
func GitHubAway(why string) string {
	if why == "" {
		why = "GitHub does not serve the code or the pull request at the moment"
	} else {
		why = "At the moment " + clean(why)
	}
	return "Noted. " + why + "; I ask again, and start by myself as soon as it does."
}

// Skipped says that an account ended the running step.
func Skipped(by string) string {
	return fmt.Sprintf("I skipped the running step, as %s asked, and go on.", code(by))
}

// GivenUp says that a request cannot be carried out.
func GivenUp(err error) string { return sentence("I could not do this: " + clean(err.Error())) }

// sentence adds a full stop unless s already ends a sentence.
func sentence(s string) string {
	s = strings.TrimRight(s, " \n")
	if s == "" || strings.ContainsAny(s[len(s)-1:], ".!?") {
		return s
	}
	return s + "."
}

// Replies joins all replies to one comment, without duplicates.
func Replies(list []string) string {
	var once []string
	for _, text := range list {
		if !slices.Contains(once, text) {
			once = append(once, text)
		}
	}
	return limit(strings.Join(once, "\n\n"), maxBody)
}

// LeftOut says that a comment exceeded the maximum number of commands.
func LeftOut(done, more int) string {
	them := map[bool]string{true: "it", false: "them"}[more == 1]
	return fmt.Sprintf(
		"I carry out the first %s of a comment; this one had %d more, and I skipped %s. Write %s in another comment.",
		phrase.Count(done, "command"),
		more,
		them,
		them,
	)
}

// Postponed says that the user's quota for the hour is used up.
func Postponed(login string, until time.Time) string {
	return fmt.Sprintf(
		"%s, you have reached the limit of requests for this hour. Your comment is not lost: I continue with it at %s. `/agent stop` and answers to requests work before that.",
		clean(login),
		until.UTC().Format("15:04 UTC"),
	)
}

// Transferred is the reason for ending a session after the transfer of its issue.
func Transferred(to thread.Ref) string {
	return fmt.Sprintf("The issue was transferred to %s. The work so far stays on the branch.", to)
}

// TransferredHere reports, in the issue's new place, the work done in the old one.
func TransferredHere(from thread.Ref, v *session.State) string {
	kept := "There are no commits yet."
	if len(v.Checkpoints) > 0 {
		kept = fmt.Sprintf("The work so far is on the branch %s of %s.", code(v.Branch), from.Repository())
	}
	return fmt.Sprintf(
		"I worked on this before the transfer, as %s, and ended that session: its branch and its rules belong to that repository. %s Start here with `/agent` and your request.",
		code(from.String()),
		kept,
	)
}

// NotDone says why a command on a session was not carried out.
func NotDone(why string) string { return "Nothing was done: " + why + "." }

// NotStarted says why a request was not begun.
func NotStarted(why string) string { return "I did not start: " + why }

// AskInstead points a user without the right to start tasks to `/agent ask`, if allowed.
func AskInstead(allowed bool) string {
	if !allowed {
		return ""
	}
	return " For an answer without changes, write `/agent ask …` when no session is running here."
}

// CouldNotStart reports the error that kept a task from starting.
func CouldNotStart(err error) string { return sentence("I could not start: " + clean(err.Error())) }

// AskedAlone says that a further request of a text needs a comment of its own.
func AskedAlone(mode string) string {
	return fmt.Sprintf("Not begun: `/agent %s`. There are newer commits, so it needs a fresh start: please ask for it in a comment of its own.", mode)
}

// AsksOnly replies to a command on a pull request that only asks for approval in the
// session of another thread.
func AsksOnly(thread int) string {
	return fmt.Sprintf(
		"This pull request is about one edit only, of my work in #%d. Answer it with a review; other requests have their place in #%d.",
		thread,
		thread,
	)
}

// NotADraft replies to a request to take a pull request out of draft that is none.
func NotADraft(number int, state string) string {
	if state != "open" {
		return fmt.Sprintf("#%d is not open any more, so I left it alone.", number)
	}
	return fmt.Sprintf("#%d is ready for review already.", number)
}

// ReadyAnyway says that a pull request is ready for review although checks failed or run, or
// the session still works on it. It is empty if none of that is so.
func ReadyAnyway(number int, failed, running []string, over bool) string {
	var but []string
	if len(failed) > 0 {
		but = append(but, fmt.Sprintf("these checks have not passed: %s", checkNames(failed)))
	}
	if len(running) > 0 {
		but = append(but, fmt.Sprintf("these still run: %s", checkNames(running)))
	}
	if !over {
		but = append(but, "I am still at work on it")
	}
	if len(but) == 0 {
		return ""
	}
	return fmt.Sprintf("#%d is ready for review, but %s.", number, strings.Join(but, "; "))
}

// StaysADraft says that GitHub did not take a pull request out of draft.
func StaysADraft(number int, reason string) string {
	return sentence(fmt.Sprintf("#%d is still a draft: %s", number, clean(reason)))
}

// NoneRuns replies to a stop command when the session is already over.
func NoneRuns(p session.Phase) string {
	return fmt.Sprintf("There is nothing to stop: the session is over (%s).", p)
}

// TaskHint explains, after the reply to a command that did nothing, how to write a task
// that begins with the same word.
func TaskHint(command, words string) string {
	if words == "" {
		return ""
	}
	return fmt.Sprintf(
		" If you meant a task, write `/agent task: %s %s`.",
		command,
		line(strings.ReplaceAll(words, "`", ""), 60),
	)
}

// NothingToResume says that the session to resume is already done.
func NothingToResume(p session.Phase) string {
	if p == session.PhasePlanned {
		return "The plan is ready. `/agent approve ID` starts it; `/agent` and your changes make another plan."
	}
	how := "The session is done"
	if p == session.PhaseNoChanges {
		how = "The session ended without changes"
	}
	return how + ", so there is nothing to resume. Write `/agent` and your next request."
}

// Diff summarizes the changes of a session and links to the page with all of them.
func Diff(v *session.State, page string) string {
	var b strings.Builder
	if len(v.Unpushed) > 0 {
		changed := make([]string, 0, len(v.Unpushed))
		for _, f := range v.Unpushed {
			changed = append(changed, f.Path)
		}
		fmt.Fprintf(&b, "Not on the branch yet: %s.\n\n", paths(changed)) //control:diff-of-the-unpushed
	}
	if len(v.Checkpoints) == 0 {
		return b.String() + "This session has no commits yet, so there is no diff to show."
	}
	files(&b, v.Files, "")
	if len(v.Files) == 0 {
		b.WriteString("All changes of this session were undone: there is no diff.\n\n")
	}
	return b.String() + fmt.Sprintf(
		"[The whole diff of the branch](%s), with commits that others pushed in between.",
		page,
	)
}

// MaxDiff is the maximum size of a diff shown in comments, in bytes.
const MaxDiff = 300_000

// DiffParts returns a diff as posts; the first belongs to the comment with [Diff].
func DiffParts(diff string) []untrusted.Post {
	parts, ok := plainParts(diff)
	if !ok || diff == "" {
		return []untrusted.Post{
			{Text: "The diff is not shown here: it is too long for comments, or has characters that they do not keep."},
		}
	}
	out := make([]untrusted.Post, len(parts))
	for i, part := range parts {
		title := "The diff"
		if n := len(parts); n > 1 {
			title = fmt.Sprintf("The diff, part %d of %d", i+1, n)
			out[i].Text = title + ": join the parts in order for `git apply`."
		}
		out[i].Folds = []untrusted.Fold{{Title: fmt.Sprintf("%s (%s)", title, size(len(part))), Text: fenced("diff", part)}} //control:diff-as-it-is
	}
	return out
}

// Kept confirms which changes undo leaves alone from now on.
func Kept(files []string) string {
	if len(files) == 0 {
		return "Kept: `/agent undo` stops at the branch as it is now."
	}
	them := map[bool]string{true: "it", false: "them"}[len(files) == 1]
	return fmt.Sprintf("Kept: %s. `/agent undo` leaves %s alone, unless you name %s.", paths(files), them, them)
}

// Status replies to a status command. The comment is never updated, so it names the time
// that it describes.
func Status(at time.Time, progress untrusted.Post) untrusted.Post {
	progress.Text = "Status at " + at.UTC().Format("2006-01-02 15:04 UTC") +
		"; the progress comment stays up to date.\n\n---\n\n" + progress.Text
	return progress
}

// SourceChanged replies when the text that started a session is edited or deleted.
func SourceChanged(deleted bool) string {
	what := "edited"
	if deleted {
		what = "deleted"
	}
	return "The request was " + what + " after I had read it, and its first version counts. To change it, write `/agent` and your changes in a new comment; `/agent stop` ends the work."
}

// StoppedBefore replies to a request that arrived after a stop written below it.
func StoppedBefore(login string) string {
	return "I did not start: " + login + " stopped this before I began. Ask again if you still want it."
}

// EditedIn replies to a command that was edited into an existing text, or into another command.
const EditedIn = "I read a text when it is posted, not when it is edited: the `/agent` line as it now stands does not count. Write it in a new comment."

// ServerDied is the reason for ending a session after repeated server crashes.
func ServerDied(times int) string {
	return fmt.Sprintf(
		"The server crashed %d times in a row on this session, so I do not try again by myself. The operator finds more in the log. The work so far stays on the branch.",
		times,
	)
}

// StoppedBy is the reason for ending a session on request. why are the words of the request,
// and v is the current state.
func StoppedBy(login, why string, v *session.State) string {
	return because(login+" stopped this", why) + whatStays(v)
}

// WithdrawnBy is the reason for ending a session whose requester took the request back. why
// are the requester's words, and v is the current state.
func WithdrawnBy(login, why string, v *session.State) string {
	return because(login+" took this back", why) + whatStays(v)
}

// RequestDeleted is the reason for ending a session whose requester deleted the request; v
// is its current state.
func RequestDeleted(login string, v *session.State) string {
	return login + " deleted the request, so it is withdrawn." + whatStays(v)
}

// because adds the words of a user to a sentence.
func because(said, why string) string {
	if why = line(strings.TrimSpace(why), 200); why == "" {
		return said + "."
	}
	return sentence(said + ": " + why)
}

// whatStays says where the work of a stopped session is.
func whatStays(v *session.State) (text string) {
	if len(v.Checkpoints) > 0 {
		text += " The work so far stays on the branch."
	}
	if n := len(v.Unpushed); n > 0 {
		text += " Not on the branch yet: " + phrase.Count(n, "changed file") + ", until I go on."
	} else if len(v.Checkpoints) == 0 {
		text += " Nothing was committed."
	}
	return text
}

// ReplacedBy is the reason for ending a session in favor of a new one.
func ReplacedBy(login string) string {
	return login + " started a new session in its place. The work so far stays on the branch."
}

// CouldNotGoOn is the reason for ending a session because of an error.
func CouldNotGoOn(err error) string {
	return sentence("I could not go on: " + err.Error())
}

// Fault replies to a text that caused an internal error.
func Fault(err error) string {
	return sentence("I could not do this: "+clean(err.Error())) + " I do not try again by myself; put it in other words, or ask the operator of this server."
}

// Ended is the minimal report of a session's end, if nothing else of it can be shown.
func Ended(p session.Phase, cause error) string {
	return fmt.Sprintf(
		"%s **%s**\n\n%s The branch is kept. `/agent retry` tries once more; `/agent` and your request start anew.",
		icons[p],
		p,
		sentence("I had to stop here: "+clean(cause.Error())),
	)
}

// NotOpen says that no request with this id is open, and lists those that are.
func NotOpen(verb, id string, open []session.Asked) string {
	which := "Nothing is waiting for approval."
	if len(open) > 0 {
		which = "Write " + commandsFor(verb, open) + "."
	}
	return fmt.Sprintf("No request with the id `%s` is open here. %s", id, which)
}

// NothingLeft says that nothing waits for approval any more; past describes the last
// request.
func NothingLeft(past string) string { return NothingAsked + " " + past }

// AnswerTaken says to which request an answer without an id was applied. A later lookup
// searches for these very words, so where, the text with the answer, is part of them.
func AnswerTaken(id, who, where string) string {
	return fmt.Sprintf("`%s`: approved by %s in %s.", id, who, where)
}

// DeniedIn says where a request was denied, and by whom.
func DeniedIn(id, who, where string) string {
	return fmt.Sprintf("`%s`: denied by %s in %s.", id, who, where)
}

// InDashboard tells the thread what an account wrote in the dashboard. The text is quoted.
func InDashboard(who, text string) string {
	text = limit(strings.TrimSpace(text), maxBody/2)
	return fmt.Sprintf("%s wrote in the dashboard:\n\n> %s", clean(who), strings.ReplaceAll(clean(text), "\n", "\n> "))
}

// SettledAs reports the result of an answer to one of several requests.
func SettledAs(r session.Resolved) string {
	return fmt.Sprintf("`%s`: %s.", r.ID, strings.ToLower(answers[r.Verdict]))
}

// SettledBy is [SettledAs] for other readers than the approver.
func SettledBy(r session.Resolved) string {
	if r.By == "" {
		return SettledAs(r)
	}
	return strings.TrimSuffix(SettledAs(r), ".") + " by " + clean(r.By) + "."
}

// Settled joins the replies to several requests.
func Settled(told []string) string {
	told = slices.DeleteFunc(slices.Clone(told), func(s string) bool { return s == "" })
	if len(told) < 2 {
		return strings.Join(told, "")
	}
	return "- " + strings.Join(told, "\n- ")
}

// WhichRequest asks for the id of the request that an answer is meant for.
func WhichRequest(verb string, open []session.Asked) string {
	for _, a := range open {
		if len(open) == 1 && a.Severity == "critical" && verb == "approve" {
			return fmt.Sprintf(
				"`%s` is critical, so approve it by its id: `/agent approve %s`. Nothing was approved.",
				a.ID,
				a.ID,
			)
		}
	}
	return fmt.Sprintf(
		"I cannot tell which request you mean. Write %s.",
		commandsFor(verb, open),
	)
}

// AskedAnew says that the comment with these requests was deleted and is posted again.
func AskedAnew(gone []session.Asked) string {
	ids := make([]string, len(gone))
	for i, a := range gone {
		ids[i] = "`" + a.ID + "`"
	}
	requests, id := "request", "id"
	if len(gone) > 1 {
		requests, id = "requests", "ids"
	}
	return fmt.Sprintf(
		"The comment with the %s %s was deleted, so I ask again, under the same %s. Answer the new comment.",
		requests,
		strings.Join(ids, ", "),
		id,
	)
}

// NotAll names the requests that "all" leaves out.
func NotAll(verb string, left []session.Asked) string {
	return fmt.Sprintf(
		"%s by `all`, because critical and later requests need their id: %s.",
		map[bool]string{true: "Not approved", false: "Not denied"}[verb == "approve"],
		commandsFor(verb, left),
	)
}

// commandsFor lists the commands that answer the requests one by one.
func commandsFor(verb string, open []session.Asked) string {
	var out []string
	for _, a := range bySeverity(open, func(a session.Asked) session.Asked { return a }) {
		out = append(out, fmt.Sprintf("`/agent %s %s`", verb, a.ID))
	}
	return strings.Join(out, " or ")
}

// DidYouMean asks back about a mistyped command, or about a mistyped answer to the open
// requests. If ids names open requests, only those are offered.
func DidYouMean(verb string, open []session.Asked, ids ...string) string {
	if named := slices.DeleteFunc(slices.Clone(open), func(a session.Asked) bool {
		return !slices.Contains(ids, a.ID)
	}); len(named) > 0 {
		open = named
	}
	switch {
	case verb != "approve" && verb != "deny":
		return fmt.Sprintf(
			"Did you mean `/agent %s`? Nothing was done. For a task of one word, write `/agent task: …`.",
			verb,
		)
	case len(open) == 0:
		return fmt.Sprintf("Did you mean `/agent %s`? Nothing was done, and nothing is waiting for approval here.", verb)
	}
	return fmt.Sprintf("Did you mean %s? Nothing was done yet.", commandsFor(verb, open))
}

// RequestsStayOpen tells the author of plain words that the requests stay open and how to answer
// them. With asks, it also gives their reasons. url returns the address of a request.
func RequestsStayOpen(open []session.Asked, asks bool, url func(id string) string) string {
	var b strings.Builder
	for _, a := range bySeverity(open, func(a session.Asked) session.Asked { return a }) {
		fmt.Fprintf(&b, "`%s` stays open", a.ID)
		if !a.Deadline.IsZero() {
			b.WriteString(" until " + a.Deadline.UTC().Format("2006-01-02 15:04 MST"))
		}
		if at := url(a.ID); asks && at != "" {
			b.WriteString(": see " + at)
		}
		b.WriteString(".\n\n")
		if asks {
			b.WriteString(reasons(a))
		}
	}
	instead := "For something else, write `/agent task: …`; that withdraws the open requests."
	if !slices.ContainsFunc(open, func(a session.Asked) bool { return a.Kind != session.AskPlan }) {
		instead = "For an answer, write `/agent ask …`; for another plan, `/agent` and your changes."
	}
	fmt.Fprintf(
		&b,
		"Words and reactions approve nothing. To answer, write %s, or the same with `deny` and your reason. I read your comment when I go on. %s",
		commandsFor("approve", open),
		instead,
	)
	return b.String()
}

// WhichMeant asks which open item an ambiguous answer is for.
func WhichMeant(questions, requests []session.Asked) string {
	var b strings.Builder
	b.WriteString(
		"I cannot tell which question you answered, so none counts as answered; I read your words when I go on. Quote the question, and write the answer below it",
	)
	if len(requests) > 0 {
		b.WriteString("; or write " + commandsFor("approve", requests) + ", or the same with `deny`")
	}
	fmt.Fprintf(&b, ". Open: %s.", phrase.Count(len(questions), "question"))
	return b.String()
}

// NoForkWaits says that no work waits for leave to use this commit of a fork.
func NoForkWaits(commit string) string {
	return fmt.Sprintf("No session here is waiting for an `ok` to the commit `%s`, so nothing was done.", commit)
}

// NotCounted says why an answer or a review does not count.
func NotCounted(what, why string) string {
	return sentence(fmt.Sprintf("This %s does not count: %s", what, why))
}

// TooLate says why an approval had no effect.
func TooLate(r session.Resolved) string {
	return sentence(fmt.Sprintf("Approval `%s` does not count: %s", r.ID, r.Reason)) + " Nothing was run."
}

// BaseIsGone says that a pull request targets another branch because its original target
// is gone.
func BaseIsGone(was, is string) string {
	return fmt.Sprintf(
		"The branch `%s`, the first target of this pull request, no longer exists; it now goes to `%s`.\n\n",
		was,
		is,
	)
}

// NoPull locates the work when no pull request could be opened.
func NoPull(branch, why string) string {
	return sentence(
		fmt.Sprintf("The work is on the branch `%s`. I could not open a pull request for it: %s", branch, clean(why)),
	)
}

// NoBase says that the configured base branch does not exist.
func NoBase(branch string) string {
	return fmt.Sprintf(
		"`pull_request.base` names %s, but there is no such branch. Correct it or create the branch, then ask again.",
		code(branch),
	)
}

// AfterTheMerge begins the text of a pull request with work done after the previous one
// was merged.
func AfterTheMerge(number int) string {
	return fmt.Sprintf("#%d was merged while I was still working; these are the later changes.\n\n", number)
}

// BesideThePull begins the text of a pull request with work that the branch of the
// previous one could not take.
func BesideThePull(number int, branch string) string {
	return fmt.Sprintf("I could not push this to %s, the branch of #%d, so it has a pull request of its own.\n\n", code(branch), number)
}

// ClosedMeanwhile locates work after its pull request was closed during the session.
func ClosedMeanwhile(number int, branch string) string {
	return fmt.Sprintf(
		"#%d was closed while I was still working. My later changes are on the branch %s, in no pull request: reopen #%d, or open another one.",
		number,
		code(branch),
		number,
	)
}

// NotAsked lists the configured labels and reviewers that could not be set.
func NotAsked(labels, reviewers []string) string {
	var out []string
	names := func(list []string) string {
		var all []string
		for _, name := range list {
			all = append(all, code(name))
		}
		return strings.Join(all, ", ")
	}
	if len(labels) > 0 {
		out = append(
			out,
			fmt.Sprintf("I could not set %s: this repository has no such label, or I lack the permission.", names(labels)),
		)
	}
	if len(reviewers) > 0 {
		out = append(
			out,
			fmt.Sprintf(
				"I could not request a review from %s: GitHub accepts only users and teams with read access, and not the author.",
				names(reviewers),
			),
		)
	}
	return strings.Join(out, "\n\n")
}

// CheckMoved names, in a check run, the commit at which the work continues.
func CheckMoved(sha string) string { return "The work continues on " + sha + "." }

// ShareOfDay names a user's budget for a day.
func ShareOfDay(login, day string) string {
	return fmt.Sprintf("The work for %s on %s (UTC)", login, day)
}
