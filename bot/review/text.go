package review

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/policy/pattern"
	"github.com/handrail-bot/handrail/policy/phrase"
	"github.com/handrail-bot/handrail/policy/untrusted"
)

const (
	maxTold    = 50     // maximum number of findings in a summary
	maxWords   = 1500   // maximum length of the reviewer's own text, in characters
	maxUnread  = 20     // maximum number of file names
	maxSummary = 60_000 // characters; GitHub accepts 65,536
)

var weights = map[session.Severity]string{session.High: "High", session.Medium: "Medium", session.Low: "Low"}

// claim returns a finding as one line.
func claim(f session.Finding) string {
	text := strings.NewReplacer("*", `\*`, "`", "`").Replace(strings.TrimRight(line(f.Claim), ". "))
	word := weights[f.Severity]
	if f.Unsure != "" {
		word += ", not sure"
	}
	return fmt.Sprintf("**%s: %s.**", word, text)
}

// line returns text as a single line that is safe to post.
func line(s string) string {
	return untrusted.CleanOutput(strings.Join(strings.Fields(s), " "), untrusted.OutputOptions{})
}

// body returns the text of a comment on lines.
func body(f session.Finding) string {
	var b strings.Builder
	b.WriteString(claim(f) + "\n\n" + why(f))
	if f.Suggestion != nil {
		b.WriteString("\n\n" + suggestion(*f.Suggestion))
	}
	return b.String()
}

// block matches the beginning of a block that GitHub offers to commit.
var block = pattern.Lazy("(?i)([`~]{3,}[ \t]*)suggestion")

func why(f session.Finding) string {
	text := block().ReplaceAllString(strings.TrimSpace(f.Why), "${1}text") //control:only-tried-suggestions
	text = untrusted.CleanOutput(text, untrusted.OutputOptions{})
	if f.Unsure != "" {
		text += "\n\nA second look did not confirm it: " + line(f.Unsure)
	}
	return text
}

// suggestion returns a block that GitHub offers to commit. Its fence is longer than any
// fence in the code.
func suggestion(code string) string {
	fence := "```"
	for strings.Contains(code, fence) {
		fence += "`"
	}
	if code != "" {
		code += "\n"
	}
	return fence + "suggestion\n" + code + fence
}

// summary returns the text above the comments. It includes the findings that are on no
// line of the diff, with links to their lines.
func (in input) summary(r review) string {
	var b strings.Builder
	b.WriteString(in.count(r) + "\n")
	for i, f := range r.Elsewhere {
		if i == maxTold || utf8.RuneCountInString(b.String()) > maxSummary/2 {
			fmt.Fprintf(&b, "\nand %d less important ones.\n", len(r.Elsewhere)-i)
			break
		}
		fmt.Fprintf(&b, "\n%s [%s](%s)\n\n%s\n", claim(f), untrusted.EscapeLine(where(f)), in.Link(f), why(f))
	}
	if words := strings.TrimSpace(in.Words); words != "" {
		b.WriteString("\n" + untrusted.CleanOutput(short(words, maxWords), untrusted.OutputOptions{}) + "\n")
	}
	if told := in.Coverage(); told != "" {
		b.WriteString("\n" + told + "\n")
	}
	if in.Moved != "" { //control:says-what-was-read
		fmt.Fprintf(&b, "\nReviewed as of `%.10s`, without later commits.\n", in.Moved)
	}
	return b.String()
}

// where names the lines of a finding, with Markdown escaped.
func where(f session.Finding) string {
	return strings.NewReplacer("[", "(", "]", ")", "`", "'", "*", `\*`, "_", `\_`).Replace(f.Where())
}

func (in input) count(r review) string {
	on, here := len(r.Comments), len(r.Elsewhere)
	switch {
	case on+here == 0:
		return "No findings."
	case here == 0:
		return fmt.Sprintf("%s, on the lines.", phrase.Count(on, "finding"))
	case on == 0 && len(in.Files) == 0: // an issue has no diff
		return phrase.Count(here, "finding") + "."
	case on == 0:
		return fmt.Sprintf("%s, on lines outside the diff.", phrase.Count(here, "finding"))
	}
	return fmt.Sprintf("%s: %d on the lines, %d here.", phrase.Count(on+here, "finding"), on, here)
}

func allOf(files int) string {
	if files == 2 {
		return "both files"
	}
	return fmt.Sprintf("all %d files", files)
}

// Coverage names the unread files, and why they are unread. It is empty if that needs no
// mention.
func (in input) Coverage() string {
	var unread, made []string
	for _, p := range in.Unread {
		if RankOf(p) == Generated {
			made = append(made, p)
			continue
		}
		unread = append(unread, p)
	}
	all := in.Read + len(in.Unread)
	switch {
	case all < 2 && len(in.Unread) == 0:
		return ""
	case len(in.Unread) == 0 && in.Again:
		return "" // only new changes were reviewed
	case len(in.Unread) == 0:
		return fmt.Sprintf("Read %s.", allOf(all))
	}
	said := []string{fmt.Sprintf("Read %d of %d files.", in.Read, all)}
	if all == 1 {
		said[0] = "Read nothing."
	}
	if len(unread) > 0 {
		said = append(said, "Not read for lack of time or room: "+names(unread)+".")
	}
	if len(made) > 0 {
		said = append(said, "Left out as generated: "+names(made)+".")
	}
	return strings.Join(said, " ")
}

func names(paths []string) string {
	var list []string
	for _, p := range paths[:min(len(paths), maxUnread)] {
		list = append(list, "`"+strings.ReplaceAll(untrusted.EscapeLine(p), "`", "'")+"`")
	}
	more := ""
	if n := len(paths) - len(list); n > 0 {
		more = fmt.Sprintf(" and %d more", n)
	}
	return strings.Join(list, ", ") + more
}

// short cuts a text at a line break if one is near, and closes an open code block.
func short(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	s = string([]rune(s)[:n])
	if at := strings.LastIndex(s, "\n"); at > n/2 {
		s = s[:at]
	}
	if strings.Count(s, "\n```")%2 == 1 || strings.HasPrefix(s, "```") && strings.Count(s, "\n```")%2 == 0 {
		s += "\n```"
	}
	return s + " …"
}
