package ghtest

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"sort"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
)

//go:embed openapi/github.json
var specJSON []byte

// lenient are the operations where go-github v62 is known to send something
// else than the description says; GitHub accepts both.
var lenient = map[string]bool{
	"issues/add-labels":                          true, // sends a bare array
	"pulls/create-reply-for-review-comment":      true, // goes to the older path
	"apps/create-installation-access-token":      true, // sends a body of null
	"pulls/create-review-comment":                true, // carries in_reply_to for a reply
	"checks/update":                              true, // repeats the name, as GitHub documents elsewhere
	"apps/redeliver-webhook-delivery":            true, // GitHub answers 202 with an empty object
	"actions/download-job-logs-for-workflow-run": true, // answers with a redirect to plain text
}

type specRoute struct {
	re    *regexp.Regexp
	names []string
	route *routers.Route
}

// spec is the description of the API: it routes, completes and checks.
type spec struct {
	doc    *openapi3.T
	routes []specRoute // fewest variables first
}

func loadSpec() (*spec, error) {
	doc, err := openapi3.NewLoader().LoadFromData(specJSON)
	if err != nil {
		return nil, fmt.Errorf("load github description: %w", err)
	}
	sp := &spec{doc: doc}
	for path, item := range doc.Paths.Map() {
		for method, op := range item.Operations() {
			if op.RequestBody != nil && op.RequestBody.Value != nil {
				for _, mt := range op.RequestBody.Value.Content {
					forbidUnknown(mt.Schema)
				}
			}
			sp.add(path, method, item, op)
		}
	}
	sort.Slice(sp.routes, func(i, j int) bool {
		a, b := sp.routes[i], sp.routes[j]
		if len(a.names) != len(b.names) {
			return len(a.names) < len(b.names)
		}
		return len(a.route.Path) > len(b.route.Path)
	})
	return sp, nil
}

// forbidUnknown makes a typo in a request a violation, where GitHub would
// ignore it in silence.
func forbidUnknown(ref *openapi3.SchemaRef) {
	if ref == nil || ref.Value == nil {
		return
	}
	v := ref.Value
	if len(v.Properties) > 0 && v.AdditionalProperties.Schema == nil && v.AdditionalProperties.Has == nil {
		no := false
		v.AdditionalProperties.Has = &no
	}
	for _, p := range v.Properties {
		forbidUnknown(p)
	}
	forbidUnknown(v.Items)
	for _, list := range []openapi3.SchemaRefs{v.OneOf, v.AnyOf} {
		for _, p := range list {
			forbidUnknown(p)
		}
	}
}

var pathVar = regexp.MustCompile(`\{([^}]+)\}`)

// add registers one operation. Variables that hold refs and paths match
// slashes, as GitHub's do.
func (sp *spec) add(path, method string, item *openapi3.PathItem, op *openapi3.Operation) {
	var names []string
	pattern := pathVar.ReplaceAllStringFunc(path, func(v string) string {
		name := strings.Trim(v, "{}")
		names = append(names, name)
		switch name {
		case "path", "ref", "basehead", "branch":
			return "(.+)"
		}
		return "([^/]+)"
	})
	sp.routes = append(sp.routes, specRoute{re: regexp.MustCompile("^" + pattern + "$"), names: names,
		route: &routers.Route{Spec: sp.doc, Path: path, PathItem: item, Method: method, Operation: op}})
}

func (sp *spec) find(method, path string) (*routers.Route, map[string]string) {
	for _, r := range sp.routes {
		m := r.re.FindStringSubmatch(path)
		if m == nil || r.route.Method != method {
			continue
		}
		params := map[string]string{}
		for i, n := range r.names {
			v, err := url.PathUnescape(m[i+1])
			if err != nil {
				v = m[i+1]
			}
			params[n] = v
		}
		return r.route, params
	}
	return nil, nil
}

// checkRequest compares a request with the description. It returns a refusal
// that GitHub itself would give, or a violation, or neither.
func (sp *spec) checkRequest(ctx context.Context, in *openapi3filter.RequestValidationInput) (*apiError, error) {
	err := openapi3filter.ValidateRequest(ctx, in)
	if err == nil || lenient[in.Route.Operation.OperationID] {
		return nil, nil
	}
	text := err.Error()
	if strings.Contains(text, "is unsupported") || strings.Contains(text, "parameter ") {
		return nil, err
	}
	if strings.Contains(text, "request body") {
		return &apiError{status: http.StatusUnprocessableEntity, message: "Invalid request.\n\n" + firstLine(text)}, nil
	}
	return nil, err
}

func firstLine(s string) string {
	s, _, _ = strings.Cut(s, "\n")
	return s
}

// checkResponse compares an answer with the description.
func (sp *spec) checkResponse(ctx context.Context, in *openapi3filter.RequestValidationInput, resp response) error {
	if lenient[in.Route.Operation.OperationID] || resp.status == http.StatusNotModified {
		return nil
	}
	if resp.header.Get("Content-Type") == rawType {
		return nil // a file as it is, which the description does not know
	}
	if resp.status >= 400 && in.Route.Operation.Responses.Status(resp.status) == nil {
		return nil // GitHub does not list every refusal
	}
	out := &openapi3filter.ResponseValidationInput{
		RequestValidationInput: in, Status: resp.status, Header: resp.header,
		Options: &openapi3filter.Options{IncludeResponseStatus: true},
	}
	out.SetBodyBytes(resp.body)
	err := openapi3filter.ValidateResponse(ctx, out)
	if err != nil && resp.status >= 400 && strings.Contains(err.Error(), "matches more than one oneOf") {
		return nil // two open schemas of errors fit the same error
	}
	return err
}

// schema returns the schema of the answer with this status, or nil.
func (sp *spec) schema(op *openapi3.Operation, status int) *openapi3.Schema {
	r := op.Responses.Status(status)
	if r == nil || r.Value == nil {
		return nil
	}
	mt := r.Value.Content.Get("application/json")
	if mt == nil || mt.Schema == nil {
		return nil
	}
	return mt.Schema.Value
}

// named returns a schema of the description by name.
func (sp *spec) named(name string) *openapi3.Schema {
	ref := sp.doc.Components.Schemas[name]
	if ref == nil {
		return nil
	}
	return ref.Value
}

func readBody(r *http.Request, limit int64) ([]byte, error) {
	if r.Body == nil {
		return nil, nil
	}
	b, err := io.ReadAll(io.LimitReader(r.Body, limit+1))
	if err != nil {
		return nil, fmt.Errorf("read request: %w", err)
	}
	if int64(len(b)) > limit {
		return nil, fmt.Errorf("read request: more than %d bytes", limit)
	}
	return b, nil
}

// plain turns any value into what JSON would make of it.
func plain(v any) (any, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	var out any
	err = json.Unmarshal(b, &out)
	return out, err
}
