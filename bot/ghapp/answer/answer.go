// Package answer judges the answers of GitHub's API. A status of success proves nothing: a
// proxy, a balancer or a server under load sends empty, cut and foreign answers with a
// status of 200. An answer without the members that its route promises is an [Error],
// an outage that says nothing about the request.
//
// [Judge] is the transport below every retry and every cache, so that a bad answer is
// asked for again and never kept. The table of routes says what a good answer has. A
// request without a route has no good answer.
package answer

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/go-github/v62/github"
)

// Error is an answer that does not answer the request. Nothing is known then: neither
// that a thing does not exist, nor that a write did not happen.
type Error struct {
	Status int    // HTTP status of the answer
	Why    string // continues "GitHub's answer"
	Err    error  // of the connection; nil if the answer came to its end
}

// Error implements error.
func (e *Error) Error() string {
	return fmt.Sprintf("GitHub's answer (status %d) %s", e.Status, e.Why)
}

// Unwrap returns the error of the connection.
func (e *Error) Unwrap() error { return e.Err }

// Judge is a transport that passes good answers only.
type Judge struct {
	Next http.RoundTripper
	Base string           // path of the API's base address; ends in a slash
	Now  func() time.Time // nil means the clock of the machine
}

// maxJSON is the maximum size of an answer in bytes, apart from streams. GitHub's own
// answers are smaller.
const maxJSON = 64 << 20

// graphKey is the context key of [WithGraph].
type graphKey struct{}

// WithGraph declares that a request is a GraphQL query, and the members of its data.
func WithGraph(ctx context.Context, members string) context.Context {
	return context.WithValue(ctx, graphKey{}, members)
}

// RoundTrip implements [http.RoundTripper].
func (j Judge) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := j.Next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	j.boundLimit(resp.Header)
	why, err := j.judge(r, resp)
	if why == "" && err == nil {
		return resp, nil
	}
	resp.Body.Close()
	if err != nil {
		why = "breaks off: " + err.Error()
	}
	return nil, &Error{resp.StatusCode, why, err} //control:no-answer-is-an-outage
}

// judge returns the reason for which an answer is none. It leaves the body to be read
// again from the start.
func (j Judge) judge(r *http.Request, resp *http.Response) (why string, err error) {
	of, known := j.shape(r)
	switch status := resp.StatusCode; {
	case status == http.StatusNotModified:
		if r.Header.Get("If-None-Match") == "" {
			return "names a version that was never asked for", nil
		}
		return "", nil
	case status == http.StatusUnauthorized, status == http.StatusTooManyRequests:
		return "", nil // a proxy says so, too
	case status >= 400 && status < 500:
		return judgeRefusal(resp)
	case status/100 == 3 && of.form != stream: // logs are kept elsewhere
		return judgeRedirect(r, resp), nil
	case status/100 != 2:
		return "", nil
	case !known:
		return "belongs to a request that has no known answer: " + r.Method + " " + r.URL.Path, nil
	case circular(r.URL.Query(), resp.Header.Values("Link")): //control:pages-come-to-an-end
		return "names a next page that is not behind this one", nil
	case of.form == nothing:
		return "", nil
	case of.form == stream:
		return judgeStream(resp)
	}
	body, err := buffer(resp)
	switch {
	case err != nil:
		return "", err
	case of.form == raw || of.form == diff:
		return of.form.text(body), nil
	}
	return of.json(body), nil
}

// maxLimit is the longest time for which a rate limit is believed; GitHub's own ends within the
// hour. Behind it GitHub is asked again.
const maxLimit = time.Hour

// boundLimit shortens a limit whose end is too far away, such as one in milliseconds.
func (j Judge) boundLimit(h http.Header) {
	now := time.Now
	if j.Now != nil {
		now = j.Now
	}
	end := now().Add(maxLimit).Unix()
	if at, err := strconv.ParseInt(h.Get("X-Ratelimit-Reset"), 10, 64); err == nil && at > end { //control:limits-end
		h.Set("X-Ratelimit-Reset", strconv.FormatInt(end, 10))
	}
	longest := int64(maxLimit / time.Second)
	if after, err := strconv.ParseInt(h.Get("Retry-After"), 10, 64); err == nil && after > longest {
		h.Set("Retry-After", strconv.FormatInt(longest, 10))
	}
}

// circular reports whether the links of an answer name a next page that is the one asked for, or one
// before it: a cache answers all pages alike, and the list would have no end.
func circular(asked url.Values, links []string) bool {
	for link := range strings.SplitSeq(strings.Join(links, ","), ",") {
		address, says, _ := strings.Cut(link, ";")
		if !strings.Contains(says, `rel="next"`) {
			continue
		}
		next, err := url.Parse(strings.Trim(strings.TrimSpace(address), "<>"))
		if err != nil {
			continue
		}
		to := next.Query()
		if cursor := to.Get("cursor"); cursor != "" {
			return cursor == asked.Get("cursor")
		}
		page, err := strconv.Atoi(to.Get("page"))
		here, _ := strconv.Atoi(asked.Get("page"))
		return err == nil && page <= max(1, here)
	}
	return false
}

// judgeRedirect judges an answer that names another address. That of a renamed repository is of
// the same host; a portal, a proxy or a page of a maintenance is not GitHub's answer.
func judgeRedirect(r *http.Request, resp *http.Response) (why string) {
	to, err := r.URL.Parse(resp.Header.Get("Location"))
	switch {
	case err != nil || to.String() == r.URL.String():
		return "leads to itself"
	case to.Scheme != r.URL.Scheme || to.Host != r.URL.Host: //control:redirect-is-no-answer
		return "leads to another host"
	}
	return ""
}

// judgeRefusal judges a refusal. GitHub always gives the reason.
func judgeRefusal(resp *http.Response) (why string, err error) {
	body, err := buffer(resp)
	if err != nil {
		return "", err
	}
	var said struct{ Message string }
	if json.Unmarshal(body, &said) != nil || said.Message == "" { //control:refusal-of-github
		return "refuses without a reason, as GitHub's API never does", nil
	}
	return "", nil
}

// judgeStream judges text that is too long to be kept.
func judgeStream(resp *http.Response) (why string, err error) {
	body := bufio.NewReader(resp.Body)
	resp.Body = struct {
		io.Reader
		io.Closer
	}{body, resp.Body}
	begin, err := body.Peek(len(page))
	if err != nil && err != io.EOF {
		return "", err
	}
	return raw.text(begin), nil
}

// buffer reads the body of an answer and puts it back.
func buffer(resp *http.Response) ([]byte, error) {
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxJSON+1))
	if err == nil && len(body) > maxJSON {
		err = fmt.Errorf("it has more than %d bytes", maxJSON)
	}
	if err != nil {
		return nil, err
	}
	resp.Body.Close()
	resp.Body = io.NopCloser(bytes.NewReader(body))
	return body, nil
}

// form is the form of an answer.
type form int

const (
	object  form = iota
	list         // of objects
	either       // the file or the directory at a path
	graph        // the object of a GraphQL answer
	raw          // the content of a file
	diff         //
	stream       // text of any length
	nothing      // the answer is not read
)

// page is how an HTML document begins.
const page = "<!doctype html"

// text judges an answer that is no JSON.
func (f form) text(body []byte) (why string) {
	switch {
	case f == diff && len(body) == 0: // a pull request without changes
		return ""
	case f == diff && !bytes.HasPrefix(body, []byte("diff --git ")):
		return "is no diff"
	case len(body) == 0:
		return "is empty"
	case len(body) >= len(page) && strings.EqualFold(string(body[:len(page)]), page):
		return "is a web page"
	}
	return ""
}

// json judges an answer in JSON.
func (s shape) json(body []byte) (why string) {
	var top any
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.UseNumber()
	switch err := dec.Decode(&top); {
	case len(bytes.TrimSpace(body)) == 0:
		return "is empty"
	case err != nil || dec.More() || !utf8.Valid(body):
		return "cannot be read"
	case top == nil:
		return "is null"
	}
	all, isList := top.([]any)
	if isList != (s.form == list) && s.form != either {
		return "is of another kind"
	}
	if !isList {
		all = []any{top}
	}
	for _, one := range all {
		for _, m := range s.membersOf(one, isList) {
			if lacks := lacking(one, m); lacks != "" {
				return "lacks " + lacks
			}
		}
	}
	into := s.into
	switch {
	case s.form == either && isList:
		into = func() any { return new([]github.RepositoryContent) }
	case s.form == either:
		into = func() any { return new(github.RepositoryContent) }
	}
	if into != nil && json.Unmarshal(body, into()) != nil {
		return "cannot be read"
	}
	return ""
}

// membersOf returns the members that an object must have.
func (s shape) membersOf(one any, listed bool) []string {
	members := strings.Fields(s.members)
	fields, _ := one.(map[string]any)
	switch {
	case s.form == either && (listed || fields["type"] != "file"):
		return strings.Fields(entryMembers)
	case s.form == graph:
		if errs, _ := fields["errors"].([]any); len(errs) > 0 { // the reason why there are no data
			return nil
		}
	case fields["state"] == "PENDING": // a review that is not submitted
		return slices.DeleteFunc(members, func(m string) bool { return m == "submitted_at" })
	}
	return members
}

// lacking returns the part of a path that a value lacks, or "". A path is a series of
// names. [] after a name means each entry of its list, [?] each that is not null, ? that
// it may be null, and * that it may be empty or zero.
func lacking(v any, path string) string {
	name, rest, deeper := strings.Cut(path, ".")
	bare := strings.TrimRight(name, "?*[]")
	fields, ok := v.(map[string]any)
	if !ok {
		return bare
	}
	is, there := fields[bare]
	mark := name[len(bare):]
	switch {
	case !there, is == nil && mark != "?":
		return bare
	case is == nil:
		return ""
	case strings.HasPrefix(mark, "["):
		return lackingInList(is, bare, rest, mark == "[?]")
	case deeper:
		return lackingBelow(is, bare, rest)
	case mark == "" && (is == "" || is == json.Number("0")):
		return bare
	}
	return ""
}

func lackingInList(list any, name, rest string, holes bool) string {
	all, ok := list.([]any)
	if !ok {
		return name
	}
	for _, one := range all {
		if at := lackingBelow(one, name, rest); rest != "" && at != "" && (one != nil || !holes) {
			return at
		}
	}
	return ""
}

func lackingBelow(v any, name, rest string) string {
	if at := lacking(v, rest); at != "" {
		return name + "." + at
	}
	return ""
}
