package ghtest

import (
	"net/http"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/handrail-bot/handrail/bot/ghapp/ghtest/hub"
)

const searchRoute = "GET /search/issues"

// query is a search for issues, as far as the fake knows its language: repo:, is: and
// state:, and words of which an issue has all, or one if OR joins them.
type query struct {
	repo, state   string
	issues, pulls bool
	words         []string
	any           bool
}

// parseQuery reads a query, and refuses one beyond GitHub's limits.
func parseQuery(text string) (query, error) {
	var q query
	operators, length := 0, 0
	for _, term := range strings.Fields(strings.NewReplacer("(", " ", ")", " ").Replace(text)) {
		name, value, _ := strings.Cut(term, ":")
		switch {
		case name == "repo":
			q.repo = value
		case name == "state":
			q.state = value
		case term == "is:open", term == "is:closed":
			q.state = value
		case term == "is:issue", term == "type:issue":
			q.issues = true
		case term == "is:pr", term == "is:pull-request", term == "type:pr":
			q.pulls = true
		case slices.Contains([]string{"AND", "OR", "NOT"}, term):
			operators++
			q.any = q.any || term == "OR"
		default:
			length += utf8.RuneCountInString(term) + 1
			q.words = append(q.words, strings.ToLower(term))
		}
	}
	refused := func(why string) (query, error) { return q, hub.Invalid("Search", "q", "invalid", why) }
	switch {
	case length > 256:
		return refused("The search is longer than 256 characters.")
	case operators > 5:
		return refused("More than five AND / OR / NOT operators were used.")
	case !q.issues && !q.pulls:
		return refused("Query must include 'is:issue' or 'is:pull-request'")
	}
	return q, nil
}

// searchIssues serves the search for issues and pull requests, those with the most of the
// words first.
func searchIssues(c *call) (int, any, error) {
	q, err := parseQuery(c.query("q"))
	if err != nil {
		return 0, nil, err
	}
	if owner, name, ok := strings.Cut(q.repo, "/"); ok {
		if repo := c.s.FindRepo(owner, name); repo == nil || !c.who.visible(c.s.Hub, repo) {
			return 0, nil, hub.Invalid("Search", "q", "invalid", "The listed users and repositories cannot be searched "+
				"either because the resources do not exist or you do not have permission to view them.")
		}
	}
	type hit struct {
		is    *hub.Issue
		score int
	}
	var hits []hit
	for _, repo := range c.s.Repos {
		if !c.who.visible(c.s.Hub, repo) || q.repo != "" && !strings.EqualFold(q.repo, repo.Owner.Login+"/"+repo.Name) {
			continue
		}
		for _, is := range repo.Sorted() {
			if score := q.score(is); score > 0 {
				hits = append(hits, hit{is, score})
			}
		}
	}
	slices.SortStableFunc(hits, func(a, b hit) int { return b.score - a.score })
	list := []object{}
	for _, h := range page(c, hits) {
		v := c.s.issueShape(h.is)
		v["score"], v["body"] = float64(h.score), h.is.Body // the description has no null here
		list = append(list, v)
	}
	return http.StatusOK, object{"total_count": len(hits), "incomplete_results": false, "items": list}, nil
}

// score returns the number of the query's words that an issue has, or 0 if it is none of
// the results.
func (q query) score(is *hub.Issue) int {
	if q.state != "" && is.State != q.state || is.Pull != nil && !q.pulls || is.Pull == nil && !q.issues {
		return 0
	}
	text := is.Title + " " + is.Body
	for _, cm := range is.Comments {
		text += " " + cm.Body
	}
	has := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_'
	})
	n := 0
	for _, w := range q.words {
		if slices.Contains(has, w) {
			n++
		}
	}
	if len(q.words) == 0 {
		return 1
	}
	if !q.any && n < len(q.words) {
		return 0
	}
	return n
}
