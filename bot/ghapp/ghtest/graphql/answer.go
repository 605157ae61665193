package graphql

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/handrail-bot/handrail/bot/ghapp/ghtest"
	"github.com/handrail-bot/handrail/bot/ghapp/ghtest/hub"
	"github.com/handrail-bot/handrail/policy/pattern"
	"github.com/handrail-bot/handrail/policy/untrusted"
)

// view is the hub as one viewer sees it.
type view struct{ ghtest.Viewer }

// Answer answers a JSON request with the fields query and variables.
func Answer(who ghtest.Viewer, body []byte) ([]byte, error) {
	v := view{who}
	var req struct {
		Query     string
		Variables object
	}
	if err := json.Unmarshal(body, &req); err != nil {
		return nil, fmt.Errorf("read query: %w", err)
	}
	data, errors := run(req.Query, req.Variables, map[string]object{
		"query": {"__typename": "Query", "repository": resolver(v.repository)},
		"mutation": {
			"__typename":                    "Mutation",
			"resolveReviewThread":           resolver(v.resolveThread),
			"markPullRequestReadyForReview": resolver(v.markReady),
		},
	})
	out := object{}
	if data != nil {
		out["data"] = data
	}
	if errors != nil {
		out["errors"] = errors
	}
	return json.Marshal(out)
}

func (v view) repository(args object) (any, error) {
	owner, _ := args["owner"].(string)
	name, _ := args["name"].(string)
	r := v.Hub.FindRepo(owner, name)
	if r == nil || !v.Sees(r) {
		return nil, problem{"NOT_FOUND", fmt.Sprintf("Could not resolve to a Repository with the name '%s/%s'.", owner, name)}
	}
	return object{
		"__typename":    "Repository",
		"nameWithOwner": r.FullName(),
		"pullRequest": resolver(func(args object) (any, error) {
			if !v.May("pull_requests:read") {
				return nil, problem{"FORBIDDEN", "Resource not accessible by integration"}
			}
			n, _ := args["number"].(float64)
			is := r.Issues[int(n)]
			if is == nil || is.Pull == nil {
				return nil, problem{"NOT_FOUND", fmt.Sprintf("Could not resolve to a PullRequest with the number of %d.", int(n))}
			}
			return object{"__typename": "PullRequest", "number": is.Number,
				"reviewThreads":           connection("PullRequestReviewThread", v.threads(is)),
				"closingIssuesReferences": v.closing(is)}, nil
		}),
	}, nil
}

// connection returns a paginated list.
func connection(of string, list []object) resolver {
	return func(args object) (any, error) {
		first, hasFirst := args["first"].(float64)
		last, hasLast := args["last"].(float64)
		switch n := int(max(first, last)); {
		case !hasFirst && !hasLast:
			return nil, problem{
				"MISSING_PAGINATION_BOUNDARIES",
				"You must provide a `first` or `last` value to properly paginate the connection.",
			}
		case n > 100:
			return nil, problem{
				"EXCESSIVE_PAGINATION",
				fmt.Sprintf("Requesting %d records on the connection exceeds the `first` limit of 100 records.", n),
			}
		}
		from, to := 0, len(list)
		if after, ok := args["after"].(string); ok {
			from, _ = strconv.Atoi(after)
			from = min(from, to)
		}
		if hasFirst {
			to = min(to, from+int(first))
		} else {
			from = max(from, to-int(last))
		}
		return object{"__typename": of + "Connection", "totalCount": len(list), "nodes": list[from:to], "pageInfo": object{
			"__typename": "PageInfo", "hasNextPage": to < len(list), "endCursor": strconv.Itoa(to)}}, nil
	}
}

// threads returns the review threads: each is a diff comment with its replies.
func (v view) threads(is *hub.Issue) []object {
	order, talks := []*hub.Comment{}, map[int64][]*hub.Comment{}
	for _, cm := range is.Pull.Comments {
		if cm.InReplyTo == 0 {
			order = append(order, cm)
		}
		talks[rootOf(is, cm)] = append(talks[rootOf(is, cm)], cm)
	}
	out := []object{}
	for _, root := range order {
		var comments []object
		for _, cm := range talks[root.ID] {
			comments = append(comments, v.comment(cm))
		}
		outdated := hasChanged(is, root)
		t := object{
			"__typename":        "PullRequestReviewThread",
			"id":                talkID(root),
			"isResolved":        root.Resolved,
			"resolvedBy":        nil,
			"isOutdated":        outdated,
			"path":              root.Path,
			"line":              root.Line,
			"startLine":         nil,
			"originalLine":      root.Line,
			"originalStartLine": nil,
			"diffSide":          root.Side,
			"comments":          connection("PullRequestReviewComment", comments),
		}
		if root.ResolvedBy != nil {
			t["resolvedBy"] = object{"__typename": "User", "login": root.ResolvedBy.Login}
		}
		if root.StartLine > 0 {
			t["startLine"], t["originalStartLine"] = root.StartLine, root.StartLine
		}
		if outdated {
			t["line"], t["startLine"] = nil, nil
		}
		out = append(out, t)
	}
	return out
}

func talkID(root *hub.Comment) string { return fmt.Sprintf("PRRT_%d", root.ID) }

// resolveThread resolves a review thread. GitHub requires write access to pull requests
// and to contents of an App.
func (v view) resolveThread(args object) (any, error) {
	in, _ := args["input"].(object)
	id, _ := in["threadId"].(string)
	for _, r := range v.Hub.Repos {
		if !v.Sees(r) {
			continue
		}
		for _, is := range r.Issues {
			for _, cm := range comments(is) {
				if cm.InReplyTo != 0 || talkID(cm) != id {
					continue
				}
				if !v.May("pull_requests:write") || !v.May("contents:write") {
					return nil, problem{"FORBIDDEN", "Resource not accessible by integration"}
				}
				cm.Resolved = true
				return object{
					"__typename": "ResolveReviewThreadPayload",
					"thread":     object{"__typename": "PullRequestReviewThread", "id": id, "isResolved": true},
				}, nil
			}
		}
	}
	return nil, problem{"NOT_FOUND", fmt.Sprintf("Could not resolve to a node with the global id of '%s'.", id)}
}

// markReady takes a pull request out of draft. GitHub requires of an App the same rights as
// for resolving a thread.
func (v view) markReady(args object) (any, error) {
	in, _ := args["input"].(object)
	id, _ := in["pullRequestId"].(string)
	for _, r := range v.Hub.Repos {
		for _, is := range r.Issues {
			if is.Pull == nil || fmt.Sprintf("PR_%d", is.ID) != id || !v.Sees(r) {
				continue
			}
			if !v.May("pull_requests:write") || !v.May("contents:write") {
				return nil, problem{"FORBIDDEN", "Resource not accessible by integration"}
			}
			v.Hub.Ready(is, v.User)
			return object{
				"__typename":  "MarkPullRequestReadyForReviewPayload",
				"pullRequest": object{"__typename": "PullRequest", "isDraft": false},
			}, nil
		}
	}
	return nil, problem{"NOT_FOUND", fmt.Sprintf("Could not resolve to a node with the global id of '%s'.", id)}
}

func comments(is *hub.Issue) []*hub.Comment {
	if is.Pull == nil {
		return nil
	}
	return is.Pull.Comments
}

func rootOf(is *hub.Issue, cm *hub.Comment) int64 {
	for _, parent := range is.Pull.Comments {
		if cm.InReplyTo != 0 && parent.ID == cm.InReplyTo {
			return rootOf(is, parent)
		}
	}
	return cm.ID
}

// hasChanged reports whether the commented file has changed. GitHub compares the
// lines instead.
func hasChanged(is *hub.Issue, cm *hub.Comment) bool {
	if cm.Commit == is.Pull.HeadSHA {
		return false
	}
	then, err := is.Repo.Dir.Run(nil, "rev-parse", "--verify", "--quiet", cm.Commit+":"+cm.Path)
	now, errNow := is.Repo.Dir.Run(nil, "rev-parse", "--verify", "--quiet", is.Pull.HeadSHA+":"+cm.Path)
	return err != nil || errNow != nil || then != now
}

func (v view) comment(cm *hub.Comment) object {
	author := object{
		"__typename": cm.Author.Kind,
		"login":      strings.TrimSuffix(cm.Author.Login, "[bot]"),
	} // in GraphQL the login of a bot is its slug
	c := object{"__typename": "PullRequestReviewComment", "fullDatabaseId": strconv.FormatInt(cm.ID, 10), "author": author,
		"authorAssociation": ghtest.Association(cm.Issue.Repo, cm.Author), "body": cm.Body, "bodyHTML": untrusted.Page(cm.Body), "diffHunk": cm.Hunk,
		"url":       fmt.Sprintf("%s/%s/pull/%d#discussion_r%d", v.URL, cm.Issue.Repo.FullName(), cm.Issue.Number, cm.ID),
		"createdAt": cm.Created.Format(time.RFC3339), "lastEditedAt": nil}
	c["reactions"] = resolver(func(args object) (any, error) {
		var list []object
		for _, r := range cm.Reactions {
			if args["content"] == "THUMBS_DOWN" && r.Content == "-1" {
				list = append(list, object{"__typename": "Reaction", "user": object{"__typename": "User", "login": r.Author.Login}})
			}
		}
		return connection("Reaction", list)(args)
	})
	if cm.Updated.After(cm.Created) {
		c["lastEditedAt"] = cm.Updated.Format(time.RFC3339)
	}
	return c
}

var closingRE = pattern.Lazy(`(?i)\b(?:close[sd]?|fix(?:es|ed)?|resolve[sd]?):?\s+#(\d+)\b`)

// closing returns the issues that a pull request into the default branch claims to
// close.
func (v view) closing(is *hub.Issue) resolver {
	if !v.May("issues:read") {
		return func(object) (any, error) { return nil, problem{"FORBIDDEN", "Resource not accessible by integration"} }
	}
	list, seen := []object{}, map[string]bool{}
	for _, m := range closingRE().FindAllStringSubmatch(is.Body, -1) {
		n, _ := strconv.Atoi(m[1])
		if other := is.Repo.Issues[n]; other != nil && other.Pull == nil && !seen[m[1]] &&
			is.Pull.BaseRef == is.Repo.DefaultBranch {
			seen[m[1]] = true
			list = append(list, object{"__typename": "Issue", "number": n,
				"repository": object{"__typename": "Repository", "nameWithOwner": is.Repo.FullName()}})
		}
	}
	return connection("Issue", list)
}
