package answer

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// always lists the members that GitHub always sends, or without which an answer is of no
// use, although its description does not promise them.
var always = []string{
	"slug", "app?.slug", "check_runs[].app?.slug", "body?", "body*", "files[].filename", "files[].status",
	"submitted_at", "performed_via_github_app?", "user.id", "user.login", "user.type", "request.payload", "run_attempt", "actor?.id",
}

// described is the part of GitHub's description of its API that is read here.
type described struct {
	Paths map[string]map[string]struct {
		Responses map[string]struct {
			Ref     string `json:"$ref"`
			Content map[string]struct{ Schema schema }
		}
	}
	Components struct {
		Schemas   map[string]schema
		Responses map[string]struct {
			Content map[string]struct{ Schema schema }
		}
	}
}

type schema struct {
	Ref        string `json:"$ref"`
	Nullable   bool
	Required   []string
	Properties map[string]schema
	Items      *schema
	OneOf      []schema
	AllOf      []schema
	AnyOf      []schema
}

func (d described) resolve(s schema) []schema {
	for s.Ref != "" {
		s = d.Components.Schemas[s.Ref[strings.LastIndex(s.Ref, "/")+1:]]
	}
	all := []schema{s}
	for _, part := range slices.Concat(s.OneOf, s.AnyOf, s.AllOf) {
		all = append(all, d.resolve(part)...)
	}
	return all
}

// promises reports whether a path of members is promised by a schema.
func (d described) promises(s schema, path string) (missing string) {
	name, rest, deeper := strings.Cut(path, ".")
	bare := strings.TrimRight(name, "?*[]")
	mark := name[len(bare):]
	for _, one := range d.resolve(s) {
		if !slices.Contains(one.Required, bare) {
			continue
		}
		for _, part := range d.resolve(one.Properties[bare]) {
			if part.Nullable && mark != "?" {
				return bare + ", which may be null"
			}
			if !deeper {
				return ""
			}
			if strings.HasPrefix(mark, "[") && part.Items != nil {
				return d.promises(*part.Items, rest)
			}
			if at := d.promises(part, rest); at == "" {
				return ""
			}
		}
		return bare + "." + rest
	}
	return bare
}

// TestGitHubPromisesIt: what an answer must have is promised by GitHub's description of
// its API, so that no good answer is refused.
func TestGitHubPromisesIt(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("../ghtest/ghcheck/openapi/github.json")
	if err != nil {
		t.Fatal(err)
	}
	var all described
	if err := json.Unmarshal(data, &all); err != nil {
		t.Fatal(err)
	}
	looked := 0
	for path, calls := range all.Paths {
		for method, call := range calls {
			r := &http.Request{Method: strings.ToUpper(method), Header: http.Header{}}
			r.URL = mustParse(t, "https://api.github.com"+strings.NewReplacer("{", "", "}", "").Replace(path))
			of, known := Judge{Base: "/"}.shape(r)
			if !known || of.members == "" {
				continue
			}
			for status, answer := range call.Responses {
				is := answer.Content["application/json"].Schema
				if status[0] != '2' || status == "202" {
					continue
				}
				if of.form == list || is.Items != nil {
					is = *all.resolve(is)[0].Items
				}
				for _, m := range strings.Fields(of.members) {
					looked++
					if lacks := all.promises(is, m); lacks != "" && !slices.Contains(always, m) {
						t.Errorf("%s %s: %s is not promised: %s", method, path, m, lacks)
					}
				}
			}
		}
	}
	if looked < 200 {
		t.Errorf("only %d members were looked up", looked)
	}
}

// canned answers everything in one way.
type canned struct {
	status int
	body   string
}

func (c canned) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: c.status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(c.body)), Request: r}, nil
}

// TestJudge: an answer passes if it has what was asked for, and only then.
func TestJudge(t *testing.T) {
	t.Parallel()
	const permission = "/repos/o/r/collaborators/kim/permission"
	good := `{"permission":"write","role_name":"write","user":{"id":7,"login":"kim","type":"User"}}`
	for _, c := range []struct {
		name, method, path, accept string
		status                     int
		body, why                  string
	}{
		{"good", "GET", permission, "", 200, good, ""},
		{"empty", "GET", permission, "", 200, "", "is empty"},
		{"blank", "GET", permission, "", 200, " \n", "is empty"},
		{"null", "GET", permission, "", 200, "null", "is null"},
		{"cut", "GET", permission, "", 200, good[:40], "cannot be read"},
		{"two", "GET", permission, "", 200, good + good, "cannot be read"},
		{"Latin-1", "GET", "/repos/o/r/labels", "", 200, "[{\"name\":\"gr\xf6\xdfer\"}]", "cannot be read"},
		{"a page", "GET", permission, "", 200, "<!DOCTYPE html>", "cannot be read"},
		{"lacks", "GET", permission, "", 200, `{"permission":"write","role_name":"write","user":{"id":7,"type":"User"}}`, "lacks user.login"},
		{"zero", "GET", permission, "", 200, `{"permission":"write","role_name":"write","user":{"id":0,"login":"kim","type":"User"}}`, "lacks user.id"},
		{"a list", "GET", permission, "", 200, "[]", "is of another kind"},
		{"other type", "GET", permission, "", 200, strings.Replace(good, "7", `"7"`, 1), "cannot be read"},
		{"no list", "GET", "/repos/o/r/labels", "", 200, "{}", "is of another kind"},
		{"no labels", "GET", "/repos/o/r/labels", "", 200, "[]", ""},
		{"entry lacks", "GET", "/repos/o/r/labels", "", 200, `[{"name":"a"},{}]`, "lacks name"},
		{"entry is null", "GET", "/repos/o/r/labels", "", 200, `[null]`, "lacks name"},
		{"nothing deleted", "DELETE", "/repos/o/r/git/refs/heads/x", "", 204, "", ""},
		{"unknown route", "GET", "/repos/o/r/hooks", "", 200, "[]", "belongs to a request that has no known answer: GET /repos/o/r/hooks"},
		{"renamed", "GET", "/repositories/5/installation", "", 200, `{"id":3}`, ""},
		{"renamed, lacks", "GET", "/repositories/5/installation", "", 200, `{}`, "lacks id"},
		{"renamed, unknown", "GET", "/repositories/5/hooks", "", 200, "[]", "belongs to a request that has no known answer: GET /repositories/5/hooks"},
		{"away", "GET", permission, "", 502, "", ""},
		{"refusal", "GET", permission, "", 404, `{"message":"Not Found"}`, ""},
		{"foreign refusal", "GET", permission, "", 404, "<html>", "refuses without a reason, as GitHub's API never does"},
		{"not modified", "GET", permission, "", 304, "", "names a version that was never asked for"},
		{"diff", "GET", "/repos/o/r/pulls/3", "application/vnd.github.diff", 200, "diff --git a/x b/x\n", ""},
		{"no diff", "GET", "/repos/o/r/pulls/3", "application/vnd.github.diff", 200, "null", "is no diff"},
		{"file", "GET", "/repos/o/r/contents/a/b", "", 200, `{"type":"file","name":"b","path":"a/b","sha":"1","encoding":"base64","content":"","size":0}`, ""},
		{"no content", "GET", "/repos/o/r/contents/a/b", "", 200, `{"type":"file","name":"b","path":"a/b","sha":"1","encoding":"base64","size":0}`, "lacks content"},
		{"directory", "GET", "/repos/o/r/contents/a", "", 200, `[{"type":"file","name":"b","path":"a/b","sha":"1"}]`, ""},
		{"raw", "GET", "/repos/o/r/contents/a", "application/vnd.github.raw+json", 200, "<!doctype html>", "is a web page"},
		{"log", "GET", "/repos/o/r/actions/jobs/5/logs", "", 200, "", "is empty"},
		{"null body", "GET", "/repos/o/r/issues/1", "application/vnd.github.full+json", 200, issue(`"body":null,"body_html":null`), ""},
		{"no body", "GET", "/repos/o/r/issues/1", "application/vnd.github.full+json", 200, issue(`"body_html":"x"`), "lacks body"},
		{"no rendering", "GET", "/repos/o/r/issues/1", "application/vnd.github.full+json", 200, issue(`"body":"x"`), "lacks body_html"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := &http.Request{Method: c.method, URL: mustParse(t, "https://api.github.com"+c.path), Header: http.Header{"Accept": {c.accept}}}
			resp, err := Judge{Next: canned{c.status, c.body}, Base: "/"}.RoundTrip(r)
			if c.why != "" {
				var none *Error
				if !errors.As(err, &none) || none.Why != c.why || none.Status != c.status {
					t.Errorf("%v, want one that %q", err, c.why)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			if body, err := io.ReadAll(resp.Body); err != nil || string(body) != c.body {
				t.Errorf("what passed is %q, %v", body, err)
			}
		})
	}
}

// TestPagesEnd: a list in which each page is followed by itself is an outage, and no endless list.
func TestPagesEnd(t *testing.T) {
	t.Parallel()
	const at = "https://api.github.com/repos/o/r/labels?per_page=100"
	for _, c := range []struct {
		asked, link string
		good        bool
	}{
		{"", "", true},
		{"", `<` + at + `&page=2>; rel="next", <` + at + `&page=3>; rel="last"`, true},
		{"&page=2", `<` + at + `&page=1>; rel="prev", <` + at + `&page=3>; rel="next"`, true},
		{"&page=3", `<` + at + `&page=2>; rel="prev", <` + at + `&page=1>; rel="first"`, true},
		{"&page=2", `<` + at + `&page=2>; rel="next"`, false},
		{"&page=2", `<` + at + `&page=1>; rel="first", <` + at + `&page=2>; rel="next"`, false},
		{"", `<` + at + `&page=1>; rel="next"`, false},
		{"", `<https://api.github.com/repositories/5/labels?cursor=v1>; rel="next"`, true},
		{"&cursor=v1", `<` + at + `&cursor=v1>; rel="next"`, false},
		{"&cursor=v1", `<` + at + `&cursor=v2>; rel="next"`, true},
	} {
		r := &http.Request{Method: "GET", URL: mustParse(t, at+c.asked), Header: http.Header{}}
		resp, err := Judge{Next: with{canned{200, "[]"}, http.Header{"Link": {c.link}}}, Base: "/"}.RoundTrip(r)
		if good := err == nil; good != c.good {
			t.Errorf("page %q with the link %q: %v", c.asked, c.link, err)
		}
		if err == nil {
			resp.Body.Close()
		}
	}
}

// TestRedirects: an answer that leads to another host, or to itself, is an outage; a renamed repository
// and a log that is kept elsewhere are followed.
func TestRedirects(t *testing.T) {
	t.Parallel()
	const base = "https://api.github.com"
	for _, c := range []struct{ path, to, why string }{
		{"/repos/o/r", base + "/repositories/5", ""},
		{"/repos/o/r", "/repositories/5", ""},
		{"/repos/o/r", "https://login.example.com/?from=x", "leads to another host"},
		{"/repos/o/r", "http://api.github.com/repos/o/r", "leads to another host"},
		{"/repos/o/r", "", "leads to itself"},
		{"/repos/o/r", base + "/repos/o/r", "leads to itself"},
		{"/repos/o/r", "https://[", "leads to itself"},
		{"/repos/o/r/actions/jobs/5/logs", "https://logs.example.com/5", ""},
	} {
		r := &http.Request{Method: "GET", URL: mustParse(t, base+c.path), Header: http.Header{}}
		resp, err := Judge{Next: with{canned{302, ""}, http.Header{"Location": {c.to}}}, Base: "/"}.RoundTrip(r)
		var none *Error
		if errors.As(err, &none); (c.why == "") != (err == nil) || none != nil && none.Why != c.why {
			t.Errorf("%s to %q: %v, want %q", c.path, c.to, err, c.why)
		}
		if err == nil {
			resp.Body.Close()
		}
	}
}

// TestLimitsEnd: a limit that ends in a year, or was written in milliseconds, is one of an hour.
func TestLimitsEnd(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_800_000_000, 0)
	for said, want := range map[[2]string][2]string{
		{"1800001000", "60"}:       {"1800001000", "60"},
		{"1800000900000", "60000"}: {"1800003600", "3600"},
		{"99999999999999999", "0"}: {"1800003600", "0"},
		{"", "31536000"}:           {"", "3600"},
		{"soon", "Mon, 30 Nov"}:    {"soon", "Mon, 30 Nov"},
	} {
		r := &http.Request{Method: "GET", URL: mustParse(t, "https://api.github.com/repos/o/r/labels"), Header: http.Header{}}
		head := http.Header{"X-Ratelimit-Reset": {said[0]}, "Retry-After": {said[1]}}
		resp, err := Judge{Next: with{canned{429, ""}, head}, Base: "/", Now: func() time.Time { return now }}.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if got := [2]string{resp.Header.Get("X-Ratelimit-Reset"), resp.Header.Get("Retry-After")}; got != want {
			t.Errorf("%q is %q, want %q", said, got, want)
		}
	}
}

// with adds a header to canned answers.
type with struct {
	canned
	header http.Header
}

func (w with) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := w.canned.RoundTrip(r)
	resp.Header = w.header.Clone()
	return resp, err
}

func issue(more string) string {
	return `{"id":1,"number":1,"title":"t","state":"open","locked":false,"user":null,"html_url":"u","comments":0,"labels":[],` +
		`"performed_via_github_app":null,` +
		`"created_at":"2026-01-01T00:00:00Z","updated_at":"2026-01-01T00:00:00Z",` + more + "}"
}

// TestQueries: an answer to a query has its data, or the reason why not.
func TestQueries(t *testing.T) {
	t.Parallel()
	ctx := WithGraph(t.Context(), "data.repository.pull.nodes[?].id")
	for body, why := range map[string]string{
		`{"data":{"repository":{"pull":{"nodes":[{"id":"a"},null]}}}}`: "",
		`{"data":{"repository":{"pull":{"nodes":[{}]}}}}`:              "lacks data.repository.pull.nodes.id",
		`{"data":{"repository":null}}`:                                 "lacks data.repository",
		`{"data":null,"errors":[{"message":"no"}]}`:                    "",
		`{"data":null,"errors":[]}`:                                    "lacks data",
		`{}`:                                                           "lacks data",
		`null`:                                                         "is null",
	} {
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://api.github.com/graphql", nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := Judge{Next: canned{200, body}, Base: "/"}.RoundTrip(r)
		if err == nil {
			resp.Body.Close()
		}
		var none *Error
		if errors.As(err, &none) != (why != "") || why != "" && none.Why != why {
			t.Errorf("%s: %v, want one that %q", body, err, why)
		}
	}
}

func mustParse(t *testing.T, address string) *url.URL {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	return u
}
