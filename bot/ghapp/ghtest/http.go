package ghtest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
)

const maxBody = 10 << 20

// call is one request on its way to a handler.
type call struct {
	r      *http.Request
	op     *openapi3.Operation
	params map[string]string
	body   []byte
	who    *caller
	repo   *repo
	header http.Header
}

// apiError is a refusal in GitHub's form.
type apiError struct {
	status  int
	message string
	errors  []any // objects, or words where the description says so
	header  http.Header
}

func (e *apiError) Error() string { return fmt.Sprintf("%d %s", e.status, e.message) }

func notFound() error { return &apiError{status: http.StatusNotFound, message: "Not Found"} }

// invalid is GitHub's 422 with one or more field errors.
func invalid(resource, field, code, message string) error {
	e := object{"resource": resource, "field": field, "code": code}
	if message != "" {
		e["message"] = message
	}
	return &apiError{status: http.StatusUnprocessableEntity, message: "Validation Failed", errors: []any{e}}
}

// response is a whole answer, so that a write can be carried out with nobody
// listening.
type response struct {
	status int
	header http.Header
	body   []byte
}

// ServeHTTP serves the API, git and pages.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if repo, rest, ok := gitPath(r.URL.Path); ok {
		s.serveGit(w, r, repo, rest)
		return
	}
	path := r.URL.EscapedPath()
	if p, ok := strings.CutPrefix(path, "/api/v3"); ok {
		path = p
	}
	if r.Method == http.MethodGet && strings.Contains(r.Header.Get("Accept"), "text/html") {
		s.servePage(w, path)
		return
	}
	if strings.HasPrefix(path, attachmentPath) || strings.HasPrefix(path, signedPath) {
		s.serveAttachment(w, r)
		return
	}
	if m := logRE.FindStringSubmatch(path); m != nil {
		s.serveLog(w, r, m[1])
		return
	}
	body, err := readBody(r, maxBody)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	kind, late := s.draw(r)
	s.log.Debug("github request", "method", r.Method, "path", path, "fault", int(kind))
	switch kind {
	case faultBadGateway:
		http.Error(w, "<html>502 Bad Gateway</html>", http.StatusBadGateway)
	case faultSecondary:
		s.write(w, s.secondary())
	case faultLost:
		s.process(r.Context(), r, path, body)
		drop(w)
	case faultLate:
		s.later(r, path, body, late)
		drop(w)
	default:
		s.write(w, s.process(r.Context(), r, path, body))
	}
}

// later carries a write out after its connection is gone.
func (s *Server) later(r *http.Request, path string, body []byte, by time.Duration) {
	ctx := context.WithoutCancel(r.Context())
	r = r.Clone(ctx)
	s.done.Add(1)
	s.count(1)
	go func() {
		defer s.done.Done()
		defer s.count(-1)
		t := time.NewTimer(by)
		defer t.Stop()
		select {
		case <-t.C:
		case <-s.closed:
		}
		s.process(ctx, r, path, body)
	}()
}

func (s *Server) count(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.late += n
	s.touch()
}

func (s *Server) secondary() response {
	s.mu.Lock()
	after := s.faults.RetryAfter
	s.mu.Unlock()
	secs := max(1, int(after/time.Second))
	e := &apiError{status: http.StatusForbidden, header: http.Header{"Retry-After": {strconv.Itoa(secs)}},
		message: "You have exceeded a secondary rate limit. Please wait a few minutes before you try again."}
	return refuse(e)
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

func refuse(e *apiError) response {
	body := object{"message": e.message, "documentation_url": "https://docs.github.com/rest",
		"status": strconv.Itoa(e.status)}
	if strings.Contains(e.message, "secondary rate limit") {
		body["documentation_url"] = "https://docs.github.com/rest/overview/rate-limits-for-the-rest-api#about-secondary-rate-limits"
	}
	if e.errors != nil {
		body["errors"] = e.errors
	}
	b, _ := json.Marshal(body)
	h := e.header
	if h == nil {
		h = http.Header{}
	}
	h.Set("Content-Type", "application/json; charset=utf-8")
	return response{status: e.status, header: h, body: b}
}

// process carries one API request out: route, check, authorize, run, complete,
// check again.
func (s *Server) process(ctx context.Context, r *http.Request, path string, body []byte) response {
	route, params := s.spec.find(r.Method, path)
	if route == nil {
		s.violate("%s %s: no such operation in the description", r.Method, path)
		return refuse(&apiError{status: http.StatusNotFound, message: "Not Found"})
	}
	opID := route.Operation.OperationID
	in := &openapi3filter.RequestValidationInput{Request: withBody(r, body), PathParams: params, Route: route,
		Options: &openapi3filter.Options{AuthenticationFunc: openapi3filter.NoopAuthenticationFunc}}
	refusal, err := s.spec.checkRequest(ctx, in)
	if err != nil {
		s.violate("%s %s (%s): request: %v", r.Method, path, opID, err)
		return refuse(&apiError{status: http.StatusInternalServerError, message: err.Error()})
	}
	c := &call{r: r, op: route.Operation, params: params, body: body, header: http.Header{}}
	status, out, err := s.run(c, refusal)
	var resp response
	var ae *apiError
	switch {
	case errors.As(err, &ae):
		resp = refuse(ae)
	case err != nil:
		s.violate("%s %s (%s): %v", r.Method, path, opID, err)
		return refuse(&apiError{status: http.StatusInternalServerError, message: err.Error()})
	default:
		resp = encode(status, out)
	}
	for k, v := range c.header {
		resp.header[k] = v
	}
	if err := s.spec.checkResponse(ctx, in, resp); err != nil {
		s.violate("%s %s (%s): answer %d: %v", r.Method, path, opID, resp.status, err)
		return refuse(&apiError{status: http.StatusInternalServerError, message: err.Error()})
	}
	return s.conditional(r, resp)
}

// run holds the lock: it finds who calls and whether they may, then lets the
// handler work.
func (s *Server) run(c *call, refusal *apiError) (int, any, error) {
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
	o, ok := s.ops[c.op.OperationID]
	if !ok {
		return 0, nil, fmt.Errorf("operation %s is not served", c.op.OperationID)
	}
	if err := s.authorize(c, o); err != nil {
		return 0, nil, err
	}
	if refusal != nil {
		return 0, nil, refusal
	}
	status, out, err := o.run(s, c)
	if err != nil {
		return 0, nil, err
	}
	out = s.filler().fill(s.spec.schema(c.op, status), out)
	if c.r.Method != http.MethodGet {
		s.touch()
	}
	return status, out, nil
}

func (s *Server) filler() filler { return filler{base: s.url} }

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

// conditional adds the ETag and answers 304 when the caller has this version.
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

func withBody(r *http.Request, body []byte) *http.Request {
	r = r.Clone(r.Context())
	r.Body = io.NopCloser(bytes.NewReader(body))
	r.ContentLength = int64(len(body))
	if len(body) > 0 && r.Header.Get("Content-Type") == "" {
		r.Header.Set("Content-Type", "application/json")
	}
	return r
}

func (c *call) decode(v any) error {
	if len(c.body) == 0 {
		return nil
	}
	if err := json.Unmarshal(c.body, v); err != nil {
		return &apiError{status: http.StatusBadRequest, message: "Problems parsing JSON"}
	}
	return nil
}

func (c *call) number(name string) int64 {
	n, err := strconv.ParseInt(c.params[name], 10, 64)
	if err != nil {
		return -1
	}
	return n
}

func (c *call) query(name string) string { return c.r.URL.Query().Get(name) }

// page cuts list to the page asked for and sets the Link header.
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
