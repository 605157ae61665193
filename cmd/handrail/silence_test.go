package main

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"testing"
	"time"

	"github.com/handrail-bot/handrail/bot/fault"
	judge "github.com/handrail-bot/handrail/bot/ghapp/answer"
	"github.com/handrail-bot/handrail/gitops"
)

// TestSilentGitHub: an answer that stops in the middle while its connection stays is an outage, of the API
// and of git.
func TestSilentGitHub(t *testing.T) {
	t.Parallel()
	ended := make(chan struct{})
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("service") != "" {
			w.Header().Set("Content-Type", "application/x-git-upload-pack-advertisement")
		}
		_, _ = io.WriteString(w, `{"id": 1, `) // the other side may be gone
		_ = http.NewResponseController(w).Flush()
		<-ended
	}))
	defer srv.Close()
	defer close(ended)
	plain, ok := http.DefaultTransport.(*http.Transport)
	if !ok {
		t.Fatal("no plain transport")
	}
	way := plain.Clone()
	endSilent(way, 50*time.Millisecond)
	defer way.CloseIdleConnections()
	at, err := url.Parse(srv.URL + "/user")
	must(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second) // waited for only if the silence is
	defer cancel()
	r := (&http.Request{Method: http.MethodGet, URL: at, Header: http.Header{}}).WithContext(ctx)
	resp, err := judge.Judge{Next: way, Base: "/"}.RoundTrip(r)
	if err == nil {
		resp.Body.Close()
	}
	if !errors.As(err, new(*judge.Error)) || !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("the API: %v", err)
	}
	mirrors, err := gitops.New(gitops.Config{Dir: t.TempDir(), HTTP: way})
	must(t, err)
	_, err = mirrors.Mirror(ctx, srv.URL+"/o/r")
	if !errors.Is(err, gitops.ErrUnavailable) || !fault.Temporary(err) {
		t.Errorf("git: %v", err)
	}
}
