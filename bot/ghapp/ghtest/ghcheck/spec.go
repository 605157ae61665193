package ghcheck

import (
	"bytes"
	"context"
	_ "embed"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"

	"github.com/handrail-bot/handrail/bot/ghapp/ghtest"
)

//go:embed openapi/github.json
var specJSON []byte

// lenient lists operations for which go-github v62 is known to deviate from the
// description. GitHub accepts both forms.
var lenient = map[string]bool{
	"issues/add-labels":                          true, // sends a bare array
	"pulls/create-reply-for-review-comment":      true, // uses the older path
	"apps/create-installation-access-token":      true, // sends null as the body
	"pulls/create-review-comment":                true, // sends in_reply_to for a reply
	"checks/update":                              true, // repeats the name, as documented elsewhere
	"apps/redeliver-webhook-delivery":            true, // GitHub answers 202 with an empty object
	"actions/download-job-logs-for-workflow-run": true, // redirects to plain text
}

// spec is the API description. It implements [ghtest.Description].
type spec struct {
	doc    *openapi3.T
	routes map[string]*routers.Route // by the names in [ghtest.Routes]
}

// description is loaded once, because loading takes 0.2 s.
var description = sync.OnceValues(loadSpec)

// loadSpec loads the description. It fails if a served route is missing in it.
func loadSpec() (*spec, error) {
	doc, err := openapi3.NewLoader().LoadFromData(specJSON)
	if err != nil {
		return nil, fmt.Errorf("load github description: %w", err)
	}
	sp := &spec{doc: doc, routes: map[string]*routers.Route{}}
	for path, item := range doc.Paths.Map() {
		for method, op := range item.Operations() {
			if op.RequestBody != nil && op.RequestBody.Value != nil {
				for _, mt := range op.RequestBody.Value.Content {
					forbidUnknown(mt.Schema)
				}
			}
			sp.routes[method+" "+path] = &routers.Route{Spec: doc, Path: path, PathItem: item, Method: method, Operation: op}
		}
	}
	for _, route := range ghtest.Routes() {
		if sp.routes[route] == nil {
			return nil, fmt.Errorf("load github description: %s is served and not described", route)
		}
	}
	return sp, nil
}

// forbidUnknown makes unknown request fields a violation, so that a typo is found.
// GitHub ignores them silently.
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

func (sp *spec) input(req ghtest.Request) *openapi3filter.RequestValidationInput {
	r := req.Clone(req.Context())
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(req.Body)), int64(len(req.Body))
	if len(req.Body) > 0 && r.Header.Get("Content-Type") == "" {
		r.Header.Set("Content-Type", "application/json")
	}
	return &openapi3filter.RequestValidationInput{Request: r, PathParams: req.Params, Route: sp.routes[req.Route],
		Options: &openapi3filter.Options{AuthenticationFunc: openapi3filter.NoopAuthenticationFunc}}
}

// Request implements [ghtest.Description].
func (sp *spec) Request(req ghtest.Request) (string, error) {
	in := sp.input(req)
	err := openapi3filter.ValidateRequest(req.Context(), in)
	if err == nil || lenient[in.Route.Operation.OperationID] {
		return "", nil
	}
	text := err.Error()
	if !strings.Contains(text, "is unsupported") && !strings.Contains(text, "parameter ") &&
		strings.Contains(text, "request body") {
		text, _, _ = strings.Cut(text, "\n")
		return text, nil
	}
	return "", err
}

// Answer implements [ghtest.Description].
func (sp *spec) Answer(req ghtest.Request, status int, header http.Header, body []byte) error {
	in := sp.input(req)
	op := in.Route.Operation
	if lenient[op.OperationID] || status == http.StatusNotModified {
		return nil
	}
	if status >= 400 && op.Responses.Status(status) == nil {
		return nil // GitHub does not document every refusal
	}
	out := &openapi3filter.ResponseValidationInput{
		RequestValidationInput: in, Status: status, Header: header,
		Options: &openapi3filter.Options{IncludeResponseStatus: true},
	}
	out.SetBodyBytes(body)
	err := openapi3filter.ValidateResponse(context.WithoutCancel(req.Context()), out)
	if err != nil && status >= 400 && strings.Contains(err.Error(), "matches more than one oneOf") {
		return nil // the error matches two open schemas
	}
	return err
}

// Complete implements [ghtest.Description].
func (sp *spec) Complete(route string, status int, answer any) any {
	r := sp.routes[route].Operation.Responses.Status(status)
	if r == nil || r.Value == nil {
		return answer
	}
	mt := r.Value.Content.Get("application/json")
	if mt == nil || mt.Schema == nil {
		return answer
	}
	return fill(mt.Schema.Value, answer)
}

// Named implements [ghtest.Description].
func (sp *spec) Named(schema string, v any) any {
	ref := sp.doc.Components.Schemas[schema]
	if ref == nil {
		return v
	}
	return fill(ref.Value, v)
}
