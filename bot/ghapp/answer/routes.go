package answer

import (
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/google/go-github/v62/github"
)

// shape is what an answer must have.
type shape struct {
	form    form
	members string     // paths, see [lacking]
	into    func() any // the type that the answer is decoded into; nil means any
}

func of[T any](members string) shape { return shape{object, members, func() any { return new(T) }} }

func listOf[T any](members string) shape { return shape{list, members, func() any { return new([]T) }} }

// Members of GitHub's objects, as far as they are read.
const (
	userMembers    = "user?.login user?.id user?.type "
	issueMembers   = userMembers + "id number title state locked body? html_url comments* labels[] created_at updated_at"
	foundMembers   = userMembers + "id number title state html_url labels[] created_at updated_at repository_url"
	commentMembers = userMembers + "id body* html_url created_at updated_at"
	lineMembers    = commentMembers + " path diff_hunk* commit_id"
	pullMembers    = userMembers + "id number title state body? html_url created_at updated_at merged_at? labels[] " +
		"head.ref head.sha head.repo?.id head.repo?.full_name base.ref base.sha base.repo.id"
	wholePullMembers  = pullMembers + " merged comments* changed_files* additions* deletions*"
	reviewMembers     = userMembers + "id state body* html_url commit_id? submitted_at"
	reactionMembers   = "id content user?.login"
	permissionMembers = "permission role_name user.id user.login user.type"
	checkMembers      = "id name status conclusion? head_sha html_url? external_id? " +
		"app?.id app?.slug check_suite?.id output"
	viaApp       = " performed_via_github_app?"
	entryMembers = "type name path sha" // of a directory, or of another object than a file
)

// route is a call of the API: its method and path below the base, in which * stands for
// one segment and ** for all others.
type route struct {
	method, path string
	shape
}

// routes returns the answers that are known.
var routes = sync.OnceValue(func() []route { return append(appRoutes(), repositoryRoutes()...) })

func appRoutes() []route {
	return []route{
		{"GET", "app", of[github.App]("id slug")},
		{"GET", "app/installations", listOf[github.Installation]("id account? permissions")},
		{"POST", "app/installations/*/access_tokens", of[github.InstallationToken]("token expires_at")},
		{"GET", "app/hook/deliveries", listOf[github.HookDelivery]("id guid event delivered_at status_code*")},
		{"GET", "app/hook/deliveries/*", of[github.HookDelivery]("id guid event request.payload")},
		{"POST", "app/hook/deliveries/*/attempts", shape{form: nothing}},
		{"POST", "app-manifests/*/conversions", of[github.AppConfig]("id pem")},
		{"GET", "installation/repositories", of[github.ListRepositories]("total_count* repositories[].full_name")},
		{"GET", "meta", shape{members: "verifiable_password_authentication"}},
		{"GET", "search/issues", of[github.IssuesSearchResult](
			"total_count* incomplete_results " + each("items[].", foundMembers),
		)},
		{"GET", "user", of[github.User]("id login type")},
		{"GET", "user/*", of[github.User]("id login type")},
		{"GET", "users/*", of[github.User]("id login type")},
		{"GET", "orgs/*/teams/*/memberships/*", of[github.Membership]("state")},
	}
}

func repositoryRoutes() []route {
	issue, comment := of[github.Issue](issueMembers+viaApp), of[github.IssueComment](commentMembers+viaApp)
	line, pull := of[github.PullRequestComment](lineMembers), of[github.PullRequest](wholePullMembers)
	review, reaction := of[github.PullRequestReview](reviewMembers), of[github.Reaction](reactionMembers)
	reactions, check := listOf[github.Reaction](reactionMembers), of[github.CheckRun](checkMembers)
	comments, lines := listOf[github.IssueComment](commentMembers+viaApp), listOf[github.PullRequestComment](lineMembers)
	labels := listOf[github.Label]("name")
	all := []route{
		{"GET", "", of[github.Repository]("id full_name default_branch clone_url html_url private fork archived")},
		{"GET", "installation", of[github.Installation]("id")},
		{"GET", "collaborators/*/permission", of[github.RepositoryPermissionLevel](permissionMembers)},
		{"GET", "branches/**", of[github.Branch]("name protected")},
		{"GET", "git/ref/**", of[github.Reference]("ref object.sha")},
		{"DELETE", "git/refs/**", shape{form: nothing}},
		{"POST", "git/commits", of[github.Commit]("sha verification.verified")},
		{"GET", "git/trees/**", of[github.Tree]("sha tree[].path tree[].type tree[].sha truncated")},
		{"GET", "contents/**", shape{form: either, members: "type name path sha encoding content* size*"}},
		{"GET", "compare/**", of[github.CommitsComparison]("status total_commits* files[].filename files[].status")},
		{"GET", "commits/*/check-runs", of[github.ListCheckRunsResults]("total_count* " + each("check_runs[].", checkMembers))},
		{"GET", "commits/*/status", of[github.CombinedStatus]("total_count* statuses[].context statuses[].state")},
		{"POST", "check-runs", check},
		{"GET", "check-runs/*", check},
		{"PATCH", "check-runs/*", check},
		{"GET", "actions/runs/*", of[github.WorkflowRun]("id status? run_attempt actor?.id updated_at")},
		{"GET", "actions/jobs/*/logs", shape{form: stream}},

		{"GET", "issues", listOf[github.Issue](issueMembers + viaApp)},
		{"POST", "issues", issue},
		{"GET", "issues/*", issue},
		{"PATCH", "issues/*", issue},
		{"GET", "issues/*/comments", comments},
		{"POST", "issues/*/comments", comment},
		{"GET", "issues/comments/*", comment},
		{"PATCH", "issues/comments/*", comment},
		{"GET", "issues/*/reactions", reactions},
		{"POST", "issues/*/reactions", reaction},
		{"GET", "issues/comments/*/reactions", reactions},
		{"POST", "issues/comments/*/reactions", reaction},
		{"POST", "issues/*/labels", labels},
		{"DELETE", "issues/*/labels/*", labels},
		{"GET", "labels", labels},

		{"GET", "pulls", listOf[github.PullRequest](pullMembers)},
		{"POST", "pulls", pull},
		{"GET", "pulls/*", pull},
		{"PATCH", "pulls/*", pull},
		{"GET", "pulls/*/files", listOf[github.CommitFile]("filename status additions* deletions*")},
		{"GET", "pulls/*/reviews", listOf[github.PullRequestReview](reviewMembers)},
		{"POST", "pulls/*/reviews", review},
		{"GET", "pulls/*/reviews/*", review},
		{"GET", "pulls/*/comments", lines},
		{"POST", "pulls/*/comments", line},
		{"GET", "pulls/comments/*", line},
		{"PATCH", "pulls/comments/*", line},
		{"GET", "pulls/comments/*/reactions", reactions},
		{"POST", "pulls/comments/*/reactions", reaction},
		{"GET", "pulls/*/requested_reviewers", of[github.Reviewers]("users[].login teams[].slug")},
		{"POST", "pulls/*/requested_reviewers", of[github.PullRequest]("id number")},
	}
	for i := range all {
		all[i].path = strings.TrimSuffix("repos/*/*/"+all[i].path, "/")
	}
	return all
}

// each puts a prefix before each path of a list.
func each(prefix, members string) string {
	return prefix + strings.Join(strings.Fields(members), " "+prefix)
}

// shape returns the shape of the answer to a request, as far as it is known.
func (j Judge) shape(r *http.Request) (shape, bool) {
	members, ok := r.Context().Value(graphKey{}).(string)
	if ok && strings.HasSuffix(r.URL.Path, "/graphql") { // not a token that is asked for on the way
		return shape{form: graph, members: members}, true
	}
	below := strings.TrimPrefix(r.URL.EscapedPath(), strings.TrimSuffix(j.Base, "/"))
	path := strings.Split(strings.Trim(below, "/"), "/")
	if path[0] == "repositories" && len(path) > 1 { // by number: a redirect from a former name
		path = slices.Concat([]string{"repos", path[1]}, path[1:])
	}
	for _, one := range routes() {
		if one.method == r.Method && matches(path, strings.Split(one.path, "/")) {
			return one.as(r.Header.Get("Accept")), true
		}
	}
	return shape{}, false
}

// as returns the shape in a media type.
func (s shape) as(accept string) shape {
	switch {
	case strings.Contains(accept, ".diff"):
		return shape{form: diff}
	case strings.Contains(accept, ".raw"):
		return shape{form: raw}
	case strings.Contains(accept, ".full"):
		s.members += " body_html?"
	}
	return s
}

func matches(path, pattern []string) bool {
	for i, word := range pattern {
		switch {
		case word == "**":
			return len(path) > i
		case i >= len(path), word != "*" && word != path[i], word == "*" && path[i] == "":
			return false
		}
	}
	return len(path) == len(pattern)
}
