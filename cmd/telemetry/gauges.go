package telemetry

import (
	"context"
	"io/fs"
	"log/slog"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot/store"
)

// Sources are read at each scrape. All are required.
type Sources struct {
	Sessions   store.Sessions
	Wakes      store.Wakes
	Deliveries func() map[string]int // done since the start, by outcome
	Writes     func() int            // writes to GitHub that wait for their turn
	Workspaces func() int
	Caches     map[string]string // directories by name; see [Sizes]
	Now        func() time.Time
	Log        *slog.Logger
}

// gauges reads the sources.
type gauges struct {
	Sources
	metrics *Metrics
	sizes   *sizes

	sessions, approvals, oldest, queue, limits, writes, deliveries, workspaces, caches *prometheus.Desc
}

// Read adds the values of sources. It measures the caches until ctx ends; the caller
// waits for measure.
func (m *Metrics) Read(s Sources) (measure func(ctx context.Context)) {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc(namespace+"_"+name, help, labels, nil)
	}
	g := &gauges{
		Sources:    s,
		metrics:    m,
		sizes:      &sizes{dirs: s.Caches},
		sessions:   desc("sessions", "Sessions that have not ended, by state; of all servers.", "state"),
		approvals:  desc("approvals_open", "Requests for an approval without an answer; of all servers."),
		oldest:     desc("approvals_oldest_age_seconds", "Age of the oldest request for an approval without an answer; of all servers."),
		queue:      desc("queue_oldest_wait_seconds", "Time that the oldest thread with work has waited for a worker; of all servers."),
		limits:     desc("github_rate_limit_remaining", "Requests left of GitHub's limit, the lowest of all installations.", "resource"),
		writes:     desc("github_writes_waiting", "Writes to GitHub that wait for their turn."),
		deliveries: desc("deliveries_total", "Deliveries of GitHub that are done, by outcome.", "outcome"),
		workspaces: desc("workspaces_open", "Open workspaces."),
		caches:     desc("cache_bytes", "Size of a cache on disk, measured every quarter of an hour.", "cache"),
	}
	m.registry.MustRegister(g)
	return g.sizes.run
}

// Describe implements [prometheus.Collector].
func (g *gauges) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{
		g.sessions, g.approvals, g.oldest, g.queue, g.limits, g.writes, g.deliveries, g.workspaces, g.caches,
	} {
		to <- d
	}
}

const scrapeTime = 5 * time.Second

// Collect implements [prometheus.Collector]. A database that does not answer gives no
// values.
func (g *gauges) Collect(to chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), scrapeTime)
	defer cancel()
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	if err := g.collectSessions(ctx, gauge); err != nil {
		g.Log.WarnContext(ctx, "metrics of sessions are missing", "err", err)
	}
	if since, err := g.Wakes.Oldest(ctx); err != nil {
		g.Log.WarnContext(ctx, "metrics of the queue are missing", "err", err)
	} else {
		gauge(g.queue, g.age(since).Seconds())
	}
	for name, rest := range g.metrics.limits.lowest(g.Now()) {
		gauge(g.limits, float64(rest), name)
	}
	gauge(g.writes, float64(g.Writes()))
	gauge(g.workspaces, float64(g.Workspaces()))
	for name, n := range g.sizes.last() {
		gauge(g.caches, float64(n), name)
	}
	for outcome, n := range g.Deliveries() {
		to <- prometheus.MustNewConstMetric(g.deliveries, prometheus.CounterValue, float64(n), outcome)
	}
}

func (g *gauges) collectSessions(ctx context.Context, gauge func(*prometheus.Desc, float64, ...string)) error {
	t, err := g.Sessions.Tally(ctx)
	if err != nil {
		return err
	}
	for _, p := range session.Phases() {
		if !p.Over() {
			gauge(g.sessions, float64(t.States[p]), string(p))
		}
	}
	gauge(g.approvals, float64(t.Asked))
	gauge(g.oldest, g.age(t.Oldest).Seconds())
	return nil
}

// age returns the time since a point in time, 0 if that is zero or later than now.
func (g *gauges) age(since time.Time) time.Duration {
	if since.IsZero() {
		return 0
	}
	return max(0, g.Now().Sub(since))
}

// sizes are the sizes of directories.
type sizes struct {
	dirs map[string]string

	mu    sync.Mutex
	bytes map[string]int64
}

// measureEvery is the pause between two measurements: one looks at each file.
const measureEvery = 15 * time.Minute

// run measures until ctx ends.
func (s *sizes) run(ctx context.Context) {
	for {
		found := map[string]int64{}
		for name, dir := range s.dirs {
			found[name] = size(ctx, dir)
		}
		if ctx.Err() != nil {
			return
		}
		s.mu.Lock()
		s.bytes = found
		s.mu.Unlock()
		select {
		case <-ctx.Done():
			return
		case <-time.After(measureEvery):
		}
	}
}

func (s *sizes) last() map[string]int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.bytes
}

// size returns the bytes of the files below a directory. Files that vanish meanwhile do
// not count, and one with several names counts once.
func size(ctx context.Context, dir string) (total int64) {
	seen := map[uint64]bool{}
	_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error { // the rest is measured anyway
		if ctx.Err() != nil {
			return fs.SkipAll
		}
		if err != nil || !d.Type().IsRegular() {
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return nil //nolint:nilerr // it has vanished
		}
		if st, ok := info.Sys().(*syscall.Stat_t); ok && st.Nlink > 1 {
			if seen[st.Ino] {
				return nil
			}
			seen[st.Ino] = true
		}
		total += info.Size()
		return nil
	})
	return total
}
