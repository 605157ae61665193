package ghtest

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
)

func (c *call) pull() (*issue, error) {
	is := c.repo.issues[int(c.number("pull_number"))]
	if is == nil || is.pull == nil {
		return nil, notFound()
	}
	return is, nil
}

func (s *Server) listPulls(c *call) (int, any, error) {
	state, head, base := c.query("state"), c.query("head"), c.query("base")
	if state == "" {
		state = "open"
	}
	list := []object{}
	for _, is := range c.repo.sorted() {
		p := is.pull
		if p == nil || (state != "all" && is.state != state) || (base != "" && p.baseRef != base) {
			continue
		}
		// GitHub ignores a head that does not name the owner.
		if owner, ref, ok := strings.Cut(head, ":"); ok {
			if p.headRepo == nil || !strings.EqualFold(p.headRepo.owner.login, owner) || p.headRef != ref {
				continue
			}
		}
		list = append(list, s.pullShape(is))
	}
	if c.query("direction") != "asc" {
		slices.Reverse(list)
	}
	return 200, page(c, list), nil
}

type newPull struct {
	Title, Body, Head, Base string
	Draft                   bool
	MaintainerCanModify     *bool `json:"maintainer_can_modify"`
}

func (s *Server) createPull(c *call) (int, any, error) {
	var req newPull
	if err := c.decode(&req); err != nil {
		return 0, nil, err
	}
	is, err := s.openPull(c.repo, c.who.user, req)
	if err != nil {
		return 0, nil, err
	}
	is.viaApp = c.who.inst() != nil
	return 201, s.pullDetail(is), nil
}

func (s *Server) openPull(r *repo, author *user, req newPull) (*issue, error) {
	if strings.TrimSpace(req.Title) == "" {
		return nil, invalid("PullRequest", "title", "missing_field", "")
	}
	if err := checkText("PullRequest", req.Body); err != nil {
		return nil, err
	}
	headRepo, headRef := r, req.Head
	if owner, ref, ok := strings.Cut(req.Head, ":"); ok {
		headRef, headRepo = ref, s.forkOf(r, owner)
	}
	baseSHA := r.dir.branch(req.Base)
	if baseSHA == "" {
		return nil, invalid("PullRequest", "base", "invalid", "")
	}
	if headRepo == nil || headRepo.dir.branch(headRef) == "" {
		return nil, invalid("PullRequest", "head", "invalid", "")
	}
	for _, other := range r.issues {
		if p := other.pull; p != nil && other.state == "open" && p.headRepo == headRepo && p.headRef == headRef && p.baseRef == req.Base {
			return nil, custom("PullRequest", fmt.Sprintf("A pull request already exists for %s:%s.", headRepo.owner.login, headRef))
		}
	}
	headSHA, err := s.importHead(r, headRepo, headRef, r.lastNumber+1)
	if err != nil {
		return nil, err
	}
	if n, err := r.dir.count(baseSHA + ".." + headSHA); err != nil || n == 0 {
		return nil, custom("PullRequest", fmt.Sprintf("No commits between %s and %s", req.Base, headRef))
	}
	is := s.newIssue(r, author, req.Title, req.Body)
	is.pull = &pull{headRepo: headRepo, headRef: headRef, headSHA: headSHA, baseRef: req.Base, baseSHA: baseSHA,
		draft: req.Draft, noMaintainer: req.MaintainerCanModify != nil && !*req.MaintainerCanModify}
	s.emitPull("opened", is, author, nil)
	return is, nil
}

func custom(resource, message string) error {
	return &apiError{status: http.StatusUnprocessableEntity, message: "Validation Failed",
		errors: []any{object{"resource": resource, "code": "custom", "message": message}}}
}

func (s *Server) forkOf(r *repo, owner string) *repo {
	if strings.EqualFold(owner, r.owner.login) {
		return r
	}
	for _, f := range s.repos {
		if f.parent == r && strings.EqualFold(f.owner.login, owner) {
			return f
		}
	}
	return nil
}

// importHead brings the head of a pull request into the base repository under
// refs/pull, where everyone can fetch it by number.
func (s *Server) importHead(r, from *repo, ref string, number int) (string, error) {
	target := fmt.Sprintf("refs/pull/%d/head", number)
	if from == r {
		sha := r.dir.branch(ref)
		_, err := r.dir.run(nil, "update-ref", target, sha)
		return sha, err
	}
	if _, err := r.dir.run(nil, "fetch", "--quiet", "--no-tags", from.dir.path, "+refs/heads/"+ref+":"+target); err != nil {
		return "", err
	}
	return r.dir.line("rev-parse", target)
}

// move is a branch that moved. Empty ids stand for a branch that was not
// there or is no more.
type move struct {
	repo          *repo
	branch        string
	before, after string
	by            *user
}

// branchMoved follows a branch: events and pull requests. The lock is held.
func (s *Server) branchMoved(m move) {
	if m.after == "" {
		delete(m.repo.heads, m.branch)
	} else {
		m.repo.heads[m.branch] = m.after
	}
	zero := strings.Repeat("0", 40)
	or := func(sha string) string {
		if sha == "" {
			return zero
		}
		return sha
	}
	by := m.by
	p := object{"ref": "refs/heads/" + m.branch, "before": or(m.before), "after": or(m.after), "created": m.before == "",
		"deleted": m.after == "", "forced": false, "commits": []object{}, "head_commit": nil,
		"pusher": object{"name": by.login, "email": by.login + "@users.noreply.github.com"}}
	if m.after != "" {
		p["head_commit"] = s.headCommit(m)
	}
	s.emit(m.repo, event{"push", "", by}, p)
	for _, base := range s.repos {
		for _, is := range base.sorted() {
			s.pullMoved(is, m)
		}
	}
	s.touch()
}

func (s *Server) pullMoved(is *issue, m move) {
	p := is.pull
	if p == nil || is.state != "open" {
		return
	}
	if is.repo == m.repo && p.baseRef == m.branch && m.after != "" {
		p.baseSHA = m.after
	}
	if p.headRepo != m.repo || p.headRef != m.branch {
		return
	}
	if m.after == "" {
		s.setState(is, "closed", m.by)
		return
	}
	sha, err := s.importHead(is.repo, m.repo, m.branch, is.number)
	if err != nil {
		s.log.Error("follow pull request", "err", err)
		return
	}
	p.headSHA = sha
	is.updated = s.now()
	s.emitPull("synchronize", is, m.by, object{"before": m.before, "after": m.after})
}

func (s *Server) getPull(c *call) (int, any, error) {
	is, err := c.pull()
	if err != nil {
		return 0, nil, err
	}
	return 200, s.pullDetail(is), nil
}

func (s *Server) updatePull(c *call) (int, any, error) {
	is, err := c.pull()
	if err != nil {
		return 0, nil, err
	}
	var req struct{ Title, Body, State, Base *string }
	if err := c.decode(&req); err != nil {
		return 0, nil, err
	}
	if c.who.inst() == nil {
		if err := mayEdit(c, is.author); err != nil {
			return 0, nil, err
		}
	}
	if req.Body != nil {
		if err := checkText("PullRequest", *req.Body); err != nil {
			return 0, nil, err
		}
		is.body = *req.Body
	}
	if req.Title != nil {
		is.title = *req.Title
	}
	if req.Base != nil {
		sha := is.repo.dir.branch(*req.Base)
		if sha == "" {
			return 0, nil, invalid("PullRequest", "base", "invalid", "")
		}
		is.pull.baseRef, is.pull.baseSHA = *req.Base, sha
	}
	if req.State != nil && is.pull.merged != nil && *req.State == "open" {
		return 0, nil, invalid("PullRequest", "state", "invalid", "")
	}
	is.updated = s.now()
	s.emitPull("edited", is, c.who.user, object{"changes": object{}})
	if req.State != nil {
		s.setState(is, *req.State, c.who.user)
	}
	return 200, s.pullDetail(is), nil
}

func (s *Server) listPullFiles(c *call) (int, any, error) {
	is, err := c.pull()
	if err != nil {
		return 0, nil, err
	}
	list, err := s.fileShapes(is.repo, is.pull.baseSHA, is.pull.headSHA)
	if err != nil {
		return 0, nil, err
	}
	return 200, page(c, list), nil
}

func (s *Server) listPullCommits(c *call) (int, any, error) {
	is, err := c.pull()
	if err != nil {
		return 0, nil, err
	}
	list, err := s.commitList(is.repo, is.pull.baseSHA+".."+is.pull.headSHA)
	if err != nil {
		return 0, nil, err
	}
	return 200, page(c, list), nil
}

func (s *Server) pullsOfCommit(c *call) (int, any, error) {
	list := []object{}
	for _, is := range c.repo.sorted() {
		if is.pull != nil && is.pull.headSHA == c.params["commit_sha"] {
			list = append(list, s.pullShape(is))
		}
	}
	return 200, page(c, list), nil
}

func (s *Server) requestReviewers(c *call) (int, any, error) {
	is, err := c.pull()
	if err != nil {
		return 0, nil, err
	}
	var req struct {
		Reviewers     []string
		TeamReviewers []string `json:"team_reviewers"`
	}
	if err := c.decode(&req); err != nil {
		return 0, nil, err
	}
	for _, slug := range req.TeamReviewers {
		team := strings.ToLower(is.repo.owner.login + "/" + slug)
		if s.teams[team] == nil {
			return 0, nil, &apiError{status: 422, message: "Reviews may only be requested from collaborators. One or more of the users or teams you specified is not a collaborator of the " + is.repo.full() + " repository."}
		}
		if !slices.Contains(is.pull.teams, team) {
			is.pull.teams = append(is.pull.teams, team)
			s.emitPull("review_requested", is, c.who.user, object{"requested_team": s.filled("team", s.teamShape(team))})
		}
	}
	for _, login := range req.Reviewers {
		u := s.users[strings.ToLower(login)]
		if u == nil || !is.repo.explicit(u) && is.repo.owner != u {
			return 0, nil, &apiError{status: 422, message: "Reviews may only be requested from collaborators. One or more of the users or teams you specified is not a collaborator of the " + is.repo.full() + " repository."}
		}
		if u == is.author {
			return 0, nil, &apiError{status: 422, message: "Review cannot be requested from pull request author."}
		}
		if !slices.Contains(is.pull.reviewers, u) {
			is.pull.reviewers = append(is.pull.reviewers, u)
			s.emitPull("review_requested", is, c.who.user, object{"requested_reviewer": s.filled("simple-user", s.userShape(u))})
		}
	}
	return 201, s.pullShape(is), nil
}

func (s *Server) listRequestedReviewers(c *call) (int, any, error) {
	is, err := c.pull()
	if err != nil {
		return 0, nil, err
	}
	teams := []any{}
	for _, t := range is.pull.teams {
		teams = append(teams, s.filled("team", s.teamShape(t)))
	}
	return 200, object{"users": s.userShapes(is.pull.reviewers), "teams": teams}, nil
}

// teamShape is a team by "org/slug".
func (s *Server) teamShape(team string) object {
	org, slug, _ := strings.Cut(team, "/")
	page := s.url + "/orgs/" + org + "/teams/" + slug
	return object{"id": 1, "node_id": "T_1", "name": slug, "slug": slug, "description": nil, "privacy": "closed", "permission": "push",
		"url": page, "html_url": page, "members_url": page + "/members{/member}", "repositories_url": page + "/repos", "parent": nil}
}
