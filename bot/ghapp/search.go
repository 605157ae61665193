package ghapp

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-github/v62/github"
)

// GitHub's limits of a search, and the number of its results to read.
const (
	maxSearchWords   = 6 // joined by five operators
	maxSearchLength  = 256
	maxSearchResults = 50
)

// SearchIssues returns the issues of the repository, open and closed, that have one of the
// words, best match first, at most 50. It is a single request, of a rate limit of its own
// (30 a minute). Words beyond GitHub's limits are left out; without a word, it returns none.
func (c *Client) SearchIssues(ctx context.Context, words []string) ([]Issue, error) {
	terms := searchTerms(words)
	if len(terms) == 0 {
		return nil, nil
	}
	query := fmt.Sprintf("repo:%s/%s is:issue (%s)", c.owner, c.repo, strings.Join(terms, " OR "))
	// A client of its own: go-github counts searches on an Enterprise Server as other calls, and
	// would make none of these until the limit of searches begins anew.
	gh := c.app.rest(c.gh.Client().Transport) //control:searches-count-apart
	found, resp, err := gh.Search.Issues(ctx, query, &github.SearchOptions{
		ListOptions: github.ListOptions{PerPage: maxSearchResults},
	})
	if err != nil {
		return nil, c.readError("search issues", err)
	}
	if resp.StatusCode != http.StatusOK {
		return nil, &Error{Op: "search issues", Kind: Temporary, Status: resp.StatusCode,
			Err: fmt.Errorf("GitHub answers %s", resp.Status)}
	}
	var out []Issue
	for _, is := range found.Issues {
		if is.IsPullRequest() || !c.isOwn(is.GetRepositoryURL()) { //control:search-is-of-the-repository
			continue
		}
		out = append(out, c.issue(is))
	}
	return out, nil
}

// isOwn reports whether an address of the API is that of the client's repository.
func (c *Client) isOwn(address string) bool {
	return strings.HasSuffix(strings.ToLower(address), strings.ToLower("/repos/"+c.owner+"/"+c.repo))
}

// searchTerms returns the words that a query can hold. A word has letters, digits and
// underscores only and is no operator, so that it adds no condition to the query.
func searchTerms(words []string) (out []string) {
	length := 0
	for _, w := range words {
		plain := !strings.ContainsFunc(w, func(r rune) bool {
			return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_'
		})
		if w = strings.ToLower(w); w == "" || !plain || slices.Contains([]string{"and", "or", "not"}, w) { //control:search-words-are-words
			continue
		}
		if length += utf8.RuneCountInString(w) + 1; length > maxSearchLength || len(out) == maxSearchWords {
			break
		}
		out = append(out, w)
	}
	return out
}
