package telemetry

import (
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Transport returns a transport whose requests are counted, with the limits that
// GitHub's answers tell.
func (m *Metrics) Transport(next http.RoundTripper) http.RoundTripper {
	if m == nil {
		return next
	}
	return &countedTransport{next, m}
}

type countedTransport struct {
	next    http.RoundTripper
	metrics *Metrics
}

// RoundTrip implements [http.RoundTripper].
func (t *countedTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := t.next.RoundTrip(r)
	code := "error"
	if err == nil {
		code = strconv.Itoa(resp.StatusCode/100) + "xx"
		t.metrics.limits.take(resp.Header)
	}
	method := r.Method
	if !slices.Contains([]string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"}, method) {
		method = other
	}
	t.metrics.requests.WithLabelValues(method, code).Inc()
	return resp, err
}

// rateLimits are the rests of GitHub's limits. Each installation has limits of its own,
// which begin anew at times of their own; the lowest rest counts.
type rateLimits struct {
	mu    sync.Mutex
	rests map[string]map[int64]int // by resource, and time of the new beginning in seconds
}

// resources are GitHub's names that may be labels.
var resources = []string{"core", "search", "graphql", "code_search", "integration_manifest", "code_scanning_upload", "dependency_snapshots"}

// maxWindows limits the windows of a resource.
const maxWindows = 1000

func (l *rateLimits) take(h http.Header) {
	rest, restErr := strconv.Atoi(h.Get("X-Ratelimit-Remaining"))
	until, untilErr := strconv.ParseInt(h.Get("X-Ratelimit-Reset"), 10, 64)
	if restErr != nil || untilErr != nil {
		return
	}
	name := strings.ToLower(h.Get("X-Ratelimit-Resource"))
	if name == "" {
		name = "core"
	}
	if !slices.Contains(resources, name) {
		name = other
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.rests == nil {
		l.rests = map[string]map[int64]int{}
	}
	of := l.rests[name]
	if of == nil {
		of = map[int64]int{}
		l.rests[name] = of
	}
	if old, ok := of[until]; ok {
		rest = min(rest, old)
	} else if len(of) >= maxWindows {
		clear(of)
	}
	of[until] = rest
}

// lowest returns the lowest rest of each resource among the windows that are not over.
func (l *rateLimits) lowest(now time.Time) map[string]int {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := map[string]int{}
	for name, of := range l.rests {
		maps.DeleteFunc(of, func(until int64, _ int) bool { return until < now.Unix() })
		for _, rest := range of {
			if old, ok := out[name]; !ok || rest < old {
				out[name] = rest
			}
		}
	}
	return out
}
