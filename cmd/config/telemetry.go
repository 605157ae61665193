package config

import (
	"net/url"
	"slices"
	"strings"

	"github.com/handrail-bot/handrail/policy/secret"
)

// Metrics is `metrics:` in the server's file.
type Metrics struct {
	Listen string `yaml:"listen" jsonschema:"description=Address at which /metrics answers Prometheus\\, such as 127.0.0.1:9464; none when unset. It needs no login\\, and tells no names of repositories or accounts."`
}

// check adds a problem for each invalid value.
func (m Metrics) check(bad *problems, taken ...string) {
	if m.Listen == "" {
		return
	}
	bad.add("metrics.listen", checkListen(m.Listen))
	same := slices.Contains(taken, m.Listen) && !strings.HasSuffix(m.Listen, ":0") //control:metrics-own-port
	bad.when(same, "metrics.listen", "%s is in use already; metrics have a port of their own", m.Listen)
}

// Traces is `traces:` in the server's file.
type Traces struct {
	Endpoint string `yaml:"endpoint" jsonschema:"description=Address of an OpenTelemetry collector that takes OTLP over HTTP\\, such as http://127.0.0.1:4318; no traces are made when unset."`
	Content  bool   `yaml:"content" jsonschema:"description=Send the words of models\\, and the arguments and results of tools\\, too; known secrets are removed.,default=false"`

	Headers secret.Value `yaml:"-"` // for the collector: key=value,key=value
}

// Secrets returns the values of the headers.
func (t Traces) Secrets() (out []secret.Value) {
	for pair := range strings.SplitSeq(t.Headers.Reveal(), ",") {
		_, value, _ := strings.Cut(pair, "=")
		out = append(out, secret.Value(strings.TrimSpace(value)))
		if plain, err := url.PathUnescape(strings.TrimSpace(value)); err == nil && plain != value {
			out = append(out, secret.Value(plain))
		}
	}
	return out
}

// check adds a problem for each invalid value.
func (t Traces) check(bad *problems) {
	const endpoint = "traces.endpoint"
	if t.Endpoint == "" {
		bad.when(t.Content, "traces.content", "it has no effect without traces.endpoint")
		return
	}
	u, err := url.Parse(t.Endpoint)
	bad.when(err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.User != nil || u.RawQuery != "", endpoint,
		"%q is no address like http://127.0.0.1:4318; headers for the collector belong into OTEL_EXPORTER_OTLP_HEADERS", withoutUser(t.Endpoint))
}
