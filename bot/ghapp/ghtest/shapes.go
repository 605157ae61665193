package ghtest

import (
	"fmt"
	"strings"
	"time"
)

// The shapes carry what is read; fill adds the rest.

func (s *Server) page(r *repo, rest string) string { return s.url + "/" + r.full() + rest }

func (s *Server) api(r *repo, rest string) string { return s.url + "/repos/" + r.full() + rest }

func (s *Server) userShape(u *user) any {
	if u == nil {
		return nil
	}
	html := s.url + "/" + u.login
	if u.kind == "Bot" {
		html = s.url + "/apps/" + strings.TrimSuffix(u.login, "[bot]")
	}
	return object{"id": u.id, "node_id": fmt.Sprintf("U_%d", u.id), "login": u.login, "type": u.kind,
		"html_url": html, "url": s.url + "/users/" + u.login, "avatar_url": s.url + "/avatars/" + itoa(u.id)}
}

func (s *Server) userShapes(users []*user) []object {
	out := []object{}
	for _, u := range users {
		out = append(out, s.userShape(u).(object))
	}
	return out
}

func (s *Server) repoShape(r *repo) object {
	visibility := "public"
	if r.private {
		visibility = "private"
	}
	v := object{"id": r.id, "node_id": fmt.Sprintf("R_%d", r.id), "name": r.name, "full_name": r.full(),
		"owner": s.userShape(r.owner), "private": r.private, "visibility": visibility, "fork": r.parent != nil,
		"default_branch": r.defaultBranch, "html_url": s.page(r, ""), "url": s.api(r, ""),
		"clone_url": s.page(r, ".git"), "created_at": stamp(r.created), "updated_at": stamp(r.created),
		"pushed_at": stamp(r.created), "has_issues": true}
	if r.parent != nil {
		v["parent"] = s.repoShape(r.parent)
		v["source"] = v["parent"]
	}
	return v
}

func (s *Server) appShape() object {
	return object{"id": s.app.ID, "slug": s.app.Slug, "client_id": s.app.ClientID, "name": s.app.Slug,
		"owner":    s.filled("simple-user", s.userShape(s.users[strings.ToLower(s.app.Login)])),
		"html_url": s.url + "/apps/" + s.app.Slug, "permissions": stringMap(s.perms), "events": eventNames()}
}

// filled completes v by a schema of the description, for the places where the
// answer's own schema leaves a choice.
func (s *Server) filled(schema string, v any) any {
	return s.filler().fill(s.spec.named(schema), v)
}

func (s *Server) viaApp(yes bool) any {
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

func (s *Server) association(r *repo, u *user) string {
	switch {
	case u == r.owner:
		return "OWNER"
	case r.explicit(u) && u.kind != "Bot":
		return "COLLABORATOR"
	}
	return "NONE"
}

func (s *Server) labelShape(r *repo, name string) object {
	v := object{"name": name, "color": "ededed", "default": false, "url": s.api(r, "/labels/"+name)}
	if l := r.labels[strings.ToLower(name)]; l != nil {
		v["id"] = l.id
	}
	return v
}

func (s *Server) labelShapes(is *issue) []object {
	out := []object{}
	for _, l := range is.labels {
		out = append(out, s.labelShape(is.repo, l))
	}
	return out
}

func kindPath(is *issue) string {
	if is.pull != nil {
		return "/pull/"
	}
	return "/issues/"
}

func (s *Server) issueURL(is *issue) string {
	return s.page(is.repo, fmt.Sprintf("%s%d", kindPath(is), is.number))
}

func (s *Server) issueShape(is *issue) object {
	v := object{"id": is.id, "node_id": fmt.Sprintf("I_%d", is.id), "number": is.number, "title": is.title,
		"body": nullable(is.body), "user": s.userShape(is.author), "state": is.state, "locked": false,
		"labels": s.labelShapes(is), "assignees": s.userShapes(is.assignees), "assignee": nil,
		"comments": len(is.comments), "html_url": s.issueURL(is),
		"url":            s.api(is.repo, fmt.Sprintf("/issues/%d", is.number)),
		"comments_url":   s.api(is.repo, fmt.Sprintf("/issues/%d/comments", is.number)),
		"repository_url": s.api(is.repo, ""), "created_at": stamp(is.created), "updated_at": stamp(is.updated),
		"closed_at": stampPtr(is.closed), "author_association": s.association(is.repo, is.author),
		"performed_via_github_app": s.viaApp(is.viaApp), "draft": is.pull != nil && is.pull.draft,
		"reactions": s.rollup(is.reactions, s.api(is.repo, fmt.Sprintf("/issues/%d", is.number)))}
	if len(is.assignees) > 0 {
		v["assignee"] = s.userShape(is.assignees[0])
	}
	if is.pull != nil {
		v["pull_request"] = object{"url": s.api(is.repo, fmt.Sprintf("/pulls/%d", is.number)),
			"html_url": s.issueURL(is), "diff_url": s.issueURL(is) + ".diff", "patch_url": s.issueURL(is) + ".patch",
			"merged_at": stampPtr(is.pull.merged)}
	}
	return v
}

func nullable(s string) any {
	if s == "" {
		return nil
	}
	return s
}

func (s *Server) commentShape(c *comment) object {
	r := c.issue.repo
	return object{"id": c.id, "node_id": fmt.Sprintf("IC_%d", c.id), "body": c.body, "user": s.userShape(c.author),
		"html_url":   fmt.Sprintf("%s#issuecomment-%d", s.issueURL(c.issue), c.id),
		"url":        s.api(r, fmt.Sprintf("/issues/comments/%d", c.id)),
		"issue_url":  s.api(r, fmt.Sprintf("/issues/%d", c.issue.number)),
		"created_at": stamp(c.created), "updated_at": stamp(c.updated),
		"author_association":       s.association(r, c.author),
		"performed_via_github_app": s.viaApp(c.viaApp), "reactions": s.rollup(c.reactions, s.api(r, ""))}
}

func (s *Server) rollup(list []*reaction, url string) object {
	v := object{"url": url + "/reactions", "total_count": len(list)}
	for _, name := range reactionNames() {
		v[name] = 0
	}
	for _, r := range list {
		v[r.content] = v[r.content].(int) + 1
	}
	return v
}

func reactionNames() []string {
	return []string{"+1", "-1", "laugh", "confused", "heart", "hooray", "rocket", "eyes"}
}

func (s *Server) reactionShape(r *reaction) object {
	return object{"id": r.id, "user": s.userShape(r.author), "content": r.content, "created_at": stamp(r.created)}
}

func (s *Server) branchEnd(r *repo, ref, sha string) object {
	if r == nil {
		return object{"label": "unknown repository", "ref": ref, "sha": sha, "repo": nil, "user": nil}
	}
	return object{"label": r.owner.login + ":" + ref, "ref": ref, "sha": sha, "repo": s.repoShape(r),
		"user": s.userShape(r.owner)}
}

func (s *Server) pullShape(is *issue) object {
	p := is.pull
	v := s.issueShape(is)
	for _, k := range []string{"pull_request", "repository_url", "performed_via_github_app", "reactions"} {
		delete(v, k)
	}
	url := s.api(is.repo, fmt.Sprintf("/pulls/%d", is.number))
	for k, val := range (object{"url": url, "node_id": fmt.Sprintf("PR_%d", is.id), "draft": p.draft,
		"issue_url": s.api(is.repo, fmt.Sprintf("/issues/%d", is.number)),
		"diff_url":  s.issueURL(is) + ".diff", "patch_url": s.issueURL(is) + ".patch",
		"head": s.branchEnd(p.headRepo, p.headRef, p.headSHA), "base": s.branchEnd(is.repo, p.baseRef, p.baseSHA),
		"merged": p.merged != nil, "merged_at": stampPtr(p.merged), "merged_by": s.userShape(p.mergedBy),
		"merge_commit_sha": nullable(p.mergeSHA), "requested_reviewers": s.userShapes(p.reviewers),
		"requested_teams": []object{}, "maintainer_can_modify": !p.noMaintainer,
		"review_comments": len(p.comments), "auto_merge": nil,
	}) {
		v[k] = val
	}
	return v
}

// pullDetail adds what only the single pull request shows.
func (s *Server) pullDetail(is *issue) object {
	v := s.pullShape(is)
	files, _ := is.repo.dir.diffFiles(is.pull.baseSHA, is.pull.headSHA)
	add, del := 0, 0
	for _, f := range files {
		add, del = add+f.add, del+f.del
	}
	commits, _ := is.repo.dir.count(is.pull.baseSHA + ".." + is.pull.headSHA)
	v["additions"], v["deletions"], v["changed_files"], v["commits"] = add, del, len(files), commits
	v["mergeable"], v["mergeable_state"], v["rebaseable"] = nil, "unknown", nil
	if is.state == "open" {
		ok := is.repo.dir.mergeable(is.pull.baseSHA, is.pull.headSHA)
		v["mergeable"], v["mergeable_state"] = ok, map[bool]string{true: "clean", false: "dirty"}[ok]
	}
	return v
}

func (s *Server) reviewShape(is *issue, rv *review) object {
	url := fmt.Sprintf("%s#pullrequestreview-%d", s.issueURL(is), rv.id)
	pr := s.api(is.repo, fmt.Sprintf("/pulls/%d", is.number))
	return object{"id": rv.id, "user": s.userShape(rv.author), "body": rv.body, "state": rv.state,
		"commit_id": rv.commit, "submitted_at": stamp(rv.submitted), "html_url": url, "pull_request_url": pr,
		"author_association": s.association(is.repo, rv.author),
		"_links":             object{"html": object{"href": url}, "pull_request": object{"href": pr}}}
}

func (s *Server) reviewCommentShape(c *comment) object {
	r := c.issue.repo
	url := s.api(r, fmt.Sprintf("/pulls/comments/%d", c.id))
	html := fmt.Sprintf("%s#discussion_r%d", s.issueURL(c.issue), c.id)
	pr := s.api(r, fmt.Sprintf("/pulls/%d", c.issue.number))
	v := object{"id": c.id, "body": c.body, "user": s.userShape(c.author), "path": c.path, "diff_hunk": c.hunk,
		"line": c.line, "original_line": c.line, "side": c.side, "commit_id": c.commit, "original_commit_id": c.commit,
		"position": 1, "original_position": 1, "pull_request_review_id": c.review, "url": url, "html_url": html,
		"pull_request_url": pr, "created_at": stamp(c.created), "updated_at": stamp(c.updated),
		"author_association": s.association(r, c.author),
		"_links":             object{"self": object{"href": url}, "html": object{"href": html}, "pull_request": object{"href": pr}}}
	if c.startLine > 0 {
		v["start_line"], v["original_start_line"], v["start_side"] = c.startLine, c.startLine, c.side
	}
	if c.inReplyTo != 0 {
		v["in_reply_to_id"] = c.inReplyTo
	}
	return v
}

func (s *Server) checkShape(c *checkRun) object {
	url := s.api(c.repo, fmt.Sprintf("/check-runs/%d", c.id))
	v := object{"id": c.id, "node_id": fmt.Sprintf("CR_%d", c.id), "name": c.name, "head_sha": c.sha,
		"status": c.status, "conclusion": nullable(c.conclusion), "external_id": c.externalID, "url": url,
		"html_url": s.page(c.repo, fmt.Sprintf("/runs/%d", c.id)), "details_url": nullable(c.url),
		"started_at": stamp(c.started), "completed_at": stampPtr(c.completed), "check_suite": object{"id": c.id + suiteOffset},
		"output": object{"title": nullable(c.title), "summary": nullable(c.summary), "text": nullable(c.text),
			"annotations_count": len(c.annotations), "annotations_url": url + "/annotations"},
		"app": s.ciApp(c.byApp), "pull_requests": s.pullsMinimal(c.repo, c.sha)}
	return v
}

// ciApp is the app that made a check: ours, or the one that runs workflows.
func (s *Server) ciApp(ours bool) any {
	app := s.appShape()
	if !ours {
		app["id"], app["slug"], app["name"], app["client_id"] = 15368, "github-actions", "GitHub Actions", "Iv1.actions"
	}
	return s.filled("nullable-integration", app)
}

func (s *Server) pullsMinimal(r *repo, sha string) []object {
	out := []object{}
	end := func(r *repo, ref, sha string) object {
		if r == nil {
			return object{"ref": ref, "sha": sha, "repo": nil}
		}
		return object{"ref": ref, "sha": sha, "repo": object{"id": r.id, "url": s.api(r, ""), "name": r.name}}
	}
	for _, is := range r.sorted() {
		if is.pull == nil || is.pull.headSHA != sha || is.state != "open" || is.pull.headRepo != r {
			continue
		}
		out = append(out, object{"id": is.id, "number": is.number, "url": s.api(r, fmt.Sprintf("/pulls/%d", is.number)),
			"head": end(r, is.pull.headRef, sha), "base": end(r, is.pull.baseRef, is.pull.baseSHA)})
	}
	return out
}

// now is the time of the fake, in whole seconds as GitHub tells it.
func (s *Server) now() time.Time { return s.clock().UTC().Truncate(time.Second) }
