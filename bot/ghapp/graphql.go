package ghapp

import (
	"bytes"
	"context"
	_ "embed" // the queries
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/google/go-github/v62/github"

	"github.com/handrail-bot/handrail/bot/thread"
)

// Query is one of the questions that are asked by GraphQL. There are no
// others, because GraphQL could also merge and approve.
type Query int

// The queries.
const (
	ReviewThreads Query = iota // of a pull request, a page of them
	ClosingIssues              // that merging a pull request closes
)

//go:embed queries/review_threads.graphql
var reviewThreads string

//go:embed queries/closing_issues.graphql
var closingIssues string

// queries are the texts, with the permissions that they need.
var queries = [...]struct{ text, names string }{
	ReviewThreads: {reviewThreads, "pull_requests"},
	ClosingIssues: {closingIssues, "issues,pull_requests"},
}

// maxAnswer is more bytes than an answer to one of them has.
const maxAnswer = 32 << 20

// queryKey is the key of a query in the context of its request.
type queryKey struct{}

// queryOf returns the query that a request asks, if it does.
func queryOf(r *http.Request) (Query, bool) {
	q, ok := r.Context().Value(queryKey{}).(Query)
	return q, ok
}

// graphQL is the address for GraphQL, which stands beside the REST API.
func (a *App) graphQL() string {
	u := *a.api
	if base, ok := strings.CutSuffix(u.Path, "/v3/"); ok { // an enterprise server
		u.Path = base + "/graphql"
	} else {
		u.Path += "graphql"
	}
	return u.String()
}

// graphError is what GraphQL says of something that it could not answer.
type graphError struct {
	Type, Message string
	Path          []any
}

// Query asks about a pull request of the client's repository and decodes what
// is said of it into out. vars are variables besides owner, name and number.
func (c *Client) Query(ctx context.Context, q Query, ref thread.Ref, vars map[string]any, out any) error {
	const op = "query pull request"
	if err := c.own(op, ref); err != nil { //control:queries-own
		return err
	}
	all := map[string]any{"owner": c.owner, "name": c.repo, "number": ref.Number}
	for k, v := range vars {
		all[k] = v
	}
	body, err := json.Marshal(map[string]any{"query": queries[q].text, "variables": all})
	if err != nil {
		return &Error{Op: op, Err: err}
	}
	req, err := http.NewRequest(http.MethodPost, c.app.graphQL(), bytes.NewReader(body))
	if err != nil {
		return &Error{Op: op, Err: err}
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", c.gh.UserAgent)
	var got struct {
		Data struct {
			Repository struct{ PullRequest json.RawMessage }
		}
		Errors []graphError
	}
	// Not by the client of the REST API: it would take GraphQL's limit for its own.
	resp, err := c.gh.Client().Do(req.WithContext(context.WithValue(ctx, queryKey{}, q)))
	if err != nil {
		return c.readError(op, err)
	}
	defer discard(resp)
	if err := github.CheckResponse(resp); err != nil {
		return c.readError(op, err)
	}
	if err := json.NewDecoder(io.LimitReader(resp.Body, maxAnswer)).Decode(&got); err != nil {
		return c.readError(op, err)
	}
	pull := got.Data.Repository.PullRequest
	if len(pull) == 0 || string(pull) == "null" {
		return unanswered(op, got.Errors)
	}
	if err := json.Unmarshal(pull, out); err != nil {
		return &Error{Op: op, Err: fmt.Errorf("read answer: %w", err)}
	}
	return nil
}

// unanswered is the error for a query without an answer.
func unanswered(op string, list []graphError) error {
	e := &Error{Op: op, Kind: Temporary, Err: errors.New("GraphQL gave no answer")}
	for _, g := range list {
		switch g.Type {
		case "NOT_FOUND":
			e.Kind, e.Status = Permanent, http.StatusNotFound
		case "FORBIDDEN", "INSUFFICIENT_SCOPES":
			e.Kind, e.Status = Permanent, http.StatusForbidden
		case "RATE_LIMITED":
			e.RetryAfter = defaultRetryAfter
		}
		e.Err = fmt.Errorf("GraphQL: %s", g.Message)
	}
	return e
}
