package render

import (
	"cmp"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/policy"
	"github.com/handrail-bot/handrail/policy/untrusted"
)

// Approval returns the text of a request for approval: the whole command or diff, with
// invisible characters made visible, the reasons, and the ways to answer. The digest is
// for machines, see [details].
func Approval(a session.Asked, requester string) string { return approval(a, requester, explained) }

// waysToAnswer tells how a request says the ways to answer it.
type waysToAnswer int

const (
	explained waysToAnswer = iota
	brief                  // as the commands alone
	settled                // not at all, since it is settled
)

// repositoryWants begins the title of a request that the repository's configuration makes.
const repositoryWants = "the repository wants to"

func approval(a session.Asked, requester string, ways waysToAnswer) string {
	if ways == settled {
		a.Deadline = time.Time{}
	}
	if a.Kind == session.AskQuestion {
		return question(a, ways)
	}
	if a.Kind == session.AskPlan {
		return planText(a, requester, ways)
	}
	var b strings.Builder
	who, what, lang := "", "run a command", "sh"
	approved, denied := "allows exactly this, once", "and I go on without it"
	switch {
	case a.Tool == session.GuestAction && strings.HasPrefix(a.Display, session.GuestOther):
		what, lang = "use a tool that is not Handrail's", "text"
	case a.Tool == "run_terminal_command", a.Tool == session.GuestAction && len(a.Paths) == 0:
	case a.Tool == session.SetUpTool:
		who, what = repositoryWants, "run its set-up, once for all sessions"
		approved, denied = "allows it for all sessions, until it changes", "for all sessions until it changes"
	case a.Tool == session.ProposedServer:
		who, what, lang = repositoryWants, "use the MCP server "+code(a.Server)+", in all sessions", "text"
		approved, denied = "allows it for all sessions, until it changes", "for all sessions until it changes"
	case a.Tool == session.ProposedLanguageServer:
		who, what, lang = repositoryWants, "use the language server "+code(a.Server)+", in all sessions", "text"
		approved, denied = "allows it for all sessions, until it changes", "for all sessions until it changes"
	case a.Server != "":
		what, lang = "use the MCP server "+code(a.Server), "text"
	case strings.HasPrefix(a.Display, a.Tool+" {"): // it is shown as the call that it is
		what, lang = "use "+code(a.Tool), "text"
	case len(a.Paths) == 0:
		what, lang = "write in this thread", "text"
	case a.Tool == session.PublishTool:
		what, lang = "push a change to "+paths(a.Paths), "diff"
	default:
		what, lang = "change "+paths(a.Paths), "diff"
	}
	how := who + " " + what
	if who == "" {
		how = "may I " + what + "?" //control:one-voice
	}
	fmt.Fprintf(&b, "### ✋ Approval `%s`: %s\n\n", a.ID, how)
	shown := untrusted.EscapeVisible(a.Display)
	b.WriteString(fenced(lang, shown))
	if !strings.Contains(clean(fenced(lang, shown)), shown) {
		b.WriteString(
			"A space or a backslash was added above, so that GitHub, bots and runners do not act on the text; it is carried out without them.\n\n",
		)
	}
	b.WriteString(reasons(a) + requestFacts(a, requester))
	if ways == settled {
		return strings.TrimRight(b.String(), "\n") + "\n"
	}
	if ways == brief && a.Tool != session.SetUpTool {
		fmt.Fprintf(&b, "`/agent approve %s` or `/agent deny %s <reason>`\n", a.ID, a.ID)
		return b.String()
	}
	fmt.Fprintf(&b, "`/agent approve %s` %s. `/agent deny %s <reason>` refuses it, %s.\n", a.ID, approved, a.ID, denied)
	return b.String()
}

// question returns the text of the agent's question.
func question(a session.Asked, ways waysToAnswer) string {
	var b strings.Builder
	fmt.Fprintf(&b, "### ❓ I have a question\n\n%s\n\n", askedText(a))
	for i, c := range a.Choices {
		fmt.Fprintf(&b, "%d. %s\n", i+1, item(line(c, 300)))
	}
	if ways == settled {
		return b.String()
	}
	how := "Quote this and write your answer below it"
	if len(a.Choices) > 0 {
		how = "Answer with the number or the words of a choice"
	}
	fmt.Fprintf(&b, "\n%s, or write `/agent` and your answer. Question `%s`.\n", how, a.ID)
	return b.String()
}

// reasons lists the reasons for which approval is required.
func reasons(a session.Asked) string {
	var b strings.Builder
	if len(a.Reasons) > 0 {
		b.WriteString("Why this needs approval:\n\n")
	}
	for _, r := range a.Reasons {
		why, _ := byRule(r)
		fmt.Fprintf(&b, "- %s\n", item(untrusted.EscapeLine(why)))
	}
	if b.Len() > 0 {
		b.WriteString("\n")
	}
	return b.String()
}

// byRule splits off the pattern at the end of a reason, which marks a file as
// sensitive.
func byRule(reason string) (why, pattern string) {
	at := strings.LastIndex(reason, " (")
	if at < 0 || !strings.HasSuffix(reason, ")") || !strings.Contains(reason[at:], "*") {
		return reason, ""
	}
	return reason[:at], strings.TrimSuffix(reason[at+2:], ")")
}

// requestFacts returns a line with the severity, the requester and the deadline.
func requestFacts(a session.Asked, requester string) string {
	var facts []string
	if a.Severity != "" && a.Severity != "none" {
		facts = append(facts, "Severity: **"+a.Severity+"**")
	}
	if requester != "" {
		facts = append(facts, "Requested by "+clean(requester))
	}
	if !a.Deadline.IsZero() {
		facts = append(facts, "Open until "+a.Deadline.UTC().Format("2006-01-02 15:04 MST"))
	}
	if len(facts) == 0 {
		return ""
	}
	return strings.Join(facts, " · ") + "\n\n"
}

// details folds the data for machines: the digest that an approval is bound to, and the
// patterns of the rules that require it.
func details(list []session.Asked) []untrusted.Fold {
	var b strings.Builder
	for _, a := range list {
		b.WriteString(detail(a))
	}
	if b.Len() == 0 {
		return nil
	}
	return []untrusted.Fold{{Title: "Details: digest and rules", Text: b.String()}}
}

func detail(a session.Asked) string {
	if a.Digest == "" {
		return ""
	}
	out := fmt.Sprintf("- `%s`: sha256 `%s`\n", a.ID, a.Digest)
	for _, r := range a.Reasons {
		if _, pattern := byRule(r); pattern != "" {
			out += "  - pattern " + code(line(pattern, 100)) + "\n"
		}
	}
	return out
}

// TooLongToShow reports whether a request does not fit into one comment. It cannot be
// approved then. A plan or a question may take several.
func TooLongToShow(a session.Asked) bool {
	return len(before(a)) > maxParts || utf8.RuneCountInString(clean(Approval(a, ""))+detail(a)) > maxBody-roomForRest
}

// roomForRest is the room for mentions, the link and a fold in a request.
const roomForRest = 1600

// settledTitle returns the fold title of a settled request: the verdict, the approver and
// the outcome.
func settledTitle(r Request) string {
	icon := map[bool]string{true: "✅", false: "⏹️"}[r.Answer.Verdict == policy.Approved || r.Answer.Verdict == policy.Answered]
	out := fmt.Sprintf("%s %s%s: %s", icon, map[bool]string{true: "Plan "}[r.Kind == session.AskPlan], r.ID, verdictOf(r))
	if r.Answer.By != "" && r.Answer.Verdict != policy.Stale && (r.Answer.ByID != 0 || r.Answer.By != programName) {
		out += " by " + line(r.Answer.By, 60)
	}
	switch {
	case r.Kind == session.AskPlan:
	case r.Answer.Verdict == policy.Approved:
		out += cmp.Or(outcomeOf(r.Request), "; not carried out yet")
	case r.Answer.Verdict != policy.Answered && r.Answer.Reason != "":
		out += " (" + line(r.Answer.Reason, 120) + ")"
	}
	return out
}

// outcomeOf returns the outcome of an approved request, or "" if there is none yet.
func outcomeOf(r *session.Request) string {
	switch {
	case r.Commit != "":
		return fmt.Sprintf("; on the branch with %.7s", r.Commit)
	case r.Came == nil:
		return ""
	case r.Came.OK:
		return "; carried out"
	}
	return "; carried out, but it failed"
}
