package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/handrail-bot/handrail/agent/llm"
	"github.com/handrail-bot/handrail/cmd/config"
	"github.com/handrail-bot/handrail/cmd/door"
	"github.com/handrail-bot/handrail/cmd/telemetry"
	"github.com/handrail-bot/handrail/policy/secret"
)

// newTelemetry returns the metrics and the traces of a server, nil for those that are
// off. The console's log gets the traces.
func newTelemetry(
	cfg config.Server,
	version string,
	known *secret.Redactor,
	w *console,
) (*telemetry.Metrics, *telemetry.Traces, error) {
	var metrics *telemetry.Metrics
	if cfg.Metrics.Listen != "" {
		tools, err := door.BuiltinTools(nil)
		if err != nil {
			return nil, nil, err
		}
		var names []string
		for _, s := range tools.Specs() {
			names = append(names, s.Name)
		}
		metrics = telemetry.NewMetrics(names...)
	}
	if cfg.Traces.Endpoint == "" {
		return metrics, nil, nil
	}
	t := telemetry.TracesConfig{
		Endpoint:  cfg.Traces.Endpoint,
		Headers:   cfg.Traces.Headers.Reveal(),
		Transport: http.DefaultTransport,
		Version:   version,
		Provider:  cfg.Model.Of().Name,
		OptIn:     os.Getenv("OTEL_SEMCONV_STABILITY_OPT_IN"),
		Log:       w.log,
	}
	if cfg.Traces.Content {
		t.Redact = func(text string) string { text, _ = known.Redact(text); return text }
	}
	traces, err := telemetry.NewTraces(context.Background(), t)
	w.log = traces.Logger(w.log)
	return metrics, traces, err
}

// measured opens a model of one run, and measures its answers.
func (s *server) measured(name string) (llm.Model, error) {
	m, err := s.model(name)
	if err != nil {
		return nil, err
	}
	return telemetry.Model(s.lull.Of(m), s.metrics, s.traces, &s.speeds), nil
}

// startMetrics serves /metrics, if it is configured.
func (s *server) startMetrics() error {
	if s.metrics == nil {
		return nil
	}
	measure := s.metrics.Read(telemetry.Sources{
		Sessions:   s.store.Sessions,
		Wakes:      s.store.Wakes,
		Deliveries: func() map[string]int { by, _ := s.told.numbers(); return by },
		Writes:     s.app.Waiting,
		Workspaces: s.engine.Workspaces,
		Caches: map[string]string{
			"mirrors": filepath.Join(s.cfg.Data, "mirrors"),
			"bases":   filepath.Join(s.cfg.Data, "work", "bases"),
			"layers":  filepath.Join(s.cfg.Data, "work", "layers"),
		},
		Now: time.Now,
		Log: s.log,
	})
	l, err := net.Listen("tcp", s.cfg.Metrics.Listen)
	if err != nil {
		return fmt.Errorf("listen on %s for the metrics: %w", s.cfg.Metrics.Listen, err)
	}
	s.scraped = l.Addr()
	s.scrapes = &http.Server{Handler: s.metrics, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: time.Minute}
	ctx, cancel := context.WithCancel(context.Background())
	s.scrapes.RegisterOnShutdown(cancel)
	s.wait.Go(func() { measure(ctx) })
	s.wait.Go(func() {
		if err := s.scrapes.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			s.log.Error("the metrics ended", "err", err)
		}
	})
	return nil
}

func (s *server) closeMetrics(ctx context.Context) error {
	if s.scrapes == nil {
		return nil
	}
	return s.scrapes.Shutdown(ctx)
}
