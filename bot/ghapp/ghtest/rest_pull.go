package ghtest

import (
	"net/http"
	"slices"
	"strings"

	"github.com/handrail-bot/handrail/bot/ghapp/ghtest/hub"
)

func listPulls(c *call) (int, any, error) {
	state, head, base := c.query("state"), c.query("head"), c.query("base")
	if state == "" {
		state = "open"
	}
	list := []object{}
	for _, is := range c.repo.Sorted() {
		p := is.Pull
		if p == nil || (state != "all" && is.State != state) || (base != "" && p.BaseRef != base) {
			continue
		}
		// GitHub ignores a head without an owner.
		if owner, ref, ok := strings.Cut(head, ":"); ok {
			if p.HeadRepo == nil || !strings.EqualFold(p.HeadRepo.Owner.Login, owner) || p.HeadRef != ref {
				continue
			}
		}
		list = append(list, c.s.pullShape(is))
	}
	if c.query("direction") != "asc" {
		slices.Reverse(list)
	}
	return 200, page(c, list), nil
}

func createPull(c *call) (int, any, error) {
	var req hub.NewPull
	if err := c.decode(&req); err != nil {
		return 0, nil, err
	}
	is, err := c.s.OpenPull(c.repo, c.who.user, req)
	if err != nil {
		return 0, nil, err
	}
	is.ViaApp = c.who.inst() != nil
	return 201, c.s.pullDetail(is), nil
}

// diffType is the media type of a diff.
const diffType = "application/vnd.github.diff; charset=utf-8"

func getPull(c *call) (int, any, error) {
	is := c.issue
	if strings.HasPrefix(c.r.Header.Get("Accept"), "application/vnd.github.diff") {
		text, err := is.Repo.Dir.RunCached("diff", "-M", is.Pull.BaseSHA+"..."+is.Pull.HeadSHA)
		if strings.Count(text, "\n") > 20_000 {
			return 0, nil, &hub.Refused{
				Status:  http.StatusNotAcceptable,
				Message: "Sorry, the diff exceeded the maximum number of lines (20000)",
			}
		}
		c.header.Set("Content-Type", diffType)
		return 200, []byte(text), err
	}
	return 200, c.s.pullDetail(is), nil
}

func updatePull(c *call) (int, any, error) {
	is := c.issue
	var req struct{ Title, Body, State, Base *string }
	if err := c.decode(&req); err != nil {
		return 0, nil, err
	}
	if c.who.inst() == nil {
		if err := mayEdit(c, is.Author); err != nil {
			return 0, nil, err
		}
	}
	if err := is.Reword(req.Title, req.Body); err != nil {
		return 0, nil, err
	}
	if req.Base != nil {
		sha := is.Repo.Dir.Branch(*req.Base)
		if sha == "" {
			return 0, nil, hub.Invalid("PullRequest", "base", "invalid", "")
		}
		is.Pull.BaseRef, is.Pull.BaseSHA = *req.Base, sha
	}
	if req.State != nil && is.Pull.Merged != nil && *req.State == "open" {
		return 0, nil, hub.Invalid("PullRequest", "state", "invalid", "")
	}
	is.Updated = c.s.Now()
	c.s.Tell(hub.AboutIssue("edited", is, c.who.user))
	if req.State != nil {
		c.s.SetState(is, *req.State, c.who.user)
	}
	return 200, c.s.pullDetail(is), nil
}

func listPullFiles(c *call) (int, any, error) {
	is := c.issue
	list, err := c.s.fileShapes(is.Repo, is.Pull.BaseSHA, is.Pull.HeadSHA)
	if err != nil {
		return 0, nil, err
	}
	return 200, page(c, list), nil
}

func listPullCommits(c *call) (int, any, error) {
	is := c.issue
	list, err := c.s.commitList(is.Repo, is.Pull.BaseSHA+".."+is.Pull.HeadSHA)
	if err != nil {
		return 0, nil, err
	}
	return 200, page(c, list), nil
}

func pullsOfCommit(c *call) (int, any, error) {
	list := []object{}
	for _, is := range c.repo.Sorted() {
		if is.Pull != nil && is.Pull.HeadSHA == c.params["commit_sha"] {
			list = append(list, c.s.pullShape(is))
		}
	}
	return 200, page(c, list), nil
}

func requestReviewers(c *call) (int, any, error) {
	is := c.issue
	var req struct {
		Reviewers     []string
		TeamReviewers []string `json:"team_reviewers"`
	}
	if err := c.decode(&req); err != nil {
		return 0, nil, err
	}
	if err := c.s.RequestReview(is, c.who.user, req.Reviewers, req.TeamReviewers); err != nil {
		return 0, nil, err
	}
	return 201, c.s.pullShape(is), nil
}

func listRequestedReviewers(c *call) (int, any, error) {
	is := c.issue
	teams := []any{}
	for _, t := range is.Pull.Teams {
		teams = append(teams, c.s.filled("team", c.s.teamShape(t)))
	}
	return 200, object{"users": c.s.userShapes(is.Pull.Reviewers), "teams": teams}, nil
}

// teamShape returns a team named as "org/slug".
func (s *shaper) teamShape(team string) object {
	org, slug, _ := strings.Cut(team, "/")
	page := s.url + "/orgs/" + org + "/teams/" + slug
	return object{
		"id":               1,
		"node_id":          "T_1",
		"name":             slug,
		"slug":             slug,
		"description":      nil,
		"privacy":          "closed",
		"permission":       "push",
		"url":              page,
		"html_url":         page,
		"members_url":      page + "/members{/member}",
		"repositories_url": page + "/repos",
		"parent":           nil,
	}
}
