package main

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/bot/ghapp/ghtest"
)

type ghtestServer = ghtest.Server

// lossy stands between GitHub and the bot and loses deliveries.
type lossy struct {
	next  string
	every int64 // 0 for none

	n, lost, wanted atomic.Int64
}

// missed is how many were lost of those that could hold a command.
func (l *lossy) missed() int64 { return l.wanted.Load() }

func (l *lossy) start(t *testing.T) string {
	t.Helper()
	srv := httptest.NewServer(l)
	t.Cleanup(srv.Close)
	return srv.URL
}

func (l *lossy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if n := l.n.Add(1); l.every > 0 && n%l.every == 0 {
		l.lost.Add(1)
		if ghapp.Hears(r.Header.Get("X-GitHub-Event")) {
			l.wanted.Add(1)
		}
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	req, err := http.NewRequestWithContext(r.Context(), r.Method, l.next+r.URL.Path, bytes.NewReader(body))
	if err != nil {
		return
	}
	req.Header = r.Header.Clone()
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	defer func() { _ = resp.Body.Close() }()
	w.WriteHeader(resp.StatusCode)
}
