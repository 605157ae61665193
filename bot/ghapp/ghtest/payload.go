package ghtest

import (
	"strings"

	"github.com/handrail-bot/handrail/bot/ghapp/ghtest/hub"
)

// payload returns the webhook payload of an event, with the documented parts.
func (s *shaper) payload(ev hub.Event) object {
	switch ev.Kind {
	case "issue_comment":
		return addPreviousText(
			ev,
			object{
				"issue":   s.filled("issue", s.issueShape(ev.Issue)),
				"comment": s.filled("issue-comment", s.commentShape(ev.Comment)),
			},
		)
	case "pull_request_review_comment":
		return addPreviousText(
			ev,
			object{"comment": s.filled("pull-request-review-comment", s.reviewCommentShape(ev.Comment)),
				"pull_request": s.filled("pull-request-simple", s.pullShape(ev.Issue))},
		)
	case "pull_request_review":
		shape := s.filled("pull-request-review", s.reviewShape(ev.Issue, ev.Review)).(object)
		shape["state"] = strings.ToLower(ev.Review.State)
		return object{"review": shape, "pull_request": s.filled("pull-request-simple", s.pullShape(ev.Issue))}
	case "issues":
		return s.issueParts(ev, object{"issue": s.filled("issue", s.issueShape(ev.Issue))})
	case "pull_request":
		return s.issueParts(
			ev,
			object{"number": ev.Issue.Number, "pull_request": s.filled("pull-request", s.pullDetail(ev.Issue))},
		)
	case "check_run":
		run := s.filled("check-run", s.checkShape(ev.Check)).(object)
		run["check_suite"] = s.suiteShape(ev.Check)
		return object{"check_run": run}
	case "check_suite":
		return object{"check_suite": s.suiteShape(ev.Check)}
	case "push":
		return s.pushPayload(*ev.Move)
	}
	return object{"branch": ev.Repo.DefaultBranch, "client_payload": ev.Payload}
}

// addPreviousText adds the previous text of an edited event.
func addPreviousText(ev hub.Event, p object) object {
	if ev.Action == "edited" {
		p["changes"] = object{"body": object{"from": ev.Before}}
	}
	return p
}

// issueParts adds the fields specific to one action of an issue or pull request.
func (s *shaper) issueParts(ev hub.Event, p object) object {
	if ev.Label != "" {
		p["label"] = s.filled("label", s.labelShape(ev.Repo, ev.Label))
	}
	if ev.Team != "" {
		p["requested_team"] = s.filled("team", s.teamShape(ev.Team))
	}
	switch {
	case ev.Action == "assigned":
		p["assignee"] = s.filled("simple-user", s.userShape(ev.User))
	case ev.User != nil:
		p["requested_reviewer"] = s.filled("simple-user", s.userShape(ev.User))
	case ev.Move != nil:
		p["before"], p["after"] = ev.Move.Before, ev.Move.After
	case ev.Action == "edited" && ev.Text != "":
		p["changes"] = object{"body": object{"from": ev.Text}}
	case ev.Action == "edited" && ev.Before != "":
		p["changes"] = object{"base": object{"ref": object{"from": ev.Before}, "sha": object{"from": ev.Issue.Pull.BaseSHA}}}
	case ev.Action == "edited":
		p["changes"] = object{}
	}
	return p
}

func (s *shaper) pushPayload(m hub.Move) object {
	zero := strings.Repeat("0", 40)
	or := func(sha string) string {
		if sha == "" {
			return zero
		}
		return sha
	}
	p := object{"ref": "refs/heads/" + m.Branch, "before": or(m.Before), "after": or(m.After), "created": m.Before == "",
		"deleted": m.After == "", "forced": false, "commits": []object{}, "head_commit": nil,
		"pusher": object{"name": m.By.Login, "email": noReply(s, m.By)}}
	if m.After != "" {
		p["head_commit"] = s.headCommit(m)
	}
	return p
}

// suiteShape returns the check suite of a check. In this fake every check has its own.
func (s *shaper) suiteShape(c *hub.CheckRun) object {
	var branch any
	for name, sha := range c.Repo.Heads {
		if sha == c.SHA {
			branch = name
		}
	}
	id := c.ID + suiteOffset
	return object{"id": id, "node_id": "CS_" + itoa(id), "head_sha": c.SHA, "head_branch": branch, "status": c.Status,
		"conclusion": nullable(c.Conclusion), "url": s.api(c.Repo, "/check-suites/"+itoa(id)), "before": c.SHA, "after": c.SHA,
		"pull_requests": s.pullsMinimal(c.Repo, c.SHA), "app": s.ciApp(c.ByApp),
		"created_at": stamp(c.Started), "updated_at": stamp(c.Started)}
}

// suiteOffset separates the ids of suites from those of runs.
const suiteOffset = 500000

// headCommit returns the commit at the tip of a push.
func (s *shaper) headCommit(m hub.Move) any {
	v, err := s.commitShape(m.Repo, m.After)
	if err != nil {
		return nil
	}
	in := v["commit"].(object)
	author := in["author"].(object)
	for _, who := range []any{author, in["committer"]} {
		name, _ := who.(object)["name"].(string)
		if u := s.Users[strings.ToLower(name)]; u != nil {
			who.(object)["username"] = u.Login
		}
	}
	out := object{
		"id":        m.After,
		"tree_id":   in["tree"].(object)["sha"],
		"message":   in["message"],
		"timestamp": author["date"],
		"url":       v["html_url"],
		"author":    author,
		"committer": in["committer"],
		"distinct":  true,
		"added":     []string{},
		"removed":   []string{},
		"modified":  []string{},
	}
	if m.Before == "" {
		return out
	}
	files, err := m.Repo.Dir.DiffFiles(m.Before, m.After)
	for _, f := range files {
		list := map[string]string{"added": "added", "removed": "removed"}[f.Status]
		if list == "" {
			list = "modified"
		}
		out[list] = append(out[list].([]string), f.Name)
	}
	if err != nil {
		s.Log.Debug("compare push", "err", err)
	}
	return out
}
