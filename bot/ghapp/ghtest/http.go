package ghtest

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/handrail-bot/handrail/bot/ghapp/ghtest/hub"
)

const maxBody = 10 << 20

// call is one request during its processing.
type call struct {
	s      *Server
	op     *operation
	r      *http.Request
	params map[string]string
	body   []byte
	who    *caller
	header http.Header

	// Objects named in the path; nil if the path names none.
	repo    *hub.Repo
	issue   *hub.Issue
	comment *hub.Comment
	review  *hub.Review
	check   *hub.CheckRun
}

// response is a complete answer, so that a write can run without a client connection.
type response struct {
	status int
	header http.Header
	body   []byte
}

// ServeHTTP serves the API, git and web pages.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if _, _, ok := gitPath(r.URL.Path); ok {
		s.git.ServeHTTP(w, r)
		return
	}
	if s.serveLogin(w, r) {
		return
	}
	path := r.URL.EscapedPath()
	if r.Method == http.MethodGet && strings.Contains(r.Header.Get("Accept"), "text/html") {
		s.servePage(w, path)
		return
	}
	if strings.HasPrefix(path, AttachmentPath) || strings.HasPrefix(path, signedPath) {
		s.serveAttachment(w, r)
		return
	}
	if m := logRE().FindStringSubmatch(path); m != nil {
		s.serveLog(w, r, m[1])
		return
	}
	s.rest.ServeHTTP(w, r)
}

// Route returns the route of a request in GitHub's notation, such as
// "GET /repos/{owner}/{repo}". Requests to git and GraphQL have their own names.
func (s *Server) Route(r *http.Request) string {
	if _, rest, ok := gitPath(r.URL.Path); ok {
		return strings.TrimSpace(r.Method + " " + rest + " " + r.URL.Query().Get("service"))
	}
	op, _ := s.routers.find(r.Method, strings.TrimPrefix(r.URL.EscapedPath(), "/api/v3"))
	if op == nil {
		return r.Method + " /" + path.Base(r.URL.Path)
	}
	return op.route
}

// serveAPI serves the REST API.
func (s *Server) serveAPI(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		http.Error(w, "read request: "+err.Error(), http.StatusBadRequest)
		return
	}
	if path := r.URL.Path; path == "/graphql" || path == "/api/graphql" {
		s.write(w, s.graphql(r, body))
		return
	}
	path := strings.TrimPrefix(r.URL.EscapedPath(), "/api/v3")
	s.log.Debug("github request", "method", r.Method, "path", path)
	s.write(w, s.process(r, path, body))
}

func (s *Server) write(w http.ResponseWriter, resp response) {
	for k, v := range resp.header {
		w.Header()[k] = v
	}
	w.WriteHeader(resp.status)
	if _, err := w.Write(resp.body); err != nil {
		s.log.Debug("write answer", "err", err)
	}
}

func refuse(e *hub.Refused) response {
	body := object{"message": e.Message, "documentation_url": "https://docs.github.com/rest",
		"status": strconv.Itoa(e.Status)}
	if e.Errors != nil {
		body["errors"] = e.Errors
	}
	b, _ := json.Marshal(body)
	h := e.Header
	if h == nil {
		h = http.Header{}
	}
	h.Set("Content-Type", "application/json; charset=utf-8")
	return response{status: e.Status, header: h, body: b}
}

// process handles one API request: route, validate, authorize, run, complete, and
// validate the answer.
func (s *Server) process(r *http.Request, path string, body []byte) response {
	o, params := s.routers.find(r.Method, path)
	if o == nil {
		s.violate("%s %s: no such operation", r.Method, path)
		return refuse(hub.NotFound())
	}
	req := Request{Request: r, Route: o.route, Params: params, Body: body}
	wrong := func(what string, err error) response {
		s.violate("%s %s (%s): %s%v", r.Method, path, o.route, what, err)
		return refuse(&hub.Refused{Status: http.StatusInternalServerError, Message: err.Error()})
	}
	refusal, err := s.description.Request(req)
	if err != nil {
		return wrong("request: ", err)
	}
	c := &call{s: s, op: o, r: r, params: params, body: body, header: http.Header{}}
	status, out, err := s.run(c, refusal)
	var resp response
	var ae *hub.Refused
	switch {
	case errors.As(err, &ae):
		resp = refuse(ae)
	case err != nil:
		return wrong("", err)
	default:
		resp = encode(status, out)
	}
	for k, v := range c.header {
		resp.header[k] = v
	}
	if kind := resp.header.Get("Content-Type"); kind != rawType && kind != diffType { // not covered by the description
		if err := s.description.Answer(req, resp.status, resp.header, resp.body); err != nil {
			return wrong(fmt.Sprintf("answer %d: ", resp.status), err)
		}
	}
	return s.conditional(r, resp)
}

// run authenticates and authorizes the caller and runs the handler, all under the lock.
func (s *Server) run(c *call, refusal string) (int, any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	who, err := s.authenticate(c.r.Header.Get("Authorization"))
	if err != nil {
		return 0, nil, err
	}
	c.who = who
	if err := s.spend(c); err != nil {
		return 0, nil, err
	}
	if err := s.authorize(c); err != nil {
		return 0, nil, err
	}
	if refusal != "" {
		return 0, nil, &hub.Refused{Status: http.StatusUnprocessableEntity, Message: "Invalid request.\n\n" + refusal}
	}
	if err := c.locate(); err != nil {
		return 0, nil, err
	}
	status, out, err := c.op.run(c)
	if err != nil {
		return 0, nil, err
	}
	out = withHTML(c, s.description.Complete(c.op.route, status, out))
	if c.r.Method != http.MethodGet {
		s.touch()
	}
	return status, out, nil
}

// locate finds the objects that the path names: issue or pull request, comment, review,
// check run.
func (c *call) locate() error {
	if n, ok := c.params["issue_number"]; ok {
		if c.issue = c.repo.Issues[toInt(n)]; c.issue == nil {
			return hub.NotFound()
		}
	}
	if n, ok := c.params["pull_number"]; ok {
		if c.issue = c.repo.Issues[toInt(n)]; c.issue == nil || c.issue.Pull == nil {
			return hub.NotFound()
		}
	}
	if _, ok := c.params["comment_id"]; ok && !c.findComment() {
		return hub.NotFound()
	}
	if _, ok := c.params["review_id"]; ok {
		i := slices.IndexFunc(c.issue.Pull.Reviews, func(rv *hub.Review) bool { return rv.ID == c.number("review_id") })
		if i < 0 {
			return hub.NotFound()
		}
		c.review = c.issue.Pull.Reviews[i]
	}
	if _, ok := c.params["check_run_id"]; ok {
		i := slices.IndexFunc(c.repo.Checks, func(cr *hub.CheckRun) bool { return cr.ID == c.number("check_run_id") })
		if i < 0 {
			return hub.NotFound()
		}
		c.check = c.repo.Checks[i]
	}
	return nil
}

// findComment finds an issue comment, or a diff comment if the route is one of pulls.
func (c *call) findComment() bool {
	id := c.number("comment_id")
	if strings.Contains(c.op.route, "/pulls/") {
		c.comment = c.s.FindReviewComment(c.repo, id)
	} else {
		c.comment = c.s.FindComment(c.repo, id)
	}
	return c.comment != nil && (c.issue == nil || c.comment.Issue == c.issue)
}

func encode(status int, out any) response {
	resp := response{status: status, header: http.Header{}}
	if raw, ok := out.([]byte); ok {
		resp.header.Set("Content-Type", "text/plain; charset=utf-8")
		resp.body = raw
		return resp
	}
	if out == nil {
		return resp
	}
	resp.header.Set("Content-Type", "application/json; charset=utf-8")
	resp.body, _ = json.Marshal(out)
	return resp
}

// conditional adds the ETag, and answers 304 if the caller already has this version.
func (s *Server) conditional(r *http.Request, resp response) response {
	if r.Method != http.MethodGet || resp.status != http.StatusOK {
		return resp
	}
	sum := sha256.Sum256(resp.body)
	tag := `W/"` + hex.EncodeToString(sum[:16]) + `"`
	resp.header.Set("ETag", tag)
	resp.header.Set("Cache-Control", "private, max-age=60, s-maxage=60")
	if r.Header.Get("If-None-Match") == tag {
		resp.status, resp.body = http.StatusNotModified, nil
		s.refund(r)
	}
	return resp
}

func (c *call) decode(v any) error {
	if len(c.body) == 0 {
		return nil
	}
	if err := json.Unmarshal(c.body, v); err != nil {
		return &hub.Refused{Status: http.StatusBadRequest, Message: "Problems parsing JSON"}
	}
	return nil
}

func (c *call) number(name string) int64 {
	return int64(toInt(c.params[name]))
}

// toInt returns -1 if s is not a number.
func toInt(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		return -1
	}
	return n
}

func (c *call) query(name string) string { return c.r.URL.Query().Get(name) }

// page returns the requested page of list and sets the Link header.
func page[T any](c *call, list []T) []T {
	per, num := 30, 1
	if n, err := strconv.Atoi(c.query("per_page")); err == nil && n > 0 {
		per = min(n, 100)
	}
	if n, err := strconv.Atoi(c.query("page")); err == nil && n > 0 {
		num = n
	}
	last := max(1, (len(list)+per-1)/per)
	var links []string
	link := func(rel string, n int) {
		u := *c.r.URL
		q := u.Query()
		q.Set("page", strconv.Itoa(n))
		u.RawQuery = q.Encode()
		links = append(links, fmt.Sprintf(`<http://%s%s>; rel="%s"`, c.r.Host, u.RequestURI(), rel))
	}
	if num < last {
		link("next", num+1)
		link("last", last)
	}
	if num > 1 {
		link("first", 1)
		link("prev", num-1)
	}
	if links != nil {
		c.header.Set("Link", strings.Join(links, ", "))
	}
	lo := min((num-1)*per, len(list))
	return list[lo:min(lo+per, len(list))]
}
