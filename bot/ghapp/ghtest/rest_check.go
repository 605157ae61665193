package ghtest

import (
	"cmp"
	"fmt"
	"net/http"
	"time"

	"github.com/handrail-bot/handrail/bot/ghapp/ghtest/hub"
	"github.com/handrail-bot/handrail/policy/pattern"
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

func createCheck(c *call) (int, any, error) {
	var req checkRequest
	if err := c.decode(&req); err != nil {
		return 0, nil, err
	}
	if c.who.inst() == nil {
		return 0, nil, &hub.Refused{Status: http.StatusForbidden, Message: "You must authenticate via a GitHub App."}
	}
	if req.HeadSHA == nil || c.repo.Dir.Resolve(*req.HeadSHA) != *req.HeadSHA {
		return 0, nil, &hub.Refused{Status: 422, Message: "No commit found for SHA: " + deref(req.HeadSHA)}
	}
	cr := &hub.CheckRun{
		ID:      c.s.NextID(),
		Repo:    c.repo,
		SHA:     *req.HeadSHA,
		Status:  "queued",
		Started: c.s.Now(),
		ByApp:   true,
	}
	c.repo.Checks = append(c.repo.Checks, cr)
	req.apply(cr, c.s.Now())
	c.s.Tell(hub.AboutCheck("check_run", "created", cr, c.who.user))
	if cr.Status == "completed" {
		c.s.Tell(hub.AboutCheck("check_run", "completed", cr, c.who.user))
	}
	return 201, c.s.checkShape(cr), nil
}

func deref(p *string) string {
	if p == nil {
		return ""
	}
	return *p
}

func (req checkRequest) apply(cr *hub.CheckRun, now time.Time) {
	set := func(to *string, from *string) {
		if from != nil {
			*to = *from
		}
	}
	set(&cr.Name, req.Name)
	set(&cr.URL, req.DetailsURL)
	set(&cr.ExternalID, req.ExternalID)
	set(&cr.Status, req.Status)
	set(&cr.Conclusion, req.Conclusion)
	if req.StartedAt != nil {
		cr.Started = *req.StartedAt
	}
	if o := req.Output; o != nil {
		cr.Title, cr.Summary, cr.Text = o.Title, o.Summary, o.Text
		cr.Annotations = append(cr.Annotations, o.Annotations...)
	}
	if req.Conclusion != nil {
		cr.Status = "completed"
	}
	cr.Completed = req.CompletedAt
	if cr.Status == "completed" && cr.Completed == nil {
		cr.Completed = &now
	}
}

func updateCheck(c *call) (int, any, error) {
	cr := c.check
	var req checkRequest
	if err := c.decode(&req); err != nil {
		return 0, nil, err
	}
	if c.who.inst() == nil || !cr.ByApp {
		return 0, nil, &hub.Refused{Status: http.StatusForbidden, Message: "Invalid app_id `" + itoa(c.s.app.ID) + "` - check run can only be modified by the GitHub App that created it."}
	}
	was := cr.Status
	req.apply(cr, c.s.Now())
	if cr.Status == "completed" && was != "completed" {
		c.s.Tell(hub.AboutCheck("check_run", "completed", cr, c.who.user))
	}
	return 200, c.s.checkShape(cr), nil
}

func getCheck(c *call) (int, any, error) {
	cr := c.check
	return 200, c.s.checkShape(cr), nil
}

func listChecks(c *call) (int, any, error) {
	sha := c.repo.Dir.Resolve(c.params["ref"])
	list := []object{}
	for _, cr := range hub.Attempts(c.repo.Checks, c.query("filter")) {
		if cr.SHA != sha || (c.query("check_name") != "" && c.query("check_name") != cr.Name) ||
			(c.query("status") != "" && c.query("status") != cr.Status) {
			continue
		}
		list = append(list, c.s.checkShape(cr))
	}
	return 200, object{"total_count": len(list), "check_runs": page(c, list)}, nil
}

func listAnnotations(c *call) (int, any, error) {
	cr := c.check
	return 200, page(c, cr.Annotations), nil
}

func getRun(c *call) (int, any, error) {
	run, ok := c.repo.Runs[c.number("run_id")]
	if !ok {
		return 0, nil, hub.NotFound()
	}
	return 200, object{
		"id":          c.number("run_id"),
		"status":      run.Status,
		"run_attempt": run.Attempt,
		"actor":       object{"id": cmp.Or(run.Actor, 1)},
		"updated_at":  c.s.Now(),
	}, nil
}

func jobLogs(c *call) (int, any, error) {
	for _, cr := range c.repo.Checks {
		if cr.ID == c.number("job_id") && !cr.ByApp {
			c.header.Set("Location", c.s.page(c.repo, "/runs/"+itoa(cr.ID)+"/log"))
			return 302, nil, nil
		}
	}
	return 0, nil, hub.NotFound()
}

var logRE = pattern.Lazy(`^/[^/]+/[^/]+/runs/(\d+)/log$`)

// serveLog plays the external host of job logs. A request with a token is a violation.
func (s *Server) serveLog(w http.ResponseWriter, r *http.Request, id string) {
	if r.Header.Get("Authorization") != "" {
		s.violate("GET %s: a token was sent to the host that keeps logs", r.URL.Path)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, rp := range s.Repos {
		for _, cr := range rp.Checks {
			if itoa(cr.ID) == id {
				fmt.Fprint(w, cr.Text)
				return
			}
		}
	}
	http.NotFound(w, r)
}

func createStatus(c *call) (int, any, error) {
	var req struct {
		State, Context, Description string
		TargetURL                   string `json:"target_url"`
	}
	if err := c.decode(&req); err != nil {
		return 0, nil, err
	}
	sha := c.repo.Dir.Resolve(c.params["sha"])
	if sha == "" {
		return 0, nil, &hub.Refused{Status: 422, Message: "No commit found for SHA: " + c.params["sha"]}
	}
	if req.Context == "" {
		req.Context = "default"
	}
	st := &hub.CommitStatus{ID: c.s.NextID(), SHA: sha, State: req.State, Context: req.Context,
		Description: req.Description, Target: req.TargetURL, Author: c.who.user, Created: c.s.Now()}
	c.repo.Statuses = append(c.repo.Statuses, st)
	return 201, c.s.statusShape(c.repo, st), nil
}

func (s *shaper) statusShape(r *hub.Repo, st *hub.CommitStatus) object {
	return object{"id": st.ID, "state": st.State, "context": st.Context, "description": nullable(st.Description),
		"target_url": nullable(st.Target), "creator": s.userShape(st.Author), "created_at": stamp(st.Created),
		"updated_at": stamp(st.Created), "url": s.api(r, "/statuses/"+st.SHA)}
}

func combinedStatus(c *call) (int, any, error) {
	sha := c.repo.Dir.Resolve(c.params["ref"])
	latest := map[string]*hub.CommitStatus{}
	for _, st := range c.repo.Statuses {
		if st.SHA == sha {
			latest[st.Context] = st
		}
	}
	state, list := "success", []object{}
	for _, st := range c.repo.Statuses {
		if latest[st.Context] != st {
			continue
		}
		list = append(list, c.s.statusShape(c.repo, st))
		if st.State == "failure" || st.State == "error" {
			state = "failure"
		} else if st.State == "pending" && state == "success" {
			state = "pending"
		}
	}
	if len(list) == 0 {
		state = "pending"
	}
	return 200, object{"state": state, "sha": sha, "total_count": len(list), "statuses": list,
		"repository": c.s.repoShape(c.repo)}, nil
}
