// Package telemetry measures a server for its operator's own systems: metrics for
// Prometheus, and traces for OpenTelemetry. Both are off unless configured, and are fed
// where the facts arise: by the event log, the model and the transport to GitHub. Labels
// have few values: no repository, account, session, path or text is one.
//
//	metrics.go  the series, and their page
//	events.go   counting the events of sessions
//	gauges.go   values read at a scrape
//	github.go   requests to GitHub
//	model.go    answers of models
//	speed.go    how fast models answer, for the dashboard
//	traces.go   a trace per run of a session
//	collector.go  sending spans to a collector
//	spans.go    the spans of a run, from its log
//	names.go    the names of OpenTelemetry for generative AI
//	logs.go     log lines with the trace and the session
//
// The values nil of [Metrics] and [Traces] measure nothing.
package telemetry

import (
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot/store"
)

// Metrics are the metrics of a server. It is safe for concurrent use.
type Metrics struct {
	registry *prometheus.Registry
	page     http.Handler

	turns, tokens, promptBytes, toolCalls, errors, repairs, ended *prometheus.CounterVec
	requests                                                      *prometheus.CounterVec
	leasesLost                                                    prometheus.Counter
	toolTime, firstToken                                          *prometheus.HistogramVec
	queueWait                                                     prometheus.Histogram

	limits rateLimits

	mu       sync.Mutex
	tools    map[string]bool   // names that may be labels
	models   map[string]bool   // likewise
	sessions map[string]*known // those that run
}

// Label values in place of names that no label may have.
const (
	other  = "other"
	served = "mcp" // tools of MCP servers, whose names others choose
)

// maxModels limits the models with series of their own.
const maxModels = 32

// NewMetrics returns metrics. tools are the names of the built-in tools.
func NewMetrics(tools ...string) *Metrics {
	m := &Metrics{
		registry: prometheus.NewRegistry(),
		tools:    map[string]bool{},
		models:   map[string]bool{},
		sessions: map[string]*known{},
	}
	for _, name := range tools {
		m.tools[name] = true
	}
	m.turns = m.counter("turns_total", "Answers of models that are turns of a session.", "model")
	m.tokens = m.counter("tokens_total", "Tokens as the models' servers count them: prompt, answer, and cached, the part of prompt that the server had computed before, if it tells.", "model", "kind")
	m.promptBytes = m.counter("prompt_bytes_total", "Bytes of requests to models: reused, if the request before in the same run begins with them, too, or new.", "model", "kind")
	m.toolCalls = m.counter("tool_calls_total", "Calls of tools by outcome: ok, mistake, refused, or cut if the workspace ended first.", "tool", "outcome")
	m.errors = m.counter("errors_total", "Failures of tool calls by class. A command with another exit code than 0 is one, although its call is ok.", "class")
	m.repairs = m.counter("call_repairs_total", "Calls whose JSON had to be repaired, by the format in which the model wrote them.", "dialect")
	m.ended = m.counter("sessions_ended_total", "Ends of sessions by status. A session that goes on after its end may end again.", "status")
	m.requests = m.counter("github_requests_total", "Requests to GitHub's API by method and class of the answer's status, or error if none came.", "method", "code")
	leases := prometheus.CounterOpts{Namespace: namespace, Name: "leases_lost_total", Help: "Leases of threads that this server lost to another one."}
	m.leasesLost = prometheus.NewCounter(leases)
	m.toolTime = m.histogram("tool_call_duration_seconds", "Duration of tool calls that began.", "tool")
	m.firstToken = m.histogram("time_to_first_token_seconds", "Time from a request to the first part of the model's answer.", "model")
	wait := histogramOpts("queue_wait_seconds", "Time from the receipt of a delivery to the begin of the work on it.")
	m.queueWait = prometheus.NewHistogram(wait)
	m.registry.MustRegister(m.leasesLost, m.queueWait)
	m.page = promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{
		ErrorHandling:       promhttp.ContinueOnError,
		MaxRequestsInFlight: 4,
	})
	for _, class := range append(session.ErrorClasses(), other) {
		m.errors.WithLabelValues(string(class))
	}
	for _, status := range ends { // from 0 on: the first one is an increase
		m.ended.WithLabelValues(string(status))
	}
	return m
}

const namespace = "handrail"

func (m *Metrics) counter(name, help string, labels ...string) *prometheus.CounterVec {
	c := prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Name: name, Help: help}, labels)
	m.registry.MustRegister(c)
	return c
}

func (m *Metrics) histogram(name, help string, labels ...string) *prometheus.HistogramVec {
	h := prometheus.NewHistogramVec(histogramOpts(name, help), labels)
	m.registry.MustRegister(h)
	return h
}

func histogramOpts(name, help string) prometheus.HistogramOpts {
	return prometheus.HistogramOpts{
		Namespace: namespace,
		Name:      name,
		Help:      help,
		Buckets:   []float64{.01, .05, .25, 1, 2.5, 5, 15, 30, 60, 300, 1800},
	}
}

// ServeHTTP implements [http.Handler]: it answers /metrics.
func (m *Metrics) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != "/metrics" {
		http.NotFound(w, r)
		return
	}
	m.page.ServeHTTP(w, r)
}

// Waited counts the wait of a delivery.
func (m *Metrics) Waited(d time.Duration) {
	if m != nil {
		m.queueWait.Observe(max(0, d).Seconds())
	}
}

// model returns the label for a model that has answered. The caller does not hold the
// lock.
func (m *Metrics) model(name string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.models[name] && len(m.models) >= maxModels { //control:metrics-models
		return other
	}
	m.models[name] = true
	return name
}

// Names returns the names of all series.
func Names() (names []string) {
	m := NewMetrics()
	m.Read(Sources{})
	to := make(chan *prometheus.Desc)
	go func() {
		defer close(to)
		m.registry.Describe(to)
	}()
	for d := range to {
		_, rest, _ := strings.Cut(d.String(), `fqName: "`)
		name, _, _ := strings.Cut(rest, `"`)
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Store returns a store whose events and leases are counted.
func (m *Metrics) Store(s store.Store) store.Store {
	if m != nil {
		s.Logs, s.Leases = countedLogs{s.Logs, m}, countedLeases{s.Leases, m}
	}
	return s
}

// ends are the statuses with which a session is counted as ended.
var ends = []session.Status{
	session.StatusDone, session.StatusAnswered, session.StatusReviewed, session.StatusNoChanges,
	session.StatusPlanned, session.StatusStopped, session.StatusFailed, session.StatusCrashed,
}

func isEnd(s session.Status) bool { return slices.Contains(ends, s) }
