package ghtest

import (
	"fmt"
	"net/http"
	"regexp"
	"time"
)

type checkRequest struct {
	Name        *string
	HeadSHA     *string `json:"head_sha"`
	DetailsURL  *string `json:"details_url"`
	ExternalID  *string `json:"external_id"`
	Status      *string
	Conclusion  *string
	StartedAt   *time.Time `json:"started_at"`
	CompletedAt *time.Time `json:"completed_at"`
	Output      *struct {
		Title, Summary, Text string
		Annotations          []object
	}
}

func (s *Server) createCheck(c *call) (int, any, error) {
	var req checkRequest
	if err := c.decode(&req); err != nil {
		return 0, nil, err
	}
	if c.who.inst() == nil {
		return 0, nil, &apiError{status: http.StatusForbidden, message: "You must authenticate via a GitHub App."}
	}
	if req.HeadSHA == nil || c.repo.dir.resolve(*req.HeadSHA) != *req.HeadSHA {
		return 0, nil, &apiError{status: 422, message: "No commit found for SHA: " + deref(req.HeadSHA)}
	}
	cr := &checkRun{id: s.nextID(), repo: c.repo, sha: *req.HeadSHA, status: "queued", started: s.now(), byApp: true}
	c.repo.checks = append(c.repo.checks, cr)
	s.applyCheck(cr, req)
	s.emitCheck("created", cr, c.who.user)
	if cr.status == "completed" {
		s.emitCheck("completed", cr, c.who.user)
	}
	return 201, s.checkShape(cr), nil
}

func deref(p *string) string {
	if p == nil {
		return ""
	}
	return *p
}

func (s *Server) applyCheck(cr *checkRun, req checkRequest) {
	set := func(to *string, from *string) {
		if from != nil {
			*to = *from
		}
	}
	set(&cr.name, req.Name)
	set(&cr.url, req.DetailsURL)
	set(&cr.externalID, req.ExternalID)
	set(&cr.status, req.Status)
	set(&cr.conclusion, req.Conclusion)
	if req.StartedAt != nil {
		cr.started = *req.StartedAt
	}
	if o := req.Output; o != nil {
		cr.title, cr.summary, cr.text = o.Title, o.Summary, o.Text
		cr.annotations = append(cr.annotations, o.Annotations...)
	}
	if req.Conclusion != nil {
		cr.status = "completed"
	}
	cr.completed = req.CompletedAt
	if cr.status == "completed" && cr.completed == nil {
		now := s.now()
		cr.completed = &now
	}
}

func (c *call) check() (*checkRun, error) {
	for _, cr := range c.repo.checks {
		if cr.id == c.number("check_run_id") {
			return cr, nil
		}
	}
	return nil, notFound()
}

func (s *Server) updateCheck(c *call) (int, any, error) {
	cr, err := c.check()
	if err != nil {
		return 0, nil, err
	}
	var req checkRequest
	if err := c.decode(&req); err != nil {
		return 0, nil, err
	}
	if c.who.inst() == nil || !cr.byApp {
		return 0, nil, &apiError{status: http.StatusForbidden, message: "Invalid app_id `" + itoa(s.app.ID) + "` - check run can only be modified by the GitHub App that created it."}
	}
	was := cr.status
	s.applyCheck(cr, req)
	if cr.status == "completed" && was != "completed" {
		s.emitCheck("completed", cr, c.who.user)
	}
	return 200, s.checkShape(cr), nil
}

func (s *Server) getCheck(c *call) (int, any, error) {
	cr, err := c.check()
	if err != nil {
		return 0, nil, err
	}
	return 200, s.checkShape(cr), nil
}

func (s *Server) listChecks(c *call) (int, any, error) {
	sha := c.repo.dir.resolve(c.params["ref"])
	list := []object{}
	for _, cr := range c.repo.checks {
		if cr.sha != sha || (c.query("check_name") != "" && c.query("check_name") != cr.name) ||
			(c.query("status") != "" && c.query("status") != cr.status) {
			continue
		}
		list = append(list, s.checkShape(cr))
	}
	return 200, object{"total_count": len(list), "check_runs": page(c, list)}, nil
}

func (s *Server) listAnnotations(c *call) (int, any, error) {
	cr, err := c.check()
	if err != nil {
		return 0, nil, err
	}
	return 200, page(c, cr.annotations), nil
}

func (s *Server) jobLogs(c *call) (int, any, error) {
	for _, cr := range c.repo.checks {
		if cr.id == c.number("job_id") && !cr.byApp {
			c.header.Set("Location", s.page(c.repo, "/runs/"+itoa(cr.id)+"/log"))
			return 302, nil, nil
		}
	}
	return 0, nil, notFound()
}

var logRE = regexp.MustCompile(`^/[^/]+/[^/]+/runs/(\d+)/log$`)

// serveLog stands for the other host where GitHub keeps logs. A token must
// not be sent there.
func (s *Server) serveLog(w http.ResponseWriter, r *http.Request, id string) {
	if r.Header.Get("Authorization") != "" {
		s.violate("GET %s: a token was sent to the host that keeps logs", r.URL.Path)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, rp := range s.repos {
		for _, cr := range rp.checks {
			if itoa(cr.id) == id {
				fmt.Fprint(w, cr.text)
				return
			}
		}
	}
	http.NotFound(w, r)
}

func (s *Server) createStatus(c *call) (int, any, error) {
	var req struct {
		State, Context, Description string
		TargetURL                   string `json:"target_url"`
	}
	if err := c.decode(&req); err != nil {
		return 0, nil, err
	}
	sha := c.repo.dir.resolve(c.params["sha"])
	if sha == "" {
		return 0, nil, &apiError{status: 422, message: "No commit found for SHA: " + c.params["sha"]}
	}
	if req.Context == "" {
		req.Context = "default"
	}
	st := &commitStatus{id: s.nextID(), sha: sha, state: req.State, context: req.Context,
		description: req.Description, target: req.TargetURL, author: c.who.user, created: s.now()}
	c.repo.statuses = append(c.repo.statuses, st)
	return 201, s.statusShape(c.repo, st), nil
}

func (s *Server) statusShape(r *repo, st *commitStatus) object {
	return object{"id": st.id, "state": st.state, "context": st.context, "description": nullable(st.description),
		"target_url": nullable(st.target), "creator": s.userShape(st.author), "created_at": stamp(st.created),
		"updated_at": stamp(st.created), "url": s.api(r, "/statuses/"+st.sha)}
}

func (s *Server) combinedStatus(c *call) (int, any, error) {
	sha := c.repo.dir.resolve(c.params["ref"])
	latest := map[string]*commitStatus{}
	for _, st := range c.repo.statuses {
		if st.sha == sha {
			latest[st.context] = st
		}
	}
	state, list := "success", []object{}
	for _, st := range c.repo.statuses {
		if latest[st.context] != st {
			continue
		}
		list = append(list, s.statusShape(c.repo, st))
		if st.state == "failure" || st.state == "error" {
			state = "failure"
		} else if st.state == "pending" && state == "success" {
			state = "pending"
		}
	}
	if len(list) == 0 {
		state = "pending"
	}
	return 200, object{"state": state, "sha": sha, "total_count": len(list), "statuses": list,
		"repository": s.repoShape(c.repo)}, nil
}
