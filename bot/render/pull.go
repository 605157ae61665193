package render

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/policy/untrusted"
)

// PullTitle returns the title of a session's pull request.
func PullTitle(task string) string {
	t := line(strings.TrimSpace(task), 72)
	if t == "" {
		return "Changes by Handrail"
	}
	first, size := utf8.DecodeRuneInString(t)
	if first == utf8.RuneError {
		return t
	}
	return string(unicode.ToUpper(first)) + t[size:] //control:title-rune
}

// Origin is the thread behind a pull request: an issue, which it closes, or another pull
// request.
type Origin struct {
	Number int // 0 if there is none
	Pull   bool
	Beside string // branch of that pull request, if the work does not go to it
	Fork   string // commit of the fork at which the work starts, "" without a fork
}

// Closes returns the number of the issue that the pull request closes, or 0.
func (o Origin) Closes() int {
	if o.Pull {
		return 0
	}
	return o.Number
}

// PullBody returns the body of a session's pull request.
func PullBody(s *session.State, requester string, from Origin) string {
	var b strings.Builder
	summary, tests := pullSummary(s, from.Number)
	if summary != "" {
		b.WriteString(summary + "\n\n")
	}
	locateWork(&b, s.Sent, fmt.Sprintf("#%d", from.Number))
	b.WriteString(PullFiles(s))
	if tests != "" {
		b.WriteString("**How it was checked**\n\n" + tests + "\n\n") //control:checked-is-told
	}
	leftToDo(&b, s)
	b.WriteString(from.words())
	fmt.Fprintf(&b, "I made this%s. Every commit is a checkpoint.\n", by(requester))
	return limit(b.String(), maxBody)
}

// leftToDo lists the open items of the work, and the files that no checkpoint can hold.
func leftToDo(b *strings.Builder, s *session.State) {
	open := slices.DeleteFunc(slices.Clone(s.Todo), func(t session.Todo) bool { return t.Status == session.TodoDone })
	if len(open) > 0 {
		b.WriteString("**Left to do**\n\n")
		todo(b, open)
	}
	leftOut(b, s.LeftOut)
}

// PullSummary summarizes the session, request by request, with the newest test results.
func PullSummary(s *session.State, thread int) string {
	text, tests := pullSummary(s, thread)
	return strings.TrimSpace(text + "\n\n" + tests)
}

// PullLog returns the steps of the session, folded.
func PullLog(s *session.State) []untrusted.Fold { return timeline(s.Timeline, maxPullLog) }

// maxPullLog is the maximum size of the log in a pull request, in bytes.
const maxPullLog = 20_000

// pullSummary returns the parts of [PullSummary]. Answers that changed no file are left out:
// they are in the thread that asked.
func pullSummary(s *session.State, thread int) (text, tests string) {
	var out []string
	last := session.Outcome{} // the newest tests describe the current state
	add := func(o session.Outcome) {
		last.Tests, o.Tests = o.Tests, ""
		text := strings.TrimSpace(summaryFor(&o, thread))
		out = slices.DeleteFunc(out, func(have string) bool { return have == text })
		if text != "" {
			out = append(out, text)
		}
	}
	var takenBack []string
	for _, end := range s.Ends {
		switch {
		case end.Wish == session.Undo:
			takenBack = append(takenBack, strings.TrimSpace(end.Summary))
		case end.Wish == session.Redo:
			takenBack = takenBack[:max(0, len(takenBack)-1)]
		case end.Status == session.StatusDone && end.Wish == "":
			add(end)
		}
	}
	if o := s.Outcome; o != nil && (!s.Over() || len(out) == 0) && o.Wish == "" {
		add(*o)
	}
	out = append(out[max(0, len(out)-maxSummaries):], takenBack...)
	return strings.Join(out, "\n\n"), strings.TrimSpace(testResults(&last))
}

// maxSummaries is the number of newest summaries that a pull request shows.
const maxSummaries = 3

// PullFiles lists the files that the session changed.
func PullFiles(s *session.State) string {
	var b strings.Builder
	files(&b, s.Files, "")
	if len(s.Files) == 0 && len(s.Checkpoints) > 0 {
		b.WriteString("**No file is changed**: all changes were undone, so there is nothing to merge.\n\n") //control:empty-pull-says-so
	}
	return b.String()
}

// PullNotices locates work outside the pull request, and explains why this pull request
// is a separate one.
func PullNotices(s *session.State, from Origin) string {
	var b strings.Builder
	locateWork(&b, s.Sent, fmt.Sprintf("#%d", from.Number))
	return b.String() + from.words()
}

// words names the origin of a pull request in sentences.
func (o Origin) words() string {
	var b strings.Builder
	if o.Pull {
		fmt.Fprintf(&b, "Comes from #%d.\n\n", o.Number)
	}
	if o.Beside != "" {
		fmt.Fprintf(
			&b,
			"I do not push to %s itself: it is the default branch, it is protected, or the configuration excludes it. Merging this brings the work there.\n\n",
			code(o.Beside),
		)
	}
	if o.Fork != "" {
		fmt.Fprintf(
			&b,
			"That pull request comes from a fork. This one has its commits up to %s, and mine on top.\n\n",
			o.Fork,
		)
	}
	return b.String()
}
