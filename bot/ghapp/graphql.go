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

	"github.com/handrail-bot/handrail/bot/ghapp/answer"
	"github.com/handrail-bot/handrail/bot/thread"
)

// Query is one of the fixed GraphQL queries. Arbitrary queries are impossible, because
// GraphQL could also merge and approve.
type Query int

// The queries.
const (
	ReviewThreads Query = iota // one page of a pull request's review threads
	ClosingIssues              // issues closed by merging a pull request
	resolveThread              // a mutation, see [WriteResolve]
	markReady                  // the other mutation, see [WriteReady]
)

//go:embed queries/review_threads.graphql
var reviewThreads string

//go:embed queries/closing_issues.graphql
var closingIssues string

//go:embed queries/resolve_thread.graphql
var resolveReviewThread string

//go:embed queries/mark_ready.graphql
var markPullReady string

// queries holds the query texts, the permissions that they need, and the members that an
// answer has, see package answer. GitHub resolves a thread, and ends a draft, only for an
// App with write access to contents.
var queries = [...]struct {
	text, names string
	members     string
	write       bool
}{
	ReviewThreads: {text: reviewThreads, names: "pull_requests", members: threadMembers},
	ClosingIssues: {text: closingIssues, names: "issues,pull_requests", members: closingMembers},
	resolveThread: {
		text:    resolveReviewThread,
		names:   "contents,pull_requests",
		members: "data.resolveReviewThread.thread.isResolved",
		write:   true,
	},
	markReady: {
		text:    markPullReady,
		names:   "contents,pull_requests",
		members: "data.markPullRequestReadyForReview.pullRequest.isDraft",
		write:   true,
	},
}

const (
	inPull        = "data.repository.pullRequest."
	threadMembers = inPull + "reviewThreads.totalCount* " + inPull + "reviewThreads.pageInfo.hasNextPage " +
		inPull + "reviewThreads.nodes[?].id " + inPull + "reviewThreads.nodes[?].isResolved " +
		inPull + "reviewThreads.nodes[?].path " + inPull + "reviewThreads.nodes[?].opening.nodes[?].author? " +
		inPull + "reviewThreads.nodes[?].opening.nodes[?].body* " + inPull + "reviewThreads.nodes[?].newest.nodes[?].body*"
	closingMembers = inPull + "closingIssuesReferences.totalCount* " + inPull + "closingIssuesReferences.nodes[?].number " +
		inPull + "closingIssuesReferences.nodes[?].repository.nameWithOwner"
)

// maxAnswer limits the size of a GraphQL answer, in bytes. It exceeds every real
// answer.
const maxAnswer = 32 << 20

// queryKey is the context key for the query of a request.
type queryKey struct{}

// queryOf returns the GraphQL query of a request, if it has one.
func queryOf(r *http.Request) (Query, bool) {
	q, ok := r.Context().Value(queryKey{}).(Query)
	return q, ok
}

// graphQL returns the address of the GraphQL API.
func (a *App) graphQL() string {
	u := *a.api
	if base, ok := strings.CutSuffix(u.Path, "/v3/"); ok { // GitHub Enterprise Server
		u.Path = base + "/graphql"
	} else {
		u.Path += "graphql"
	}
	return u.String()
}

// graphError is an error in a GraphQL answer.
type graphError struct {
	Type, Message string
	Path          []any
}

// Query runs a query about a pull request of the client's repository and decodes the
// pull request into out. vars are the variables other than owner, name and number.
func (c *Client) Query(ctx context.Context, q Query, ref thread.Ref, vars map[string]any, out any) error {
	const op = "query pull request"
	if err := c.own(op, ref); err != nil { //control:queries-own
		return err
	}
	all := map[string]any{"owner": c.owner, "name": c.repo, "number": ref.Number}
	for k, v := range vars {
		all[k] = v
	}
	got, err := sendQuery(ctx, c, op, q, all)
	if err != nil {
		return err
	}
	pull := got.Data.Repository.PullRequest
	if len(pull) == 0 || string(pull) == "null" {
		return unanswered(op, got.Errors)
	}
	if err := json.Unmarshal(pull, out); err != nil {
		return &Error{Op: op, Kind: Temporary, Err: fmt.Errorf("read answer: %w", err)}
	}
	return nil
}

// graphAnswer is a GraphQL answer.
type graphAnswer struct {
	Data struct {
		Repository          struct{ PullRequest json.RawMessage }
		ResolveReviewThread struct{ Thread struct{ IsResolved bool } }
		MarkReady           struct{ PullRequest *struct{ IsDraft bool } } `json:"markPullRequestReadyForReview"`
	}
	Errors []graphError
}

func sendQuery(ctx context.Context, c *Client, op string, q Query, vars map[string]any) (got graphAnswer, err error) {
	body, err := json.Marshal(map[string]any{"query": queries[q].text, "variables": vars})
	if err != nil {
		return got, &Error{Op: op, Err: err}
	}
	req, err := http.NewRequest(http.MethodPost, c.app.graphQL(), bytes.NewReader(body))
	if err != nil {
		return got, &Error{Op: op, Err: err}
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", c.gh.UserAgent)
	// The REST client is bypassed: it would mistake GraphQL's rate limit for its own.
	ctx = answer.WithGraph(context.WithValue(ctx, queryKey{}, q), queries[q].members)
	resp, err := c.gh.Client().Do(req.WithContext(ctx))
	if err != nil {
		return got, c.app.fail(op, queries[q].write, err)
	}
	defer discard(resp)
	if err := github.CheckResponse(resp); err != nil {
		return got, c.app.fail(op, queries[q].write, err)
	}
	err = json.NewDecoder(io.LimitReader(resp.Body, maxAnswer)).Decode(&got)
	return got, c.app.fail(op, queries[q].write, err)
}

// resolve resolves a review thread. It is idempotent.
func resolve(ctx context.Context, c *Client, w Write) (Ref, error) {
	const op = "resolve review thread"
	got, err := sendQuery(ctx, c, op, resolveThread, map[string]any{"input": map[string]any{"threadId": w.Target.Talk}})
	if err == nil && !got.Data.ResolveReviewThread.Thread.IsResolved {
		err = unanswered(op, got.Errors)
	}
	return Ref{}, err
}

// ready takes a pull request out of draft, unless its head is no longer w.Commit. It is
// idempotent.
func ready(ctx context.Context, c *Client, w Write) (Ref, error) {
	const op = "mark pull request as ready"
	p, err := c.GetPull(ctx, w.Thread)
	if err != nil || !p.Draft {
		return Ref{Number: p.Ref.Number, URL: p.URL}, err
	}
	if w.Commit != p.HeadSHA { //control:ready-head
		return Ref{}, &Error{Op: op, Kind: Permanent, Err: fmt.Errorf("its head is %.7s now", p.HeadSHA)}
	}
	got, err := sendQuery(ctx, c, op, markReady, map[string]any{"input": map[string]any{"pullRequestId": p.Node}})
	if is := got.Data.MarkReady.PullRequest; err == nil && (is == nil || is.IsDraft) {
		err = unanswered(op, got.Errors)
	}
	return Ref{Number: p.Ref.Number, URL: p.URL}, err
}

// isReady reports whether a pull request is no draft.
func isReady(ctx context.Context, c *Client, w Write) (Ref, bool, error) {
	p, err := c.GetPull(ctx, w.Thread)
	return Ref{Number: p.Ref.Number, URL: p.URL}, err == nil && !p.Draft, err
}

// findNever is the look-up of idempotent writes: it finds nothing, so they are sent again.
func findNever(context.Context, *Client, Write) (Ref, bool, error) { return Ref{}, false, nil }

// unanswered returns the error for a query that yielded no data.
func unanswered(op string, list []graphError) error {
	e := &Error{Op: op, Kind: Temporary, Err: errors.New("GraphQL gave no answer")}
	for _, g := range list {
		switch g.Type {
		case "NOT_FOUND":
			e.Kind, e.Status = Permanent, http.StatusNotFound
		case "FORBIDDEN", "INSUFFICIENT_SCOPES":
			e.Kind, e.Status = Permanent, http.StatusForbidden
		case "UNPROCESSABLE":
			e.Kind, e.Status = Permanent, http.StatusUnprocessableEntity
		case "RATE_LIMITED":
			e.RetryAfter = defaultRetryAfter
		}
		e.Err = fmt.Errorf("GraphQL: %s", g.Message)
	}
	return e
}
