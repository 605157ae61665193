package ghtest

import (
	"encoding/json"
	"net/http"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/handrail-bot/handrail/bot/ghapp/ghtest/hub"
)

func getApp(c *call) (int, any, error) { return 200, c.s.appShape(), nil }

func eventNames() []string {
	return []string{"issue_comment", "issues", "pull_request", "pull_request_review", "pull_request_review_comment",
		"repository", "push", "check_run", "check_suite", "workflow_run", "status", "repository_dispatch"}
}

func (s *shaper) installationShape(in *hub.Installation) object {
	var suspended any
	if in.Suspended {
		suspended = stamp(s.Now())
	}
	return object{"id": in.ID, "app_id": s.app.ID, "app_slug": s.app.Slug, "target_id": in.Account.ID,
		"target_type": in.Account.Kind, "repository_selection": "all", "account": s.filled("simple-user", s.userShape(in.Account)),
		"permissions": stringMap(s.perms), "events": eventNames(), "suspended_at": suspended,
		"access_tokens_url": s.url + "/app/installations/" + itoa(in.ID) + "/access_tokens"}
}

func listInstallations(c *call) (int, any, error) {
	out := []object{}
	for _, in := range c.s.Installs {
		out = append(out, c.s.installationShape(in))
	}
	sort.Slice(out, func(i, j int) bool { return out[i]["id"].(int64) < out[j]["id"].(int64) })
	return 200, page(c, out), nil
}

func getInstallation(c *call) (int, any, error) {
	in := c.s.Installs[c.number("installation_id")]
	if in == nil {
		return 0, nil, hub.NotFound()
	}
	return 200, c.s.installationShape(in), nil
}

func getRepoInstallation(c *call) (int, any, error) {
	in := c.s.Installed(c.repo)
	if in == nil {
		return 0, nil, hub.NotFound()
	}
	return 200, c.s.installationShape(in), nil
}

func createToken(c *call) (int, any, error) {
	in := c.s.Installs[c.number("installation_id")]
	if in == nil {
		return 0, nil, hub.NotFound()
	}
	if in.Suspended {
		return 0, nil, &hub.Refused{Status: http.StatusForbidden, Message: "This installation has been suspended"}
	}
	var req struct {
		Repositories  []string          `json:"repositories"`
		RepositoryIDs []int64           `json:"repository_ids"`
		Permissions   map[string]string `json:"permissions"`
	}
	if err := c.decode(&req); err != nil {
		return 0, nil, err
	}
	scope, list, err := c.tokenScope(in, req.Repositories, req.RepositoryIDs)
	if err != nil {
		return 0, nil, err
	}
	perms := c.s.perms
	if len(req.Permissions) > 0 {
		perms = map[string]string{"metadata": "read"}
		for name, level := range req.Permissions {
			if !hasPermission(c.s.perms, name+":"+level) {
				return 0, nil, &hub.Refused{Status: 422, Message: "The permissions requested are not granted to this installation."}
			}
			perms[name] = level
		}
	}
	t := c.s.Keys.NewToken(c.s.Users[strings.ToLower(c.s.app.Login)], "ghs_")
	t.Inst, t.Perms, t.Repos, t.Expires = in, perms, scope, c.s.Now().Add(time.Hour)
	out := object{"token": t.Value, "expires_at": stamp(t.Expires), "permissions": stringMap(perms),
		"repository_selection": "all"}
	if scope != nil {
		out["repository_selection"] = "selected"
		out["repositories"] = list
	}
	return 201, out, nil
}

// tokenScope returns the repositories of a token request. A nil scope means all of
// them.
func (c *call) tokenScope(in *hub.Installation, names []string, ids []int64) (map[int64]bool, []object, error) {
	if len(names)+len(ids) == 0 {
		return nil, nil, nil
	}
	scope, list := map[int64]bool{}, []object{}
	for _, r := range c.s.Repos {
		if c.s.Installed(r) != in {
			continue
		}
		for _, n := range names {
			if strings.EqualFold(n, r.Name) {
				scope[r.ID] = true
			}
		}
		for _, id := range ids {
			if id == r.ID {
				scope[r.ID] = true
			}
		}
		if scope[r.ID] {
			list = append(list, c.s.repoShape(r))
		}
	}
	if len(scope) != len(names)+len(ids) {
		return nil, nil, &hub.Refused{
			Status:  422,
			Message: "There is at least one repository that does not exist or is not accessible to the parent installation.",
		}
	}
	return scope, list, nil
}

func listAccessible(c *call) (int, any, error) {
	list := []object{}
	for _, r := range c.s.Repos {
		if in := c.who.inst(); in != nil && c.s.Installed(r) == in && c.who.covers(c.s.Hub, r) {
			list = append(list, c.s.repoShape(r))
		}
	}
	sort.Slice(list, func(i, j int) bool { return list[i]["id"].(int64) < list[j]["id"].(int64) })
	return 200, object{"total_count": len(list), "repositories": page(c, list)}, nil
}

// convertManifest always refuses: the fake does not serve the pages that issue codes.
func convertManifest(*call) (int, any, error) { return 0, nil, hub.NotFound() }

func getRateLimit(c *call) (int, any, error) {
	one := func(r *hub.Rate) object {
		return object{"limit": r.Limit, "used": r.Used, "remaining": max(0, r.Limit-r.Used), "reset": r.Reset.Unix()}
	}
	core, search := c.s.Keys.Rate(c.who.key(), c.s.Clock()), c.s.Keys.SearchRate(c.who.key(), c.s.Clock())
	return 200, object{"resources": object{"core": one(core), "search": one(search)}, "rate": one(core)}, nil
}

func getSelf(c *call) (int, any, error) {
	if c.who.inst() != nil {
		return 0, nil, &hub.Refused{Status: 403, Message: "Resource not accessible by integration"}
	}
	return 200, c.s.publicUser(c.who.user), nil
}

func getUser(c *call) (int, any, error) {
	u := c.s.Users[strings.ToLower(c.params["username"])]
	if u == nil {
		return 0, nil, hub.NotFound()
	}
	return 200, c.s.publicUser(u), nil
}

func getAccount(c *call) (int, any, error) {
	for _, u := range c.s.Users {
		if strconv.FormatInt(u.ID, 10) == c.params["account_id"] {
			return 200, c.s.publicUser(u), nil
		}
	}
	return 0, nil, hub.NotFound()
}

func (s *shaper) publicUser(u *hub.User) any {
	v := s.userShape(u).(object)
	v["user_view_type"] = "public"
	return s.filled("public-user", v)
}

func getMembership(c *call) (int, any, error) {
	team := c.s.Teams[strings.ToLower(c.params["org"]+"/"+c.params["team_slug"])]
	if !team[strings.ToLower(c.params["username"])] {
		return 0, nil, hub.NotFound()
	}
	return 200, object{"role": "member", "state": "active", "url": c.s.url + c.r.URL.Path}, nil
}

func listDeliveries(c *call) (int, any, error) {
	out := []object{}
	var cursor int64 = 1 << 62
	if v := c.query("cursor"); v != "" {
		if err := json.Unmarshal([]byte(strings.TrimPrefix(v, "v1_")), &cursor); err != nil {
			return 0, nil, &hub.Refused{Status: 400, Message: "Invalid cursor"}
		}
	}
	per := 30
	if v := c.query("per_page"); v != "" {
		if err := json.Unmarshal([]byte(v), &per); err != nil || per < 1 || per > 100 {
			per = 100
		}
	}
	for i := len(c.s.hooks.log) - 1; i >= 0; i-- {
		d := c.s.hooks.log[i]
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
		out = append(out, c.s.deliveryShape(d))
	}
	return 200, out, nil
}

func (s *shaper) deliveryShape(d *Delivery) object {
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

func getDelivery(c *call) (int, any, error) {
	d := c.s.findDelivery(c.number("delivery_id"))
	if d == nil {
		return 0, nil, hub.NotFound()
	}
	v := c.s.deliveryShape(d)
	var payload any
	if err := json.Unmarshal(d.Payload, &payload); err != nil {
		return 0, nil, err
	}
	v["request"] = object{"headers": object{"X-GitHub-Event": d.Event, "X-GitHub-Delivery": d.GUID}, "payload": payload}
	v["response"] = object{"headers": object{}, "payload": ""}
	return 200, v, nil
}

func redeliver(c *call) (int, any, error) {
	d := c.s.findDelivery(c.number("delivery_id"))
	if d == nil {
		return 0, nil, hub.NotFound()
	}
	again := *d
	again.Redelivery = true
	c.s.enqueue(&again)
	return 202, object{}, nil
}
