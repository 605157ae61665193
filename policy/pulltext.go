package policy

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/handrail-bot/handrail/policy/pattern"
	"github.com/handrail-bot/handrail/policy/untrusted"
)

// PullWords are the values for the templates of a pull request's title and body. Summary
// and Files are multi-line Markdown. A title gets only the first line of Summary, and
// never Files.
type PullWords struct {
	Branch            BranchValues
	Title, Head, Base string
	Requester         string
	Summary, Files    string
}

// pullWords lists the placeholders.
var pullWords = []string{
	"title", "number", "summary", "files", "branch", "base", "mode", "requester", "session", "slug",
}

// placeholderRE matches possible placeholders; other braces are text.
var placeholderRE = pattern.Lazy(`\{[ \t]*([A-Za-z_-]+)[ \t]*\}`)

// checkPullTemplate returns an error for an unknown placeholder, or for a title with
// several lines.
func checkPullTemplate(template string, title bool) error {
	if title && strings.ContainsAny(strings.TrimSpace(template), "\r\n") {
		return fmt.Errorf("a title has one line")
	}
	for _, m := range placeholderRE().FindAllStringSubmatch(template, -1) {
		switch word := m[1]; {
		case !slices.Contains(pullWords, word) || m[0] != "{"+word+"}":
			hint := ""
			if near := Nearest(strings.ToLower(word), pullWords); near != "" {
				hint = fmt.Sprintf(", did you mean {%s}?", near)
			}
			return fmt.Errorf("unknown placeholder %s%s", untrusted.EscapeLine(m[0]), hint)
		case title && word == "files":
			return fmt.Errorf("{files} has several lines, which a title cannot have")
		}
	}
	return nil
}

// Fill fills in a template. It does not expand placeholders in the values.
func (w PullWords) Fill(template string) string {
	number := "run"
	if w.Branch.Number > 0 {
		number = strconv.Itoa(w.Branch.Number)
	}
	return strings.NewReplacer(
		"{title}", w.Title, "{number}", number, "{summary}", w.Summary, "{files}", w.Files, "{branch}", w.Head,
		"{base}", w.Base, "{mode}", w.Branch.Mode, "{requester}", w.Requester, "{session}", w.Branch.Session,
		"{slug}",
		slug(w.Branch.Title),
	).Replace(template)
}

// Line fills in the template of a title. The result may be empty.
func (w PullWords) Line(template string) string {
	w.Summary, _, _ = strings.Cut(strings.TrimLeft(w.Summary, "# \t\n"), "\n")
	return strings.Join(strings.Fields(w.Fill(template)), " ")
}

// maxLabel is GitHub's maximum length of a label, in characters.
const maxLabel = 50

var teamSlugRE = pattern.Lazy(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,99}$`)

// checkPull checks the pull request settings.
func (c Config) checkPull(p *problems) {
	set := c.PullRequest
	p.oneOf(set.Branch, []string{"own", "stacked"}, "pull_request", "branch")
	p.oneOf(set.Ready, []string{"on request", ReadyWhenGreen}, "pull_request", "ready")
	for key, text := range map[string]string{"title": set.Title, "body": set.Body} {
		if err := checkPullTemplate(text, key == "title"); err != nil {
			p.add(err.Error(), "pull_request", key)
		}
	}
	if set.Base != "" {
		if err := plainRef(set.Base); err != nil {
			p.add(fmt.Sprintf("%q cannot be a branch: %s", set.Base, err), "pull_request", "base")
		}
	}
	for i, l := range set.Labels {
		if l != strings.TrimSpace(l) || l == "" || len([]rune(l)) > maxLabel || strings.ContainsAny(l, "\r\n") {
			p.add(fmt.Sprintf("%q cannot be a label: one has 1 to %d characters", l, maxLabel), "pull_request", "labels", i)
		}
	}
	for i, who := range set.Reviewers {
		if err := ValidateLogin(who); err != nil {
			p.add(fmt.Sprintf("%q is not a login, such as octocat", who), "pull_request", "reviewers", i)
		}
	}
	for i, team := range set.TeamReviewers {
		if !teamSlugRE().MatchString(team) {
			p.add(
				fmt.Sprintf("%q is not the short name of a team of the repository's owner, such as core", team),
				"pull_request",
				"team_reviewers",
				i,
			)
		}
	}
}
