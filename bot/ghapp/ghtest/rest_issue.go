package ghtest

import (
	"encoding/json"
	"net/http"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/handrail-bot/handrail/bot/ghapp/ghtest/hub"
)

func listIssues(c *call) (int, any, error) {
	state := c.query("state")
	if state == "" {
		state = "open"
	}
	want := splitList(c.query("labels"))
	var list []object
	for _, is := range c.repo.Sorted() {
		if state != "all" && is.State != state {
			continue
		}
		if who := c.query("creator"); who != "" && !strings.EqualFold(who, is.Author.Login) {
			continue
		}
		if slices.ContainsFunc(want, func(l string) bool { return !is.HasLabel(l) }) {
			continue
		}
		list = append(list, c.s.issueShape(is))
	}
	slices.Reverse(list) // newest first
	return 200, page(c, list), nil
}

func splitList(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(s, ",")
}

func createIssue(c *call) (int, any, error) {
	var req struct {
		Title, Body string
		Labels      []json.RawMessage
		Assignees   []string
	}
	if err := c.decode(&req); err != nil {
		return 0, nil, err
	}
	if strings.TrimSpace(req.Title) == "" {
		return 0, nil, hub.Invalid("Issue", "title", "missing_field", "")
	}
	if err := hub.CheckText("Issue", req.Body); err != nil {
		return 0, nil, err
	}
	is := c.s.NewIssue(c.repo, c.who.user, req.Title, req.Body)
	is.ViaApp = c.who.inst() != nil
	for _, raw := range req.Labels {
		c.s.Label(is, labelName(raw))
	}
	c.s.Assign(is, req.Assignees)
	c.s.Tell(hub.AboutIssue("opened", is, c.who.user))
	return 201, c.s.issueShape(is), nil
}

func labelName(raw json.RawMessage) string {
	var name string
	if json.Unmarshal(raw, &name) == nil {
		return name
	}
	var l struct{ Name string }
	_ = json.Unmarshal(raw, &l)
	return l.Name
}

func getIssue(c *call) (int, any, error) {
	is := c.issue
	return 200, c.s.issueShape(is), nil
}

// mayEdit allows the author, and users with write access. An app can edit only its own
// texts.
func mayEdit(c *call, author *hub.User) error {
	if c.who.user == author {
		return nil
	}
	if c.who.inst() == nil && hub.RoleRank[c.repo.RoleOn(c.who.user)] >= hub.RoleRank["write"] {
		return nil
	}
	if c.who.inst() != nil {
		return &hub.Refused{Status: http.StatusForbidden, Message: "Resource not accessible by integration"}
	}
	return &hub.Refused{Status: http.StatusForbidden, Message: "Must have admin rights to Repository."}
}

func updateIssue(c *call) (int, any, error) {
	is := c.issue
	var req struct {
		Title, Body, State *string
		Labels             *[]json.RawMessage
		Assignees          *[]string
	}
	if err := c.decode(&req); err != nil {
		return 0, nil, err
	}
	if (req.Title != nil || req.Body != nil) && c.who.inst() == nil {
		if err := mayEdit(c, is.Author); err != nil {
			return 0, nil, err
		}
	}
	if err := is.Reword(req.Title, req.Body); err != nil {
		return 0, nil, err
	}
	if req.Labels != nil {
		is.Labels = nil
		for _, raw := range *req.Labels {
			c.s.Label(is, labelName(raw))
		}
	}
	if req.Assignees != nil {
		is.Assignees = nil
		c.s.Assign(is, *req.Assignees)
	}
	is.Updated = c.s.Now()
	c.s.Tell(hub.AboutIssue("edited", is, c.who.user))
	if req.State != nil {
		c.s.SetState(is, *req.State, c.who.user)
	}
	return 200, c.s.issueShape(is), nil
}

func listComments(c *call) (int, any, error) {
	is := c.issue
	var since time.Time
	if v := c.query("since"); v != "" {
		var err error
		if since, err = time.Parse(time.RFC3339, v); err != nil {
			return 0, nil, hub.Invalid("IssueComment", "since", "invalid", "")
		}
	}
	list := []object{}
	for _, cm := range is.Comments {
		if !cm.Updated.Before(since) {
			list = append(list, c.s.commentShape(cm))
		}
	}
	return 200, page(c, list), nil
}

func (c *call) commentBody() (string, error) {
	var req struct{ Body string }
	if err := c.decode(&req); err != nil {
		return "", err
	}
	if strings.TrimSpace(req.Body) == "" {
		return "", hub.Invalid("IssueComment", "body", "missing_field", "body is missing")
	}
	return req.Body, hub.CheckText("IssueComment", req.Body)
}

func createComment(c *call) (int, any, error) {
	is := c.issue
	body, err := c.commentBody()
	if err != nil {
		return 0, nil, err
	}
	if is.Locked && (c.who.inst() != nil || hub.RoleRank[is.Repo.RoleOn(c.who.user)] < hub.RoleRank["write"]) {
		return 0, nil, &hub.Refused{Status: 403, Message: "Unable to create comment because issue is locked."}
	}
	cm := c.s.NewComment(is, c.who.user, body)
	cm.ViaApp = c.who.inst() != nil
	is.Comments = append(is.Comments, cm)
	is.Updated = cm.Created
	c.s.Tell(hub.AboutComment("created", cm, c.who.user))
	return 201, c.s.commentShape(cm), nil
}

func getComment(c *call) (int, any, error) { return 200, c.s.anyComment(c.comment), nil }

func updateComment(c *call) (int, any, error) {
	cm := c.comment
	if err := mayEdit(c, cm.Author); err != nil {
		return 0, nil, err
	}
	body, err := c.commentBody()
	if err != nil {
		return 0, nil, err
	}
	c.s.Edit(cm, body, c.who.user)
	return 200, c.s.anyComment(cm), nil
}

func deleteComment(c *call) (int, any, error) {
	cm := c.comment
	if err := mayEdit(c, cm.Author); err != nil {
		return 0, nil, err
	}
	c.s.RemoveComment(cm, c.who.user)
	return 204, nil, nil
}

func addLabels(c *call) (int, any, error) {
	is := c.issue
	var list []json.RawMessage
	if json.Unmarshal(c.body, &list) != nil {
		var req struct{ Labels []json.RawMessage }
		if err := c.decode(&req); err != nil {
			return 0, nil, err
		}
		list = req.Labels
	}
	for _, raw := range list {
		if name := labelName(raw); c.s.Label(is, name) {
			c.s.SendLabelEvent("labeled", is, c.who.user, name)
		}
	}
	return 200, c.s.labelShapes(is), nil
}

func removeLabel(c *call) (int, any, error) {
	is := c.issue
	name := c.params["name"]
	if !is.HasLabel(name) {
		return 0, nil, &hub.Refused{Status: 404, Message: "Label does not exist"}
	}
	is.Labels = slices.DeleteFunc(is.Labels, func(l string) bool { return strings.EqualFold(l, name) })
	c.s.SendLabelEvent("unlabeled", is, c.who.user, name)
	return 200, c.s.labelShapes(is), nil
}

func listLabels(c *call) (int, any, error) {
	list := []object{}
	for _, l := range c.repo.Labels {
		list = append(list, c.s.labelShape(c.repo, l.Name))
	}
	sort.Slice(list, func(i, j int) bool { return list[i]["name"].(string) < list[j]["name"].(string) })
	return 200, page(c, list), nil
}

func addAssignees(c *call) (int, any, error) {
	is := c.issue
	var req struct{ Assignees []string }
	if err := c.decode(&req); err != nil {
		return 0, nil, err
	}
	c.s.Assign(is, req.Assignees)
	return 201, c.s.issueShape(is), nil
}

// timeline returns the comments and reviews of a thread. Other events are omitted.
func timeline(c *call) (int, any, error) {
	is := c.issue
	list := []object{}
	for _, cm := range is.Comments {
		v := c.s.commentShape(cm)
		v["event"], v["actor"] = "commented", c.s.filled("simple-user", c.s.userShape(cm.Author))
		list = append(list, c.s.filled("timeline-comment-event", v).(object))
	}
	if is.Pull != nil {
		for _, rv := range is.Pull.Reviews {
			v := c.s.reviewShape(is, rv)
			v["event"] = "reviewed"
			list = append(list, c.s.filled("timeline-reviewed-event", v).(object))
		}
	}
	return 200, page(c, list), nil
}
