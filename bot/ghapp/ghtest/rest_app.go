package ghtest

import (
	"encoding/json"
	"net/http"
	"sort"
	"strings"
	"time"
)

func (s *Server) getApp(*call) (int, any, error) { return 200, s.appShape(), nil }

func eventNames() []string {
	return []string{"issue_comment", "issues", "pull_request", "pull_request_review", "pull_request_review_comment",
		"push", "check_run", "check_suite", "repository_dispatch"}
}

func (s *Server) installationShape(in *installation) object {
	var suspended any
	if in.suspended {
		suspended = stamp(s.now())
	}
	return object{"id": in.id, "app_id": s.app.ID, "app_slug": s.app.Slug, "target_id": in.account.id,
		"target_type": in.account.kind, "repository_selection": "all", "account": s.filled("simple-user", s.userShape(in.account)),
		"permissions": stringMap(s.perms), "events": eventNames(), "suspended_at": suspended,
		"access_tokens_url": s.url + "/app/installations/" + itoa(in.id) + "/access_tokens"}
}

func (s *Server) listInstallations(c *call) (int, any, error) {
	out := []object{}
	for _, in := range s.installs {
		out = append(out, s.installationShape(in))
	}
	sort.Slice(out, func(i, j int) bool { return out[i]["id"].(int64) < out[j]["id"].(int64) })
	return 200, page(c, out), nil
}

func (s *Server) getInstallation(c *call) (int, any, error) {
	in := s.installs[c.number("installation_id")]
	if in == nil {
		return 0, nil, notFound()
	}
	return 200, s.installationShape(in), nil
}

func (s *Server) getRepoInstallation(c *call) (int, any, error) {
	in := s.installed(c.repo)
	if in == nil {
		return 0, nil, notFound()
	}
	return 200, s.installationShape(in), nil
}

func (s *Server) createToken(c *call) (int, any, error) {
	in := s.installs[c.number("installation_id")]
	if in == nil {
		return 0, nil, notFound()
	}
	if in.suspended {
		return 0, nil, &apiError{status: http.StatusForbidden, message: "This installation has been suspended"}
	}
	var req struct {
		Repositories  []string          `json:"repositories"`
		RepositoryIDs []int64           `json:"repository_ids"`
		Permissions   map[string]string `json:"permissions"`
	}
	if err := c.decode(&req); err != nil {
		return 0, nil, err
	}
	scope, list, err := s.tokenScope(in, req.Repositories, req.RepositoryIDs)
	if err != nil {
		return 0, nil, err
	}
	perms := s.perms
	if len(req.Permissions) > 0 {
		perms = map[string]string{"metadata": "read"}
		for name, level := range req.Permissions {
			if !granted(s.perms, name+":"+level) {
				return 0, nil, &apiError{status: 422, message: "The permissions requested are not granted to this installation."}
			}
			perms[name] = level
		}
	}
	t := s.newToken(s.users[strings.ToLower(s.app.Login)], "ghs_")
	t.inst, t.perms, t.repos, t.expires = in, perms, scope, s.now().Add(time.Hour)
	out := object{"token": t.value, "expires_at": stamp(t.expires), "permissions": stringMap(perms),
		"repository_selection": "all"}
	if scope != nil {
		out["repository_selection"] = "selected"
		out["repositories"] = list
	}
	return 201, out, nil
}

// tokenScope finds the repositories that a token is asked for; none asked for
// means all of them.
func (s *Server) tokenScope(in *installation, names []string, ids []int64) (map[int64]bool, []object, error) {
	if len(names)+len(ids) == 0 {
		return nil, nil, nil
	}
	scope, list := map[int64]bool{}, []object{}
	for _, r := range s.repos {
		if s.installed(r) != in {
			continue
		}
		for _, n := range names {
			if strings.EqualFold(n, r.name) {
				scope[r.id] = true
			}
		}
		for _, id := range ids {
			if id == r.id {
				scope[r.id] = true
			}
		}
		if scope[r.id] {
			list = append(list, s.repoShape(r))
		}
	}
	if len(scope) != len(names)+len(ids) {
		return nil, nil, &apiError{status: 422, message: "There is at least one repository that does not exist or is not accessible to the parent installation."}
	}
	return scope, list, nil
}

func (s *Server) listAccessible(c *call) (int, any, error) {
	list := []object{}
	for _, r := range s.repos {
		if in := c.who.inst(); in != nil && s.installed(r) == in && s.covers(c.who, r) {
			list = append(list, s.repoShape(r))
		}
	}
	sort.Slice(list, func(i, j int) bool { return list[i]["id"].(int64) < list[j]["id"].(int64) })
	return 200, object{"total_count": len(list), "repositories": page(c, list)}, nil
}

func (s *Server) convertManifest(c *call) (int, any, error) {
	if !s.manifests[c.params["code"]] {
		return 0, nil, notFound()
	}
	delete(s.manifests, c.params["code"])
	out := s.filled("integration", s.appShape()).(object)
	out["client_id"], out["client_secret"] = s.app.ClientID, "ghtest-client-secret"
	out["webhook_secret"], out["pem"] = s.app.WebhookSecret, string(s.app.Key)
	return 201, out, nil
}

func (s *Server) getRateLimit(c *call) (int, any, error) {
	r := s.rateOf(c.who)
	one := func() object {
		return object{"limit": r.limit, "used": r.used, "remaining": max(0, r.limit-r.used), "reset": r.reset.Unix()}
	}
	return 200, object{"resources": object{"core": one(), "search": one()}, "rate": one()}, nil
}

func (s *Server) getSelf(c *call) (int, any, error) {
	if c.who.inst() != nil {
		return 0, nil, &apiError{status: 403, message: "Resource not accessible by integration"}
	}
	return 200, s.publicUser(c.who.user), nil
}

func (s *Server) getUser(c *call) (int, any, error) {
	u := s.users[strings.ToLower(c.params["username"])]
	if u == nil {
		return 0, nil, notFound()
	}
	return 200, s.publicUser(u), nil
}

func (s *Server) publicUser(u *user) any {
	v := s.userShape(u).(object)
	v["user_view_type"] = "public"
	return s.filled("public-user", v)
}

func (s *Server) getMembership(c *call) (int, any, error) {
	team := s.teams[strings.ToLower(c.params["org"]+"/"+c.params["team_slug"])]
	if !team[strings.ToLower(c.params["username"])] {
		return 0, nil, notFound()
	}
	return 200, object{"role": "member", "state": "active", "url": s.url + c.r.URL.Path}, nil
}

func (s *Server) listDeliveries(c *call) (int, any, error) {
	out := []object{}
	var cursor int64 = 1 << 62
	if v := c.query("cursor"); v != "" {
		if err := json.Unmarshal([]byte(strings.TrimPrefix(v, "v1_")), &cursor); err != nil {
			return 0, nil, &apiError{status: 400, message: "Invalid cursor"}
		}
	}
	per := 30
	if v := c.query("per_page"); v != "" {
		if err := json.Unmarshal([]byte(v), &per); err != nil || per < 1 || per > 100 {
			per = 100
		}
	}
	for i := len(s.hooks.log) - 1; i >= 0; i-- {
		d := s.hooks.log[i]
		if d.ID >= cursor {
			continue
		}
		if len(out) == per {
			last := out[len(out)-1]["id"].(int64)
			u := *c.r.URL
			q := u.Query()
			q.Set("cursor", "v1_"+itoa(last))
			u.RawQuery = q.Encode()
			c.header.Set("Link", `<http://`+c.r.Host+u.RequestURI()+`>; rel="next"`)
			break
		}
		out = append(out, s.deliveryShape(d))
	}
	return 200, out, nil
}

func (s *Server) deliveryShape(d *Delivery) object {
	v := object{"id": d.ID, "guid": d.GUID, "delivered_at": stamp(d.At), "redelivery": d.Redelivery,
		"duration": 0.1, "status": deliveryStatus(d.Status), "status_code": d.Status, "event": d.Event,
		"action": nullable(d.Action), "installation_id": nil, "repository_id": nil}
	if d.installation != 0 {
		v["installation_id"] = d.installation
	}
	if d.repository != 0 {
		v["repository_id"] = d.repository
	}
	return v
}

func deliveryStatus(code int) string {
	switch {
	case code == 0:
		return "failed to connect to host"
	case code < 300:
		return "OK"
	}
	return "Invalid HTTP Response: " + itoa(int64(code))
}

func (s *Server) getDelivery(c *call) (int, any, error) {
	d := s.findDelivery(c.number("delivery_id"))
	if d == nil {
		return 0, nil, notFound()
	}
	v := s.deliveryShape(d)
	var payload any
	if err := json.Unmarshal(d.Payload, &payload); err != nil {
		return 0, nil, err
	}
	v["request"] = object{"headers": object{"X-GitHub-Event": d.Event, "X-GitHub-Delivery": d.GUID}, "payload": payload}
	v["response"] = object{"headers": object{}, "payload": ""}
	return 200, v, nil
}

func (s *Server) redeliver(c *call) (int, any, error) {
	d := s.findDelivery(c.number("delivery_id"))
	if d == nil {
		return 0, nil, notFound()
	}
	again := *d
	again.Redelivery = true
	s.enqueue(&again)
	return 202, object{}, nil
}
