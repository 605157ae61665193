package ghtest

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/handrail-bot/handrail/bot/ghapp/ghtest/hub"
)

// shaper renders the hub's objects in the format of GitHub's API.
type shaper struct {
	*hub.Hub
	url         string
	app         App
	perms       map[string]string
	description Description
	sign        func(commit []byte) (string, error)
	signature   func(commit string) (payload, signature string, valid bool)
}

func (s *shaper) page(r *hub.Repo, rest string) string { return s.url + "/" + r.FullName() + rest }

func (s *shaper) api(r *hub.Repo, rest string) string { return s.url + "/repos/" + r.FullName() + rest }

func (s *shaper) userShape(u *hub.User) any {
	if u == nil {
		return nil
	}
	html := s.url + "/" + u.Login
	if u.Kind == "Bot" {
		html = s.url + "/apps/" + strings.TrimSuffix(u.Login, "[bot]")
	}
	return object{"id": u.ID, "node_id": fmt.Sprintf("U_%d", u.ID), "login": u.Login, "type": u.Kind,
		"html_url": html, "url": s.url + "/users/" + u.Login, "avatar_url": s.url + "/avatars/" + itoa(u.ID)}
}

func (s *shaper) userShapes(users []*hub.User) []object {
	return each(users, func(u *hub.User) object { return s.userShape(u).(object) })
}

// each renders a list. An empty list is not null.
func each[T any](list []T, shape func(T) object) []object {
	out := []object{}
	for _, v := range list {
		out = append(out, shape(v))
	}
	return out
}

func (s *shaper) repoShape(r *hub.Repo) object {
	visibility := "public"
	if r.Private {
		visibility = "private"
	}
	v := object{"id": r.ID, "node_id": fmt.Sprintf("R_%d", r.ID), "name": r.Name, "full_name": r.FullName(),
		"owner": s.userShape(r.Owner), "private": r.Private, "visibility": visibility, "fork": r.Parent != nil,
		"default_branch": r.DefaultBranch, "archived": r.Archived, "html_url": s.page(r, ""), "url": s.api(r, ""),
		"clone_url": s.page(r, ".git"), "created_at": stamp(r.Created), "updated_at": stamp(r.Created),
		"pushed_at": stamp(r.Created), "has_issues": true}
	if r.Parent != nil {
		v["parent"] = s.repoShape(r.Parent)
		v["source"] = v["parent"]
	}
	return v
}

func (s *shaper) appShape() object {
	return object{"id": s.app.ID, "slug": s.app.Slug, "client_id": s.app.ClientID, "name": s.app.Slug,
		"owner":    s.filled("simple-user", s.userShape(s.Users[strings.ToLower(s.app.Login)])),
		"html_url": s.url + "/apps/" + s.app.Slug, "permissions": stringMap(s.perms), "events": eventNames()}
}

// filled completes v by a named schema, if the schema of the answer offers a choice.
func (s *shaper) filled(schema string, v any) any {
	return s.description.Named(schema, v)
}

func (s *shaper) viaApp(yes bool) any {
	if !yes {
		return nil
	}
	return s.filled("nullable-integration", s.appShape())
}

func stringMap(in map[string]string) object {
	out := object{}
	for k, v := range in {
		out[k] = v
	}
	return out
}

// Association returns the author association of a user with a repository.
func Association(r *hub.Repo, u *hub.User) string {
	switch {
	case u == r.Owner:
		return "OWNER"
	case r.Explicit(u) && u.Kind != "Bot":
		return "COLLABORATOR"
	}
	return "NONE"
}

func (s *shaper) labelShape(r *hub.Repo, name string) object {
	v := object{"name": name, "color": "ededed", "default": false, "url": s.api(r, "/labels/"+name)}
	if l := r.Labels[strings.ToLower(name)]; l != nil {
		v["id"] = l.ID
	}
	return v
}

func (s *shaper) labelShapes(is *hub.Issue) []object {
	return each(is.Labels, func(l string) object { return s.labelShape(is.Repo, l) })
}

func kindPath(is *hub.Issue) string {
	if is.Pull != nil {
		return "/pull/"
	}
	return "/issues/"
}

func (s *shaper) issueURL(is *hub.Issue) string {
	return s.page(is.Repo, fmt.Sprintf("%s%d", kindPath(is), is.Number))
}

func (s *shaper) issueShape(is *hub.Issue) object {
	v := object{"id": is.ID, "node_id": fmt.Sprintf("I_%d", is.ID), "number": is.Number, "title": is.Title,
		"body": nullable(is.Body), "user": s.userShape(is.Author), "state": is.State, "locked": is.Locked,
		"labels": s.labelShapes(is), "assignees": s.userShapes(is.Assignees), "assignee": nil,
		"comments": len(is.Comments), "html_url": s.issueURL(is),
		"url":            s.api(is.Repo, fmt.Sprintf("/issues/%d", is.Number)),
		"comments_url":   s.api(is.Repo, fmt.Sprintf("/issues/%d/comments", is.Number)),
		"repository_url": s.api(is.Repo, ""), "created_at": stamp(is.Created), "updated_at": stamp(is.Updated),
		"closed_at": stampPtr(is.Closed), "author_association": Association(is.Repo, is.Author),
		"performed_via_github_app": s.viaApp(is.ViaApp), "draft": is.Pull != nil && is.Pull.Draft,
		"reactions": s.rollup(is.Reactions, s.api(is.Repo, fmt.Sprintf("/issues/%d", is.Number)))}
	if len(is.Assignees) > 0 {
		v["assignee"] = s.userShape(is.Assignees[0])
	}
	if is.Pull != nil {
		v["pull_request"] = object{"url": s.api(is.Repo, fmt.Sprintf("/pulls/%d", is.Number)),
			"html_url": s.issueURL(is), "diff_url": s.issueURL(is) + ".diff", "patch_url": s.issueURL(is) + ".patch",
			"merged_at": stampPtr(is.Pull.Merged)}
	}
	return v
}

func nullable(s string) any {
	if s == "" {
		return nil
	}
	return s
}

func (s *shaper) commentShape(c *hub.Comment) object {
	r := c.Issue.Repo
	return object{"id": c.ID, "node_id": fmt.Sprintf("IC_%d", c.ID), "body": c.Body, "user": s.userShape(c.Author),
		"html_url":   fmt.Sprintf("%s#issuecomment-%d", s.issueURL(c.Issue), c.ID),
		"url":        s.api(r, fmt.Sprintf("/issues/comments/%d", c.ID)),
		"issue_url":  s.api(r, fmt.Sprintf("/issues/%d", c.Issue.Number)),
		"created_at": stamp(c.Created), "updated_at": stamp(c.Updated),
		"author_association":       Association(r, c.Author),
		"performed_via_github_app": s.viaApp(c.ViaApp), "reactions": s.rollup(c.Reactions, s.api(r, ""))}
}

func (s *shaper) rollup(list []*hub.Reaction, url string) object {
	v := object{"url": url + "/reactions", "total_count": len(list)}
	for _, name := range reactionNames() {
		v[name] = 0
	}
	for _, r := range list {
		v[r.Content] = v[r.Content].(int) + 1
	}
	return v
}

func reactionNames() []string {
	return []string{"+1", "-1", "laugh", "confused", "heart", "hooray", "rocket", "eyes"}
}

func (s *shaper) reactionShape(r *hub.Reaction) object {
	return object{"id": r.ID, "user": s.userShape(r.Author), "content": r.Content, "created_at": stamp(r.Created)}
}

func (s *shaper) branchEnd(r *hub.Repo, ref, sha string) object {
	if r == nil {
		return object{"label": "unknown repository", "ref": ref, "sha": sha, "repo": nil, "user": nil}
	}
	return object{"label": r.Owner.Login + ":" + ref, "ref": ref, "sha": sha, "repo": s.repoShape(r),
		"user": s.userShape(r.Owner)}
}

func (s *shaper) pullShape(is *hub.Issue) object {
	p := is.Pull
	v := s.issueShape(is)
	for _, k := range []string{"pull_request", "repository_url", "performed_via_github_app", "reactions"} {
		delete(v, k)
	}
	url := s.api(is.Repo, fmt.Sprintf("/pulls/%d", is.Number))
	for k, val := range (object{"url": url, "node_id": fmt.Sprintf("PR_%d", is.ID), "draft": p.Draft,
		"issue_url": s.api(is.Repo, fmt.Sprintf("/issues/%d", is.Number)),
		"diff_url":  s.issueURL(is) + ".diff", "patch_url": s.issueURL(is) + ".patch",
		"head": s.branchEnd(p.HeadRepo, p.HeadRef, p.HeadSHA), "base": s.branchEnd(is.Repo, p.BaseRef, p.BaseSHA),
		"merged": p.Merged != nil, "merged_at": stampPtr(p.Merged), "merged_by": s.userShape(p.MergedBy),
		"merge_commit_sha": nullable(p.MergeSHA), "requested_reviewers": s.userShapes(p.Reviewers),
		"requested_teams": []object{}, "maintainer_can_modify": !p.NoMaintainer,
		"review_comments": len(p.Comments), "auto_merge": nil,
	}) {
		v[k] = val
	}
	return v
}

// pullDetail adds the fields that only a single pull request has, and no list item.
func (s *shaper) pullDetail(is *hub.Issue) object {
	v := s.pullShape(is)
	files, _ := is.Repo.Dir.DiffFiles(is.Pull.BaseSHA, is.Pull.HeadSHA)
	add, del := 0, 0
	for _, f := range files {
		add, del = add+f.Add, del+f.Del
	}
	commits, _ := is.Repo.Dir.Count(is.Pull.BaseSHA + ".." + is.Pull.HeadSHA)
	v["additions"], v["deletions"], v["changed_files"], v["commits"] = add, del, len(files), commits
	v["mergeable"], v["mergeable_state"], v["rebaseable"] = nil, "unknown", nil
	if is.State == "open" {
		ok := is.Repo.Dir.Mergeable(is.Pull.BaseSHA, is.Pull.HeadSHA)
		v["mergeable"], v["mergeable_state"] = ok, map[bool]string{true: "clean", false: "dirty"}[ok]
	}
	return v
}

func (s *shaper) reviewShape(is *hub.Issue, rv *hub.Review) object {
	url := fmt.Sprintf("%s#pullrequestreview-%d", s.issueURL(is), rv.ID)
	pr := s.api(is.Repo, fmt.Sprintf("/pulls/%d", is.Number))
	return object{"id": rv.ID, "user": s.userShape(rv.Author), "body": rv.Body, "state": rv.State,
		"commit_id": rv.Commit, "submitted_at": stamp(rv.Submitted), "html_url": url, "pull_request_url": pr,
		"author_association": Association(is.Repo, rv.Author),
		"_links":             object{"html": object{"href": url}, "pull_request": object{"href": pr}}}
}

// anyComment renders an issue comment or a diff comment.
func (s *shaper) anyComment(c *hub.Comment) object {
	if c.Path != "" {
		return s.reviewCommentShape(c)
	}
	return s.commentShape(c)
}

func (s *shaper) reviewCommentShape(c *hub.Comment) object {
	r := c.Issue.Repo
	url := s.api(r, fmt.Sprintf("/pulls/comments/%d", c.ID))
	html := fmt.Sprintf("%s#discussion_r%d", s.issueURL(c.Issue), c.ID)
	pr := s.api(r, fmt.Sprintf("/pulls/%d", c.Issue.Number))
	v := object{"id": c.ID, "body": c.Body, "user": s.userShape(c.Author), "path": c.Path, "diff_hunk": c.Hunk,
		"line": c.Line, "original_line": c.Line, "side": c.Side, "commit_id": c.Commit, "original_commit_id": c.Commit,
		"position": 1, "original_position": 1, "pull_request_review_id": c.Review, "url": url, "html_url": html,
		"pull_request_url": pr, "created_at": stamp(c.Created), "updated_at": stamp(c.Updated),
		"author_association": Association(r, c.Author),
		"_links": object{
			"self":         object{"href": url},
			"html":         object{"href": html},
			"pull_request": object{"href": pr},
		}}
	if c.StartLine > 0 {
		v["start_line"], v["original_start_line"], v["start_side"] = c.StartLine, c.StartLine, c.Side
	}
	if c.InReplyTo != 0 {
		v["in_reply_to_id"] = c.InReplyTo
	}
	return v
}

func (s *shaper) checkShape(c *hub.CheckRun) object {
	url := s.api(c.Repo, fmt.Sprintf("/check-runs/%d", c.ID))
	v := object{"id": c.ID, "node_id": fmt.Sprintf("CR_%d", c.ID), "name": c.Name, "head_sha": c.SHA,
		"status": c.Status, "conclusion": nullable(c.Conclusion), "external_id": c.ExternalID, "url": url,
		"html_url": s.page(c.Repo, fmt.Sprintf("/runs/%d", c.ID)), "details_url": nullable(c.URL),
		"started_at": stamp(c.Started), "completed_at": stampPtr(c.Completed), "check_suite": object{"id": c.ID + suiteOffset},
		"output": object{"title": nullable(c.Title), "summary": nullable(c.Summary), "text": nullable(c.Text),
			"annotations_count": len(c.Annotations), "annotations_url": url + "/annotations"},
		"app": s.ciApp(c.ByApp), "pull_requests": s.pullsMinimal(c.Repo, c.SHA)}
	return v
}

// ciApp returns the app of a check: ours, or that of GitHub Actions.
func (s *shaper) ciApp(ours bool) any {
	app := s.appShape()
	if !ours {
		app["id"], app["slug"], app["name"], app["client_id"] = 15368, "github-actions", "GitHub Actions", "Iv1.actions"
	}
	return s.filled("nullable-integration", app)
}

func (s *shaper) pullsMinimal(r *hub.Repo, sha string) []object {
	out := []object{}
	end := func(r *hub.Repo, ref, sha string) object {
		if r == nil {
			return object{"ref": ref, "sha": sha, "repo": nil}
		}
		return object{"ref": ref, "sha": sha, "repo": object{"id": r.ID, "url": s.api(r, ""), "name": r.Name}}
	}
	for _, is := range r.Sorted() {
		if is.Pull == nil || is.Pull.HeadSHA != sha || is.State != "open" || is.Pull.HeadRepo != r {
			continue
		}
		out = append(out, object{"id": is.ID, "number": is.Number, "url": s.api(r, fmt.Sprintf("/pulls/%d", is.Number)),
			"head": end(r, is.Pull.HeadRef, sha), "base": end(r, is.Pull.BaseRef, is.Pull.BaseSHA)})
	}
	return out
}

// object is a JSON object of an answer. Handlers set the relevant fields; the
// description adds the rest.
type object = map[string]any

func itoa(n int64) string { return strconv.FormatInt(n, 10) }

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

func stampPtr(t *time.Time) any {
	if t == nil {
		return nil
	}
	return stamp(*t)
}
