package render

import (
	"fmt"
	"strings"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/policy"
	"github.com/handrail-bot/handrail/policy/phrase"
	"github.com/handrail-bot/handrail/policy/untrusted"
)

// ReviewTitle is the title of the small pull request that asks about an edit.
func ReviewTitle(a session.Asked) string { return "May I change " + plainPaths(a.Paths) + "?" }

// Reviewed leads to the review with the findings of a session.
func Reviewed(address string) string { return "The review: " + address }

// plainPaths formats paths for a title, which is not Markdown.
func plainPaths(list []string) string {
	out := ""
	for i, p := range list {
		if i == 2 {
			return fmt.Sprintf("%s and %s", out, phrase.Count(len(list)-i, "more file"))
		}
		if i > 0 {
			out += ", "
		}
		out += line(untrusted.EscapeLine(p), 80)
	}
	return out
}

// ReviewBody explains the request, and the effect of each answer, to a reviewer without
// knowledge of the session. The pull request's diff is the edit itself.
func ReviewBody(a session.Asked, requester string, thread int) string {
	var b strings.Builder
	whom := ""
	if requester != "" {
		whom = " for " + clean(requester)
	}
	fmt.Fprintf(
		&b,
		"I am working on #%d%s, on the branch %s. This edit needs approval first, so it is not there yet. **The diff of this pull request is the whole edit**: %s.\n\n",
		thread,
		whom,
		code(a.Review.Base),
		paths(a.Paths),
	)
	b.WriteString(reasons(a))
	fmt.Fprintf(&b, "| your answer | effect |\n|---|---|\n")
	fmt.Fprintf(
		&b,
		"| review: **approve** | exactly this diff goes to %s with my next commit; this pull request is closed and its branch deleted |\n",
		code(a.Review.Base),
	)
	b.WriteString(
		"| review: **request changes** | the edit is dropped; I read your words and go on without it |\n",
	)
	b.WriteString("| **close** it | the edit is dropped; I go on without it |\n")
	b.WriteString("| **merge** it yourself | like an approval |\n")
	b.WriteString("| review or comment without a verdict | nothing yet |\n")
	b.WriteString("| push to its branch | nothing is taken from here; I ask again |\n")
	if !a.Deadline.IsZero() {
		fmt.Fprintf(&b, "| none until %s | the edit is dropped |\n", a.Deadline.UTC().Format("2006-01-02 15:04 MST"))
	}
	fmt.Fprintf(
		&b,
		"\nOnly answers of this repository's approvers count; one rejection wins. In #%d, `/agent approve %s` and `/agent deny %s <reason>` do the same.\n\n",
		thread,
		a.ID,
		a.ID,
	)
	fmt.Fprintf(&b, "request `%s` · commit `%.12s` · sha256 `%s`\n", a.ID, a.Review.Commit, a.Digest)
	return limit(b.String(), maxBody)
}

// ReviewNotice says in the session's thread which pull request reviews an edit.
func ReviewNotice(a session.Asked, pull int, requester string) untrusted.Post {
	var b strings.Builder
	fmt.Fprintf(&b, "### ✋ Approval `%s`: may I change %s?\n\n", a.ID, paths(a.Paths))
	fmt.Fprintf(
		&b,
		"The edit is in #%d. Answer with a review there: approve takes exactly that diff, request changes drops it, and I read why.\n\n",
		pull,
	)
	b.WriteString(reasons(a) + requestFacts(a, requester))
	fmt.Fprintf(&b, "`/agent approve %s` and `/agent deny %s <reason>` here do the same.\n", a.ID, a.ID)
	return untrusted.Post{Text: limit(b.String(), maxBody), Folds: details([]session.Asked{a})}
}

// NotReviewed explains at the end of a comment why no pull request asks instead; empty if
// a comment was intended.
func NotReviewed(why string) string {
	if why == "" {
		return ""
	}
	return "\nAsked here, not by review: " + line(clean(why), 500) + "\n"
}

// ReviewEnd is the outcome of a request that was up for review.
type ReviewEnd struct {
	Asked  session.Asked
	By     session.Resolved // the answer
	Commit string           // with the edit
	Merged bool             // the pull request was merged by hand
	Moved  bool             // its content differs from the request
}

// Text returns the bot's final comment on the pull request. thread is the session's, and
// commit returns the address of a commit.
func (e ReviewEnd) Text(thread int, commit func(string) string) string {
	by := ""
	if e.By.By != "" {
		by = " by " + clean(e.By.By)
	}
	var text string
	goes := "continues"
	switch {
	case e.Commit != "":
		text = fmt.Sprintf(
			"**Taken**: approved%s. The edit is on %s with [`%.7s`](%s).",
			by,
			code(e.Asked.Review.Base),
			e.Commit,
			commit(e.Commit),
		)
	case e.By.Verdict == policy.Approved:
		goes = "was"
		text = "**Not used**: it was approved" + by + ", but my work ended first."
	case e.By.Verdict == policy.Denied:
		text = "**Dropped**: rejected" + by + ". I read why, and go on without this edit."
		if e.Merged {
			text = "**No longer my edit**: " + line(clean(e.By.Reason), 500) + ". The merge stays as it is."
		}
	case e.By.Verdict == policy.Expired:
		text = "**Dropped**: not answered in time. I go on without this edit."
	case e.By.Verdict == policy.Withdrawn:
		text = fmt.Sprintf("**Withdrawn**: a new instruction%s in #%d replaced this request.", by, thread)
	default:
		text = "**Out of date**: " + line(clean(e.By.Reason), 500) + ". If the edit is still needed, I ask again."
	}
	if e.Moved {
		text += " Its branch has commits by others, so it is not deleted."
	}
	return fmt.Sprintf("%s\n\nMy work %s in #%d.\n", text, goes, thread)
}
