package ghtest

import "maps"

// operation is one operation of the description: what it does, and what it
// takes to be allowed it. need is the permission of an installation, such as
// "issues|pull_requests:write"; role is the least role of a person.
type operation struct {
	run  func(*Server, *call) (int, any, error)
	need string
	role string
	app  bool // only the app itself, with its own token
}

// operations lists what the fake serves, by the ids of the description.
func operations() map[string]operation {
	all := map[string]operation{}
	for _, group := range []map[string]operation{appOperations(), repoOperations(), issueOperations(), reactionOperations(), pullOperations(), checkOperations(), gitOperations()} {
		maps.Copy(all, group)
	}
	return all
}

func appOperations() map[string]operation {
	return map[string]operation{
		"apps/get-authenticated":                     {run: (*Server).getApp, app: true},
		"apps/list-installations":                    {run: (*Server).listInstallations, app: true},
		"apps/get-installation":                      {run: (*Server).getInstallation, app: true},
		"apps/get-repo-installation":                 {run: (*Server).getRepoInstallation, app: true},
		"apps/create-installation-access-token":      {run: (*Server).createToken, app: true},
		"apps/list-webhook-deliveries":               {run: (*Server).listDeliveries, app: true},
		"apps/get-webhook-delivery":                  {run: (*Server).getDelivery, app: true},
		"apps/redeliver-webhook-delivery":            {run: (*Server).redeliver, app: true},
		"apps/create-from-manifest":                  {run: (*Server).convertManifest},
		"apps/list-repos-accessible-to-installation": {run: (*Server).listAccessible, need: "metadata:read"},
		"rate-limit/get":                             {run: (*Server).getRateLimit},
		"users/get-authenticated":                    {run: (*Server).getSelf, need: "metadata:read"},
		"users/get-by-username":                      {run: (*Server).getUser},
		"teams/get-membership-for-user-in-org":       {run: (*Server).getMembership, need: "members:read", role: "none"},
	}
}

func repoOperations() map[string]operation {
	return map[string]operation{
		"repos/get": {run: (*Server).getRepo, need: "metadata:read", role: "read"},
		"repos/get-collaborator-permission-level":         {run: (*Server).getPermission, need: "metadata:read", role: "read"},
		"repos/get-branch":                                {run: (*Server).getBranch, need: "contents:read", role: "read"},
		"repos/get-commit":                                {run: (*Server).getCommit, need: "contents:read", role: "read"},
		"repos/get-content":                               {run: (*Server).getContent, need: "contents:read", role: "read"},
		"repos/create-or-update-file-contents":            {run: (*Server).putContent, need: "contents:write", role: "write"},
		"repos/compare-commits-with-basehead":             {run: (*Server).compare, need: "contents:read", role: "read"},
		"repos/create-dispatch-event":                     {run: (*Server).dispatch, need: "contents:write", role: "write"},
		"repos/create-commit-status":                      {run: (*Server).createStatus, need: "statuses:write", role: "write"},
		"repos/get-combined-status-for-ref":               {run: (*Server).combinedStatus, need: "statuses:read", role: "read"},
		"repos/list-pull-requests-associated-with-commit": {run: (*Server).pullsOfCommit, need: "pull_requests:read", role: "read"},
	}
}

func issueOperations() map[string]operation {
	return map[string]operation{
		"issues/list-for-repo":            {run: (*Server).listIssues, need: "issues:read", role: "read"},
		"issues/create":                   {run: (*Server).createIssue, need: "issues:write", role: "read"},
		"issues/get":                      {run: (*Server).getIssue, need: "issues|pull_requests:read", role: "read"},
		"issues/update":                   {run: (*Server).updateIssue, need: "issues|pull_requests:write", role: "read"},
		"issues/list-comments":            {run: (*Server).listComments, need: "issues|pull_requests:read", role: "read"},
		"issues/create-comment":           {run: (*Server).createComment, need: "issues|pull_requests:write", role: "read"},
		"issues/get-comment":              {run: (*Server).getComment, need: "issues|pull_requests:read", role: "read"},
		"issues/update-comment":           {run: (*Server).updateComment, need: "issues|pull_requests:write", role: "read"},
		"issues/delete-comment":           {run: (*Server).deleteComment, need: "issues|pull_requests:write", role: "read"},
		"issues/add-labels":               {run: (*Server).addLabels, need: "issues|pull_requests:write", role: "triage"},
		"issues/remove-label":             {run: (*Server).removeLabel, need: "issues|pull_requests:write", role: "triage"},
		"issues/list-labels-for-repo":     {run: (*Server).listLabels, need: "issues|pull_requests:read", role: "read"},
		"issues/add-assignees":            {run: (*Server).addAssignees, need: "issues|pull_requests:write", role: "triage"},
		"issues/list-events-for-timeline": {run: (*Server).timeline, need: "issues|pull_requests:read", role: "read"},
	}
}

func reactionOperations() map[string]operation {
	return map[string]operation{
		"reactions/create-for-issue":                       {run: (*Server).react, need: "issues|pull_requests:write", role: "read"},
		"reactions/list-for-issue":                         {run: (*Server).listReactions, need: "issues|pull_requests:read", role: "read"},
		"reactions/delete-for-issue":                       {run: (*Server).unreact, need: "issues|pull_requests:write", role: "read"},
		"reactions/create-for-issue-comment":               {run: (*Server).react, need: "issues|pull_requests:write", role: "read"},
		"reactions/list-for-issue-comment":                 {run: (*Server).listReactions, need: "issues|pull_requests:read", role: "read"},
		"reactions/delete-for-issue-comment":               {run: (*Server).unreact, need: "issues|pull_requests:write", role: "read"},
		"reactions/create-for-pull-request-review-comment": {run: (*Server).react, need: "pull_requests:write", role: "read"},
		"reactions/list-for-pull-request-review-comment":   {run: (*Server).listReactions, need: "pull_requests:read", role: "read"},
	}
}

func pullOperations() map[string]operation {
	return map[string]operation{
		"pulls/list":                            {run: (*Server).listPulls, need: "pull_requests:read", role: "read"},
		"pulls/create":                          {run: (*Server).createPull, need: "pull_requests:write", role: "read"},
		"pulls/get":                             {run: (*Server).getPull, need: "pull_requests:read", role: "read"},
		"pulls/update":                          {run: (*Server).updatePull, need: "pull_requests:write", role: "read"},
		"pulls/list-files":                      {run: (*Server).listPullFiles, need: "pull_requests:read", role: "read"},
		"pulls/list-commits":                    {run: (*Server).listPullCommits, need: "pull_requests:read", role: "read"},
		"pulls/list-reviews":                    {run: (*Server).listReviews, need: "pull_requests:read", role: "read"},
		"pulls/get-review":                      {run: (*Server).getReview, need: "pull_requests:read", role: "read"},
		"pulls/create-review":                   {run: (*Server).createReview, need: "pull_requests:write", role: "read"},
		"pulls/list-comments-for-review":        {run: (*Server).listCommentsOfReview, need: "pull_requests:read", role: "read"},
		"pulls/list-review-comments":            {run: (*Server).listReviewComments, need: "pull_requests:read", role: "read"},
		"pulls/get-review-comment":              {run: (*Server).getReviewComment, need: "pull_requests:read", role: "read"},
		"pulls/create-review-comment":           {run: (*Server).createReviewComment, need: "pull_requests:write", role: "read"},
		"pulls/update-review-comment":           {run: (*Server).updateReviewComment, need: "pull_requests:write", role: "read"},
		"pulls/create-reply-for-review-comment": {run: (*Server).replyReviewComment, need: "pull_requests:write", role: "read"},
		"pulls/request-reviewers":               {run: (*Server).requestReviewers, need: "pull_requests:write", role: "write"},
		"pulls/list-requested-reviewers":        {run: (*Server).listRequestedReviewers, need: "pull_requests:read", role: "read"},
	}
}

func checkOperations() map[string]operation {
	return map[string]operation{
		"checks/create":           {run: (*Server).createCheck, need: "checks:write", role: "none"},
		"checks/update":           {run: (*Server).updateCheck, need: "checks:write", role: "none"},
		"checks/get":              {run: (*Server).getCheck, need: "checks:read", role: "read"},
		"checks/list-for-ref":     {run: (*Server).listChecks, need: "checks:read", role: "read"},
		"checks/list-annotations": {run: (*Server).listAnnotations, need: "checks:read", role: "read"},
		"actions/download-job-logs-for-workflow-run": {run: (*Server).jobLogs, need: "actions:read", role: "read"},
	}
}

func gitOperations() map[string]operation {
	return map[string]operation{
		"git/get-ref":       {run: (*Server).getRef, need: "contents:read", role: "read"},
		"git/create-ref":    {run: (*Server).createRef, need: "contents:write", role: "write"},
		"git/update-ref":    {run: (*Server).updateRef, need: "contents:write", role: "write"},
		"git/delete-ref":    {run: (*Server).deleteRef, need: "contents:write", role: "write"},
		"git/create-blob":   {run: (*Server).createBlob, need: "contents:write", role: "write"},
		"git/create-tree":   {run: (*Server).createTree, need: "contents:write", role: "write"},
		"git/get-tree":      {run: (*Server).getTree, need: "contents:read", role: "read"},
		"git/create-commit": {run: (*Server).createCommit, need: "contents:write", role: "write"},
		"git/get-commit":    {run: (*Server).getGitCommit, need: "contents:read", role: "read"},
	}
}
