package ghtest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"sort"
	"strings"
	"time"
	"unicode/utf8"
)

const maxCommentRunes = 65536

func (r *repo) sorted() []*issue {
	out := make([]*issue, 0, len(r.issues))
	for _, is := range r.issues {
		out = append(out, is)
	}
	sort.Slice(out, func(i, j int) bool { return out[i].number < out[j].number })
	return out
}

func (c *call) issue() (*issue, error) {
	n := c.number("issue_number")
	if is := c.repo.issues[int(n)]; is != nil {
		return is, nil
	}
	return nil, notFound()
}

func checkText(resource, text string) error {
	if n := utf8.RuneCountInString(text); n > maxCommentRunes {
		return invalid(resource, "body", "too_long", fmt.Sprintf("body is too long (maximum is %d characters)", maxCommentRunes))
	}
	return nil
}

func (s *Server) listIssues(c *call) (int, any, error) {
	state := c.query("state")
	if state == "" {
		state = "open"
	}
	want := splitList(c.query("labels"))
	var list []object
	for _, is := range c.repo.sorted() {
		if state != "all" && is.state != state {
			continue
		}
		if who := c.query("creator"); who != "" && !strings.EqualFold(who, is.author.login) {
			continue
		}
		if slices.ContainsFunc(want, func(l string) bool { return !is.hasLabel(l) }) {
			continue
		}
		list = append(list, s.issueShape(is))
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

func (is *issue) hasLabel(name string) bool {
	return slices.ContainsFunc(is.labels, func(l string) bool { return strings.EqualFold(l, name) })
}

func (s *Server) newIssue(r *repo, author *user, title, body string) *issue {
	r.lastNumber++
	now := s.now()
	is := &issue{id: s.nextID(), repo: r, number: r.lastNumber, title: title, body: body, author: author,
		state: "open", created: now, updated: now}
	r.issues[is.number] = is
	return is
}

func (s *Server) createIssue(c *call) (int, any, error) {
	var req struct {
		Title, Body string
		Labels      []json.RawMessage
		Assignees   []string
	}
	if err := c.decode(&req); err != nil {
		return 0, nil, err
	}
	if strings.TrimSpace(req.Title) == "" {
		return 0, nil, invalid("Issue", "title", "missing_field", "")
	}
	if err := checkText("Issue", req.Body); err != nil {
		return 0, nil, err
	}
	is := s.newIssue(c.repo, c.who.user, req.Title, req.Body)
	is.viaApp = c.who.inst() != nil
	for _, raw := range req.Labels {
		s.label(is, labelName(raw))
	}
	s.assign(is, req.Assignees)
	s.emitIssue("opened", is, c.who.user, nil)
	return 201, s.issueShape(is), nil
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

func (s *Server) getIssue(c *call) (int, any, error) {
	is, err := c.issue()
	if err != nil {
		return 0, nil, err
	}
	return 200, s.withHTML(c, s.issueShape(is)), nil
}

// mayEdit: one's own, or a person who can write. An app edits only what it
// wrote.
func mayEdit(c *call, author *user) error {
	if c.who.user == author {
		return nil
	}
	if c.who.inst() == nil && roleRank[c.repo.roleOn(c.who.user)] >= roleRank["write"] {
		return nil
	}
	if c.who.inst() != nil {
		return &apiError{status: http.StatusForbidden, message: "Resource not accessible by integration"}
	}
	return &apiError{status: http.StatusForbidden, message: "Must have admin rights to Repository."}
}

func (s *Server) updateIssue(c *call) (int, any, error) {
	is, err := c.issue()
	if err != nil {
		return 0, nil, err
	}
	var req struct {
		Title, Body, State *string
		Labels             *[]json.RawMessage
		Assignees          *[]string
	}
	if err := c.decode(&req); err != nil {
		return 0, nil, err
	}
	if (req.Title != nil || req.Body != nil) && c.who.inst() == nil {
		if err := mayEdit(c, is.author); err != nil {
			return 0, nil, err
		}
	}
	if req.Body != nil {
		if err := checkText("Issue", *req.Body); err != nil {
			return 0, nil, err
		}
		is.body = *req.Body
	}
	if req.Title != nil {
		is.title = *req.Title
	}
	if req.Labels != nil {
		is.labels = nil
		for _, raw := range *req.Labels {
			s.label(is, labelName(raw))
		}
	}
	if req.Assignees != nil {
		is.assignees = nil
		s.assign(is, *req.Assignees)
	}
	is.updated = s.now()
	s.emitIssue("edited", is, c.who.user, object{"changes": object{}})
	if req.State != nil {
		s.setState(is, *req.State, c.who.user)
	}
	return 200, s.issueShape(is), nil
}

func (s *Server) setState(is *issue, state string, by *user) {
	if is.state == state {
		return
	}
	is.state = state
	now := s.now()
	is.updated = now
	if state == "closed" {
		is.closed = &now
		s.emitIssue("closed", is, by, nil)
		return
	}
	is.closed = nil
	s.emitIssue("reopened", is, by, nil)
}

func (s *Server) listComments(c *call) (int, any, error) {
	is, err := c.issue()
	if err != nil {
		return 0, nil, err
	}
	var since time.Time
	if v := c.query("since"); v != "" {
		if since, err = time.Parse(time.RFC3339, v); err != nil {
			return 0, nil, invalid("IssueComment", "since", "invalid", "")
		}
	}
	list := []object{}
	for _, cm := range is.comments {
		if !cm.updated.Before(since) {
			list = append(list, s.commentShape(cm))
		}
	}
	return 200, page(c, list), nil
}

func (s *Server) newComment(is *issue, author *user, body string) *comment {
	now := s.now()
	cm := &comment{id: s.nextID(), issue: is, author: author, body: body, created: now, updated: now}
	return cm
}

func (c *call) commentBody() (string, error) {
	var req struct{ Body string }
	if err := c.decode(&req); err != nil {
		return "", err
	}
	if strings.TrimSpace(req.Body) == "" {
		return "", invalid("IssueComment", "body", "missing_field", "body is missing")
	}
	return req.Body, checkText("IssueComment", req.Body)
}

func (s *Server) createComment(c *call) (int, any, error) {
	is, err := c.issue()
	if err != nil {
		return 0, nil, err
	}
	body, err := c.commentBody()
	if err != nil {
		return 0, nil, err
	}
	cm := s.newComment(is, c.who.user, body)
	cm.viaApp = c.who.inst() != nil
	is.comments = append(is.comments, cm)
	is.updated = cm.created
	s.emitComment("created", cm, c.who.user, "")
	return 201, s.commentShape(cm), nil
}

func (c *call) comment(s *Server) (*comment, error) {
	if cm := s.findComment(c.repo, c.number("comment_id")); cm != nil {
		return cm, nil
	}
	return nil, notFound()
}

func (s *Server) getComment(c *call) (int, any, error) {
	cm, err := c.comment(s)
	if err != nil {
		return 0, nil, err
	}
	return 200, s.withHTML(c, s.commentShape(cm)), nil
}

func (s *Server) updateComment(c *call) (int, any, error) {
	cm, err := c.comment(s)
	if err != nil {
		return 0, nil, err
	}
	if err := mayEdit(c, cm.author); err != nil {
		return 0, nil, err
	}
	body, err := c.commentBody()
	if err != nil {
		return 0, nil, err
	}
	s.edit(cm, body, c.who.user)
	return 200, s.commentShape(cm), nil
}

// edit changes the text of a comment. The time of the change is always later
// than the one before, so two edits within a second are two versions.
func (s *Server) edit(cm *comment, body string, by *user) {
	before := cm.body
	cm.body = body
	if now := s.now(); now.After(cm.updated) {
		cm.updated = now
	} else {
		cm.updated = cm.updated.Add(time.Second)
	}
	if cm.path != "" {
		s.emitReviewComment("edited", cm, by, before)
		return
	}
	s.emitComment("edited", cm, by, before)
}

func (s *Server) deleteComment(c *call) (int, any, error) {
	cm, err := c.comment(s)
	if err != nil {
		return 0, nil, err
	}
	if err := mayEdit(c, cm.author); err != nil {
		return 0, nil, err
	}
	s.removeComment(cm, c.who.user)
	return 204, nil, nil
}

func (s *Server) removeComment(cm *comment, by *user) {
	is := cm.issue
	is.comments = slices.DeleteFunc(is.comments, func(o *comment) bool { return o == cm })
	s.emitComment("deleted", cm, by, "")
}

// label puts a label on an issue, once, and makes it in the repository.
func (s *Server) label(is *issue, name string) bool {
	if name == "" || is.hasLabel(name) {
		return false
	}
	key := strings.ToLower(name)
	if is.repo.labels[key] == nil {
		is.repo.labels[key] = &label{id: s.nextID(), name: name}
	}
	is.labels = append(is.labels, is.repo.labels[key].name)
	is.updated = s.now()
	return true
}

func (s *Server) addLabels(c *call) (int, any, error) {
	is, err := c.issue()
	if err != nil {
		return 0, nil, err
	}
	var list []json.RawMessage
	if json.Unmarshal(c.body, &list) != nil {
		var req struct{ Labels []json.RawMessage }
		if err := c.decode(&req); err != nil {
			return 0, nil, err
		}
		list = req.Labels
	}
	for _, raw := range list {
		if name := labelName(raw); s.label(is, name) {
			s.emitIssue("labeled", is, c.who.user, object{"label": s.filled("label", s.labelShape(is.repo, name))})
		}
	}
	return 200, s.labelShapes(is), nil
}

func (s *Server) removeLabel(c *call) (int, any, error) {
	is, err := c.issue()
	if err != nil {
		return 0, nil, err
	}
	name := c.params["name"]
	if !is.hasLabel(name) {
		return 0, nil, &apiError{status: 404, message: "Label does not exist"}
	}
	is.labels = slices.DeleteFunc(is.labels, func(l string) bool { return strings.EqualFold(l, name) })
	s.emitIssue("unlabeled", is, c.who.user, object{"label": s.filled("label", s.labelShape(is.repo, name))})
	return 200, s.labelShapes(is), nil
}

func (s *Server) listLabels(c *call) (int, any, error) {
	list := []object{}
	for _, l := range c.repo.labels {
		list = append(list, s.labelShape(c.repo, l.name))
	}
	sort.Slice(list, func(i, j int) bool { return list[i]["name"].(string) < list[j]["name"].(string) })
	return 200, page(c, list), nil
}

func (s *Server) assign(is *issue, logins []string) {
	for _, login := range logins {
		u := s.users[strings.ToLower(login)]
		if u == nil || slices.Contains(is.assignees, u) || roleRank[is.repo.roleOn(u)] < roleRank["triage"] {
			continue // GitHub drops them in silence
		}
		is.assignees = append(is.assignees, u)
	}
}

func (s *Server) addAssignees(c *call) (int, any, error) {
	is, err := c.issue()
	if err != nil {
		return 0, nil, err
	}
	var req struct{ Assignees []string }
	if err := c.decode(&req); err != nil {
		return 0, nil, err
	}
	s.assign(is, req.Assignees)
	return 201, s.issueShape(is), nil
}

// timeline tells comments and reviews, the parts of it that a reader of a
// thread needs.
func (s *Server) timeline(c *call) (int, any, error) {
	is, err := c.issue()
	if err != nil {
		return 0, nil, err
	}
	list := []object{}
	for _, cm := range is.comments {
		v := s.commentShape(cm)
		v["event"], v["actor"] = "commented", s.filled("simple-user", s.userShape(cm.author))
		list = append(list, s.filled("timeline-comment-event", v).(object))
	}
	if is.pull != nil {
		for _, rv := range is.pull.reviews {
			v := s.reviewShape(is, rv)
			v["event"] = "reviewed"
			list = append(list, s.filled("timeline-reviewed-event", v).(object))
		}
	}
	return 200, page(c, list), nil
}
