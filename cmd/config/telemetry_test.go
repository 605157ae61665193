package config

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/handrail-bot/handrail/policy/secret"
)

// TestTelemetry: metrics have a port of their own, and traces an address without secrets.
func TestTelemetry(t *testing.T) {
	for _, tt := range []struct {
		metrics Metrics
		traces  Traces
		want    string // part of the only problem; "" for none
	}{
		{Metrics{}, Traces{}, ""},
		{Metrics{Listen: "127.0.0.1:9464"}, Traces{Endpoint: "https://collector.example/otlp", Content: true}, ""},
		{Metrics{Listen: "9464"}, Traces{}, "metrics.listen"},
		{Metrics{Listen: "127.0.0.1:8080"}, Traces{}, "a port of their own"},
		{Metrics{Listen: "127.0.0.1:8081"}, Traces{}, "a port of their own"},
		{Metrics{}, Traces{Content: true}, "traces.content"},
		{Metrics{}, Traces{Endpoint: "127.0.0.1:4318"}, "is no address"},
		{Metrics{}, Traces{Endpoint: "http://key:pass@collector.example"}, "OTEL_EXPORTER_OTLP_HEADERS"},
		{Metrics{}, Traces{Endpoint: "grpc://collector.example"}, "is no address"},
	} {
		bad := &problems{}
		tt.metrics.check(bad, "127.0.0.1:8080", "127.0.0.1:8081")
		tt.traces.check(bad)
		err := bad.err()
		if (err == nil) != (tt.want == "") || err != nil && (!strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "pass@")) {
			t.Errorf("%+v %+v: %v, want %q", tt.metrics, tt.traces, err, tt.want)
		}
	}
	got := Traces{Headers: "Authorization=Basic%20abc, X-Key=def"}.Secrets()
	if d := cmp.Diff([]secret.Value{"Basic%20abc", "Basic abc", "def"}, got, cmp.Comparer(func(a, b secret.Value) bool { return a.Reveal() == b.Reveal() })); d != "" {
		t.Error(d)
	}
}
