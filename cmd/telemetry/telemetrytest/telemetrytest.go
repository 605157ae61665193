// Package telemetrytest has a collector of OpenTelemetry for tests: a server for OTLP over
// HTTP that keeps the spans, or the program that -telemetry.collector names.
package telemetrytest

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	common "go.opentelemetry.io/proto/otlp/common/v1"
	trace "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// Collector is a collector. It is safe for concurrent use.
type Collector struct {
	URL string

	end      func() // ends a real collector
	mu       sync.Mutex
	spans    []*trace.Span
	resource map[string]string
	raw      []byte
}

// New starts a collector for the time of a test.
func New(t testing.TB) *Collector {
	t.Helper()
	if *program != "" {
		return start(t, *program)
	}
	c := &Collector{end: func() {}}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := c.take(r); err != nil {
			t.Errorf("the collector cannot read a request: %v", err)
			http.Error(w, "bad request", http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "application/x-protobuf")
	}))
	t.Cleanup(s.Close)
	c.URL = s.URL
	return c
}

func (c *Collector) take(r *http.Request) error {
	if kind := r.Header.Get("Content-Type"); r.URL.Path != "/v1/traces" || r.Method != http.MethodPost || kind != "application/x-protobuf" {
		return fmt.Errorf("%s %s of %q", r.Method, r.URL, kind)
	}
	data, err := io.ReadAll(r.Body)
	if err != nil {
		return err
	}
	var req trace.TracesData
	if err := proto.Unmarshal(data, &req); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.raw = append(c.raw, data...)
	c.add(req.GetResourceSpans())
	return nil
}

func (c *Collector) add(list []*trace.ResourceSpans) {
	for _, rs := range list {
		c.resource = Attributes(rs.GetResource().GetAttributes())
		for _, ss := range rs.GetScopeSpans() {
			c.spans = append(c.spans, ss.GetSpans()...)
		}
	}
}

// Spans returns the spans so far, as they came. A real collector ends with that.
func (c *Collector) Spans() []*trace.Span {
	c.end()
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]*trace.Span(nil), c.spans...)
}

// Wait waits until n spans of a name have come, or ctx ends. For a real collector, which tells
// its spans at its end, it does not wait.
func (c *Collector) Wait(ctx context.Context, name string, n int) error {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for *program == "" && c.count(name) < n {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-tick.C:
		}
	}
	return nil
}

func (c *Collector) count(name string) (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.spans {
		if s.GetName() == name {
			n++
		}
	}
	return n
}

// Resource returns the attributes of the source of the last spans.
func (c *Collector) Resource() map[string]string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.resource
}

// Raw returns the bytes of all requests.
func (c *Collector) Raw() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return string(c.raw)
}

// Attributes returns attributes as texts.
func Attributes(list []*common.KeyValue) map[string]string {
	out := map[string]string{}
	for _, a := range list {
		out[a.GetKey()] = text(a.GetValue())
	}
	return out
}

func text(v *common.AnyValue) string {
	switch x := v.GetValue().(type) {
	case *common.AnyValue_StringValue:
		return x.StringValue
	case *common.AnyValue_IntValue:
		return fmt.Sprint(x.IntValue)
	case *common.AnyValue_DoubleValue:
		return fmt.Sprint(x.DoubleValue)
	case *common.AnyValue_BoolValue:
		return fmt.Sprint(x.BoolValue)
	case *common.AnyValue_ArrayValue:
		var all []string
		for _, e := range x.ArrayValue.GetValues() {
			all = append(all, text(e))
		}
		return fmt.Sprint(all)
	}
	return ""
}
