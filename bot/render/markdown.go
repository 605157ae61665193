package render

import (
	"fmt"
	"strings"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/policy/untrusted"
)

// MaxBody is the longest comment that GitHub takes, in characters. Bodies
// made here stay below it with room for a hidden marker.
const MaxBody = 65536 - 256

// Links makes addresses; nil functions leave plain text.
type Links struct {
	Commit func(sha string) string
	Pull   int                 // number of the pull request, 0 for none
	Review func(id string) int // number of the pull request by which a request is reviewed, 0 for none
}

// Progress is the one comment that shows where a session stands.
func Progress(v *View, l Links) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s **%s**%s\n\n", icon(v.State), v.State, headline(v))
	if v.Outcome != nil && v.Outcome.Reason != "" {
		b.WriteString(Clean(v.Outcome.Reason) + "\n\n")
	}
	for _, a := range v.Open {
		where := ""
		if l.Review != nil && l.Review(a.ID) > 0 {
			where = fmt.Sprintf(", by a review of #%d", l.Review(a.ID))
		}
		fmt.Fprintf(&b, "Waiting for %s: `%s`%s\n\n", map[bool]string{true: "an answer", false: "approval"}[a.Kind == "question"], a.ID, where)
	}
	if v.Outcome != nil && v.Outcome.Summary != "" {
		b.WriteString(limit(Clean(v.Outcome.Summary), 20000) + "\n\n")
	}
	places(&b, v.Sent, "this thread")
	todo(&b, v.Todo)
	files(&b, v.Files)
	checkpoints(&b, v.Checkpoints, l)
	timeline(&b, v.Steps, MaxBody-b.Len()-1500)
	if l.Pull > 0 {
		fmt.Fprintf(&b, "Pull request: #%d\n\n", l.Pull)
	}
	b.WriteString("<sub>" + next(v) + "</sub>\n")
	return limit(b.String(), MaxBody)
}

func icon(state string) string {
	switch state {
	case Queued:
		return "🕓"
	case Running:
		return "🏃"
	case AwaitingApproval, AwaitingAnswer:
		return "✋"
	case Done:
		return "✅"
	case Failed, Crashed:
		return "❌"
	case OutOfBudget:
		return "⏳"
	}
	return "⏹️"
}

func headline(v *View) string {
	parts := []string{}
	if v.Task.Mode != "" && v.Task.Mode != "code" {
		parts = append(parts, v.Task.Mode+" mode")
	}
	if v.Turns > 0 {
		parts = append(parts, plural(v.Turns, "turn"))
	}
	if v.Task.Model != "" {
		parts = append(parts, "`"+strings.ReplaceAll(v.Task.Model, "`", "")+"`")
	}
	if len(parts) == 0 {
		return ""
	}
	return " · " + strings.Join(parts, " · ")
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func todo(b *strings.Builder, list []session.Todo) {
	for _, t := range list {
		mark := " "
		if t.Status == "done" {
			mark = "x"
		}
		text := line(Clean(t.Text), 200)
		if t.Status == "doing" {
			text = "**" + text + "**"
		}
		fmt.Fprintf(b, "- [%s] %s\n", mark, text)
	}
	if len(list) > 0 {
		b.WriteString("\n")
	}
}

// mostListed bounds lists; what is left out is counted.
const mostListed = 50

func files(b *strings.Builder, list []session.FileChange) {
	if len(list) == 0 {
		return
	}
	added, removed := 0, 0
	for _, f := range list {
		added, removed = added+f.Added, removed+f.Removed
	}
	fmt.Fprintf(b, "**%s changed** %s\n\n", plural(len(list), "file"), Counts(added, removed))
	for i, f := range list {
		if i == mostListed {
			fmt.Fprintf(b, "- … and %d more\n", len(list)-i)
			break
		}
		name := code(f.Path)
		if f.From != "" {
			name = code(f.From) + " → " + name
		}
		kind := ""
		if f.Kind != "modify" {
			kind = " (" + map[string]string{"create": "new", "delete": "deleted", "rename": "renamed"}[f.Kind] + ")"
		}
		fmt.Fprintf(b, "- %s %s%s\n", name, Counts(f.Added, f.Removed), kind)
	}
	b.WriteString("\n")
}

func checkpoints(b *strings.Builder, list []session.Checkpoint, l Links) {
	if len(list) == 0 {
		return
	}
	names := make([]string, 0, len(list))
	for _, c := range list[max(0, len(list)-mostListed):] {
		short := c.Commit[:min(7, len(c.Commit))]
		if l.Commit != nil {
			short = fmt.Sprintf("[`%s`](%s)", short, l.Commit(c.Commit))
		} else {
			short = "`" + short + "`"
		}
		names = append(names, short)
	}
	fmt.Fprintf(b, "Checkpoints: %s\n\n", strings.Join(names, " "))
}

// timeline folds what happened into a details block of at most room bytes;
// the oldest lines go first.
func timeline(b *strings.Builder, steps []Step, room int) {
	if len(steps) == 0 {
		return
	}
	lines := make([]string, 0, len(steps))
	size := 0
	for i := len(steps) - 1; i >= 0; i-- {
		s := stepLine(steps[i])
		if size += len(s) + 1; size > room {
			lines = append(lines, fmt.Sprintf("- … %d earlier steps", i+1))
			break
		}
		lines = append(lines, s)
	}
	fmt.Fprintf(b, "<details><summary>%s</summary>\n\n", plural(len(steps), "step"))
	for i := len(lines) - 1; i >= 0; i-- {
		b.WriteString(lines[i] + "\n")
	}
	b.WriteString("\n</details>\n\n")
}

func stepLine(s Step) string {
	text := line(Clean(s.Text), 300)
	switch s.Kind {
	case "place":
		text = s.Text // made here, with names as code
	case "tool":
		text = code(line(s.Text, 200))
	}
	out := "- " + text
	if s.Detail != "" {
		out += " " + Clean(s.Detail)
	}
	switch {
	case s.Running:
		out += " …"
	case !s.OK:
		out += " ✗"
	}
	return out
}

// next says how to go on.
func next(v *View) string {
	switch v.State {
	case AwaitingApproval:
		return "Answer with <code>/agent approve ID</code> or <code>/agent deny ID reason</code>. A new <code>/agent …</code> comment withdraws the request."
	case AwaitingAnswer:
		return "Answer with <code>/agent …</code> in this thread."
	case OutOfBudget:
		return "Go on with <code>/agent budget +10</code>."
	case Failed, Crashed:
		return "Try again with <code>/agent retry</code>."
	case Running, Queued:
		return "End it with <code>/agent stop</code>."
	}
	return "Go on with <code>/agent …</code> in this thread."
}

// Approval is the comment that asks a person. What it shows is what will be
// done: the whole command or diff, with invisible characters made visible.
func Approval(a session.Asked, requester string) string {
	var b strings.Builder
	if a.Kind == "question" {
		fmt.Fprintf(&b, "### ❓ The agent asks\n\n%s\n\n", limit(Clean(a.Display), 30000))
		for i, c := range a.Choices {
			fmt.Fprintf(&b, "%d. %s\n", i+1, line(Clean(c), 300))
		}
		fmt.Fprintf(&b, "\nAnswer with `/agent <your answer>`. Question `%s`.\n", a.ID)
		return limit(b.String(), MaxBody)
	}
	what := "run a command"
	lang := "sh"
	if a.Tool != "run_terminal_command" {
		what, lang = "change "+paths(a.Paths), "diff"
	}
	fmt.Fprintf(&b, "### ✋ Approval `%s`: the agent wants to %s\n\n", a.ID, what)
	if a.Severity != "" && a.Severity != "none" {
		fmt.Fprintf(&b, "Severity: **%s**\n\n", a.Severity)
	}
	shown := untrusted.EscapeVisible(a.Display)
	b.WriteString(fenced(lang, shown))
	b.WriteString(reasons(a))
	fmt.Fprintf(&b, "\n`/agent approve %s` lets exactly this happen, once. `/agent deny %s <reason>` refuses it, and the agent goes on without.\n\n", a.ID, a.ID)
	b.WriteString(requestFoot(a, requester))
	return b.String()
}

// reasons lists why a person is asked.
func reasons(a session.Asked) string {
	var b strings.Builder
	for _, r := range a.Reasons {
		fmt.Fprintf(&b, "- %s\n", Clean(untrusted.EscapeVisible(r)))
	}
	return b.String()
}

// requestFoot ends a request: what exactly is asked, by whom, and until when.
func requestFoot(a session.Asked, requester string) string {
	foot := "sha256 `" + a.Digest + "`"
	if requester != "" {
		foot += " · asked for by " + Clean(requester)
	}
	if !a.Deadline.IsZero() {
		foot += " · until " + a.Deadline.UTC().Format("2006-01-02 15:04 MST")
	}
	return "<sub>" + foot + "</sub>\n"
}

// TooLongToShow says whether a request cannot be shown whole in one comment.
// What cannot be shown cannot be approved there.
func TooLongToShow(a session.Asked) bool { return len([]rune(Approval(a, ""))) > MaxBody }

// Final is the comment that tells how a session ended when there is no pull
// request to tell it.
func Final(v *View) string {
	if v.Outcome == nil {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s **%s**\n\n", icon(v.State), v.State)
	for _, text := range []string{v.Outcome.Reason, v.Outcome.Summary} {
		if text != "" {
			b.WriteString(limit(Clean(text), 30000) + "\n\n")
		}
	}
	places(&b, v.Sent, "this thread")
	files(&b, v.Files)
	b.WriteString("<sub>" + next(v) + "</sub>\n")
	return limit(b.String(), MaxBody)
}

func paths(list []string) string {
	out := make([]string, 0, len(list))
	for i, p := range list {
		if i == 5 {
			out = append(out, fmt.Sprintf("%d more files", len(list)-i))
			break
		}
		out = append(out, code(p))
	}
	return strings.Join(out, ", ")
}

// PullTitle is the title of the pull request of a session.
func PullTitle(task string) string {
	t := line(strings.TrimSpace(task), 72)
	if t == "" {
		return "Changes by the agent"
	}
	return strings.ToUpper(t[:1]) + t[1:]
}

// Origin is the thread that a pull request comes from: an issue, which it
// closes, or another pull request.
type Origin struct {
	Number int // 0 for none
	Pull   bool
}

// PullBody is the body of the pull request.
func PullBody(v *View, requester string, from Origin) string {
	var b strings.Builder
	if v.Outcome != nil && v.Outcome.Summary != "" {
		b.WriteString(limit(Clean(v.Outcome.Summary), 30000) + "\n\n")
	}
	places(&b, v.Sent, fmt.Sprintf("#%d", from.Number))
	files(&b, v.Files)
	switch {
	case from.Pull:
		fmt.Fprintf(&b, "Comes from #%d\n\n", from.Number)
	case from.Number > 0:
		fmt.Fprintf(&b, "Fixes #%d\n\n", from.Number)
	}
	fmt.Fprintf(&b, "<sub>Made by an agent%s. Every commit is a checkpoint.</sub>\n", by(requester))
	return limit(b.String(), MaxBody)
}

func by(requester string) string {
	if requester == "" {
		return ""
	}
	return ", asked for by " + Clean(requester)
}

// fenced puts text into a code block that the text cannot close.
func fenced(lang, text string) string {
	longest, run := 2, 0
	for _, r := range text {
		if r == '`' {
			run++
			longest = max(longest, run)
		} else {
			run = 0
		}
	}
	mark := strings.Repeat("`", longest+1)
	return mark + lang + "\n" + strings.TrimSuffix(text, "\n") + "\n" + mark + "\n\n"
}

// code shows a name inline; backticks and control characters cannot break out.
func code(s string) string {
	s = strings.ReplaceAll(untrusted.EscapeVisible(s), "\n", `\n`) //control:names-on-their-line
	if strings.Contains(s, "`") {
		return "`` " + strings.ReplaceAll(s, "``", "` `") + " ``"
	}
	return "`" + s + "`"
}

// Clean makes text that came from a model or a person safe to post.
func Clean(s string) string { return untrusted.CleanOutput(s, untrusted.OutputOptions{}) }

// line cuts s to its first line and at most n characters.
func line(s string, n int) string {
	s, _, more := strings.Cut(strings.TrimSpace(s), "\n")
	if r := []rune(s); len(r) > n {
		return string(r[:n-1]) + "…"
	}
	if more {
		s += " …"
	}
	return s
}

// limit cuts s to at most n characters, says so, and closes an open code block.
func limit(s string, n int) string {
	r := []rune(s)
	if len(r) <= n {
		return s
	}
	const note = "\n\n… (cut here; the session's log has all of it)\n"
	cut := string(r[:n-len(note)-8])
	if strings.Count(cut, "\n```")%2 == 1 {
		cut += "\n```"
	}
	return cut + note
}
