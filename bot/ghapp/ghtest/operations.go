package ghtest

import (
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/handrail-bot/handrail/policy/pattern"
)

// operation is one operation of the API: its route in GitHub's notation, its handler
// and its access rule. need is the permission required of an installation, such as
// "issues|pull_requests:write"; role is the minimum role of a user.
type operation struct {
	route string
	run   func(*call) (int, any, error)
	need  string
	role  string
	app   bool // requires the app's own token
}

// operations lists the supported operations.
func operations() []operation {
	return slices.Concat(
		appOperations(),
		repoOperations(),
		issueOperations(),
		reactionOperations(),
		pullOperations(),
		checkOperations(),
		gitOperations(),
	)
}

// Routes returns the supported routes, such as "GET /repos/{owner}/{repo}", with the
// variable names of GitHub's description.
func Routes() []string {
	var out []string
	for _, o := range operations() {
		out = append(out, o.route)
	}
	return out
}

// router matches requests to one operation.
type router struct {
	operation
	method string
	path   *regexp.Regexp
	names  []string // names of the variables
}

var pathVar = pattern.Lazy(`\{([^}]+)\}`)

// routers returns all operations, those with the fewest variables first.
func routers() table {
	var all table
	for _, o := range operations() {
		method, path, _ := strings.Cut(o.route, " ")
		r := router{operation: o, method: method}
		// Variables that hold refs and paths also match slashes, as on GitHub.
		pattern := pathVar().ReplaceAllStringFunc(path, func(v string) string {
			name := strings.Trim(v, "{}")
			r.names = append(r.names, name)
			if slices.Contains([]string{"path", "ref", "basehead", "branch"}, name) {
				return "(.+)"
			}
			return "([^/]+)"
		})
		r.path = regexp.MustCompile("^" + pattern + "$")
		all = append(all, r)
	}
	slices.SortStableFunc(all, func(a, b router) int {
		if d := len(a.names) - len(b.names); d != 0 {
			return d
		}
		return len(b.route) - len(a.route)
	})
	return all
}

// table lists the routers in matching order.
type table []router

func (t table) find(method, path string) (*operation, map[string]string) {
	for i, r := range t {
		m := r.path.FindStringSubmatch(path)
		if m == nil || r.method != method {
			continue
		}
		params := map[string]string{}
		for i, n := range r.names {
			v, err := url.PathUnescape(m[i+1])
			if err != nil {
				v = m[i+1]
			}
			params[n] = v
		}
		return &t[i].operation, params
	}
	return nil, nil
}

func appOperations() []operation {
	return []operation{
		{route: "GET /app", run: getApp, app: true},
		{route: "GET /app/installations", run: listInstallations, app: true},
		{route: "GET /app/installations/{installation_id}", run: getInstallation, app: true},
		{route: "GET /repos/{owner}/{repo}/installation", run: getRepoInstallation, app: true},
		{route: "POST /app/installations/{installation_id}/access_tokens", run: createToken, app: true},
		{route: "GET /app/hook/deliveries", run: listDeliveries, app: true},
		{route: "GET /app/hook/deliveries/{delivery_id}", run: getDelivery, app: true},
		{route: "POST /app/hook/deliveries/{delivery_id}/attempts", run: redeliver, app: true},
		{route: "POST /app-manifests/{code}/conversions", run: convertManifest},
		{route: "GET /installation/repositories", run: listAccessible, need: "metadata:read"},
		{route: "GET /rate_limit", run: getRateLimit},
		{route: "GET /user", run: getSelf, need: "metadata:read"},
		{route: "GET /users/{username}", run: getUser},
		{route: "GET /user/{account_id}", run: getAccount},
		{
			route: "GET /orgs/{org}/teams/{team_slug}/memberships/{username}",
			run:   getMembership,
			need:  "members:read",
			role:  "none",
		},
	}
}

func repoOperations() []operation {
	return []operation{
		{route: "GET /repos/{owner}/{repo}", run: getRepo, need: "metadata:read", role: "read"},
		{
			route: "GET /repos/{owner}/{repo}/collaborators/{username}/permission",
			run:   getPermission,
			need:  "metadata:read",
			role:  "read",
		},
		{route: "GET /repos/{owner}/{repo}/branches/{branch}", run: getBranch, need: "contents:read", role: "read"},
		{route: "GET /repos/{owner}/{repo}/commits/{ref}", run: getCommit, need: "contents:read", role: "read"},
		{route: "GET /repos/{owner}/{repo}/contents/{path}", run: getContent, need: "contents:read", role: "read"},
		{route: "PUT /repos/{owner}/{repo}/contents/{path}", run: putContent, need: "contents:write", role: "write"},
		{route: "GET /repos/{owner}/{repo}/compare/{basehead}", run: compare, need: "contents:read", role: "read"},
		{route: "POST /repos/{owner}/{repo}/dispatches", run: dispatch, need: "contents:write", role: "write"},
		{route: "POST /repos/{owner}/{repo}/statuses/{sha}", run: createStatus, need: "statuses:write", role: "write"},
		{route: "GET /repos/{owner}/{repo}/commits/{ref}/status", run: combinedStatus, need: "statuses:read", role: "read"},
		{
			route: "GET /repos/{owner}/{repo}/commits/{commit_sha}/pulls",
			run:   pullsOfCommit,
			need:  "pull_requests:read",
			role:  "read",
		},
	}
}

func issueOperations() []operation {
	return []operation{
		{route: searchRoute, run: searchIssues, need: "issues:read"},
		{route: "GET /repos/{owner}/{repo}/issues", run: listIssues, need: "issues:read", role: "read"},
		{route: "POST /repos/{owner}/{repo}/issues", run: createIssue, need: "issues:write", role: "read"},
		{
			route: "GET /repos/{owner}/{repo}/issues/{issue_number}",
			run:   getIssue,
			need:  "issues|pull_requests:read",
			role:  "read",
		},
		{
			route: "PATCH /repos/{owner}/{repo}/issues/{issue_number}",
			run:   updateIssue,
			need:  "issues|pull_requests:write",
			role:  "read",
		},
		{
			route: "GET /repos/{owner}/{repo}/issues/{issue_number}/comments",
			run:   listComments,
			need:  "issues|pull_requests:read",
			role:  "read",
		},
		{
			route: "POST /repos/{owner}/{repo}/issues/{issue_number}/comments",
			run:   createComment,
			need:  "issues|pull_requests:write",
			role:  "read",
		},
		{
			route: "GET /repos/{owner}/{repo}/issues/comments/{comment_id}",
			run:   getComment,
			need:  "issues|pull_requests:read",
			role:  "read",
		},
		{
			route: "PATCH /repos/{owner}/{repo}/issues/comments/{comment_id}",
			run:   updateComment,
			need:  "issues|pull_requests:write",
			role:  "read",
		},
		{
			route: "DELETE /repos/{owner}/{repo}/issues/comments/{comment_id}",
			run:   deleteComment,
			need:  "issues|pull_requests:write",
			role:  "read",
		},
		{
			route: "POST /repos/{owner}/{repo}/issues/{issue_number}/labels",
			run:   addLabels,
			need:  "issues|pull_requests:write",
			role:  "triage",
		},
		{
			route: "DELETE /repos/{owner}/{repo}/issues/{issue_number}/labels/{name}",
			run:   removeLabel,
			need:  "issues|pull_requests:write",
			role:  "triage",
		},
		{route: "GET /repos/{owner}/{repo}/labels", run: listLabels, need: "issues|pull_requests:read", role: "read"},
		{
			route: "POST /repos/{owner}/{repo}/issues/{issue_number}/assignees",
			run:   addAssignees,
			need:  "issues|pull_requests:write",
			role:  "triage",
		},
		{
			route: "GET /repos/{owner}/{repo}/issues/{issue_number}/timeline",
			run:   timeline,
			need:  "issues|pull_requests:read",
			role:  "read",
		},
	}
}

func reactionOperations() []operation {
	return []operation{
		{
			route: "POST /repos/{owner}/{repo}/issues/{issue_number}/reactions",
			run:   react,
			need:  "issues|pull_requests:write",
			role:  "read",
		},
		{
			route: "GET /repos/{owner}/{repo}/issues/{issue_number}/reactions",
			run:   listReactions,
			need:  "issues|pull_requests:read",
			role:  "read",
		},
		{
			route: "DELETE /repos/{owner}/{repo}/issues/{issue_number}/reactions/{reaction_id}",
			run:   unreact,
			need:  "issues|pull_requests:write",
			role:  "read",
		},
		{
			route: "POST /repos/{owner}/{repo}/issues/comments/{comment_id}/reactions",
			run:   react,
			need:  "issues|pull_requests:write",
			role:  "read",
		},
		{
			route: "GET /repos/{owner}/{repo}/issues/comments/{comment_id}/reactions",
			run:   listReactions,
			need:  "issues|pull_requests:read",
			role:  "read",
		},
		{
			route: "DELETE /repos/{owner}/{repo}/issues/comments/{comment_id}/reactions/{reaction_id}",
			run:   unreact,
			need:  "issues|pull_requests:write",
			role:  "read",
		},
		{
			route: "POST /repos/{owner}/{repo}/pulls/comments/{comment_id}/reactions",
			run:   react,
			need:  "pull_requests:write",
			role:  "read",
		},
		{
			route: "GET /repos/{owner}/{repo}/pulls/comments/{comment_id}/reactions",
			run:   listReactions,
			need:  "pull_requests:read",
			role:  "read",
		},
	}
}

func pullOperations() []operation {
	return []operation{
		{route: "GET /repos/{owner}/{repo}/pulls", run: listPulls, need: "pull_requests:read", role: "read"},
		{route: "POST /repos/{owner}/{repo}/pulls", run: createPull, need: "pull_requests:write", role: "read"},
		{route: "GET /repos/{owner}/{repo}/pulls/{pull_number}", run: getPull, need: "pull_requests:read", role: "read"},
		{
			route: "PATCH /repos/{owner}/{repo}/pulls/{pull_number}",
			run:   updatePull,
			need:  "pull_requests:write",
			role:  "read",
		},
		{
			route: "GET /repos/{owner}/{repo}/pulls/{pull_number}/files",
			run:   listPullFiles,
			need:  "pull_requests:read",
			role:  "read",
		},
		{
			route: "GET /repos/{owner}/{repo}/pulls/{pull_number}/commits",
			run:   listPullCommits,
			need:  "pull_requests:read",
			role:  "read",
		},
		{
			route: "GET /repos/{owner}/{repo}/pulls/{pull_number}/reviews",
			run:   listReviews,
			need:  "pull_requests:read",
			role:  "read",
		},
		{
			route: "GET /repos/{owner}/{repo}/pulls/{pull_number}/reviews/{review_id}",
			run:   getReview,
			need:  "pull_requests:read",
			role:  "read",
		},
		{
			route: "POST /repos/{owner}/{repo}/pulls/{pull_number}/reviews",
			run:   createReview,
			need:  "pull_requests:write",
			role:  "read",
		},
		{
			route: "GET /repos/{owner}/{repo}/pulls/{pull_number}/reviews/{review_id}/comments",
			run:   listReviewComments,
			need:  "pull_requests:read",
			role:  "read",
		},
		{
			route: "GET /repos/{owner}/{repo}/pulls/{pull_number}/comments",
			run:   listReviewComments,
			need:  "pull_requests:read",
			role:  "read",
		},
		{
			route: "GET /repos/{owner}/{repo}/pulls/comments/{comment_id}",
			run:   getComment,
			need:  "pull_requests:read",
			role:  "read",
		},
		{
			route: "POST /repos/{owner}/{repo}/pulls/{pull_number}/comments",
			run:   createReviewComment,
			need:  "pull_requests:write",
			role:  "read",
		},
		{
			route: "PATCH /repos/{owner}/{repo}/pulls/comments/{comment_id}",
			run:   updateComment,
			need:  "pull_requests:write",
			role:  "read",
		},
		{
			route: "POST /repos/{owner}/{repo}/pulls/{pull_number}/comments/{comment_id}/replies",
			run:   replyReviewComment,
			need:  "pull_requests:write",
			role:  "read",
		},
		{
			route: "POST /repos/{owner}/{repo}/pulls/{pull_number}/requested_reviewers",
			run:   requestReviewers,
			need:  "pull_requests:write",
			role:  "write",
		},
		{
			route: "GET /repos/{owner}/{repo}/pulls/{pull_number}/requested_reviewers",
			run:   listRequestedReviewers,
			need:  "pull_requests:read",
			role:  "read",
		},
	}
}

func checkOperations() []operation {
	return []operation{
		{route: "POST /repos/{owner}/{repo}/check-runs", run: createCheck, need: "checks:write", role: "none"},
		{
			route: "PATCH /repos/{owner}/{repo}/check-runs/{check_run_id}",
			run:   updateCheck,
			need:  "checks:write",
			role:  "none",
		},
		{route: "GET /repos/{owner}/{repo}/check-runs/{check_run_id}", run: getCheck, need: "checks:read", role: "read"},
		{route: "GET /repos/{owner}/{repo}/commits/{ref}/check-runs", run: listChecks, need: "checks:read", role: "read"},
		{
			route: "GET /repos/{owner}/{repo}/check-runs/{check_run_id}/annotations",
			run:   listAnnotations,
			need:  "checks:read",
			role:  "read",
		},
		{route: "GET /repos/{owner}/{repo}/actions/runs/{run_id}", run: getRun, need: "actions:read", role: "read"},
		{route: "GET /repos/{owner}/{repo}/actions/jobs/{job_id}/logs", run: jobLogs, need: "actions:read", role: "read"},
	}
}

func gitOperations() []operation {
	return []operation{
		{route: "GET /repos/{owner}/{repo}/git/ref/{ref}", run: getRef, need: "contents:read", role: "read"},
		{route: "POST /repos/{owner}/{repo}/git/refs", run: createRef, need: "contents:write", role: "write"},
		{route: "PATCH /repos/{owner}/{repo}/git/refs/{ref}", run: updateRef, need: "contents:write", role: "write"},
		{route: "DELETE /repos/{owner}/{repo}/git/refs/{ref}", run: deleteRef, need: "contents:write", role: "write"},
		{route: "POST /repos/{owner}/{repo}/git/blobs", run: createBlob, need: "contents:write", role: "write"},
		{route: "POST /repos/{owner}/{repo}/git/trees", run: createTree, need: "contents:write", role: "write"},
		{route: "GET /repos/{owner}/{repo}/git/trees/{tree_sha}", run: getTree, need: "contents:read", role: "read"},
		{route: "POST /repos/{owner}/{repo}/git/commits", run: createCommit, need: "contents:write", role: "write"},
		{route: "GET /repos/{owner}/{repo}/git/commits/{commit_sha}", run: getGitCommit, need: "contents:read", role: "read"},
	}
}
