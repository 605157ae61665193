// Package render renders the state of a session as Markdown for GitHub: the progress
// comment, requests for approval, the pull request. Its output depends only on the log,
// so a comment can be rendered again after a crash and compared with the posted one.
package render

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/policy/phrase"
	"github.com/handrail-bot/handrail/policy/untrusted"
)

// maxBody is the maximum length of a comment, in characters. It leaves room for a
// hidden marker below GitHub's limit.
const maxBody = 65536 - 256

// Post is a text for GitHub, see [untrusted.Post].
type Post = untrusted.Post

// Links provides addresses and other data for the progress comment. A nil function
// disables its links.
type Links struct {
	Commit func(sha string) string
	Pull   int                    // number of the pull request; 0 if there is none
	Review func(id string) int    // number of the pull request that reviews a request; 0 if there is none
	Asked  func(id string) string // address of the comment with a request; empty if there is none
	Before int                    // number of runs ahead of this one at the model
	Green  []string               // names of the passed checks
	Now    Running                // output of the tool at work
	Setup  string                 // progress of the workspace's setup; empty if there is none
	Note   string                 // more about the end of the last run

	Pictures string // address of the page that shows the session's pictures; empty if there is none
}

// Progress returns the progress comment, which shows the current state of a session.
func Progress(s *session.State, l Links) untrusted.Post {
	var b strings.Builder
	phase, icon := string(s.Phase), icons[s.Phase]
	if l.Before > 0 {
		phase, icon = fmt.Sprintf("%s: %s ahead", session.PhaseWaitingModel, phrase.Count(l.Before, "run")), icons[session.PhaseWaitingModel]
	}
	how := cmp.Or(wishOf(s), takenBack(s), fmt.Sprintf("%s **%s**", icon, phase)) //control:nothing-is-not-done
	b.WriteString(how + headline(s) + "\n\n")
	b.WriteString(whyItBegan(s))                                       //control:why-it-started
	if s.Outcome != nil && s.Outcome.Reason != "" && wishOf(s) == "" { // a reason there is of an earlier end
		b.WriteString(clean(limit(s.Outcome.Reason, maxReason)) + "\n\n")
	}
	waiting(&b, s.Open(), l)
	b.WriteString(summary(s.Outcome))
	locateWork(&b, s.Sent, "this thread")
	todo(&b, s.Todo)
	if changed(s) {
		changes(&b, s)
	}
	leftOut(&b, s.LeftOut)
	b.WriteString(notSetUp(s.Timeline) + notServed(s.Timeline))
	checkpoints(&b, s.Checkpoints[min(s.Began.Checkpoints, len(s.Checkpoints)):], l)
	if l.Pull > 0 && changed(s) {
		fmt.Fprintf(
			&b,
			"Pull request: #%d%s\n\n",
			l.Pull,
			map[bool]string{true: ", with the earlier changes"}[s.Phase == session.PhaseNoChanges && len(s.Files) > 0],
		)
	}
	if len(l.Green) > 0 {
		b.WriteString(greenChecks(l.Green) + "\n\n")
	}
	if l.Pictures != "" && sawPictures(s.Timeline[s.Began.Moments:]) {
		fmt.Fprintf(&b, "Pictures, before and after: [dashboard](%s)\n\n", l.Pictures)
	}
	b.WriteString(l.Now.of(s.AtWork()))
	if l.Setup != "" {
		b.WriteString("Preparing the workspace: " + code(line(l.Setup, 200)) + "\n\n")
	}
	how = next(s)
	if s.Phase == session.PhasePlanned && len(s.Open()) > 0 {
		how = "Start the plan with `/agent approve ID`, drop it with `/agent deny ID`, or write `/agent` and your changes to it."
	}
	if l.Note != "" {
		b.WriteString(l.Note + "\n\n")
	}
	further(&b, s)
	if s.Began.At == 0 || !always(s.Phase) {
		b.WriteString(how + "\n")
	}
	text := limit(strings.TrimRight(b.String(), "\n")+"\n", maxBody)
	return untrusted.Post{Text: text, Folds: timeline(s.Timeline[s.Began.Moments:], maxBody-len(text)-1500)}
}

// further lists the requests behind the present one, and those that its end gave up.
func further(b *strings.Builder, s *session.State) {
	said, list := "After this", s.Later
	if len(s.Unbegun) > 0 {
		said, list = "Not begun; ask again if you still want it", s.Unbegun
	}
	if len(list) == 0 || s.Due() != nil { // the next one begins at once
		return
	}
	b.WriteString(said + ":\n\n")
	for _, l := range list {
		fmt.Fprintf(b, "- %s\n", code(asked(l.Message)))
	}
	b.WriteString("\n")
}

// asked returns a request as its author could write it.
func asked(m session.Message) string {
	text := session.Command(m.Text)
	if !strings.EqualFold(text, m.Mode) {
		text = m.Mode + " " + text
	}
	return "/agent " + line(text, 100)
}

// sawPictures reports whether a tool returned a picture, such as one of a page.
func sawPictures(moments []session.Moment) bool {
	return slices.ContainsFunc(moments, func(m session.Moment) bool {
		run, ok := m.(*session.ToolRun)
		return ok && run.Result != nil && len(run.Result.Images) > 0
	})
}

var icons = map[session.Phase]string{
	session.PhaseQueued: "🕓", session.PhaseRunning: "🏃", session.PhaseDone: "✅", session.PhaseAnswered: "💬", session.PhasePlanned: "📝",
	session.PhaseReviewed: "💬", session.PhaseAwaitingApproval: "✋", session.PhaseAwaitingAnswer: "✋", session.PhaseFailed: "❌",
	session.PhaseCrashed: "❌", session.PhaseOutOfBudget: "⏳", session.PhaseWaitingModel: "⏳", session.PhaseWaitingGitHub: "⏳",
	session.PhaseWaitingChecks: "⏳", session.PhaseNoChanges: "⏹️", session.PhaseStopped: "⏹️",
}

func headline(s *session.State) string {
	parts := append(modeOf(s), results(s)...)
	if n := s.AllTurns(); n > 0 { //control:turns-inside-are-shown
		parts = append(parts, phrase.Count(n, "turn"))
	}
	if model := s.ModelName(); model != "" {
		parts = append(parts, "`"+strings.ReplaceAll(model, "`", "")+"`")
	}
	if len(parts) == 0 {
		return ""
	}
	return " · " + strings.Join(parts, " · ")
}

// modeOf names the mode of the present request, unless it is code.
func modeOf(s *session.State) []string {
	if mode := s.ModeName(); mode != "" && mode != "code" {
		return []string{mode + " mode"}
	}
	return nil
}

// changed reports whether the present request changed the branch. The result of one that did
// not lists no changes: those of earlier requests are told in their own comments.
func changed(s *session.State) bool {
	return s.Began.At == 0 || len(s.Checkpoints) != s.Began.Checkpoints
}

func todo(b *strings.Builder, list []session.Todo) {
	for _, t := range list {
		mark := " "
		if t.Status == session.TodoDone {
			mark = "x"
		}
		text := words(line(t.Text, 200))
		if t.Status == session.TodoDoing {
			text = "**" + text + "**"
		}
		fmt.Fprintf(b, "- [%s] %s\n", mark, text)
	}
	if len(list) > 0 {
		b.WriteString("\n")
	}
}

// maxListed bounds lists; the rest is counted.
const maxListed = 50

// files lists the changed files. whose names their author if it is not obvious.
func files(b *strings.Builder, list []session.FileChange, whose string) {
	if len(list) == 0 {
		return
	}
	fmt.Fprintf(b, "**%s changed**%s %s\n\n", phrase.Count(len(list), "file"), whose, counts(total(list)))
	fileList(b, list)
}

// changes lists the changed files of a session. Their number and lines are left out if the
// headline has them.
func changes(b *strings.Builder, s *session.State) {
	whose := since(s)
	switch {
	case len(s.Files) == 0:
	case len(results(s)) == 0:
		files(b, s.Files, whose)
	case whose != "":
		b.WriteString("Changed" + whose + ":\n\n")
		fileList(b, s.Files)
	default:
		b.WriteString("Changed:\n\n") //control:counts-once
		fileList(b, s.Files)
	}
}

// fileList lists files with their changed lines.
func fileList(b *strings.Builder, list []session.FileChange) {
	for i, f := range list {
		if i == maxListed {
			fmt.Fprintf(b, "- … and %d more\n", len(list)-i)
			break
		}
		name := code(f.Path)
		if f.From != "" {
			name = code(f.From) + " → " + name
		}
		kind := ""
		if f.Kind != session.ChangeModify {
			kind = " (" + map[session.ChangeKind]string{session.ChangeCreate: "new", session.ChangeDelete: "deleted", session.ChangeRename: "renamed"}[f.Kind] + ")"
		}
		fmt.Fprintf(b, "- %s %s%s\n", name, counts(f.Added, f.Removed), kind)
	}
	b.WriteString("\n")
}

// since names the requests that the files of a session come from, if there were several
// of them: the files are those of all requests.
func since(s *session.State) string {
	asked := slices.ContainsFunc(s.Timeline, func(m session.Moment) bool {
		words, ok := m.(*session.Message)
		return ok && words.Text != ""
	})
	switch {
	case s.Phase == session.PhaseNoChanges:
		return " by earlier requests in this thread"
	case asked:
		return " by all requests in this thread"
	}
	return ""
}

// leftOut lists the files of the workspace that no checkpoint can hold.
func leftOut(b *strings.Builder, list []session.LeftOut) {
	if len(list) == 0 {
		return
	}
	b.WriteString("**Not kept** and not on the branch:\n\n")
	for _, l := range list {
		name := code(l.Path) + ": "
		if l.Path == "." {
			name = ""
		}
		fmt.Fprintf(b, "- %s%s\n", name, words(untrusted.EscapeLine(l.Why)))
	}
	b.WriteString("\n")
}

// notSetUp gives the reason for which the work goes on without installed dependencies.
func notSetUp(timeline []session.Moment) string {
	for _, m := range slices.Backward(timeline) {
		if n, ok := m.(*session.Note); ok && n.Kind == session.NoteSetUp {
			first, _, _ := strings.Cut(n.Text, "\n")
			return map[bool]string{true: "⚠️ " + clean(first) + "\n\n"}[n.Layer == ""]
		}
	}
	return ""
}

// notServed names the MCP servers that are not used, and why.
func notServed(timeline []session.Moment) string {
	for _, m := range slices.Backward(timeline) {
		if n, ok := m.(*session.Note); ok && n.Kind == session.NoteServers {
			out := ""
			for _, l := range strings.Split(n.Text, "\n") {
				out += "⚠️ " + clean(l) + "\n\n"
			}
			return out
		}
	}
	return ""
}

func checkpoints(b *strings.Builder, list []session.Checkpoint, l Links) {
	if len(list) == 0 {
		return
	}
	names := make([]string, 0, len(list))
	for _, c := range list[max(0, len(list)-maxListed):] {
		short := fmt.Sprintf("`%.7s`", c.Commit)
		if l.Commit != nil {
			short = fmt.Sprintf("[%s](%s)", short, l.Commit(c.Commit))
		}
		names = append(names, short)
	}
	fmt.Fprintf(b, "Checkpoints: %s\n\n", strings.Join(names, " "))
}

// next says how to go on.
func next(s *session.State) string {
	forks := func(a session.Asked) bool { return a.Kind == session.AskCommit }
	if s.Phase == session.PhaseAwaitingApproval && slices.ContainsFunc(s.Open(), forks) {
		return "Until then, `/agent …` adds to the request. End it with `/agent stop`."
	}
	choices := func(a session.Asked) bool { return len(a.Choices) > 0 }
	switch s.Phase {
	case session.PhaseAwaitingApproval:
		id := "ID"
		if open := s.Open(); len(open) == 1 {
			id = open[0].ID
		}
		return fmt.Sprintf("Answer with `/agent approve %s` or `/agent deny %s <reason>`. A new `/agent …` comment withdraws the request.", id, id)
	case session.PhaseAwaitingAnswer:
		if slices.ContainsFunc(s.Open(), choices) {
			return "Answer with the number of a choice, or write `/agent` and your answer."
		}
		return "Quote the question and write your answer below it, or write `/agent` and your answer."
	case session.PhaseOutOfBudget:
		return "A maintainer can add turns with `/agent budget +10`."
	case session.PhaseFailed, session.PhaseCrashed:
		return "Try again with `/agent retry`."
	case session.PhaseWaitingModel:
		return "The model server does not answer, has no room for the model, or refuses the key. Nothing is lost: I go on by myself when the server is back. End it with `/agent stop`."
	case session.PhaseWaitingGitHub:
		return "The repository cannot be reached. Nothing is lost: I go on by myself when it is back. End it with `/agent stop`."
	case session.PhaseRunning, session.PhaseQueued, session.PhaseWaitingChecks:
		return "End it with `/agent stop`."
	}
	return goOn
}

// always reports whether the way to go on is the same in each request of a thread, so that
// the first one tells it.
func always(p session.Phase) bool {
	switch p {
	case session.PhaseRunning, session.PhaseQueued, session.PhaseWaitingChecks, session.PhaseAwaitingApproval:
		return true
	}
	return next(&session.State{Phase: p}) == goOn
}

const goOn = "Continue with `/agent …` in this thread."

// outcome writes the result of a run.
func outcome(b *strings.Builder, o *session.Outcome) {
	if o.Reason != "" {
		b.WriteString(clean(limit(o.Reason, maxReason)) + "\n\n")
	}
	b.WriteString(summary(o))
}

// maxReason is the longest reason of an end, in characters. It may hold words of a server.
const maxReason = 10000

func paths(list []string) string {
	out := make([]string, 0, len(list))
	for i, p := range list {
		if i == 5 {
			out = append(out, phrase.Count(len(list)-i, "more file"))
			break
		}
		out = append(out, code(p))
	}
	return phrase.List(out)
}

func by(requester string) string {
	if requester == "" {
		return ""
	}
	return " for " + clean(requester)
}

// fenced puts text into a code block that the text cannot close.
func fenced(lang, text string) string {
	mark := strings.Repeat("`", 1+max(2, longestTicks(text)))
	return mark + lang + "\n" + strings.TrimSuffix(text, "\n") + "\n" + mark + "\n\n"
}

// longestTicks returns the length of the longest run of backticks.
func longestTicks(s string) (longest int) {
	for run := range strings.FieldsFuncSeq(s, func(r rune) bool { return r != '`' }) {
		longest = max(longest, len(run))
	}
	return longest
}

// code shows a name inline; backticks and control characters cannot break out.
func code(s string) string {
	s = untrusted.EscapeLine(s)
	if n := longestTicks(s); n > 0 {
		mark := strings.Repeat("`", n+1)
		return mark + " " + s + " " + mark //control:code-stays-code
	}
	return "`" + s + "`"
}

// clean makes a text of the model or a user safe to post.
func clean(s string) string { return untrusted.CleanOutput(s, untrusted.OutputOptions{}) }

// item makes a line safe to post as a list item. It escapes the start of a heading, a
// quotation or another block.
func item(s string) string {
	s = strings.TrimSpace(s)
	at := 0
	for at < len(s) && s[at] >= '0' && s[at] <= '9' {
		at++
	}
	if beginsBlock(s[at:], at > 0) {
		s = s[:at] + `\` + s[at:] //control:item-no-block
	}
	return words(s)
}

// words makes a line safe to post inside another line. clean may append the end of a
// code block, which is cut off.
func words(s string) string {
	s, _, _ = strings.Cut(clean(s), "\n")
	return s
}

func beginsBlock(s string, numbered bool) bool {
	switch {
	case s == "":
		return false
	case numbered:
		return s[0] == '.' || s[0] == ')'
	case strings.HasPrefix(s, "[") && strings.Contains(s, "]:"), strings.HasPrefix(s, "```"):
		return true
	case s[0] == '*' || s[0] == '_':
		return strings.Trim(s, "*_ ") == "" || s[1] == ' '
	}
	return strings.IndexByte("#>-+~=|:<", s[0]) >= 0
}

// line cuts s to its first line and at most n characters.
func line(s string, n int) string {
	s = strings.TrimSpace(s)
	more := false
	if at := strings.IndexAny(s, "\n\r\v\f\u0085\u2028\u2029"); at >= 0 {
		s, more = s[:at], true
	}
	if short := phrase.Short(s, n); short != s || !more {
		return short
	}
	return s + " …"
}

// limit cuts s to at most n characters, says so, and closes an open code block. An answer
// is never cut, see [Answer]: this is for our lists and for words of a server.
func limit(s string, n int) string {
	r := []rune(s)
	if len(r) <= n {
		return s
	}
	const note = "\n\n… (cut here: the rest is longer than a comment)\n"
	cut := string(r[:max(0, n-len(note)-8)])
	if strings.Count(cut, "\n```")%2 == 1 {
		cut += "\n```"
	}
	return cut + note
}
